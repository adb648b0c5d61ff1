//! Makes the page of a trace, and prints its text: `page TRACE PAGE.html`. It needs no installation.

use corelace_report::{Analysis, Run};

fn main() {
    let usage = "usage: page TRACE PAGE.html";
    let mut words = std::env::args().skip(1);
    let mut word = || words.next().expect(usage);
    let trace = trace::Trace::open(word().as_ref()).expect("a trace");
    let run = Run::of(&trace);
    let analysis = Analysis::of(&run);
    print!("{}", corelace_report::text(&run, &analysis));
    std::fs::write(word(), corelace_report::page(&run, &analysis)).expect("a page");
}
