//! The lanes of a process whose threads call at once (`runtime::Lanes`), as the C interface sees them.

use runtime::Lanes;
use runtime::last_call::Words;

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
    pub(super) requests: Requests,
    pub(super) noted: &'static Words,
}

impl Beside {
    pub(super) fn new(lanes: &'static Lanes) -> Beside {
        let own = |lane| Own { requests: Requests::of_lane(lane), noted: Box::leak(Box::default()) };
        Beside { lanes, own: (1..lanes.all().len() as u32).map(own).collect() }
    }
}
