//! The module `mpi`: constants, and interfaces in which a buffer may have any type.

use std::fmt::Write;

use super::argument::{Dialect, Procedure, Role};
use super::{banner, constants, statement};
use crate::spec::Spec;

/// Types whose sizes MPI_SIZEOF tells; those in the second list are not in every compiler.
const SIZED: [&str; 13] = [
    "integer(1)",
    "integer(2)",
    "integer(4)",
    "integer(8)",
    "real(4)",
    "real(8)",
    "complex(4)",
    "complex(8)",
    "logical(1)",
    "logical(2)",
    "logical(4)",
    "logical(8)",
    "character(len=*)",
];
const SIZED_BY_GFORTRAN: [&str; 5] = ["integer(16)", "real(10)", "real(16)", "complex(10)", "complex(16)"];

/// What MPI 3.0 removed, with INTEGERs for addresses.
const REMOVED: [(&str, &str); 3] = [
    ("MPI_Errhandler_set", "comm, errhandler"),
    ("MPI_Errhandler_get", "comm, errhandler"),
    ("MPI_Type_extent", "datatype, extent"),
];

/// The module.
pub fn render(spec: &Spec, procedures: &[Procedure]) -> String {
    let mut out = banner("The module mpi.");
    out.push_str(sizes_module().as_str());
    out.push_str("module mpi\n  use, intrinsic :: iso_c_binding, only : c_ptr\n  use corelace_sizes\n  implicit none\n  private :: c_ptr\n");
    out.push_str(&constants::of_module(spec));
    for prefix in ["", "P"] {
        out.push_str("  interface\n");
        let small = || procedures.iter().filter(|procedure| procedure.function.small.is_none());
        for procedure in small().filter(|procedure| !procedure.has(Role::Address)) {
            out.push_str(&interface(procedure, prefix, false));
        }
        for (name, arguments) in REMOVED {
            writeln!(
                out,
                "    subroutine {prefix}{name}({arguments}, ierror)\n      integer :: {arguments}, ierror\n    end subroutine"
            )
            .expect("a string takes all");
        }
        out.push_str("  end interface\n");
        for procedure in small().filter(|procedure| procedure.has(Role::Address)) {
            let name = format!("{prefix}{}", procedure.function.name);
            writeln!(out, "  interface {name}").expect("a string takes all");
            out.push_str(&interface(procedure, prefix, false));
            out.push_str(&interface(procedure, prefix, true));
            out.push_str("  end interface\n");
        }
    }
    out.push_str("  interface\n    subroutine MPI_F_sync_reg(buf)\n!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf\n!DIR$ IGNORE_TKR buf\n      type(*), dimension(*) :: buf\n    end subroutine\n");
    for name in ["MPI_Status_f2f08", "MPI_Status_f082f"] {
        // The other form is a type of mpi_f08, which is laid out alike.
        writeln!(
            out,
            "    subroutine {name}(from, to, ierror)\n!GCC$ ATTRIBUTES NO_ARG_CHECK :: from, to\n!DIR$ IGNORE_TKR from, to\n      \
             type(*), dimension(*) :: from, to\n      integer :: ierror\n    end subroutine"
        )
        .expect("a string takes all");
    }
    out.push_str("  end interface\n");
    out.push_str("  external :: MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, MPI_DUP_FN\n");
    for bearer in ["COMM", "TYPE", "WIN"] {
        writeln!(
            out,
            "  external :: MPI_{bearer}_NULL_COPY_FN, MPI_{bearer}_NULL_DELETE_FN, MPI_{bearer}_DUP_FN"
        )
        .expect("a string takes all");
    }
    out.push_str("  external :: MPI_CONVERSION_FN_NULL\nend module mpi\n");
    out
}

/// One interface body; with pointers of C if that is asked for.
fn interface(procedure: &Procedure, prefix: &str, with_pointers: bool) -> String {
    let suffix = if with_pointers { "_cptr" } else { "" };
    let name = format!("{prefix}{}{suffix}", procedure.function.name);
    let kind = if procedure.result().is_some() { "function" } else { "subroutine" };
    let mut out = statement(4, &format!("{kind} {name}({})", procedure.dummies()));
    out.push_str("      import\n");
    for argument in &procedure.arguments {
        let dialect =
            if with_pointers && argument.role == Role::Address { Dialect::F08 } else { Dialect::Classic };
        for line in argument.declaration(dialect).lines() {
            let indent = if line.starts_with('!') { "" } else { "      " };
            writeln!(out, "{indent}{line}").expect("a string takes all");
        }
    }
    match procedure.result() {
        Some(result) => writeln!(out, "      {result} :: {name}").expect("a string takes all"),
        None if procedure.has_code() => out.push_str("      integer :: ierror\n"),
        None => (),
    }
    writeln!(out, "    end {kind} {name}").expect("a string takes all");
    out
}

/// MPI_SIZEOF: one procedure a kind of variable, whatever its rank.
fn sizes_module() -> String {
    let mut out = String::from(
        "module corelace_sizes\n  implicit none\n  private\n  public :: MPI_Sizeof, PMPI_Sizeof\n",
    );
    let all =
        || SIZED.iter().map(|kind| (kind, false)).chain(SIZED_BY_GFORTRAN.iter().map(|kind| (kind, true)));
    let guarded = |is_guarded: bool, text: String| {
        if is_guarded { format!("#ifdef __GFORTRAN__\n{text}#endif\n") } else { text }
    };
    for name in ["MPI_Sizeof", "PMPI_Sizeof"] {
        writeln!(out, "  interface {name}").expect("a string takes all");
        for (kind, is_guarded) in all() {
            out.push_str(&guarded(is_guarded, format!("    module procedure {}\n", size_name(kind))));
        }
        out.push_str("  end interface\n");
    }
    out.push_str("contains\n");
    for (kind, is_guarded) in all() {
        let name = size_name(kind);
        // A character variable of several characters is as long as they are.
        let bits = if kind.starts_with("character") { "8 * len(x)" } else { "storage_size(x)" };
        let text = format!(
            "  subroutine {name}(x, size, ierror)\n    {kind}, intent(in) :: x(..)\n    integer, intent(out) :: size\n    \
             integer, optional, intent(out) :: ierror\n    size = {bits} / 8\n    if (present(ierror)) ierror = 0\n  end subroutine {name}\n"
        );
        out.push_str(&guarded(is_guarded, text));
    }
    out.push_str("end module corelace_sizes\n");
    out
}

fn size_name(kind: &str) -> String {
    format!("size_of_{}", kind.replace("(len=*)", "").replace(['(', ')'], "_").trim_end_matches('_'))
}
