//! Multicast between clusters: letters, signals and puts that the routers copy on their way.
//!
//! The caller pays once what it would pay for one receiver, besides what setting up the tree takes; each receiver pays, and has to have room, as if it were alone.

use fabric::{
    CostLaw, Header, Landing, Lane, Mover, Multicast, MulticastLaws, Node, PortalError, PostError, Shape,
    Ticket,
};
use ring::transfer;
use sim::{Chip, Ipc, Memory, Place, Time};

use crate::caps::dma_per_byte;
use crate::cargo::{Cargo, Copied, Letter, LetterKind, SIGNAL_BYTES};
use crate::noc::NocFabric;
use crate::portal::layout;
use crate::state::State;

/// What multicast costs on a chip, and what a core needs more for a letter and for a put than for those to one place; `None` where there is none. A system
/// core, an adapter or several kinds of memory in the way of a message would have to know of it, and do not.
pub(crate) fn laws(chip: &Chip, ipc: &Ipc) -> Option<(MulticastLaws, [Time; 2])> {
    let (data, control) = (chip.network.data.multicast?, chip.network.control.multicast?);
    let calls = &ipc.cluster;
    if calls.kernel > 0 || calls.adapter.is_some() || calls.slots.is_some() || chip.memory.is_some() {
        return None;
    }
    let per_letter = calls.post + calls.reach + calls.agent + calls.take;
    let per_call = 1000 * (calls.put_dma + data.setup);
    let laws = MulticastLaws {
        most: usize::from(data.destinations.min(control.destinations)),
        letter: per_letter + control.setup,
        put: CostLaw { per_byte: dma_per_byte(chip).of(1000), per_call },
        hearing: calls.agent.max(calls.take),
    };
    Some((laws, [control.setup, data.setup]))
}

impl NocFabric {
    /// The network's multicast, where it has one that this software can use.
    pub(crate) fn by_multicast(&self) -> Option<&dyn Multicast> {
        self.board.multicast.is_some().then_some(self)
    }

    /// What multicast costs, and what setting up one of letters and one of data takes a core.
    fn multicast_laws(&self) -> &(MulticastLaws, [Time; 2]) {
        self.board.multicast.as_ref().expect("a chip with multicast")
    }

    /// Where nodes are.
    fn places(&self, to: impl Iterator<Item = Node>) -> Vec<(Place, u32)> {
        let state = self.board.state.borrow();
        let here = state.placement.place(self.me.0);
        let mut places: Vec<(Place, u32)> = Vec::new();
        for Node(node) in to {
            let place = state.placement.place(node);
            let is_new = place != here && places.iter().all(|(other, _)| *other != place);
            assert!(is_new, "a multicast to cluster {}: expected other clusters, each once", place.0);
            places.push((place, node));
        }
        places
    }

    /// Sends a letter or a signal off, to several places.
    fn send_copies(&self, to: Vec<(Place, u32)>, bytes: u32, of: Copied) {
        let mut state = self.board.state.borrow_mut();
        let costs = state.seat(self.me.0).costs;
        state.charge(self.me.0, costs.post + costs.reach + self.multicast_laws().1[0]);
        let places: Vec<Place> = to.iter().map(|(place, _)| *place).collect();
        state.dispatch_to_all(self.me.0, &places, bytes, Cargo::Copies { to, of: Box::new(of) });
    }
}

impl Multicast for NocFabric {
    fn laws(&self) -> &MulticastLaws {
        &self.multicast_laws().0
    }

    fn try_post(&self, to: &[Node], header: &Header, payload: &[u8]) -> Result<(), PostError> {
        let most = self.costs().letter_payload as usize;
        assert!(payload.len() <= most, "a letter of {} bytes, at most {most}", payload.len());
        self.board.settle(self.me);
        to.iter().for_each(|node| self.board.look_up(self.me, *node));
        let places = self.places(to.iter().copied());
        {
            let mut state = self.board.state.borrow_mut();
            let taken = to.iter().take_while(|node| state.take_credit(self.me.0, node.0)).count();
            if taken < to.len() {
                to[..taken].iter().for_each(|node| state.keep_credit(self.me.0, node.0));
                return Err(PostError::Full);
            }
        }
        let letter = Letter::new(self.me.0, *header, payload, LetterKind::Mail);
        self.send_copies(places, letter.bytes(), Copied::Letter(letter));
        Ok(())
    }

    fn raise(&self, to: &[Node], lane: Lane) {
        self.board.settle(self.me);
        to.iter().for_each(|node| self.board.look_up(self.me, *node));
        let places = self.places(to.iter().copied());
        self.send_copies(places, SIGNAL_BYTES, Copied::Signal(lane));
    }

    unsafe fn put(
        &self,
        to: &[Landing],
        local: *const u8,
        bytes: usize,
        mover: Mover,
    ) -> Result<Ticket, PortalError> {
        let shape = Shape::contiguous(0, bytes);
        for landing in to {
            transfer::check(&shape, &landing.key, &shape)?;
        }
        self.board.settle(self.me);
        let places = self.places(to.iter().map(|landing| landing.node));
        let is_outside = |(landing, (place, _)): (&Landing, &(Place, u32))| {
            let segments = &self.board.state.borrow().segments;
            self.board.memory(*place) != Memory::Scratchpad
                || segments.of(transfer::base_of(&landing.key)).is_some()
        };
        if to.iter().zip(&places).any(is_outside) {
            return Err(PortalError::Unreachable);
        }
        let by_core = mover != Mover::Dma || !self.board.caps.dma;
        {
            let mut state = self.board.state.borrow_mut();
            let call = state.seat(self.me.0).put_cost(by_core);
            state.charge(self.me.0, call + self.multicast_laws().1[1]);
        }
        let missing = to.iter().zip(&places).map(|(landing, (place, node))| Berth {
            place: *place,
            node: *node,
            target: transfer::base_of(&landing.key),
            notice: landing.notice,
        });
        let fleet = Fleet { owner: self.me.0, source: local, bytes, by_core, missing: missing.collect() };
        let ends = (self.me.0, to[0].node.0);
        let transfer = self.load(Cargo::Fleet(fleet), (bytes, 1), ends, self.mover(by_core));
        {
            let mut state = self.board.state.borrow_mut();
            let at = state.seat(self.me.0).clock;
            let others: Vec<Place> = places[1..].iter().map(|(place, _)| *place).collect();
            state.machine.multicast(at, transfer, &others, layout(&shape));
        }
        if by_core {
            self.push(self.costs().put_per_byte.of(bytes as u64));
        }
        Ok(Ticket(transfer.token + 1))
    }
}

/// A put to several places.
pub(crate) struct Fleet {
    /// Who has the ticket.
    pub(crate) owner: u32,
    source: *const u8,
    bytes: usize,
    /// The owner's core moves the bytes, and cannot do anything else until they have left.
    pub(crate) by_core: bool,
    /// Where they have not landed yet.
    pub(crate) missing: Vec<Berth>,
}

/// Where a put to several places ends at one of them.
pub(crate) struct Berth {
    place: Place,
    node: u32,
    target: *mut u8,
    notice: Header,
}

impl Fleet {
    /// The bytes are at a place: moves them there. Who is told, and what.
    pub(crate) fn landed(&mut self, place: Place) -> Option<(u32, Header)> {
        let at = self.missing.iter().position(|berth| berth.place == place)?;
        let Berth { node, target, notice, .. } = self.missing.swap_remove(at);
        let shape = Shape::contiguous(0, self.bytes);
        // SAFETY: the shapes were checked when the put was made. By the contract of `Multicast::put` the local side stays valid until the ticket is done,
        // which comes after this, and each region until it is withdrawn, after its notice.
        unsafe { transfer::copy(self.source, &shape, target, &shape) };
        Some((node, notice))
    }
}

impl State {
    /// Sends cargo off at the clock of `rank` to several places at once; not before what the rank sent to any of them earlier.
    fn dispatch_to_all(&mut self, rank: u32, to: &[Place], bytes: u32, cargo: Cargo) {
        let seat = self.seat(rank);
        let from = seat.place;
        let earlier = to.iter().map(|place| *seat.departed(*place)).max();
        let at = seat.clock.max(earlier.unwrap_or(0));
        to.iter().for_each(|place| *seat.departed(*place) = at);
        self.counts.letters += 1;
        let token = self.hold.stow(cargo);
        self.machine.multicast_letter(at, from, to, bytes, token);
    }

    /// All bytes of a put to several places are at one of them.
    pub(crate) fn landed_at(&mut self, at: Time, token: u64, place: Place) {
        let Some(fleet) = self.hold.fleet(token) else { return };
        let (owner, told) = (fleet.owner, fleet.landed(place));
        if let Some((node, notice)) = told {
            self.deliver(node, Letter::notice(owner, notice, 1, 0), at);
        }
        self.seat(owner).agent.news = true;
        self.nudge(owner, at);
    }
}
