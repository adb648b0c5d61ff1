//! Ports of an operating system that carries letters and blocks, as Nanvix does for LWMPI: what a message does besides sending and taking.
//!
//! * **Calls.** A port is opened for each message and closed after it. Every such call is served by the system core of the cluster; the numbers of
//!   calls are those of the published sources (`nanvix/libmpi`, `src/mputil/communication.c`; of the raw program `nanvix/benchmarks`, `ipc.c`).
//! * **Polling.** A rank that waits for its mailbox or portal asks the system core again as soon as it was told that there is nothing. The system core
//!   takes the calls of its cores in turn, so a call waits for half of a round of those who ask in vain: a closed queue, whose mean is taken.
//!   The core of a rank that asks sleeps until it is answered; the system core never does while somebody asks.
//! * **The inbox of a cluster.** Requests for all of its ranks come into one mailbox. One of the ranks that wait for requests reads it; the others look
//!   into the list of what was read, again and again, which keeps their cores busy. Its lock is handed over by a call that wakes the next, so as soon
//!   as two contend for it there is one such call more at the system core at any time.
//! * **The gate.** One remote message at a time is received in a cluster, from its confirmation to its acknowledgement. The grant of a receive that has to
//!   wait leaves when it is let in. Nothing else waits with it, and it takes no room in a mailbox meanwhile, so nobody waits for itself.
//! * **Slots.** So many local messages are under way at a time; one more goes as to another cluster.

use std::collections::VecDeque;

use fabric::{Header, PortStep};
use sim::{Place, Server, Time};

use crate::cargo::{Cargo, Letter, LetterKind};
use crate::noc::NocFabric;
use crate::state::State;

/// A remote send: opens a mailbox and a portal, and asks three times for its own node's number, once for the portal.
const SEND_FAR: u32 = 5;
/// Its end: closes both. One of the two calls that name the peer before a read; the other one is the grant's, which no mailbox is read for.
const SENT_FAR: u32 = 3;
/// A local send: opens the mailbox, asks for its node's number.
const SEND_NEAR: u32 = 2;
/// Its end: closes the mailbox.
const SENT_NEAR: u32 = 1;
/// A remote receive: asks for its node's number, opens the mailbox of the answers.
const CONFIRM: u32 = 2;
/// Its end: closes the mailbox.
const ACKNOWLEDGED: u32 = 1;
/// The flag that gives a slot back: asks for its node's number, and wakes the sender.
pub(crate) const FLAG: u32 = 2;
/// A name server reads, opens, writes and closes for an answer.
pub(crate) const ANSWER: u64 = 4;

/// What a rank has under way, and what it waits for.
#[derive(Clone, Copy, Default)]
pub(crate) struct PortSeat {
    far: u32,
    near: u32,
    /// Receives of blocks from the cluster itself, which the system core has to be asked for, and from others, which the portal tells of by itself.
    receiving: u32,
    receiving_far: u32,
    /// It uses the ports by hand.
    raw: bool,
    /// Receives of its that stand before the gate.
    held: u32,
    waiting: Option<(Waiting, Time)>,
}

/// How a rank waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// It asks the system core.
    Asking,
    /// It wants a request out of the cluster's inbox: one reads it, the others spin.
    Inbox,
    /// It is woken.
    Asleep,
}

/// What the ranks of a place share.
pub(crate) struct Desk {
    gate: Gate,
    /// Slots that are free.
    slots: u32,
    asking: u32,
    /// Ranks that wait for requests, in the order in which they came: the first one reads the inbox.
    inbox: VecDeque<u32>,
    /// Since when somebody asks.
    asked_since: Time,
}

/// Lets one rank in at a time, with all its messages.
#[derive(Default)]
struct Gate {
    /// Who is in, once for each message.
    inside: Vec<u32>,
    waiters: VecDeque<Waiter>,
}

/// A receive before the gate, and its grant, once that is written.
struct Waiter {
    rank: u32,
    to: u32,
    header: Header,
    grant: Option<Letter>,
}

impl Desk {
    pub(crate) fn new(slots: u32) -> Desk {
        Desk { gate: Gate::default(), slots, asking: 0, inbox: VecDeque::new(), asked_since: 0 }
    }

    /// How many ask the system core again and again.
    fn askers(&self) -> u32 {
        let reader = u32::from(!self.inbox.is_empty());
        let hands_over = u32::from(self.inbox.len() > 2);
        self.asking + reader + hands_over
    }
}

impl Gate {
    /// True if a receive of `rank` may go on. A rank that is inside is not kept from itself.
    fn enter(&mut self, rank: u32, to: u32, header: Header) -> bool {
        let enters = self.inside.first().is_none_or(|inside| *inside == rank);
        if enters {
            self.inside.push(rank);
        } else {
            self.waiters.push_back(Waiter { rank, to, header, grant: None });
        }
        enters
    }

    /// A receive of `rank` is through: who may go on now.
    fn leave(&mut self) -> Option<Waiter> {
        self.inside.pop();
        let next = if self.inside.is_empty() { self.waiters.pop_front() } else { None };
        self.inside.extend(next.as_ref().map(|waiter| waiter.rank));
        next
    }
}

impl NocFabric {
    /// A step of a message through ports, where the software has them; false if there is no slot.
    pub(crate) fn step(&self, step: PortStep) -> bool {
        if self.board.state.borrow().desks.is_empty() {
            return true;
        }
        if step == PortStep::SendNear && !self.board.state.borrow_mut().take_slot(self.me.0) {
            return false;
        }
        let calls = match step {
            PortStep::SendFar => SEND_FAR,
            PortStep::SentFar => SENT_FAR,
            PortStep::SendNear => SEND_NEAR,
            PortStep::SentNear => SENT_NEAR,
            PortStep::Confirm(..) => CONFIRM,
            PortStep::Acknowledged(_) => ACKNOWLEDGED,
            PortStep::Raw(calls) => calls,
        };
        self.call_kernel_for(self.costs().kernel, calls.into());
        let woken = self.board.state.borrow_mut().step_of(self.me.0, step);
        if woken {
            // Whoever leaves the gate wakes the next.
            self.call_kernel();
        }
        true
    }
}

impl State {
    /// Takes one of the slots of the rank's cluster; false if all are taken.
    fn take_slot(&mut self, rank: u32) -> bool {
        let place = self.seat(rank).place;
        let Some(desk) = self.desks.get_mut(usize::from(place.0)) else { return false };
        let free = desk.slots > 0;
        desk.slots -= u32::from(free);
        free
    }

    /// Notes a step of a rank; true if it lets another go on.
    fn step_of(&mut self, rank: u32, step: PortStep) -> bool {
        let place = self.seat(rank).place;
        let Some(desk) = self.desks.get_mut(usize::from(place.0)) else { return false };
        let seat = &mut self.seats[rank as usize].ports;
        seat.raw = matches!(step, PortStep::Raw(_));
        match step {
            PortStep::SendFar => seat.far += 1,
            PortStep::SentFar => seat.far = seat.far.saturating_sub(1),
            PortStep::SendNear => seat.near += 1,
            PortStep::SentNear => {
                seat.near = seat.near.saturating_sub(1);
                desk.slots += 1;
            }
            PortStep::Confirm(to, header) => {
                let from_here = self.placement.place(to.0) == place;
                *(if from_here { &mut seat.receiving } else { &mut seat.receiving_far }) += 1;
                seat.held += u32::from(!desk.gate.enter(rank, to.0, header));
            }
            PortStep::Acknowledged(to) => {
                let from_here = self.placement.place(to.0) == place;
                let receiving = if from_here { &mut seat.receiving } else { &mut seat.receiving_far };
                *receiving = receiving.saturating_sub(1);
                let next = desk.gate.leave();
                return self.let_in(rank, next);
            }
            PortStep::Raw(_) => {}
        }
        false
    }

    /// Sends off the grant of a receive that may go on, since `by` has left the gate.
    fn let_in(&mut self, by: u32, next: Option<Waiter>) -> bool {
        let Some(Waiter { rank, to, grant, .. }) = next else { return false };
        let now = self.seat(by).clock;
        self.seat(rank).ports.held -= 1;
        if let Some(letter) = grant {
            let (place, bytes) = (self.placement.place(to), letter.bytes());
            self.dispatch_after(now, rank, place, bytes, Cargo::Letter { to, letter });
        }
        true
    }

    /// True if this is the grant of a receive before the gate, which keeps it.
    pub(crate) fn hold_back(&mut self, rank: u32, to: u32, letter: &Letter) -> bool {
        if self.seat(rank).ports.held == 0 {
            return false;
        }
        let place = self.seat(rank).place;
        let Some(desk) = self.desks.get_mut(usize::from(place.0)) else { return false };
        let waits = |waiter: &&mut Waiter| {
            (waiter.rank, waiter.to, waiter.header) == (rank, to, letter.header) && waiter.grant.is_none()
        };
        let Some(waiter) = desk.gate.waiters.iter_mut().find(waits) else { return false };
        // The word of a portal, which needs no room in a mailbox.
        let mut grant = letter.clone();
        grant.kind = LetterKind::Notice;
        waiter.grant = Some(grant);
        true
    }

    /// How long a call waits for those who ask in vain: half of a round of them.
    pub(crate) fn polled(&self, place: Place, call: Time) -> Time {
        self.desks.get(usize::from(place.0)).map_or(0, |desk| Time::from(desk.askers()) * call / 2)
    }

    /// A rank begins to wait.
    pub(crate) fn begins_to_wait(&mut self, rank: u32) {
        let (place, clock) = (self.seat(rank).place, self.seat(rank).clock);
        let Some(desk) = self.desks.get_mut(usize::from(place.0)) else { return };
        let seat = &mut self.seats[rank as usize].ports;
        let waiting = if seat.held > 0 {
            Waiting::Asleep
        } else if seat.raw || seat.far > 0 || seat.receiving > 0 {
            Waiting::Asking
        } else if seat.near > 0 || seat.receiving_far > 0 {
            Waiting::Asleep
        } else {
            Waiting::Inbox
        };
        seat.waiting = Some((waiting, clock));
        let before = desk.askers();
        match waiting {
            Waiting::Asking => desk.asking += 1,
            Waiting::Inbox => desk.inbox.push_back(rank),
            Waiting::Asleep => {}
        }
        if before == 0 {
            desk.asked_since = clock;
        }
    }

    /// A rank has waited until its clock: what that took of cores.
    pub(crate) fn has_waited(&mut self, rank: u32) {
        let (place, clock) = (self.seat(rank).place, self.seat(rank).clock);
        let Some((waiting, since)) = self.seat(rank).ports.waiting.take() else { return };
        let Some(desk) = self.desks.get_mut(usize::from(place.0)) else { return };
        let before = desk.askers();
        let mut spun = None;
        match waiting {
            Waiting::Asking => desk.asking -= 1,
            Waiting::Inbox => {
                let at = desk.inbox.iter().position(|waiter| *waiter == rank).unwrap_or(0);
                desk.inbox.remove(at);
                match (at, desk.inbox.front()) {
                    // The next one reads from now on, and has spun until now.
                    (0, Some(next)) => spun = Some(*next),
                    (0, None) => {}
                    _ => self.machine.active_from(place, since, clock.saturating_sub(since)),
                }
            }
            Waiting::Asleep => {}
        }
        if before > 0 && desk.askers() == 0 {
            let asked = desk.asked_since;
            self.machine.active_from(place, asked, clock.saturating_sub(asked));
        }
        if let Some(reader) = spun
            && let Some((_, since)) = &mut self.seat(reader).ports.waiting
        {
            let from = std::mem::replace(since, clock.max(*since));
            self.machine.active_from(place, from, clock.saturating_sub(from));
        }
    }

    /// Lets a name server answer.
    pub(crate) fn serve_name(&mut self, at: Time, server: Place, call: Time) -> Time {
        let calls = if self.desks.is_empty() { 1 } else { ANSWER };
        self.counts.calls += calls;
        self.occupy(Server::Kernel(server), server, at, call * calls)
    }
}
