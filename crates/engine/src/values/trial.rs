//! Which of two ways is the quicker one for long data, found out by timing both.
//!
//! A program's turns, of whatever it repeats, are timed from one to the next, so that it is seen what a way costs the program itself, whose stores and loads find their lines near or far. The quickest of a few counts; the
//! quicker way stays for a while, longer if it wins again, and not so long if it becomes slower.

/// How often data are copied on their way to another rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Copies {
    /// Once: the other rank is told where they lie.
    One,
    /// Twice: through memory that both share, in pieces.
    Two,
}

/// The first turns of a stage, which are not timed: they bring the caches into the state that the way leaves them in.
const FIRST: u32 = 2;
/// So many turns after them are timed together.
const TIMED: u32 = 6;
/// Turns after which the other way is tried again: at first, and at most, if it is about as quick. Where it takes several times as long, up to so many, a trial costs as much more, and is so much rarer.
const STAY_MIN: u32 = 64;
const STAY_MAX: u32 = 256;
const TIMES_MAX: u64 = 8;

/// What is known of turns of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    way: Copies,
    /// Turns of this stage, which is as long as the way is.
    turns: u32,
    /// The quickest of those that are timed together, in nanoseconds for a MiB.
    best: u64,
    /// That of the other way, while this one is tried against it.
    rival: Option<u64>,
    /// What this way took when it was chosen; 0 before, so that the other is tried first thing.
    usual: u64,
    /// Turns until the other way is tried again.
    stay: u32,
}

impl Trial {
    pub const fn new() -> Trial {
        Trial { way: Copies::One, turns: 0, best: u64::MAX, rival: None, usual: 0, stay: STAY_MIN }
    }

    /// The way of the next turn.
    pub fn way(&self) -> Copies {
        self.way
    }

    /// A turn of so many bytes has taken so many nanoseconds.
    pub fn turned(&mut self, time: u64, bytes: u64) {
        let time = time.saturating_mul(1 << 20) / bytes.max(1);
        self.turns += 1;
        if self.turns <= FIRST {
            return;
        }
        self.best = self.best.min(time);
        let timed = (self.turns - FIRST) % TIMED;
        match self.rival {
            Some(rival) if timed == 0 || timed == 2 && is_slower(self.best, rival) => self.tried(rival),
            None if timed == 0 => {
                if self.turns > self.stay || is_slower(self.best, self.usual) {
                    self.rival = Some(self.best);
                    self.turn_to(self.way.other());
                }
                self.best = u64::MAX;
            }
            _ => {}
        }
    }

    /// The other way has been tried against one that took as long as that.
    fn tried(&mut self, rival: u64) {
        self.rival = None;
        if self.way.beats(self.best, rival) {
            (self.usual, self.stay) = (self.best, STAY_MIN);
        } else {
            let times = (self.best.saturating_add(rival / 2) / rival.max(1)).clamp(1, TIMES_MAX) as u32;
            (self.usual, self.stay) = (rival, (2 * self.stay).min(STAY_MAX) * times);
            self.turn_to(self.way.other());
        }
        self.best = u64::MAX;
    }

    fn turn_to(&mut self, way: Copies) {
        (self.way, self.turns) = (way, 0);
    }
}

/// By more than turns of the same kind differ.
fn is_slower(time: u64, than: u64) -> bool {
    time > than.saturating_add(than / 4)
}

impl Copies {
    fn other(self) -> Copies {
        match self {
            Copies::One => Copies::Two,
            Copies::Two => Copies::One,
        }
    }

    /// True if this way, in which a turn takes `mine`, is better than the other. Where neither is by much, two copies are: then something else takes most of the
    /// time, and programs that compute write what they send.
    fn beats(self, mine: u64, other: u64) -> bool {
        let (two, one) = if self == Copies::Two { (mine, other) } else { (other, mine) };
        (two <= one.saturating_add(one / 16)) == (self == Copies::Two)
    }
}

/// The number of the least power of two that is not below so many bytes: data of one class go the same way.
pub(crate) fn class_of(bytes: u64) -> u32 {
    u64::BITS - bytes.saturating_sub(1).leading_zeros()
}
