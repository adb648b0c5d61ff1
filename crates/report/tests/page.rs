//! The page in a browser: it opens from a file, asks for nothing, complains about nothing, says what the text says, and can
//! be used by mouse and by keyboard.

use std::path::PathBuf;

use corelace_report::{Analysis, Run};
use serde_json::Value;
use trace::Protocol;

use crate::support::browser::Browser;
use crate::support::by_hand::ByHand;
use crate::support::stencil::Stencil;

/// A page of a stencil, its text, and the directory that holds it.
struct Page {
    file: PathBuf,
    text: String,
    sentences: Vec<String>,
    _directory: tempfile::TempDir,
}

fn page_of(stencil: &Stencil) -> Page {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    stencil.write(&trace);
    page_of_run(&Run::of(&trace::Trace::open(&trace).unwrap()))
}

fn page_of_run(run: &Run) -> Page {
    let directory = tempfile::tempdir().unwrap();
    let analysis = Analysis::of(run);
    let file = directory.path().join("page.html");
    std::fs::write(&file, corelace_report::page(run, &analysis)).unwrap();
    let text = corelace_report::text(run, &analysis);
    Page { file, text, sentences: corelace_report::sentences(run, &analysis), _directory: directory }
}

#[test]
fn markup_in_names_is_shown_as_text() {
    let mut hand = ByHand::new(1);
    let name = "<!--<script>alert(1)</script><img src=x onerror=alert(2)>";
    hand.call(0, name, name, 0, 1000, |_| {});
    let mut run = hand.run();
    run.job.command = name.into();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.html");
    std::fs::write(&file, corelace_report::page(&run, &Analysis::of(&run))).unwrap();
    let mut browser = Browser::open(&file);
    assert_eq!(browser.text("h1"), name);
    assert_eq!(browser.evaluate("document.querySelectorAll('#rank-table tbody tr').length"), 1);
    assert_eq!(browser.complaints(), [] as [String; 0]);
    assert_eq!(browser.requests(), [] as [String; 0]);
}

/// Sixteen ranks on a mesh of nine clusters, one of them slow.
fn on_a_chip() -> Page {
    page_of(&Stencil { ranks: 16, rounds: 30, slow: Some(5), mesh: 3 })
}

fn texts(value: &Value) -> Vec<String> {
    let list = value.as_array().expect("a list");
    list.iter().map(|text| text.as_str().expect("a text").to_owned()).collect()
}

#[test]
fn it_opens_from_a_file_without_complaint_or_request() {
    for mesh in [0, 3] {
        let page = page_of(&Stencil { ranks: 8, rounds: 20, slow: Some(2), mesh });
        let mut browser = Browser::open(&page.file);
        assert!(browser.text("h1").contains("stencil"));
        let hidden = browser.evaluate("document.getElementById('chip').hidden");
        assert_eq!(hidden, mesh == 0, "the chip is shown if there is one");
        assert_eq!(browser.complaints(), [] as [String; 0]);
        assert_eq!(browser.requests(), [] as [String; 0]);
    }
}

#[test]
fn a_trace_without_events_opens_too() {
    let page = page_of(&Stencil { ranks: 1, rounds: 0, slow: None, mesh: 0 });
    let mut browser = Browser::open(&page.file);
    browser.evaluate("document.getElementById('tracks').focus()");
    ["+", "n", "p", "ArrowDown", "a", "Enter", "0"].iter().for_each(|key| browser.key(key));
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn sentences_and_numbers_are_those_of_the_text() {
    let page = on_a_chip();
    let mut browser = Browser::open(&page.file);
    let said = browser.evaluate("[...document.querySelectorAll('#sentences li')].map(e => e.textContent)");
    assert_eq!(texts(&said), page.sentences);
    assert!(page.sentences.iter().all(|sentence| page.text.contains(sentence)));
    for (title, table) in [
        ("Calls by function and call site", "profile-table"),
        ("Time of each rank", "rank-table"),
        ("Messages by protocol", "protocol-table"),
        ("Links of the chip, most used first", "link-table"),
        ("Servers of the chip, most used first", "server-table"),
    ] {
        let rows = browser.evaluate(&format!(
            "[...document.querySelectorAll('#{table} tbody tr')].map(r => [...r.cells].map(c => c.textContent).filter(t => t).join('  '))"
        ));
        assert_eq!(texts(&rows), rows_of(&page.text, title), "{title}");
    }
    // The page has more waits than a terminal, and more call sites and a remedy for each pattern.
    let waits = column(&mut browser, "wait-table", 1);
    let in_text = rows_of(&page.text, "Waits, longest first");
    assert_eq!(in_text.len(), 20);
    assert!(waits.len() > 20 && in_text.iter().zip(&waits).all(|(row, waited)| row.contains(waited)));
    let patterns = column(&mut browser, "pattern-table", 0);
    assert_eq!(patterns, ["late sender", "messages on their way"]);
    let remedies = column(&mut browser, "pattern-table", 6);
    assert!(page.text.contains(&format!("  late sender: {}\n", remedies[0])), "{remedies:?}");
}

/// The cells of a column, from the first row to the last.
fn column(browser: &mut Browser, table: &str, column: usize) -> Vec<String> {
    texts(&browser.evaluate(&format!(
        "[...document.querySelectorAll('#{table} tbody tr')].map(r => r.cells[{column}].textContent)"
    )))
}

#[test]
fn tables_are_sorted_by_a_click_on_a_column_and_by_keyboard() {
    let page = on_a_chip();
    let mut browser = Browser::open(&page.file);
    let ranks: Vec<String> = (0..16).map(|rank| rank.to_string()).collect();
    assert_eq!(column(&mut browser, "rank-table", 0), ranks);
    let head = browser.point("#rank-table th:nth-child(6) button", 0.5, 0.5);
    let click = |browser: &mut Browser| {
        browser.mouse("mousePressed", head, 0.0);
        browser.mouse("mouseReleased", head, 0.0);
    };
    click(&mut browser);
    let waiting = "tables['rank-table'].order.map(row => data.shares[row][2])";
    let is_sorted = |values: Value, down: bool| {
        let values: Vec<u64> = values.as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
        assert_ne!(values.first(), values.last());
        values.windows(2).all(|two| if down { two[0] >= two[1] } else { two[0] <= two[1] })
    };
    assert!(is_sorted(browser.evaluate(waiting), true), "most waiting first");
    let order = browser.evaluate("tables['rank-table'].order.map(String)");
    assert_eq!(texts(&order), column(&mut browser, "rank-table", 0));
    let sort = "document.querySelector('#rank-table th:nth-child(6)').getAttribute('aria-sort')";
    assert_eq!(browser.evaluate(sort), "descending");
    click(&mut browser);
    assert!(is_sorted(browser.evaluate(waiting), false), "least waiting first");
    browser.evaluate("document.querySelector('#rank-table th:nth-child(1) button').focus()");
    browser.key("Enter");
    assert_eq!(column(&mut browser, "rank-table", 0), ranks.iter().rev().cloned().collect::<Vec<_>>());
    assert_eq!(browser.evaluate(sort), Value::Null);
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

/// The rows of a table of the text, cells two blanks apart.
fn rows_of(text: &str, title: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| *line != title).skip(2).take_while(|line| !line.is_empty());
    let cells = |line: &str| {
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("  ")
    };
    lines.map(cells).collect()
}

#[test]
fn wheel_and_drag_zoom_and_move() {
    let page = on_a_chip();
    let mut browser = Browser::open(&page.file);
    let whole = browser.text("#range");
    let middle = browser.point("#tracks", 0.5, 0.5);
    browser.mouse("mouseWheel", middle, -480.0);
    let zoomed = browser.text("#range");
    assert_ne!(zoomed, whole, "the wheel zooms");
    let span = |browser: &mut Browser| browser.evaluate("view.end - view.begin").as_f64().unwrap();
    let before = (span(&mut browser), browser.evaluate("view.begin").as_f64().unwrap());
    assert!(before.0 < browser.evaluate("data.duration").as_f64().unwrap() * 0.6);
    browser.mouse("mousePressed", middle, 0.0);
    browser.mouse("mouseMoved", (middle.0 - 200.0, middle.1), 0.0);
    browser.mouse("mouseReleased", (middle.0 - 200.0, middle.1), 0.0);
    assert!((span(&mut browser) - before.0).abs() < 1e-6, "dragging keeps the zoom");
    assert!(
        browser.evaluate("view.begin").as_f64().unwrap() > before.1,
        "dragging to the left goes on in time"
    );
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn pointing_shows_peer_tag_size_protocol_and_call_site() {
    let page = on_a_chip();
    let mut browser = Browser::open(&page.file);
    // Rank 6 waits for the slow rank 5: point into its first wait that is long.
    browser.evaluate("show(0, data.duration / 8)");
    let script = "(() => { const o = arrays.callOffset[6] + 1; const c = [arrays.callBegin[o], arrays.callEnd[o]]; \
        tracks.scrollIntoView({block: 'center'}); const t = tracks.getBoundingClientRect(); \
        return [t.left + GUTTER + ((c[0] + c[1]) / 2 - view.begin) / (view.end - view.begin) * (width - GUTTER), t.top + 6.5 * view.rowHeight]; })()";
    let point = browser.evaluate(script);
    browser.mouse("mouseMoved", (point[0].as_f64().unwrap(), point[1].as_f64().unwrap()), 0.0);
    let tip = browser.text("#tip");
    for part in [
        "Rank 6",
        "waiting",
        "for rank 5, which sent late",
        "MPI_Neighbor_alltoall at stencil.c:88",
        "neighbours at once, round 0",
        "received: rank 5 → rank 6, tag 7, 2.00 KiB, eager",
        "sent: rank 6 → rank 7",
    ] {
        assert!(tip.contains(part), "{part} is missing in:\n{tip}");
    }
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn the_timeline_is_usable_by_keyboard() {
    let page = on_a_chip();
    let mut browser = Browser::open(&page.file);
    browser.evaluate("document.getElementById('tracks').focus()");
    let whole = browser.text("#range");
    browser.key("+");
    let zoomed = browser.text("#range");
    assert_ne!(zoomed, whole);
    browser.key("ArrowRight");
    assert_ne!(browser.text("#range"), zoomed);
    browser.key("0");
    assert_eq!(browser.text("#range"), whole);
    browser.key("ArrowDown");
    assert!(browser.text("#details").contains("Rank 1"));
    browser.evaluate("keys.Escape()");
    browser.key("n");
    let first = browser.text("#details");
    assert!(first.contains("MPI_Neighbor_alltoall"), "{first}");
    browser.key("n");
    let second = browser.text("#details");
    assert_ne!(first, second, "the next call");
    browser.key("p");
    assert_eq!(browser.text("#details"), first, "and back");
    browser.key("Enter");
    assert_ne!(browser.text("#range"), whole, "Enter zooms to the call");
    for (key, button) in [("a", "arrows"), ("c", "path")] {
        let pressed = format!("document.getElementById('{button}').getAttribute('aria-pressed')");
        let before = browser.evaluate(&pressed);
        browser.key(key);
        assert_ne!(browser.evaluate(&pressed), before, "{key} toggles {button}");
    }
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn the_floor_plan_opens_at_the_busiest_moment_and_is_scrubbed_through_time() {
    let page = on_a_chip();
    let mut browser = Browser::open(&page.file);
    // Links carry most at the top of a wave: a twentieth of the run after its beginning, and every tenth from there on.
    let step = "(Number(scrub.value) / chip.steps * 10 + 0.5) % 1";
    let phase = browser.evaluate(step).as_f64().unwrap();
    assert!(!(0.15..0.85).contains(&phase), "the waves are highest at 0: {phase}");
    let busiest = browser.evaluate("scrub.value");
    let moment = browser.text("#moment");
    assert!(moment.ends_with(", the busiest moment"), "{moment}");
    assert!(browser.text("#plan-details").contains("C0 → C1"), "the hot link is named");
    let look = |browser: &mut Browser| {
        let picture = browser.evaluate("plan.toDataURL() + power.toDataURL()").as_str().unwrap().to_owned();
        (picture, browser.text("#moment"), browser.text("#plan-details"), browser.text("#memory"))
    };
    let first = look(&mut browser);
    browser.evaluate("scrub.focus()");
    (0..9).for_each(|_| browser.key("ArrowRight"));
    let second = look(&mut browser);
    let moved = format!("Number(scrub.value) - {}", busiest.as_str().unwrap());
    assert_eq!(browser.evaluate(&moved), 9, "the slider follows the keys");
    assert!(!browser.text("#moment").contains("busiest"));
    browser.evaluate("byId('plane').value = 'control'; byId('plane').dispatchEvent(new Event('change'))");
    assert!(browser.text("#plan-details").contains("IO → C0"), "the control network has another hot link");
    assert!(browser.text("#server-details").contains("resource manager of C0 works most: 60 %"));
    assert!(first.0 != second.0 && first.1 != second.1 && first.2 != second.2 && first.3 != second.3);
    browser.evaluate("byId('busiest').click()");
    assert_eq!(browser.evaluate("scrub.value"), busiest, "a button goes back");
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn servers_are_explained_and_the_memory_list_says_that_it_scrolls() {
    let page = page_of(&Stencil { ranks: 16, rounds: 20, slow: None, mesh: 5 });
    let mut browser = Browser::open(&page.file);
    let help = browser.text("#server-help");
    for part in
        ["A resource manager is", "A system core serves", "one thing after the other", "most work first"]
    {
        assert!(help.contains(part), "{part}: {help}");
    }
    let note = browser.text("#memory + .note");
    assert_eq!(note, "25 places; the list scrolls, there is more below.");
    browser.evaluate("byId('memory').scrollTop = 9999; new Promise(done => setTimeout(done, 100))");
    assert_eq!(browser.text("#memory + .note"), "25 places; the list scrolls.");
    assert_eq!(browser.evaluate("byId('memory').tabIndex"), 0, "the keyboard scrolls it");
    let small = page_of(&Stencil { ranks: 4, rounds: 5, slow: None, mesh: 2 });
    drop(browser);
    let mut browser = Browser::open(&small.file);
    assert_eq!(browser.evaluate("document.querySelector('#memory + .note').hidden"), true);
}

#[test]
fn call_sites_wrap_and_nothing_is_cut_on_narrow_screens() {
    let mut hand = ByHand::new(2);
    let site =
        "finite_elements::assembly::exchange_of_all_ghost_columns at sources/solver/assembly/exchange.c:1234";
    hand.compute(0, 0, 900);
    hand.call(0, "MPI_Neighbor_alltoallw", site, 900, 910, |events| {
        events.send(900, 0, 1, 5, 64, Protocol::Eager).sent(910, 0);
    });
    hand.call(1, "MPI_Neighbor_alltoallw", site, 100, 930, |events| {
        events.wait(110, 920).receive(105, 920, 0, 0, 5, 64).arrived(930, 0, 0);
    });
    let page = page_of_run(&hand.run());
    let mut browser = Browser::open(&page.file);
    for width in [1280, 800] {
        browser.resize(width, 900);
        let cut = browser.evaluate(
            "[document.documentElement, ...document.querySelectorAll('.scroll')]\
             .filter(e => e.scrollWidth > e.clientWidth).map(e => e.id || e.tagName)",
        );
        assert_eq!(texts(&cut), [] as [String; 0], "{width} pixels");
    }
    for table in ["profile-table", "wait-table", "pattern-table"] {
        assert!(browser.text(&format!("#{table}")).contains(site), "{table}");
    }
}

#[test]
fn the_theme_can_be_chosen() {
    let page = on_a_chip();
    let mut browser = Browser::open(&page.file);
    let ground = "getComputedStyle(document.body).backgroundColor";
    browser.evaluate("byId('theme').click()");
    let light = browser.evaluate(ground);
    browser.evaluate("byId('theme').click()");
    assert_ne!(browser.evaluate(ground), light);
    assert_eq!(browser.text("#theme"), "theme: dark");
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn a_million_events_of_192_ranks_are_smooth_and_below_20_megabytes() {
    let page = page_of(&Stencil { ranks: 192, rounds: 400, slow: Some(64), mesh: 4 });
    let bytes = std::fs::metadata(&page.file).unwrap().len();
    assert!(bytes < 20_000_000, "the page has {bytes} bytes");
    let mut browser = Browser::open(&page.file);
    // Zooming in from the whole run to a thousandth of it, drawing each frame now.
    let script = "(() => { const times = []; for (let step = 0; step < 40; step++) { \
        show(data.duration * 0.4, data.duration * (0.4 + 0.6 * 0.85 ** step)); const begin = performance.now(); drawTimeline(); \
        tracks.getContext('2d').getImageData(0, 0, 1, 1); times.push(performance.now() - begin); } \
        times.sort((a, b) => a - b); return times[20]; })()";
    let median = browser.evaluate(script).as_f64().unwrap();
    browser.evaluate("view.arrows = true");
    let with_arrows = browser.evaluate(script).as_f64().unwrap();
    println!("page {bytes} bytes, median frame {median:.1} ms, with arrows {with_arrows:.1} ms");
    // Smooth is 16 ms; a shared machine that draws without a GPU gets some more.
    assert!(median < 60.0 && with_arrows < 100.0, "frames take {median:.1} and {with_arrows:.1} ms");
    assert_eq!(browser.complaints(), [] as [String; 0]);
}
