//! What the machine's events mean for ranks: letters and signals that arrive, transfers that leave and land.

use fabric::Lane;
use sim::{Event, Mover, Place, Server, Time, Transfer};

use crate::cargo::{Cargo, Carrier, LETTER_BYTES, Letter, LetterKind, Voyage};
use crate::portal::layout;
use crate::state::{Rest, State};

impl State {
    /// Lets the machine go on until `limit`, or to the first event that concerns a rank; false if there was none.
    pub(crate) fn step_until(&mut self, limit: Time) -> bool {
        let Some((at, event)) = self.machine.step_until(limit) else { return false };
        self.counts.events += 1;
        match event {
            Event::Letter { token, to, .. } => {
                let cargo = self.hold.unload_at(token, to);
                self.arrived(at, cargo);
            }
            Event::Timer { token, .. } => {
                let cargo = self.hold.unload(token);
                self.arrived(at, cargo);
            }
            Event::Left { token, .. } => self.left(at, token),
            Event::Landed { token, to } => self.landed(at, token, to),
        }
        true
    }

    fn arrived(&mut self, at: Time, cargo: Cargo) {
        match cargo {
            Cargo::Letter { to, letter } => {
                let (place, agent) = (self.seat(to).place, self.seat(to).costs.agent);
                let visible = if agent > 0 && letter.kind == LetterKind::Mail {
                    self.occupy(Server::Agent(place), place, at, agent)
                } else {
                    at
                };
                self.deliver(to, letter, visible);
            }
            Cargo::Signal { to, lane: Lane(lane) } => {
                self.seat(to).raised[usize::from(lane)] += 1;
                // No business of an agent's: a rank that computes looks when it is done.
                if self.seat(to).rest == Rest::Parked {
                    self.wake(to, at);
                }
            }
            Cargo::Question { asker, server } => self.answer(at, asker, server),
            Cargo::Answer { asker } => self.unblock(asker, at),
            Cargo::Ask { errand, server } => self.run_errand(at, errand, server),
            Cargo::Fetch(transfer) => self.send_asked(at, transfer),
            Cargo::Told { errand } => self.errand_done(at, errand),
            Cargo::Meeting => self.meeting_over(at),
            Cargo::End => {}
            Cargo::Transfer(_)
            | Cargo::Errand(_)
            | Cargo::Shadow { .. }
            | Cargo::Copies { .. }
            | Cargo::Fleet(_) => {
                unreachable!("they are not letters")
            }
        }
    }

    pub(crate) fn deliver(&mut self, to: u32, mut letter: Letter, visible: Time) {
        let inbox = &mut self.seat(to).inbox;
        letter.visible = visible;
        if letter.kind != LetterKind::Mail {
            // It needs no resource manager, but must not overtake letters of its sender that one still handles.
            let before = inbox.iter().filter(|other| other.from == letter.from).map(|other| other.visible);
            letter.visible = letter.visible.max(before.max().unwrap_or(0));
        }
        let visible = letter.visible;
        // Nearly always the end: only what needs no resource manager overtakes.
        let behind = inbox.iter().rev().take_while(|other| other.visible > visible).count();
        inbox.insert(inbox.len() - behind, letter);
        self.nudge(to, visible);
    }

    /// A name server has read a question: it answers after the time that this takes its place's system core.
    fn answer(&mut self, at: Time, asker: u32, server: Place) {
        let costs = self.seat(asker).costs;
        let end = self.serve_name(at + costs.take, server, costs.kernel) + costs.post;
        let back = self.seat(asker).place;
        let token = self.hold.stow(Cargo::Answer { asker });
        self.dispatch_at(end, server, back, LETTER_BYTES, token);
    }

    /// A place is asked for bytes: its resource manager or system core puts them as the asker would.
    fn send_asked(&mut self, at: Time, transfer: Transfer) {
        let Some(voyage) = self.hold.voyage(transfer.token) else { return };
        let (peer, pages, layout) = (voyage.peer, u64::from(voyage.pages), layout(&voyage.source_shape));
        let costs = self.seat(peer).costs;
        if costs.get_dma.is_some() {
            return self.machine.transfer_in(at, transfer, layout);
        }
        let (call, moving) = match transfer.mover {
            Mover::Core { per_byte } => (costs.put_core, per_byte.of(transfer.bytes)),
            Mover::Dma => (costs.put_dma, 0),
        };
        let set_up = call + costs.page_call * pages;
        let (server, handling) = if costs.agent > 0 {
            (Server::Agent(transfer.from), costs.agent)
        } else {
            (Server::Kernel(transfer.from), costs.take + costs.kernel)
        };
        let end = self.occupy(server, transfer.from, at, handling + set_up + moving);
        self.machine.transfer_in(end - moving, transfer, layout);
    }

    /// A place is asked for an atomic: it does it, and answers after the time that this takes its resource manager or system core.
    fn run_errand(&mut self, at: Time, token: u64, server: Place) {
        let Some(errand) = self.hold.errand(token) else { return };
        errand.run();
        let (asker, bytes) = (errand.asker, errand.bytes());
        let costs = self.seat(asker).costs;
        let work = costs.post + costs.copy_per_byte.of(bytes);
        let end = if let Some(law) = costs.accumulate {
            self.occupy(Server::Kernel(server), server, at, law.of(bytes))
        } else if costs.agent > 0 {
            self.occupy(Server::Agent(server), server, at, costs.agent + work)
        } else {
            self.occupy(Server::Kernel(server), server, at, costs.take + costs.kernel + work)
        };
        let back = self.seat(asker).place;
        let answer = self.hold.stow(Cargo::Told { errand: token });
        self.dispatch_at(end, server, back, LETTER_BYTES, answer);
    }

    fn errand_done(&mut self, at: Time, token: u64) {
        let Some(errand) = self.hold.errand(token) else { return };
        errand.done = true;
        let asker = errand.asker;
        self.seat(asker).agent.news = true;
        self.nudge(asker, at);
    }

    /// The last byte of a transfer has left its source: a core that pushed it can go on.
    fn left(&mut self, at: Time, token: u64) {
        if let Some(rank) = self.hold.pusher(token) {
            self.unblock(rank, at);
        }
    }

    /// All bytes of a transfer are in place; those of operands, where they are to be used.
    fn landed(&mut self, at: Time, token: u64, place: Place) {
        if let Some(rank) = self.hold.shadowed(token) {
            self.hold.unload(token);
            return self.unblock(rank, at);
        }
        if self.hold.fleet(token).is_some() {
            return self.landed_at(at, token, place);
        }
        let Some(voyage) = self.hold.voyage(token) else { return self.run_errand(at, token, place) };
        voyage.copy();
        voyage.done = true;
        let (owner, peer, notice) = (voyage.owner, voyage.peer, voyage.notice);
        let (pages, unpack) = (voyage.pages, voyage.unpack);
        if let Some(header) = notice {
            let letter = Letter::notice(owner, header, pages, unpack);
            self.deliver(peer, letter, at);
        }
        self.seat(owner).agent.news = true;
        self.nudge(owner, at);
    }

    /// True if the transfer of a ticket is over; forgets it then.
    pub(crate) fn claim(&mut self, token: u64) -> bool {
        // The result of an atomic comes by letter.
        let (done, owner, end) = if let Some(errand) = self.hold.errand(token) {
            (errand.done, errand.asker, None)
        } else if let Some(fleet) = self.hold.fleet(token) {
            let carrier = if fleet.by_core { Carrier::Core } else { Carrier::Dma };
            (fleet.missing.is_empty(), fleet.owner, Some((carrier, 0, 0)))
        } else {
            let voyage = self.hold.voyage(token).expect("an open ticket");
            (voyage.done, voyage.owner, Some((voyage.carrier, voyage.pages, voyage.unpack)))
        };
        if !done {
            return false;
        }
        self.hold.unload(token);
        let seat = self.seat(owner);
        seat.tickets -= 1;
        seat.fruitless = 0;
        seat.agent.news &= seat.tickets > 0;
        let costs = seat.costs;
        match end {
            Some((Carrier::Dma, ..)) => self.charge(owner, costs.complete_dma),
            // What the end of a transfer costs its receiver, as in `poll`.
            Some((Carrier::Asked, pages, unpack)) => {
                if costs.kernel > 0 {
                    self.call_kernel(owner, costs.kernel + costs.page_call * Time::from(pages));
                }
                self.unpack(owner, unpack);
            }
            _ => {}
        }
        true
    }
}

impl Voyage {
    /// Moves the bytes.
    fn copy(&self) {
        // SAFETY: the shapes were checked when the transfer was made. By the contracts of `Portal::put` and `get` the local side stays valid
        // until the ticket is done and the other until it is withdrawn, both of which come after this.
        unsafe { ring::transfer::copy(self.source, &self.source_shape, self.target, &self.target_shape) };
    }
}
