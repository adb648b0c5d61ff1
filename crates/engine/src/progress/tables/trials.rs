//! Which of two ways suits the messages to a peer, found out by trying both.
//!
//! What a long message costs is not seen where it is moved alone. If its receiver reads the sender's memory, the sender's next stores to it have to take every line back, and if the sender
//! writes the receiver's, so have the receiver's loads: that time is the program's, and no clock around a copy shows it. What shows all of it is the time from one turn to the next.
//! A *turn* is what a rank sends to a peer until it has heard from it, or has got a long message from anybody: one message of an exchange, of a round trip or around a ring, or all those that a peer answers at once. Turns
//! of either way are timed, and the quicker way stays ([`Trial`]): an offer, which is one copy, or letters, which are two.
//!
//! Where both send long messages to each other neither can find out alone what suits both: each would see half of it. So the one of the lower number tries, and the other does what it has seen come.
//!
//! A rank that hears nothing has no turns, and offers everything.

use alloc::boxed::Box;

use crate::values::trial::{self, Copies, Trial};

/// Messages of half as many bytes as of another class, or fewer, may want another way. The first class is that of 32 KiB and less, the last has no end.
const CLASSES: usize = 8;
const FIRST_CLASS: u32 = 15;

/// Turns with one peer.
#[derive(Debug, Default)]
pub(crate) struct Trials(Option<Box<State>>);

#[derive(Debug)]
struct State {
    trials: [Trial; CLASSES],
    /// When the turn began.
    begun: u64,
    /// Messages that end turns and had arrived by then.
    seen: u64,
    /// Bytes of the turn.
    bytes: u64,
    /// The class of its messages, if it is to be timed: not if they are of several classes, or follow the peer.
    class: Option<usize>,
    /// What the peer leads to in this turn.
    follows: Option<(usize, Copies)>,
    /// And in the next.
    heard: Option<(usize, Copies)>,
}

impl Trials {
    /// The way of a message of so many bytes that is sent now, when so many messages have arrived that end a turn. Letters of one turn
    /// are of no more than `most` bytes together: a receiver that does not take them has to keep them.
    pub fn way(&mut self, now: u64, seen: u64, bytes: u64, most: u64) -> Copies {
        let class = class_of(bytes);
        let state = self.0.get_or_insert_with(|| Box::new(State::new(seen)));
        if state.bytes == 0 || state.seen != seen {
            state.turn_ends(now);
            (state.begun, state.seen, state.bytes, state.class) = (now, seen, 0, Some(class));
            state.follows = state.heard.take();
        }
        let led = state.led(class);
        if led.is_some() || state.class != Some(class) {
            state.class = None;
        }
        state.bytes += bytes;
        if state.bytes > most { Copies::One } else { led.unwrap_or(state.trials[class].way()) }
    }

    /// The way that messages of so many bytes go in this turn, if it is not over.
    pub fn last_way(&self, bytes: u64) -> Copies {
        let class = class_of(bytes);
        self.0.as_ref().map_or(Copies::One, |state| state.led(class).unwrap_or(state.trials[class].way()))
    }

    /// A message of so many bytes has come this way from a peer that leads.
    pub fn follow(&mut self, bytes: u64, way: Copies) {
        if let Some(state) = &mut self.0 {
            state.heard = Some((class_of(bytes), way));
        }
    }
}

impl State {
    fn new(seen: u64) -> State {
        State {
            trials: [Trial::new(); CLASSES],
            begun: 0,
            seen,
            bytes: 0,
            class: None,
            follows: None,
            heard: None,
        }
    }

    /// What the peer leads messages of this class to.
    fn led(&self, class: usize) -> Option<Copies> {
        self.follows.filter(|(leading, _)| *leading == class).map(|(_, way)| way)
    }

    fn turn_ends(&mut self, now: u64) {
        if let Some(class) = self.class {
            let time = now.saturating_sub(self.begun);
            self.trials[class].turned(time, self.bytes);
        }
    }
}

fn class_of(bytes: u64) -> usize {
    (trial::class_of(bytes).saturating_sub(FIRST_CLASS) as usize).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    /// A program that takes turns with its peer, in which a message takes a time that depends on its way.
    struct Program {
        trials: Trials,
        now: u64,
        seen: u64,
    }

    impl Program {
        fn new() -> Program {
            Program { trials: Trials::default(), now: 0, seen: 0 }
        }

        /// Takes turns of so many messages each; how many of these went in letters.
        fn goes_on(
            &mut self,
            turns: u32,
            messages: u64,
            bytes: u64,
            mut cost: impl FnMut(Copies) -> u64,
        ) -> u64 {
            let mut letters = 0;
            for _ in 0..turns {
                for _ in 0..messages {
                    let way = self.trials.way(self.now, self.seen, bytes, 1 << 20);
                    letters += u64::from(way == Copies::Two);
                    self.now += cost(way);
                }
                self.seen += 1;
            }
            letters
        }
    }

    fn letters_take(letters: u64, offer: u64) -> impl Fn(Copies) -> u64 {
        move |way| if way == Copies::Two { letters } else { offer }
    }

    #[test]
    fn the_quicker_way_is_used_in_nearly_all_turns() {
        for (letters, offer, likes_letters) in
            [(5_000, 15_000, true), (6_000, 3_000, false), (9_000, 11_000, true)]
        {
            let used = Program::new().goes_on(10_000, 1, 32 * KIB, letters_take(letters, offer));
            let right = if likes_letters { used } else { 10_000 - used };
            assert!(right > 9_500, "{letters} and {offer} ns: the quicker way in {right} of 10000");
        }
    }

    #[test]
    fn a_way_that_has_become_slower_is_left_at_once() {
        let mut program = Program::new();
        program.goes_on(20_000, 1, 64 * KIB, letters_take(6_000, 3_000));
        let letters = program.goes_on(100, 1, 64 * KIB, letters_take(6_000, 12_000));
        assert!(letters > 80, "letters in {letters} of 100");
    }

    #[test]
    fn a_way_that_has_become_the_quicker_one_is_found_however_long_the_other_was() {
        let mut program = Program::new();
        program.goes_on(20_000, 1, 64 * KIB, letters_take(6_000, 3_000));
        let letters = program.goes_on(20_000, 1, 64 * KIB, letters_take(1_000, 3_000));
        assert!(letters > 19_400, "letters in {letters} of 20000");
    }

    #[test]
    fn turns_that_take_long_for_other_reasons_change_nothing() {
        let mut count = 0u64;
        let noisy = |way| {
            count += 1;
            let pause = if count.is_multiple_of(3) { 1_000_000 } else { count * 7919 % 700 };
            letters_take(6_000, 3_000)(way) + pause
        };
        let letters = Program::new().goes_on(10_000, 1, 64 * KIB, noisy);
        assert!(letters < 300, "letters in {letters} of 10000");
    }

    #[test]
    fn a_program_that_mostly_computes_sends_letters() {
        let letters =
            Program::new().goes_on(1_000, 1, 64 * KIB, |way| 1_000_000 + letters_take(6_000, 4_000)(way));
        assert!(letters > 800, "letters in {letters} of 1000");
    }

    #[test]
    fn messages_of_another_length_have_a_way_of_their_own() {
        let mut program = Program::new();
        program.goes_on(1_000, 1, 64 * KIB, letters_take(6_000, 3_000));
        let letters = program.goes_on(1_000, 1, 512 * KIB, letters_take(60_000, 150_000));
        assert!(letters > 900, "letters in {letters} of 1000 long ones");
        let letters = program.goes_on(100, 1, 64 * KIB, letters_take(6_000, 3_000));
        assert!(letters < 20, "letters in {letters} of 100 short ones");
    }

    #[test]
    fn a_turn_of_many_messages_is_timed_as_a_whole_and_sends_few_of_them_in_letters() {
        let letters = Program::new().goes_on(1_000, 64, 64 * KIB, letters_take(3_000, 6_000));
        assert!(letters > 900 * 16, "letters are liked: {letters}");
        assert!(letters <= 1_000 * 16, "a MiB of each turn at most: {letters}");
    }

    #[test]
    fn whoever_hears_nothing_from_its_peer_offers() {
        let mut turns = Trials::default();
        for message in 0..1_000 {
            assert_eq!(turns.way(message * 1_000, 7, 64 * KIB, 1 << 20), Copies::One);
        }
    }

    /// Two ranks that exchange, and gain only if both send letters, or neither does.
    #[test]
    fn two_that_exchange_find_the_way_that_suits_both() {
        for (both_letters, both_offer, likes_letters) in [(9_000, 20_000, true), (20_000, 9_000, false)] {
            let (mut low, mut high) = (Trials::default(), Trials::default());
            let (mut now, mut right) = (0, 0);
            for turn in 0..10_000 {
                let ways = [&mut low, &mut high].map(|turns| turns.way(now, turn, 64 * KIB, 1 << 20));
                high.follow(64 * KIB, ways[0]);
                now += match ways {
                    [Copies::Two, Copies::Two] => both_letters,
                    [Copies::One, Copies::One] => both_offer,
                    _ => 19_500,
                };
                let liked = if likes_letters { Copies::Two } else { Copies::One };
                right += u32::from(ways == [liked; 2]);
            }
            assert!(right > 9_500, "the quicker way in {right} of 10000");
        }
    }

    #[test]
    fn whoever_no_longer_hears_a_leader_finds_out_alone() {
        let mut program = Program::new();
        program.goes_on(10, 1, 64 * KIB, letters_take(6_000, 3_000));
        program.trials.follow(64 * KIB, Copies::Two);
        assert_eq!(program.goes_on(1, 1, 64 * KIB, letters_take(6_000, 3_000)), 1, "it follows");
        let letters = program.goes_on(1_000, 1, 64 * KIB, letters_take(6_000, 3_000));
        assert!(letters < 50, "letters in {letters} of 1000");
    }

    #[test]
    fn classes_are_powers_of_two() {
        assert_eq!(
            [1, 32 * KIB, 32 * KIB + 1, 64 * KIB, 2048 * KIB, u64::MAX].map(class_of),
            [0, 0, 1, 1, 6, 7]
        );
    }
}
