//! The filter of the page: by function, call site, peer, tag and communicator, and which ranks are hidden.

use corelace_report::{Analysis, Run};
use trace::{Event, Protocol};

use crate::support::browser::Browser;
use crate::support::by_hand::ByHand;

/// Rank 0 sends tags 5 and 6 to rank 1 from two places, the second time with a call that sends nothing in between; rank 2 is
/// in a barrier, with a message of that barrier to rank 0.
fn three_ranks() -> Run {
    let mut hand = ByHand::new(3);
    for (number, tag, site, begin) in [(0, 5, "a.c:7", 100), (1, 6, "b.c:9", 300)] {
        hand.call(0, "MPI_Send", site, begin, begin + 50, |events| {
            events.send(begin, number, 1, tag, 64, Protocol::Eager).sent(begin + 40, number);
        });
        hand.call(1, "MPI_Recv", "c.c:1", begin, begin + 90, |events| {
            events.wait(begin, begin + 80).receive(begin, begin + 80, 0, number, tag, 64).arrived(
                begin + 85,
                0,
                number,
            );
        });
    }
    hand.call(0, "MPI_Barrier", "a.c:8", 500, 700, |events| {
        events.receive(500, 650, 2, 0, 0, 0).arrived(660, 2, 0);
    });
    hand.call(2, "MPI_Barrier", "a.c:8", 600, 700, |events| {
        let message = trace::MessageId::new(2, 0);
        let (to, tag, comm, bytes, protocol) = (0, 0, 9, 0, Protocol::Eager);
        events.push(Event::SendStart { time: 610, message, to, tag, comm, bytes, protocol, done: true });
    });
    hand.members(2, 9, "0-2");
    hand.run()
}

fn opened() -> (Browser, tempfile::TempDir) {
    let run = three_ranks();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.html");
    std::fs::write(&file, corelace_report::page(&run, &Analysis::of(&run))).unwrap();
    (Browser::open(&file), directory)
}

/// Sets fields and says what the page says then.
fn ask(browser: &mut Browser, fields: &[(&str, &str)]) -> String {
    browser.evaluate("clearFilter()");
    for (field, value) in fields {
        browser.evaluate(&format!(
            "fields.{field}.value = {value:?}; fields.{field}.dispatchEvent(new Event('input'))"
        ));
    }
    browser.text("#filter-words")
}

fn rows(browser: &mut Browser, table: &str, column: usize) -> Vec<String> {
    let cells = browser.evaluate(&format!(
        "[...document.querySelectorAll('#{table} tbody tr')].map(r => r.cells[{column}].textContent)"
    ));
    cells.as_array().unwrap().iter().map(|cell| cell.as_str().unwrap().to_owned()).collect()
}

#[test]
fn calls_and_messages_are_filtered_and_the_page_says_so_in_words() {
    let (mut browser, _directory) = opened();
    assert_eq!(browser.text("#filter-words"), "Everything is shown.");
    for (fields, words) in [
        (
            &[("function", "MPI_Send")][..],
            "Shown are calls of MPI_Send; the others are pale. 2 of 6 calls, 100 ns altogether, and 2 of 3 messages match.",
        ),
        (
            &[("site", "A.C")],
            "Shown are calls at \"A.C\"; the others are pale. 3 of 6 calls, 350 ns altogether, and 2 of 3 messages match.",
        ),
        (
            &[("tag", "6")],
            "Shown are calls with messages with tag 6; the others are pale. 2 of 6 calls, 140 ns altogether, and 1 of 3 messages match.",
        ),
        (
            &[("peer", "2")],
            "Shown are calls with messages to or from rank 2; the others are pale. 2 of 6 calls, 300 ns altogether, and 1 of 3 messages match.",
        ),
        (
            &[("comm", "8")],
            "Shown are calls with messages in communicator 8; the others are pale. 2 of 6 calls, 300 ns altogether, and 1 of 3 messages match.",
        ),
        (
            &[("function", "MPI_Recv"), ("tag", "5")],
            "Shown are calls of MPI_Recv with messages with tag 5; the others are pale. 1 of 6 calls, 90.0 ns altogether, and 1 of 3 messages match.",
        ),
        (
            &[("hide", "0, 2")],
            "Ranks 0, 2 are hidden. 2 of 6 calls, 180 ns altogether, and 0 of 3 messages match.",
        ),
    ] {
        assert_eq!(ask(&mut browser, fields), words, "{fields:?}");
    }
    assert!(browser.text("#filter-comm").contains("8: ranks 0-2"));
    browser.evaluate("byId('filter-clear').click()");
    assert_eq!(browser.text("#filter-words"), "Everything is shown.");
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn what_does_not_match_is_pale_and_out_of_the_tables() {
    let (mut browser, _directory) = opened();
    let picture = |browser: &mut Browser| {
        browser.evaluate("drawTimeline(), tracks.toDataURL()").as_str().unwrap().to_owned()
    };
    let all = picture(&mut browser);
    ask(&mut browser, &[("function", "MPI_Recv")]);
    assert_ne!(picture(&mut browser), all);
    assert_eq!(rows(&mut browser, "profile-table", 0), ["MPI_Recv"]);
    assert!(browser.text("#profile-table .note").ends_with("of 4 rows match."));
    assert_eq!(rows(&mut browser, "wait-table", 5).iter().filter(|name| *name != "MPI_Recv").count(), 0);
    ask(&mut browser, &[("hide", "0-1")]);
    assert_eq!(rows(&mut browser, "rank-table", 0), ["2"]);
    assert_eq!(browser.evaluate("rowsInView()"), 1, "two rows are gone from the timeline");
    assert_eq!(browser.evaluate("messagesInView(view, rowsInView()).all"), 0, "and so are their arrows");
    assert!(
        browser
            .evaluate(
                "describe(pointAt({clientX: tracks.getBoundingClientRect().left + 300, \
        clientY: tracks.getBoundingClientRect().top + 3}).rank, 650)[0]"
            )
            .as_str()
            .unwrap()
            .contains("Rank 2")
    );
    ask(&mut browser, &[]);
    browser.evaluate("view.rank = 0");
    assert_eq!(picture(&mut browser), all, "clear shows everything again");
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn wrong_entries_are_named_and_change_nothing() {
    let (mut browser, _directory) = opened();
    for (field, value, words) in [
        ("peer", "7", "Peer: expected a rank from 0 to 2, not \"7\"."),
        ("tag", "x", "Tag: expected a whole number, not \"x\"."),
        ("hide", "2-1", "Hide ranks: expected some of 0 to 2, as 3, 8-15, not \"2-1\"."),
        ("hide", "0-2", "Hide ranks: expected some of 0 to 2, as 3, 8-15, not \"0-2\"."),
    ] {
        assert_eq!(ask(&mut browser, &[(field, value)]), format!("{words} Everything is shown."));
        assert_eq!(browser.evaluate(&format!("fields.{field}.getAttribute('aria-invalid')")), "true");
        assert_eq!(browser.evaluate("rowsInView()"), 3);
    }
}

#[test]
fn the_filter_is_usable_by_keyboard() {
    let (mut browser, _directory) = opened();
    browser.evaluate("tracks.focus()");
    browser.key("/");
    assert_eq!(browser.evaluate("document.activeElement.id"), "filter-function");
    browser.evaluate("fields.site.focus()");
    "b.c".chars().for_each(|letter| browser.key(&letter.to_string()));
    assert!(browser.text("#filter-words").starts_with("Shown are calls at \"b.c\""));
    browser.evaluate("tracks.focus()");
    browser.key("n");
    let found = browser.text("#details");
    assert!(found.contains("MPI_Send at b.c:9"), "N goes to the next call that matches: {found}");
    browser.evaluate("fields.site.focus()");
    browser.key("Escape");
    assert_eq!(browser.text("#filter-words"), "Everything is shown.");
    assert_eq!(browser.evaluate("document.activeElement.id"), "tracks");
}
