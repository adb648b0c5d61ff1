//! Steps on words of a peer's memory that nothing comes between.

/// One word of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// Where it lies, from the start of the region: a multiple of its width, as is the region's start.
    pub offset: usize,
    /// Its width.
    pub width: Width,
}

/// How wide a word is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// Four bytes. Operands and results are in the lower half.
    Four,
    /// Eight bytes.
    Eight,
}

impl Width {
    /// Its bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Width::Four => 4,
            Width::Eight => 8,
        }
    }
}

/// What becomes of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Atomic {
    /// It is combined with an operand.
    Fetch {
        /// How.
        op: AtomicOp,
        /// With what.
        operand: u64,
    },
    /// It becomes `desired` if it is `expected`.
    CompareSwap {
        /// What it must be.
        expected: u64,
        /// What it becomes then.
        desired: u64,
    },
}

/// How a word is combined with an operand. What is not here, products and floating-point numbers, is a loop of compare-and-swap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicOp {
    /// The sum, wrapping.
    Sum,
    /// Bit by bit.
    And,
    /// Bit by bit.
    Or,
    /// Bit by bit.
    Xor,
    /// The lesser of two signed numbers.
    Min,
    /// The greater of two signed numbers.
    Max,
    /// The lesser of two unsigned numbers.
    MinUnsigned,
    /// The greater of two unsigned numbers.
    MaxUnsigned,
    /// The operand.
    Replace,
    /// The word as it was.
    Read,
}

/// Which memory of a peer atomics work on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Atomics {
    /// None.
    #[default]
    None,
    /// What was [allocated to be shared](crate::Memory::allocate_shared).
    Shared,
    /// All that is exposed.
    All,
}
