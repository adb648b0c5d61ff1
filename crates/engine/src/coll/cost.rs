//! What schedules cost on a machine of few constants, and that the tables make no cliff there: a little more data, or one member more, never takes more than twice the time, beyond what there is more to do.
//!
//! The machine is chosen, not measured: a message takes 400 ns, of which half is the sender's and half the receiver's; its bytes are moved by the sender, 10 bytes a nanosecond, combining takes as long,
//! a copy inside of a member half as long. Whoever has its core goes on when its messages are there; where members share cores, the job takes at least what all of them do together, divided by the cores.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use std::collections::HashMap;
use std::format;
use std::sync::{LazyLock, Mutex};

use fabric_local::{LocalFabric, NoHooks, Options, Outcome, run_fibers};

use crate::coll::reduce::Reduction;
use crate::coll::{
    Blocks, allgather, allgatherv, allreduce, alltoall, barrier, bcast, gather, reduce, reduce_scatter,
    scatter,
};
use crate::schedule::{Dealing, Schedules, Step, Steps, Workshop};
use crate::values::bounds::{Bound, Bounds};
use crate::values::comm::Comm;
use crate::values::datatype::{Basic, Datatype};
use crate::values::error::Result;
use crate::values::group::Group;
use crate::values::ids::ContextId;
use crate::values::memory::{RecvParts, Region, Scratch};
use crate::values::op::{Builtin, Op};

/// Nanoseconds of a message.
const MESSAGE: f64 = 400.0;
/// Nanoseconds of a byte that a message moves, that is combined, and that is copied.
const MOVED: f64 = 0.1;
const COMBINED: f64 = 0.1;
const COPIED: f64 = 0.05;

/// What a collective takes, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Until the last member is done, each on its own core.
    path: f64,
    /// What all members do together.
    work: f64,
}

impl Cost {
    fn on(&self, cores: f64) -> f64 {
        self.path.max(self.work / cores)
    }
}

/// A step, as far as it takes time.
enum Action {
    Send(u32, f64),
    Receive(u32),
    Wait,
    Local(f64),
}

struct Member {
    actions: Vec<Action>,
    next: usize,
    clock: f64,
    work: f64,
    awaited: VecDeque<u32>,
}

/// Messages on their way from one member to another: when they are there.
type Channels = HashMap<(u32, u32), VecDeque<f64>>;

impl Member {
    fn of(plan: &Steps) -> Member {
        let action = |step: &Step| match step {
            Step::Send { to, region } => Action::Send(*to, region.bytes() as f64 * MOVED),
            Step::Receive { from, .. } => Action::Receive(*from),
            Step::Wait => Action::Wait,
            Step::Combine { inout, .. } => Action::Local(inout.bytes() as f64 * COMBINED),
            Step::Copy { to, .. } => Action::Local(to.bytes() as f64 * COPIED),
            _ => panic!("a collective of the tables has no other steps without multicast"),
        };
        let mut actions: Vec<Action> = plan.steps.iter().map(action).collect();
        actions.push(Action::Wait);
        Member { actions, next: 0, clock: 0.0, work: 0.0, awaited: VecDeque::new() }
    }

    fn spend(&mut self, time: f64) {
        self.clock += time;
        self.work += time;
    }

    /// Goes on as far as messages are there; true if it went on at all.
    fn advance(&mut self, me: u32, channels: &mut Channels) -> bool {
        let start = (self.next, self.awaited.len());
        while let Some(action) = self.actions.get(self.next) {
            match *action {
                Action::Send(to, moving) => {
                    self.spend(MESSAGE / 2.0 + moving);
                    channels.entry((me, to)).or_default().push_back(self.clock);
                }
                Action::Receive(from) => self.awaited.push_back(from),
                Action::Wait | Action::Local(_) => {
                    while let Some(from) = self.awaited.front() {
                        let Some(there) = channels.get_mut(&(*from, me)).and_then(VecDeque::pop_front) else {
                            return (self.next, self.awaited.len()) != start;
                        };
                        self.awaited.pop_front();
                        self.clock = self.clock.max(there);
                        self.spend(MESSAGE / 2.0);
                    }
                    if let Action::Local(time) = self.actions[self.next] {
                        self.spend(time);
                    }
                }
            }
            self.next += 1;
        }
        (self.next, self.awaited.len()) != start
    }
}

/// Lets all members run.
fn run(mut members: Vec<Member>) -> Cost {
    let mut channels = Channels::new();
    let is_done = |member: &Member| member.next == member.actions.len();
    while !members.iter().all(is_done) {
        let mut went_on = false;
        for (me, member) in members.iter_mut().enumerate() {
            went_on |= member.advance(me as u32, &mut channels);
        }
        assert!(went_on, "members wait for each other");
    }
    Cost {
        path: members.iter().map(|member| member.clock).fold(0.0, f64::max),
        work: members.iter().map(|member| member.work).sum(),
    }
}

/// Where plans are made: their memory is named and never touched.
struct Desk<'d> {
    shop: Workshop<'d>,
    memory: Region,
    byte: Datatype,
    word: Datatype,
    sum: Op,
}

/// A collective, and its plan for one member of a communicator, with so many bytes (of each block, where it has blocks).
type Planned = (&'static str, fn(&Desk<'_>, &Comm, u64) -> Result<Steps>);

impl Desk<'_> {
    fn bytes(&self, bytes: u64) -> Region {
        self.memory.retyped(bytes, &self.byte)
    }

    /// Values of eight bytes, at another place.
    fn words(&self, bytes: u64) -> Region {
        self.memory.elements(1 << 40, 0).retyped(bytes / 8, &self.word)
    }

    /// A block for each member, all of them at rank 0.
    fn blocks(&self, bytes: u64, comm: &Comm) -> Result<Blocks> {
        let own = self.words(bytes).retyped(bytes, &self.byte);
        Blocks::of(Some(own), Some(self.bytes(bytes)), 0, comm)
    }

    fn cost(&self, planned: Planned, members: u32, bytes: u64) -> Cost {
        let group = Group::all(members);
        let plan = |rank: u32| {
            let comm = Comm::new(ContextId::WORLD, group.clone(), rank);
            let plan = (planned.1)(self, &comm, bytes).expect("arguments that fit");
            let member = Member::of(&plan);
            self.shop.schedules.recycle(plan, self.shop.fabric.budget());
            member
        };
        run((0..members).map(plan).collect())
    }
}

const COLLECTIVES: [Planned; 10] = [
    (barrier::NAME, |desk, comm, _| barrier::plan(desk.shop, comm)),
    (bcast::NAME, |desk, comm, bytes| bcast::plan(desk.shop, &desk.bytes(bytes), 0, comm)),
    (reduce::NAME, |desk, comm, bytes| {
        let target = (comm.rank() == 0).then(|| desk.memory.retyped(bytes / 8, &desk.word));
        let reduction = Reduction { value: desk.words(bytes), target, root: 0 };
        reduce::plan(desk.shop, &reduction, &desk.sum, comm)
    }),
    (allreduce::NAME, |desk, comm, bytes| {
        let target = desk.memory.retyped(bytes / 8, &desk.word);
        allreduce::plan(desk.shop, &desk.words(bytes), &target, &desk.sum, comm)
    }),
    (gather::NAME, |desk, comm, bytes| gather::plan(desk.shop, &desk.blocks(bytes, comm)?, comm)),
    (scatter::NAME, |desk, comm, bytes| scatter::plan(desk.shop, &desk.blocks(bytes, comm)?, comm)),
    (allgather::NAME, |desk, comm, bytes| {
        let own = desk.words(bytes).retyped(bytes, &desk.byte);
        allgather::plan(desk.shop, &own, &desk.bytes(bytes), comm)
    }),
    (allgatherv::NAME, |desk, comm, bytes| {
        let own = desk.words(bytes).retyped(bytes, &desk.byte);
        let all: Vec<_> = (0..comm.size()).map(|rank| desk.bytes(bytes).block(rank).to_receive()).collect();
        allgatherv::plan(desk.shop, Some(&own.to_send()), &RecvParts::of(&all), comm)
    }),
    (alltoall::NAME, |desk, comm, bytes| {
        let own = desk.words(bytes).retyped(bytes, &desk.byte);
        alltoall::plan(desk.shop, Some(&own), &desk.bytes(bytes), comm)
    }),
    (reduce_scatter::NAME, |desk, comm, bytes| {
        let target = desk.memory.retyped(bytes / 8, &desk.word);
        let send = desk.words(bytes).to_send();
        let dealing = Dealing::even(Some(&send), &target.to_receive(), &desk.sum, comm)?;
        reduce_scatter::plan(desk.shop, &dealing, &desk.sum, comm)
    }),
];

/// Runs something where plans can be made.
fn at_a_desk(body: impl Fn(&Desk<'_>) + Sync) {
    let outcomes =
        run_fibers(&Options { workers: 1, ..Options::new(1) }, &NoHooks, &|fabric: LocalFabric| {
            let schedules = Schedules::new();
            let mut scratch = Scratch::zeroed(8);
            let byte = Datatype::basic(Basic::Byte);
            let desk = Desk {
                shop: Workshop { schedules: &schedules, fabric: &fabric },
                memory: scratch.region(1, &byte),
                word: Datatype::basic(Basic::U64),
                sum: Op::builtin(Builtin::Sum),
                byte,
            };
            body(&desk);
        });
    for outcome in outcomes {
        assert!(matches!(outcome, Outcome::Ended(())), "a test has failed");
    }
}

/// Members: all up to where the tables have bounds, and those around powers of two above.
fn members() -> Vec<u32> {
    (2..=34).chain([63, 64, 65, 127, 128, 129, 170, 171, 199]).collect()
}

/// The most data of all members together: 16 MiB.
const MOST: u64 = 16 << 20;

/// Eight bytes, a little more, twice as much, and so on.
fn sizes() -> Vec<u64> {
    (3..=24).flat_map(|power| [1 << power, (1 << power) + 8]).collect()
}

/// How many times longer a call may take than its neighbour. Beyond 128 members one table cannot serve both machines by less: where ring and tree of a broadcast cross on one, they differ by that on
/// the other.
fn steepest(members: u32) -> f64 {
    if members <= 128 { 2.0 } else { 2.5 }
}

/// How many times the data of a call grow that has a member more: where everybody sends to everybody, with the pairs.
fn growth(name: &str, members: u32) -> f64 {
    let members = f64::from(members);
    let all_to_all =
        [allgather::NAME, allgatherv::NAME, alltoall::NAME, reduce_scatter::NAME].contains(&name);
    if all_to_all { (members + 1.0) / (members - 1.0) } else { members / (members - 1.0) }
}

/// As many cores as members, and two.
const CORES: [(&str, f64); 2] = [("own cores", f64::INFINITY), ("two cores", 2.0)];

fn has_blocks(name: &str) -> bool {
    ![barrier::NAME, bcast::NAME, reduce::NAME, allreduce::NAME].contains(&name)
}

/// The cliffs of a collective along both ways, each as a sentence.
fn cliffs(desk: &Desk<'_>, planned: Planned) -> Vec<String> {
    let name = planned.0;
    let mut found = Vec::new();
    let mut known: HashMap<(u32, u64), Cost> = HashMap::new();
    let mut cost = |members: u32, bytes: u64| {
        *known.entry((members, bytes)).or_insert_with(|| desk.cost(planned, members, bytes))
    };
    let fits = |members: u32, bytes: u64| {
        bytes * u64::from(if has_blocks(name) { members } else { 1 }) <= MOST
            && (name != barrier::NAME || bytes == 8)
    };
    let mut compare = |one: (u32, u64), other: (u32, u64), growth: f64| {
        if !fits(one.0, one.1) || !fits(other.0, other.1) {
            return;
        }
        let (before, after) = (cost(one.0, one.1), cost(other.0, other.1));
        for (where_, cores) in CORES {
            let (before, after) = (before.on(cores), after.on(cores));
            if after > steepest(other.0) * growth * before + 2.0 * MESSAGE {
                found.push(format!(
                    "{name} of {} bytes on {} members: {before:.0} ns, of {} bytes on {}: {after:.0} ns, {where_}",
                    one.1, one.0, other.1, other.0
                ));
            }
        }
    };
    for members in members() {
        for bytes in sizes() {
            compare((members, bytes), (members + 1, bytes), growth(name, members));
            compare((members, bytes), (members, bytes + 8), 1.0);
            compare((members, bytes), (members, 2 * bytes), 2.0);
        }
    }
    found
}

#[test]
fn no_table_makes_a_cliff() {
    let found = Mutex::new(Vec::new());
    at_a_desk(|desk| {
        for planned in COLLECTIVES {
            found.lock().expect("nobody has panicked").extend(cliffs(desk, planned));
        }
    });
    let found = found.into_inner().expect("nobody has panicked");
    assert!(found.is_empty(), "{} cliffs:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_message_costs_what_the_machine_says() {
    at_a_desk(|desk| {
        let bcast = COLLECTIVES[1];
        let cost = desk.cost(bcast, 2, 8000);
        let expected = MESSAGE + 8000.0 * MOVED;
        assert!((cost.path - expected).abs() < 1e-6 && (cost.work - expected).abs() < 1e-6, "{cost:?}");
        assert_eq!(desk.cost(bcast, 1, 8000).path, 0.0);
    });
}

#[test]
fn a_table_with_a_bound_that_is_wrong_has_a_cliff() {
    static WRONG: LazyLock<Bounds> = LazyLock::new(|| {
        let mut wrong = Bounds::BUILT_IN;
        wrong.set(Bound::AllgatherRoundBytes, 64);
        wrong
    });
    at_a_desk(|desk| {
        desk.shop.schedules.set_bounds(&WRONG);
        let planned =
            COLLECTIVES.into_iter().find(|planned| planned.0 == allgather::NAME).expect("it is there");
        assert!(!cliffs(desk, planned).is_empty());
    });
}
