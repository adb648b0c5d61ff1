//! The conformance suite on ranks that are real processes.
//!
//! A test binary with a main of its own, because it forks: the harness of `cargo test` runs threads, and a forked child of a
//! process with threads must not allocate.

mod forked;

use corelace_fabric_shm as fabric_shm;
use fabric_shm::{Manner, Options, ShmFabric, create_segment};
use fabric_test::{Body, Runner, conform};

/// Ranks as forked processes, with and without cross memory attach, and told that they have `cores` cores.
struct Processes {
    cma: bool,
    cores: usize,
}

impl Runner for Processes {
    fn run(&self, ranks: u32, budget: Option<usize>, body: Body) -> Result<(), String> {
        let segment = create_segment(ranks).map_err(|error| error.to_string())?;
        forked::run(ranks, &|rank| {
            let segment = segment.try_clone().expect("a descriptor for the rank");
            let (me, cores, cma) = (fabric::Node(rank), self.cores, self.cma);
            let options = Options {
                me,
                ranks,
                nodes: ranks,
                cores,
                manner: Manner::default(),
                budget,
                cma,
                launcher: None,
            };
            body(&ShmFabric::join(segment, &options).expect("to join"));
        })
    }
}

fn main() {
    conform("processes that spin, with CMA", &Processes { cma: true, cores: 64 });
    conform("processes that share cores, with CMA", &Processes { cma: true, cores: 1 });
    conform("processes that spin, without CMA", &Processes { cma: false, cores: 64 });
    conform("processes that share cores, without CMA", &Processes { cma: false, cores: 1 });
    forked::failures_are_noticed();
    forked::lanes_reach_their_like();
    forked::a_letter_for_any_lane_wakes_who_sleeps_for_it();
    forked::lost_peers_are_reported();
    forked::peers_that_have_left_are_lost();
    forked::peers_that_have_died_are_lost();
    forked::foreign_segments_are_refused();
    forked::a_rank_alone_reaches_itself();
}
