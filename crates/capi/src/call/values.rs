//! What is known of a call: whose it is, what its error handler belongs to, its arguments as words.

use core::ffi::{c_int, c_void};
use std::cell::OnceCell;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use engine::{Counted, Rank};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::errors::Outcome;
use crate::handles::{CommRef, Errhandler, File, Group, Op, Requests, Type, Window, lane_of};
use crate::process::{Seat, State};

/// What an implementation knows of the call: whose it is and what it is called.
pub(crate) struct Call {
    pub(crate) state: &'static State,
    /// `MPI_Send`, ….
    pub(crate) name: &'static str,
    /// What there is of the lane that it is in: that of the communicator, request or message that it is about, else the first.
    pub(super) seat: &'static Seat,
    /// The engine there, if the process had joined its job when the call began.
    pub(super) rank: Option<&'static Rank>,
}

impl Call {
    /// The function, and where it returns to; 0 if that is unknown.
    pub(crate) fn name_and_site(&self) -> (&'static str, u64) {
        (self.name, self.seat.noted().site())
    }

    /// A call in the first lane.
    #[inline(always)]
    pub(super) fn in_the_first(state: &'static State, name: &'static str) -> Call {
        Call { state, name, seat: &state.first, rank: state.first.joined() }
    }

    /// The lane that it is in.
    #[inline(always)]
    pub(crate) fn lane(&self) -> u32 {
        self.seat.lane
    }

    /// The engine, in this lane. Only called while MPI is active.
    #[inline(always)]
    pub(crate) fn rank(&self) -> &'static Rank {
        match self.rank {
            Some(rank) => rank,
            None => self.seat.rank(),
        }
    }

    /// The requests of this lane.
    #[inline(always)]
    pub(crate) fn requests(&self) -> &'static Requests {
        &self.seat.requests
    }

    /// Whether the function is the form of another with large counts: all numbers have 64 bits, and only such functions are named so (MPI section 19.2).
    pub(crate) fn has_large_counts(&self) -> bool {
        self.name.ends_with("_c")
    }

    /// Does something in another lane; the call is not in its own meanwhile.
    #[inline]
    pub(crate) fn in_lane<T>(&self, lane: u32, act: impl FnOnce(&Call) -> T) -> T {
        if lane == self.lane() {
            return act(self);
        }
        let seat = self.state.seat(lane);
        let there = Call { state: self.state, name: self.name, seat, rank: seat.joined() };
        self.state.cross(lane, || act(&there))
    }

    /// Does something in each lane, one after the other.
    pub(crate) fn in_each_lane(&self, mut act: impl FnMut(&Call) -> Outcome) -> Outcome {
        (0..self.state.number_of_lanes()).try_for_each(|lane| self.in_lane(lane, &mut act))
    }
}

/// A call whose conversions of handles and arrays are the library's one copy (`convert/shared`). It holds the objects that its arguments name until it returns: each of the
/// hundreds of entry points would otherwise give them back by code of its own, and once more in case that a callback throws.
pub(crate) struct Shared {
    call: Call,
    pub(crate) types: Held<Counted<Type>, 3>,
    pub(crate) comms: Held<CommRef, 2>,
    pub(crate) ops: Held<Op, 1>,
    pub(crate) groups: Held<Group, 2>,
    pub(crate) windows: Held<Window, 1>,
    pub(crate) files: Held<Rc<File>, 1>,
    pub(crate) errhandlers: Held<Arc<Errhandler>, 1>,
}

impl Shared {
    pub(super) fn new(call: Call) -> Self {
        Self {
            call,
            types: Held::default(),
            comms: Held::default(),
            ops: Held::default(),
            groups: Held::default(),
            windows: Held::default(),
            files: Held::default(),
            errhandlers: Held::default(),
        }
    }

    /// The call without its objects.
    pub(super) fn give_back(self) -> Call {
        self.call
    }
}

/// Objects of one kind that a call holds.
pub(crate) struct Held<T, const MOST: usize>([OnceCell<T>; MOST]);

impl<T, const MOST: usize> Default for Held<T, MOST> {
    fn default() -> Self {
        Held([const { OnceCell::new() }; MOST])
    }
}

impl<T, const MOST: usize> Held<T, MOST> {
    /// Holds one more.
    ///
    /// # Panics
    /// If no function had as many arguments of the kind when this was written.
    pub(crate) fn hold(&self, object: T) -> &T {
        let free = self.0.iter().find(|place| place.get().is_none());
        free.expect("a place for each argument").get_or_init(|| object)
    }
}

impl Deref for Shared {
    type Target = Call;

    #[inline]
    fn deref(&self) -> &Call {
        &self.call
    }
}

/// The object among the arguments whose error handler is called. In two words, so that it is passed in registers.
#[derive(Clone, Copy)]
pub(crate) enum Scope {
    Comm(MPI_Comm),
    File(MPI_File),
    Request(MPI_Request),
    Session(MPI_Session),
    Win(MPI_Win),
    /// One that is given by its address, which may be null.
    RequestAt(*const MPI_Request),
    MessageAt(*const MPI_Message),
    WinAt(*const MPI_Win),
    FileAt(*const MPI_File),
    /// No file that is open: the handler that files begin with.
    Files,
    /// An array of requests, for the lane only: the errors of each go to its own communicator. So many of them are looked at.
    Requests(*const MPI_Request, c_int),
    /// A communicator that is being made, which is given this error handler (MPI section 7.4.2).
    NewComm(MPI_Errhandler),
    /// A session that is being made, which is given this error handler (MPI section 11.3.1).
    NewSession(MPI_Errhandler),
    /// None of these: MPI_COMM_SELF.
    Process,
}

const _: () = assert!(size_of::<Scope>() == 16);

impl Scope {
    /// The lane that a call about this is in.
    #[inline]
    pub(super) fn lane(self) -> u32 {
        match self {
            Scope::Comm(MPI_Comm(handle))
            | Scope::Request(MPI_Request(handle))
            | Scope::Win(MPI_Win(handle))
            | Scope::File(MPI_File(handle)) => lane_of(handle),
            // SAFETY: the caller's promise: null, or a readable handle.
            Scope::RequestAt(at) => unsafe { at.as_ref() }.map_or(0, |request| lane_of(request.0)),
            // SAFETY: as above.
            Scope::MessageAt(at) => unsafe { at.as_ref() }.map_or(0, |message| lane_of(message.0)),
            // SAFETY: as above.
            Scope::WinAt(at) => unsafe { at.as_ref() }.map_or(0, |window| lane_of(window.0)),
            // SAFETY: as above.
            Scope::FileAt(at) => unsafe { at.as_ref() }.map_or(0, |file| lane_of(file.0)),
            Scope::Requests(at, count) => first_lane(at, count),
            Scope::Files | Scope::Session(_) | Scope::NewComm(_) | Scope::NewSession(_) | Scope::Process => 0,
        }
    }
}

/// The [`Scope`] of a call whose arguments are words: which of them it is about.
#[derive(Clone, Copy)]
pub(crate) enum Whose {
    Comm(u8),
    File(u8),
    Request(u8),
    Session(u8),
    Win(u8),
    RequestAt(u8),
    MessageAt(u8),
    WinAt(u8),
    FileAt(u8),
    Files,
    Requests(u8, u8),
    NewComm(u8),
    NewSession(u8),
    Process,
}

impl Whose {
    pub(super) fn scope(self, words: &[u64]) -> Scope {
        let word = |index: u8| words[usize::from(index)];
        match self {
            Whose::Comm(index) => Scope::Comm(Word::of(word(index))),
            Whose::File(index) => Scope::File(Word::of(word(index))),
            Whose::Request(index) => Scope::Request(Word::of(word(index))),
            Whose::Session(index) => Scope::Session(Word::of(word(index))),
            Whose::Win(index) => Scope::Win(Word::of(word(index))),
            Whose::RequestAt(index) => Scope::RequestAt(Word::of(word(index))),
            Whose::MessageAt(index) => Scope::MessageAt(Word::of(word(index))),
            Whose::WinAt(index) => Scope::WinAt(Word::of(word(index))),
            Whose::FileAt(index) => Scope::FileAt(Word::of(word(index))),
            Whose::Files => Scope::Files,
            Whose::Requests(array, count) => Scope::Requests(Word::of(word(array)), Word::of(word(count))),
            Whose::NewComm(index) => Scope::NewComm(Word::of(word(index))),
            Whose::NewSession(index) => Scope::NewSession(Word::of(word(index))),
            Whose::Process => Scope::Process,
        }
    }
}

/// The lane of the first request that is not null: as a rule that of all of them.
fn first_lane(at: *const MPI_Request, count: c_int) -> u32 {
    if at.is_null() || count <= 0 {
        return 0;
    }
    // SAFETY: the caller's promise: so many readable handles.
    let requests = unsafe { core::slice::from_raw_parts(at, count as usize) };
    let given = requests.iter().find(|request| **request != MPI_REQUEST_NULL);
    given.map_or(0, |request| lane_of(request.0))
}

/// An argument as a word, a number by its value, everything else by its address or handle; and back again.
pub(crate) trait Word {
    fn word(self) -> u64;
    fn of(word: u64) -> Self;
}

macro_rules! word_of_numbers {
    ($($number:ty),*) => {
        $(impl Word for $number {
            #[inline(always)]
            fn word(self) -> u64 {
                self as i64 as u64
            }

            #[inline(always)]
            fn of(word: u64) -> Self {
                word as $number
            }
        })*
    };
}
word_of_numbers!(c_int, i64, isize);

impl<T> Word for *const T {
    #[inline(always)]
    fn word(self) -> u64 {
        self.expose_provenance() as u64
    }

    #[inline(always)]
    fn of(word: u64) -> Self {
        core::ptr::with_exposed_provenance(word as usize)
    }
}

impl<T> Word for *mut T {
    #[inline(always)]
    fn word(self) -> u64 {
        self.expose_provenance() as u64
    }

    #[inline(always)]
    fn of(word: u64) -> Self {
        core::ptr::with_exposed_provenance_mut(word as usize)
    }
}

macro_rules! word_of_handles {
    ($($handle:ident),*) => {
        $(impl Word for $handle {
            #[inline(always)]
            fn word(self) -> u64 {
                self.0 as u64
            }

            #[inline(always)]
            fn of(word: u64) -> Self {
                $handle(word as usize)
            }
        })*
    };
}
word_of_handles!(MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Group, MPI_Info, MPI_Message, MPI_Op);
word_of_handles!(MPI_Request, MPI_Session, MPI_Win);

/// A callback, which may be null, as a word. One function for all of them: some have the same type under two names, and the types have no trait in common.
#[inline(always)]
pub(crate) fn word_of_callback<F: Copy>(callback: F) -> u64 {
    const { assert!(size_of::<F>() == size_of::<*const ()>()) };
    // SAFETY: the address of a function, or none, which is as large as any address.
    unsafe { core::mem::transmute_copy::<F, *const ()>(&callback) }.word()
}

/// The callback that was made a word.
///
/// # Safety
/// It was one of this type.
#[inline(always)]
pub(crate) unsafe fn callback<F: Copy>(word: u64) -> F {
    const { assert!(size_of::<F>() == size_of::<*const ()>()) };
    let address = <*const ()>::of(word);
    // SAFETY: the caller's promise.
    unsafe { core::mem::transmute_copy::<*const (), F>(&address) }
}

/// Whether MPI_IN_PLACE stands where a buffer could.
#[inline]
pub(crate) fn in_place(buffer: *const c_void) -> bool {
    buffer == MPI_IN_PLACE.cast_const()
}

/// The datatype of a buffer, which may be anything if the buffer is MPI_IN_PLACE (spec: `ignored_with`).
#[inline]
pub(crate) fn unless_in_place(buffer: *const c_void, datatype: MPI_Datatype) -> MPI_Datatype {
    if in_place(buffer) { MPI_BYTE } else { datatype }
}
