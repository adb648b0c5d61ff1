//! What a rank did at every instant, from intervals that overlap: computing that was declared wins over waiting, waiting
//! over being in a call, and outside of calls a rank computes.

use super::{Call, Segment, State, Wait};

/// The rank's time from `begin` to `end`, cut where its state changes.
pub(super) fn segments(
    begin: u64,
    end: u64,
    calls: &[Call],
    waits: &[Wait],
    computes: &[(u64, u64)],
) -> Vec<Segment> {
    const CALL: usize = 0;
    const WAIT: usize = 1;
    const COMPUTE: usize = 2;
    let outermost = calls.iter().filter(|call| call.depth == 0).map(|call| (call.begin, call.end, CALL));
    let intervals = outermost
        .chain(waits.iter().map(|wait| (wait.begin, wait.end, WAIT)))
        .chain(computes.iter().map(|&(begin, end)| (begin, end, COMPUTE)));
    let mut edges: Vec<(u64, usize, i32)> =
        intervals.flat_map(|(begin, end, layer)| [(begin, layer, 1), (end, layer, -1)]).collect();
    edges.sort_unstable_by_key(|edge| edge.0);

    let mut open = [0i32; 3];
    let mut cut = Vec::new();
    let mut since = begin;
    for (time, layer, change) in edges.into_iter().chain([(end, CALL, 0)]) {
        let time = time.clamp(begin, end);
        if time > since {
            let state = match open.map(|layers| layers > 0) {
                [_, _, true] => State::Compute,
                [_, true, _] => State::Wait,
                [true, _, _] => State::Transfer,
                _ => State::Compute,
            };
            append(&mut cut, Segment { begin: since, end: time, state });
            since = time;
        }
        open[layer] += change;
    }
    cut
}

fn append(segments: &mut Vec<Segment>, next: Segment) {
    match segments.last_mut() {
        Some(last) if last.state == next.state => last.end = next.end,
        _ => segments.push(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_cuts_calls_and_the_rest_is_computing() {
        let call = Call { begin: 10, end: 40, function: 0, site: 0, depth: 0, bytes: 0 };
        let wait = Wait { begin: 15, end: 30, call: None, ended_by: None, last_to_arrive: None, held: None };
        let cut = segments(0, 50, &[call], &[wait], &[(32, 35)]);
        let states: Vec<(u64, u64, State)> = cut.iter().map(|s| (s.begin, s.end, s.state)).collect();
        let expected = [
            (0, 10, State::Compute),
            (10, 15, State::Transfer),
            (15, 30, State::Wait),
            (30, 32, State::Transfer),
            (32, 35, State::Compute),
            (35, 40, State::Transfer),
            (40, 50, State::Compute),
        ];
        assert_eq!(states, expected);
    }
}
