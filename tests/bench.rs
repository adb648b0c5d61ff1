//! `corelace bench` measures, and says so in a form that programs read.

use serde_json::Value;

use crate::support::{PATIENCE, job::Job, tool};

/// A quick round of these suites or figures.
fn run(words: &[&str]) -> Value {
    let mut bench = tool("corelace");
    bench.args(["bench", "--quick", "--rounds", "1", "--json"]).args(words);
    let printed = Job::of(bench).limit(PATIENCE).run().expect_success().stdout;
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
}

/// What there is of a figure by one contestant.
fn samples<'v>(figure: &'v Value, contestant: &str) -> Option<&'v Vec<Value>> {
    let cells = figure["cells"].as_array().expect("a list");
    cells.iter().find(|cell| cell["contestant"] == contestant)?["samples"].as_array()
}

const BOTH: [&str; 2] = ["corelace process", "corelace fiber"];

/// Holds that so many figures are measured by these contestants.
fn gives_figures(words: &[&str], count: usize, contestants: &[&str]) {
    let run = run(words);
    assert_eq!(run["failures"], Value::Array(Vec::new()), "{run}");
    let figures = run["figures"].as_array().expect("a list");
    assert_eq!(figures.len(), count, "{run}");
    for (figure, contestant) in
        figures.iter().flat_map(|figure| contestants.iter().map(move |who| (figure, who)))
    {
        let samples = samples(figure, contestant).unwrap_or_else(|| panic!("{contestant}: {figure}"));
        assert!(
            matches!(&samples[..], [value] if value.as_f64().is_some_and(|value| value >= 0.0)),
            "{figure}"
        );
    }
}

#[test]
fn a_quick_benchmark_gives_figures_as_json() {
    // Twelve sizes of data that nobody touches, and those of 4 KiB and more of data that was just written.
    gives_figures(&["p2p", "--only", "latency"], 12 + 7, &BOTH);
}

#[test]
fn the_machines_limits_are_measured_by_whoever_comes_first() {
    // A line, four copies, three sizes by two copies, six sizes across by one and by both, and an exchange; six sizes of written data one way and both, three broadcasts of these and of others.
    for ranks in ["process", "fiber"] {
        let contestant = format!("corelace {ranks}");
        gives_figures(
            &["p2p", "--only", "limit", "--ranks", ranks],
            1 + 4 + 3 + 6 * 2 + 1 + 6 * 2 + 3 * 2,
            &[&contestant],
        );
    }
}

#[test]
fn a_quick_benchmark_of_windows_gives_figures_as_json() {
    // Three operations of four sizes, two atomic ones, three synchronisations; on both kinds of memory.
    gives_figures(&["rma"], 3 * (3 * 4 + 2 + 3) + 2 * 3, &BOTH);
}

#[test]
fn scattered_data_pauses_and_overlap_are_measured_by_both_kinds_of_ranks() {
    // Four kinds of data sent and packed; two figures of four pauses and the processor's time; two kinds of overlap.
    gives_figures(&["types", "pause", "overlap"], 4 * 2 + (2 * 4 + 1) + 2, &BOTH);
}

#[test]
fn collectives_of_data_that_was_just_written_are_measured_on_few_ranks() {
    // Three sizes on 2 and on 8 ranks, and none on 64.
    gives_figures(&["coll", "--only", "bcast-written"], 3 * 2, &BOTH);
}

#[test]
fn what_is_not_of_mpi_is_measured_too() {
    gives_figures(&["plain"], 3, &BOTH);
}

#[test]
fn threads_are_measured_by_processes() {
    gives_figures(&["threads"], 2 * 3, &["corelace process"]);
}

#[test]
fn the_instructions_of_a_message_are_the_same_number_each_time() {
    let count = || {
        let run = run(&["instructions", "--ranks", "process"]);
        let figures = run["figures"].as_array().expect("a list");
        let one = |figure: &Value| {
            samples(figure, "corelace process").expect("samples")[0].as_f64().expect("a number")
        };
        let counts: Vec<f64> = figures.iter().map(one).collect();
        assert!(counts.len() == 3 && counts[0] + counts[1] == counts[2] && counts[2] > 50.0, "{counts:?}");
        counts
    };
    assert_eq!(count(), count());
}

/// A row of `corelace bench --counts`: rounds, lines of the busiest and lines of all, on boards and by messages.
fn counts(table: &str, collective: &str, ranks: u32) -> Vec<String> {
    let ranks = ranks.to_string();
    let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
    let rows = table.lines().map(words);
    let is_wanted = |row: &Vec<String>| row.len() > 6 && row[0] == collective && row[row.len() - 7] == ranks;
    let row = rows.into_iter().find(is_wanted).unwrap_or_else(|| panic!("{collective} on {ranks}: {table}"));
    row[row.len() - 6..].to_vec()
}

#[test]
fn counts_of_lines_and_rounds_are_what_one_derives_by_hand() {
    let counted = |members, only| {
        let mut bench = tool("corelace");
        bench.args(["bench", "--counts", "--members", members, "--only", only]);
        Job::of(bench).limit(PATIENCE).run().expect_success().stdout
    };
    let table = counted("2,4", "b");
    // Each writes a note, which the other has a copy of, and reads the other's. By messages: one each way, of which the sender takes the cell, the receiver reads it and writes that it is free.
    assert_eq!(counts(&table, "barrier", 2)[..3], ["1", "2", "4"], "{table}");
    assert_eq!(counts(&table, "barrier", 2)[3..5], ["1", "3"], "{table}");
    assert_eq!(counts(&table, "barrier", 4)[..3], ["1", "4", "16"], "{table}");
    // Five groups of four. The first of a group looks at three notes, at one of them once before it is
    // there, writes its own, which others look at, and looks at four more: nine. Each of the others
    // writes one, and looks at five, at one of them twice: seven.
    let of_many = counted("20", "barrier");
    assert_eq!(counts(&of_many, "barrier", 20)[..3], ["2", "9", "150"], "{of_many}");
    // The root writes a note, three read it; it looks how far they are after as many calls as there are notes, which are more than are counted. By messages: three, two of them one after the other.
    assert_eq!(counts(&table, "bcast", 4)[..3], ["1", "1", "4"], "{table}");
    assert_eq!(counts(&table, "bcast", 4)[3..], ["2", "3", "9.1"], "{table}");
}

#[test]
fn what_a_trace_adds_to_a_message_is_a_figure_of_both_kinds_of_ranks() {
    let run = run(&["trace"]);
    let figures = run["figures"].as_array().expect("a list");
    assert_eq!(figures.len(), 1, "{run}");
    assert_eq!((figures[0]["name"].as_str(), figures[0]["unit"].as_str()), (Some("trace"), Some("ns")));
    for contestant in BOTH {
        // On a busy machine the difference may be anything; that there is one is what is tested.
        assert!(samples(&figures[0], contestant).is_some_and(|samples| samples[0].is_f64()), "{run}");
    }
}
