//! What people read when launcher and ranks do not understand each other, word for word, and what is behind it.

use std::error::Error as _;
use std::io;

use corelace_pmi::{ClaimError, DecodeError, Error, InboxError, PROTOCOL, PlanError};

#[test]
fn messages_that_make_no_sense() {
    let length = DecodeError::Length { kind: 3, length: 7, expected: "8 bytes" };
    for (error, text) in [
        (DecodeError::Kind(77), "control message of kind 77, expected 1 to 9"),
        (length, "control message of kind 3 with 7 bytes, expected 8 bytes"),
        (DecodeError::Reserved, "control message whose reserved bytes are not zero: not a frame"),
        (DecodeError::Text, "control message whose text is not UTF-8"),
        (DecodeError::Statement, "control message of kind 5 that makes no sense"),
        (DecodeError::Request, "control message of kind 9 that makes no sense"),
    ] {
        assert_eq!(error.to_string(), text);
        assert!(error.source().is_none());
        let wrapped = InboxError::from(error);
        assert_eq!(wrapped.to_string(), text);
        assert!(wrapped.source().is_none());
    }
    let refused = InboxError::from(io::Error::other("the socket is wet"));
    assert_eq!(refused.to_string(), "control channel: the socket is wet");
    assert_eq!(refused.source().unwrap().to_string(), "the socket is wet");
}

#[test]
fn plans_that_make_no_sense() {
    let version = format!(
        "host plan of protocol \"7\", expected {PROTOCOL}: corelace and libmpi_abi are of different versions"
    );
    assert_eq!(PlanError::Version("7".into()).to_string(), version);
    let line = PlanError::Line { line: "cores many".into(), expected: "cores NUMBER" };
    assert_eq!(line.to_string(), "host plan, line \"cores many\": expected cores NUMBER");
    let ranks = PlanError::Ranks { programs: 3, ranks: 2 };
    assert_eq!(
        ranks.to_string(),
        "host plan with 3 ranks in its programs but 2 rank lines; expected equal, at least 1"
    );
    assert!(ranks.source().is_none());
}

#[test]
fn invitations_that_are_broken() {
    let version = format!(
        "CORELACE_PMI_PROTOCOL is \"7\" but this library speaks {PROTOCOL}: the launcher and libmpi_abi are of \
         different versions; start the program with the mpirun of the same installation"
    );
    assert_eq!(Error::Version { found: "7".into() }.to_string(), version);
    assert_eq!(
        Error::Missing { name: "CORELACE_RANK" }.to_string(),
        "CORELACE_RANK is not set although other variables of the launcher are: start the program with mpirun, \
         or unset all CORELACE_* variables to run it alone"
    );
    let malformed = Error::Malformed { name: "CORELACE_RANK", value: "+3".into(), expected: "a number" };
    assert_eq!(malformed.to_string(), "CORELACE_RANK is \"+3\", expected a number");
    assert!(malformed.source().is_none());
    assert_eq!(
        ClaimError { name: "CORELACE_CONTROL_FD", fd: 9 }.to_string(),
        "CORELACE_CONTROL_FD names descriptor 9, which is not open in this process: it was started by a rank, \
         not by mpirun"
    );
}
