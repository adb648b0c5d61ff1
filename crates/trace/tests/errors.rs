//! What people read when a trace cannot be used, word for word, and what is behind it.

use std::error::Error as _;
use std::io;
use std::path::PathBuf;

use corelace_trace::TraceError;

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
