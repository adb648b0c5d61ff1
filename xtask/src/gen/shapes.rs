//! `abi/shapes.rs`: what the arguments of each function are, for checks that look at calls as they come in.
//!
//! An entry point hands its arguments to them as words ([`words`]); this table says what the words mean. It is one text, read when
//! checks are asked for: tables of strings would cost every start relocations. It leaves out forms with large counts that follow from their functions, and has each
//! argument once, of which functions name many in common: a line names them by two letters.

use std::fmt::Write;

use super::convert;
use super::ctype::{CType, rust_name};
use super::rust_banner;
use crate::scan::Implemented;
use crate::spec::{Direction, Function, Param, Spec};

/// The Rust source of the table.
pub fn render(spec: &Spec, implemented: &Implemented) -> String {
    let mut out = rust_banner("What the arguments of each function are. See `check/shapes.rs` for the form.");
    let mut lines = String::new();
    let mut words: Vec<String> = Vec::new();
    let chapters = spec.chapters.iter().flat_map(|chapter| &chapter.functions);
    for function in chapters.filter(|function| implemented.of(function).is_some()) {
        if function.name.starts_with("MPI_T_") || !function.returns_error_code() {
            continue;
        }
        let small = function.name.strip_suffix("_c").and_then(|name| spec.function(name));
        let arguments = arguments(function);
        let large = |word: &String| word.replace(":n", ":N");
        if small.is_some_and(|small| self::arguments(small).iter().map(large).eq(arguments.iter().cloned())) {
            continue;
        }
        let letters: String = arguments.into_iter().map(|word| letters(place(&mut words, word))).collect();
        let name = function.name.strip_prefix("MPI_").expect("functions of MPI are named so");
        writeln!(lines, "{name} {letters}\\n\\").expect("a string takes all");
    }
    out.push_str("/// The arguments that functions have.\npub static ARGUMENTS: &str = \"\\\n");
    words.iter().for_each(|word| writeln!(out, "{word}\\n\\").expect("a string takes all"));
    out.push_str(
        "\";\n\n/// A line for each function that this library has.\npub static SHAPES: &str = \"\\\n",
    );
    out.push_str(&lines);
    out.push_str("\";\n");
    out
}

/// Where a word is in a list, which it is put into if it is not there.
fn place(words: &mut Vec<String>, word: String) -> usize {
    words.iter().position(|known| *known == word).unwrap_or_else(|| {
        words.push(word);
        words.len() - 1
    })
}

/// The two letters that stand for a place.
fn letters(place: usize) -> String {
    assert!(place < 26 * 26, "two letters name as many arguments");
    [place / 26, place % 26].iter().map(|digit| char::from(b'a' + *digit as u8)).collect()
}

/// What a function's arguments are.
fn arguments(function: &Function) -> Vec<String> {
    let given = function.params.iter().filter(|param| !param.is_variadic());
    given.map(|param| format!("{}:{}", param.name, code(param))).collect()
}

/// The array of a function's arguments as words.
pub fn words(spec: &Spec, function: &Function) -> String {
    let word = |param: &Param| {
        let name = rust_name(param);
        if is_callback(spec, param) {
            format!("call::word_of_callback({name})")
        } else {
            format!("{name}.word()")
        }
    };
    let words: Vec<String> = function.params.iter().filter(|param| !param.is_variadic()).map(word).collect();
    format!("[{}]", words.join(", "))
}

/// Whether a parameter is the address of a function.
pub fn is_callback(spec: &Spec, param: &Param) -> bool {
    let ctype = CType::parse(&param.ctype);
    spec.callbacks().any(|entry| entry.name == ctype.base) && ctype.stars <= 1
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
