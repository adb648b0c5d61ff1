//! `abi/types.rs`: the ABI's types in Rust.

use std::fmt::Write;

use super::ctype::CType;
use super::rust_banner;
use crate::spec::{Spec, Type};

const STATUS: &str = "
/// What a completed operation tells about its message.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MPI_Status {
    /// The sender's rank.
    pub MPI_SOURCE: c_int,
    /// The message's tag.
    pub MPI_TAG: c_int,
    /// The error of this operation, set by calls that complete several.
    pub MPI_ERROR: c_int,
    /// Words that the library uses.
    pub MPI_internal: [c_int; 5],
}

const _: () = assert!(size_of::<MPI_Status>() == 32 && align_of::<MPI_Status>() == 4);
";

/// The Rust source.
pub fn render(spec: &Spec) -> String {
    let mut out = rust_banner("Types of the standard ABI.");
    out.push_str("#![allow(non_camel_case_types, non_snake_case, reason = \"the names of the standard\")]\n\nuse core::ffi::{c_int, c_void};\n\n");
    for entry in spec.types_of("integer") {
        let rust = if entry.name == "MPI_Aint" { "isize" } else { "i64" };
        writeln!(out, "/// `{0}`.\npub type {0} = {rust};", entry.name).expect("a string takes all");
    }
    for entry in spec.types_of("handle").chain(spec.types_of("tools-handle")) {
        writeln!(
            out,
            "\n/// A handle: an address-sized number that only the library interprets.\n#[repr(transparent)]\n\
             #[derive(Clone, Copy, PartialEq, Eq, Debug)]\npub struct {}(pub usize);",
            entry.name
        )
        .expect("a string takes all");
    }
    out.push_str(STATUS);
    for entry in spec.types_of("enum") {
        writeln!(out, "\n/// `{0}`, an enumeration in C.\npub type {0} = c_int;", entry.name)
            .expect("a string takes all");
    }
    for entry in spec.callbacks() {
        writeln!(out, "\n{}", callback(spec, entry)).expect("a string takes all");
    }
    out
}

fn callback(spec: &Spec, entry: &Type) -> String {
    let params: Vec<String> = entry
        .params
        .iter()
        .map(
            |param| {
                if param.is_variadic() { "...".to_owned() } else { CType::parse(&param.ctype).rust(spec) }
            },
        )
        .collect();
    let returns = match entry.returns.as_deref() {
        Some("void") | None => "",
        Some(_) => " -> c_int",
    };
    format!(
        "/// `{0}`, possibly null.\npub type {0} = Option<unsafe extern \"C-unwind\" fn({1}){returns}>;",
        entry.name,
        params.join(", ")
    )
}
