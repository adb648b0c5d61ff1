//! What people read when a trace cannot be used, word for word, and what is behind it.

use std::error::Error as _;
use std::io;
use std::path::PathBuf;

use corelace_trace::{Job, Trace, TraceError, merge};

#[test]
fn traces_that_cannot_be_used() {
    let file = || PathBuf::from("heat.trace");
    let refused = TraceError::Io { file: file(), source: io::Error::other("the disk is wet") };
    assert_eq!(refused.to_string(), "heat.trace: the disk is wet");
    assert_eq!(refused.source().unwrap().to_string(), "the disk is wet");
    for (error, text) in [
        (
            TraceError::Foreign { file: file(), found: "a \"text\"".into(), expected: "CORELACE" },
            "heat.trace: not a trace of Corelace: its first bytes are \"a \\\"text\\\"\", expected \"CORELACE\"",
        ),
        (
            TraceError::Incompatible {
                file: file(),
                found: "version 1".into(),
                expected: "version 2".into(),
            },
            "heat.trace: written by version 1, this program reads version 2",
        ),
        (
            TraceError::Damaged { file: file(), offset: 17, expected: "an event".into() },
            "heat.trace: damaged at byte 17: expected an event",
        ),
    ] {
        assert_eq!(error.to_string(), text);
        assert!(error.source().is_none());
    }
}

#[test]
fn a_job_that_is_no_text_is_told_by_place_and_expectation() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("heat.trace");
    merge(&[], &Job { ranks: 2, ..Job::default() }, &file, &mut str::to_owned).unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[34] = 0xff;
    std::fs::write(&file, bytes).unwrap();
    for read in [Trace::open, Trace::salvage] {
        let error = read(&file).unwrap_err().to_string();
        let said = error.strip_prefix(&format!("{}: ", file.display())).unwrap();
        assert_eq!(said, "damaged at byte 34: expected lines of UTF-8 text about the job");
    }
}
