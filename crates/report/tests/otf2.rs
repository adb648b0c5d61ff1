//! Archives of the Open Trace Format 2, read by the tools of those who made the format.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use corelace_report::{Run, otf2};
use trace::{Event, Protocol};

use crate::support::by_hand::ByHand;
use crate::support::stencil::Stencil;

/// What Debian's package prints of an archive; it is installed now if it is missing.
fn printed(directory: &Path, words: &[&str]) -> String {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let works = || {
            let mut version = Command::new("otf2-print");
            version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            version.status().is_ok_and(|status| status.success())
        };
        if !works() {
            let install = "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends otf2-tools";
            let installed = Command::new("sh").args(["-c", install]).stdout(Stdio::null()).status();
            let installed = installed.is_ok_and(|status| status.success());
            assert!(installed && works(), "the tests of OTF2 need otf2-print (on Debian: apt-get install otf2-tools)");
        }
    });
    let output = Command::new("otf2-print").args(words).arg(directory.join("traces.otf2")).output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaints.is_empty(), "{complaints}");
    String::from_utf8(output.stdout).unwrap()
}

/// The lines of events or definitions, with single blanks.
fn lines(text: &str) -> Vec<String> {
    let rows = text.lines().skip_while(|line| !line.starts_with("---")).skip(1);
    rows.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty())
        .collect()
}

fn archive(run: &Run) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    otf2(run, &directory.path().join("archive")).unwrap();
    directory
}

#[test]
fn calls_messages_and_regions_are_read_by_otf2_print() {
    let mut hand = ByHand::new(2);
    hand.event(0, Event::Region { time: 0, number: 7, begins: true });
    hand.call(0, "MPI_Send", "solve at a.c:42", 100, 300, |events| {
        events.send(100, 0, 1, 5, 4096, Protocol::Eager).sent(300, 0);
    });
    hand.event(0, Event::Region { time: 300, number: 7, begins: false });
    hand.call(1, "MPI_Recv", "", 50, 400, |events| {
        events.receive(50, 350, 0, 0, 5, 4096).arrived(400, 0, 0);
    });
    // At one time: no order but that of the calls is right.
    hand.call(1, "MPI_Comm_rank", "", 400, 400, |_| {}).call(1, "MPI_Barrier", "", 400, 500, |_| {});
    let directory = archive(&hand.run());
    let directory = directory.path().join("archive");
    // Events of several ranks at one time have no order.
    let mut events = lines(&printed(&directory, &[]));
    events.sort_by_key(|line| line.split(' ').nth(1).map(str::to_owned));
    assert_eq!(
        events,
        [
            "ENTER 0 0 Region: \"program\" <0>",
            "ENTER 0 0 Region: \"region 7\" <1>",
            "ENTER 0 100 Region: \"MPI_Send\" <2>",
            "MPI_SEND 0 100 Receiver: 1 (\"rank 1\" <1>), Communicator: \"all ranks\" <0>, Tag: 5, Length: 4096",
            "LEAVE 0 300 Region: \"MPI_Send\" <2>",
            "LEAVE 0 300 Region: \"region 7\" <1>",
            "LEAVE 0 500 Region: \"program\" <0>",
            "ENTER 1 50 Region: \"program\" <0>",
            "ENTER 1 50 Region: \"MPI_Recv\" <3>",
            "MPI_RECV 1 400 Sender: 0 (\"rank 0\" <0>), Communicator: \"all ranks\" <0>, Tag: 5, Length: 4096",
            "LEAVE 1 400 Region: \"MPI_Recv\" <3>",
            "ENTER 1 400 Region: \"MPI_Comm_rank\" <4>",
            "LEAVE 1 400 Region: \"MPI_Comm_rank\" <4>",
            "ENTER 1 400 Region: \"MPI_Barrier\" <5>",
            "LEAVE 1 500 Region: \"MPI_Barrier\" <5>",
            "LEAVE 1 500 Region: \"program\" <0>",
        ]
    );
    let definitions = lines(&printed(&directory, &["-G"]));
    let said =
        |what: &str| assert!(definitions.iter().any(|line| line.contains(what)), "{what}: {definitions:#?}");
    said("Ticks per Seconds: 1000000000, Global Offset: 0, Length: 500");
    said("LOCATION 0 Name: \"rank 0\" <");
    said("Type: CPU_THREAD, # Events: 7, Group: \"rank 0\" <0>");
    said("Name: \"all ranks\"");
    let send = definitions.iter().find(|line| line.starts_with("REGION 2 ")).unwrap();
    for part in
        ["Descr.: \"solve at a.c:42\"", "Role: POINT2POINT", "Paradigm: MPI", "File: \"a.c\"", "Begin: 42"]
    {
        assert!(send.contains(part), "{part}: {send}");
    }
    assert!(definitions.iter().any(|line| line.starts_with("REGION 5 ") && line.contains("Role: BARRIER")));
}

#[test]
fn peers_are_counted_in_the_communicator_of_their_message() {
    let mut hand = ByHand::new(4);
    let message = trace::MessageId::new(3, 0);
    let (to, tag, comm, bytes, protocol) = (1, 9, 6, 8, Protocol::Eager);
    hand.event(3, Event::SendStart { time: 10, message, to, tag, comm, bytes, protocol, done: true });
    hand.call(1, "MPI_Recv", "", 0, 30, |events| {
        events.receive(0, 20, 3, 0, 9, 8).arrived(30, 3, 0);
    });
    hand.members(3, 7, "1,3");
    let directory = archive(&hand.run());
    let events = lines(&printed(&directory.path().join("archive"), &[]));
    let sent =
        "MPI_SEND 3 10 Receiver: 0 (\"rank 1\" <1>), Communicator: \"communicator 6\" <1>, Tag: 9, Length: 8";
    assert!(events.iter().any(|line| line == sent), "{events:#?}");
    let received = "MPI_RECV 1 30 Sender: 1 (\"rank 3\" <3>), Communicator: \"communicator 6\" <1>";
    assert!(events.iter().any(|line| line.starts_with(received)), "{events:#?}");
}

#[test]
fn traces_of_many_chunks_are_whole() {
    let mut hand = ByHand::new(1);
    for call in 0..60_000 {
        hand.call(0, "MPI_Test", "a.c:1", call * 10, call * 10 + 5, |_| {});
    }
    let directory = archive(&hand.run_under(8 << 20));
    let directory = directory.path().join("archive");
    let bytes = std::fs::metadata(directory.join("traces/0.evt")).unwrap().len();
    assert!(bytes > 1 << 20, "more than a chunk: {bytes} bytes");
    let events = lines(&printed(&directory, &[]));
    assert_eq!(events.len(), 120_002);
    assert_eq!(events[120_000], "LEAVE 0 599995 Region: \"MPI_Test\" <1>");
}

#[test]
fn an_archive_of_a_chip_has_every_message() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace");
    Stencil { ranks: 9, rounds: 20, slow: Some(2), mesh: 3 }.write(&file);
    let run = Run::of(&trace::Trace::open(&file).unwrap());
    otf2(&run, &directory.path().join("archive")).unwrap();
    let events = lines(&printed(&directory.path().join("archive"), &[]));
    let count = |kind: &str| events.iter().filter(|line| line.starts_with(kind)).count();
    assert_eq!((count("MPI_SEND"), count("MPI_RECV")), (run.messages.len(), run.messages.len()));
    assert_eq!(count("ENTER"), 9 * 21);
}
