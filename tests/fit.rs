//! `corelace fit --measured`: a description from measured times.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{corelace, root, scratch};

const SIZES: &str = "1024,8192,65536,262144";

/// Times of the model itself between clusters 0 and 15 of a chip, with up to half a percent of noise that is the same every time.
fn measurements(chip: &Path) -> String {
    let mut text = String::from("# made by the model\nfrom,to,method,bytes,time_us\n");
    let mut seed = 12345u64;
    let mut noise = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        1.0 + ((seed >> 33) as f64 / f64::from(1u32 << 31) - 0.5) * 0.01
    };
    for method in ["pe", "dma"] {
        let words = [
            "fit",
            "--json",
            "--from",
            "0",
            "--to",
            "15",
            "--sizes",
            SIZES,
            "--repeat",
            "1",
            "--protocol",
            method,
        ];
        let ended = corelace(words).argument("--chip").argument(chip).run().expect_success();
        let directions: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        for direction in directions.as_array().expect("both ways") {
            for point in direction["points"].as_array().expect("sizes") {
                for _ in 0..3 {
                    let microseconds = point["send"].as_f64().expect("cycles") / 400.0 * noise();
                    let ends = (
                        direction["from"].as_str().expect("a place"),
                        direction["to"].as_str().expect("a place"),
                    );
                    _ = writeln!(
                        text,
                        "{},{},{method},{},{microseconds:.4}",
                        ends.0,
                        ends.1,
                        point["bytes"].as_f64().expect("bytes")
                    );
                }
            }
        }
    }
    text
}

#[test]
fn numbers_of_a_changed_chip_are_found_in_its_measurements_and_what_is_not_determined_is_named() {
    let room = scratch("fit");
    let changed = [
        ("receive        = { value = 0.27,", "receive        = { value = 0.3,"),
        ("put_core       = { value = 14679,", "put_core       = { value = 15000,"),
        ("put_per_byte   = { value = 0.98,", "put_per_byte   = { value = 1.1,"),
    ];
    let text = fs::read_to_string(root().join("chips/mppa256-andey.toml")).expect("it is there");
    let other = changed.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    let (chip, data, copy) = (room.join("changed.toml"), room.join("data.csv"), room.join("fitted.toml"));
    fs::write(&chip, other).expect("a file below the build directory");
    fs::write(&data, measurements(&chip)).expect("a file below the build directory");
    let ended = corelace(["fit", "--json", "--chip", "mppa256-andey", "--measured"])
        .argument(&data)
        .argument("--write")
        .argument(&copy)
        .run()
        .expect_success();
    let fitted: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let number = |path: &str| {
        let numbers = fitted["numbers"].as_array().expect("a list");
        numbers.iter().find(|number| number["number"] == path).unwrap_or_else(|| panic!("{path}: {fitted}"))
    };
    for (path, truth) in [("cluster.receive", 0.3), ("ipc.mppaipc.cluster.put_per_byte", 1.1)] {
        let number = number(path);
        let (is, within) =
            (number["fitted"].as_f64().expect("a number"), number["within"].as_f64().expect("determined"));
        assert!((is - truth).abs() <= within && within < 0.02 * truth, "{path}: {number}");
    }
    assert_eq!(number("ipc.mppaipc.cluster.agent")["determined"], "in sums");
    assert_eq!(number("ipc.mppaipc.cluster.copy_call")["determined"], "no");
    let sum = fitted["sums"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|sum| sum["sum"] == "ipc.mppaipc.cluster: post + agent + take + expose + put_core");
    let sum = sum.unwrap_or_else(|| panic!("no sum of a send by core: {fitted}"));
    let truth = 3800.0 + 4800.0 + 4000.0 + 4000.0 + 15000.0;
    let off = (sum["value"].as_f64().expect("a number") - truth).abs();
    assert!(off <= sum["within"].as_f64().expect("a number") && off < 0.01 * truth, "{sum}");

    let written = fs::read_to_string(&copy).expect("it was written");
    assert!(written.contains("calibrated = \"fitted to ") && written.contains("data.csv"), "{written}");
    let shown = corelace(["chips", "show"]).argument(&copy).run().expect_success();
    assert!(shown.stdout.contains("which determines only sums with it"), "{shown}");
}

#[test]
fn data_that_cannot_be_read_is_refused_with_file_and_line() {
    let data = scratch("fit").join("data.csv");
    fs::write(&data, "from,to,method,bytes,time_us\n0,1,pe,64,fast\n")
        .expect("a file below the build directory");
    let ended = corelace(["fit", "--chip", "mesh16", "--measured"]).argument(&data).run();
    assert!(ended.code() != 0, "{ended}");
    ended.expect_said(&["data.csv: line 2: \"fast\" is no time above 0"]);
}
