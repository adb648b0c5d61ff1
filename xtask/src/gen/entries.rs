//! `gen/<chapter>.rs`: the entry points.
//!
//! A function is defined as `PMPI_X` and exported as `MPI_X` through a weak alias, which a profiling tool may replace at
//! link time. The alias is made by the assembler in the same object file as its target, which is why `capi` is compiled as
//! one codegen unit.

use std::fmt::Write;

use super::convert;
use super::ctype::{CType, rust_name};
use super::rust_banner;
use crate::scan::Implemented;
use crate::spec::{Chapter, Direction, Function, Spec};

/// The Rust source of one chapter.
pub fn render(spec: &Spec, chapter: &Chapter, implemented: &Implemented) -> String {
    let subject = format!("Entry points of the chapter `{}`.", chapter.name);
    render_functions(spec, &subject, &chapter.functions, implemented)
}

/// The Rust source of some functions.
pub fn render_functions(
    spec: &Spec,
    subject: &str,
    functions: &[Function],
    implemented: &Implemented,
) -> String {
    let mut out = rust_banner(subject);
    out.push_str("use super::prelude::*;\n");
    for function in functions {
        out.push('\n');
        out.push_str(&entry(spec, function, implemented.path(function).as_deref()));
    }
    out.push_str("\nglobal_asm!(\n");
    for function in functions {
        writeln!(out, "    \".weak {0}\",\n    \".set {0}, P{0}\",", function.name)
            .expect("a string takes all");
    }
    out.push_str(");\n");
    out
}

/// The Rust source of `gen/mod.rs`.
pub fn render_root(modules: &[String]) -> String {
    let mut out = rust_banner("The C interface: types, constants and the 662 entry points.");
    out.push_str(
        "#![allow(non_upper_case_globals, non_snake_case, unused_variables, unused_imports, clippy::too_many_arguments, clippy::missing_safety_doc)]\n\
         #![allow(clippy::unnecessary_cast, clippy::let_and_return)]\n\n",
    );
    out.push_str("pub mod constants;\npub mod types;\n\n");
    for module in modules {
        writeln!(out, "mod {module};").expect("a string takes all");
    }
    out.push_str(
        "\n/// What the chapters share.\nmod prelude {\n    pub(super) use core::arch::global_asm;\n    \
         pub(super) use core::ffi::{c_char, c_int, c_void};\n\n    pub(super) use super::constants::*;\n    \
         pub(super) use super::types::*;\n    pub(super) use crate::call::{self, Scope};\n    \
         pub(super) use crate::convert::{Buf, RankArg, StatusOut, StatusesOut, TagArg};\n}\n",
    );
    out
}

fn entry(spec: &Spec, function: &Function, implementation: Option<&str>) -> String {
    let params: Vec<String> = function
        .params
        .iter()
        .filter(|param| !param.is_variadic())
        .map(|param| format!("{}: {}", rust_name(param), CType::parse(&param.ctype).rust(spec)))
        .collect();
    let returns = function.returns.as_ref().map_or("c_int", |returns| rust_return(&returns.ctype));
    let body = match (implementation, function.returns_error_code()) {
        (Some(path), true) => checked(spec, function, path),
        (Some(path), false) => direct(function, path),
        (None, true) => unsupported(function),
        (None, false) => panic!("{} must be implemented: it cannot report an error", function.name),
    };
    format!(
        "/// `{0}`.\n#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn P{0}({1}) -> {returns} {{\n{body}}}\n",
        function.name,
        params.join(", ")
    )
}

/// Converts every parameter and calls the implementation.
fn checked(spec: &Spec, function: &Function, path: &str) -> String {
    let conversions = convert::conversions(spec, function);
    let mut statements = String::new();
    for stage in 0..=3 {
        if stage == 1 && convert::needs_root(function) {
            let comm = first_of_kind(function, "COMMUNICATOR").unwrap_or_else(|| "comm".to_owned());
            writeln!(statements, "            let at_root = {comm}.is_root(&root);")
                .expect("a string takes all");
        }
        for conversion in conversions.iter().filter(|conversion| conversion.stage == stage) {
            for line in conversion.statement.lines() {
                writeln!(statements, "            {line}").expect("a string takes all");
            }
        }
    }
    // The last two stages are those of addresses.
    let touches_memory = conversions.iter().any(|conversion| conversion.stage >= 2);
    let mut arguments = vec!["call".to_owned()];
    arguments.extend(conversions.into_iter().map(|conversion| conversion.argument));
    let run = match spec.any_phase.contains(&function.name) {
        _ if is_tool(function) => "run_tool",
        true => "run_any_phase",
        false if is_hot(spec, function) => "run",
        false => "run_shared",
    };
    let name = &function.name;
    let (scope, arguments) = (scope(function), arguments.join(", "));
    let call = format!(
        "call::{run}(\"{name}\", {scope}, |call| {{\n{statements}            {path}({arguments})\n        }})"
    );
    if touches_memory {
        format!(
            "    // SAFETY: MPI's contract with the caller, stated once in `crate::convert`.\n    unsafe {{\n        {call}\n    }}\n"
        )
    } else {
        format!("    {call}\n")
    }
}

/// Functions that return a value take their parameters as they are.
fn direct(function: &Function, path: &str) -> String {
    let arguments: Vec<String> = function.params.iter().map(rust_name).collect();
    format!("    {path}({})\n", arguments.join(", "))
}

fn unsupported(function: &Function) -> String {
    let unused: Vec<String> =
        function.params.iter().filter(|param| !param.is_variadic()).map(rust_name).collect();
    let report = if is_tool(function) { "unsupported_tool" } else { "unsupported" };
    format!(
        "    let _ = ({});\n    call::{report}(\"{}\", {})\n",
        unused.iter().map(|name| format!("{name}, ")).collect::<String>().trim_end(),
        function.name,
        scope(function)
    )
}

/// A hot function has the conversions of its handles compiled into it; the others call the library's one copy. The forms with
/// large counts are as hot as their small ones, which bindings of other languages may leave aside.
fn is_hot(spec: &Spec, function: &Function) -> bool {
    spec.hot.iter().any(|hot| *hot == function.name || Some(hot) == function.small.as_ref())
}

/// Functions of the tools interface return their errors and call no handler (MPI section 15.3.10).
fn is_tool(function: &Function) -> bool {
    function.name.starts_with("MPI_T_")
}

/// Whose error handler is called: that of the first communicator, file or request among the arguments.
fn scope(function: &Function) -> String {
    let kinds = [("COMMUNICATOR", "Comm"), ("FILE", "File"), ("REQUEST", "Request")];
    for (kind, variant) in kinds {
        if let Some(name) = first_of_kind(function, kind) {
            return format!("Scope::{variant}({name})");
        }
    }
    "Scope::Process".to_owned()
}

/// The first input of a kind that is given by value.
fn first_of_kind(function: &Function, kind: &str) -> Option<String> {
    let given = |param: &&crate::spec::Param| {
        param.kind == kind && param.dir == Direction::In && !CType::parse(&param.ctype).is_pointer()
    };
    function.params.iter().find(given).map(rust_name)
}

fn rust_return(ctype: &str) -> &str {
    match ctype {
        "int" => "c_int",
        "double" => "f64",
        other => other,
    }
}
