//! What a launcher tells the host process of thread or fiber ranks, as one text.
//!
//! The text is lines of `key value…`, fields separated by one space; in a field, bytes other than printable ASCII, and
//! `%`, are written `%XX`. An empty field is `%`. It survives a C string and a command line, whatever a program's arguments hold.
//!
//! ```text
//! protocol 3
//! mode fiber
//! cores 2
//! order 0 1                                   logical cores, in the order in which ranks (or workers) get them
//! bind none                                   or core: each stays where it was put
//! output pipes                                or records: the ranks have one pipe for all, or two
//! stack 0                                     bytes of each rank's stack (--stack), 0 if the limit decides
//! control 5
//! program 2 /proc/self/fd/9 ring -v 10        ranks, file, argv[0], argv[1] …
//! rank 6 7 8                                  one line a rank: stdin or -1, stdout, stderr
//! chip …                                      only for ranks on a simulated chip
//! ```

use std::ffi::OsString;
use std::fmt::{self, Write};
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::PROTOCOL;
use crate::chip::HostChip;

/// Everything a host needs to run its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPlan {
    /// True for fibers, false for threads.
    pub fibers: bool,
    /// Cores to use: the number of workers for fibers.
    pub cores: u32,
    /// Logical cores in the order in which ranks or workers get them (`--map`); empty if the system does not tell.
    pub order: Vec<u32>,
    /// Whether each thread or worker is tied to its core (`--bind core`).
    pub bind: bool,
    /// Whether the descriptors of standard output and standard error are the same for all ranks, who write there in records that name their writer.
    pub records: bool,
    /// Bytes of each rank's stack; 0 if the host decides by the limit of its process.
    pub stack: u64,
    /// Control socket shared by all ranks of the host.
    pub control_fd: RawFd,
    /// Programs in rank order (more than one for `prog1 : prog2`).
    pub contexts: Vec<HostContext>,
    /// One entry a rank.
    pub ranks: Vec<HostRank>,
    /// The simulated chip that the ranks run on, if it is one.
    pub chip: Option<HostChip>,
}

/// One program of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostContext {
    /// How many consecutive ranks run it.
    pub ranks: u32,
    /// The file to load.
    pub program: OsString,
    /// The arguments, `argv[0]` first.
    pub argv: Vec<OsString>,
}

/// The descriptors of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRank {
    /// Where standard input comes from; `-1` for nowhere.
    pub stdin: RawFd,
    /// Where standard output goes.
    pub stdout: RawFd,
    /// Where standard error goes.
    pub stderr: RawFd,
}

/// A text that is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// The launcher speaks another protocol.
    Version(String),
    /// A line cannot be understood.
    Line {
        /// The line.
        line: String,
        /// What it should be.
        expected: &'static str,
    },
    /// Programs and rank lines disagree.
    Ranks {
        /// Sum over the programs.
        programs: u64,
        /// Rank lines.
        ranks: usize,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Version(found) => write!(
                f,
                "host plan of protocol \"{found}\", expected {PROTOCOL}: corelace and libmpi_abi are of \
                 different versions"
            ),
            PlanError::Line { line, expected } => {
                write!(f, "host plan, line \"{line}\": expected {expected}")
            }
            PlanError::Ranks { programs, ranks } => write!(
                f,
                "host plan with {programs} ranks in its programs but {ranks} rank lines; expected equal, at \
                 least 1"
            ),
        }
    }
}

impl std::error::Error for PlanError {}

impl HostPlan {
    /// The text form.
    pub fn encode(&self) -> String {
        let mut text = format!("protocol {PROTOCOL}\n");
        let mode = if self.fibers { "fiber" } else { "thread" };
        let order: Vec<_> = self.order.iter().map(u32::to_string).collect();
        let bind = if self.bind { "core" } else { "none" };
        _ = writeln!(text, "mode {mode}\ncores {}\norder {}\nbind {bind}", self.cores, order.join(" "));
        let output = if self.records { "records" } else { "pipes" };
        _ = writeln!(text, "output {output}\nstack {}\ncontrol {}", self.stack, self.control_fd);
        for context in &self.contexts {
            _ = write!(text, "program {} ", context.ranks);
            escape(context.program.as_bytes(), &mut text);
            for argument in &context.argv {
                text.push(' ');
                escape(argument.as_bytes(), &mut text);
            }
            text.push('\n');
        }
        for rank in &self.ranks {
            _ = writeln!(text, "rank {} {} {}", rank.stdin, rank.stdout, rank.stderr);
        }
        if let Some(chip) = &self.chip {
            text.push_str("chip ");
            chip.encode(&mut text);
            text.push('\n');
        }
        text
    }

    /// Parses the text form.
    pub fn decode(text: &str) -> Result<HostPlan, PlanError> {
        let mut lines = text.lines();
        let mut head = |key: &'static str, expected| {
            let line = lines.next().unwrap_or_default();
            match line.split_once(' ') {
                Some((found, value)) if found == key => Ok(value),
                _ => Err(bad(line, expected)),
            }
        };
        let version = head("protocol", "protocol VERSION")?;
        if version != PROTOCOL.to_string() {
            return Err(PlanError::Version(version.to_string()));
        }
        let fibers = match head("mode", "mode thread|fiber")? {
            "fiber" => true,
            "thread" => false,
            other => return Err(bad(other, "mode thread|fiber")),
        };
        let cores = parsed(head("cores", "cores NUMBER")?, "cores NUMBER")?;
        let order = head("order", "order CORE…")?;
        let order = order
            .split_whitespace()
            .map(|core| parsed(core, "order CORE…"))
            .collect::<Result<Vec<_>, _>>()?;
        let bind = match head("bind", "bind none|core")? {
            "core" => true,
            "none" => false,
            other => return Err(bad(other, "bind none|core")),
        };
        let records = match head("output", "output pipes|records")? {
            "records" => true,
            "pipes" => false,
            other => return Err(bad(other, "output pipes|records")),
        };
        let stack = parsed(head("stack", "stack BYTES")?, "stack BYTES")?;
        let control_fd = parsed(head("control", "control DESCRIPTOR")?, "control DESCRIPTOR")?;

        let (contexts, ranks, chip) = (Vec::new(), Vec::new(), None);
        let mut plan =
            HostPlan { fibers, cores, order, bind, records, stack, control_fd, contexts, ranks, chip };
        for line in lines {
            let mut fields = line.split(' ');
            match fields.next() {
                Some("program") => {
                    let expected = "program RANKS FILE ARGV0 [ARGUMENT…]";
                    let ranks = parsed(fields.next().unwrap_or_default(), expected)?;
                    let mut rest = fields.map(|field| unescape(field).ok_or_else(|| bad(line, expected)));
                    let program = rest.next().ok_or_else(|| bad(line, expected))??;
                    let argv = rest.collect::<Result<Vec<_>, _>>()?;
                    if argv.is_empty() {
                        return Err(bad(line, expected));
                    }
                    plan.contexts.push(HostContext { ranks, program, argv });
                }
                Some("rank") => {
                    let expected = "rank STDIN STDOUT STDERR";
                    let fds =
                        fields.map(|field| parsed(field, expected)).collect::<Result<Vec<RawFd>, _>>()?;
                    let [stdin, stdout, stderr] = fds[..] else { return Err(bad(line, expected)) };
                    plan.ranks.push(HostRank { stdin, stdout, stderr });
                }
                Some("chip") => plan.chip = Some(HostChip::decode(line, fields)?),
                _ => return Err(bad(line, "program …, rank … or chip …")),
            }
        }
        let programs: u64 = plan.contexts.iter().map(|context| u64::from(context.ranks)).sum();
        if programs != plan.ranks.len() as u64 || programs == 0 {
            return Err(PlanError::Ranks { programs, ranks: plan.ranks.len() });
        }
        Ok(plan)
    }

    /// The index of the program that `rank` runs (its `MPI_APPNUM`).
    pub fn context_of(&self, rank: u32) -> usize {
        let mut first = 0;
        for (index, context) in self.contexts.iter().enumerate() {
            if (first..first + context.ranks).contains(&rank) {
                return index;
            }
            first += context.ranks;
        }
        panic!("rank {rank} of a plan with {} ranks", self.ranks.len())
    }
}

pub(crate) fn bad(line: &str, expected: &'static str) -> PlanError {
    PlanError::Line { line: line.to_string(), expected }
}

pub(crate) fn parsed<T: std::str::FromStr>(field: &str, expected: &'static str) -> Result<T, PlanError> {
    field.parse().map_err(|_| bad(field, expected))
}

pub(crate) fn escape(bytes: &[u8], text: &mut String) {
    if bytes.is_empty() {
        text.push('%');
    }
    for &byte in bytes {
        match byte {
            b'%' | ..=b' ' | 0x7f.. => _ = write!(text, "%{byte:02x}"),
            plain => text.push(plain as char),
        }
    }
}

pub(crate) fn unescape(field: &str) -> Option<OsString> {
    if field == "%" {
        return Some(OsString::new());
    }
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(first);
        }
    }
    Some(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chip::ChipStats;

    fn text() -> impl Strategy<Value = OsString> {
        prop::collection::vec(any::<u8>(), 0..12).prop_map(OsString::from_vec)
    }

    proptest! {
        #[test]
        fn a_plan_survives_its_text_form_whatever_the_arguments_hold(
            fibers: bool, bind: bool, records: bool, cores in 1u32..300, order in prop::collection::vec(any::<u32>(), 0..5), stack: u64, control_fd in 3i32..9000,
            contexts in prop::collection::vec((1u32..4, text(), prop::collection::vec(text(), 1..4)), 1..4),
            chip in prop::option::of((any::<String>(), any::<String>(), any::<bool>(), any::<Option<u64>>())),
        ) {
            let contexts: Vec<_> = contexts
                .into_iter()
                .map(|(ranks, program, argv)| HostContext { ranks, program, argv })
                .collect();
            let total = contexts.iter().map(|context| context.ranks as i32).sum();
            let ranks = (0..total).map(|r| HostRank { stdin: -1, stdout: 2 * r, stderr: 2 * r + 1 }).collect();
            let chip = chip.map(|(origin, chip, scatter, scale)| HostChip {
                origin,
                chip,
                scatter,
                io: !scatter,
                memory: scatter,
                stats: if scatter { ChipStats::Json } else { ChipStats::Text },
                scale,
                progress: -1,
            });
            let plan = HostPlan { fibers, cores, order, bind, records, stack, control_fd, contexts, ranks, chip };
            let encoded = plan.encode();
            prop_assert!(!encoded.contains('\0'));
            prop_assert_eq!(HostPlan::decode(&encoded), Ok(plan));
        }

        #[test]
        fn any_text_is_refused_or_taken_without_a_panic(text in "(protocol 3\nmode fiber\ncores 1\norder 0\nbind none\noutput pipes\nstack 0\ncontrol 3\n)?.{0,80}") {
            _ = HostPlan::decode(&text);
        }
    }

    #[test]
    fn a_plan_of_another_version_is_refused() {
        assert_eq!(HostPlan::decode("protocol 1\n"), Err(PlanError::Version("1".into())));
    }

    #[test]
    fn each_rank_finds_its_program() {
        let context = |ranks| HostContext { ranks, program: "p".into(), argv: vec!["p".into()] };
        let rank = HostRank { stdin: -1, stdout: 4, stderr: 5 };
        let plan = HostPlan {
            fibers: true,
            cores: 1,
            order: vec![0],
            bind: false,
            records: false,
            stack: 0,
            control_fd: 3,
            contexts: vec![context(2), context(1)],
            ranks: vec![rank; 3],
            chip: None,
        };
        assert_eq!([0, 1, 2].map(|r| plan.context_of(r)), [0, 0, 1]);
    }
}
