//! What users of other launchers type, and what the MPI standard lists for `mpiexec` (MPI 5.0, 11.5), with the usual meaning.
//!
//! A flag that can have no meaning on one machine, or in this library, is accepted and noted, so that scripts work unchanged.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use launch::{Bind, Feed, Inherit, Map};

use super::{Effect, Flag, Options, number_of_ranks, parse};

/// Long names that people write with one dash.
pub(super) const ONE_DASH: &[&str] = &[
    "ppn",
    "perhost",
    "hosts",
    "machinefile",
    "genv",
    "env",
    "genvlist",
    "envlist",
    "genvall",
    "envall",
    "genvnone",
    "envnone",
    "prepend-rank",
    "outfile-pattern",
    "errfile-pattern",
    "configfile",
    "print-all-exitcodes",
    "print-rank-map",
    "launcher",
    "launcher-exec",
    "iface",
    "rmk",
    "bootstrap",
    "soft",
    "arch",
    "path",
    "file",
    "initial-errhandler",
    "memory-alloc-kinds",
];

pub(super) const FLAGS: &[Flag] = &[
    Flag {
        names: &["ppn", "perhost", "N", "npernode"],
        effect: Effect::Job("N", |options, value| {
            let _: () = options.ranks_a_node = Some(number_of_ranks(value)?);
            Ok(())
        }),
        help: "ranks of each node; there is one node, so this is the number of ranks if -n is not given",
    },
    Flag {
        names: &["host", "hosts", "H"],
        effect: Effect::Job("HOST[:N],...", |options, value| {
            hosts(options, "--host", value.split(','));
            Ok(())
        }),
        help: "where to run: this machine, by any of its names",
    },
    Flag {
        names: &["hostfile", "machinefile", "f", "default-hostfile"],
        effect: Effect::Job("FILE", |options, value| {
            let text = std::fs::read_to_string(value)
                .map_err(|error| format!("{value}: {error}, expected a file of host names"))?;
            let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
            hosts(options, "--hostfile", lines.filter_map(|line| line.split_whitespace().next()));
            Ok(())
        }),
        help: "the same, from a file with a host in each line",
    },
    Flag {
        names: &["map-by"],
        effect: Effect::Job("core|socket|numa|l3cache|slot|ppr:N:node[:pe=N]", map_by),
        help: "which cores come first; pe=N gives N cores to each rank, ppr:N:node starts N ranks",
    },
    Flag {
        names: &["rank-by"],
        effect: Effect::Job("slot|core|socket|numa", |options, value| {
            ignore(options, format!("--rank-by {value}: ranks are numbered in the order of --map-by"));
            Ok(())
        }),
        help: "accepted: ranks are numbered in the order of --map-by",
    },
    Flag {
        names: &["cpus-per-rank", "cpus-per-proc"],
        effect: Effect::Job("N", cores),
        help: "tie each rank to N cores that lie together",
    },
    Flag {
        names: &["report-bindings"],
        effect: Effect::Switch(|options| options.report_bindings = true),
        help: "say at the start to which CPUs each rank is tied",
    },
    Flag {
        names: &["print-rank-map"],
        effect: Effect::Switch(|options| options.print_map = true),
        help: "say at the start which ranks run where",
    },
    Flag {
        names: &["genv"],
        effect: Effect::Pair("VAR VALUE", |options, _, name, value| {
            options.environment.push((name.into(), value.into()));
        }),
        help: "set an environment variable of all ranks",
    },
    Flag {
        names: &["env"],
        effect: Effect::Pair("VAR VALUE", |_, part, name, value| {
            part.exports.push((name.into(), Some(value.into())));
        }),
        help: "set an environment variable of this program's ranks",
    },
    Flag {
        names: &["genvlist", "envlist"],
        effect: Effect::Job("VAR,...", |options, value| {
            options.inherit = Inherit::Only(value.split(',').map(OsString::from).collect());
            Ok(())
        }),
        help: "pass on these variables of mpirun's environment only",
    },
    Flag {
        names: &["genvnone", "envnone"],
        effect: Effect::Switch(|options| options.inherit = Inherit::Only(Vec::new())),
        help: "pass on none of mpirun's environment",
    },
    Flag {
        names: &["genvall", "envall"],
        effect: Effect::Switch(|options| options.inherit = Inherit::All),
        help: "pass on all of mpirun's environment (the default)",
    },
    Flag {
        names: &["timestamp-output"],
        effect: Effect::Switch(|options| options.output.time = true),
        help: "begin each line of output with the time (UTC)",
    },
    Flag {
        names: &["output-filename"],
        effect: Effect::Job("DIR", |options, value| {
            // A modifier of others; copies on the terminal are the default.
            let directory = value.strip_suffix(":copy").unwrap_or(value);
            let _: () = options.output.directory = Some(directory.into());
            Ok(())
        }),
        help: "copy output also into DIR/1/rank.N/stdout and stderr",
    },
    Flag {
        names: &["outfile-pattern"],
        effect: Effect::Job("FILE", |options, value| {
            let _: () = options.output.stdout_file = Some(value.into());
            Ok(())
        }),
        help: "write standard output into FILE instead, where %r is the rank",
    },
    Flag {
        names: &["errfile-pattern"],
        effect: Effect::Job("FILE", |options, value| {
            let _: () = options.output.stderr_file = Some(value.into());
            Ok(())
        }),
        help: "the same for standard error",
    },
    Flag {
        names: &["stdin", "s"],
        effect: Effect::Job("all|none|N", |options, value| {
            options.stdin = Some(match value {
                "all" => Feed::All,
                "none" => Feed::Nobody,
                rank => Feed::Rank(
                    rank.parse().map_err(|_| format!("\"{value}\", expected all, none or a rank"))?,
                ),
            });
            Ok(())
        }),
        help: "which ranks read standard input (default 0)",
    },
    Flag {
        names: &["configfile", "app", "file"],
        effect: Effect::File("FILE"),
        help: "read flags and programs from FILE: a program of the job in each line",
    },
    Flag {
        names: &["print-all-exitcodes"],
        effect: Effect::Switch(|options| options.report_exits = true),
        help: "say at the end how each rank ended",
    },
    Flag {
        names: &["verbose", "v"],
        effect: Effect::Switch(|options| options.verbose = true),
        help: "say what is started",
    },
    Flag {
        names: &["quiet", "q"],
        effect: Effect::Switch(|options| options.quiet = true),
        help: "no notes; failures are told nevertheless",
    },
    Flag {
        names: &["mca", "gmca", "prtemca", "pmixmca"],
        effect: Effect::Pair("KEY VALUE", |options, _, key, value| {
            let text = format!("--mca {} {}: a setting of another MPI", key.display(), value.display());
            ignore(options, text);
        }),
        help: "accepted and noted: settings of another MPI",
    },
    Flag {
        names: &["launcher", "launcher-exec", "iface", "rmk", "bootstrap", "arch"],
        effect: Effect::Job("VALUE", |_, _| Ok(())),
        help: "accepted: there is one machine and nothing to choose",
    },
    Flag {
        names: &["soft"],
        effect: Effect::Part("FROM:TO[:STEP],...", |part, value| {
            let text = value.to_string_lossy();
            let most = text.split(',').filter_map(most_of).max();
            let most = most.ok_or(format!("\"{text}\", expected numbers of ranks such as 2:8:2,12"))?;
            part.ranks.get_or_insert(most);
            Ok(())
        }),
        help: "numbers of ranks that are acceptable: the largest, unless -n is given before",
    },
    Flag {
        names: &["path"],
        effect: Effect::Part("DIR[:DIR]...", |part, value| {
            let _: () = part.path = Some(value.into());
            Ok(())
        }),
        help: "look for the program here first",
    },
    Flag {
        names: &["initial-errhandler"],
        effect: Effect::Job("HANDLER", |options, value| {
            let known = runtime::InitialHandler::NAMES.map(|(name, _)| name);
            let name = known.into_iter().find(|name| *name == value);
            let name = name.ok_or(format!("\"{value}\", expected one of: {}", known.join(" ")))?;
            let _: () = options.initial_handler = Some(name);
            Ok(())
        }),
        help: "the error handler that communicators begin with: mpi_errors_are_fatal, _abort or _return",
    },
    Flag {
        names: &["memory-alloc-kinds"],
        effect: Effect::Job("KINDS", |options, value| {
            let foreign =
                value.split(',').find(|kind| !matches!(kind.split(':').next(), Some("mpi" | "system")));
            if let Some(kind) = foreign {
                ignore(options, format!("-memory-alloc-kinds {kind}: supported are mpi and system"));
            }
            Ok(())
        }),
        help: "kinds of memory that the program uses; mpi and system are supported",
    },
];

/// Reads a file in which each line is a program with its flags; `#` begins a comment.
pub(super) fn application_file(options: &mut Options, written: &str, file: &OsStr) -> Result<(), String> {
    let name = Path::new(file).display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("{written} {name}: {error}, expected a file of programs and their flags"))?;
    let mut words = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        // A line may end like those of the command line.
        let line = line.strip_suffix('\\').unwrap_or(line).trim().trim_end_matches(" :");
        if !words.is_empty() {
            words.push(OsString::from(":"));
        }
        words.extend(split(line).map_err(|problem| format!("{written} {name}: {problem} in: {line}"))?);
    }
    let read = parse(words).map_err(|error| format!("{written} {name}: {error}"))?;
    let given = std::mem::take(options);
    *options = merged(given, read);
    Ok(())
}

/// Flags of the job that a file adds to those of the command line, which come first.
fn merged(given: Options, read: Options) -> Options {
    let parts = read.parts;
    Options { parts, environment: [given.environment.clone(), read.environment].concat(), ..given }
}

/// The words of a line, as a shell splits simple ones: quotes keep spaces.
fn split(line: &str) -> Result<Vec<OsString>, &'static str> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take().map(OsString::from)),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word.map(OsString::from));
    if quote.is_some() { Err("a quote that does not end") } else { Ok(words) }
}

fn hosts<'a>(options: &mut Options, flag: &'static str, names: impl Iterator<Item = &'a str>) {
    // `host:4` and `host slots=4` say how many ranks a host takes, which is any number here.
    let plain =
        names.map(|name| name.split(':').next().unwrap_or_default().trim()).filter(|name| !name.is_empty());
    options.hosts.extend(plain.map(|name| (flag, name.to_owned())));
}

fn ignore(options: &mut Options, what: String) {
    options.ignored.push(what);
}

fn cores(options: &mut Options, value: &str) -> Result<(), String> {
    let number = value.parse().ok().filter(|number| (1..=1024).contains(number));
    options.cores_a_rank =
        Some(number.ok_or(format!("\"{value}\", expected a number of cores from 1 to 1024"))?);
    options.bind.get_or_insert(Bind::Core);
    Ok(())
}

fn map_by(options: &mut Options, value: &str) -> Result<(), String> {
    let wrong =
        || format!("\"{value}\", expected core, socket, numa, l3cache, slot or ppr:N:node, and then :pe=N");
    let mut words = value.split([':', ',']);
    let mut word = words.next().unwrap_or_default();
    if word.eq_ignore_ascii_case("ppr") {
        let ranks = number_of_ranks(words.next().unwrap_or_default())?;
        word = words.next().ok_or_else(wrong)?;
        if word.eq_ignore_ascii_case("node") {
            options.ranks_a_node = Some(ranks);
        }
    }
    let mut modifier = None;
    match word.to_ascii_lowercase().as_str() {
        "core" | "slot" | "hwthread" | "node" | "rr" | "compact" => options.map = Map::Compact,
        "socket" | "package" | "scatter" => options.map = Map::Scatter,
        "numa" => options.map = Map::Numa,
        "l3cache" | "l3" => options.map = Map::L3,
        _ => modifier = Some(word),
    }
    for word in modifier.into_iter().chain(words) {
        match word.to_ascii_lowercase().split_once('=') {
            Some(("pe", number)) => cores(options, number)?,
            None if matches!(
                word.to_ascii_lowercase().as_str(),
                "oversubscribe"
                    | "nooversubscribe"
                    | "span"
                    | "inherit"
                    | "noinherit"
                    | "hwtcpus"
                    | "corecpus"
                    | ""
            ) => {}
            _ => return Err(wrong()),
        }
    }
    Ok(())
}

/// The largest number of `from:to:step`.
fn most_of(triplet: &str) -> Option<u32> {
    let numbers = triplet.split(':').map(|word| word.trim().parse().ok()).collect::<Option<Vec<u32>>>()?;
    let largest = match numbers[..] {
        [number] => number,
        [from, to] if to >= from => to,
        [from, to, step] if to >= from && step > 0 => from + (to - from) / step * step,
        _ => return None,
    };
    Some(largest).filter(|ranks| *ranks > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Options {
        parse(line.split_whitespace().map(OsString::from)).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    #[test]
    fn every_foreign_flag_is_accepted_and_leaves_the_program_alone() {
        let file = std::env::temp_dir().join(format!("corelace-hosts-{}", std::process::id()));
        std::fs::write(&file, "localhost slots=4 # here\n\n127.0.0.1:2\n").unwrap();
        let file_name = file.display().to_string();
        for line in [
            "-ppn 2",
            "-perhost 2",
            "-N 2",
            "--npernode 2",
            "--host localhost",
            "-H localhost:4",
            "-hosts a,b",
            "--hostfile F",
            "-f F",
            "-machinefile F",
            "--bind-to core",
            "-bind-to socket",
            "--bind-to core:overload-allowed",
            "--map-by core",
            "--map-by socket:pe=2",
            "-map-by numa",
            "--map-by slot",
            "--map-by ppr:2:node",
            "--map-by ppr:2:node:pe=2",
            "--map-by :OVERSUBSCRIBE",
            "--rank-by core",
            "--cpus-per-rank 2",
            "--cpus-per-proc 2",
            "--report-bindings",
            "-genv A b",
            "-env A b",
            "-genvlist A,B",
            "-genvall",
            "-genvnone",
            "-l",
            "-prepend-rank",
            "--output-filename out",
            "-outfile-pattern o.%r",
            "-errfile-pattern e.%r",
            "--timestamp-output",
            "-s all",
            "--stdin none",
            "--stdin 3",
            "-print-all-exitcodes",
            "-verbose",
            "-v",
            "-q",
            "--quiet",
            "--mca btl self,vader",
            "--prtemca a b",
            "--pmixmca a b",
            "--oversubscribe",
            "--use-hwthread-cpus",
            "-launcher ssh",
            "-iface eth0",
            "-print-rank-map",
            "-n2",
            "-soft 1:8:2",
            "-host localhost",
            "-arch x86_64",
            "-path /bin",
            "-initial-errhandler mpi_errors_return",
            "-memory-alloc-kinds mpi,system",
        ] {
            let options = parsed(&format!("{} prog -n 9", line.replace(" F", &format!(" {file_name}"))));
            assert_eq!(options.parts[0].command, ["prog", "-n", "9"], "{line}");
        }
        let options = parsed(&format!("-f {file_name} p"));
        assert_eq!(options.hosts, [("--hostfile", "localhost".into()), ("--hostfile", "127.0.0.1".into())]);
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn values_have_their_usual_meaning() {
        let options = parsed("--map-by ppr:4:node:pe=2 -genv A b -env C d -s all --mca x y p");
        assert_eq!(
            (options.ranks_a_node, options.cores_a_rank, options.bind),
            (Some(4), Some(2), Some(Bind::Core))
        );
        assert_eq!(options.environment, [("A".into(), "b".into())]);
        assert_eq!(options.parts[0].exports, [("C".into(), Some("d".into()))]);
        assert_eq!((options.stdin, options.ignored.len()), (Some(Feed::All), 1));
        assert_eq!(parsed("--map-by numa p").map, Map::Numa);
        assert_eq!(parsed("--bind-to package p").bind, Some(Bind::Socket));
        assert_eq!(parsed("-soft 2:9:3,4 p").parts[0].ranks, Some(8));
        assert_eq!(parsed("-n 3 -soft 2:8 p").parts[0].ranks, Some(3));
        let wrong = parse(["--map-by", "cores", "p"].map(OsString::from)).unwrap_err();
        assert!(wrong.starts_with("--map-by \"cores\", expected core, socket"), "{wrong}");
    }

    #[test]
    fn a_file_holds_a_program_in_each_line() {
        let file = std::env::temp_dir().join(format!("corelace-app-{}", std::process::id()));
        std::fs::write(&file, "# two programs\n-n 2 -env A 'b c' first \"one word\"\n\n-n 3 second :\n")
            .unwrap();
        let options = parsed(&format!("--timeout 3 -configfile {}", file.display()));
        let [first, second] = &options.parts[..] else { panic!("{options:?}") };
        assert_eq!(
            (first.ranks, &first.command[..]),
            (Some(2), &["first".into(), OsString::from("one word")][..])
        );
        assert_eq!(first.exports, [("A".into(), Some("b c".into()))]);
        assert_eq!((second.ranks, second.command.len()), (Some(3), 1));
        assert!(options.timeout.is_some());
        std::fs::remove_file(file).unwrap();
    }
}
