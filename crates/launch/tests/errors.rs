//! What people read when a job cannot be started, word for word, and what is behind it.

use std::error::Error as _;
use std::io;

use corelace_launch::{Error, NotFound};

fn refusal() -> io::Error {
    io::Error::other("the moon is full")
}

#[test]
fn jobs_that_cannot_be_started() {
    let contradiction = Error::Job("two ranks, no program".into());
    assert_eq!(contradiction.to_string(), "two ranks, no program");
    assert!(contradiction.source().is_none());
    for (error, text) in [
        (
            Error::Spawn { rank: 2, program: "/home/me/heat".into(), source: refusal() },
            "cannot start rank 2, /home/me/heat: the moon is full",
        ),
        (
            Error::File { path: "out/rank0".into(), source: refusal() },
            "out/rank0: the moon is full, expected a file that can be written",
        ),
        (Error::System { what: "pipe", source: refusal() }, "pipe: the moon is full"),
    ] {
        assert_eq!(error.to_string(), text);
        assert_eq!(error.source().unwrap().to_string(), "the moon is full");
    }
}

#[test]
fn what_the_system_refuses_for_want_of_room_comes_with_advice() {
    let full = || io::Error::from_raw_os_error(rustix::io::Errno::NFILE.raw_os_error());
    let program = "/home/me/heat".into();
    for (error, start) in [
        (Error::Spawn { rank: 0, program, source: full() }, "cannot start rank 0, /home/me/heat: "),
        (Error::System { what: "socket", source: full() }, "socket: "),
    ] {
        let text = error.to_string();
        assert!(text.starts_with(&format!("{start}{}", full())), "{text}");
        assert!(text.ends_with("end other jobs, or raise fs.file-max)"), "{text}");
    }
}

#[test]
fn programs_that_cannot_be_found() {
    let nowhere = NotFound::Nowhere { name: "heat".into(), searched: "/bin, /usr/bin".into() };
    assert_eq!(nowhere.to_string(), "program \"heat\" not found: searched /bin, /usr/bin");
    let other = NotFound::NotExecutable { name: "heat".into(), path: "/tmp/heat".into(), why: "a directory" };
    assert_eq!(other.to_string(), "program \"heat\": /tmp/heat exists but is a directory");
    assert!(other.source().is_none());
}
