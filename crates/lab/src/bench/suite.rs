//! The suites: which programs there are, with how many ranks and by whom they are run, and which of them somebody asks for.

/// What a program is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suite {
    /// As the command line names it.
    pub name: &'static str,
    /// In a heading.
    pub title: &'static str,
}

const P2P: Suite = Suite { name: "p2p", title: "Messages between two ranks, and the machine's limits" };
const COLL: Suite = Suite { name: "coll", title: "Collectives" };
const RMA: Suite = Suite { name: "rma", title: "One-sided operations" };
const THREADS: Suite = Suite { name: "threads", title: "Threads that send and receive" };
const TYPES: Suite = Suite { name: "types", title: "Scattered data" };
const START: Suite = Suite { name: "start", title: "Start and end of a job" };
const MEMORY: Suite = Suite { name: "memory", title: "Memory of a rank" };
const GROWTH: Suite = Suite { name: "growth", title: "Growth with ranks and with pending messages" };
const OVERLAP: Suite = Suite { name: "overlap", title: "Communication under computation" };
const PAUSE: Suite = Suite { name: "pause", title: "After a pause" };
const INSTRUCTIONS: Suite = Suite { name: "instructions", title: "Instructions of a message" };
const PLAIN: Suite = Suite { name: "plain", title: "What is not MPI's" };
const TRACE: Suite = Suite { name: "trace", title: "What a trace adds" };
/// A gigabyte and more in the temporary directory: for those who ask for it.
const FILES: Suite = Suite { name: "files", title: "Files" };

/// All of them, in the order of tables.
pub const SUITES: [Suite; 14] = [
    P2P,
    COLL,
    RMA,
    THREADS,
    TYPES,
    START,
    MEMORY,
    GROWTH,
    OVERLAP,
    PAUSE,
    INSTRUCTIONS,
    PLAIN,
    TRACE,
    FILES,
];

/// A program in C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Program {
    pub file: &'static str,
    pub text: &'static str,
}

macro_rules! program {
    ($file:literal) => {
        Program { file: $file, text: include_str!(concat!("../../bench/", $file)) }
    };
}

/// Who can run a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takers {
    Everybody,
    /// Those whose ranks are processes.
    Processes,
    /// This MPI, however its ranks run.
    Ours,
    /// This MPI with fibers.
    OurFibers,
    /// Who comes first: it is the machine that is measured.
    First,
}

/// One program run with a number of ranks.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub suite: Suite,
    pub program: Program,
    pub ranks: u32,
    pub takers: Takers,
    /// What the names of its figures begin with.
    pub prints: &'static [&'static str],
    /// The time from start to end of the job is a figure, too.
    pub is_timed: bool,
    /// The job is recorded.
    pub is_traced: bool,
}

impl Case {
    const fn new(suite: Suite, program: Program, ranks: u32, prints: &'static [&'static str]) -> Case {
        Case { suite, program, ranks, takers: Takers::Everybody, prints, is_timed: false, is_traced: false }
    }

    /// A program that is run for something else than a table.
    pub const fn aside(program: Program, ranks: u32) -> Case {
        Case::new(COLL, program, ranks, &[]).by(Takers::Ours)
    }

    /// The same, recorded.
    pub const fn traced(self) -> Case {
        Case { is_traced: true, ..self }
    }

    const fn by(self, takers: Takers) -> Case {
        Case { takers, ..self }
    }
}

const PAIRS: Program = program!("pairs.c");
const LIMITS: Program = program!("limits.c");
const BARE: Program = program!("bare.c");
const TOGETHER: Program = program!("together.c");
const PERSISTENT: Program = program!("persistent.c");
const IDLE: Program = program!("idle.c");
const FOOTPRINT: Program = program!("footprint.c");
const GROWING: Program = program!("growing.c");

const LIMITS_OF_THE_MACHINE: &[&str] =
    &["limit-cache-line", "limit-copy", "limit-two-copies", "limit-cross-memory"];
const LIMITS_OF_WRITTEN_DATA: &[&str] = &["limit-written", "limit-exchange", "limit-broadcast"];
const COLLECTIVES: &[&str] = &[
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "scan",
    "iallreduce",
];
const ONE_SIDED: &[&str] = &[
    "rma-put",
    "rma-get",
    "rma-accumulate",
    "rma-fetch-and-op",
    "rma-compare-and-swap",
    "rma-fence",
    "rma-start",
    "rma-lock",
    "rma-message",
];
const SCATTERED: &[&str] = &["types-column", "types-face", "types-structs", "types-indexed"];
const FILE_FIGURES: &[&str] = &[
    "files-dd-write",
    "files-dd-read",
    "files-matrix-write",
    "files-matrix-read",
    "files-segments-write",
    "files-segments-read",
];
const GROWTHS: &[&str] = &["growth-barrier", "growth-allreduce"];

const fn growing(ranks: u32) -> Case {
    Case::new(GROWTH, GROWING, ranks, GROWTHS).by(Takers::OurFibers)
}

const fn started(ranks: u32) -> Case {
    Case { is_timed: true, ..Case::new(START, IDLE, ranks, &["start"]) }
}

/// All runs of one round.
const CASES: [Case; 32] = [
    Case::new(P2P, LIMITS, 1, LIMITS_OF_THE_MACHINE).by(Takers::First),
    Case::new(P2P, BARE, 1, LIMITS_OF_WRITTEN_DATA).by(Takers::First),
    Case::new(P2P, PAIRS, 2, &["latency", "latency-written", "exchange", "rate", "rate-early"]),
    Case::new(COLL, TOGETHER, 2, COLLECTIVES),
    Case::new(COLL, TOGETHER, 8, COLLECTIVES),
    Case::new(COLL, TOGETHER, 64, COLLECTIVES),
    Case::new(COLL, PERSISTENT, 2, &["allreduce-init"]),
    Case::new(COLL, PERSISTENT, 8, &["allreduce-init"]),
    Case::new(RMA, program!("windows.c"), 2, ONE_SIDED),
    Case::new(THREADS, program!("threads.c"), 2, &["threads-latency", "threads-rate"]).by(Takers::Processes),
    Case::new(TYPES, program!("types.c"), 2, SCATTERED),
    started(2),
    started(16),
    started(192),
    Case::new(MEMORY, FOOTPRINT, 2, &["private"]),
    Case::new(MEMORY, FOOTPRINT, 16, &["private"]),
    Case::new(MEMORY, FOOTPRINT, 192, &["private"]),
    growing(2),
    growing(8),
    growing(32),
    growing(128),
    growing(512),
    growing(1024),
    growing(2048),
    growing(4096),
    Case::new(GROWTH, program!("matching.c"), 2, &["matching-posted", "matching-unexpected"])
        .by(Takers::OurFibers),
    Case::new(OVERLAP, program!("overlap.c"), 2, &["overlap-isend", "overlap-iallreduce"]),
    Case::new(PAUSE, program!("pause.c"), 2, &["pause-round-trip", "pause-send", "pause-processor"]),
    Case::new(INSTRUCTIONS, COUNTED, 2, &["instructions"]).by(Takers::Processes),
    Case::new(PLAIN, program!("plain.c"), 1, &["plain-malloc", "plain-thread-local"]),
    Case::new(TRACE, program!("traced.c"), 2, &["trace"]).by(Takers::Ours).traced(),
    Case::new(FILES, program!("files.c"), 4, FILE_FIGURES),
];

/// The program that looks where one way of doing something becomes quicker than another.
pub const CROSSING: Program = program!("crossing.c");

/// The program that counts cache lines.
pub const LINES: Program = program!("lines.c");

/// The program that counts instructions.
pub const COUNTED: Program = program!("instructions.c");

/// What a name in the command line stands for.
pub fn named(name: &str) -> Result<Suite, String> {
    SUITES.into_iter().find(|suite| suite.name == name).ok_or_else(|| {
        let known = SUITES.map(|suite| suite.name).join(", ");
        format!("\"{name}\" is no suite, expected one of: {known}")
    })
}

/// The runs that are asked for: of these suites (of all but files if none is named), as far as they print a figure with this in its name.
pub fn chosen(suites: &[Suite], only: Option<&str>) -> Result<Vec<Case>, String> {
    let is_asked_for = |case: &&Case| match (suites, only) {
        ([], None) => case.suite != FILES,
        ([], Some(_)) => true,
        (suites, _) => suites.contains(&case.suite),
    };
    let asked: Vec<&Case> = CASES.iter().filter(is_asked_for).collect();
    let prints = |case: &Case| only.is_none_or(|text| case.prints.iter().any(|name| shares(name, text)));
    let cases: Vec<Case> = asked.iter().filter(|case| prints(case)).map(|case| **case).collect();
    if cases.is_empty() {
        let mut known: Vec<&str> = asked.iter().flat_map(|case| case.prints).copied().collect();
        known.dedup();
        known.sort_unstable();
        known.dedup();
        let (only, known) = (only.unwrap_or_default(), known.join(", "));
        return Err(format!("--only is \"{only}\", expected a part of one of: {known}"));
    }
    Ok(cases)
}

/// Whether a figure whose name begins with `start` may have `text` in it: the text may say more than the beginning, as in `rma-put/lent`.
fn shares(start: &str, text: &str) -> bool {
    start.contains(text) || text.starts_with(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(cases: &[Case]) -> Vec<&'static str> {
        let mut files: Vec<&str> = cases.iter().map(|case| case.program.file).collect();
        files.dedup();
        files
    }

    #[test]
    fn without_words_everything_is_run_but_files() {
        let cases = chosen(&[], None).unwrap();
        assert_eq!(cases.len(), CASES.len() - 1);
        assert!(cases.iter().all(|case| case.suite != FILES));
    }

    #[test]
    fn every_suite_has_a_case_and_every_name_is_its_own() {
        for suite in SUITES {
            assert_eq!(named(suite.name), Ok(suite));
            assert!(!chosen(&[suite], None).unwrap().is_empty(), "{}", suite.name);
        }
    }

    #[test]
    fn a_suite_that_is_not_there_is_answered_with_those_that_are() {
        let error = named("collectives").unwrap_err();
        assert!(error.starts_with("\"collectives\" is no suite, expected one of: p2p, coll, rma"), "{error}");
    }

    #[test]
    fn part_of_a_figures_name_selects_programs_of_all_suites() {
        assert_eq!(files(&chosen(&[], Some("latency")).unwrap()), ["pairs.c", "threads.c"]);
        assert_eq!(files(&chosen(&[], Some("rma-put/lent")).unwrap()), ["windows.c"]);
        assert_eq!(files(&chosen(&[], Some("files")).unwrap()), ["files.c"]);
        assert_eq!(files(&chosen(&[P2P], Some("latency")).unwrap()), ["pairs.c"]);
    }

    #[test]
    fn a_text_that_no_figure_has_is_answered_with_their_names() {
        let error = chosen(&[PAUSE], Some("ltency")).unwrap_err();
        let expected =
            "--only is \"ltency\", expected a part of one of: pause-processor, pause-round-trip, pause-send";
        assert_eq!(error, expected);
    }
}
