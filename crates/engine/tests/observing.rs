//! What an observer is told: both sides of a message give it the same number, on every path that it can take.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use corelace_engine::datatype::Basic;
use corelace_engine::memory::{RecvBuffer, SendBuffer};
use corelace_engine::observe::{
    Access, Begin, End, EpochKind, Match, Meeting, MessageNumber, Observer, PostNumber, Wait,
};
use corelace_engine::{
    Aim, Backing, Builtin, Datatype, Dest, Group, Mode, Plan, Rank, Source, Tag, TagMatch,
};
use fabric::Fabric;

use crate::support::{Habits, PLAIN, all_habits, bytes_in, bytes_out, run};

/// Around the limits of all habits.
const SIZES: [usize; 8] = [0, 8, 97, 500, 1001, 5000, 20_000, 70_000];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    SendBegins(MessageNumber, u64),
    SendEnds(MessageNumber),
    Posted(PostNumber),
    Matches(MessageNumber, u64, Option<PostNumber>),
    ReceiveEnds(MessageNumber),
    WaitBegins,
    WaitEnds,
    Round(&'static str, u32),
    Meets(&'static str, Option<u32>, u64, i32),
    CallBegins(&'static str),
    CallEnds,
    WorkBegins,
    WorkEnds,
    Accesses(Access, u32, u64),
    EpochBegins(EpochKind, Option<u32>),
    EpochEnds(EpochKind, Option<u32>),
}

/// What each rank's observer was told, by rank.
#[derive(Clone, Default)]
struct Notebook(Arc<Mutex<HashMap<u32, Vec<Told>>>>);

impl Notebook {
    fn watch(&self, rank: &Rank) {
        rank.observe(Box::new(self.clone()));
    }

    fn note(&self, fabric: &dyn Fabric, told: Told) {
        self.0.lock().unwrap().entry(fabric.me().0).or_default().push(told);
    }

    fn of(&self, rank: u32) -> Vec<Told> {
        self.0.lock().unwrap().get(&rank).cloned().unwrap_or_default()
    }
}

impl Observer for Notebook {
    fn begins(&mut self, fabric: &dyn Fabric, what: &Begin<'_>) {
        match *what {
            Begin::Send { message, transit, done } => {
                self.note(fabric, Told::SendBegins(message, transit.bytes));
                if done {
                    self.ends(fabric, &End::Send(message));
                }
            }
            Begin::Receive { post, .. } => self.note(fabric, Told::Posted(post)),
            Begin::Round { collective, round } => self.note(fabric, Told::Round(collective, round)),
            Begin::Collective(meeting) => {
                assert_eq!(meeting.members.rank_of(fabric.me()), Some(fabric.me().0), "all ranks meet");
                let Meeting { which, root, bytes, number, .. } = meeting;
                self.note(fabric, Told::Meets(which, root, bytes, number));
            }
            Begin::Call { function, .. } => self.note(fabric, Told::CallBegins(function)),
            Begin::Work => self.note(fabric, Told::WorkBegins),
            Begin::Access { kind, target, bytes, .. } => {
                self.note(fabric, Told::Accesses(kind, target.0, bytes));
            }
            Begin::Epoch(epoch) => {
                self.note(fabric, Told::EpochBegins(epoch.kind, epoch.peer.map(|peer| peer.0)));
            }
            Begin::Letter | Begin::Early { .. } | Begin::Region(_) | Begin::Pause => {}
        }
    }

    fn matches(&mut self, fabric: &dyn Fabric, what: &Match<'_>) {
        self.note(fabric, Told::Matches(what.message, what.transit.bytes, what.post));
        if what.done {
            self.ends(fabric, &End::Receive(what.message));
        }
        if what.waited {
            self.waits(fabric, Wait::Ends);
        }
    }

    fn ends(&mut self, fabric: &dyn Fabric, what: &End) {
        match *what {
            End::Send(message) => self.note(fabric, Told::SendEnds(message)),
            End::Receive(message) => self.note(fabric, Told::ReceiveEnds(message)),
            End::Call => self.note(fabric, Told::CallEnds),
            End::Work => self.note(fabric, Told::WorkEnds),
            End::Epoch(epoch) => {
                self.note(fabric, Told::EpochEnds(epoch.kind, epoch.peer.map(|peer| peer.0)));
            }
            End::Region(_) | End::Pause => {}
        }
    }

    fn waits(&mut self, fabric: &dyn Fabric, wait: Wait) {
        let told = match wait {
            Wait::Begins => Told::WaitBegins,
            Wait::Ends => Told::WaitEnds,
        };
        self.note(fabric, told);
    }
}

fn tag(value: usize) -> Tag {
    Tag::new(value as i64).unwrap()
}

/// Messages that are expected, that are not, and whose receives are posted in another order than they are sent in.
fn exchange(rank: &Rank) {
    let world = rank.world();
    let peer = 1 - world.rank();
    let data: Vec<Vec<u8>> = SIZES.iter().map(|size| vec![1; *size]).collect();
    for early in [true, false] {
        let mut rooms: Vec<Vec<u8>> = SIZES.iter().map(|size| vec![0; *size]).collect();
        let mut posted = Vec::new();
        if early {
            for (index, room) in rooms.iter_mut().enumerate().rev() {
                let tag = TagMatch::Is(tag(index));
                posted.push(rank.irecv(&bytes_in(room), Source::Rank(peer), tag, world).unwrap());
            }
        }
        rank.barrier(world).and_then(Plan::wait).unwrap();
        let sent = data.iter().enumerate().map(|(index, data)| {
            rank.isend(Mode::Standard, &bytes_out(data), Dest::Rank(peer), tag(index), world).unwrap()
        });
        let sent: Vec<_> = sent.collect();
        if !early {
            for (index, room) in rooms.iter_mut().enumerate() {
                rank.recv(&bytes_in(room), Source::Rank(peer), TagMatch::Is(tag(index)), world).unwrap();
            }
        }
        for request in posted.into_iter().chain(sent) {
            rank.wait(request).unwrap();
        }
        assert_eq!(rooms, data);
    }
    rank.barrier(world).and_then(Plan::wait).unwrap();
}

#[test]
fn sends_and_receives_of_a_message_have_the_same_number_and_size_on_every_path() {
    for (name, habits) in all_habits() {
        let notes = Notebook::default();
        run(2, habits, |rank| {
            notes.watch(rank);
            if rank.world().size() == 2 {
                exchange(rank);
            }
        });
        for (sender, receiver) in [(0, 1), (1, 0)] {
            let mut sent: Vec<(u64, u64)> = notes
                .of(sender)
                .iter()
                .filter_map(|told| match told {
                    Told::SendBegins(message, bytes) => Some((message.0, *bytes)),
                    _ => None,
                })
                .collect();
            let mut received: Vec<(u64, u64)> = notes
                .of(receiver)
                .iter()
                .filter_map(|told| match told {
                    Told::Matches(message, bytes, _) => Some((message.0, *bytes)),
                    _ => None,
                })
                .collect();
            sent.sort_unstable();
            received.sort_unstable();
            assert_eq!(sent, received, "{name}: from rank {sender} to rank {receiver}");
            let numbers = sent.len();
            sent.dedup_by_key(|(message, _)| *message);
            assert_eq!(sent.len(), numbers, "{name}: a number was used twice");
        }
    }
}

#[test]
fn what_begins_ends_and_every_match_names_its_receive() {
    for (name, habits) in all_habits() {
        let notes = Notebook::default();
        run(2, habits, |rank| {
            notes.watch(rank);
            if rank.world().size() == 2 {
                exchange(rank);
            }
        });
        for rank in 0..2 {
            let told = notes.of(rank);
            let count = |of: fn(&Told) -> bool| told.iter().filter(|told| of(told)).count();
            let sends = count(|told| matches!(told, Told::SendBegins(..)));
            assert_eq!(sends, count(|told| matches!(told, Told::SendEnds(_))), "{name}: rank {rank}");
            let matches = count(|told| matches!(told, Told::Matches(..)));
            assert_eq!(matches, count(|told| matches!(told, Told::ReceiveEnds(_))), "{name}: rank {rank}");
            let begins = count(|told| *told == Told::WaitBegins);
            assert_eq!(begins, count(|told| *told == Told::WaitEnds), "{name}: rank {rank}");
            let mut posts: Vec<PostNumber> = told
                .iter()
                .filter_map(|told| match told {
                    Told::Posted(post) => Some(*post),
                    _ => None,
                })
                .collect();
            for told in &told {
                if let Told::Matches(_, _, post) = told {
                    let post = post.unwrap_or_else(|| panic!("{name}: rank {rank}: {told:?}"));
                    let at = posts.iter().position(|open| *open == post);
                    posts.swap_remove(
                        at.unwrap_or_else(|| panic!("{name}: {post:?} matched twice or before it began")),
                    );
                }
            }
            assert!(posts.is_empty(), "{name}: receives {posts:?} of rank {rank} never matched");
        }
    }
}

#[test]
fn collectives_tell_their_rounds_in_order() {
    let notes = Notebook::default();
    run(4, PLAIN, |rank| {
        notes.watch(rank);
        let mut value = [1u8];
        rank.bcast(&bytes_in(&mut value), 0, rank.world()).and_then(Plan::wait).unwrap();
    });
    let rounds: Vec<_> = notes
        .of(0)
        .iter()
        .filter_map(|told| match told {
            Told::Round(collective, round) => Some((*collective, *round)),
            _ => None,
        })
        .collect();
    assert_eq!(rounds.first(), Some(&("bcast", 0)));
    assert!(rounds.iter().map(|(_, round)| *round).eq(0..rounds.len() as u32), "{rounds:?}");
}

#[test]
fn collectives_tell_what_was_asked_for_alike_at_all_members() {
    let notes = Notebook::default();
    run(3, PLAIN, |rank| {
        notes.watch(rank);
        let world = rank.world();
        let mut value = [1u8; 12];
        let wait = |plan: Plan<'_>| plan.wait().unwrap();
        wait(rank.bcast(&bytes_in(&mut value), 2, world).unwrap());
        let mut blocks = [0u8; 12];
        // SAFETY: `blocks` has a block of four for each of the three members, and outlives the call.
        let block = unsafe { RecvBuffer::new(blocks.as_mut_ptr().cast(), 4, &Datatype::basic(Basic::U8)) };
        wait(rank.allgather(Some(&bytes_out(&value[..4])), &block, world).unwrap());
        let here = (world.rank() == 1).then_some(&block);
        wait(rank.gather(Some(&bytes_out(&value[..4])), here, 1, world).unwrap());
    });
    let meetings = |rank: u32| -> Vec<Told> {
        notes.of(rank).into_iter().filter(|told| matches!(told, Told::Meets(..))).collect()
    };
    let [Told::Meets(_, _, _, first), ..] = meetings(0)[..] else { panic!("{:?}", meetings(0)) };
    let expected = [
        Told::Meets("bcast", Some(2), 12, first),
        Told::Meets("allgather", None, 4, first + 1),
        Told::Meets("gather", Some(1), 4, first + 2),
    ];
    assert!((0..3).all(|rank| meetings(rank) == expected), "{:?}", meetings(0));
}

#[test]
fn an_observer_that_was_paused_goes_on_with_the_right_numbers() {
    let notes = Notebook::default();
    run(2, PLAIN, |rank| {
        notes.watch(rank);
        exchange(rank);
        assert!(rank.pause_observer());
        let before = notes.of(rank.world().rank());
        exchange(rank);
        assert!(!rank.is_observed());
        assert_eq!(notes.of(rank.world().rank()), before, "nothing is told in a pause");
        assert!(rank.resume_observer());
        assert!(!rank.resume_observer(), "nobody is paused any more");
        exchange(rank);
    });
    for (sender, receiver) in [(0, 1), (1, 0)] {
        let sent = numbers(&notes.of(sender), |told| match told {
            Told::SendBegins(message, _) => Some(message.0),
            _ => None,
        });
        let received = numbers(&notes.of(receiver), |told| match told {
            Told::Matches(message, ..) => Some(message.0),
            _ => None,
        });
        let both = sent.iter().filter(|number| received.contains(number)).count();
        // What is under way when a rank pauses or goes on is told by one side at most: messages of a barrier.
        assert!(
            both + 8 >= sent.len().max(received.len()),
            "{both} of {} and {}",
            sent.len(),
            received.len()
        );
    }
}

fn numbers(told: &[Told], of: impl Fn(&Told) -> Option<u64>) -> Vec<u64> {
    let mut numbers: Vec<u64> = told.iter().filter_map(of).collect();
    numbers.sort_unstable();
    let all = numbers.len();
    numbers.dedup();
    assert_eq!(numbers.len(), all, "a number was used twice");
    numbers
}

#[test]
fn waits_are_told_alternately_and_what_ends_has_begun() {
    for (name, habits) in all_habits() {
        let notes = Notebook::default();
        run(2, habits, |rank| {
            notes.watch(rank);
            if rank.world().size() == 2 {
                exchange(rank);
            }
        });
        for rank in 0..2 {
            let (mut waits, mut open) = (false, Vec::new());
            for told in notes.of(rank) {
                match told {
                    Told::WaitBegins | Told::WaitEnds => {
                        assert_ne!(waits, told == Told::WaitBegins, "{name}: rank {rank}: {told:?}");
                        waits = !waits;
                    }
                    Told::SendBegins(message, _) => open.push((message, true)),
                    Told::Matches(message, ..) => open.push((message, false)),
                    Told::SendEnds(message) | Told::ReceiveEnds(message) => {
                        let sent = matches!(told, Told::SendEnds(_));
                        let begun = open.iter().position(|begun| *begun == (message, sent));
                        open.swap_remove(begun.unwrap_or_else(|| panic!("{name}: rank {rank}: {told:?}")));
                    }
                    _ => {}
                }
            }
            assert!(!waits && open.is_empty(), "{name}: rank {rank} still waits ({waits}), or has {open:?}");
        }
    }
}

#[test]
fn calls_and_declared_work_begin_and_end_in_their_order() {
    let notes = Notebook::default();
    run(1, PLAIN, |rank| {
        notes.watch(rank);
        rank.enter("outer", 0);
        rank.compute(1000, 1).unwrap();
        rank.leave();
    });
    let told = [Told::CallBegins("outer"), Told::WorkBegins, Told::WorkEnds, Told::CallEnds];
    assert_eq!(notes.of(0), told);
}

#[test]
fn a_send_that_finds_no_memory_for_its_request_never_began() {
    let notes = Notebook::default();
    run(2, Habits { budget: Some(100_000), ..PLAIN }, |rank| {
        let (world, data, mut room) = (rank.world(), [1; 8], [0; 8]);
        if world.rank() == 1 {
            let mut receive =
                || rank.recv(&bytes_in(&mut room), Source::Rank(0), TagMatch::Any, world).unwrap();
            while receive().tag != TagMatch::Is(tag(1)) {}
            return;
        }
        notes.watch(rank);
        // The other rank, a fiber of the same thread, does not look at its mailbox meanwhile.
        let send = |value| rank.isend(Mode::Standard, &bytes_out(&data), Dest::Rank(1), tag(value), world);
        let begun: Vec<_> = (0..100_000).map_while(|_| send(0).ok()).collect();
        assert!(begun.len() < 100_000, "the mailbox takes everything");
        let told = notes.of(0).iter().filter(|told| matches!(told, Told::SendBegins(..))).count();
        assert_eq!(told, begun.len());
        for request in begun {
            rank.wait(request).unwrap();
        }
        send(1).map(|request| rank.wait(request).unwrap()).unwrap();
    });
}

#[test]
fn one_sided_operations_and_their_epochs_are_told_in_order_and_once() {
    let notes = Notebook::default();
    run(2, PLAIN, |rank| {
        let comm = rank.dup(rank.world()).unwrap();
        let (me, peer) = (comm.rank(), 1 - comm.rank());
        let group = comm.group().clone();
        let window =
            rank.create_window(comm, Backing::Allocated { bytes: 64, contiguous: false }, 8, None).unwrap();
        notes.watch(rank);
        let (data, mut room, long) = ([7u64; 2], [0u64; 2], Datatype::basic(Basic::Long));
        // SAFETY: both outlive the calls.
        let (from, into) = unsafe {
            (
                SendBuffer::new(data.as_ptr().cast(), 2, &long),
                RecvBuffer::new(room.as_mut_ptr().cast(), 2, &long),
            )
        };
        // SAFETY: as above.
        let (one, old) = unsafe {
            (
                SendBuffer::new(data.as_ptr().cast(), 1, &long),
                RecvBuffer::new(room.as_mut_ptr().cast(), 1, &long),
            )
        };
        let aim = |count| Aim { target: peer, displacement: 0, count, datatype: &long };
        rank.fence(&window, false).unwrap();
        if me == 0 {
            rank.put(&window, &from, &aim(2)).unwrap();
        }
        rank.fence(&window, true).unwrap();
        if me == 0 {
            rank.lock_window(&window, Some(peer), true, false).unwrap();
            rank.get(&window, &into, &aim(2)).unwrap();
            rank.accumulate(&window, Some(&from), None, &aim(2), Builtin::Sum).unwrap();
            rank.fetch_and_op(&window, Some(&one), &old, &aim(1), Builtin::Sum).unwrap();
            rank.fetch_and_op(&window, Some(&one), &old, &aim(1), Builtin::Max).unwrap();
            rank.compare_and_swap(&window, &one, &one, &old, &aim(1)).unwrap();
            rank.unlock_window(&window, Some(peer)).unwrap();
            assert!(rank.put(&window, &from, &aim(2)).is_err(), "no epoch is open");
            rank.lock_all(&window, false).unwrap();
            rank.unlock_all(&window).unwrap();
        }
        rank.barrier(rank.world()).and_then(Plan::wait).unwrap();
        let (nobody, other) = (Group::empty(), group.exclude(&[i64::from(me)]).unwrap());
        let (posted, started) = if me == 0 { (&nobody, &other) } else { (&other, &nobody) };
        rank.post(&window, posted, false).unwrap();
        rank.start_access(&window, started, false).unwrap();
        rank.complete_access(&window).unwrap();
        rank.wait_for_access(&window).unwrap();
        // Nobody gives its memory up before all are done with it.
        rank.close_window(&window);
        rank.barrier(rank.world()).and_then(Plan::wait).unwrap();
        rank.free_window(&window, None);
    });
    let of_windows = |rank: u32| -> Vec<Told> {
        let is_one = |told: &Told| matches!(told, Accesses(..) | EpochBegins(..) | EpochEnds(..));
        notes.of(rank).into_iter().filter(is_one).collect()
    };
    use EpochKind::{ExclusiveLock, Exposure, Fence, LockAll};
    use Told::{Accesses, EpochBegins, EpochEnds};
    let fences = [EpochEnds(Fence, None), EpochBegins(Fence, None)];
    let mut first = fences.to_vec();
    first.extend([
        Accesses(Access::Put, 1, 16),
        EpochEnds(Fence, None),
        EpochBegins(ExclusiveLock, Some(1)),
        Accesses(Access::Get, 1, 16),
        Accesses(Access::Accumulate, 1, 16),
        Accesses(Access::Fetch, 1, 8),
        Accesses(Access::Fetch, 1, 8),
        Accesses(Access::Swap, 1, 8),
        EpochEnds(ExclusiveLock, Some(1)),
        EpochBegins(LockAll, None),
        EpochEnds(LockAll, None),
        EpochBegins(EpochKind::Access, Some(1)),
        EpochEnds(EpochKind::Access, Some(1)),
        EpochEnds(Exposure, None),
    ]);
    assert_eq!(of_windows(0), first);
    let mut second = fences.to_vec();
    second.extend([EpochEnds(Fence, None), EpochBegins(Exposure, Some(0)), EpochEnds(Exposure, None)]);
    assert_eq!(of_windows(1), second);
}
