//! Letters: three ranks talk in every way there is while the letters of one of them are damaged on their way.
//!
//! A healthy rank must neither panic nor use memory that is not its own, and where it finds that a letter cannot be, it must
//! blame the rank that the letter came from.

use std::cell::RefCell;

use engine::datatype::Basic;
use engine::{
    Builtin, Datatype, Dest, Error, Mode, Op, Protocol, Rank, RecvBuffer, SendBuffer, Source, Tag, TagMatch,
    Tuning,
};
use fabric::Fabric;
use fabric_local::{NoHooks, Options, Outcome, run_fibers};

use crate::forging::{self, FORGER, Forging, Forsaken, Habits};

const RANKS: u32 = 3;

/// The first byte chooses the fabric's habits and the protocols, the others what happens to the letters.
pub fn run(bytes: &[u8]) {
    let (&choice, script) = bytes.split_first().unwrap_or((&0, &[]));
    forging::begin(script);
    let (put, get) = [(true, true), (true, false), (false, false), (false, true)][usize::from(choice) % 4];
    let habits = Habits { put, get, slow: u32::from(choice >> 2) % 3 };
    let protocol = Protocol::NAMES[usize::from(choice >> 4) % Protocol::NAMES.len()].1;
    let options = Options { workers: 1, stack_bytes: 256 << 10, ..Options::new(RANKS) };
    let outcomes = run_fibers(&options, &NoHooks, &|local| {
        let fabric = Forging::new(local, habits);
        let mut tuning = Tuning::for_route(fabric.route(fabric.me()));
        (tuning.eager_max, tuning.receiver_first_min, tuning.share_min) = (400, 401, 9000);
        tuning.protocol = protocol;
        let rank = Rank::new(Box::new(fabric), tuning);
        let outcome = talk(&rank);
        (rank.fabric().me(), outcome)
    });
    ROOMS.take();
    for outcome in outcomes {
        match outcome {
            Outcome::Panicked(cause) if cause.is::<Forsaken>() => {}
            Outcome::Panicked(cause) => std::panic::resume_unwind(cause),
            Outcome::Ended((me, Err(error))) if me != FORGER => match error {
                Error::Malformed { node, .. } => {
                    assert_eq!(node, FORGER.0, "rank {} blames a healthy one: {error}", me.0)
                }
                Error::Internal { .. } => panic!("rank {}: {error}", me.0),
                _ => {}
            },
            // Waiting for a letter that never came is what is left to do where the letter was left out.
            Outcome::Ended(_) | Outcome::Stalled => {}
        }
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for choice in 0..=255u8 {
        if usize::from(choice >> 4) < Protocol::NAMES.len() && choice >> 2 & 3 < 3 {
            seeds.push([&[choice], [0; 64].as_slice()].concat());
        }
    }
    // Every kind of damage once, at different letters.
    for damage in 6..16u8 {
        for quiet in [0, 3, 9, 20] {
            let mut script = vec![0x10 * (damage % 7)];
            script.extend(std::iter::repeat_n(0, quiet));
            script.extend([damage, 5, 13, damage, 2, 8]);
            seeds.push(script);
        }
    }
    seeds
}

/// The conversation.
fn talk(rank: &Rank) -> engine::Result<()> {
    let world = rank.world();
    let me = world.rank();
    let (right, left) = ((me + 1) % RANKS, (me + RANKS - 1) % RANKS);
    for (number, size) in [0usize, 8, 300, 2000, 20_000].into_iter().enumerate() {
        let tag = Tag::own(number as u16);
        let out = room(size, me as u8);
        let first = room(size, 0);
        let incoming = rank.irecv(&first.to_receive(), Source::Rank(left), TagMatch::Is(tag), world)?;
        let outgoing = rank.isend(Mode::Standard, &out.to_send(), Dest::Rank(right), tag, world)?;
        rank.wait(incoming)?;
        rank.wait(outgoing)?;
        // The other way round, to receives that are not posted yet, and by wildcards.
        let outgoing = rank.isend(Mode::Synchronous, &out.to_send(), Dest::Rank(left), tag, world)?;
        let status = rank.probe(Source::Any, TagMatch::Any, world)?;
        let second = room(status.bytes.min(20_000) as usize, 0);
        let status = rank.recv(&second.to_receive(), Source::Any, TagMatch::Any, world)?;
        assert!(matches!(status.source, Source::Rank(source) if source < RANKS), "{status:?}");
        assert!(status.bytes <= second.len as u64, "{status:?} into {} bytes", second.len);
        rank.wait(outgoing)?;
        rank.barrier(world)?.wait()?;
    }
    // Both sides wait: they copy half each where that pays.
    let (out, first) = (room(20_000, 5), room(20_000, 0));
    for turn in 0..RANKS {
        if me == turn {
            rank.send(Mode::Standard, &out.to_send(), Dest::Rank(right), Tag::own(50), world)?;
        } else if left == turn {
            rank.recv(&first.to_receive(), Source::Rank(left), TagMatch::Is(Tag::own(50)), world)?;
        }
    }
    let never = room(3000, 0);
    let unwanted = rank.irecv(&never.to_receive(), Source::Rank(left), TagMatch::Is(Tag::own(99)), world)?;
    rank.cancel(unwanted)?;
    rank.wait(unwanted)?;
    let large = room(3000, 1);
    let unheard = rank.isend(Mode::Standard, &large.to_send(), Dest::Rank(right), Tag::own(98), world)?;
    rank.cancel(unheard)?;
    rank.wait(unheard)?;
    let (sum, mine) = (room(4096, 0), room(4096, 2));
    rank.allreduce(Some(&mine.to_send()), &sum.to_receive(), &Op::builtin(Builtin::Bxor), world)?.wait()?;
    rank.mailbox_write(right, &room(100, 3).to_send())?;
    rank.mailbox_read(&room(112, 0).to_receive())?;
    rank.portal_allow(left)?;
    if me == 0 {
        rank.portal_write(right, &room(5000, 4).to_send())?;
        rank.portal_read(&room(5000, 0).to_receive(), left)?;
    } else {
        rank.portal_read(&room(5000, 0).to_receive(), left)?;
        rank.portal_write(right, &room(5000, 4).to_send())?;
    }
    rank.barrier(world)?.wait()
}

thread_local! {
    /// The memory of all ranks of a job. It outlives the ranks: of those that wait for ever nobody knows what still uses it.
    static ROOMS: RefCell<Vec<Box<[u8]>>> = const { RefCell::new(Vec::new()) };
}

/// Memory of a job.
#[derive(Clone, Copy)]
struct Room {
    base: *mut u8,
    len: usize,
}

fn room(len: usize, fill: u8) -> Room {
    let mut bytes = vec![fill; len].into_boxed_slice();
    let base = bytes.as_mut_ptr();
    ROOMS.with_borrow_mut(|rooms| rooms.push(bytes));
    Room { base, len }
}

impl Room {
    fn to_send(self) -> SendBuffer {
        // SAFETY: the room outlives the job, and the conversation leaves it alone until the operation is complete.
        unsafe { SendBuffer::new(self.base, self.len as u64, &Datatype::basic(Basic::Byte)) }
    }

    fn to_receive(self) -> RecvBuffer {
        // SAFETY: as above.
        unsafe { RecvBuffer::new(self.base, self.len as u64, &Datatype::basic(Basic::Byte)) }
    }
}
