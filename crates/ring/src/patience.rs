//! How long a waiter spins before it yields, learnt from how its last waits ended.
//!
//! A waiter with a core of its own should spin: the answer of a peer that runs comes within a microsecond. But the core is its own only
//! as long as no other program wants it. When the awaited rank sits on the *same* core, spinning keeps it from answering, and every
//! message takes as long as the patience of its receiver. That shows: waits end in the first yield, again and again. The waiter then
//! loses its patience and yields almost at once. It finds it again when a wait ends by spinning after all, when yielding did not help
//! either, or for one wait in [`PROBE_EVERY`], to see whether things have changed.
//!
//! **Invariant:** patience changes only how soon a waiter yields, never whether it notices a letter.

use core::cell::Cell;

/// Empty rounds for which a patient waiter spins: some 50 us.
const PATIENT: u32 = 1500;

/// Empty rounds for which an impatient one does: about the time that a peer needs which is just about to answer.
const IMPATIENT: u32 = 16;

/// Yields of a patient waiter before it sleeps.
const PATIENT_YIELDS: u32 = 8;

/// Yields of an impatient one: with the peer on the same core each is a turn for it.
const IMPATIENT_YIELDS: u32 = 64;

/// Waits in a row that must end in a yield before patience is lost: an occasional late answer proves nothing.
const STRIKES: u32 = 4;

/// One wait in so many is patient whatever was learnt: at 50 us a time it costs 0.2 us a message.
const PROBE_EVERY: u32 = 256;

/// The patience of one waiter.
#[derive(Debug)]
pub struct Patience {
    spin: Cell<u32>,
    /// The rounds of the current wait.
    rounds: Cell<u32>,
    strikes: Cell<u32>,
    waits: Cell<u32>,
}

impl Patience {
    /// A waiter that has learnt nothing yet.
    pub const fn new() -> Patience {
        Patience {
            spin: Cell::new(PATIENT),
            rounds: Cell::new(0),
            strikes: Cell::new(0),
            waits: Cell::new(0),
        }
    }

    /// True if the waiter should spin on in this round of its wait.
    #[inline(always)]
    pub fn spins(&self, rounds: u32) -> bool {
        if rounds == 0 {
            self.judge();
        }
        self.rounds.set(rounds);
        rounds < self.spin.get()
    }

    /// True if it should yield in this round, which is no longer one to spin in; false if it should sleep.
    pub fn yields(&self, rounds: u32) -> bool {
        let yields = if self.spin.get() == PATIENT { PATIENT_YIELDS } else { IMPATIENT_YIELDS };
        rounds < self.spin.get() + yields
    }

    /// A new wait begins: what did the last one teach?
    #[inline]
    fn judge(&self) {
        let (rounds, spin) = (self.rounds.get(), self.spin.get());
        if rounds < spin {
            // It ended by spinning, as most do; short of that nothing is to be changed.
            if self.strikes.get() != 0 {
                self.strikes.set(0);
                self.spin.set(PATIENT);
            }
        } else {
            self.judge_yields(rounds);
        }
    }

    #[cold]
    fn judge_yields(&self, rounds: u32) {
        let waits = self.waits.get().wrapping_add(1);
        self.waits.set(waits);
        if !self.yields(rounds) {
            // It slept: the peer was slow, wherever it runs.
            self.strikes.set(0);
            self.spin.set(PATIENT);
            return;
        }
        let strikes = self.strikes.get().saturating_add(1);
        self.strikes.set(strikes);
        let probe = waits.is_multiple_of(PROBE_EVERY);
        self.spin.set(if strikes < STRIKES || probe { PATIENT } else { IMPATIENT });
    }
}

impl Default for Patience {
    fn default() -> Patience {
        Patience::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wait whose message comes after `rounds` empty rounds.
    fn wait(patience: &Patience, rounds: u32) {
        for round in 0..=rounds {
            if !patience.spins(round) {
                patience.yields(round);
            }
        }
    }

    /// For how many rounds the next wait would spin.
    fn spins(patience: &Patience) -> u32 {
        (0..).find(|round| !patience.spins(*round)).unwrap()
    }

    #[test]
    fn answers_that_come_while_spinning_keep_a_waiter_patient() {
        let patience = Patience::new();
        for rounds in [3, 500, 0, 1400, 20] {
            wait(&patience, rounds);
        }
        assert_eq!(spins(&patience), PATIENT);
    }

    #[test]
    fn answers_that_come_with_the_first_yield_again_and_again_make_it_impatient() {
        let patience = Patience::new();
        for _ in 0..STRIKES {
            wait(&patience, PATIENT + 1);
        }
        assert_eq!(spins(&patience), IMPATIENT);
    }

    #[test]
    fn one_late_answer_does_not() {
        let patience = Patience::new();
        wait(&patience, PATIENT + 1);
        wait(&patience, 10);
        wait(&patience, PATIENT + 1);
        assert_eq!(spins(&patience), PATIENT);
    }

    #[test]
    fn an_answer_by_spinning_and_a_wait_that_ends_in_sleep_give_patience_back() {
        for rounds in [5, IMPATIENT + IMPATIENT_YIELDS] {
            let patience = Patience::new();
            for _ in 0..STRIKES {
                wait(&patience, PATIENT + 1);
            }
            wait(&patience, rounds);
            assert_eq!(spins(&patience), PATIENT, "after {rounds} rounds");
        }
    }

    #[test]
    fn an_impatient_waiter_probes_now_and_then() {
        let patience = Patience::new();
        for _ in 0..STRIKES {
            wait(&patience, PATIENT + 1);
        }
        // Each wait ends in the first yield, as if the peer sat on the same core.
        let probes = (0..4 * PROBE_EVERY).filter(|_| {
            patience.spins(0);
            let spin = patience.spin.get();
            (1..=spin).for_each(|round| _ = patience.spins(round));
            spin == PATIENT
        });
        assert_eq!(probes.count(), 4);
    }
}
