//! Makes the page of a trace, or of two, and prints its text: `page TRACE PAGE.html [LATER]`. It needs no installation.

use corelace_report::{Analysis, Comparison, Run};

fn main() {
    let mut words = std::env::args().skip(1);
    let usage = "usage: page TRACE PAGE.html [LATER]";
    let (trace, page, later) = (words.next().expect(usage), words.next().expect(usage), words.next());
    let open = |file: &str| Run::of(&trace::Trace::open(file.as_ref()).expect("a trace"));
    let run = open(&trace);
    let analysis = Analysis::of(&run);
    let (text, html) = match later.as_deref().map(open) {
        None => (corelace_report::text(&run, &analysis), corelace_report::page(&run, &analysis)),
        Some(later) => {
            let of_later = Analysis::of(&later);
            let both = Comparison::of((&run, &analysis), (&later, &of_later));
            (both.text(), both.page())
        }
    };
    print!("{text}");
    std::fs::write(page, html).expect("a page");
}
