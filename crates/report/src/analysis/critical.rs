//! The critical path: backwards from the end of the rank that ended last. Where that rank waited for a peer that was late,
//! the path crosses to the peer at the moment at which it came; everywhere else it stays. Shortening anything on it
//! shortens the run; shortening anything else does not.

use crate::run::{Run, Side, State, Wait};

/// A stretch of the path on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The rank.
    pub rank: u32,
    /// Since when.
    pub begin: u64,
    /// Until when.
    pub end: u64,
    /// What was done; `None` while a message was on its way to the rank.
    pub state: Option<State>,
}

/// The path, from the beginning of the run to its end.
#[derive(Clone, Debug, Default)]
pub struct CriticalPath {
    /// Its pieces, in the order of time.
    pub pieces: Vec<Piece>,
}

impl CriticalPath {
    pub(super) fn of(run: &Run) -> CriticalPath {
        let Some(last) = (0..run.ranks.len()).max_by_key(|&rank| (run.ranks[rank].end, usize::MAX - rank))
        else {
            return CriticalPath::default();
        };
        let (mut rank, mut time) = (last, run.ranks[last].end);
        let mut pieces = Vec::new();
        // Every step goes back in time, so the path ends.
        while time > run.ranks[rank].begin {
            let waits = &run.ranks[rank].waits;
            let before = waits.partition_point(|wait| wait.begin < time);
            let crossing = waits[..before].iter().rev().find_map(|wait| crossing(run, wait, time));
            let Some((came, end, peer)) = crossing else {
                stay(run, rank, run.ranks[rank].begin, time, &mut pieces);
                break;
            };
            stay(run, rank, end, time, &mut pieces);
            pieces.push(Piece { rank: rank as u32, begin: came, end, state: None });
            (rank, time) = (peer, came);
        }
        pieces.retain(|piece| piece.begin < piece.end);
        pieces.reverse();
        CriticalPath { pieces }
    }

    /// Ticks of the path in a state, or on the way between ranks (`None`).
    pub fn ticks(&self, state: Option<State>) -> u64 {
        self.pieces.iter().filter(|piece| piece.state == state).map(|piece| piece.end - piece.begin).sum()
    }

    /// The length of the path.
    pub fn total(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.end - piece.begin).sum()
    }

    /// The rank on which the path stays longest, and how long.
    pub fn longest_on(&self, ranks: usize) -> Option<(u32, u64)> {
        let mut ticks = vec![0; ranks];
        for piece in self.pieces.iter().filter(|piece| piece.state.is_some()) {
            ticks[piece.rank as usize] += piece.end - piece.begin;
        }
        let (rank, &most) =
            ticks.iter().enumerate().max_by_key(|&(rank, ticks)| (ticks, usize::MAX - rank))?;
        (most > 0).then_some((rank as u32, most))
    }
}

/// Where the path leaves the rank through this wait: when the peer came, when the wait was over, and the peer.
fn crossing(run: &Run, wait: &Wait, time: u64) -> Option<(u64, u64, usize)> {
    let (peer, came) = match wait.ended_by {
        _ if wait.held.is_some() => wait.held.map(|held| (held.by, held.until))?,
        None => wait.last_to_arrive?,
        Some((index, side)) => {
            let message = &run.messages[index as usize];
            match side {
                Side::Receiver => (message.from, message.send_start?),
                Side::Sender => (message.to, message.posted?),
            }
        }
    };
    let end = wait.end.max(came);
    (came > wait.begin && end <= time && came < time).then_some((came, end, peer as usize))
}

/// The path stays on a rank from `begin` to `end`; what the rank did meanwhile, backwards.
fn stay(run: &Run, rank: usize, begin: u64, end: u64, pieces: &mut Vec<Piece>) {
    let segments = &run.ranks[rank].segments;
    let after = segments.partition_point(|segment| segment.begin < end);
    for segment in segments[..after].iter().rev().take_while(|segment| segment.end > begin) {
        pieces.push(Piece {
            rank: rank as u32,
            begin: segment.begin.max(begin),
            end: segment.end.min(end),
            state: Some(segment.state),
        });
    }
}
