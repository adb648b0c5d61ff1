//! What ranks and machine share: the seats, who wakes when, what calls cost, and the room in mailboxes.
//!
//! **Invariants.**
//! * A rank runs only when no event and no other rank is earlier. So whatever a running rank finds here has happened by its clock,
//!   except letters that a resource manager still handles ([`Letter::visible`](crate::cargo::Letter)).
//! * `turns` holds a valid entry `(wake, rank)` for every rank with a `wake`; other entries are stale and skipped.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use fabric::LANES;
use sim::{IpcCosts, Machine, Place, Server, Time};

use crate::barrier::Meeting;
use crate::by_place::ByPlace;
use crate::cargo::{Cargo, Hold, Letter, LetterKind};
use crate::kinds::Kinds;
use crate::placement::Placement;
use crate::ports::{Desk, PortSeat};
use crate::regions::Registered;
use crate::scratchpad::{MAILBOX, Scratchpads};
use crate::segments::Segments;

/// What a rank does while it does not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rest {
    /// It runs, or waits for its turn.
    None,
    /// Until something comes for it.
    Parked,
    /// It computes until then; its agent may be called before.
    Working(Time),
    /// Inside a call of the fabric, until that is over.
    Blocked,
    /// For good.
    Ended,
}

/// One rank, as others see it.
pub(crate) struct Seat {
    pub(crate) place: Place,
    pub(crate) costs: IpcCosts,
    pub(crate) clock: Time,
    pub(crate) rest: Rest,
    /// When it gets its turn, if that is known.
    wake: Option<Time>,
    /// Sorted by the time from which each is visible.
    pub(crate) inbox: VecDeque<Letter>,
    /// The counters, and one more for the machine's barrier.
    pub(crate) raised: [u64; LANES + 1],
    pub(crate) reported: [u64; LANES + 1],
    /// What each place has of this rank's mailbox.
    credits: ByPlace<Credit>,
    /// When the last letter to each place left. A core's clock may be behind that of the agent that posted before it.
    departed: ByPlace<Time>,
    /// A post was refused since this rank last parked.
    pub(crate) refused: bool,
    /// Room came back for it while it did not rest: it must not rest before it has tried again.
    pub(crate) room: bool,
    /// Transfers whose tickets are open.
    pub(crate) tickets: u32,
    /// Parks in a row that found nothing.
    pub(crate) fruitless: u32,
    /// It waits in a park.
    pub(crate) asleep: bool,
    pub(crate) agent: AgentSeat,
    pub(crate) ports: PortSeat,
    /// Receivers and bytes that they have still to move into their local memory: told with the next letter.
    pub(crate) owed: Vec<(u32, u64)>,
    /// Memory that the adapter knows, what was used last first.
    pub(crate) regions: Vec<Registered>,
    /// Who registers it, if the rank itself may not.
    pub(crate) delegate: Option<Place>,
}

/// What one place has of a rank's mailbox: room is booked letter by letter, as it is needed, and kept.
#[derive(Clone, Copy, Default)]
struct Credit {
    booked: u32,
    free: u32,
}

/// The helper core, as far as it works for one rank.
#[derive(Clone, Copy, Default)]
pub(crate) struct AgentSeat {
    /// The clock of the rank's own core, while the agent acts for the rank.
    pub(crate) core_clock: Option<Time>,
    /// When the agent has finished what it did last.
    pub(crate) free: Time,
    /// A transfer has ended that nobody has looked at.
    pub(crate) news: bool,
    /// Work that was interrupted: cycles left as the rank was told, and when it will be done.
    pub(crate) unfinished: Option<(u64, Time)>,
}

/// Everything but the fibers.
pub(crate) struct State {
    pub(crate) machine: Machine,
    pub(crate) seats: Vec<Seat>,
    pub(crate) hold: Hold,
    turns: BinaryHeap<Reverse<(Time, u32)>>,
    pub(crate) scratchpads: Scratchpads,
    pub(crate) placement: Placement,
    /// The kinds of memory, where there are several.
    pub(crate) kinds: Option<Kinds>,
    /// Memory of ranks that is behind other I/O subsystems than their own.
    pub(crate) segments: Segments,
    /// The machine's own barrier, where it has one.
    pub(crate) barrier: Option<Meeting>,
    /// What the ranks of each place share of their system's ports; empty where there are none.
    pub(crate) desks: Vec<Desk>,
    pub(crate) counts: Counts,
    pub(crate) complaints: Vec<String>,
}

/// What is counted besides what the machine counts.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) letters: u64,
    pub(crate) local_letters: u64,
    pub(crate) transfers: u64,
    pub(crate) bytes: u64,
    pub(crate) barriers: u64,
    pub(crate) copies: u64,
    pub(crate) worked: u64,
    pub(crate) declared: bool,
    pub(crate) registrations: u64,
    pub(crate) registered_before: u64,
    pub(crate) evictions: u64,
    pub(crate) shadowed: u64,
    /// Calls that system cores have served, but for those that asked in vain.
    pub(crate) calls: u64,
    /// Letters of the name service.
    pub(crate) name_letters: u64,
    pub(crate) events: u64,
}

impl State {
    pub(crate) fn new(
        machine: Machine,
        placement: Placement,
        scratchpads: Scratchpads,
        costs: impl Fn(Place) -> IpcCosts,
    ) -> State {
        let seat = |node: u32| {
            let place = placement.place(node);
            Seat {
                place,
                costs: costs(place),
                clock: 0,
                rest: Rest::None,
                wake: None,
                inbox: VecDeque::new(),
                raised: [0; LANES + 1],
                reported: [0; LANES + 1],
                credits: ByPlace::new(),
                departed: ByPlace::new(),
                refused: false,
                room: false,
                tickets: 0,
                fruitless: 0,
                asleep: false,
                agent: AgentSeat::default(),
                ports: PortSeat::default(),
                owed: Vec::new(),
                regions: Vec::new(),
                delegate: None,
            }
        };
        let mut state = State {
            machine,
            seats: (0..placement.nodes()).map(seat).collect(),
            hold: Hold::default(),
            turns: BinaryHeap::new(),
            scratchpads,
            placement,
            kinds: None,
            segments: Segments::default(),
            barrier: None,
            desks: Vec::new(),
            counts: Counts::default(),
            complaints: Vec::new(),
        };
        for node in 0..state.placement.nodes() {
            // The I/O rank starts the others.
            let after_io = state.placement.io_rank().is_some_and(|io| io != node);
            state.wake(node, Time::from(after_io));
        }
        state
    }

    #[inline]
    pub(crate) fn seat(&mut self, rank: u32) -> &mut Seat {
        &mut self.seats[rank as usize]
    }

    /// Gives `rank` its turn at `at`, or earlier if that is already settled.
    pub(crate) fn wake(&mut self, rank: u32, at: Time) {
        let seat = self.seat(rank);
        let at = at.max(seat.clock);
        if seat.wake.is_none_or(|wake| at < wake) {
            seat.wake = Some(at);
            self.turns.push(Reverse((at, rank)));
        }
    }

    /// The rank whose turn is next, and when.
    #[inline]
    pub(crate) fn next_turn(&mut self) -> Option<(Time, u32)> {
        while let Some(&Reverse((at, rank))) = self.turns.peek() {
            if self.seats[rank as usize].wake == Some(at) {
                return Some((at, rank));
            }
            self.turns.pop();
        }
        None
    }

    /// Lets the rank that [`next_turn`](State::next_turn) named go on.
    pub(crate) fn take_turn(&mut self, at: Time, rank: u32) {
        self.turns.pop();
        let seat = self.seat(rank);
        seat.wake = None;
        seat.clock = seat.clock.max(at);
        seat.rest = Rest::None;
    }

    /// Something has come for `rank` that it may see from `at` on.
    pub(crate) fn nudge(&mut self, rank: u32, at: Time) {
        let seat = self.seat(rank);
        match seat.rest {
            Rest::Parked => self.wake(rank, at),
            Rest::Working(until) => {
                let at = at.max(seat.agent.free);
                if at < until {
                    self.wake(rank, at);
                }
            }
            Rest::None | Rest::Blocked | Rest::Ended => {}
        }
    }

    /// Lets a rank go on that waits inside a call.
    pub(crate) fn unblock(&mut self, rank: u32, at: Time) {
        if self.seat(rank).rest == Rest::Blocked {
            self.wake(rank, at);
        }
    }

    /// Lets `cost` pass on the core that acts for the rank.
    pub(crate) fn charge(&mut self, rank: u32, cost: Time) {
        let Seat { place, clock, agent, .. } = self.seats[rank as usize];
        let end = if agent.core_clock.is_some() {
            self.occupy(Server::Agent(place), place, clock, cost)
        } else {
            self.machine.active_from(place, clock, cost);
            clock.saturating_add(cost)
        };
        self.seat(rank).clock = end;
    }

    /// Lets the system core of the rank's place work for it.
    pub(crate) fn call_kernel(&mut self, rank: u32, duration: Time) {
        let Seat { place, clock, costs, .. } = self.seats[rank as usize];
        let at = clock + self.polled(place, costs.kernel);
        self.counts.calls += 1;
        self.seat(rank).clock = self.occupy(Server::Kernel(place), place, at, duration);
    }

    /// Lets a server of the place work; when it is done.
    pub(crate) fn occupy(&mut self, server: Server, place: Place, at: Time, duration: Time) -> Time {
        let served = self.machine.serve(server, at, duration);
        self.machine.active_from(place, served.start, duration);
        served.end
    }

    /// Sends cargo off at the clock of `rank`, to another place or inside its own; not before what the rank sent there earlier.
    pub(crate) fn dispatch(&mut self, rank: u32, to: Place, bytes: u32, cargo: Cargo) {
        let clock = self.seat(rank).clock;
        self.dispatch_after(clock, rank, to, bytes, cargo);
    }

    /// The same at another time.
    pub(crate) fn dispatch_after(&mut self, time: Time, rank: u32, to: Place, bytes: u32, cargo: Cargo) {
        let seat = self.seat(rank);
        let from = seat.place;
        let departed = seat.departed.of(to);
        let at = time.max(*departed);
        *departed = at;
        let is_flag = matches!(&cargo, Cargo::Letter { letter, .. } if letter.kind == LetterKind::Flag);
        let token = self.hold.stow(cargo);
        if is_flag {
            // No letter: nobody carries it.
            return self.machine.timer(at, to, token);
        }
        self.dispatch_at(at, from, to, bytes, token);
    }

    /// Sends cargo off that no rank sends.
    pub(crate) fn dispatch_at(&mut self, at: Time, from: Place, to: Place, bytes: u32, token: u64) {
        if from == to {
            self.counts.local_letters += 1;
            self.machine.timer(at, to, token);
        } else {
            self.counts.letters += 1;
            self.machine.letter(at, from, to, bytes, token);
        }
    }

    /// Takes room for one letter in the mailbox of `to`; false if there is none.
    pub(crate) fn take_credit(&mut self, from: u32, to: u32) -> bool {
        let place = self.placement.place(from);
        let mut credit = *self.seat(to).credits.of(place);
        if credit.free == 0 && credit.booked < self.seat(to).costs.letter_slots.max(1) {
            let slot = fabric::HEADER_BYTES + self.seat(to).costs.letter_payload as usize;
            match self.scratchpads.of_node(&self.placement, to).reserve(MAILBOX, slot) {
                Ok(()) => credit = Credit { booked: credit.booked + 1, free: 1 },
                // With some room, it comes back; without any, letters of that place can never come in.
                Err(exceeded) if credit.booked == 0 => self.complaints.push(format!(
                    "rank {to} has no memory for letters from cluster {}: {exceeded}",
                    place.0
                )),
                Err(_) => {}
            }
        }
        let free = credit.free > 0;
        credit.free -= u32::from(free);
        *self.seat(to).credits.of(place) = credit;
        self.seat(from).refused |= !free;
        free
    }

    /// Gives room back that was taken for a letter which is not sent.
    pub(crate) fn keep_credit(&mut self, from: u32, to: u32) {
        let place = self.placement.place(from);
        self.seat(to).credits.of(place).free += 1;
    }

    /// Gives the room of a letter from `from` to `to` back, and wakes those who wait for it.
    pub(crate) fn return_credit(&mut self, from: u32, to: u32) {
        let (place, at) = (self.placement.place(from), self.seat(to).clock);
        self.seat(to).credits.of(place).free += 1;
        for index in 0..self.placement.residents(place).len() {
            let rank = self.placement.residents(place)[index];
            let seat = self.seat(rank);
            if seat.refused {
                // Between the refusal and its rest the rank gives way now and then, and is not nudged: it would sleep on room.
                seat.room = true;
                self.nudge(rank, at);
            }
        }
    }
}

impl Seat {
    /// True if a letter waits that the rank may take.
    pub(crate) fn has_mail(&self) -> bool {
        self.inbox.front().is_some_and(|letter| letter.visible <= self.clock)
    }

    /// True if a lane was raised that the rank has not looked at.
    pub(crate) fn has_signal(&self) -> bool {
        self.raised != self.reported
    }

    /// When the last letter to a place left.
    pub(crate) fn departed(&mut self, to: Place) -> &mut Time {
        self.departed.of(to)
    }

    /// What sending a letter to a place costs the core.
    pub(crate) fn letter_cost(&self, to: Place) -> Time {
        self.costs.post + if to == self.place { 0 } else { self.costs.reach }
    }

    /// What setting up a put costs the core.
    pub(crate) fn put_cost(&self, by_core: bool) -> Time {
        if by_core { self.costs.put_core } else { self.costs.put_dma }
    }
}
