//! The interfaces of functions that programs give to the library, and the predefined ones of them.

use std::fmt::Write;

use super::argument::integer;
use super::{banner, statement};
use crate::r#gen::ctype::CType;
use crate::spec::{Param, Spec, Type};

/// The predefined functions with the interface that they have.
const PREDEFINED: [(&str, &str); 11] = [
    ("MPI_COMM_NULL_COPY_FN", "MPI_Comm_copy_attr_function"),
    ("MPI_COMM_DUP_FN", "MPI_Comm_copy_attr_function"),
    ("MPI_COMM_NULL_DELETE_FN", "MPI_Comm_delete_attr_function"),
    ("MPI_TYPE_NULL_COPY_FN", "MPI_Type_copy_attr_function"),
    ("MPI_TYPE_DUP_FN", "MPI_Type_copy_attr_function"),
    ("MPI_TYPE_NULL_DELETE_FN", "MPI_Type_delete_attr_function"),
    ("MPI_WIN_NULL_COPY_FN", "MPI_Win_copy_attr_function"),
    ("MPI_WIN_DUP_FN", "MPI_Win_copy_attr_function"),
    ("MPI_WIN_NULL_DELETE_FN", "MPI_Win_delete_attr_function"),
    ("MPI_CONVERSION_FN_NULL", "MPI_Datarep_conversion_function"),
    ("MPI_CONVERSION_FN_NULL_C", "MPI_Datarep_conversion_function_c"),
];

/// The module.
pub fn render(spec: &Spec) -> String {
    let mut out = banner("Interfaces of functions that programs give to the library.");
    out.push_str("module mpi_f08_callbacks\n  use mpi_f08_types\n  implicit none\n  abstract interface\n");
    for entry in spec.types_of("callback").filter(|entry| is_of_fortran(entry)) {
        out.push_str(&interface(spec, &entry.name, entry));
    }
    out.push_str("  end interface\n  interface\n");
    for (name, of) in PREDEFINED {
        let entry = spec.types_of("callback").find(|entry| entry.name == of).expect("the spec has its type");
        out.push_str(&interface(spec, name, entry));
    }
    out.push_str("  end interface\nend module mpi_f08_callbacks\n");
    out
}

/// Those of tools and of MPI-1 have no interface in `mpi_f08`.
fn is_of_fortran(entry: &Type) -> bool {
    let is_of_mpi_1 = ["MPI_Copy_function", "MPI_Delete_function"].contains(&entry.name.as_str());
    !entry.name.starts_with("MPI_T_") && !is_of_mpi_1
}

fn interface(spec: &Spec, name: &str, entry: &Type) -> String {
    // What returns a code in C has a last argument for it; error handlers and reductions return nothing.
    let returns_code = entry.returns.as_deref() == Some("int");
    let params: Vec<&Param> = entry.params.iter().filter(|param| !param.is_variadic()).collect();
    let mut names: Vec<&str> = params.iter().map(|param| param.name.as_str()).collect();
    if returns_code {
        names.push("ierror");
    }
    let mut out = statement(4, &format!("subroutine {name}({})", names.join(", ")));
    out.push_str("      import\n");
    for param in params {
        let ctype = CType::parse(&param.ctype);
        let is_handle = spec.types_of("handle").any(|entry| entry.name == ctype.base);
        let kind = match param.kind.as_str() {
            "C_BUFFER3" | "C_BUFFER4" => "type(c_ptr), value".to_owned(),
            "EXTRA_STATE" | "ATTRIBUTE_VAL" => integer("MPI_Aint"),
            "LOGICAL" => "logical".to_owned(),
            "STATUS" => "type(MPI_Status)".to_owned(),
            _ if is_handle => format!("type({})", ctype.base),
            _ => integer(ctype.base),
        };
        writeln!(out, "      {kind} :: {}", param.name).expect("a string takes all");
    }
    if returns_code {
        out.push_str("      integer :: ierror\n");
    }
    writeln!(out, "    end subroutine {name}").expect("a string takes all");
    out
}
