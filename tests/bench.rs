//! `corelace bench` measures, and says so in a form that programs read.

use serde_json::Value;

use crate::support::{PATIENCE, job::Job, tool};

#[test]
fn a_quick_benchmark_gives_figures_as_json() {
    gives_figures("latency", 8);
}

#[test]
fn a_quick_benchmark_of_windows_gives_figures_as_json() {
    // Three operations of four sizes, two atomic ones, three synchronisations; on both kinds of memory.
    gives_figures("rma", 3 * (3 * 4 + 2 + 3) + 2 * 3);
}

fn gives_figures(only: &str, count: usize) {
    let mut bench = tool("corelace");
    bench.args(["bench", "--quick", "--rounds", "1", "--only", only, "--json"]);
    let printed = Job::of(bench).limit(PATIENCE).run().expect_success().stdout;
    let report: Value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    let contestants: Vec<_> =
        report["contestants"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(contestants.contains(&"corelace process"), "{contestants:?}");
    let figures = report["figures"].as_array().expect("a list");
    assert_eq!(figures.len(), count, "{printed}");
    for figure in figures {
        assert!(figure["name"].as_str().expect("a name").contains(only), "{figure}");
        for contestant in &contestants {
            assert!(figure["values"][contestant].as_f64().is_some_and(|value| value > 0.0), "{figure}");
        }
    }
}

#[test]
fn what_a_trace_adds_to_a_message_is_a_figure_of_both_kinds_of_ranks() {
    let mut bench = tool("corelace");
    bench.args(["bench", "--quick", "--rounds", "1", "--only", "trace", "--json"]);
    let printed = Job::of(bench).limit(PATIENCE).run().expect_success().stdout;
    let report: Value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    let figures = report["figures"].as_array().expect("a list");
    assert_eq!(figures.len(), 1, "{printed}");
    assert_eq!((figures[0]["name"].as_str(), figures[0]["unit"].as_str()), (Some("trace"), Some("ns")));
    for contestant in ["corelace process", "corelace fiber"] {
        // On a busy machine the difference may be anything; that there is one is what is tested.
        assert!(figures[0]["values"][contestant].is_f64(), "{printed}");
    }
}
