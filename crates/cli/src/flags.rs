//! The flags of `mpirun`, each defined once: parsing, `--help` and error messages come from the tables here and in [`foreign`],
//! which holds what users of other launchers type; the guide's tables are held against them by a test.
//!
//! A flag may be written with one dash or two, and its value as the next word or after `=`.

mod foreign;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use launch::{Bind, Feed, Inherit, Map, Mode, OnHang, OutputStyle};
use pmi::ChipStats;
use runtime::Protocol;

use crate::terminal;

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
    pub bind: Option<Bind>,
    /// Bytes of a thread's or fiber's stack, if said.
    pub stack: Option<u64>,
    /// Cores of each rank.
    pub cores_a_rank: Option<u32>,
    /// Ranks of each node, which is the number of ranks where none is said.
    pub ranks_a_node: Option<u32>,
    /// Whether places are told.
    pub report_bindings: bool,
    /// Whether the ranks of each node are told.
    pub print_map: bool,
    /// Whether the end of each rank is told.
    pub report_exits: bool,
    /// Whether to tell what is started.
    pub verbose: bool,
    /// Whether to tell nothing that is not about a failure.
    pub quiet: bool,
    /// Where the job is to run: flag and host, of which every one has to be this machine.
    pub hosts: Vec<(&'static str, String)>,
    /// Which ranks get standard input, if said.
    pub stdin: Option<Feed>,
    /// Variables of all programs.
    pub environment: Vec<(OsString, OsString)>,
    /// Which variables of the launcher ranks get.
    pub inherit: Inherit,
    /// What was said that means nothing here.
    pub ignored: Vec<String>,
    /// The name of the protocol that carries messages, if one was forced.
    pub protocol: Option<&'static str>,
    /// How ranks wait, if it was said.
    pub wait: Option<&'static str>,
    /// Where the profile of this machine is, if said.
    pub profile: Option<PathBuf>,
    /// How output looks and where it goes.
    pub output: OutputStyle,
    /// The name of the initial error handler, if said.
    pub initial_handler: Option<&'static str>,
    /// Whether misuse of MPI is looked for.
    pub check: bool,
    /// When to give up.
    pub timeout: Option<Duration>,
    /// What happens when nothing does, if said.
    pub on_hang: Option<OnHang>,
    /// After how long, if said.
    pub hang_timeout: Option<Duration>,
    /// Where the trace goes.
    pub trace: Option<PathBuf>,
    /// Bytes that recordings may take.
    pub trace_limit: Option<u64>,
    /// Whether a live line is wanted.
    pub progress: bool,
    /// What was said about a simulated chip.
    pub chip: ChipOptions,
    /// Whether a source file is compiled even if the cache has its program.
    pub uncached: bool,
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
    /// Whether what a source file computes is left uncounted.
    pub uncounted: bool,
    /// The kinds of places that ranks run on.
    pub on: Option<String>,
    /// The communication software.
    pub ipc: Option<String>,
    /// Whether collectives use the network's multicast.
    pub multicast: bool,
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
    /// `-path`: where to look for the program first.
    pub path: Option<OsString>,
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
    /// Two values.
    Pair(&'static str, fn(&mut Options, &mut Part, &OsStr, &OsStr)),
    /// A file of further flags and programs.
    File(&'static str),
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
            part.ranks = Some(number_of_ranks(&value.to_string_lossy())?);
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
        effect: Effect::Job("compact|scatter|numa|l3cache", |options, value| {
            let _: () = options.map = value.parse()?;
            Ok(())
        }),
        help: "neighbours close together, or turn by turn on sockets (scatter), NUMA nodes or L3 caches (default compact)",
    },
    Flag {
        names: &["bind", "bind-to"],
        effect: Effect::Job("none|hwthread|core|l3cache|numa|socket", |options, value| {
            // As others write it: a core may always have several ranks here.
            let word = value.split(':').next().unwrap_or_default();
            let word = match word {
                "thread" => "hwthread",
                "l3" | "L3" | "cache" => "l3cache",
                "package" => "socket",
                "board" | "machine" => "none",
                word => word,
            };
            let _: () = options.bind = Some(word.parse()?);
            Ok(())
        }),
        help: "leave ranks to the kernel, or tie each to its core or to all that shares something with it (default none)",
    },
    Flag {
        names: &["stack"],
        effect: Effect::Job("BYTES", |options, value| {
            let bytes = crate::tracing::bytes(value).filter(|bytes| (64 << 10..=1 << 40).contains(bytes));
            let bytes = bytes.ok_or(format!(
                "\"{value}\", expected 64K to 1024G bytes, as a number or one with K, M or G"
            ))?;
            let _: () = options.stack = Some(bytes);
            Ok(())
        }),
        help: "with --ranks thread|fiber: stack of a rank (default: ulimit -s, 64M where that is unlimited)",
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
        names: &["wait"],
        effect: Effect::Job("adaptive|spin|sleep", |options, value| {
            let name = runtime::WAITS.into_iter().find(|name| *name == value);
            let name = name.ok_or(format!("\"{value}\", expected one of: {}", runtime::WAITS.join(" ")))?;
            let _: () = options.wait = Some(name);
            Ok(())
        }),
        help: "how a rank waits: it spins for CORELACE_SPIN_US microseconds (4000) at most and then sleeps (adaptive, the default); it never \
               sleeps; it sleeps at once",
    },
    Flag {
        names: &["profile"],
        effect: Effect::Job("FILE", |options, value| {
            let _: () = options.profile = Some(value.into());
            Ok(())
        }),
        help: "where protocols and collectives change their way on this machine, from corelace bench --tune (default CORELACE_PROFILE, \
               else as built in)",
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
        names: &["tag-output", "l", "prepend-rank"],
        effect: Effect::Switch(|options| options.output.tag = true),
        help: "begin each line of output with its rank",
    },
    Flag {
        names: &["check"],
        effect: Effect::Switch(|options| options.check = true),
        help: "look for misuse of MPI: leaks, buffers in use, calls that differ; status 3 if there was some",
    },
    Flag {
        names: &["timeout"],
        effect: Effect::Job("TIME", |options, value| {
            let _: () = options.timeout = Some(duration(value)?);
            Ok(())
        }),
        help: "end the job after this time (seconds, or 500ms, 90s, 5m, 2h), with status 124",
    },
    Flag {
        names: &["on-hang"],
        effect: Effect::Job("report|abort|off", |options, value| {
            let _: () = options.on_hang = Some(value.parse()?);
            Ok(())
        }),
        help: "when every rank waits and nothing happens: say why, also end the job with status 125, or do not look (default abort if stderr \
               is a terminal, else report)",
    },
    Flag {
        names: &["hang-timeout"],
        effect: Effect::Job("TIME", |options, value| {
            let _: () = options.hang_timeout = Some(duration(value)?);
            Ok(())
        }),
        help: "how long nothing may happen before that (default 10)",
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
        names: &["no-cache"],
        effect: Effect::Switch(|options| options.uncached = true),
        help: "compile a source file again, and do not keep the program (as CORELACE_CACHE=off)",
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
        names: &["on"],
        effect: Effect::Job("KIND[,KIND]", |options, value| {
            options.chip.given.get_or_insert("--on");
            let _: () = options.chip.on = Some(value.into());
            Ok(())
        }),
        help: "with --chip: run ranks on places of this kind, or an equal part of them on each (default: the clusters)",
    },
    Flag {
        names: &["ipc"],
        effect: Effect::Job("NAME", |options, value| {
            options.chip.given.get_or_insert("--ipc");
            let _: () = options.chip.ipc = Some(value.into());
            Ok(())
        }),
        help: "with --chip: the communication software whose costs hold (default: as the description says)",
    },
    Flag {
        names: &["multicast"],
        effect: Effect::Switch(|options| {
            options.chip.given.get_or_insert("--multicast");
            options.chip.multicast = true;
        }),
        help: "with --chip: broadcasts and barriers use the network's multicast (default: messages, as the published systems do)",
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
        help: "with --chip: charge measured processor time times FACTOR (default: only declared and counted work takes time)",
    },
    Flag {
        names: &["no-count"],
        effect: Effect::Switch(|options| {
            options.chip.given.get_or_insert("--no-count");
            options.chip.uncounted = true;
        }),
        help: "with --chip: what a C or C++ file computes takes no time (default: counted, unless the file declares work by MPIX_Compute)",
    },
    Flag {
        names: &["oversubscribe", "nooversubscribe", "allow-run-as-root", "use-hwthread-cpus"],
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
    // A colon wants a program behind it, and so does the beginning, unless a file has named all of them.
    let mut wanted = false;
    while let Some(word) = words.next() {
        wanted = word == ":";
        if wanted {
            options.parts.push(finished(std::mem::take(&mut part))?);
        } else if !part.command.is_empty() || !word.as_bytes().starts_with(b"-") || word == "-" {
            part.command.push(word);
        } else if word == "--" {
            // The program follows, even if its name starts with a dash.
            part.command.extend(words.next());
        } else {
            let (flag, written, attached) = find(&word)?;
            if let Effect::File(what) = flag.effect {
                let file =
                    attached.or_else(|| words.next()).ok_or(format!("{written} needs a value: {what}"))?;
                let earlier = std::mem::take(&mut options.parts);
                foreign::application_file(&mut options, &written, &file)?;
                options.parts.splice(0..0, earlier);
                continue;
            }
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
                Effect::Pair(what, set) => {
                    let (name, value) =
                        (value(what)?, words.next().ok_or(format!("{written} needs two values: {what}"))?);
                    set(&mut options, &mut part, &name, &value);
                }
                Effect::File(_) => unreachable!("handled above"),
            }
        }
        if options.help || options.version {
            return Ok(options);
        }
    }
    if wanted || options.parts.is_empty() || part != Part::default() {
        options.parts.push(finished(part)?);
    }
    Ok(options)
}

fn number_of_ranks(text: &str) -> Result<u32, String> {
    let ranks = text.parse().ok().filter(|ranks| (1..=i32::MAX as u32).contains(ranks));
    ranks.ok_or(format!("\"{text}\", expected a number of ranks, at least 1"))
}

/// A time: a number of seconds, or a number with its unit.
fn duration(text: &str) -> Result<Duration, String> {
    let end = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let unit = match &text[end..] {
        "ms" => Some(1e-3),
        "" | "s" | "sec" => Some(1.0),
        "m" | "min" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    };
    let seconds = unit.and_then(|unit| Some(text[..end].parse::<f64>().ok()? * unit));
    let seconds = seconds.filter(|seconds| *seconds > 0.0 && *seconds < 1e9);
    let seconds = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|time| !time.is_zero()).ok_or_else(|| {
        format!("\"{text}\", expected a time above 0: seconds, or a number with ms, s, m or h")
    })
}

/// What `--help` puts together: a title and the first names of flags.
const GROUPS: [(&str, &[&str]); 9] = [
    ("What people need first", &["n", "ranks", "tag-output", "check", "timeout"]),
    ("Programs and their surroundings", &["x", "wdir", "no-cache"]),
    ("Ranks and cores", &["map", "bind", "stack"]),
    ("Jobs that do not go on", &["on-hang", "hang-timeout"]),
    ("What ranks do", &["trace", "trace-limit", "progress"]),
    ("How messages travel", &["protocol", "wait", "profile"]),
    ("Simulated chips", &["chip", "io", "on", "ipc", "multicast", "memory", "stats", "scale", "no-count"]),
    ("Others", &["oversubscribe", "help", "version"]),
    ("Flags of other launchers, with their usual meaning", &[]),
];

/// The titles of `--help` with their flags. Those of the last one are all that other launchers have.
pub fn groups() -> Vec<(&'static str, Vec<Described>)> {
    let named = |first: &&str| FLAGS.iter().find(|flag| flag.names[0] == *first).map(described);
    let group = |(title, names): &(&'static str, &[&str])| match names {
        [] => (*title, foreign::FLAGS.iter().map(described).collect()),
        names => (*title, names.iter().filter_map(named).collect()),
    };
    GROUPS.iter().map(group).collect()
}

/// A flag as users see it.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its names, with their dashes.
    pub names: Vec<String>,
    /// What follows: nothing, ` VALUE` or `[=VALUE]`.
    pub value: String,
    /// What it does.
    pub help: &'static str,
}

fn described(flag: &Flag) -> Described {
    let value = match flag.effect {
        Effect::Switch(_) => String::new(),
        Effect::Choice(what, _) => format!("[={what}]"),
        Effect::Job(what, _) | Effect::Part(what, _) | Effect::Pair(what, _) | Effect::File(what) => {
            format!(" {what}")
        }
    };
    Described { names: flag.names.iter().map(|name| dashed(name)).collect(), value, help: flag.help }
}

/// What a program may be, for `--help` and the manual.
pub const PROGRAMS: &str = "PROGRAM may be a C, C++ or Fortran source file: it is compiled first. \
                            Flags may be written with one dash or two, and their values as the next \
                            word or after \"=\".";

/// What the exit status says, for `--help` and the manual.
pub const STATUS: &str = "The exit status is the first non-zero one of a rank, 128 + N if a rank was \
                          killed by signal N, the code of MPI_Abort, 124 after a timeout, 125 if the \
                          ranks of an ended job waited for each other, 127 if the job could not be \
                          started.";

/// Examples, for `--help` and the manual.
pub const EXAMPLES: [(&str, &str); 5] = [
    ("mpirun -n 4 ./ring", "four processes"),
    ("mpirun -n 4 ring.c", "compiled first"),
    ("mpirun -n 192 --ranks fiber ./ring", "192 ranks in one process"),
    ("mpirun -n 16 --chip mppa256-andey --map scatter --stats ./ring", "on a simulated chip"),
    ("mpirun -n 1 ./server : -n 8 ./client", "two programs in one job"),
];

/// The text of `--help` for a terminal of this width.
pub fn help(name: &str, width: usize) -> String {
    let mut text = format!(
        "Run a program on several ranks.\n\n\
         Usage: {name} [FLAGS] PROGRAM [ARGUMENTS] [: [FLAGS] PROGRAM [ARGUMENTS]]...\n\n"
    );
    let paragraph = |text: &mut String, said: &str| {
        text.push_str(&terminal::lines(said, width).join("\n"));
        text.push('\n');
    };
    paragraph(&mut text, PROGRAMS);
    for (title, flags) in groups() {
        text.push_str(&format!("\n{title}:\n\n"));
        for flag in flags {
            text.push_str(&terminal::row(&(flag.names.join(", ") + &flag.value), 26, flag.help, width));
        }
    }
    text.push('\n');
    paragraph(&mut text, STATUS);
    text.push_str("\nExamples:\n\n");
    for (line, what) in EXAMPLES {
        text.push_str(&terminal::row(line, 40, what, width));
    }
    text
}

fn dashed(name: &str) -> String {
    if name.len() == 1 || matches!(name, "np" | "wdir" | "wd") || foreign::ONE_DASH.contains(&name) {
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
    if let Some(flag) = all().find(|flag| flag.names.iter().any(|known| known.as_bytes() == name)) {
        return Ok((flag, written, value));
    }
    // -n4, as some write it.
    let digits = name.iter().position(u8::is_ascii_digit).unwrap_or(name.len());
    if matches!(&name[..digits], b"n" | b"np") && digits < name.len() && value.is_none() {
        let ranks = OsStr::from_bytes(&name[digits..]).to_os_string();
        return Ok((&FLAGS[0], format!("-{}", String::from_utf8_lossy(&name[..digits])), Some(ranks)));
    }
    let name = String::from_utf8_lossy(name);
    let nearest = nearest(&name, all().flat_map(|flag| flag.names).copied());
    let nearest = nearest.map(|known| format!("; did you mean {}?", dashed(known))).unwrap_or_default();
    Err(format!("unknown flag {written}{nearest} (mpirun --help lists all)"))
}

fn all() -> impl Iterator<Item = &'static Flag> {
    FLAGS.iter().chain(foreign::FLAGS)
}

/// The known word that is most like this one, if one is.
pub fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    alike(word, known, 1).pop()
}

/// The known words that are like this one, at most `count`, the most alike first.
pub fn alike<'k>(word: &str, known: impl Iterator<Item = &'k str>, count: usize) -> Vec<&'k str> {
    let mut found: Vec<_> = known.map(|known| (distance(word, known), known)).collect();
    found.retain(|(distance, known)| *distance <= known.len().max(3) / 2);
    // A stable order: what was listed first comes first.
    found.sort_by_key(|(distance, _)| *distance);
    found.truncate(count);
    found.into_iter().map(|(_, known)| known).collect()
}

/// How many letters have to be changed, added or taken away to make one word of another.
pub fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, candidate) in other.bytes().enumerate() {
            let changed = diagonal + usize::from(letter != candidate);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
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

    /// The flags in the first columns of the guide's tables of flags.
    fn flags_of_the_guide() -> std::collections::BTreeSet<String> {
        let guide = include_str!("../../../docs/guide/running.md");
        let tables = guide.split("| flag | meaning |\n").skip(1);
        let rows = tables.flat_map(|table| table.lines().take_while(|line| line.starts_with('|')));
        // A bar inside a cell is escaped.
        let cells = rows.filter_map(|row| row.replace("\\|", "/").split('|').nth(1).map(str::to_owned));
        let mut found = std::collections::BTreeSet::new();
        for cell in cells {
            for code in cell.split('`').skip(1).step_by(2).filter(|code| code.starts_with('-')) {
                let end = code.find(|letter: char| " =[".contains(letter)).unwrap_or(code.len());
                found.insert(code[..end].to_owned());
            }
        }
        found
    }

    #[test]
    fn the_tables_of_the_guide_and_the_help_have_the_same_flags() {
        let guide = flags_of_the_guide();
        let known: std::collections::BTreeSet<String> =
            all().flat_map(|flag| flag.names).map(|name| dashed(name)).collect();
        let missing: Vec<_> = known.difference(&guide).collect();
        let unknown: Vec<_> = guide.difference(&known).collect();
        assert!(missing.is_empty(), "docs/guide/running.md lacks {missing:?}");
        assert!(unknown.is_empty(), "docs/guide/running.md has flags that nobody knows: {unknown:?}");
    }

    #[test]
    fn one_dash_two_dashes_and_equals_mean_the_same() {
        for line in ["-n 3 p", "--n 3 p", "-np 3 p", "--np 3 p", "-np=3 p", "--n=3 p", "-n3 p", "-np3 p"] {
            assert_eq!(parsed(line).unwrap().parts[0].ranks, Some(3), "{line}");
        }
        for line in ["-timeout 1.5 p", "--timeout=1.5 p"] {
            assert_eq!(parsed(line).unwrap().timeout, Some(Duration::from_millis(1500)));
        }
    }

    #[test]
    fn times_are_seconds_or_have_a_unit() {
        for (text, milliseconds) in [
            ("90", 90_000),
            ("1.5", 1_500),
            ("90s", 90_000),
            ("1m", 60_000),
            ("1.5min", 90_000),
            ("2h", 7_200_000),
            ("500ms", 500),
        ] {
            let options = parsed(&format!("--timeout {text} --hang-timeout {text} p")).unwrap();
            let expected = Some(Duration::from_millis(milliseconds));
            assert_eq!((options.timeout, options.hang_timeout), (expected, expected), "{text}");
        }
        for text in ["m", "1d", "1m30", "-1m", "0s", "inf", "nan", "1e300h", "s1"] {
            let refused = parsed(&format!("--hang-timeout {text} p")).unwrap_err();
            let expected = format!("--hang-timeout \"{text}\", expected a time above 0");
            assert!(refused.starts_with(&expected), "{refused}");
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
            ("--wait hurry p", "--wait \"hurry\", expected one of: adaptive spin sleep"),
            ("-n", "-n needs a value: N"),
            (
                "--timeout -1 p",
                "--timeout \"-1\", expected a time above 0: seconds, or a number with ms, s, m or h",
            ),
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
        for (line, expected) in [
            ("--rnaks fiber p", "unknown flag --rnaks; did you mean --ranks? (mpirun --help lists all)"),
            ("--bindto core p", "unknown flag --bindto; did you mean --bind-to? (mpirun --help lists all)"),
            ("--xyzzyplugh p", "unknown flag --xyzzyplugh (mpirun --help lists all)"),
        ] {
            assert_eq!(parsed(line).unwrap_err(), expected);
        }
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
        let text = help("mpirun", 80);
        for name in all().flat_map(|flag| flag.names) {
            assert!(text.contains(&dashed(name)), "{name}");
        }
    }

    #[test]
    fn every_flag_is_in_one_group_of_the_help_and_the_first_are_five() {
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let mut known: Vec<_> = FLAGS.iter().map(|flag| flag.names[0]).collect();
        grouped.sort_unstable();
        known.sort_unstable();
        assert_eq!(grouped, known);
        assert_eq!(groups()[0].1.len(), 5);
    }

    #[test]
    fn help_fits_into_the_terminal() {
        let flags: Vec<_> = groups().into_iter().flat_map(|(_, flags)| flags).collect();
        for width in [60, 80, 132] {
            for line in help("mpirun", width).lines().filter(|line| line.len() > width) {
                // Names and values are not torn; nothing else is too long.
                let is_signature = |flag: &Described| line.trim() == flag.names.join(", ") + &flag.value;
                let alone = flags.iter().any(is_signature)
                    || EXAMPLES.iter().any(|(example, _)| line.trim() == *example)
                    || line.starts_with("Usage: ");
                assert!(alone, "{width}: {line}");
            }
        }
    }
}
