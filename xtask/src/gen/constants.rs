//! `abi/constants.rs`: every constant of the ABI, and the table of predefined datatypes.

use std::fmt::Write;

use super::rust_banner;
use crate::spec::{Constant, Spec};

/// The Rust source.
pub fn render(spec: &Spec) -> String {
    let mut out = rust_banner("Constants of MPI 5.0 with the values of the standard ABI 1.0.");
    out.push_str("use core::ffi::{c_int, c_void};\n\nuse super::types::*;\n\n");
    let constants = spec.constants.iter().chain(&spec.extensions.constants);
    for constant in constants.filter(|constant| !is_callback(constant)) {
        let name = &constant.name;
        let (ctype, value) = typed(spec, constant);
        writeln!(out, "/// `{name}`.\npub const {name}: {ctype} = {value};").expect("a string takes all");
    }
    out.push_str(
        "\n/// The predefined callbacks are small integers in place of function addresses: copy nothing, or delete\n\
         /// nothing.\npub const CALLBACK_NULL: usize = 0;\n\
         /// The predefined callback that copies an attribute as it is.\npub const CALLBACK_DUP: usize = 1;\n",
    );
    datatypes(&mut out, spec);
    error_names(&mut out, spec);
    out
}

fn is_callback(constant: &Constant) -> bool {
    constant.category == "predefined-callback"
}

fn typed(spec: &Spec, constant: &Constant) -> (String, String) {
    let ctype = constant.ctype.as_str();
    let value = constant.value;
    let is_handle =
        spec.types_of("handle").chain(spec.types_of("tools-handle")).any(|entry| entry.name == ctype);
    match ctype {
        _ if is_handle => (ctype.to_owned(), format!("{ctype}({value:#x})")),
        "MPI_Offset" => (ctype.to_owned(), value.to_string()),
        _ if ctype.ends_with('*') => {
            ("*mut c_void".to_owned(), format!("core::ptr::without_provenance_mut({value})"))
        }
        _ => ("c_int".to_owned(), value.to_string()),
    }
}

/// Rows in the order of the handles, so that a look-up is an index after one table of bytes.
fn datatypes(out: &mut String, spec: &Spec) {
    out.push_str(
        "\n/// A predefined datatype: its handle, name, size and extent in bytes (zero where the Fortran compiler decides).\n\
         pub const PREDEFINED_DATATYPES: &[(MPI_Datatype, &str, u32, u32)] = &[\n",
    );
    for constant in &spec.constants {
        let Some(datatype) = &constant.datatype else { continue };
        if constant.alias_of.is_some() {
            continue;
        }
        let (size, extent) = (datatype.size.unwrap_or(0), datatype.extent.unwrap_or(0));
        // Where the header has two names, the standard calls the one after which the header names the other a synonym.
        let is_alias = |other: &&Constant| other.alias_of.as_deref() == Some(constant.name.as_str());
        let name = spec.constants.iter().find(is_alias).map_or(&constant.name, |alias| &alias.name);
        writeln!(out, "    ({}, \"{name}\", {size}, {extent}),", constant.name).expect("a string takes all");
    }
    out.push_str("];\n");
}

fn error_names(out: &mut String, spec: &Spec) {
    out.push_str("\n/// The predefined error classes with their names.\npub const ERROR_CLASSES: &[(c_int, &str)] = &[\n");
    let classes = ["error-class", "tools-error-class"];
    for constant in spec.constants.iter().filter(|constant| classes.contains(&constant.category.as_str())) {
        writeln!(out, "    ({0}, \"{0}\"),", constant.name).expect("a string takes all");
    }
    out.push_str("];\n");
}
