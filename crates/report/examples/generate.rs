//! Makes a trace of a stencil that never ran, to look at: `generate FILE [RANKS] [ROUNDS] [MESH]`. The defaults (192 ranks
//! on a mesh of 16 clusters, 400 rounds) give a million events.

#[path = "../tests/support/stencil.rs"]
mod stencil;

use stencil::Stencil;

fn main() {
    let mut words = std::env::args().skip(1);
    let file = words.next().expect("usage: generate FILE [RANKS] [ROUNDS] [MESH]");
    let mut number = |default: u64| words.next().map_or(default, |word| word.parse().expect("a number"));
    let (ranks, rounds, mesh) = (number(192) as u32, number(400), number(4) as u32);
    let events = Stencil { ranks, rounds, slow: Some(ranks / 3), mesh }.write(file.as_ref());
    println!("{file}: {events} events");
}
