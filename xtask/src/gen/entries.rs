//! `entries/<chapter>.rs`: the entry points.
//!
//! A function is defined as `PMPI_X` and exported as `MPI_X` through a weak alias, which a profiling tool may replace at
//! link time. The alias is made by the assembler in the same object file as its target, which is why `capi` is compiled as
//! one codegen unit.
//!
//! Entry points and callbacks are `C-unwind`: a C++ exception that an error handler or another callback throws passes through.

use std::fmt::Write;

use super::convert;
use super::ctype::{CType, rust_name};
use super::rust_banner;
use super::shapes;
use crate::scan::{Form, Implementation, Implemented};
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
        let implementation = implemented.of(function);
        out.push('\n');
        let forms = forms(spec, function, functions)
            .filter(|forms| implemented.of(forms.small) == implemented.of(forms.large));
        match forms.zip(implementation.as_ref()) {
            Some((forms, implementation)) => out.push_str(&form(spec, function, forms, implementation)),
            None => out.push_str(&entry(spec, function, implementation.as_ref())),
        }
    }
    out.push_str("\nglobal_asm!(\n");
    for function in functions {
        writeln!(out, "    \".weak {0}\",\n    \".set {0}, P{0}\",", function.name)
            .expect("a string takes all");
    }
    out.push_str(");\n");
    out
}

/// The Rust source of `entries/mod.rs`.
pub fn render_root(modules: &[String]) -> String {
    let mut out = rust_banner("The 662 entry points.");
    out.push_str(
        "#![allow(non_snake_case, unused_variables, clippy::too_many_arguments, clippy::missing_safety_doc)]\n\
         #![allow(clippy::unnecessary_cast, clippy::let_and_return, clippy::needless_borrow)]\n\nmod prelude;\n\n",
    );
    for module in modules {
        writeln!(out, "mod {module};").expect("a string takes all");
    }
    out
}

/// The Rust source of `entries/prelude.rs`.
pub fn render_prelude() -> String {
    let mut out = rust_banner("What the chapters share.");
    out.push_str(
        "pub(super) use core::arch::global_asm;\npub(super) use core::ffi::{c_char, c_int, c_void};\n\n\
         pub(super) use crate::abi::constants::*;\npub(super) use crate::abi::types::*;\n\
         pub(super) use crate::call::{self, Scope, Word as _};\n\
         pub(super) use crate::convert::{Buf, NumberArray, RankArg, StatusOut, StatusesOut, TagArg};\n",
    );
    out
}

/// The two forms of a function whose arguments differ in nothing but the width of numbers and of those in arrays.
#[derive(Clone, Copy)]
struct Forms<'a> {
    small: &'a Function,
    large: &'a Function,
}

/// The forms of a function that can share one body: not those of a hot one, since passing the arguments on takes time.
fn forms<'a>(spec: &Spec, function: &Function, among: &'a [Function]) -> Option<Forms<'a>> {
    let small_name = function.small.as_ref().unwrap_or(&function.name);
    let small = among.iter().find(|other| other.name == *small_name)?;
    let large = among
        .iter()
        .find(|other| other.small.as_ref() == Some(small_name) && other.name == format!("{small_name}_c"))?;
    let is_form = function.name == small.name || function.name == large.name;
    let same_shape = small.params.len() == large.params.len()
        && small.params.iter().zip(&large.params).all(|(small, large)| {
            let pointer = CType::parse(&small.ctype).is_pointer() || CType::parse(&large.ctype).is_pointer();
            small.name == large.name
                && small.kind == large.kind
                && !small.is_variadic()
                && (small.ctype == large.ctype || !pointer || convert::is_number_array(large))
        });
    (is_form && same_shape && small.returns_error_code() && !is_hot(spec, small))
        .then_some(Forms { small, large })
}

/// The entry point of one of two forms, and with the small one the body of both.
fn form(spec: &Spec, function: &Function, forms: Forms<'_>, implementation: &Implementation) -> String {
    let Forms { small, large } = forms;
    let is_large = function.name == large.name;
    let typed = |param| format!("{}: {}", rust_name(param), CType::parse(&param.ctype).rust(spec));
    let parameters: Vec<String> = function.params.iter().map(typed).collect();
    let (mut arguments, mut common, mut arrays) = (Vec::new(), Vec::new(), String::new());
    for (narrow, wide) in small.params.iter().zip(&large.params) {
        let name = rust_name(narrow);
        let is_array = narrow.ctype != wide.ctype && convert::is_number_array(wide);
        // Addresses have 64 bits in both forms, under two names.
        if is_array && CType::parse(&narrow.ctype).base != "int" {
            arguments.push(format!("{name}.cast()"));
            common.push(typed(wide));
            continue;
        }
        if is_array {
            arguments.push(format!("{name}.cast()"));
            common.push(format!("{name}: *const c_void"));
            writeln!(arrays, "    let {name} = NumberArray::new({name}, is_large);")
                .expect("a string takes all");
            continue;
        }
        common.push(typed(wide));
        arguments.push(if is_large || narrow.ctype == wide.ctype {
            name
        } else {
            format!("{name} as {}", CType::parse(&wide.ctype).rust(spec))
        });
    }
    let mut out = format!(
        "/// `{0}`.\n#[unsafe(no_mangle)]\npub unsafe extern \"C-unwind\" fn P{0}({1}) -> c_int {{\n    \
         // SAFETY: the caller's promise, passed on.\n    unsafe {{ either_{2}({3}, {is_large}) }}\n}}\n",
        function.name,
        parameters.join(", "),
        small.name,
        arguments.join(", "),
    );
    if !is_large {
        let name = format!(
            "if is_large {{ call::entry!(\"{}\") }} else {{ call::entry!(\"{}\") }}",
            large.name, small.name
        );
        write!(
            out,
            "\n/// Both forms of `{0}`.\n#[inline(never)]\nunsafe extern \"C-unwind\" fn either_{0}({1}, is_large: bool) -> c_int {{\n{arrays}{2}}}\n",
            small.name,
            common.join(", "),
            checked(spec, large, implementation, &name),
        )
        .expect("a string takes all");
    }
    out
}

fn entry(spec: &Spec, function: &Function, implementation: Option<&Implementation>) -> String {
    let params: Vec<String> = function
        .params
        .iter()
        .filter(|param| !param.is_variadic())
        .map(|param| format!("{}: {}", rust_name(param), CType::parse(&param.ctype).rust(spec)))
        .collect();
    let returns = function.returns.as_ref().map_or("c_int", |returns| rust_return(&returns.ctype));
    let body = match (implementation, function.returns_error_code()) {
        (Some(implementation), true) => {
            checked(spec, function, implementation, &format!("call::entry!(\"{}\")", function.name))
        }
        (Some(implementation), false) => direct(function, &implementation.path),
        (None, true) => unsupported(function),
        (None, false) => panic!("{} must be implemented: it cannot report an error", function.name),
    };
    format!(
        "/// `{0}`.\n#[unsafe(no_mangle)]\npub unsafe extern \"C-unwind\" fn P{0}({1}) -> {returns} {{\n{body}}}\n",
        function.name,
        params.join(", ")
    )
}

/// Converts every parameter and calls the implementation. `name` is an expression.
fn checked(spec: &Spec, function: &Function, implementation: &Implementation, name: &str) -> String {
    let conversions = convert::conversions(spec, function);
    let mut statements = String::new();
    for stage in 0..=3 {
        if stage == 1 && convert::needs_root(function) {
            let comm = first_of_kind(function, "COMMUNICATOR").unwrap_or_else(|| "comm".to_owned());
            writeln!(statements, "            let at_root = {comm}.is_root(root.value);")
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
    let (scope, work) = (scope(function), work(implementation, arguments));
    let words = if is_tool(function) { String::new() } else { format!("{}, ", shapes::words(function)) };
    let call =
        format!("call::{run}({name}, {scope}, {words}|call| {{\n{statements}            {work}\n        }})");
    if touches_memory {
        format!(
            "    // SAFETY: MPI's contract with the caller, stated once in `crate::convert`.\n    unsafe {{\n        {call}\n    }}\n"
        )
    } else {
        format!("    {call}\n")
    }
}

/// The call of the implementation. A plan does not take the request that the form of the collective gives back, nor hints.
fn work(implementation: &Implementation, mut arguments: Vec<String>) -> String {
    let path = &implementation.path;
    let (name, apart) = match implementation.form {
        None => return format!("{path}({})", arguments.join(", ")),
        Some(Form::Blocking) => ("wait", 0),
        Some(Form::NonBlocking) => ("start", 1),
        Some(Form::Persistent) => ("keep", 2),
    };
    let apart = arguments.split_off(arguments.len() - apart);
    let plan = format!("{path}({})", arguments.join(", "));
    if apart.is_empty() {
        return format!("crate::imp::collectives::{name}({plan})");
    }
    format!("crate::imp::collectives::{name}(call, &comm, {plan}, {})", apart.join(", "))
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
        "    let _ = ({});\n    call::{report}(call::entry!(\"{}\"), {})\n",
        unused.iter().map(|name| format!("{name}, ")).collect::<String>().trim_end(),
        function.name,
        scope(function)
    )
}

/// A hot function has the conversions of its handles compiled into it; the others call the library's one copy, among them the forms with large
/// counts: those who call them have more to send, or come from a language whose own way is longer.
fn is_hot(spec: &Spec, function: &Function) -> bool {
    spec.hot.contains(&function.name)
}

/// Functions of the tools interface return their errors and call no handler (MPI section 15.3.10).
fn is_tool(function: &Function) -> bool {
    function.name.starts_with("MPI_T_")
}

/// Whose error handler is called, and whose lane the call is in: that of the first communicator, file, request, session, window or message among the arguments. Of several
/// requests in an array, the lane only.
fn scope(function: &Function) -> String {
    for (kind, variant) in [
        ("COMMUNICATOR", "Comm"),
        ("FILE", "File"),
        ("REQUEST", "Request"),
        ("SESSION", "Session"),
        ("WINDOW", "Win"),
    ] {
        if let Some(name) = first_of_kind(function, kind) {
            return format!("Scope::{variant}({name})");
        }
    }
    for (kind, variant) in [("REQUEST", "RequestAt"), ("MESSAGE", "MessageAt"), ("WINDOW", "WinAt")] {
        let given = |param: &&crate::spec::Param| {
            param.kind == kind && param.dir != Direction::Out && param.length.is_none()
        };
        if let Some(name) = function.params.iter().find(given).map(rust_name) {
            return format!("Scope::{variant}({name})");
        }
    }
    let array = |param: &&crate::spec::Param| param.kind == "REQUEST" && param.length.is_some();
    if let Some(array) = function.params.iter().find(array)
        && let Some(length) = &array.length
    {
        return format!("Scope::Requests({}, {length})", rust_name(array));
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
