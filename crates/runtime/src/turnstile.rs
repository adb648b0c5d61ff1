//! Threads of one rank taking turns at a lane (MPI_THREAD_MULTIPLE).
//!
//! One thread at a time is *inside*: it uses the lane. A thread that has to wait there gives its turn up meanwhile:
//!
//! ```text
//!            enter                         leave
//!   outside ───────► inside ─────────────────────► outside
//!                     │  ▲
//!          has to wait│  │what it waits for may have come
//!                     ▼  │
//!                   waiting:  one thread *minds* the fabric, and sleeps there; the others sleep until somebody stirs
//! ```
//!
//! Invariants: only who is inside touches the lane, but for the sleep of the one who minds, which reads nothing but the fabric's doorbell. Whoever
//! moves something on stirs: all who wait look again. When the one who minds goes outside, the others are stirred, so that one of
//! them minds next.
//!
//! # The lock
//!
//! A message takes a fifth of a microsecond, and the two atomic read-modify-writes of an ordinary lock a tenth of that. So the turnstile leans towards the
//! thread that uses it: its **habitué**, which comes and goes by plain stores to a *room* of its own. All others go by the `word`, an ordinary lock.
//!
//! ```text
//!  habitué comes                        another comes
//!    1. room := 1                         a. takes the word (one at a time gets here)
//!    2. still the habitué?                b. takes the habitué's name away
//!       yes: inside                       c. barrier on all cores of the process (membarrier)
//!       no:  room := 0, takes the word    d. waits until room = 0: inside
//!  habitué goes                         goes
//!    3. room := 0                         e. gives the word back
//!    4. still the habitué?
//!       no: wakes who waits at d
//! ```
//!
//! * Who is inside has the word, or was the habitué at 2. The barrier at c falls behind step 1 of the habitué, and d sees the room taken; or before it, and 2 sees the name
//!   gone (Dekker's argument, with the cost on one side). The same holds for 3 and 4, so nobody sleeps at d for somebody who has gone.
//! * A thread may be late: it finds its name, is put off the core, and does step 1 long after others have come and gone. So each grant of the name has a room
//!   that no other grant ever uses, and name and room are read as one word. When the rooms are used up the turnstile is an ordinary lock for good.
//! * The name is given by a thread to itself only, while it is inside by the word, which it then gives back. It is taken away at b only. So there is one room
//!   at most that somebody can be inside by: that of the latest grant.
//! * The first thread gets the name at once; later ones when they have come often in a row, twice as often each time.
//! * Where the kernel has no such barrier nobody gets it.
//!
//! All else (`owner`, `depth`, `entries`, `minding`, `sleepers`, …) is written only inside.

mod gate;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, compiler_fence, fence};

use ring::linux::{HeavyBarrier, Sharing, futex_wait, futex_wake, futex_wake_all, yield_core};

pub use gate::TurnstileGate;

/// Nobody has the word.
const FREE: u32 = 0;
/// Somebody has.
const TAKEN: u32 = 1;
/// Somebody has, and others want it.
const WANTED: u32 = 2;

/// Looks at a taken turnstile before a thread sleeps in front of it: a call that does not wait takes less.
const LOOKS: u32 = 200;

/// Times in a row that a thread must have come to become the second habitué. Doubles each time.
const STREAK: u32 = 32;

/// Grants of the habitué's name in the life of a turnstile.
const ROOMS: usize = 8;

/// The room's number lies above a thread's in the name of the habitué: addresses have no more bits.
const THREAD_BITS: u32 = 48;

/// How long who takes the turnstile from its habitué sleeps at most before it looks again.
const LOOK_NS: u64 = 10_000_000;

/// Where threads take turns. Alone on its cache lines: threads of other lanes write elsewhere.
#[derive(Default)]
#[repr(align(128))]
pub struct Turnstile {
    /// The thread that comes and goes without the word, and its room's number above; 0 for none.
    habitue: AtomicUsize,
    /// 1 while a habitué is inside, each of which has one.
    rooms: [AtomicU32; ROOMS],
    /// Rooms that were given away.
    grants: AtomicU32,
    /// The thread that is inside.
    owner: AtomicUsize,
    /// How many calls deep it is: callbacks of the program may call.
    depth: AtomicU32,
    /// It has the word.
    by_word: AtomicBool,
    word: AtomicU32,
    /// 1 while somebody waits for the habitué to go.
    awaited: AtomicU32,
    /// Times that somebody has come in: so a thread that makes way sees that another has come.
    entries: AtomicU32,
    /// Who has come in last.
    last: AtomicUsize,
    /// The thread that minds the fabric; 0 for none.
    minding: AtomicUsize,
    /// It sleeps there.
    asleep: AtomicBool,
    /// Counts stirs: a thread that has let others in sees by it whether to look again.
    stirs: AtomicU32,
    /// Sleeps that no stir has ended.
    #[cfg(test)]
    expired: AtomicU32,
    /// Threads that sleep until the next one.
    sleepers: AtomicU32,
    /// The thread that does nothing but mind; 0 for none.
    agent: AtomicUsize,
    /// The thread that came in last by the word, how often in a row, and whether it was ever another.
    latest: AtomicUsize,
    streak: AtomicU32,
    shared: AtomicBool,
    /// What makes a habitué possible. Not set: none.
    barrier: OnceLock<HeavyBarrier>,
}

/// A number of the calling thread that no other has while it lives.
#[inline(always)]
fn me() -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let own;
        // SAFETY: the first word of a thread's control block is its own address (System V ABI, thread-local storage of x86-64).
        unsafe {
            core::arch::asm!("mov {own}, qword ptr fs:[0]", own = out(reg) own, options(nostack, preserves_flags, readonly, pure));
        }
        own
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: no arguments; the result is this thread's.
    unsafe { libc::__errno_location() }.addr()
}

fn get(counter: &AtomicU32) -> u32 {
    counter.load(Ordering::Relaxed)
}

impl Turnstile {
    /// Lets the turnstile lean towards the thread that uses it, where the kernel can take it away again. Once, before several threads use it.
    pub fn lean(&self) {
        if let Some(barrier) = HeavyBarrier::register(Sharing::Threads) {
            let _ = self.barrier.set(barrier);
        }
    }

    /// The calling thread comes in, as soon as nobody else is inside.
    #[inline]
    pub fn enter(&self) {
        let me = me();
        if self.owner.load(Ordering::Relaxed) == me {
            self.depth.store(get(&self.depth) + 1, Ordering::Relaxed);
        } else {
            self.take(me, 1);
        }
    }

    /// As [`enter`](Turnstile::enter), if it takes nothing but plain stores, as for a habitué from outside; else false, and nothing has happened. For the way of every message: a few
    /// instructions without a call.
    #[inline(always)]
    pub fn slip_in(&self) -> bool {
        let me = me();
        self.owner.load(Ordering::Relaxed) != me && self.comes_as_habitue(me, 1)
    }

    /// As [`leave`](Turnstile::leave), for who slipped in and whom nobody waits for.
    #[inline(always)]
    pub fn slip_out(&self) -> bool {
        if get(&self.depth) != 1 || self.by_word.load(Ordering::Relaxed) || get(&self.sleepers) > 0 {
            return false;
        }
        if self.minding.load(Ordering::Relaxed) == self.owner.load(Ordering::Relaxed) {
            self.minding.store(0, Ordering::Relaxed);
        }
        self.depth.store(0, Ordering::Relaxed);
        self.give();
        true
    }

    /// As [`enter`](Turnstile::enter), unless another is inside: false then.
    pub fn try_enter(&self) -> bool {
        let me = me();
        if self.owner.load(Ordering::Relaxed) == me {
            self.enter();
            return true;
        }
        if self.comes_as_habitue(me, 1) {
            return true;
        }
        if self.word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        self.take_name_away();
        if self.has_guest() {
            self.release_word();
            return false;
        }
        self.settle(me, 1);
        true
    }

    /// The calling thread leaves, unless it is in an inner call.
    #[inline]
    pub fn leave(&self) {
        let depth = get(&self.depth) - 1;
        self.depth.store(depth, Ordering::Relaxed);
        if depth > 0 {
            return;
        }
        if self.minding.load(Ordering::Relaxed) == self.owner.load(Ordering::Relaxed) {
            self.minding.store(0, Ordering::Relaxed);
            self.call_sleepers();
        }
        self.give();
    }

    /// Whether the calling thread is inside.
    #[inline]
    pub fn is_inside(&self) -> bool {
        self.owner.load(Ordering::Relaxed) == me()
    }

    /// How deep the calling thread is inside; 0 if it is not.
    pub fn depth_inside(&self) -> u32 {
        if self.is_inside() { get(&self.depth) } else { 0 }
    }

    /// Gives the turn up, however deep the calling thread is; [`resume`](Turnstile::resume) takes the depth that this returns.
    pub fn pause(&self) -> u32 {
        let depth = get(&self.depth);
        self.give();
        depth
    }

    /// Comes in again as deep as before.
    pub fn resume(&self, depth: u32) {
        self.take(me(), depth);
    }

    /// Whether a thread waits inside and looks after the fabric. From outside, as it was a moment ago.
    pub(crate) fn has_minder(&self) -> bool {
        self.minding.load(Ordering::Relaxed) != 0
    }

    /// How often somebody has come in, and whether the calling thread was the last who did. From outside, as it was a moment ago.
    pub(crate) fn last_entry(&self) -> (u32, bool) {
        (get(&self.entries), self.last.load(Ordering::Relaxed) == me())
    }

    /// The calling thread does nothing but wait: it minds the fabric whenever no other does, and never spins.
    pub fn serve(&self) {
        self.agent.store(me(), Ordering::Relaxed);
    }

    #[inline]
    fn take(&self, me: usize, depth: u32) {
        if !self.comes_as_habitue(me, depth) {
            self.take_word(me, depth);
        }
    }

    /// Steps 1 and 2.
    #[inline(always)]
    fn comes_as_habitue(&self, me: usize, depth: u32) -> bool {
        let name = self.habitue.load(Ordering::Relaxed);
        // Nothing but the room's number is left of the name of the calling thread.
        let room = name ^ me;
        if room & !((ROOMS - 1) << THREAD_BITS) != 0 {
            return false;
        }
        let room = &self.rooms[room >> THREAD_BITS];
        room.store(1, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        if self.habitue.load(Ordering::Relaxed) != name {
            self.vacate(room);
            return false;
        }
        self.by_word.store(false, Ordering::Relaxed);
        self.come(me, depth);
        true
    }

    #[inline]
    fn come(&self, me: usize, depth: u32) {
        self.owner.store(me, Ordering::Relaxed);
        self.last.store(me, Ordering::Relaxed);
        self.depth.store(depth, Ordering::Relaxed);
        self.entries.store(get(&self.entries).wrapping_add(1), Ordering::Relaxed);
    }

    /// Steps a to d.
    #[cold]
    fn take_word(&self, me: usize, depth: u32) {
        if self.word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.queue();
        }
        self.take_name_away();
        let mut looks = 0;
        while self.has_guest() {
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
                continue;
            }
            self.awaited.store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.has_guest() {
                futex_wait(&self.awaited, 1, Sharing::Threads, Some(LOOK_NS));
            }
        }
        self.settle(me, depth);
    }

    /// Steps b and c, by who has the word.
    fn take_name_away(&self) {
        if self.habitue.load(Ordering::Relaxed) == 0 {
            return;
        }
        self.habitue.store(0, Ordering::Relaxed);
        if let Some(barrier) = self.barrier.get() {
            barrier.run();
        }
    }

    /// Whether the last habitué is inside, or seems to be for a moment because it was late. Asked by who has the word.
    fn has_guest(&self) -> bool {
        let grants = get(&self.grants) as usize;
        grants > 0 && self.rooms[(grants - 1) % ROOMS].load(Ordering::Acquire) != 0
    }

    /// This thread has the word, and nobody is inside: it is, now.
    fn settle(&self, me: usize, depth: u32) {
        let streak = if self.latest.load(Ordering::Relaxed) == me {
            get(&self.streak).saturating_add(1)
        } else {
            self.shared.store(self.latest.swap(me, Ordering::Relaxed) != 0, Ordering::Relaxed);
            0
        };
        self.streak.store(streak, Ordering::Relaxed);
        self.by_word.store(true, Ordering::Relaxed);
        self.come(me, depth);
        let grants = get(&self.grants);
        let needed = if grants == 0 { 0 } else { STREAK << (grants - 1) };
        if streak >= needed && (grants as usize) < ROOMS && self.barrier.get().is_some() {
            self.become_habitue(me, grants);
        }
    }

    #[cold]
    fn become_habitue(&self, me: usize, room: u32) {
        self.streak.store(0, Ordering::Relaxed);
        self.grants.store(room + 1, Ordering::Relaxed);
        self.rooms[room as usize].store(1, Ordering::Relaxed);
        self.by_word.store(false, Ordering::Relaxed);
        self.habitue.store(me | (room as usize) << THREAD_BITS, Ordering::Relaxed);
        self.release_word();
    }

    #[cold]
    fn queue(&self) {
        for _ in 0..LOOKS {
            if self.word.load(Ordering::Relaxed) == FREE
                && self.word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return;
            }
            std::hint::spin_loop();
        }
        while self.word.swap(WANTED, Ordering::Acquire) != FREE {
            futex_wait(&self.word, WANTED, Sharing::Threads, None);
        }
    }

    /// Steps 3 and 4, or e.
    #[inline]
    fn give(&self) {
        let me = self.owner.load(Ordering::Relaxed);
        self.owner.store(0, Ordering::Relaxed);
        if self.by_word.load(Ordering::Relaxed) {
            return self.release_word();
        }
        // No other was granted since: that takes being inside.
        let room = &self.rooms[(get(&self.grants) as usize).wrapping_sub(1) % ROOMS];
        room.store(0, Ordering::Release);
        compiler_fence(Ordering::SeqCst);
        if !self.is_habitue(me) {
            self.tell_who_waits();
        }
    }

    #[inline]
    fn is_habitue(&self, thread: usize) -> bool {
        self.habitue.load(Ordering::Relaxed) & ((1 << THREAD_BITS) - 1) == thread
    }

    /// Step 1 undone.
    #[cold]
    fn vacate(&self, room: &AtomicU32) {
        room.store(0, Ordering::Release);
        self.tell_who_waits();
    }

    #[cold]
    fn release_word(&self) {
        if self.word.swap(FREE, Ordering::Release) == WANTED {
            futex_wake(&self.word, Sharing::Threads);
        }
    }

    #[cold]
    fn tell_who_waits(&self) {
        fence(Ordering::SeqCst);
        if self.awaited.swap(0, Ordering::Relaxed) == 1 {
            futex_wake(&self.awaited, Sharing::Threads);
        }
    }

    /// Whether who is inside minds the fabric, with nobody else around. Asked by who is, again and again while it waits.
    #[inline]
    fn is_alone(&self) -> bool {
        let owner = self.owner.load(Ordering::Relaxed);
        self.minding.load(Ordering::Relaxed) == owner
            && self.agent.load(Ordering::Relaxed) == 0
            && !self.by_word.load(Ordering::Relaxed)
            && self.is_habitue(owner)
    }

    /// Whether another thread wants to be inside. Asked by who is.
    #[inline]
    fn is_wanted(&self) -> bool {
        if self.by_word.load(Ordering::Relaxed) {
            return self.word.load(Ordering::Relaxed) == WANTED;
        }
        !self.is_habitue(self.owner.load(Ordering::Relaxed))
    }

    /// Gives the turn up for as long as `meanwhile` takes.
    pub fn outside<T>(&self, meanwhile: impl FnOnce() -> T) -> T {
        let depth = self.pause();
        let result = meanwhile();
        self.resume(depth);
        result
    }

    /// Lets one of those in who want to be inside.
    #[cold]
    fn make_way(&self) {
        let before = get(&self.entries);
        self.outside(|| {
            for _ in 0..LOOKS {
                if get(&self.entries) != before {
                    return;
                }
                yield_core();
            }
        });
    }

    /// Makes those look again who wait. By a thread that is inside, as they were when they said that they
    /// wait or read the count: so none is overlooked.
    #[inline]
    fn call_sleepers(&self) {
        self.stirs.store(get(&self.stirs).wrapping_add(1), Ordering::Relaxed);
        if get(&self.sleepers) > 0 {
            futex_wake_all(&self.stirs, Sharing::Threads);
        }
    }
}

#[cfg(test)]
mod tests;
