//! Pages of the manual, for `man`.

use std::fmt::Write as _;

use super::{Tool, Word};
use crate::flags;

const SOURCE: &str = concat!("Corelace ", env!("CARGO_PKG_VERSION"));

/// Of the launcher.
pub(super) fn of_mpirun(tool: &Tool) -> String {
    let mut page = head(&tool.name, &tool.about);
    section(&mut page, "SYNOPSIS", "mpirun [FLAGS] PROGRAM [ARGUMENTS] [: [FLAGS] PROGRAM [ARGUMENTS]]...");
    section(&mut page, "DESCRIPTION", flags::PROGRAMS);
    page.push_str(".SH OPTIONS\n");
    for (title, words) in &tool.groups {
        _ = writeln!(page, ".SS {}", escaped(title));
        items(&mut page, words);
    }
    section(&mut page, "EXIT STATUS", flags::STATUS);
    page.push_str(".SH EXAMPLES\n");
    for (line, what) in flags::EXAMPLES {
        item(&mut page, line, what);
    }
    page.push_str(".SH ENVIRONMENT\n");
    for (name, what) in [
        ("CORELACE_CACHE", "where programs are kept that were compiled from source files; off keeps none"),
        ("CORELACE_PREFIX", "the installation to use instead of that of the command"),
        ("CC, CXX, FC", "the compilers"),
        ("COLUMNS", "the width of --help"),
    ] {
        item(&mut page, name, what);
    }
    also(&mut page, "mpicc(1), mpicxx(1), mpifort(1), corelace(1)");
    page
}

/// Of a compiler wrapper.
pub(super) fn of_wrapper(tool: &Tool) -> String {
    let mut page = head(&tool.name, &tool.about);
    section(&mut page, "SYNOPSIS", &format!("{} [WHAT THE COMPILER TAKES]", tool.name));
    section(
        &mut page,
        "DESCRIPTION",
        "Calls the compiler with what an MPI program needs. The compiler is that of CC (CXX for C++, FC for \
         Fortran), else cc (c++, gfortran). These words are for the wrapper; all others reach the compiler.",
    );
    page.push_str(".SH OPTIONS\n");
    tool.groups.iter().for_each(|(_, words)| items(&mut page, words));
    also(&mut page, "mpirun(1), corelace(1)");
    page
}

/// Of `corelace` with all its commands.
pub(super) fn of_corelace(tools: &[Tool]) -> String {
    let mut page = head("corelace", "a Message Passing Interface born for manycore processors");
    section(&mut page, "SYNOPSIS", "corelace COMMAND [WORD...]");
    section(
        &mut page,
        "DESCRIPTION",
        "The commands below. corelace COMMAND --help says more of one; corelace run is mpirun(1).",
    );
    page.push_str(".SH COMMANDS\n");
    for tool in tools {
        _ = writeln!(page, ".SS {}\n{}", escaped(&tool.name), escaped(&tool.about));
        if tool.name == "run" {
            continue;
        }
        for (name, help) in &tool.operands {
            item(&mut page, name, help);
        }
        tool.groups.iter().for_each(|(_, words)| items(&mut page, words));
    }
    also(&mut page, "mpirun(1), mpicc(1), mpicxx(1), mpifort(1)");
    page
}

fn head(name: &str, about: &str) -> String {
    format!(
        ".TH {} 1 \"\" \"{SOURCE}\" \"Corelace\"\n.SH NAME\n{} \\- {}\n",
        name.to_uppercase(),
        escaped(name),
        escaped(about)
    )
}

fn section(page: &mut String, title: &str, text: &str) {
    _ = writeln!(page, ".SH {title}\n{}", escaped(text));
}

fn also(page: &mut String, pages: &str) {
    section(page, "SEE ALSO", pages);
}

fn items(page: &mut String, words: &[Word]) {
    for word in words {
        item(page, &(word.names.join(", ") + &word.value), &word.help);
    }
}

fn item(page: &mut String, term: &str, text: &str) {
    _ = writeln!(page, ".TP\n\\fB{}\\fR\n{}", escaped(term), escaped(text));
}

/// Text that means nothing else to the formatter: no escapes, no dash that becomes a hyphen, no line
/// that begins as requests do, nothing but ASCII.
fn escaped(text: &str) -> String {
    let escape = |letter: char| match letter {
        '\\' => "\\e".to_owned(),
        '-' => "\\-".to_owned(),
        '\n' => " ".to_owned(),
        letter if letter.is_ascii() => letter.to_string(),
        letter => format!("\\[u{:04X}]", u32::from(letter)),
    };
    let text: String = text.chars().map(escape).collect();
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_formatters_would_take_for_requests_is_escaped() {
        assert_eq!(escaped(".so a\\b -x"), "\\&.so a\\eb \\-x");
        assert_eq!(escaped("'quoted'"), "\\&'quoted'");
        assert_eq!(escaped("KEY=VALUE,…"), "KEY=VALUE,\\[u2026]");
    }
}
