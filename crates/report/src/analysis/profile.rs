//! The calls of all ranks by function and call site: how many, how long, how much they moved.

use std::collections::HashMap;

use crate::run::Run;

/// All calls of one function from one place in the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSite {
    /// Index of the function's name.
    pub function: u32,
    /// Index of the call site's name.
    pub site: u32,
    /// How many, on all ranks.
    pub calls: u64,
    /// Bytes of the buffers of collectives, and of the messages and one-sided operations of other calls.
    pub bytes: u64,
    /// How long altogether.
    pub ticks: u64,
    /// The longest one.
    pub longest: u64,
    /// How much of the time the ranks waited.
    pub waited: u64,
}

impl CallSite {
    /// Those of a run, longest altogether first.
    pub(super) fn all(run: &Run) -> Vec<CallSite> {
        let mut places: HashMap<(u32, u32), CallSite> = HashMap::new();
        for rank in &run.ranks {
            for &call in &rank.calls {
                let place = places.entry((call.function, call.site)).or_insert(CallSite {
                    function: call.function,
                    site: call.site,
                    ..CallSite::default()
                });
                let ticks = call.end - call.begin;
                place.calls += 1;
                place.bytes = place.bytes.saturating_add(call.bytes);
                place.ticks = place.ticks.saturating_add(ticks);
                place.longest = place.longest.max(ticks);
            }
            for (wait, call) in rank.waits.iter().filter_map(|wait| Some((wait, wait.call?))) {
                let call = rank.calls[call as usize];
                if let Some(place) = places.get_mut(&(call.function, call.site)) {
                    place.waited = place.waited.saturating_add(wait.ticks());
                }
            }
        }
        let mut places: Vec<CallSite> = places.into_values().collect();
        places.sort_by_key(|place| (std::cmp::Reverse(place.ticks), place.function, place.site));
        places
    }

    /// Ticks of a call on average.
    pub fn mean(&self) -> f64 {
        self.ticks as f64 / self.calls.max(1) as f64
    }
}
