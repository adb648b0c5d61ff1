//! Windows: epochs from their beginnings and ends, and who held up whom (MPI section 12.5).
//!
//! Nobody records for whom it waited: a lock is a word in memory, and does not say whose it is. But all ranks record when they wanted an epoch to begin or to end and
//! when that was so, by one clock, and a rank's part in it is recorded before others can go on because of it. So who released a rank last is the one that it waited for.

use std::collections::HashMap;

use trace::{ALL_MEMBERS, EpochKind};

use super::{Epoch, Held, HeldBy, Rank, Wait};

/// The beginning or the end of an epoch, as one rank recorded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) begins: bool,
    pub(super) kind: EpochKind,
    /// A rank, or [`ALL_MEMBERS`].
    pub(super) peer: u32,
    pub(super) window: u32,
    /// Since when the rank wanted it.
    pub(super) asked: u64,
    pub(super) time: u64,
}

/// The epochs that a rank's marks are about; one that does not end lasts as long as the rank.
pub(super) fn epochs(marks: &[Mark], last: u64) -> Vec<Epoch> {
    let (mut all, mut open): (Vec<Epoch>, Vec<usize>) = (Vec::new(), Vec::new());
    for mark in marks {
        if mark.begins {
            let peer = Some(mark.peer).filter(|peer| *peer != ALL_MEMBERS);
            open.push(all.len());
            let Mark { kind, window, time: begin, .. } = *mark;
            all.push(Epoch { begin, end: last.max(begin), kind, peer, window });
        } else {
            open.retain(|&index| {
                let epoch = &mut all[index];
                let is_meant = mark.peer == ALL_MEMBERS || epoch.peer == Some(mark.peer);
                let ends = is_meant && (epoch.kind, epoch.window) == (mark.kind, mark.window);
                if ends {
                    epoch.end = mark.time.max(epoch.begin);
                }
                !ends
            });
        }
    }
    all
}

/// Names those for whom ranks waited at windows, and adds the waits that they have not recorded.
pub(super) fn explain(ranks: &mut [Rank], marks: &[Vec<Mark>], is_whole: bool) {
    let mut found: Vec<Vec<(u64, Held)>> = vec![Vec::new(); ranks.len()];
    let locks: Vec<Vec<Epoch>> = ranks.iter().map(locks_by_end).collect();
    let arrivals: Vec<HashMap<u32, Vec<u64>>> = marks.iter().map(|marks| arrivals_at_fences(marks)).collect();
    for (number, own) in marks.iter().enumerate() {
        let mut fences: HashMap<u32, usize> = HashMap::new();
        for mark in own {
            let fence = if is_fence(mark) { fences.entry(mark.window).or_default() } else { &mut 0 };
            let which = std::mem::replace(fence, *fence + 1);
            let held = match (mark.kind, mark.begins) {
                (EpochKind::SharedLock | EpochKind::ExclusiveLock | EpochKind::LockAll, true) => {
                    holder(&locks, number, mark)
                }
                (EpochKind::Access, true) => {
                    last(marks, mark, HeldBy::Post, (EpochKind::Exposure, true), number)
                }
                (EpochKind::Exposure, false) => {
                    last(marks, mark, HeldBy::Complete, (EpochKind::Access, false), number)
                }
                (EpochKind::Fence, false) if is_whole => last_to_come(&arrivals, number, mark, which),
                _ => None,
            };
            let held = held.filter(|held| held.until > mark.asked && held.until <= mark.time);
            found[number].extend(held.map(|held| (mark.asked, held)));
        }
    }
    for (rank, mut found) in ranks.iter_mut().zip(found) {
        // Of those for whom a call waited, the last.
        found.sort_by_key(|(asked, held)| (*asked, std::cmp::Reverse(held.until)));
        found.dedup_by_key(|(asked, _)| *asked);
        let recorded = rank.waits.len();
        for (begin, held) in found {
            let first = rank.waits[..recorded].partition_point(|wait| wait.end <= begin);
            let within = rank.waits[first..recorded].iter_mut().take_while(|wait| wait.begin < held.until);
            let mut is_known = false;
            within.for_each(|wait| {
                is_known = true;
                wait.held = Some(held);
            });
            if !is_known {
                let call = rank.calls.partition_point(|call| call.begin <= begin).checked_sub(1);
                let call = call.filter(|call| rank.calls[*call].end >= held.until).map(|call| call as u32);
                let wait = Wait {
                    begin,
                    end: held.until,
                    call,
                    ended_by: None,
                    last_to_arrive: None,
                    held: Some(held),
                };
                rank.waits.push(wait);
            }
        }
        rank.waits.sort_by_key(|wait| wait.begin);
    }
}

/// The locks that a rank had, in the order in which it gave them back.
fn locks_by_end(rank: &Rank) -> Vec<Epoch> {
    let is_lock = |epoch: &&Epoch| {
        matches!(epoch.kind, EpochKind::SharedLock | EpochKind::ExclusiveLock | EpochKind::LockAll)
    };
    let mut locks: Vec<Epoch> = rank.epochs.iter().filter(is_lock).copied().collect();
    locks.sort_by_key(|lock| lock.end);
    locks
}

/// Who had a lock that excludes the one that a rank got, and gave it back last before that.
fn holder(locks: &[Vec<Epoch>], number: usize, mark: &Mark) -> Option<Held> {
    let excludes = |lock: &&Epoch| {
        let same = lock.peer.is_none_or(|peer| mark.peer == ALL_MEMBERS || mark.peer == peer);
        let alone = lock.kind == EpochKind::ExclusiveLock || mark.kind == EpochKind::ExclusiveLock;
        same && alone && lock.window == mark.window
    };
    let others = locks.iter().enumerate().filter(|(other, _)| *other != number);
    let last = others.filter_map(|(other, locks)| {
        let before = locks.partition_point(|lock| lock.end <= mark.time);
        let meanwhile = locks[..before].iter().rev().take_while(|lock| lock.end > mark.asked);
        meanwhile.into_iter().find(excludes).map(|lock| (lock.end, other as u32))
    });
    last.max().map(|(until, by)| Held { by, how: HeldBy::Lock, until })
}

/// Who was the last to do its part with this rank before an epoch of a group began or ended.
fn last(
    marks: &[Vec<Mark>],
    mark: &Mark,
    how: HeldBy,
    (kind, begins): (EpochKind, bool),
    number: usize,
) -> Option<Held> {
    let others = marks
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != number && (mark.peer == ALL_MEMBERS || mark.peer as usize == *other));
    let is_its_part = |theirs: &&Mark| {
        (theirs.kind, theirs.begins, theirs.window) == (kind, begins, mark.window)
            && theirs.peer as usize == number
    };
    let last = others.filter_map(|(other, theirs)| {
        let before = theirs.partition_point(|theirs| theirs.time <= mark.time);
        let meanwhile = theirs[..before].iter().rev().take_while(|theirs| theirs.time > mark.asked);
        meanwhile.into_iter().find(is_its_part).map(|theirs| (theirs.time, other as u32))
    });
    last.max().map(|(until, by)| Held { by, how, until })
}

fn is_fence(mark: &Mark) -> bool {
    !mark.begins && mark.kind == EpochKind::Fence
}

/// When a rank came to the fences of each window.
fn arrivals_at_fences(marks: &[Mark]) -> HashMap<u32, Vec<u64>> {
    let mut arrivals: HashMap<u32, Vec<u64>> = HashMap::new();
    for mark in marks.iter().filter(|mark| is_fence(mark)) {
        arrivals.entry(mark.window).or_default().push(mark.asked);
    }
    arrivals
}

/// Who came last to a fence, the so manyth of its window.
fn last_to_come(
    arrivals: &[HashMap<u32, Vec<u64>>],
    number: usize,
    mark: &Mark,
    which: usize,
) -> Option<Held> {
    let all = arrivals.iter().enumerate();
    let came = all.filter_map(|(other, fences)| Some((*fences.get(&mark.window)?.get(which)?, other as u32)));
    let (until, by) = came.max()?;
    (by as usize != number).then_some(Held { by, how: HeldBy::Fence, until })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(begins: bool, kind: EpochKind, peer: u32, asked: u64, time: u64) -> Mark {
        Mark { begins, kind, peer, window: 3, asked, time }
    }

    /// Ranks with these marks, and nothing else; what they waited for.
    fn held(marks: &[Vec<Mark>]) -> Vec<Vec<(u64, u64, u32, HeldBy)>> {
        let of = |marks: &Vec<Mark>| Rank { end: 1000, epochs: epochs(marks, 1000), ..Rank::default() };
        let mut ranks: Vec<Rank> = marks.iter().map(of).collect();
        explain(&mut ranks, marks, true);
        let told = |wait: &Wait| wait.held.map(|held| (wait.begin, wait.end, held.by, held.how));
        ranks.iter().map(|rank| rank.waits.iter().filter_map(told).collect()).collect()
    }

    #[test]
    fn a_lock_is_waited_for_until_the_last_who_excludes_it_has_given_it_back() {
        use EpochKind::*;
        let marks = [
            vec![mark(true, ExclusiveLock, 2, 10, 10), mark(false, ExclusiveLock, 2, 50, 50)],
            vec![mark(true, SharedLock, 2, 20, 51), mark(false, SharedLock, 2, 70, 70)],
            vec![mark(true, SharedLock, 2, 55, 60), mark(false, SharedLock, 2, 80, 80)],
            vec![mark(true, ExclusiveLock, 1, 20, 51)],
        ];
        let nobody = Vec::new();
        assert_eq!(held(&marks), [nobody.clone(), vec![(20, 50, 0, HeldBy::Lock)], nobody.clone(), nobody]);
    }

    #[test]
    fn a_start_waits_for_the_last_post_and_a_wait_for_the_last_complete() {
        use EpochKind::*;
        let marks = [
            vec![
                mark(true, Access, 1, 10, 41),
                mark(true, Access, 2, 10, 41),
                mark(false, Access, 1, 60, 60),
                mark(false, Access, 2, 60, 60),
            ],
            vec![mark(true, Exposure, 0, 30, 30), mark(false, Exposure, ALL_MEMBERS, 35, 61)],
            vec![mark(true, Exposure, 0, 40, 40), mark(false, Exposure, ALL_MEMBERS, 70, 70)],
        ];
        let expected = [vec![(10, 40, 2, HeldBy::Post)], vec![(35, 60, 0, HeldBy::Complete)], Vec::new()];
        assert_eq!(held(&marks), expected);
    }

    #[test]
    fn a_fence_waits_for_who_comes_last_to_that_fence() {
        let fences = |first: u64, second: u64| {
            vec![
                mark(false, EpochKind::Fence, ALL_MEMBERS, first, 100),
                mark(true, EpochKind::Fence, ALL_MEMBERS, first, 100),
                mark(false, EpochKind::Fence, ALL_MEMBERS, second, 200),
            ]
        };
        let marks = [fences(10, 190), fences(90, 150)];
        assert_eq!(held(&marks), [vec![(10, 90, 1, HeldBy::Fence)], vec![(150, 190, 0, HeldBy::Fence)]]);
        assert_eq!(epochs(&marks[0], 1000).len(), 1);
        assert_eq!((epochs(&marks[0], 1000)[0].begin, epochs(&marks[0], 1000)[0].end), (100, 200));
    }
}
