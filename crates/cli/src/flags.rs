//! The flags of `mpirun`, each defined once: parsing, `--help` and error messages come from the one table.
//!
//! A flag may be written with one dash or two, and its value as the next word or after `=`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use launch::{Bind, Map, Mode};
use pmi::ChipStats;
use runtime::Protocol;

/// What was asked for on the command line.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `--help` was given: nothing else matters.
    pub help: bool,
    /// `--version` was given.
    pub version: bool,
    /// What ranks are, if said.
    pub mode: Option<Mode>,
    /// The order of cores.
    pub map: Map,
    /// Whether ranks stay on their cores.
    pub bind: Bind,
    /// The name of the protocol that carries messages, if one was forced.
    pub protocol: Option<&'static str>,
    /// Whether lines name their rank.
    pub tag_output: bool,
    /// Whether misuse of MPI is looked for.
    pub check: bool,
    /// When to give up.
    pub timeout: Option<Duration>,
    /// Where the trace goes.
    pub trace: Option<PathBuf>,
    /// Bytes that recordings may take.
    pub trace_limit: Option<u64>,
    /// Whether a live line is wanted.
    pub progress: bool,
    /// What was said about a simulated chip.
    pub chip: ChipOptions,
    /// The programs, separated by `:`.
    pub parts: Vec<Part>,
}

/// The flags of runs on a simulated chip; all but the first mean nothing without it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChipOptions {
    /// Its name, or a file.
    pub name: Option<String>,
    /// The program of the I/O rank.
    pub io: Option<OsString>,
    /// Whether the map of the memories is wanted.
    pub memory: bool,
    /// Which form of figures is wanted.
    pub stats: ChipStats,
    /// Millionths of a virtual second charged for a second of processor time.
    pub scale: Option<u64>,
    /// The first of these flags that was given, for a message.
    pub given: Option<&'static str>,
}

/// One program of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// How many ranks, if said.
    pub ranks: Option<u32>,
    /// `-x` flags: a name, and a value if one was given.
    pub exports: Vec<(OsString, Option<OsString>)>,
    /// `-wdir`.
    pub directory: Option<OsString>,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

/// How a flag changes the options.
enum Effect {
    /// No value.
    Switch(fn(&mut Options)),
    /// A value after `=`, or none at all.
    Choice(&'static str, fn(&mut Options, Option<&str>) -> Result<(), String>),
    /// A value for the whole job; the name of the value for `--help`.
    Job(&'static str, fn(&mut Options, &str) -> Result<(), String>),
    /// A value for one program of the job.
    Part(&'static str, fn(&mut Part, &OsStr) -> Result<(), String>),
}

struct Flag {
    names: &'static [&'static str],
    effect: Effect,
    help: &'static str,
}

const FLAGS: &[Flag] = &[
    Flag {
        names: &["n", "np", "c"],
        effect: Effect::Part("N", |part, value| {
            let ranks = value
                .to_str()
                .and_then(|text| text.parse().ok())
                .filter(|ranks| (1..=i32::MAX as u32).contains(ranks));
            part.ranks = Some(
                ranks.ok_or(format!("\"{}\", expected a number of ranks, at least 1", value.display()))?,
            );
            Ok(())
        }),
        help: "run N ranks (default 1); more than there are cores is fine",
    },
    Flag {
        names: &["ranks"],
        effect: Effect::Job("process|thread|fiber", |options, value| {
            let _: () = options.mode = Some(value.parse()?);
            Ok(())
        }),
        help: "what a rank is (default process)",
    },
    Flag {
        names: &["map"],
        effect: Effect::Job("compact|scatter", |options, value| {
            let _: () = options.map = value.parse()?;
            Ok(())
        }),
        help: "neighbours close together, or far apart (default compact)",
    },
    Flag {
        names: &["bind"],
        effect: Effect::Job("none|core", |options, value| {
            let _: () = options.bind = value.parse()?;
            Ok(())
        }),
        help: "leave ranks to the kernel, or tie each to a core (default none)",
    },
    Flag {
        names: &["protocol"],
        effect: Effect::Job("auto|pe|dma|eager|lazy|lwmpi|lwmpi-unopt", |options, value| {
            let known = Protocol::NAMES.map(|(name, _)| name);
            let name = known.into_iter().find(|name| *name == value);
            let name = name.ok_or(format!("\"{value}\", expected one of: {}", known.join(" ")))?;
            let _: () = options.protocol = Some(name);
            Ok(())
        }),
        help: "carry all messages by one protocol, to compare them (default auto: the best by size)",
    },
    Flag {
        names: &["x"],
        effect: Effect::Part("VAR[=VALUE]", |part, value| {
            let mut halves = value.as_bytes().splitn(2, |byte| *byte == b'=').map(OsStr::from_bytes);
            let name = halves.next().unwrap_or_default();
            if name.is_empty() {
                return Err(format!("\"{}\", expected VAR or VAR=VALUE", value.display()));
            }
            part.exports.push((name.into(), halves.next().map(Into::into)));
            Ok(())
        }),
        help: "set an environment variable of the ranks (all of mpirun's are passed on anyway)",
    },
    Flag {
        names: &["wdir", "wd"],
        effect: Effect::Part("DIR", |part, value| {
            let _: () = part.directory = Some(value.into());
            Ok(())
        }),
        help: "start the ranks in DIR",
    },
    Flag {
        names: &["tag-output"],
        effect: Effect::Switch(|options| options.tag_output = true),
        help: "begin each line of output with its rank",
    },
    Flag {
        names: &["check"],
        effect: Effect::Switch(|options| options.check = true),
        help: "look for misuse of MPI: leaks, buffers in use, calls that differ; status 3 if there was some",
    },
    Flag {
        names: &["timeout"],
        effect: Effect::Job("SECONDS", |options, value| {
            let seconds = value.parse::<f64>().ok().filter(|seconds| *seconds > 0.0 && *seconds < 1e9);
            let seconds = seconds.ok_or(format!("\"{value}\", expected a number of seconds above 0"))?;
            let _: () = options.timeout = Some(Duration::from_secs_f64(seconds));
            Ok(())
        }),
        help: "end the job after this time, with status 124",
    },
    Flag {
        names: &["trace"],
        effect: Effect::Job("FILE", |options, value| {
            let _: () = options.trace = Some(value.into());
            Ok(())
        }),
        help: "record what the ranks do into FILE (see corelace report)",
    },
    Flag {
        names: &["trace-limit"],
        effect: Effect::Job("BYTES", |options, value| {
            let limit = crate::tracing::bytes(value);
            let limit =
                limit.ok_or(format!("\"{value}\", expected a number of bytes, or one with K, M or G"))?;
            let _: () = options.trace_limit = Some(limit);
            Ok(())
        }),
        help: "with --trace: memory for all recordings; the oldest events go first (default 64M)",
    },
    Flag {
        names: &["progress"],
        effect: Effect::Switch(|options| options.progress = true),
        help: "show on one line what the ranks do and how much they send",
    },
    Flag {
        names: &["chip"],
        effect: Effect::Job("NAME|FILE.toml", |options, value| {
            let _: () = options.chip.name = Some(value.into());
            Ok(())
        }),
        help: "run on a simulated chip, in virtual time (see corelace chips)",
    },
    Flag {
        names: &["io"],
        effect: Effect::Job("PROGRAM", |options, value| {
            options.chip.given.get_or_insert("--io");
            let _: () = options.chip.io = Some(value.into());
            Ok(())
        }),
        help: "with --chip: one more rank, on the first I/O subsystem, runs PROGRAM",
    },
    Flag {
        names: &["memory"],
        effect: Effect::Switch(|options| {
            options.chip.given.get_or_insert("--memory");
            options.chip.memory = true;
        }),
        help: "with --chip: show at the end who held what of each cluster's memory",
    },
    Flag {
        names: &["stats"],
        effect: Effect::Choice("json", |options, value| {
            options.chip.given.get_or_insert("--stats");
            options.chip.stats = match value {
                None => ChipStats::Text,
                Some("json") => ChipStats::Json,
                Some(other) => return Err(format!("\"{other}\", expected json or no value")),
            };
            Ok(())
        }),
        help: "with --chip: show at the end virtual time, messages, energy and the trace's hash",
    },
    Flag {
        names: &["scale"],
        effect: Effect::Job("FACTOR", |options, value| {
            options.chip.given.get_or_insert("--scale");
            let factor = value.parse::<f64>().ok().filter(|factor| *factor > 0.0 && *factor < 1e9);
            let factor = factor.ok_or(format!("\"{value}\", expected a number above 0"))?;
            let _: () = options.chip.scale = Some((factor * 1e6) as u64);
            Ok(())
        }),
        help: "with --chip: charge measured processor time times FACTOR (default: only declared work takes time)",
    },
    Flag {
        names: &["oversubscribe", "allow-run-as-root"],
        effect: Effect::Switch(|_| ()),
        help: "accepted for scripts written for other launchers: always allowed here",
    },
    Flag {
        names: &["help", "h"],
        effect: Effect::Switch(|options| options.help = true),
        help: "show this text",
    },
    Flag {
        names: &["version", "V"],
        effect: Effect::Switch(|options| options.version = true),
        help: "show the version",
    },
];

/// Reads a command line (without the program's own name).
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut part = Part::default();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == ":" {
            options.parts.push(finished(std::mem::take(&mut part))?);
        } else if !part.command.is_empty() || !word.as_bytes().starts_with(b"-") || word == "-" {
            part.command.push(word);
        } else if word == "--" {
            // The program follows, even if its name starts with a dash.
            part.command.extend(words.next());
        } else {
            let (flag, written, attached) = find(&word)?;
            let mut value = |what| {
                attached.clone().or_else(|| words.next()).ok_or(format!("{written} needs a value: {what}"))
            };
            match &flag.effect {
                Effect::Switch(set) => match &attached {
                    None => set(&mut options),
                    Some(value) => {
                        return Err(format!("{written} takes no value, got \"{}\"", value.display()));
                    }
                },
                Effect::Choice(_, set) => {
                    let text = attached.as_ref().map(|value| value.to_string_lossy());
                    set(&mut options, text.as_deref()).map_err(|error| format!("{written} {error}"))?;
                }
                Effect::Job(what, set) => {
                    let value = value(what)?;
                    let text =
                        value.to_str().ok_or(format!("{written} {}: expected {what}", value.display()))?;
                    set(&mut options, text).map_err(|error| format!("{written} {error}"))?;
                }
                Effect::Part(what, set) => {
                    set(&mut part, &value(what)?).map_err(|error| format!("{written} {error}"))?
                }
            }
        }
        if options.help || options.version {
            return Ok(options);
        }
    }
    options.parts.push(finished(part)?);
    Ok(options)
}

/// The text of `--help`.
pub fn help(name: &str) -> String {
    let mut text = format!(
        "Run a program on several ranks.\n\n\
         Usage: {name} [FLAGS] PROGRAM [ARGUMENTS] [: [FLAGS] PROGRAM [ARGUMENTS]]...\n\n\
         PROGRAM may be a C or C++ source file: it is compiled first. Flags may be written with one dash or two.\n\n"
    );
    for flag in FLAGS {
        let value = match flag.effect {
            Effect::Switch(_) => String::new(),
            Effect::Choice(what, _) => format!("[={what}]"),
            Effect::Job(what, _) | Effect::Part(what, _) => format!(" {what}"),
        };
        let names: Vec<_> = flag.names.iter().map(|name| dashed(name)).collect();
        let left = format!("{}{value}", names.join(", "));
        text.push_str(&format!("  {left:<34} {}\n", flag.help));
    }
    text.push_str(
        "\nThe exit status is the first non-zero one of a rank, 128 + N if a rank was killed by signal N, the code of\n\
         MPI_Abort, 124 after a timeout, 127 if the job could not be started.\n\n\
         Examples:\n  \
         mpirun -n 4 ./ring            four processes\n  \
         mpirun -n 4 ring.c            compiled first\n  \
         mpirun -n 192 --ranks fiber ./ring\n  \
         mpirun -n 16 --chip mppa256-andey --map scatter --stats ./ring\n  \
         mpirun -n 1 ./server : -n 8 ./client\n",
    );
    text
}

fn dashed(name: &str) -> String {
    if name.len() == 1 || matches!(name, "np" | "wdir" | "wd") {
        format!("-{name}")
    } else {
        format!("--{name}")
    }
}

/// The flag that a word names, how it was written, and the value after `=`.
fn find(word: &OsStr) -> Result<(&'static Flag, String, Option<OsString>), String> {
    let bytes = word.as_bytes();
    let (written, value) = match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) => (&bytes[..at], Some(OsStr::from_bytes(&bytes[at + 1..]).to_os_string())),
        None => (bytes, None),
    };
    let name = written.strip_prefix(b"--").or_else(|| written.strip_prefix(b"-")).unwrap_or(written);
    let written = String::from_utf8_lossy(written).into_owned();
    match FLAGS.iter().find(|flag| flag.names.iter().any(|known| known.as_bytes() == name)) {
        Some(flag) => Ok((flag, written, value)),
        None => {
            let known: Vec<_> = FLAGS.iter().map(|flag| dashed(flag.names[0])).collect();
            Err(format!("unknown flag {written}; known are {} (see --help)", known.join(" ")))
        }
    }
}

fn finished(part: Part) -> Result<Part, String> {
    if part.command.is_empty() {
        return Err("no program to run: expected PROGRAM [ARGUMENTS] after the flags (see --help)".into());
    }
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn one_dash_two_dashes_and_equals_mean_the_same() {
        for line in ["-n 3 p", "--n 3 p", "-np 3 p", "--np 3 p", "-np=3 p", "--n=3 p"] {
            assert_eq!(parsed(line).unwrap().parts[0].ranks, Some(3), "{line}");
        }
        for line in ["-timeout 1.5 p", "--timeout=1.5 p"] {
            assert_eq!(parsed(line).unwrap().timeout, Some(Duration::from_millis(1500)));
        }
    }

    #[test]
    fn what_follows_the_program_is_the_program_s() {
        let options = parsed("-n 2 prog -n 5 --help").unwrap();
        assert_eq!(options.parts[0].command, ["prog", "-n", "5", "--help"]);
        assert!(!options.help);
        assert_eq!(parsed("-n 1 -- -odd-name -x").unwrap().parts[0].command, ["-odd-name", "-x"]);
    }

    #[test]
    fn a_colon_starts_another_program_with_flags_of_its_own() {
        let options = parsed("-n 1 -x A=1 a b : --ranks fiber -n 2 -wdir /tmp c").unwrap();
        assert_eq!(options.mode, Some(Mode::Fiber));
        let [first, second] = &options.parts[..] else { panic!("{options:?}") };
        assert_eq!((first.ranks, second.ranks), (Some(1), Some(2)));
        assert_eq!(first.exports, [("A".into(), Some("1".into()))]);
        assert_eq!((&second.exports[..], second.directory.as_deref()), (&[][..], Some(OsStr::new("/tmp"))));
    }

    #[test]
    fn mistakes_are_answered_with_flag_value_and_expectation() {
        for (line, expected) in [
            ("-n 0 p", "-n \"0\", expected a number of ranks, at least 1"),
            ("-np x p", "-np \"x\", expected a number of ranks, at least 1"),
            ("--ranks fibre p", "--ranks \"fibre\", expected one of: process thread fiber"),
            (
                "--protocol fast p",
                "--protocol \"fast\", expected one of: auto pe dma eager lazy lwmpi lwmpi-unopt",
            ),
            ("-n", "-n needs a value: N"),
            ("--timeout -1 p", "--timeout \"-1\", expected a number of seconds above 0"),
            ("--tag-output=yes p", "--tag-output takes no value, got \"yes\""),
            ("-x =3 p", "-x \"=3\", expected VAR or VAR=VALUE"),
            (
                "--trace-limit lots p",
                "--trace-limit \"lots\", expected a number of bytes, or one with K, M or G",
            ),
            ("--stats=xml p", "--stats \"xml\", expected json or no value"),
            ("--scale fast p", "--scale \"fast\", expected a number above 0"),
            ("-n 2", "no program to run: expected PROGRAM [ARGUMENTS] after the flags (see --help)"),
            ("a :", "no program to run: expected PROGRAM [ARGUMENTS] after the flags (see --help)"),
        ] {
            assert_eq!(parsed(line).unwrap_err(), expected, "{line}");
        }
        let unknown = parsed("--hostfile h p").unwrap_err();
        assert!(unknown.starts_with("unknown flag --hostfile; known are -n --ranks"), "{unknown}");
    }

    #[test]
    fn figures_are_for_people_unless_json_is_asked_for() {
        assert_eq!(parsed("--stats p").unwrap().chip.stats, ChipStats::Text);
        let options = parsed("--stats=json --chip mesh16 --scale 2.5 p").unwrap();
        assert_eq!(options.chip.stats, ChipStats::Json);
        assert_eq!((options.chip.name.as_deref(), options.chip.scale), (Some("mesh16"), Some(2_500_000)));
        assert_eq!(options.parts[0].command, ["p"]);
    }

    #[test]
    fn help_lists_every_name_of_every_flag() {
        let text = help("mpirun");
        for name in FLAGS.iter().flat_map(|flag| flag.names) {
            assert!(text.contains(&dashed(name)), "{name}");
        }
    }
}
