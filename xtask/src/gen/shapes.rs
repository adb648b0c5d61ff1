//! `abi/shapes.rs`: what the arguments of each function are, for checks that look at calls as they come in.
//!
//! An entry point hands its arguments to them as words ([`words`]); this table says what the words mean. It is one text, read when
//! checks are asked for: tables of strings would cost every start relocations.

use std::fmt::Write;

use super::convert;
use super::ctype::{CType, rust_name};
use super::rust_banner;
use crate::scan::Implemented;
use crate::spec::{Direction, Function, Param, Spec};

/// The Rust source of the table.
pub fn render(spec: &Spec, implemented: &Implemented) -> String {
    let mut out = rust_banner("What the arguments of each function are. See `check/shapes.rs` for the form.");
    out.push_str("/// A line for each function that this library has.\npub static SHAPES: &str = \"\\\n");
    let chapters = spec.chapters.iter().flat_map(|chapter| &chapter.functions);
    for function in chapters.filter(|function| implemented.of(function).is_some()) {
        if function.name.starts_with("MPI_T_") || !function.returns_error_code() {
            continue;
        }
        out.push_str(&function.name);
        for param in function.params.iter().filter(|param| !param.is_variadic()) {
            write!(out, " {}:{}", param.name, code(param)).expect("a string takes all");
        }
        out.push_str("\\n\\\n");
    }
    out.push_str("\";\n");
    out
}

/// The closure that makes words of a function's arguments.
pub fn words(function: &Function) -> String {
    let words: Vec<String> =
        function
            .params
            .iter()
            .filter(|param| !param.is_variadic())
            .map(|param| {
                if code(param).starts_with('.') { "0".into() } else { format!("{}.word()", rust_name(param)) }
            })
            .collect();
    format!("move || [{}]", words.join(", "))
}

/// What a word is, whether it is read or written, whether it is an array, and whether the root alone looks at it.
fn code(param: &Param) -> String {
    let kind = match param.kind.as_str() {
        "BUFFER" => 'b',
        "DATATYPE" => 't',
        "COMMUNICATOR" => 'c',
        "GROUP" => 'g',
        "OPERATION" => 'o',
        "INFO" => 'i',
        "ERRHANDLER" => 'e',
        "KEYVAL" => 'k',
        "REQUEST" => 'q',
        "MESSAGE" => 'm',
        "RANK" | "RANK_NNI" => 'r',
        "STATUS" => 's',
        "WINDOW" => 'w',
        _ if convert::is_number_array(param) && CType::parse(&param.ctype).base == "int" => 'n',
        _ if convert::is_number_array(param) => 'N',
        _ if param.dir == Direction::In && !CType::parse(&param.ctype).is_pointer() => 'v',
        _ if param.dir == Direction::Out && param.length.is_none() => 'v',
        _ => '.',
    };
    let is_pointer = CType::parse(&param.ctype).is_pointer();
    let direction = match param.dir {
        // MPI_Cancel takes a request by its address and leaves it as it is.
        Direction::In if param.kind == "REQUEST" && param.length.is_none() && is_pointer => '=',
        Direction::In => '<',
        Direction::Out => '>',
        Direction::Inout => '=',
    };
    let array = if param.length.is_some() { "*" } else { "" };
    let root = if param.root_only { "^" } else { "" };
    format!("{kind}{direction}{array}{root}")
}
