//! [`NocFabric`]: one rank's end of a chip; mailbox, signal, clock, park and memory. The portal is in `portal`.
//!
//! Every method that others can observe, or that observes others, starts with [`Board::settle`](crate::board::Board::settle).

use std::rc::Rc;

use fabric::{
    Armed, Budget, Caps, Clock, Fabric, Header, Idle, Lane, Lost, MachineBarrier, Mailbox, Memory, Multicast,
    Node, Park, PortStep, PostError, Route, Signal, VirtualTime, Woke, Worked,
};
use sim::{CYCLE, IpcCosts, Time};

use crate::board::Board;
use crate::cargo::{Cargo, Letter, LetterKind, SIGNAL_BYTES};
use crate::ports;
use crate::state::Rest;

/// The shortest time for which a rank that looks again and again in vain is sent away.
const LOOK_AGAIN: Time = 100 * CYCLE;
/// It doubles so often.
const LOOK_DOUBLINGS: u32 = 10;

/// One rank's end of a chip in virtual time.
pub struct NocFabric {
    pub(crate) board: Rc<Board>,
    pub(crate) me: Node,
    budget: Budget,
}

impl NocFabric {
    pub(crate) fn new(board: &Rc<Board>, me: Node) -> NocFabric {
        let state = board.state.borrow();
        let budget = state.scratchpads.of_node(&state.placement, me.0);
        NocFabric { board: board.clone(), me, budget }
    }

    /// The call of the system core that every mailbox or portal call makes where the software has one. Its queue must be
    /// joined in the order of time, so the caller's own costs are charged before, and made up for here.
    pub(crate) fn call_kernel(&self) {
        self.call_kernel_for(self.costs().kernel, 1);
    }

    /// What the system core does for each of so many pages of a portal transfer, others' calls in between.
    pub(crate) fn call_kernel_for(&self, duration: Time, times: u64) {
        if duration > 0 {
            for _ in 0..times {
                self.board.settle(self.me);
                self.board.state.borrow_mut().call_kernel(self.me.0, duration);
            }
        }
    }

    /// What a counter says now.
    pub(crate) fn count(&self, counter: usize) -> u64 {
        self.board.settle(self.me);
        let mut state = self.board.state.borrow_mut();
        let seat = state.seat(self.me.0);
        if seat.reported[counter] != seat.raised[counter] {
            seat.reported[counter] = seat.raised[counter];
            seat.fruitless = 0;
        }
        seat.reported[counter]
    }

    /// What calls cost where the rank is.
    pub(crate) fn costs(&self) -> IpcCosts {
        self.board.state.borrow().seats[self.me.0 as usize].costs
    }
}

impl Fabric for NocFabric {
    fn me(&self) -> Node {
        self.me
    }

    fn nodes(&self) -> u32 {
        self.board.state.borrow().placement.nodes()
    }

    fn caps(&self) -> &Caps {
        &self.board.caps
    }

    fn multicast(&self) -> Option<&dyn Multicast> {
        self.by_multicast()
    }

    fn route(&self, peer: Node) -> &Route {
        let state = self.board.state.borrow();
        let place = state.placement.place(peer.0);
        let routes = &self.board.routes[usize::from(place.0)];
        if peer == self.me {
            &routes.own
        } else if place == state.placement.place(self.me.0) {
            &routes.local
        } else {
            &routes.remote
        }
    }
}

impl Mailbox for NocFabric {
    fn try_post(&self, to: Node, header: &Header, payload: &[u8]) -> Result<(), PostError> {
        let most = self.costs().letter_payload as usize;
        assert!(payload.len() <= most, "a letter of {} bytes, at most {most}", payload.len());
        let mut letter = Letter::new(self.me.0, *header, payload, LetterKind::Mail);
        self.board.settle(self.me);
        self.board.look_up(self.me, to);
        if self.board.state.borrow_mut().hold_back(self.me.0, to.0, &letter) {
            self.call_kernel();
            return Ok(());
        }
        let place = {
            let mut state = self.board.state.borrow_mut();
            if !state.take_credit(self.me.0, to.0) {
                return Err(PostError::Full);
            }
            letter.unpack = state.owed(self.me.0, to.0);
            let place = state.placement.place(to.0);
            let seat = state.seat(self.me.0);
            let cost = seat.letter_cost(place) + seat.costs.letter_write.of(payload.len() as u64);
            state.charge(self.me.0, cost);
            place
        };
        self.call_kernel();
        let mut state = self.board.state.borrow_mut();
        state.dispatch(self.me.0, place, letter.bytes(), Cargo::Letter { to: to.0, letter });
        Ok(())
    }

    fn try_flag(&self, to: Node, header: &Header) -> Result<(), PostError> {
        let mut letter = Letter::new(self.me.0, *header, &[], LetterKind::Flag);
        if !self.board.state.borrow().desks.is_empty() {
            self.call_kernel_for(self.costs().kernel, ports::FLAG.into());
        }
        self.board.settle(self.me);
        let mut state = self.board.state.borrow_mut();
        letter.unpack = state.owed(self.me.0, to.0);
        let place = state.placement.place(to.0);
        assert!(place == state.seat(self.me.0).place, "a flag for a rank of another cluster");
        let cost = state.seat(self.me.0).costs.local_call;
        state.charge(self.me.0, cost);
        state.dispatch(self.me.0, place, 0, Cargo::Letter { to: to.0, letter });
        Ok(())
    }

    fn port(&self, step: PortStep) -> bool {
        self.step(step)
    }

    fn poll(&self, limit: usize, sink: &mut dyn FnMut(Node, &Header, &[u8])) -> usize {
        for taken in 0..limit {
            self.board.settle(self.me);
            let letter = {
                let mut state = self.board.state.borrow_mut();
                let seat = state.seat(self.me.0);
                if !seat.has_mail() {
                    return taken;
                }
                seat.fruitless = 0;
                let letter = seat.inbox.pop_front().expect("there is mail");
                let cost = match letter.kind {
                    LetterKind::Mail => {
                        seat.costs.take + seat.costs.letter_read.of(letter.payload().len() as u64)
                    }
                    LetterKind::Flag => seat.costs.local_call,
                    LetterKind::Notice => 0,
                };
                state.charge(self.me.0, cost);
                state.unpack(self.me.0, letter.unpack);
                letter
            };
            if letter.kind != LetterKind::Flag {
                self.call_kernel();
                self.take_pages(letter.pages);
            }
            sink(Node(letter.from), &letter.header, letter.payload());
            if letter.kind == LetterKind::Mail {
                self.board.state.borrow_mut().return_credit(letter.from, self.me.0);
            }
        }
        limit
    }
}

impl Signal for NocFabric {
    fn raise(&self, to: Node, lane: Lane) -> Result<(), Lost> {
        self.board.settle(self.me);
        self.board.look_up(self.me, to);
        let (place, local) = {
            let mut state = self.board.state.borrow_mut();
            let place = state.placement.place(to.0);
            let seat = state.seat(self.me.0);
            let local = place == seat.place;
            let cost = if local { seat.costs.local_call } else { seat.letter_cost(place) };
            state.charge(self.me.0, cost);
            (place, local)
        };
        if !local {
            self.call_kernel();
        }
        let mut state = self.board.state.borrow_mut();
        state.dispatch(self.me.0, place, SIGNAL_BYTES, Cargo::Signal { to: to.0, lane });
        Ok(())
    }

    fn raised(&self, lane: Lane) -> u64 {
        self.count(usize::from(lane.0))
    }

    fn world_barrier(&self) -> Option<&dyn MachineBarrier> {
        self.board.has_barrier.then_some(self)
    }
}

impl Clock for NocFabric {
    fn now(&self) -> u64 {
        self.board.meter(self.me);
        self.board.state.borrow_mut().seat(self.me.0).clock
    }

    fn virtual_time(&self) -> Option<&dyn VirtualTime> {
        Some(self)
    }
}

impl VirtualTime for NocFabric {
    fn cores(&self) -> u32 {
        self.board.cores_of(self.me)
    }

    fn work(&self, cycles: u64, cores: u32, called: bool) -> Worked {
        self.board.meter(self.me);
        let mut state = self.board.state.borrow_mut();
        let work = cycles.saturating_mul(CYCLE);
        let duration = work.saturating_add(self.board.team.overhead(cores));
        let seat = state.seat(self.me.0);
        seat.agent.news |= called;
        let (place, clock) = (seat.place, seat.clock);
        let until = match seat.agent.unfinished.take() {
            Some((left, until)) if left == cycles => until,
            _ => {
                state.counts.worked += cycles.saturating_mul(cores.into());
                state.counts.declared = true;
                // The first core calls the others and waits for them; those are awake for the work alone.
                state.machine.active_from(place, clock, duration);
                for other in 1..cores {
                    let called = clock + self.board.team.fork * Time::from(other);
                    state.machine.active_from(place, called, work);
                }
                clock.saturating_add(duration)
            }
        };
        if !self.board.caps.agent {
            state.seat(self.me.0).clock = until;
            return Worked::Done;
        }
        self.board.work_until(state, self.me, until)
    }

    fn lies_behind(&self, base: *const u8, bytes: usize, subsystem: u32) -> bool {
        let place = self.board.subsystem(subsystem);
        if let Some(place) = place {
            self.board.state.borrow_mut().segments.place(base, bytes, place);
        }
        place.is_some()
    }

    fn copied(&self, bytes: u64) {
        let mut state = self.board.state.borrow_mut();
        let costs = state.seat(self.me.0).costs;
        state.charge(self.me.0, costs.copy_call + costs.copy_per_byte.of(bytes));
    }

    fn as_agent(&self, on: bool) {
        let mut state = self.board.state.borrow_mut();
        let now = state.machine.now();
        let seat = state.seat(self.me.0);
        if on {
            seat.agent.core_clock = Some(seat.clock);
        } else if let Some(core_clock) = seat.agent.core_clock.take() {
            seat.agent.free = seat.clock;
            // What the agent had to see before it acted, the core has waited for, too: both use the rank's state.
            seat.clock = core_clock.max(now);
        }
    }
}

impl Park for NocFabric {
    /// Virtual time does not pass while a rank spins, so there is nothing to be gained by that.
    fn bide(&self, _: u32, idle: Idle) -> Option<Woke> {
        (idle == Idle::Briefly).then(|| self.rest(idle, None))
    }

    /// Nobody else runs until this rank gives way, so there is nobody to tell.
    fn arm(&self) -> Armed {
        Armed(0)
    }

    fn pending(&self) -> bool {
        self.board.settle(self.me);
        let mut state = self.board.state.borrow_mut();
        let seat = state.seat(self.me.0);
        seat.has_mail() || seat.has_signal()
    }

    fn sleep(&self, _: Armed, until: Option<u64>) -> Woke {
        self.rest(Idle::UntilWoken, until)
    }

    fn disarm(&self, _: Armed) {}

    fn park(&self, _: u32, idle: Idle) -> Woke {
        self.rest(idle, None)
    }
}

impl NocFabric {
    /// Virtual time passes until something comes for the rank: a letter, a signal, the end of a transfer, room in a mailbox that refused it.
    /// One that looks in vain for what it could have found, or that
    /// asks to come back although nothing is under way for it, is sent away for longer and longer, so that the others get
    /// on: whatever comes meanwhile still wakes it at its own time.
    fn rest(&self, idle: Idle, until: Option<Time>) -> Woke {
        // One that was not woken sleeps on as if nothing had been.
        if !self.board.glancing.get() {
            self.board.settle(self.me);
            let mut state = self.board.state.borrow_mut();
            let seat = state.seat(self.me.0);
            seat.asleep = true;
            // A transfer may have ended since the rank looked at its ticket: nothing more would wake it.
            let ended = std::mem::take(&mut seat.agent.news);
            // And a mailbox may have room again since it refused a letter.
            let room = std::mem::take(&mut seat.room);
            let ignored = ended || room || seat.has_mail() || seat.has_signal();
            let expects_event = idle == Idle::UntilWoken || seat.refused || seat.tickets > 0;
            let mail = seat.inbox.iter().map(|letter| letter.visible).find(|at| *at > seat.clock);
            let again = (ignored || !expects_event).then(|| {
                let tries = seat.fruitless;
                seat.fruitless += 1;
                seat.clock + tries.checked_sub(2).map_or(0, |times| LOOK_AGAIN << times.min(LOOK_DOUBLINGS))
            });
            seat.rest = Rest::Parked;
            state.begins_to_wait(self.me.0);
            if let Some(at) = mail.into_iter().chain(again).chain(until).min() {
                state.wake(self.me.0, at);
            }
        }
        let woke = self.board.suspend(self.me);
        if woke == Woke::Glance {
            return woke;
        }
        self.board.start_meter();
        let mut state = self.board.state.borrow_mut();
        state.has_waited(self.me.0);
        let seat = state.seat(self.me.0);
        seat.asleep = false;
        // It tries again now, and is told anew if it is refused.
        (seat.refused, seat.room) = (false, false);
        woke
    }
}

impl Memory for NocFabric {
    fn budget(&self) -> &Budget {
        &self.budget
    }

    fn lies_globally(&self, base: *const u8, bytes: usize, global: bool) {
        self.board.state.borrow_mut().lies_globally(base, bytes, global);
    }
}
