//! A table of objects behind handles.
//!
//! A handle is an address-sized number that says which kind of object it names, in which slot, which generation of that
//! slot, and in which lane the object is used (0 for those that no lane has):
//!
//! ```text
//!  63      56 55                32 31  29 28             0
//! +----------+--------------------+------+----------------+
//! |   kind   |     generation     | lane |      slot      |
//! +----------+--------------------+------+----------------+
//! ```
//!
//! No kind is zero, so no handle collides with the predefined ones, which lie below 0x1000. Freeing an object moves its slot
//! to the next generation: a stale handle, a handle of another kind and a number made up by the program are all told apart
//! from a live one by one comparison. A slot's generation repeats after 2^24 - 1 objects.
//!
//! **Threads:** slots lie in chunks that never move, so a look-up takes no lock and writes nothing but the object's count. Storing and freeing take the lock. A program owes that
//! no thread uses an object while another frees it (MPI section 11.6.1); a look-up relies on that.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::errors::Past;

const GENERATIONS: u32 = (1 << 24) - 1;
const _: () = assert!(size_of::<usize>() == 8, "handles need 64 bits");

/// Which kind of object a handle names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    Comm = 1,
    Group,
    Datatype,
    Op,
    Info,
    Errhandler,
    Session,
    Win,
    File,
    Cvar,
    PvarSession,
    Pvar,
    Registration,
}

/// Where the lane lies in a handle, also of a request or message: no table has more slots.
const LANE_SHIFT: u32 = 29;
const LANE_MASK: usize = 7 << LANE_SHIFT;

/// The lane in which the object of a handle is used, be it a communicator, window, request or message. 0 for predefined ones.
#[inline(always)]
pub(crate) fn lane_of(handle: usize) -> u32 {
    let handle = if is_sent(handle) { !handle } else { handle };
    ((handle & LANE_MASK) >> LANE_SHIFT) as u32
}

/// The handle without its lane: the engine's number of a request or message.
#[inline(always)]
pub(crate) fn without_lane(handle: usize) -> usize {
    if is_sent(handle) { usize::MAX } else { handle & !LANE_MASK }
}

/// The handle of what the engine knows by this number in a lane.
#[inline(always)]
pub(crate) fn with_lane(number: usize, lane: u32) -> usize {
    number ^ (lane as usize) << LANE_SHIFT
}

/// Whether this is the request of all sends that were complete when they were started: all ones for the engine, which the lane turns over.
#[inline(always)]
pub(crate) fn is_sent(handle: usize) -> bool {
    handle | LANE_MASK == usize::MAX
}

/// Slots of the first chunk; each other has as many as all before it.
const FIRST: usize = 64;
const CHUNKS: usize = LANE_SHIFT as usize - FIRST.trailing_zeros() as usize + 1;

/// Objects of one kind. `T` is cheap to clone: a counted reference or a small number.
pub(crate) struct Table<T> {
    kind: Kind,
    chunks: [AtomicPtr<Slot<T>>; CHUNKS],
    slots: Mutex<Slots>,
}

struct Slots {
    /// How many there are.
    length: u32,
    /// Those that hold nothing, the most recently used last: it is the one in the cache.
    free: Vec<u32>,
}

struct Slot<T> {
    /// What a handle's upper half must be.
    mark: AtomicU32,
    /// The lane of the object, in its place.
    lane: AtomicU32,
    object: UnsafeCell<Option<T>>,
}

/// The chunk that a slot is in, its place there, and the slots of that chunk.
#[inline(always)]
fn place(index: usize) -> (usize, usize, usize) {
    let chunk = (usize::BITS - (index / FIRST).leading_zeros()) as usize;
    if chunk == 0 {
        return (0, index, FIRST);
    }
    let begin = FIRST << (chunk - 1);
    (chunk, index - begin, begin)
}

impl<T: Clone> Table<T> {
    pub(crate) const fn new(kind: Kind) -> Self {
        let slots = Mutex::new(Slots { length: 0, free: Vec::new() });
        Self { kind, chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS], slots }
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().expect("nobody panics with it")
    }

    #[inline(always)]
    fn slot(&self, index: usize) -> Option<&Slot<T>> {
        let (chunk, at, _) = place(index);
        let base = self.chunks.get(chunk)?.load(Ordering::Acquire);
        // SAFETY: a chunk that is there has all its slots, and is freed with the table.
        if base.is_null() { None } else { Some(unsafe { &*base.add(at) }) }
    }

    /// The slot of a live handle. Apart: in each of the hundreds of entry points it would be a second copy.
    #[inline(never)]
    fn live(&self, handle: usize) -> Option<&Slot<T>> {
        let slot = self.slot(handle & ((1 << LANE_SHIFT) - 1))?;
        (slot.mark.load(Ordering::Acquire) as usize == handle >> 32).then_some(slot)
    }

    /// What is known of a handle, to explain why it was refused.
    #[cold]
    pub(crate) fn past(&self, handle: usize) -> Past {
        let slots = self.lock();
        let index = handle & ((1 << LANE_SHIFT) - 1);
        let Some(slot) = self.slot(index).filter(|_| index < slots.length as usize) else {
            return Past::Unknown;
        };
        let (given, now) = ((handle >> 32) as u32, slot.mark.load(Ordering::Relaxed));
        match given.cmp(&now) {
            // SAFETY: with the lock nobody stores or frees.
            _ if given == now && unsafe { &*slot.object.get() }.is_some() => Past::Lives,
            // The upper byte is the kind; a slot that was used more often has a lower generation again.
            std::cmp::Ordering::Less if given & !GENERATIONS == now & !GENERATIONS => Past::Freed,
            _ => Past::Unknown,
        }
    }

    /// Stores an object and returns its handle.
    pub(crate) fn insert(&self, object: T) -> usize {
        self.insert_in(0, object)
    }

    /// Stores an object that a lane has.
    pub(crate) fn insert_in(&self, lane: u32, object: T) -> usize {
        let mut slots = self.lock();
        let index = match slots.free.pop() {
            Some(index) => index as usize,
            None => {
                slots.length += 1;
                slots.length as usize - 1
            }
        };
        if self.slot(index).is_none() {
            self.add_chunk(index);
        }
        let slot = self.slot(index).expect("it was just made");
        slot.lane.store(lane, Ordering::Relaxed);
        // SAFETY: nobody has a handle of this slot's generation, and who stores or frees has the lock.
        unsafe { *slot.object.get() = Some(object) };
        (slot.mark.load(Ordering::Relaxed) as usize) << 32 | with_lane(index, lane)
    }

    #[cold]
    fn add_chunk(&self, index: usize) {
        let (chunk, _, length) = place(index);
        let fresh = |_| Slot {
            mark: AtomicU32::new(mark(self.kind, 0)),
            lane: AtomicU32::new(0),
            object: UnsafeCell::new(None),
        };
        let slots: Box<[Slot<T>]> = (0..length).map(fresh).collect();
        self.chunks[chunk].store(Box::into_raw(slots).cast(), Ordering::Release);
    }

    /// The object that a live handle names.
    #[inline]
    pub(crate) fn get(&self, handle: usize) -> Option<T> {
        self.with(handle, T::clone)
    }

    /// The object that a live handle names, while the program frees nothing: for the time of a call that runs no code of its.
    #[inline]
    pub(crate) fn look(&self, handle: usize) -> Option<&T> {
        let slot = self.live(handle)?;
        // SAFETY: as in `with`.
        unsafe { &*slot.object.get() }.as_ref()
    }

    /// What `look` finds out about the object that a live handle names.
    #[inline(always)]
    pub(crate) fn with<R>(&self, handle: usize, look: impl FnOnce(&T) -> R) -> Option<R> {
        let slot = self.live(handle)?;
        // SAFETY: the handle is live, and its object is not freed meanwhile: the program's promise.
        unsafe { &*slot.object.get() }.as_ref().map(look)
    }

    /// Takes the object out; the handle is dead from now on. The caller drops the object, outside of the lock.
    pub(crate) fn remove(&self, handle: usize) -> Option<T> {
        let mut slots = self.lock();
        let slot = self.live(handle)?;
        // SAFETY: with the lock; the program promises that nobody else uses the object.
        let object = unsafe { &mut *slot.object.get() }.take()?;
        slot.mark.store(next_generation(slot.mark.load(Ordering::Relaxed)), Ordering::Release);
        slots.free.push((handle & ((1 << LANE_SHIFT) - 1)) as u32);
        Some(object)
    }

    /// A handle as a positive C integer (MPI section 20.3): the slot, above all predefined values.
    pub(crate) fn to_int(&self, handle: usize) -> Option<i32> {
        self.with(handle, |_| ())?;
        i32::try_from((handle & ((1 << LANE_SHIFT) - 1)) + INT_BASE).ok()
    }

    /// The handle that now lives in the slot that such an integer names.
    pub(crate) fn handle_of_int(&self, number: i32) -> Option<usize> {
        let index = usize::try_from(number).ok()?.checked_sub(INT_BASE)?;
        let _slots = self.lock();
        let slot = self.slot(index)?;
        // SAFETY: with the lock nobody stores or frees.
        unsafe { &*slot.object.get() }.as_ref()?;
        let lane = slot.lane.load(Ordering::Relaxed);
        Some((slot.mark.load(Ordering::Relaxed) as usize) << 32 | with_lane(index, lane))
    }

    /// The first object for which `wanted` holds.
    pub(crate) fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<T> {
        let slots = self.lock();
        self.objects(&slots).find(|object| wanted(object)).cloned()
    }

    /// All objects for which `wanted` holds.
    pub(crate) fn all(&self, wanted: impl Fn(&T) -> bool) -> Vec<T> {
        let slots = self.lock();
        self.objects(&slots).filter(|object| wanted(object)).cloned().collect()
    }

    fn objects<'a>(&'a self, slots: &'a MutexGuard<'_, Slots>) -> impl Iterator<Item = &'a T> {
        // SAFETY: with the lock nobody stores or frees.
        (0..slots.length as usize).filter_map(|index| unsafe { &*self.slot(index)?.object.get() }.as_ref())
    }

    /// Objects alive.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let slots = self.lock();
        slots.length as usize - slots.free.len()
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        for (chunk, base) in self.chunks.iter_mut().enumerate() {
            let base = *base.get_mut();
            if !base.is_null() {
                let length = FIRST << chunk.saturating_sub(1);
                // SAFETY: made by `add_chunk` from a box of this length.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(base, length)) });
            }
        }
    }
}

/// Integers below this stand for predefined handles.
const INT_BASE: usize = 0x1000;

fn mark(kind: Kind, generation: u32) -> u32 {
    (kind as u32) << 24 | generation
}

fn next_generation(mark: u32) -> u32 {
    let (kind, generation) = (mark & !GENERATIONS, mark & GENERATIONS);
    kind | (generation + 1) & GENERATIONS
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{Kind, Table, lane_of, with_lane, without_lane};
    use crate::errors::Past;

    /// A small deterministic generator: the test needs variety, not randomness.
    fn step(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *seed >> 33
    }

    #[test]
    fn agrees_with_a_map_under_any_sequence_of_operations() {
        for start in 0..50 {
            let table = Table::new(Kind::Comm);
            let mut model: HashMap<usize, u64> = HashMap::new();
            let mut dead = Vec::new();
            let mut seed = start;
            for _ in 0..2_000 {
                match step(&mut seed) % 3 {
                    0 => {
                        let value = step(&mut seed);
                        let handle = table.insert(value);
                        assert!(handle >= 0x1000, "collides with a predefined handle");
                        assert_eq!(model.insert(handle, value), None, "a live handle was given out twice");
                    }
                    1 => {
                        let chosen = model.keys().nth(step(&mut seed) as usize % model.len().max(1)).copied();
                        let Some(handle) = chosen else { continue };
                        assert_eq!(table.remove(handle), model.remove(&handle));
                        dead.push(handle);
                    }
                    _ => {
                        for (handle, value) in &model {
                            assert_eq!(table.get(*handle), Some(*value));
                        }
                    }
                }
            }
            assert_eq!(table.len(), model.len());
            assert!(dead.iter().all(|handle| model.contains_key(handle) || table.get(*handle).is_none()));
        }
    }

    #[test]
    fn a_handle_that_was_freed_is_told_from_one_that_never_was() {
        let table = Table::new(Kind::Comm);
        let (kept, freed) = (table.insert(1), table.insert(2));
        table.remove(freed);
        assert_eq!((table.past(kept), table.past(freed)), (Past::Lives, Past::Freed));
        let again = table.insert(3);
        assert_eq!((table.past(again), table.past(freed)), (Past::Lives, Past::Freed));
        table.remove(again);
        assert_eq!((table.past(again), table.past(freed)), (Past::Freed, Past::Freed));
        let foreign = Table::new(Kind::Group).insert(4);
        let to_come = again + (1 << 32);
        for never in [0, 1, usize::MAX, kept + 70, kept + (1 << 20), foreign, to_come] {
            assert_eq!(table.past(never), Past::Unknown, "{never:#x}");
        }
    }

    #[test]
    fn a_handle_of_another_kind_is_foreign() {
        let (comms, groups) = (Table::new(Kind::Comm), Table::new(Kind::Group));
        let comm = comms.insert(1);
        groups.insert(2);
        assert_eq!(groups.get(comm), None);
        assert_eq!(groups.remove(comm), None);
    }

    #[test]
    fn any_number_is_either_live_or_refused() {
        let table = Table::new(Kind::Op);
        let live = table.insert(7);
        let mut seed = 3;
        for _ in 0..10_000 {
            let number = (step(&mut seed) << 32 | step(&mut seed)) as usize;
            assert!(number == live || table.get(number).is_none());
        }
        assert_eq!((table.get(0), table.get(usize::MAX)), (None, None));
    }

    #[test]
    fn handles_tell_the_lane_and_integers_lead_back_to_it() {
        let table = Table::new(Kind::Comm);
        let handles: Vec<usize> = (0..1000).map(|n| table.insert_in(n % 8, n)).collect();
        for (n, handle) in handles.iter().enumerate() {
            assert_eq!((table.get(*handle), lane_of(*handle)), (Some(n as u32), n as u32 % 8));
            assert_eq!(table.handle_of_int(table.to_int(*handle).unwrap()), Some(*handle));
        }
        assert_eq!(with_lane(without_lane(handles[13]), lane_of(handles[13])), handles[13]);
        assert_eq!(
            (lane_of(usize::MAX), without_lane(usize::MAX)),
            (0, usize::MAX),
            "a send that was complete"
        );
    }

    #[test]
    fn look_ups_go_on_while_others_store_and_free() {
        let table = Table::new(Kind::Op);
        let kept: Vec<usize> = (0..50).map(|n| table.insert(n)).collect();
        struct Shared<'a>(&'a Table<usize>);
        // SAFETY: used as its rules say: nobody frees what another looks up.
        unsafe impl Sync for Shared<'_> {}
        let shared = Shared(&table);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let Shared(table) = &shared;
                    for n in 0..20_000 {
                        let handle = table.insert(n);
                        assert_eq!(table.remove(handle), Some(n));
                        assert_eq!(table.get(handle), None);
                        if n % 64 == 0 {
                            table.insert(n);
                        }
                    }
                });
            }
            for round in 0..20_000 {
                assert_eq!(table.get(kept[round % 50]), Some(round % 50));
            }
        });
    }

    #[test]
    fn integers_lead_back_to_their_handle_while_it_lives() {
        let table = Table::new(Kind::Info);
        let handle = table.insert(5);
        let number = table.to_int(handle).expect("live");
        assert!(number >= 0x1000);
        assert_eq!(table.handle_of_int(number), Some(handle));
        table.remove(handle);
        assert_eq!((table.to_int(handle), table.handle_of_int(number)), (None, None));
    }
}
