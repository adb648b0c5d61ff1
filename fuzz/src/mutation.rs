//! Mutations of inputs by a seeded generator: the same seed gives the same inputs everywhere.

/// Numbers at which arithmetic breaks.
const AWKWARD: [u64; 12] =
    [0, 1, 7, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 32, i64::MAX as u64, 1 << 63, u64::MAX];

/// Texts at which readers of numbers and names break.
const AWKWARD_TEXTS: [&str; 8] = ["-1", "0", "1e309", "18446744073709551616", "\u{fffd}", "%", "\n", " "];

/// No input gets longer than this.
const LONGEST: usize = 64 << 10;

/// A source of mutated inputs.
#[derive(Debug)]
pub struct Mutator {
    state: u64,
}

impl Mutator {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Mutator {
        Mutator { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// One of the inputs, with one to a few changes.
    pub fn mutated(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut input = match inputs.len() {
            0 => Vec::new(),
            count => inputs[self.below(count)].clone(),
        };
        for _ in 0..1 + self.below(4) {
            self.change(&mut input, inputs);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, others: &[Vec<u8>]) {
        if input.is_empty() {
            input.extend((0..1 + self.below(16)).map(|_| self.next() as u8).collect::<Vec<_>>());
            return;
        }
        let at = self.below(input.len());
        let end = (at + 1 + self.below(64)).min(input.len());
        match self.below(10) {
            0 => input[at] ^= 1 << self.below(8),
            1 => input[at] = self.next() as u8,
            // A whole word where words are.
            2 | 3 => {
                let at = at & !7;
                let word = AWKWARD[self.below(AWKWARD.len())].to_le_bytes();
                let end = (at + 8).min(input.len());
                input[at..end].copy_from_slice(&word[..end - at]);
            }
            4 => {
                let word = AWKWARD[self.below(AWKWARD.len())].to_le_bytes();
                let end = (at + 1 + self.below(8)).min(input.len());
                input[at..end].copy_from_slice(&word[..end - at]);
            }
            5 => {
                input.drain(at..end);
            }
            6 => {
                let copy = input[at..end].to_vec();
                let to = self.below(input.len());
                input.splice(to..to, copy);
            }
            7 => {
                let text = AWKWARD_TEXTS[self.below(AWKWARD_TEXTS.len())];
                input.splice(at..end.min(at + 4), text.bytes());
            }
            8 => input.truncate(at),
            _ => {
                let Some(other) = others.get(self.below(others.len())) else { return };
                let from = self.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// Xorshift with multiplication (Vigna).
    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_inputs() {
        let inputs = [b"some words".to_vec(), vec![0; 40]];
        let sequence = |seed| {
            let mut mutator = Mutator::new(seed);
            (0..50).map(|_| mutator.mutated(&inputs)).collect::<Vec<_>>()
        };
        assert_eq!(sequence(3), sequence(3));
        assert_ne!(sequence(3), sequence(4));
    }

    #[test]
    fn no_inputs_at_all_will_do() {
        let mut mutator = Mutator::new(9);
        (0..200).for_each(|_| drop(mutator.mutated(&[])));
    }
}
