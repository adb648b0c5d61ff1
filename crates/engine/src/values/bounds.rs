//! Where collectives change their way, as data: every number in the tables of algorithms and in the choice of a board's form has a name, and a job may run with others than those built in.
//!
//! All ranks of a job have the same: two members that choose differently would wait for each other.

/// One of the numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "each is explained in its entry of the table")]
pub enum Bound {
    BarrierExchangeMembers,
    BcastTreeBytes,
    BcastRingAbove,
    BcastRingMembers,
    BcastRoundBytes,
    ReduceTreeBytes,
    ReduceHalvingAbove,
    ReduceHalvingMembers,
    AllreduceExchangeMembers,
    AllreduceShortBytes,
    AllgatherExchangeMembers,
    AllgatherExchangeBytes,
    AllgatherRoundBytes,
    AllgathervTreeAbove,
    AllgathervRoundBytes,
    AlltoallBruckAbove,
    AlltoallBruckBytes,
    AlltoallDirectBytes,
    AlltoallDirectMembers,
    GatherTreeAbove,
    GatherTreeBytes,
    ScatterTreeAbove,
    ScatterTreeBytes,
    ReduceScatterTreeAbove,
    ReduceScatterRoundBytes,
    BoardBcastRoomBytes,
    BoardBlockRoomBytes,
    BoardDirectRoomBytes,
    BoardNearBlockBytes,
    BoardFarBlockBytes,
    /// None: as a lower bound for all.
    Zero,
    /// No bound at all.
    Any,
}

/// How many can be set.
const COUNT: usize = Bound::Zero as usize;

/// What is known of a bound.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The bound itself.
    pub bound: Bound,
    /// As profiles write it: collective and bound; those of boards are of all collectives that have them.
    pub name: &'static str,
    /// The value that no profile is needed for.
    pub built_in: u64,
    /// What it bounds.
    pub what: &'static str,
}

/// The values of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds([u64; COUNT]);

impl Bounds {
    /// Every bound, in the order of the list that [`Bounds::read`] reads.
    pub const TABLE: [Named; COUNT] = TABLE;

    /// What there is without a profile.
    pub const BUILT_IN: Bounds = {
        let mut values = [0; COUNT];
        let mut at = 0;
        while at < COUNT {
            assert!(TABLE[at].bound as usize == at, "the table is in the order of the bounds");
            values[at] = TABLE[at].built_in;
            at += 1;
        }
        Bounds(values)
    };

    /// A list of all values, separated by commas; `None` if it is anything else.
    pub fn read(list: &str) -> Option<Bounds> {
        let mut values = [0; COUNT];
        let mut words = list.split(',');
        for value in &mut values {
            *value = words.next()?.parse().ok()?;
        }
        words.next().is_none().then_some(Bounds(values))
    }

    /// The value of a bound.
    #[inline]
    pub fn get(&self, bound: Bound) -> u64 {
        match bound {
            Bound::Zero => 0,
            Bound::Any => u64::MAX,
            bound => self.0[bound as usize],
        }
    }

    /// Gives a bound another value.
    pub fn set(&mut self, bound: Bound, value: u64) {
        self.0[bound as usize] = value;
    }

    /// All values, in the order of the table.
    pub fn values(&self) -> &[u64] {
        &self.0
    }
}

const fn named(bound: Bound, name: &'static str, built_in: u64, what: &'static str) -> Named {
    Named { bound, name, built_in, what }
}

/// Why the numbers are what they are stands with the tables of algorithms (`coll/select.rs`) and with the boards' forms (`lane/board/call.rs`).
const TABLE: [Named; COUNT] = [
    named(
        Bound::BarrierExchangeMembers,
        "barrier.exchange-members",
        4,
        "up to so many members exchange notices (dissemination); more meet along a tree",
    ),
    named(
        Bound::BcastTreeBytes,
        "bcast.tree-bytes",
        512 << 10,
        "up to so many bytes go along a tree (binomial); more are scattered and go round a ring",
    ),
    named(Bound::BcastRingAbove, "bcast.ring-above-members", 7, "the ring is for more members than this"),
    named(
        Bound::BcastRingMembers,
        "bcast.ring-members",
        64,
        "the ring is for at most so many members, and for more if there is enough for each of them",
    ),
    named(
        Bound::BcastRoundBytes,
        "bcast.round-bytes",
        3 << 10,
        "bytes for each of more members from which on the ring is taken",
    ),
    named(
        Bound::ReduceTreeBytes,
        "reduce.tree-bytes",
        64 << 10,
        "up to so many bytes go along a tree (binomial); more are halved and gathered",
    ),
    named(
        Bound::ReduceHalvingAbove,
        "reduce.halving-above-members",
        3,
        "halving is for more members than this",
    ),
    named(
        Bound::ReduceHalvingMembers,
        "reduce.halving-members",
        1024,
        "halving is for at most so many members",
    ),
    named(
        Bound::AllreduceExchangeMembers,
        "allreduce.exchange-members",
        4,
        "up to so many members exchange short values (recursive_doubling); more send them along a tree",
    ),
    named(
        Bound::AllreduceShortBytes,
        "allreduce.short-bytes",
        16 << 10,
        "up to so many bytes are exchanged whole, or sent along a tree; more are halved (halving_doubling)",
    ),
    named(
        Bound::AllgatherExchangeMembers,
        "allgather.exchange-members",
        4,
        "up to so many members exchange short blocks (recursive_doubling, bruck); more send them along a tree",
    ),
    named(
        Bound::AllgatherExchangeBytes,
        "allgather.exchange-bytes",
        64 << 10,
        "up to so many bytes in all are exchanged",
    ),
    named(
        Bound::AllgatherRoundBytes,
        "allgather.round-bytes",
        4 << 10,
        "blocks from so many bytes on go round a ring, shorter ones along a tree: the message of a round costs about as much as copying so many",
    ),
    named(
        Bound::AllgathervTreeAbove,
        "allgatherv.tree-above-members",
        3,
        "the tree (gather_bcast) is for more members than this",
    ),
    named(
        Bound::AllgathervRoundBytes,
        "allgatherv.round-bytes",
        4 << 10,
        "from so many bytes for each member on they go round a ring, less goes along the tree",
    ),
    named(
        Bound::AlltoallBruckAbove,
        "alltoall.bruck-above-members",
        7,
        "bruck is for more members than this",
    ),
    named(
        Bound::AlltoallBruckBytes,
        "alltoall.bruck-bytes",
        512,
        "blocks of up to so many bytes travel together (bruck); longer ones by themselves",
    ),
    named(
        Bound::AlltoallDirectBytes,
        "alltoall.direct-bytes",
        32 << 10,
        "blocks of up to so many bytes are sent all at once (direct); longer ones pair by pair",
    ),
    named(
        Bound::AlltoallDirectMembers,
        "alltoall.direct-members",
        64,
        "blocks are sent all at once to at most so many members",
    ),
    named(
        Bound::GatherTreeAbove,
        "gather.tree-above-members",
        2,
        "the tree (binomial) is for more members than this",
    ),
    named(
        Bound::GatherTreeBytes,
        "gather.tree-bytes",
        4 << 10,
        "blocks of up to so many bytes go along the tree; longer ones straight to the root",
    ),
    named(
        Bound::ScatterTreeAbove,
        "scatter.tree-above-members",
        2,
        "the tree (binomial) is for more members than this",
    ),
    named(
        Bound::ScatterTreeBytes,
        "scatter.tree-bytes",
        4 << 10,
        "blocks of up to so many bytes go along the tree; longer ones straight from the root",
    ),
    named(
        Bound::ReduceScatterTreeAbove,
        "reduce_scatter.tree-above-members",
        3,
        "reducing to one member, who scatters, is for more members than this",
    ),
    named(
        Bound::ReduceScatterRoundBytes,
        "reduce_scatter.round-bytes",
        2 << 10,
        "blocks from so many bytes on go pair by pair; shorter ones are reduced to one member, who scatters",
    ),
    named(
        Bound::BoardBcastRoomBytes,
        "board.bcast-room-bytes",
        64 << 10,
        "broadcasts of up to so many bytes go by a room of the board (a quarter of that if it is non-blocking and members share cores); longer ones by its hall, or are read where they lie",
    ),
    named(
        Bound::BoardBlockRoomBytes,
        "board.block-room-bytes",
        16 << 10,
        "blocks (reduce, allgather) of up to so many bytes go by a room of the board where processes share cores",
    ),
    named(
        Bound::BoardDirectRoomBytes,
        "board.direct-room-bytes",
        4 << 10,
        "the same (and gather) where others' memory is soon read: between ranks of one process, or with a core each",
    ),
    named(
        Bound::BoardNearBlockBytes,
        "board.near-block-bytes",
        2 << 10,
        "blocks from so many bytes on are read where they lie by ranks of one process",
    ),
    named(
        Bound::BoardFarBlockBytes,
        "board.far-block-bytes",
        1 << 10,
        "blocks of an alltoall that do not fit into a room together are read where they lie from so many bytes on; shorter ones go by messages",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::string::ToString;
    use alloc::vec::Vec;

    #[test]
    fn a_list_of_all_values_is_read_and_nothing_else() {
        let list = |bounds: &Bounds| bounds.values().iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let mut other = Bounds::BUILT_IN;
        other.set(Bound::BcastTreeBytes, 77);
        assert_eq!(Bounds::read(&list(&other)).as_ref(), Some(&other));
        assert_eq!(other.get(Bound::BcastTreeBytes), 77);
        for wrong in
            ["".to_string(), "1,2".to_string(), list(&other) + ",1", list(&other).replace("77", "many")]
        {
            assert_eq!(Bounds::read(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_are_unique_and_say_what_they_bound() {
        for (at, named) in Bounds::TABLE.iter().enumerate() {
            assert!(Bounds::TABLE[..at].iter().all(|other| other.name != named.name), "{}", named.name);
            assert!(named.name.contains("members") != named.name.contains("bytes"), "{}", named.name);
            assert!(named.what.len() > 10, "{}", named.name);
        }
    }
}
