//! Operations in flight: whose memory nobody may touch, and which must be completed before the end.
//!
//! A send owns its buffer from its start until a call of the program's has completed it. What the buffer holds is summed at both
//! moments. No operation may write where another one in flight reads or writes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use engine::{RequestId, State as Progress};

use super::book::Book;
use super::buffers::family;
use super::calls::Called;
use super::findings::{Findings, Origin};
use super::objects::Objects;
use super::regions::Region;
use super::shapes::Kind;
use crate::abi::constants::*;
use crate::abi::types::MPI_Comm;
use crate::handles::Comm;
use crate::process::State;

/// The operations that have a request.
#[derive(Default)]
pub(super) struct Operations {
    alive: RefCell<Book<u64, Operation>>,
    /// The hulls of the memory of active ones: first byte, request, number of the region; one past the last byte.
    owned: RefCell<BTreeMap<(usize, u64, usize), usize>>,
    /// The longest hull there ever was: how far before a byte an owner of it may begin.
    longest: Cell<usize>,
    /// One-sided operations without a request that have begun.
    one_sided: Cell<u64>,
}

struct Operation {
    made: Origin,
    /// The call that started it last.
    started: Origin,
    regions: Rc<[Region]>,
    /// Of regions that are read, while it is active.
    sums: Vec<Option<u64>>,
    is_active: bool,
    /// "a receive from rank 1 with tag 5".
    what: String,
    collective: Option<(u32, u64)>,
    /// The number of the receive, if it is one.
    receive: Option<u64>,
    /// Where the message goes, if it is a send.
    dest: Option<(Rc<Comm>, u32)>,
}

impl Operations {
    /// A call has written a request. A send that was complete at once gets a request of its own: the library's own one is
    /// shared by all of them.
    pub(super) fn made(&self, state: &State, call: &Called, word: u64, request: u64) {
        if request == MPI_REQUEST_NULL.0 as u64 {
            return;
        }
        let request = if request == RequestId::SENT.to_bits() {
            let Ok(own) = state.rank().external_request() else { return };
            state.rank().finish(own, Ok(engine::Status::EMPTY));
            call.replace(word, own.to_bits());
            own.to_bits()
        } else {
            request
        };
        let function = call.origin.function;
        let is_persistent = function.strip_suffix("_c").unwrap_or(function).ends_with("_init");
        let operation = Operation {
            made: call.origin,
            started: call.origin,
            regions: call.regions.clone().into(),
            sums: Vec::new(),
            is_active: false,
            what: description(call),
            collective: call.collective,
            receive: call.receive,
            dest: dest(state, call),
        };
        self.alive.borrow_mut().insert(request, operation);
        if !is_persistent {
            self.activate(request, call.origin);
        }
    }

    /// A one-sided operation without a request owns memory until its origin need not wait for it any more; a name for it.
    pub(super) fn one_sided(&self, call: &Called) -> Option<u64> {
        if call.regions.is_empty() {
            return None;
        }
        // Requests are never below 2^32, and handles that the standard has are below 2^16.
        let key = (1 << 16) + self.one_sided.get() % (1 << 31);
        self.one_sided.set(self.one_sided.get() + 1);
        let operation = Operation {
            made: call.origin,
            started: call.origin,
            regions: call.regions.clone().into(),
            sums: Vec::new(),
            is_active: false,
            what: description(call),
            collective: None,
            receive: None,
            dest: None,
        };
        self.alive.borrow_mut().insert(key, operation);
        self.activate(key, call.origin);
        Some(key)
    }

    /// A one-sided operation is complete as far as its origin is concerned. Its request, if it has one, is still to be completed.
    pub(super) fn complete_here(&self, state: &State, findings: &Findings, key: u64, by: Origin) {
        let mut alive = self.alive.borrow_mut();
        let Some(operation) = alive.get_mut(key) else { return };
        self.let_go(state, findings, operation, (key, by));
        if key < 1 << 32 {
            alive.remove(key);
        }
    }

    /// An operation no longer owns its memory, which it has found as it left it.
    fn let_go(
        &self,
        state: &State,
        findings: &Findings,
        operation: &mut Operation,
        (key, by): (u64, Origin),
    ) {
        if !std::mem::take(&mut operation.is_active) {
            return;
        }
        let mut owned = self.owned.borrow_mut();
        for (index, region) in operation.regions.iter().enumerate() {
            owned.remove(&(region.hull().start, key, index));
        }
        if by.function != "MPI_Request_free" {
            unchanged(state, findings, operation, by);
        }
    }

    /// An operation begins to own its memory.
    fn activate(&self, request: u64, by: Origin) {
        let mut alive = self.alive.borrow_mut();
        let Some(operation) = alive.get_mut(request) else { return };
        operation.is_active = true;
        operation.started = by;
        operation.sums =
            operation.regions.iter().map(|region| (!region.is_written).then(|| region.sum())).collect();
        let mut owned = self.owned.borrow_mut();
        for (index, region) in operation.regions.iter().enumerate() {
            let hull = region.hull();
            self.longest.set(self.longest.get().max(hull.len()));
            owned.insert((hull.start, request, index), hull.end);
        }
    }

    /// A persistent operation is about to start.
    pub(super) fn starts(&self, state: &State, findings: &Findings, request: u64, by: Origin) {
        // One that is active already cannot be started: the call says so itself.
        let idle = |operation: &&Operation| !operation.is_active;
        let known =
            self.alive.borrow().get(request).filter(idle).map(|operation| Rc::clone(&operation.regions));
        let Some(regions) = known else { return };
        self.look_for_overlaps(state, findings, &regions, by);
        self.activate(request, by);
    }

    /// A call is about to use memory: says so if an operation in flight owns it, or if the call itself writes where it reads.
    pub(super) fn look_for_overlaps(
        &self,
        state: &State,
        findings: &Findings,
        regions: &[Region],
        by: Origin,
    ) {
        for (index, region) in regions.iter().enumerate() {
            for other in &regions[..index] {
                if region.is_written != other.is_written && region.overlap(other).is_some() {
                    findings.report(state, "overlapping arguments", by, || {
                        format!(
                            "{}: {} and {} overlap, expected memory that is apart, or MPI_IN_PLACE where the call takes it",
                            findings.place(by),
                            other.name,
                            region.name
                        )
                    });
                }
            }
            let Some((owner, what, other, common)) = self.owner(region) else { continue };
            findings.report(state, "memory in use", by, || {
                format!(
                    "{}: {} bytes of {} from {:#x} on {} {} of {what} that {} started and that is not complete",
                    findings.place(by),
                    common.len(),
                    region.name,
                    common.start,
                    if region.is_written { "are also" } else { "are to be read, and are also" },
                    other.name,
                    findings.place(owner)
                )
            });
        }
    }

    /// An active operation that must not share memory with this region.
    fn owner(&self, region: &Region) -> Option<(Origin, String, Region, std::ops::Range<usize>)> {
        let hull = region.hull();
        if hull.is_empty() {
            return None;
        }
        let (owned, alive) = (self.owned.borrow(), self.alive.borrow());
        let first = hull.start.saturating_sub(self.longest.get());
        let near = owned.range((first, 0, 0)..(hull.end, 0, 0)).filter(|(_, end)| **end > hull.start);
        for (&(_, request, index), _) in near {
            let Some(operation) = alive.get(request) else { continue };
            let other = &operation.regions[index];
            if (region.is_written || other.is_written)
                && let Some(common) = region.overlap(other)
            {
                return Some((operation.started, operation.what.clone(), other.clone(), common));
            }
        }
        None
    }

    /// The collective whose request this is.
    pub(super) fn collective(&self, request: u64) -> Option<(u32, u64)> {
        self.alive.borrow().get(request)?.collective
    }

    /// The number of the receive whose request this is.
    pub(super) fn receive(&self, request: u64) -> Option<u64> {
        self.alive.borrow().get(request)?.receive
    }

    /// Where the message of this request goes.
    pub(super) fn dest(&self, request: u64) -> Option<(Rc<Comm>, u32)> {
        self.alive.borrow().get(request)?.dest.clone()
    }

    /// Looks at what a call has done to a request that it was given; true if that is gone.
    pub(super) fn settled(
        &self,
        state: &State,
        findings: &Findings,
        objects: &Objects,
        (before, now): (u64, u64),
        by: Origin,
    ) -> bool {
        let became_null = now == MPI_REQUEST_NULL.0 as u64;
        let inactive = || matches!(state.rank().state(RequestId::from_bits(before)), Ok(Progress::Inactive));
        if !became_null && !inactive() {
            return false;
        }
        let mut alive = self.alive.borrow_mut();
        let Some(operation) = alive.get_mut(before) else { return false };
        self.let_go(state, findings, operation, (before, by));
        if became_null {
            let made = operation.made;
            alive.remove(before);
            objects.remember(Kind::Request, before, made, by);
        }
        became_null
    }

    /// Says which requests are left at the end, by the call that made them.
    pub(super) fn left(&self, state: &State, findings: &Findings) {
        let mut groups: Vec<((Origin, &str), u32, String)> = Vec::new();
        for (request, operation) in self.alive.borrow().iter().filter(|(key, _)| *key >= 1 << 32) {
            let fate = match state.rank().state(RequestId::from_bits(*request)) {
                Ok(Progress::Active) => "not complete",
                Ok(Progress::Complete) => "complete, but was never waited for, tested or freed",
                _ => "inactive, but was never freed",
            };
            let group = (operation.made, fate);
            match groups.iter_mut().find(|known| known.0 == group) {
                Some((_, count, first)) => {
                    *count += 1;
                    if operation.what < *first {
                        first.clone_from(&operation.what);
                    }
                }
                None => {
                    let at = groups.partition_point(|known| known.0 < group);
                    groups.insert(at, (group, 1, operation.what.clone()));
                }
            }
        }
        for ((made, fate), count, first) in groups {
            findings.report(state, fate, made, || {
                let place = findings.place(made);
                match count {
                    1 => format!("the request of {place} ({first}) is {fate} at MPI_Finalize"),
                    n => format!(
                        "{n} requests of {place} are left at MPI_Finalize; the first ({first}) is {fate}"
                    ),
                }
            });
        }
    }
}

/// Says so if the data of a send is no longer what it was.
fn unchanged(state: &State, findings: &Findings, operation: &Operation, by: Origin) {
    for (region, sum) in operation.regions.iter().zip(&operation.sums) {
        let Some(sum) = sum else { continue };
        if region.sum() != *sum {
            findings.report(state, "changed buffer", operation.started, || {
                format!(
                    "{} of {} was changed before {} completed the operation ({}), expected it to be left alone",
                    region.name,
                    findings.place(operation.started),
                    findings.place(by),
                    operation.what
                )
            });
        }
    }
}

fn dest(state: &State, call: &Called) -> Option<(Rc<Comm>, u32)> {
    let comm = state.comms.get(MPI_Comm(call.arguments.comm()?))?;
    let to = u32::try_from(call.arguments.number("dest")?).ok()?;
    Some((comm, to))
}

/// What an operation is, for a person.
fn description(call: &Called) -> String {
    let tag = |name| match call.arguments.number(name) {
        Some(tag) if tag == i64::from(MPI_ANY_TAG) => " with any tag".to_owned(),
        Some(tag) => format!(" with tag {tag}"),
        None => String::new(),
    };
    let bytes = call.regions.first().map_or(0, Region::bytes);
    if let Some(target) = call.arguments.number("target_rank") {
        let family = family(call.origin.function);
        let family = if family == "rput" || family.starts_with("rget") || family.starts_with("racc") {
            &family[1..]
        } else {
            &family
        };
        return format!("{} of {bytes} bytes at rank {}", family, target as i32);
    }
    if let Some(dest) = call.arguments.number("dest") {
        return format!("a send of {bytes} bytes to rank {dest}{}", tag("tag"));
    }
    match call.arguments.number("source") {
        Some(source) if source == i64::from(MPI_ANY_SOURCE) => {
            format!("a receive from any rank{}", tag("tag"))
        }
        Some(source) => format!("a receive from rank {source}{}", tag("tag")),
        None => family(call.origin.function),
    }
}
