//! Barrier by the fabric's counters: a tree of arrivals towards node 0, and releases back (`circle`).
//!
//! Cost: 2 log16 p rounds, 2(p - 1) raised counters in all, no message, no matching; four rounds where the network has multicast. Restrictions: the world communicator alone, where signals reach all of it, and
//! the blocking form alone. The counters belong to the nodes, not to a communicator, so only one communicator can use them; and
//! because a member that is in this barrier is in no other, counting suffices: after barrier k a node's arrivals are k times
//! its children, its releases k.
//!
//! Where the machine has a barrier of its own for all nodes, that is it: every member arrives, and waits until the machine says that all have.
//!
//! A third counter wakes ranks that wait for memory which others write; the memory says what for.

use fabric::{Fabric, Lane as Counter, Lost, MachineBarrier, Node};

use crate::lane::Lane;
use crate::lane::circle::Circle;
use crate::lane::statement::Interest;
use crate::progress::tables::watch::Begin;
use crate::schedule::Identity;
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::ids::ContextId;

/// Raised by a child that has arrived, with all below it.
const ARRIVED: Counter = Counter(0);
/// Raised by the parent when all have arrived.
const RELEASED: Counter = Counter(1);
/// Raised by whoever has written what the node waits for.
const WRITTEN: Counter = Counter(2);

/// What those who watch call it.
const NAME: &str = "barrier";

/// What a rank says that waits here.
const WAITING: Interest<'static> =
    Interest::Collective(Identity { name: NAME, context: ContextId::WORLD, number: -1, bytes: None });

/// True if the barrier of this communicator goes by signals, or by the machine.
#[inline]
pub(crate) fn serves(fabric: &dyn Fabric, comm: &Comm) -> bool {
    comm.context() == ContextId::WORLD && (fabric.caps().world_signals || fabric.world_barrier().is_some())
}

/// Takes notice of members that have arrived at the next barrier already, and of memory that was written. A rank that waits for something else must do so, because
/// a fabric does not put a rank to sleep while a signal is unread.
#[inline]
pub(crate) fn acknowledge(fabric: &dyn Fabric) {
    fabric.raised(ARRIVED);
    fabric.raised(WRITTEN);
}

/// Wakes a node that waits for memory which this one has written.
#[cold]
pub(crate) fn call_up(fabric: &dyn Fabric, node: Node) -> Result<()> {
    raise(fabric, node, WRITTEN)
}

pub(crate) fn run(lane: &Lane, comm: &Comm) -> Result<()> {
    let fabric = lane.fabric();
    lane.begins(|| Begin::Round { collective: NAME, round: 0 });
    if let Some(barrier) = fabric.world_barrier() {
        return meet(lane, barrier);
    }
    let (me, p) = (u64::from(comm.rank()), u64::from(comm.size()));
    let done = lane.signal_barriers.get() + 1;
    lane.signal_barriers.set(done);
    let circle = lane.circle.get_or_init(|| Circle::new(fabric, comm.size()));
    let arrivals = done * circle.children(me, p);
    if fabric.raised(ARRIVED) < arrivals {
        wait(lane, &mut |fabric| fabric.raised(ARRIVED) >= arrivals)?;
    }
    if let Some(parent) = circle.parent(me) {
        raise_member(fabric, comm, parent, ARRIVED)?;
        if fabric.raised(RELEASED) < done {
            wait(lane, &mut |fabric| fabric.raised(RELEASED) >= done)?;
        }
    }
    if let (Some(multicast), heads @ [_, ..]) = (fabric.multicast(), circle.heads()) {
        multicast.raise(heads, RELEASED);
    }
    circle.each_other(me, p, |member| raise_member(fabric, comm, member, RELEASED))
}

/// Meets all others at the machine's own barrier.
fn meet(lane: &Lane, barrier: &dyn MachineBarrier) -> Result<()> {
    let meeting = barrier.arrive();
    if barrier.passed(meeting) {
        return Ok(());
    }
    wait(lane, &mut |_| barrier.passed(meeting))
}

/// One loop for all who have come early.
#[inline(never)]
fn wait(lane: &Lane, done: &mut dyn FnMut(&dyn Fabric) -> bool) -> Result<()> {
    lane.wait_about(WAITING, |lane| done(lane.fabric()))
}

fn raise_member(fabric: &dyn Fabric, comm: &Comm, member: u64, lane: Counter) -> Result<()> {
    raise(fabric, comm.node(member as u32), lane)
}

fn raise(fabric: &dyn Fabric, node: Node, lane: Counter) -> Result<()> {
    fabric.raise(node, lane).map_err(|Lost| Error::PeerLost { node: node.0 })
}
