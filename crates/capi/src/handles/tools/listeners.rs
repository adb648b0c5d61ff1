//! Events: who listens, what waits to be told, and telling it.
//!
//! An event happens inside the engine, where no code of the program may run. It is noted there with its time, and delivered when the call ends in which it happened: at that
//! point a callback may do anything. There is room for so many that wait; what comes beyond is dropped, and counted.

use core::ffi::{c_int, c_void};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use runtime::variables::{EVENTS, Element, Event, Happening};

use super::{Members, lock};
use crate::abi::constants::*;
use crate::abi::types::*;
use crate::handles::Info;

/// Events that may wait to be delivered.
const WAITING: usize = 4096;

/// Bytes of an event's elements.
const BYTES: usize = 16;

/// The levels of safety, the least first: events are delivered where the first is enough, and a callback for any other will do.
const LEVELS: [c_int; 4] = [
    MPI_T_CB_REQUIRE_NONE,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
];

/// Only one kind of event source: the rank.
pub(crate) const SOURCE: c_int = 0;

/// A callback of the program.
#[derive(Clone)]
pub(crate) struct Callback {
    function: EventFunction,
    user_data: *mut c_void,
    info: Arc<Info>,
}
// SAFETY: the address is the program's, and only handed back to it.
unsafe impl Send for Callback {}

type EventFunction =
    unsafe extern "C-unwind" fn(MPI_T_event_instance, MPI_T_event_registration, MPI_T_cb_safety, *mut c_void);

impl Callback {
    pub(crate) fn new(function: EventFunction, user_data: *mut c_void, info: Arc<Info>) -> Callback {
        Callback { function, user_data, info }
    }
}

/// An event that the program has asked for.
pub(crate) struct Registration {
    pub(crate) event: &'static Event,
    /// Its handle, once it has one.
    handle: AtomicUsize,
    members: Option<Members>,
    info: Mutex<Arc<Info>>,
    callbacks: Mutex<[Option<Callback>; 4]>,
    dropped_handler: Mutex<MPI_T_event_dropped_cb_function>,
    dropped: AtomicU64,
}

impl Registration {
    pub(crate) fn new(event: usize, members: Option<Members>, info: Arc<Info>) -> Registration {
        Registration {
            event: &EVENTS[event],
            handle: AtomicUsize::new(0),
            members,
            info: Mutex::new(info),
            callbacks: Mutex::default(),
            dropped_handler: Mutex::new(None),
            dropped: AtomicU64::new(0),
        }
    }

    pub(super) fn members(&self) -> Option<&Members> {
        self.members.as_ref()
    }

    pub(crate) fn set_handle(&self, handle: MPI_T_event_registration) {
        self.handle.store(handle.0, Ordering::Relaxed);
    }

    /// Its hints.
    pub(crate) fn info(&self) -> Arc<Info> {
        Arc::clone(&lock(&self.info))
    }

    pub(crate) fn set_info(&self, info: Arc<Info>) {
        *lock(&self.info) = info;
    }

    fn handle(&self) -> MPI_T_event_registration {
        MPI_T_event_registration(self.handle.load(Ordering::Relaxed))
    }

    /// Calls back at a level of safety from now on, or not any more. False if there is no such level.
    pub(crate) fn set_callback(&self, safety: c_int, callback: Option<Callback>) -> bool {
        let Some(level) = level(safety) else { return false };
        lock(&self.callbacks)[level] = callback;
        true
    }

    /// The hints of the callback at a level; none if there is no such callback.
    pub(crate) fn callback_info(&self, safety: c_int) -> Option<Arc<Info>> {
        lock(&self.callbacks)[level(safety)?].as_ref().map(|callback| Arc::clone(&callback.info))
    }

    /// Changes them. False if there is no such callback.
    pub(crate) fn set_callback_info(&self, safety: c_int, info: Arc<Info>) -> bool {
        let mut callbacks = lock(&self.callbacks);
        let Some(callback) = level(safety).and_then(|level| callbacks[level].as_mut()) else { return false };
        callback.info = info;
        true
    }

    pub(crate) fn set_dropped_handler(&self, handler: MPI_T_event_dropped_cb_function) {
        *lock(&self.dropped_handler) = handler;
    }

    pub(crate) fn has_callback(&self) -> bool {
        lock(&self.callbacks).iter().any(Option::is_some)
    }

    /// The callback to use, that for the least level there is.
    fn callback(&self) -> Option<Callback> {
        lock(&self.callbacks).iter().find_map(Clone::clone)
    }

    /// Says how many were dropped, if any were.
    fn tell_of_dropped(&self) {
        let Some(handler) = *lock(&self.dropped_handler) else { return };
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if let (true, Some(Callback { user_data, .. })) = (dropped > 0, self.callback()) {
            // SAFETY: a function of the program's, of this type, by MPI's contract with it.
            unsafe { handler(dropped as MPI_Count, self.handle(), SOURCE, MPI_T_CB_REQUIRE_NONE, user_data) };
        }
    }
}

fn level(safety: c_int) -> Option<usize> {
    LEVELS.iter().position(|level| *level == safety)
}

/// An event that has happened.
#[derive(Clone)]
pub(crate) struct Instance {
    registration: Arc<Registration>,
    pub(crate) nanoseconds: u64,
    /// Its elements, as in a C struct.
    data: [u8; BYTES],
}

impl Instance {
    /// All its elements.
    pub(crate) fn bytes(&self) -> &[u8] {
        let size = self.registration.event.elements.iter().map(|element| element.size()).sum();
        &self.data[..size]
    }

    /// One of its elements.
    pub(crate) fn element(&self, index: usize) -> Option<&[u8]> {
        let elements = self.registration.event.elements;
        let place: usize = elements.get(..index)?.iter().map(|element| element.size()).sum();
        self.data.get(place..place + elements.get(index)?.size())
    }
}

/// Who listens, and what waits.
#[derive(Default)]
pub(crate) struct Listeners {
    all: Mutex<Vec<Arc<Registration>>>,
    waiting: Mutex<VecDeque<Instance>>,
    delivering: AtomicBool,
    /// The one that a callback is told of, under the number that is its handle.
    current: Mutex<Option<(usize, Instance)>>,
    told: AtomicUsize,
}

impl Listeners {
    pub(crate) fn are_any(&self) -> bool {
        !lock(&self.all).is_empty()
    }

    pub(super) fn listen(&self, registration: &Arc<Registration>) {
        let mut all = lock(&self.all);
        if !all.iter().any(|other| Arc::ptr_eq(other, registration)) {
            all.push(Arc::clone(registration));
        }
    }

    pub(super) fn listen_no_more(&self, registration: &Arc<Registration>) {
        lock(&self.all).retain(|other| !Arc::ptr_eq(other, registration));
        lock(&self.waiting).retain(|instance| !Arc::ptr_eq(&instance.registration, registration));
    }

    /// Something has happened: notes it for all who listen to it. `value` gives an element of it; none if it is of no interest to this one.
    pub(super) fn tell(
        &self,
        nanoseconds: u64,
        happening: Happening,
        value: impl Fn(&Registration, Element) -> Option<u64>,
    ) {
        for registration in
            lock(&self.all).iter().filter(|registration| registration.event.happening == happening)
        {
            let Some(data) = laid_down(registration, &value) else { continue };
            let mut waiting = lock(&self.waiting);
            if waiting.len() < WAITING {
                waiting.push_back(Instance { registration: Arc::clone(registration), nanoseconds, data });
            } else {
                registration.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The event that a callback is being told of.
    pub(crate) fn current(&self, handle: MPI_T_event_instance) -> Option<Instance> {
        let current = lock(&self.current);
        current.as_ref().filter(|(number, _)| *number == handle.0).map(|(_, instance)| instance.clone())
    }

    /// Calls back, oldest event first. What callbacks cause is delivered, too, but not inside of them.
    pub(super) fn deliver(&self) {
        if self.delivering.swap(true, Ordering::Acquire) {
            return;
        }
        loop {
            // In a statement of its own: a callback may want the lock.
            let next = lock(&self.waiting).pop_front();
            let Some(instance) = next else { break };
            let registration = Arc::clone(&instance.registration);
            let Some(callback) = registration.callback() else { continue };
            let number = self.told.fetch_add(1, Ordering::Relaxed) + 1;
            *lock(&self.current) = Some((number, instance));
            let (instance, handle) = (MPI_T_event_instance(number), registration.handle());
            // SAFETY: a function of the program's, of this type, by MPI's contract with it.
            unsafe { (callback.function)(instance, handle, MPI_T_CB_REQUIRE_NONE, callback.user_data) };
            *lock(&self.current) = None;
        }
        let all = lock(&self.all).clone();
        all.iter().for_each(|registration| registration.tell_of_dropped());
        self.delivering.store(false, Ordering::Release);
    }
}

/// The elements of an event in a C struct.
fn laid_down(
    registration: &Registration,
    value: impl Fn(&Registration, Element) -> Option<u64>,
) -> Option<[u8; BYTES]> {
    let mut data = [0; BYTES];
    let mut place = 0;
    for element in registration.event.elements {
        let value = value(registration, *element)?.to_ne_bytes();
        let (size, end) = (element.size(), place + element.size());
        data[place..end].copy_from_slice(if cfg!(target_endian = "little") {
            &value[..size]
        } else {
            &value[8 - size..]
        });
        place = end;
    }
    Some(data)
}
