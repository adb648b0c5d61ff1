//! What the members of a window tell one of them about an epoch that has ended, and what follows from all of it together: operations of different origins that
//! met at a target (MPI section 12.7), and assertions that were not true (MPI section 12.5.5).
//!
//! In an epoch of an active target all operations are under way until all of it ends. At passive targets an operation is taken to be under way from the call that began
//! it to the call that completed it at its target, both by the clock that all ranks have: if one was begun within the other's time, nothing can have put them in
//! order. Nothing else is said to have met.

use std::ops::Range;
use std::rc::Rc;

use super::accesses::{Access, Rule};
use super::letters::{Reader, Writer};
use crate::abi::constants::*;

/// What one member tells.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Report {
    /// The call that it tells this in.
    pub(super) place: Rc<str>,
    /// Which function that is: members that do not call the same one do not go on together.
    pub(super) function: String,
    /// What the call asserts.
    pub(super) assert: i64,
    /// The call that began the epoch, when that was, and what it asserted.
    pub(super) beginning: Option<Beginning>,
    /// Its memory was changed in an epoch of a fence, and it asserts that it has stored nothing.
    pub(super) stored: bool,
    /// Some operations were too many to be remembered.
    pub(super) lost: bool,
    /// Each with the call that began it.
    pub(super) accesses: Vec<(Rc<str>, Access)>,
    pub(super) locks: Vec<Lock>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Beginning {
    pub(super) place: Rc<str>,
    pub(super) time: u64,
    pub(super) assert: i64,
}

/// A time for which a member had a lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Lock {
    pub(super) place: Rc<str>,
    /// `None`: all members.
    pub(super) target: Option<u32>,
    pub(super) is_exclusive: bool,
    /// Asserted to meet no other.
    pub(super) unchecked: bool,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// Two operations that met.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Meeting<'a> {
    pub(super) first: (u32, &'a Rc<str>, &'a Access),
    pub(super) second: (u32, &'a Rc<str>, &'a Access),
    pub(super) common: Range<i64>,
    pub(super) rule: Rule,
}

/// Operations that are compared at most: what takes longer is given up.
const COMPARISONS_MAX: u32 = 1 << 20;
/// Meetings that are told of at once.
const MEETINGS_MAX: usize = 20;

/// Operations of different members that met, one for each pair of calls.
pub(super) fn meetings(reports: &[(u32, Report)]) -> Vec<Meeting<'_>> {
    let told =
        reports.iter().flat_map(|(from, report)| report.accesses.iter().map(|(by, it)| (*from, by, it)));
    let mut told: Vec<_> = told.collect();
    let place = |from: u32, access: &Access| (access.target, access.bytes.hull().start, from);
    engine::sort_by(&mut told, &|a, b| place(a.0, a.2) < place(b.0, b.2));
    let (mut found, mut near, mut left) = (Vec::<Meeting<'_>>::new(), Vec::<usize>::new(), COMPARISONS_MAX);
    for (at, second) in told.iter().enumerate() {
        let (target, start) = (second.2.target, second.2.bytes.hull().start);
        near.retain(|before| told[*before].2.target == target && told[*before].2.bytes.hull().end > start);
        for first in near.iter().map(|before| &told[*before]) {
            let Some(rest) = left.checked_sub(1) else { return found };
            left = rest;
            if first.0 == second.0 || !first.2.when.meets(second.2.when) {
                continue;
            }
            let Some(rule) = first.2.act.forbids(&second.2.act, false) else { continue };
            let Some(common) = first.2.bytes.overlap(&second.2.bytes) else { continue };
            let is_known = |known: &Meeting<'_>| (known.first.1, known.second.1) == (first.1, second.1);
            if !found.iter().any(is_known) {
                found.push(Meeting { first: *first, second: *second, common, rule });
            }
            if found.len() == MEETINGS_MAX {
                return found;
            }
        }
        near.push(at);
    }
    found
}

/// Sentences about assertions of a fence that were not true: those that all give or none, and those about the epoch that it ends.
pub(super) fn false_at_fence(reports: &[(u32, Report)]) -> Vec<String> {
    let mut said = Vec::new();
    for (flag, name) in
        [(MPI_MODE_NOPRECEDE, "MPI_MODE_NOPRECEDE"), (MPI_MODE_NOSUCCEED, "MPI_MODE_NOSUCCEED")]
    {
        let gives = |wanted: bool| {
            reports.iter().find(|(_, report)| (report.assert & i64::from(flag) != 0) == wanted)
        };
        if let (Some((yes, with)), Some((no, without))) = (gives(true), gives(false)) {
            said.push(format!(
                "rank {yes} asserts {name} in {}, rank {no} does not in {}, expected all members of the window to assert it or none (MPI 5.0, 12.5.5)",
                with.place, without.place
            ));
        }
    }
    for (member, report) in reports {
        said.extend(put_all_the_same(*member, report.beginning.as_ref(), reports));
        let is_changed = |(_, other): &(u32, Report)| {
            other.lost
                || other.accesses.iter().any(|(_, it)| it.target == *member && it.act.changes())
                || !other.locks.is_empty()
        };
        if report.stored && !reports.iter().any(is_changed) {
            said.push(format!(
                "rank {member} asserts MPI_MODE_NOSTORE in {}, but its memory has changed since the fence before, and no operation did that, expected no stores (MPI 5.0, 12.5.5)",
                report.place
            ));
        }
    }
    said
}

/// A sentence if a member has asserted that nobody changes its memory in an epoch, and somebody did.
pub(super) fn put_all_the_same(
    member: u32,
    beginning: Option<&Beginning>,
    reports: &[(u32, Report)],
) -> Option<String> {
    let beginning = beginning.filter(|beginning| beginning.assert & i64::from(MPI_MODE_NOPUT) != 0)?;
    let (from, place) = reports.iter().find_map(|(from, other)| {
        let changes = |(_, it): &&(Rc<str>, Access)| it.target == member && it.act.changes();
        Some((from, &other.accesses.iter().find(changes)?.0))
    })?;
    Some(format!(
        "rank {member} asserts MPI_MODE_NOPUT in {}, but rank {from} changes its memory in the epoch that this begins, by {place} (MPI 5.0, 12.5.5)",
        beginning.place
    ))
}

/// Sentences about epochs of groups that have ended at `member`, which began to expose its memory by `post`.
pub(super) fn false_at_group(member: u32, post: &Beginning, reports: &[(u32, Report)]) -> Vec<String> {
    let mut said: Vec<String> = put_all_the_same(member, Some(post), reports).into_iter().collect();
    let unchecked = |beginning: &Beginning| beginning.assert & i64::from(MPI_MODE_NOCHECK) != 0;
    for (origin, report) in reports {
        let Some(start) = &report.beginning else { continue };
        if unchecked(start) && !unchecked(post) {
            said.push(format!(
                "rank {origin} asserts MPI_MODE_NOCHECK in {}, rank {member} does not in {}, expected it of both or of neither (MPI 5.0, 12.5.5)",
                start.place, post.place
            ));
        } else if unchecked(start) && start.time < post.time {
            said.push(format!(
                "rank {origin} asserts MPI_MODE_NOCHECK in {}, but rank {member} called {} only after that, expected it before (MPI 5.0, 12.5.5)",
                start.place, post.place
            ));
        }
    }
    said
}

/// A sentence about locks that were held at one time though one of them was asserted to be alone.
pub(super) fn locks_that_met(reports: &[(u32, Report)]) -> Option<String> {
    let all = || reports.iter().flat_map(|(from, report)| report.locks.iter().map(move |lock| (*from, lock)));
    for (origin, one) in all().filter(|(_, lock)| lock.unchecked) {
        let meets = |(other, two): &(u32, &Lock)| {
            *other != origin
                && (one.is_exclusive || two.is_exclusive)
                && one.target.zip(two.target).is_none_or(|(ours, theirs)| ours == theirs)
                && one.from.max(two.from) < one.to.min(two.to)
        };
        if let Some((other, two)) = all().find(meets) {
            let target = one.target.or(two.target).unwrap_or(0);
            return Some(format!(
                "rank {origin} asserts MPI_MODE_NOCHECK in {}, but rank {other} has locked rank {target} at the same time by {}, and one of the two locks is exclusive (MPI 5.0, 12.5.5)",
                one.place, two.place
            ));
        }
    }
    None
}

impl Report {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut letter = Writer::default();
        letter.text(&self.place);
        letter.text(&self.function);
        for number in [self.assert, i64::from(self.stored), i64::from(self.lost)] {
            letter.number(number);
        }
        letter.number(i64::from(self.beginning.is_some()));
        if let Some(Beginning { place, time, assert }) = &self.beginning {
            letter.text(place);
            letter.number(*time as i64);
            letter.number(*assert);
        }
        // Places are few, and said once.
        let mut places: Vec<&Rc<str>> = Vec::new();
        let mut index = |place| {
            let known = places.iter().position(|known| *known == place);
            known.unwrap_or_else(|| {
                places.push(place);
                places.len() - 1
            })
        };
        let indices: Vec<usize> = self.accesses.iter().map(|(place, _)| index(place)).collect();
        letter.number(places.len() as i64);
        places.iter().for_each(|place| letter.text(place));
        letter.number(self.accesses.len() as i64);
        for (at, (_, access)) in indices.into_iter().zip(&self.accesses) {
            letter.number(at as i64);
            access.encode(&mut letter);
        }
        letter.number(self.locks.len() as i64);
        for Lock { place, target, is_exclusive, unchecked, from, to } in &self.locks {
            letter.text(place);
            letter.number(target.map_or(-1, i64::from));
            letter.number(i64::from(*is_exclusive) + 2 * i64::from(*unchecked));
            letter.number(*from as i64);
            letter.number(*to as i64);
        }
        letter.0
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Report> {
        let mut letter = Reader(bytes);
        let (place, function) = (letter.text()?.into(), letter.text()?);
        let (assert, stored, lost) = (letter.number()?, letter.number()? != 0, letter.number()? != 0);
        let beginning = if letter.number()? != 0 {
            let place = letter.text()?.into();
            Some(Beginning { place, time: letter.number()? as u64, assert: letter.number()? })
        } else {
            None
        };
        let places = letter.number()?;
        let places: Vec<Rc<str>> = (0..places).map(|_| letter.text().map(Rc::from)).collect::<Option<_>>()?;
        let accesses = letter.number()?;
        let mut access = || {
            let place = places.get(usize::try_from(letter.number()?).ok()?)?;
            Some((Rc::clone(place), Access::decode(&mut letter)?))
        };
        let accesses = (0..accesses).map(|_| access()).collect::<Option<_>>()?;
        let locks = letter.number()?;
        let mut lock = || {
            let (place, target, flags) = (letter.text()?.into(), letter.number()?, letter.number()?);
            Some(Lock {
                place,
                target: u32::try_from(target).ok(),
                is_exclusive: flags & 1 != 0,
                unchecked: flags & 2 != 0,
                from: letter.number()? as u64,
                to: letter.number()? as u64,
            })
        };
        let locks = (0..locks).map(|_| lock()).collect::<Option<_>>()?;
        Some(Report { place, function, assert, beginning, stored, lost, accesses, locks })
    }
}

#[cfg(test)]
mod tests {
    use engine::Datatype;
    use engine::datatype::Basic;

    use super::super::accesses::{Act, Footprint, When};
    use super::super::regions::Region;
    use super::*;

    fn access(target: u32, act: Act, bytes: Range<usize>, when: When) -> Access {
        let (base, count) = (bytes.start, bytes.len() as u64);
        let region =
            Region { name: "", base, count, datatype: Datatype::basic(Basic::Byte), is_written: true };
        Access { target, act, bytes: Footprint::of(&region).expect("bytes"), when }
    }

    fn tells(accesses: Vec<Access>) -> Report {
        let accesses = accesses.into_iter().enumerate();
        let accesses = accesses.map(|(at, access)| (format!("call {at}").into(), access)).collect();
        Report { place: "fence".into(), accesses, ..Report::default() }
    }

    #[test]
    fn operations_of_an_epoch_meet_where_their_bytes_do() {
        let reports = [
            (0, tells(vec![access(2, Act::Put, 0..8, When::Epoch), access(1, Act::Put, 0..8, When::Epoch)])),
            (
                1,
                tells(vec![
                    access(2, Act::Put, 4..12, When::Epoch),
                    access(2, Act::Put, 12..16, When::Epoch),
                ]),
            ),
            (3, tells(vec![access(2, Act::Get, 16..24, When::Epoch)])),
        ];
        let found = meetings(&reports);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].first.0, found[0].second.0, &found[0].common), (0, 1, &(4..8)));
    }

    #[test]
    fn operations_that_may_have_been_in_order_have_not_met() {
        let one = |from, to| tells(vec![access(0, Act::Put, 0..8, When::Between(from, to))]);
        assert!(meetings(&[(0, one(10, 20)), (1, one(20, 30))]).is_empty());
        assert_eq!(meetings(&[(0, one(10, 20)), (1, one(15, 30))]).len(), 1);
        assert!(meetings(&[(0, one(10, 20)), (0, one(15, 30))]).is_empty(), "one origin has said so itself");
    }

    #[test]
    fn very_many_operations_at_one_place_are_given_up() {
        let many = || tells((0..4096).map(|_| access(0, Act::Get, 0..8, When::Epoch)).collect());
        assert!(meetings(&[(0, many()), (1, many())]).is_empty());
    }

    #[test]
    fn assertions_of_fences_are_held_against_what_all_did() {
        let assert = |flag| Report { assert: i64::from(flag), ..tells(Vec::new()) };
        assert!(
            false_at_fence(&[(0, assert(MPI_MODE_NOPRECEDE)), (1, assert(MPI_MODE_NOPRECEDE))]).is_empty()
        );
        let said = false_at_fence(&[(0, assert(0)), (1, assert(MPI_MODE_NOSUCCEED))]);
        assert!(said.len() == 1 && said[0].starts_with("rank 1 asserts MPI_MODE_NOSUCCEED"), "{said:?}");
        let beginning = Some(Beginning { place: "post".into(), time: 0, assert: i64::from(MPI_MODE_NOPUT) });
        let careful = Report { beginning, ..tells(Vec::new()) };
        let reads = tells(vec![access(0, Act::Get, 0..8, When::Epoch)]);
        assert!(false_at_fence(&[(0, careful.clone()), (1, reads)]).is_empty());
        let writes = tells(vec![access(0, Act::Put, 0..8, When::Epoch)]);
        assert_eq!(false_at_fence(&[(0, careful), (1, writes.clone())]).len(), 1);
        let stored = Report { stored: true, ..tells(Vec::new()) };
        assert_eq!(false_at_fence(&[(0, stored.clone()), (1, tells(Vec::new()))]).len(), 1);
        assert!(false_at_fence(&[(0, stored), (1, writes)]).is_empty(), "a put has changed it");
    }

    #[test]
    fn locks_that_exclude_each_other_are_not_both_without_a_check() {
        let lock = |is_exclusive, unchecked, from, to| {
            let lock = Lock { place: "lock".into(), target: Some(1), is_exclusive, unchecked, from, to };
            Report { locks: vec![lock], ..Report::default() }
        };
        assert!(locks_that_met(&[(0, lock(true, true, 1, 5)), (1, lock(true, false, 4, 9))]).is_some());
        assert!(locks_that_met(&[(0, lock(true, true, 1, 4)), (1, lock(true, true, 4, 9))]).is_none());
        assert!(locks_that_met(&[(0, lock(false, true, 1, 5)), (1, lock(false, true, 4, 9))]).is_none());
    }

    #[test]
    fn a_start_without_a_check_comes_after_its_post() {
        let post = |assert, time| Beginning { place: "post".into(), time, assert };
        let start = |assert, time| Report { beginning: Some(post(assert, time)), ..tells(Vec::new()) };
        let unchecked = i64::from(MPI_MODE_NOCHECK);
        assert!(false_at_group(0, &post(unchecked, 5), &[(1, start(unchecked, 6))]).is_empty());
        assert_eq!(false_at_group(0, &post(unchecked, 5), &[(1, start(unchecked, 4))]).len(), 1);
        assert_eq!(false_at_group(0, &post(0, 5), &[(1, start(unchecked, 6))]).len(), 1);
    }

    #[test]
    fn a_report_is_read_as_it_was_written_and_not_if_it_is_cut_short() {
        let lock = Lock {
            place: "lock".into(),
            target: None,
            is_exclusive: false,
            unchecked: true,
            from: 3,
            to: u64::MAX,
        };
        let report = Report {
            function: "MPI_Win_fence".into(),
            assert: 7,
            beginning: Some(Beginning { place: "before".into(), time: 9, assert: 1 }),
            stored: true,
            locks: vec![lock],
            ..tells(vec![
                access(1, Act::Put, 0..8, When::Epoch),
                access(2, Act::Get, 0..8, When::Between(1, 2)),
            ])
        };
        let letter = report.encode();
        assert_eq!(Report::decode(&letter), Some(report));
        for len in 0..letter.len() {
            assert_eq!(Report::decode(&letter[..len]), None, "{len} bytes");
        }
    }
}
