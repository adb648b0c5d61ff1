//! MPI's constants in Fortran: `mpif.h`, and the types and constants of `mpi_f08`.

use std::fmt::Write;

use super::banner;
use crate::spec::{Constant, Spec};

/// Integers that only Fortran has, with the values that the ABI gives them.
const OWN: [(&str, &str); 8] = [
    ("MPI_ADDRESS_KIND", "8"),
    ("MPI_COUNT_KIND", "8"),
    ("MPI_OFFSET_KIND", "8"),
    ("MPI_INTEGER_KIND", "4"),
    ("MPI_STATUS_SIZE", "8"),
    ("MPI_SOURCE", "1"),
    ("MPI_TAG", "2"),
    ("MPI_ERROR", "3"),
];

/// Variables whose address stands for something: type, name and shape in `mpif.h`, type and shape in `mpi_f08`, symbol.
const ADDRESSES: [(&str, &str, &str, &str, &str, &str); 10] = [
    ("integer", "MPI_BOTTOM", "", "integer(c_int)", "", "corelace_bottom"),
    ("integer", "MPI_IN_PLACE", "", "integer(c_int)", "", "corelace_in_place"),
    ("integer", "MPI_BUFFER_AUTOMATIC", "", "integer(c_int)", "", "corelace_buffer_automatic"),
    ("integer", "MPI_STATUS_IGNORE", "(8)", "type(MPI_Status)", "", "corelace_status_ignore"),
    ("integer", "MPI_STATUSES_IGNORE", "(8,1)", "type(MPI_Status)", "(1)", "corelace_statuses_ignore"),
    ("integer", "MPI_ERRCODES_IGNORE", "(1)", "integer(c_int)", "(1)", "corelace_errcodes_ignore"),
    ("integer", "MPI_UNWEIGHTED", "(1)", "integer(c_int)", "(1)", "corelace_unweighted"),
    ("integer", "MPI_WEIGHTS_EMPTY", "(1)", "integer(c_int)", "(1)", "corelace_weights_empty"),
    ("character*1", "MPI_ARGV_NULL", "(1)", "character(c_char)", "(1)", "corelace_argv_null"),
    ("character*1", "MPI_ARGVS_NULL", "(1,1)", "character(c_char)", "(1,1)", "corelace_argvs_null"),
];

/// The predefined functions of attributes and of data representations.
const FUNCTIONS: [&str; 13] = [
    "MPI_NULL_COPY_FN",
    "MPI_NULL_DELETE_FN",
    "MPI_DUP_FN",
    "MPI_COMM_NULL_COPY_FN",
    "MPI_COMM_NULL_DELETE_FN",
    "MPI_COMM_DUP_FN",
    "MPI_TYPE_NULL_COPY_FN",
    "MPI_TYPE_NULL_DELETE_FN",
    "MPI_TYPE_DUP_FN",
    "MPI_WIN_NULL_COPY_FN",
    "MPI_WIN_NULL_DELETE_FN",
    "MPI_WIN_DUP_FN",
    "MPI_CONVERSION_FN_NULL",
];

const TIMES: [&str; 2] = ["MPI_WTIME", "MPI_WTICK"];
const SUMS: [&str; 2] = ["MPI_AINT_ADD", "MPI_AINT_DIFF"];

/// What programs of MPI-1 still name: markers of bounds, which this library knows, and constructors that no type has been made by. As in `mpi_legacy.h`.
const LEGACY: [(&str, &str, i64); 5] = [
    ("MPI_LB", "MPI_Datatype", 0x2fe),
    ("MPI_UB", "MPI_Datatype", 0x2ff),
    ("MPI_COMBINER_HVECTOR_INTEGER", "int", -101),
    ("MPI_COMBINER_HINDEXED_INTEGER", "int", -102),
    ("MPI_COMBINER_STRUCT_INTEGER", "int", -103),
];

/// The constants that are numbers in Fortran: name, type of C, value.
fn numbers(spec: &Spec) -> impl Iterator<Item = (&str, &str, i64)> {
    let wanted = |constant: &&Constant| {
        let pointer = constant.ctype.ends_with('*');
        let of_tools = constant.name.starts_with("MPI_T_");
        let index_of_c = constant.category == "fortran-status-index";
        !pointer && !of_tools && !index_of_c
    };
    let of_standard = spec.constants.iter().filter(wanted).map(|constant| {
        // Strings of C end with a zero, for which Fortran has no room.
        let less = i64::from(constant.category == "string-length");
        (constant.name.as_str(), constant.ctype.as_str(), constant.value - less)
    });
    of_standard.chain(LEGACY)
}

/// `mpif.h`: statements that mean the same in fixed and in free form.
pub fn header(spec: &Spec) -> String {
    let mut out = banner("mpif.h: MPI's constants for programs without modules.");
    let mut integer = |kind: &str, name: &str, value: &str| {
        writeln!(out, "      {kind} {name}\n      parameter ({name}={value})").expect("a string takes all");
    };
    for (name, value) in OWN {
        integer("integer", name, value);
    }
    for name in ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"] {
        integer("logical", name, ".false.");
    }
    for (name, ctype, value) in numbers(spec) {
        integer(if ctype == "MPI_Offset" { "integer*8" } else { "integer" }, name, &value.to_string());
    }
    addresses(&mut out);
    for name in FUNCTIONS {
        writeln!(out, "      external {name}").expect("a string takes all");
    }
    for (kind, names) in [("double precision", TIMES), ("integer*8", SUMS)] {
        for name in names {
            writeln!(out, "      {kind} {name}, P{name}\n      external {name}, P{name}")
                .expect("a string takes all");
        }
    }
    out
}

/// The constants of the module `mpi`.
pub fn of_module(spec: &Spec) -> String {
    let mut out = String::new();
    for (name, value) in OWN {
        writeln!(out, "  integer, parameter :: {name} = {value}").expect("a string takes all");
    }
    for name in ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"] {
        writeln!(out, "  logical, parameter :: {name} = .false.").expect("a string takes all");
    }
    for (name, ctype, value) in numbers(spec) {
        let kind = if ctype == "MPI_Offset" { "integer(kind=MPI_OFFSET_KIND)" } else { "integer" };
        writeln!(out, "  {kind}, parameter :: {name} = {value}").expect("a string takes all");
    }
    addresses(&mut out);
    out
}

/// The variables whose addresses stand for something, as common blocks.
fn addresses(out: &mut String) {
    for (kind, name, shape, _, _, block) in ADDRESSES {
        writeln!(out, "      {kind} {name}{shape}\n      common /{block}/ {name}\n      save /{block}/")
            .expect("a string takes all");
    }
}

/// The module with the types, constants and operators of `mpi_f08`.
pub fn types(spec: &Spec) -> String {
    let mut out = banner("Types, constants and operators of mpi_f08.");
    out.push_str("module mpi_f08_types\n  use, intrinsic :: iso_c_binding\n  implicit none\n");
    for (name, value) in OWN {
        writeln!(out, "  integer, parameter :: {name} = {value}").expect("a string takes all");
    }
    // Sections of arrays with gaps are handed over whole, and until the operation is complete.
    for name in ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"] {
        writeln!(out, "  logical, parameter :: {name} = .true.").expect("a string takes all");
    }
    let handles: Vec<&str> = spec.types_of("handle").map(|entry| entry.name.as_str()).collect();
    for handle in &handles {
        writeln!(out, "  type, bind(C) :: {handle}\n    integer(c_int) :: MPI_VAL\n  end type {handle}")
            .expect("a string takes all");
    }
    out.push_str(
        "  type, bind(C) :: MPI_Status\n    integer(c_int) :: MPI_SOURCE\n    integer(c_int) :: MPI_TAG\n    integer(c_int) :: MPI_ERROR\n    \
         integer(c_int), private :: MPI_internal(5)\n  end type MPI_Status\n",
    );
    for (name, ctype, value) in numbers(spec) {
        let (kind, value) = match ctype {
            "MPI_Offset" => ("integer(kind=MPI_OFFSET_KIND)".to_owned(), value.to_string()),
            handle if handles.contains(&handle) => (format!("type({handle})"), format!("{handle}({value})")),
            _ => ("integer".to_owned(), value.to_string()),
        };
        writeln!(out, "  {kind}, parameter :: {name} = {value}").expect("a string takes all");
    }
    for (_, name, _, kind, shape, symbol) in ADDRESSES {
        writeln!(out, "  {kind}, bind(C, name=\"{symbol}_\") :: {name}{shape}").expect("a string takes all");
    }
    for (operator, word) in [("==", "equal"), ("/=", "unequal")] {
        writeln!(out, "  interface operator({operator})").expect("a string takes all");
        for handle in &handles {
            writeln!(out, "    module procedure {word}_{handle}").expect("a string takes all");
        }
        out.push_str("  end interface\n");
    }
    for handle in &handles {
        for word in ["equal", "unequal"] {
            writeln!(out, "  private :: {word}_{handle}").expect("a string takes all");
        }
    }
    out.push_str("contains\n");
    for handle in &handles {
        for (operator, word) in [("==", "equal"), ("/=", "unequal")] {
            writeln!(
                out,
                "  elemental logical function {word}_{handle}(left, right)\n    type({handle}), intent(in) :: left, right\n    \
                 {word}_{handle} = left%MPI_VAL {operator} right%MPI_VAL\n  end function {word}_{handle}"
            )
            .expect("a string takes all");
        }
    }
    out.push_str("end module mpi_f08_types\n");
    out
}
