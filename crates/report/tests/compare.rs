//! Two traces compared, as text and as a page.

use corelace_report::{Analysis, Comparison, Run};
use trace::Protocol;

use crate::support::browser::Browser;
use crate::support::by_hand::ByHand;

/// Rank 0 computes for so long before it sends to each of the others, which wait.
fn a_run(ranks: u32, work: u64, site: &str) -> Run {
    let mut hand = ByHand::new(ranks);
    hand.compute(0, 0, work);
    for to in 1..ranks {
        let (number, begin) = (u64::from(to) - 1, work + u64::from(to - 1) * 10);
        hand.call(0, "MPI_Send", "a.c:1", begin, begin + 10, |events| {
            events.send(begin, number, to, 5, 64, Protocol::Eager).sent(begin + 10, number);
        });
        hand.compute(to, 0, 100);
        hand.call(to, "MPI_Recv", site, 100, begin + 20, |events| {
            events.wait(100, begin + 15).receive(100, begin + 15, 0, number, 5, 64).arrived(
                begin + 20,
                0,
                number,
            );
        });
    }
    hand.run()
}

/// The lines of a text, cells by a bar.
fn lines(text: &str) -> Vec<String> {
    let cells = |line: &str| {
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("|")
    };
    text.lines().map(cells).collect()
}

#[test]
fn call_sites_are_compared_by_the_time_of_a_rank_largest_difference_first() {
    // The runs were started in different folders.
    let (before, after) = (a_run(2, 1000, "a.c:7"), a_run(4, 500, "../code/a.c:7"));
    let (of_before, of_after) = (Analysis::of(&before), Analysis::of(&after));
    let text = Comparison::of((&before, &of_before), (&after, &of_after)).text();
    let lines = lines(&text);
    assert!(
        lines.contains(&"The run took 1.02 µs before and 540 ns after: 480 ns less (47 %).".into()),
        "{text}"
    );
    assert!(
        text.contains("2 ranks ran before, 4 ranks after. Times are those of a rank on average"),
        "{text}"
    );
    assert!(text.contains("Most time was saved in MPI_Recv (a.c:7): 138 ns less for a rank."), "{text}");
    // 920 ticks of one receive among two ranks; 420, 430 and 440 among four.
    let receive = lines.iter().position(|line| line == "MPI_Recv|1|3|460 ns|322 ns|−138 ns|−30 %|a.c:7");
    let send = lines.iter().position(|line| line == "MPI_Send|1|3|5.00 ns|7.50 ns|+2.50 ns|+50 %|a.c:1");
    assert!(receive.expect("the receive") < send.expect("the send"), "{text}");
    for row in ["run|1.02 µs|540 ns|−480 ns|−47 %", "ranks|2|4|+100 %", "messages|1|3|+200 %"] {
        assert!(lines.iter().any(|line| line == row), "no {row} in\n{text}");
    }
    assert!(lines.iter().any(|line| line.starts_with("late sender|450 ns|308 ns|−142 ns")), "{text}");
}

#[test]
fn what_is_in_one_run_only_is_new_or_gone() {
    let (before, after) = (a_run(2, 1000, "a.c:7"), a_run(2, 1000, "a.c:9"));
    let (of_before, of_after) = (Analysis::of(&before), Analysis::of(&after));
    let text = Comparison::of((&before, &of_before), (&after, &of_after)).text();
    for row in ["MPI_Recv|1|0|460 ns|0 ns|−460 ns|gone|a.c:7", "MPI_Recv|0|1|0 ns|460 ns|+460 ns|new|a.c:9"]
    {
        assert!(lines(&text).iter().any(|line| line == row), "no {row} in\n{text}");
    }
    let same = Comparison::of((&before, &of_before), (&before, &of_before)).text();
    assert!(lines(&same).contains(&"MPI_Recv|1|1|460 ns|460 ns|0 ns|0 %|a.c:7".into()), "{same}");
}

#[test]
fn the_page_of_a_comparison_says_what_the_text_says() {
    let (before, after) = (a_run(2, 1000, "a.c:7"), a_run(4, 500, "a.c:7"));
    let (of_before, of_after) = (Analysis::of(&before), Analysis::of(&after));
    let both = Comparison::of((&before, &of_before), (&after, &of_after));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.html");
    std::fs::write(&file, both.page()).unwrap();
    let mut browser = Browser::open(&file);
    let text = both.text();
    let said = browser.evaluate("[...document.querySelectorAll('#sentences li')].map(e => e.textContent)");
    let said = said.as_array().unwrap();
    assert!(
        said.len() >= 3 && said.iter().all(|sentence| text.contains(sentence.as_str().unwrap())),
        "{said:?}"
    );
    let rows = "[...document.querySelectorAll('#calls-table tbody tr, #totals-table tbody tr, #patterns-table tbody tr')]\
        .map(r => [...r.cells].map(c => c.textContent).filter(t => t).join('|'))";
    let rows = browser.evaluate(rows);
    let (rows, lines) = (rows.as_array().unwrap(), lines(&text));
    assert!(
        rows.len() > 10 && rows.iter().all(|row| lines.contains(&row.as_str().unwrap().to_owned())),
        "{rows:?}"
    );
    // The bars have one scale.
    let widths = browser.evaluate(
        "[...document.querySelectorAll('#bars .meter')].map(m => [...m.children].reduce((s, i) => s + parseFloat(i.style.width), 0))",
    );
    let width = |side: usize| widths[side].as_f64().unwrap();
    assert!((width(0) - 100.0).abs() < 0.1 && (40.0..60.0).contains(&width(1)), "{widths}");
    for size in [1280, 800] {
        browser.resize(size, 900);
        assert_eq!(browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
    }
    assert_eq!((browser.complaints(), browser.requests()), (vec![], vec![]));
}
