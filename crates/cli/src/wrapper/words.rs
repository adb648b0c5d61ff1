//! What a compiler's command line asks for: the few questions whose answers change what `mpicc` adds.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What a command line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Analysis {
    pub stage: Stage,
    /// A word that cannot go together with a dual-use program.
    pub ordinary: bool,
    pub query: Option<Query>,
}

/// How far the compiler is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// No input: `--version`, `-dumpmachine`, or a mistake that the compiler explains best.
    Nothing,
    /// Preprocess, compile or assemble only, or join objects (`-r`).
    Object,
    /// Link a shared library.
    Library,
    /// Link a program.
    Program,
}

/// A question to the wrapper, in the words of MPICH or of Open MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Query {
    Show,
    CompileCommand,
    LinkCommand,
    CompileFlags,
    LinkFlags,
    IncludeDirectories,
    LibraryDirectories,
    Libraries,
    Command,
    Version,
    Help,
}

/// The question that a word asks.
pub(super) fn query(word: &OsStr) -> Option<Query> {
    let name = word.to_str()?.strip_prefix('-')?;
    match name.strip_prefix('-').unwrap_or(name) {
        "show" | "showme" => Some(Query::Show),
        "compile-info" | "compile_info" => Some(Query::CompileCommand),
        "link-info" | "link_info" => Some(Query::LinkCommand),
        "showme:compile" => Some(Query::CompileFlags),
        "showme:link" => Some(Query::LinkFlags),
        "showme:incdirs" => Some(Query::IncludeDirectories),
        "showme:libdirs" => Some(Query::LibraryDirectories),
        "showme:libs" => Some(Query::Libraries),
        "showme:command" => Some(Query::Command),
        "showme:version" => Some(Query::Version),
        "showme:help" => Some(Query::Help),
        // Two dashes are the compiler's.
        "help" if name == "help" => Some(Query::Help),
        _ => None,
    }
}

/// Options whose value is the next word, so that the value is not taken for an input file.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-x",
    "-J",
    "-I",
    "-L",
    "-D",
    "-U",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "--sysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-mllvm",
    "-T",
    "-u",
    "-z",
    "-e",
    "--param",
    "-aux-info",
    "-wrapper",
    "-specs",
    "-arch",
    "-target",
    "-A",
    "-B",
    "-dumpbase",
    "-dumpdir",
    "-G",
];

/// Options that end the compiler's work before linking.
const OBJECT_ONLY: &[&str] =
    &["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r", "-emit-ast", "--precompile"];

/// Options after which the program cannot be a dual-use one: start files or layout are the user's, or a run-time library
/// insists on being part of an executable.
const ORDINARY: &[&str] = &[
    "-static",
    "-static-pie",
    "-pie",
    "-no-pie",
    "-nostdlib",
    "-nostartfiles",
    "-nodefaultlibs",
    "-nolibc",
    "-pg",
    "-p",
];

/// Reads a command line. Response files (`@file`) are looked into, for the decisive word may be there.
pub(super) fn analyse(words: &[OsString]) -> Analysis {
    let mut analysis = Analysis { stage: Stage::Nothing, ordinary: false, query: None };
    let (mut inputs, mut object, mut library) = (false, false, false);
    let mut words = expand(words).into_iter();
    while let Some(word) = words.next() {
        analysis.query = analysis.query.or_else(|| query(&word));
        let Some(text) = word.to_str() else {
            inputs = true;
            continue;
        };
        if WITH_VALUE.contains(&text) {
            words.next();
        } else if text == "-l" {
            inputs |= words.next().is_some();
        } else if OBJECT_ONLY.contains(&text) {
            object = true;
        } else if text == "-shared" || text == "--shared" || text == "-dynamiclib" {
            library = true;
        } else if ORDINARY.contains(&text) || text.starts_with("-fsanitize=") {
            analysis.ordinary = true;
        } else if !text.starts_with('-') || text == "-" || (text.starts_with("-l") && text.len() > 2) {
            inputs = true;
        }
    }
    analysis.stage = match (inputs, object, library) {
        (false, ..) => Stage::Nothing,
        (true, true, _) => Stage::Object,
        (true, false, true) => Stage::Library,
        (true, false, false) => Stage::Program,
    };
    analysis
}

/// The name by which the compiler calls the linker that the words choose; `None` if they name it by its place.
pub(super) fn linker(words: &[OsString]) -> Option<String> {
    let words = expand(words);
    let mut chosen = words.iter().filter_map(|word| word.to_str()?.strip_prefix("-fuse-ld="));
    let by_place = words.iter().any(|word| word.as_bytes().starts_with(b"--ld-path"));
    match chosen.next_back() {
        _ if by_place => None,
        None | Some("" | "ld") => Some("ld".into()),
        Some(name) => Some(format!("ld.{name}")).filter(|_| !name.contains('/')),
    }
}

/// The words with those of response files in their places.
pub(crate) fn expand(words: &[OsString]) -> Vec<OsString> {
    expand_to(words, 0)
}

fn expand_to(words: &[OsString], depth: usize) -> Vec<OsString> {
    let mut all = Vec::new();
    for word in words {
        // GCC's own limit against files that include themselves.
        let file = word.as_bytes().strip_prefix(b"@").filter(|_| depth < 20);
        match file.and_then(|file| std::fs::read(OsStr::from_bytes(file)).ok()) {
            Some(text) => all.extend(expand_to(&split(&text), depth + 1)),
            None => all.push(word.clone()),
        }
    }
    all
}

/// The words of a response file: separated by space, with quotes and backslashes as GCC reads them.
fn split(text: &[u8]) -> Vec<OsString> {
    let (mut words, mut word, mut inside) = (Vec::new(), None::<Vec<u8>>, None);
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, inside) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (quote, Some(open)) if quote == open => inside = None,
            (_, Some(_)) => word.get_or_insert_default().push(byte),
            (b'"' | b'\'', None) => {
                inside = Some(byte);
                word.get_or_insert_default();
            }
            (space, None) if space.is_ascii_whitespace() => words.extend(word.take().map(OsString::from_vec)),
            (_, None) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(line: &str) -> Stage {
        analyse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>()).stage
    }

    #[test]
    fn the_stage_follows_the_decisive_word() {
        for (line, expected) in [
            ("", Stage::Nothing),
            ("--version", Stage::Nothing),
            ("-o out -I dir -x c", Stage::Nothing),
            ("-v", Stage::Nothing),
            ("a.c", Stage::Program),
            ("a.o -lm -o prog", Stage::Program),
            ("-x c -", Stage::Program),
            ("-lfoo", Stage::Program),
            ("-c a.c", Stage::Object),
            ("-E a.c -o -", Stage::Object),
            ("-MM a.c", Stage::Object),
            ("-MD -MF d a.c", Stage::Program),
            ("-r a.o b.o -o c.o", Stage::Object),
            ("-shared a.o -o lib.so", Stage::Library),
            ("-shared -c a.c", Stage::Object),
        ] {
            assert_eq!(stage(line), expected, "{line}");
        }
    }

    #[test]
    fn words_that_forbid_a_dual_use_program_are_seen() {
        for line in ["a.c -static", "a.c -fsanitize=address", "a.c -no-pie", "-nostartfiles a.c"] {
            assert!(
                analyse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>()).ordinary,
                "{line}"
            );
        }
        assert!(!analyse(&["a.c".into(), "-o".into(), "-static".into()]).ordinary);
    }

    #[test]
    fn the_linker_is_the_one_that_was_chosen_last() {
        for (line, expected) in [
            ("a.c", Some("ld")),
            ("-fuse-ld=gold a.c", Some("ld.gold")),
            ("-fuse-ld=gold a.c -fuse-ld=lld", Some("ld.lld")),
            ("-fuse-ld=/opt/ld.lld a.c", None),
            ("--ld-path=/opt/ld a.c", None),
        ] {
            let words: Vec<_> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(linker(&words).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn response_files_are_looked_into() {
        let directory = tempfile::tempdir().unwrap();
        let (outer, inner) = (directory.path().join("outer"), directory.path().join("inner"));
        std::fs::write(&outer, format!("'a b.c' \"@{}\"", inner.display())).unwrap();
        std::fs::write(&inner, "-shared\n-o x\\ y").unwrap();
        let word = OsString::from(format!("@{}", outer.display()));
        assert_eq!(analyse(std::slice::from_ref(&word)).stage, Stage::Library);
        assert_eq!(expand(&[word]), ["a b.c", "-shared", "-o", "x y"].map(OsString::from));
        assert_eq!(stage("@absent"), Stage::Program);
    }

    #[test]
    fn questions_of_both_families_are_understood() {
        for (word, expected) in [
            ("-show", Some(Query::Show)),
            ("--showme", Some(Query::Show)),
            ("-compile-info", Some(Query::CompileCommand)),
            ("-link_info", Some(Query::LinkCommand)),
            ("--showme:compile", Some(Query::CompileFlags)),
            ("-showme:libs", Some(Query::Libraries)),
            ("-shared", None),
            ("show", None),
        ] {
            assert_eq!(query(OsStr::new(word)), expected, "{word}");
        }
    }
}
