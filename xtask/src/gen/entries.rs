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
use crate::spec::{Chapter, Direction, Function, Param, Spec};

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
        "#![allow(non_snake_case, clippy::too_many_arguments, reason = \"the standard's names and parameters\")]\n\
         #![allow(clippy::missing_safety_doc, reason = \"the standard says what each function needs\")]\n\
         #![allow(unused_variables, clippy::unnecessary_cast, clippy::let_and_return, clippy::needless_borrow,\n    \
         reason = \"generated alike for all functions\")]\n\nmod prelude;\n\n",
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
         pub(super) use crate::call::{self, Call, Scope, Shared, Whose, Word as _};\n\
         pub(super) use crate::convert::{Buf, NumberArray, RankArg, StatusOut, StatusesOut, TagArg};\npub(super) use crate::errors::Outcome;\n",
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

/// The entry point of one of two forms, and with the small one the body of both: the words of their arguments are the same, but for the elements of arrays.
fn form(spec: &Spec, function: &Function, forms: Forms<'_>, implementation: &Implementation) -> String {
    let Forms { small, large } = forms;
    let body = format!("either_{}", small.name);
    let run = run(spec, function, &body);
    let run = if is_quick(function) { quickly_or(function, &run) } else { format!("    {run}\n") };
    let mut out = entry_point(spec, function, &run);
    if function.name == small.name {
        let Conversions { statements, work, .. } = Conversions::of(spec, large, implementation);
        let names = names(large);
        let statements = format!(
            "{}{}{statements}            {work}\n",
            taken_up(spec, large),
            arrays_of_either_width(forms)
        );
        write!(
            out,
            "\n/// What both forms of `{}` do.\nunsafe fn {body}(call: &{}, &[{}]: &[u64; {}]) -> Outcome {{\n    \
             // SAFETY: MPI's contract with the caller, stated once in `crate::convert`.\n    unsafe {{\n{}    }}\n}}\n",
            small.name,
            if is_any_phase(spec, large) { "Call" } else { "Shared" },
            names.join(", "),
            names.len(),
            statements.lines().map(|line| format!("{}\n", &line[4..])).collect::<String>(),
        )
        .expect("a string takes all");
    }
    out
}

/// The statements that note how wide the elements of the arrays are that differ between the forms. Addresses have 64 bits in both, under two names.
fn arrays_of_either_width(Forms { small, large }: Forms<'_>) -> String {
    let differs = |(narrow, wide): &(&Param, &Param)| {
        narrow.ctype != wide.ctype
            && convert::is_number_array(wide)
            && CType::parse(&narrow.ctype).base == "int"
    };
    let statement = |(param, _)| {
        let name = rust_name(param);
        format!("            let {name} = NumberArray::new({name}.cast(), is_large);\n")
    };
    let statements: String = small.params.iter().zip(&large.params).filter(differs).map(statement).collect();
    if statements.is_empty() {
        return statements;
    }
    format!("            let is_large = call.has_large_counts();\n{statements}")
}

fn entry(spec: &Spec, function: &Function, implementation: Option<&Implementation>) -> String {
    let implementation = implementation
        .unwrap_or_else(|| panic!("{} must be implemented in crates/capi/src/imp", function.name));
    let body = match function.returns_error_code() {
        true => checked(spec, function, implementation),
        false => direct(function, &implementation.path),
    };
    if is_quick(function) { quick(spec, function, &body) } else { entry_point(spec, function, &body) }
}

/// A function that C calls.
fn entry_point(spec: &Spec, function: &Function, body: &str) -> String {
    let params: Vec<String> = given(function)
        .map(|param| format!("{}: {}", rust_name(param), CType::parse(&param.ctype).rust(spec)))
        .collect();
    let returns = function.returns.as_ref().map_or("c_int", |returns| rust_return(&returns.ctype));
    format!(
        "/// `{0}`.\n#[unsafe(no_mangle)]\npub unsafe extern \"C-unwind\" fn P{0}({1}) -> {returns} {{\n{body}}}\n",
        function.name,
        params.join(", ")
    )
}

/// The parameters that an entry point takes.
fn given(function: &Function) -> impl Iterator<Item = &Param> {
    function.params.iter().filter(|param| !param.is_variadic())
}

fn names(function: &Function) -> Vec<String> {
    given(function).map(rust_name).collect()
}

/// Converts every parameter and calls the implementation: right here in a hot function, in a body that takes words in any other.
fn checked(spec: &Spec, function: &Function, implementation: &Implementation) -> String {
    let Conversions { statements, touch_memory, work } = Conversions::of(spec, function, implementation);
    let name = &function.name;
    let work = format!("{statements}            {work}\n        }}");
    let call = if is_tool(function) {
        format!("call::run_tool(call::entry!(\"{name}\"), |call| {{\n{work})")
    } else if is_hot(spec, function) {
        let words = shapes::words(spec, function);
        let under = if is_quick(function) { ", under: 1" } else { "" };
        format!(
            "call::run(call::entry!(\"{name}\"{under}), {}, move || {words}, |call| {{\n{work})",
            scope(function).in_place()
        )
    } else {
        let names = names(function).join(", ");
        let taken_up = taken_up(spec, function);
        run(spec, function, &format!("|call, &[{names}]| {{\n{taken_up}{work}"))
    };
    // A function of the tools interface takes its arguments as they are.
    let has_callbacks = !is_tool(function) && given(function).any(|param| shapes::is_callback(spec, param));
    if touch_memory || has_callbacks {
        format!(
            "    // SAFETY: MPI's contract with the caller, stated once in `crate::convert`.\n    unsafe {{\n        {call}\n    }}\n"
        )
    } else {
        format!("    {call}\n")
    }
}

/// The functions that have a form in `imp/quick`, which does what most calls of them come to.
fn is_quick(function: &Function) -> bool {
    const MESSAGES: [&str; 5] = ["MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Sendrecv"];
    const ROOTED: [&str; 4] = ["MPI_Bcast", "MPI_Gather", "MPI_Scatter", "MPI_Reduce"];
    const PREFIXES: [&str; 2] = ["MPI_Scan", "MPI_Exscan"];
    const MEETINGS: [&str; 4] = ["MPI_Barrier", "MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall"];
    const WINDOWS: [&str; 6] =
        ["MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Fetch_and_op", "MPI_Compare_and_swap", "MPI_Win_flush"];
    const LOCKS: [&str; 2] = ["MPI_Win_lock", "MPI_Win_unlock"];
    let name = &function.name.as_str();
    [&MESSAGES[..], &WINDOWS, &LOCKS, &ROOTED, &PREFIXES, &MEETINGS].iter().any(|names| names.contains(name))
}

/// The body of an entry point that tries that form first. One that sends and receives may have sent when it finds that it cannot receive at once: it says so by its destination, which
/// is nobody from then on.
fn quickly_or(function: &Function, otherwise: &str) -> String {
    let (name, mut arguments) = (&function.name, names(function));
    let mut before = "";
    if name == "MPI_Sendrecv"
        && let Some(dest) = arguments.iter_mut().find(|argument| *argument == "dest")
    {
        *dest = "&mut dest".into();
        before = "let mut dest = dest;\n        ";
    }
    let arguments = arguments.join(", ");
    format!(
        "    // SAFETY: MPI's contract with the caller, stated once in `crate::convert`.\n    unsafe {{\n        {before}\
         if let Some(state) = call::quick(call::entry!(\"{name}\")) && crate::imp::quick::{}(state, {arguments}) {{\n            \
         return MPI_SUCCESS;\n        }}\n        {otherwise}\n    }}\n",
        name.to_lowercase()
    )
}

/// The entry point that tries that form first, and the function for all other calls: apart, so that what it needs is not kept for it.
fn quick(spec: &Spec, function: &Function, body: &str) -> String {
    let (name, arguments) = (&function.name, names(function).join(", "));
    let first = quickly_or(function, &format!("call::left_to(any_{name}({arguments}))"));
    let params: Vec<String> = given(function)
        .map(|param| format!("{}: {}", rust_name(param), CType::parse(&param.ctype).rust(spec)))
        .collect();
    format!(
        "{}\n/// Any call of `{name}`.\n#[inline(never)]\nunsafe fn any_{name}({}) -> c_int {{\n{body}}}\n",
        entry_point(spec, function, &first),
        params.join(", ")
    )
}

/// The call of what runs the body of a function that is not hot, with its arguments as words.
fn run(spec: &Spec, function: &Function, body: &str) -> String {
    let run = if is_any_phase(spec, function) { "run_any_phase" } else { "run_shared" };
    format!(
        "call::{run}(call::entry!(\"{}\"), {}, {}, {body})",
        function.name,
        scope(function).among_words(function),
        shapes::words(spec, function)
    )
}

/// The statement that makes arguments of words.
fn taken_up(spec: &Spec, function: &Function) -> String {
    let taken_up = |param| {
        let (name, ctype) = (rust_name(param), CType::parse(&param.ctype).rust(spec));
        if shapes::is_callback(spec, param) {
            format!("call::callback::<{ctype}>({name})")
        } else {
            format!("<{ctype}>::of({name})")
        }
    };
    let arguments: Vec<String> = given(function).map(taken_up).collect();
    match arguments.as_slice() {
        [] => String::new(),
        [argument] => format!("            let {} = {argument};\n", names(function)[0]),
        _ => format!("            let ({}) = ({});\n", names(function).join(", "), arguments.join(", ")),
    }
}

/// How a function's parameters become what its implementation takes.
struct Conversions {
    statements: String,
    touch_memory: bool,
    /// The call of the implementation.
    work: String,
}

impl Conversions {
    fn of(spec: &Spec, function: &Function, implementation: &Implementation) -> Self {
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
        let touch_memory = conversions.iter().any(|conversion| conversion.stage >= 2);
        let mut arguments = vec!["call".to_owned()];
        arguments.extend(conversions.into_iter().map(|conversion| conversion.argument));
        Self { statements, touch_memory, work: work(implementation, arguments) }
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

/// A hot function has the conversions of its handles compiled into it; the others call the library's one copy, among them the forms with large
/// counts: those who call them have more to send, or come from a language whose own way is longer.
fn is_hot(spec: &Spec, function: &Function) -> bool {
    spec.hot.contains(&function.name)
}

/// Whether a function may be called before MPI_Init and after MPI_Finalize.
fn is_any_phase(spec: &Spec, function: &Function) -> bool {
    spec.any_phase.contains(&function.name)
}

/// Functions of the tools interface return their errors and call no handler (MPI section 15.3.10).
fn is_tool(function: &Function) -> bool {
    function.name.starts_with("MPI_T_")
}

/// Whose error handler is called, and whose lane the call is in: a variant of `Scope` and of `Whose`, and the arguments that it is about.
struct ScopeOf {
    variant: &'static str,
    arguments: Vec<String>,
}

impl ScopeOf {
    /// With the arguments themselves.
    fn in_place(&self) -> String {
        self.with("Scope", self.arguments.clone())
    }

    /// With their positions among the words of a function.
    fn among_words(&self, function: &Function) -> String {
        let names = names(function);
        let position = |argument| names.iter().position(|name| name == argument).expect("a parameter");
        self.with("Whose", self.arguments.iter().map(|argument| position(argument).to_string()).collect())
    }

    fn with(&self, sort: &str, values: Vec<String>) -> String {
        match values.as_slice() {
            [] => format!("{sort}::{}", self.variant),
            _ => format!("{sort}::{}({})", self.variant, values.join(", ")),
        }
    }
}

/// That of the first communicator, file, request, session, window or message among the arguments.
/// Of several requests in an array, the lane only. A function that makes an object with a given
/// error handler calls that one.
fn scope(function: &Function) -> ScopeOf {
    if is_about_files(function) {
        return ScopeOf { variant: "Files", arguments: Vec::new() };
    }
    for (kind, variant) in [
        ("COMMUNICATOR", "Comm"),
        ("FILE", "File"),
        ("REQUEST", "Request"),
        ("SESSION", "Session"),
        ("WINDOW", "Win"),
    ] {
        if let Some(name) = first_of_kind(function, kind) {
            return ScopeOf { variant, arguments: vec![name] };
        }
    }
    for (kind, variant) in
        [("REQUEST", "RequestAt"), ("MESSAGE", "MessageAt"), ("WINDOW", "WinAt"), ("FILE", "FileAt")]
    {
        let given =
            |param: &&Param| param.kind == kind && param.dir != Direction::Out && param.length.is_none();
        if let Some(name) = function.params.iter().find(given).map(rust_name) {
            return ScopeOf { variant, arguments: vec![name] };
        }
    }
    let array = |param: &&Param| param.kind == "REQUEST" && param.length.is_some();
    if let Some(array) = function.params.iter().find(array)
        && let Some(length) = &array.length
    {
        return ScopeOf { variant: "Requests", arguments: vec![rust_name(array), length.clone()] };
    }
    if let Some(handler) = first_of_kind(function, "ERRHANDLER") {
        let makes =
            |kind: &str| function.params.iter().any(|made| made.kind == kind && made.dir == Direction::Out);
        for (kind, variant) in [("COMMUNICATOR", "NewComm"), ("SESSION", "NewSession")] {
            if makes(kind) {
                return ScopeOf { variant, arguments: vec![handler] };
            }
        }
    }
    ScopeOf { variant: "Process", arguments: Vec::new() }
}

/// Whether the errors of a function belong to no open file, but to the handler that files begin with (MPI section 14.7).
fn is_about_files(function: &Function) -> bool {
    ["MPI_File_open", "MPI_File_delete", "MPI_Register_datarep", "MPI_Register_datarep_c"]
        .contains(&function.name.as_str())
}

/// The first input of a kind that is given by value.
fn first_of_kind(function: &Function, kind: &str) -> Option<String> {
    let given = |param: &&Param| {
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
