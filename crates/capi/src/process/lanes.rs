//! The lanes of a process whose threads call at once (`runtime::Lanes`), as the C interface sees them.

use engine::Rank;
use runtime::last_call::Words;
use runtime::{Lane, Lanes, Turnstile};

use crate::handles::Requests;

/// What there is besides the first lane.
pub(crate) struct Beside {
    pub(super) lanes: &'static Lanes,
    /// From lane 1 on.
    pub(super) own: Box<[Own]>,
}

/// What the interface keeps of a lane, on cache lines of its own.
#[repr(align(128))]
pub(super) struct Own {
    pub(super) turnstile: &'static Turnstile,
    pub(super) rank: &'static Rank,
    pub(super) requests: Requests,
    pub(super) noted: &'static Words,
}

impl Beside {
    pub(super) fn new(lanes: &'static Lanes) -> Beside {
        let own = |(lane, of): (usize, &'static Lane)| Own {
            turnstile: of.turnstile,
            rank: of.rank,
            requests: Requests::of_lane(lane as u32),
            noted: Box::leak(Box::default()),
        };
        Beside { lanes, own: lanes.all().iter().enumerate().skip(1).map(own).collect() }
    }
}
