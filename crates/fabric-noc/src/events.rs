//! What the machine's events mean for ranks: letters and signals that arrive, transfers that leave and land.

use fabric::Lane;
use sim::{Event, Place, Server, Time};

use crate::cargo::{Cargo, LETTER_BYTES, Letter, LetterKind, Voyage};
use crate::state::{Rest, State};

impl State {
    /// Lets the machine go on until `limit`, or to the first event that concerns a rank; false if there was none.
    pub(crate) fn step_until(&mut self, limit: Time) -> bool {
        let Some((at, event)) = self.machine.step_until(limit) else { return false };
        self.counts.events += 1;
        match event {
            Event::Letter { token, .. } | Event::Timer { token, .. } => self.arrived(at, token),
            Event::Left { token, .. } => self.left(at, token),
            Event::Landed { token, .. } => self.landed(at, token),
        }
        true
    }

    fn arrived(&mut self, at: Time, token: u64) {
        match self.hold.unload(token) {
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
            Cargo::Told { errand } => self.errand_done(at, errand),
            Cargo::End => {}
            Cargo::Transfer(_) | Cargo::Errand(_) => unreachable!("they are not letters"),
        }
    }

    fn deliver(&mut self, to: u32, mut letter: Letter, visible: Time) {
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
        let duration = costs.take + costs.kernel + costs.post;
        let end = self.occupy(Server::Kernel(server), server, at, duration);
        let back = self.seat(asker).place;
        let token = self.hold.stow(Cargo::Answer { asker });
        self.dispatch_at(end, server, back, LETTER_BYTES, token);
    }

    /// A place is asked for an atomic: it does it, and answers after the time that this takes its resource manager or system core.
    fn run_errand(&mut self, at: Time, token: u64, server: Place) {
        let Some(errand) = self.hold.errand(token) else { return };
        errand.run();
        let asker = errand.asker;
        let costs = self.seat(asker).costs;
        let end = if costs.agent > 0 {
            self.occupy(Server::Agent(server), server, at, costs.agent + costs.post)
        } else {
            self.occupy(Server::Kernel(server), server, at, costs.take + costs.kernel + costs.post)
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
        if let Some(Voyage { owner, by_core: true, .. }) = self.hold.voyage(token) {
            let owner = *owner;
            self.unblock(owner, at);
        }
    }

    /// All bytes of a transfer are in place.
    fn landed(&mut self, at: Time, token: u64) {
        let Some(voyage) = self.hold.voyage(token) else { return };
        voyage.copy();
        voyage.done = true;
        let (owner, to, notice, pages) = (voyage.owner, voyage.to, voyage.notice, voyage.pages);
        if let Some(header) = notice {
            let letter = Letter::notice(owner, header, pages);
            self.deliver(to, letter, at);
        }
        self.seat(owner).agent.news = true;
        self.nudge(owner, at);
    }

    /// True if the transfer of a ticket is over; forgets it then.
    pub(crate) fn claim(&mut self, token: u64) -> bool {
        // The result of an atomic comes by letter.
        let (done, owner, by_core) = match self.hold.errand(token) {
            Some(errand) => (errand.done, errand.asker, true),
            None => {
                let voyage = self.hold.voyage(token).expect("an open ticket");
                (voyage.done, voyage.owner, voyage.by_core)
            }
        };
        if !done {
            return false;
        }
        self.hold.unload(token);
        let seat = self.seat(owner);
        seat.tickets -= 1;
        seat.fruitless = 0;
        seat.agent.news &= seat.tickets > 0;
        if !by_core {
            let cost = seat.costs.complete_dma;
            self.charge(owner, cost);
        }
        true
    }
}

impl Voyage {
    /// Moves the bytes.
    fn copy(&self) {
        // SAFETY: the shapes were checked when the transfer was made. By the contract of `Portal::put` the source stays valid
        // until the ticket is done and the target until it is withdrawn, both of which come after this.
        unsafe { ring::transfer::copy(self.source, &self.source_shape, self.target, &self.target_shape) };
    }
}
