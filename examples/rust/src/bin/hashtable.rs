//! A hash table in the memory of all ranks: everybody inserts and looks up, and no rank has to answer.   usage: `hashtable [NUMBERS]`
//!
//! The ranks draw numbers and count in the table how often each of them has come. A key lives at the rank and in the slot that its hash names, or in the next slot that is
//! free. A slot is claimed by a compare and swap, so that two ranks never claim the same one. In the end each rank looks its share of the keys up and compares the counts with its own.
//! The result does not depend on the number of ranks.

use std::process::ExitCode;

use corelace::{BoxError, Communicator, LockAll, Window, op};

/// How many different numbers are drawn, from 1 on.
const DIFFERENT: u64 = 997;

fn main() -> ExitCode {
    corelace_examples::run(|world, arguments| {
        let numbers = corelace_examples::number(arguments, 0, 20_000)? as u64;
        let mut table = Table::new(world, 2 * DIFFERENT as usize / world.size() + 64)?;
        let (rank, ranks) = (world.rank(), world.size());

        let filling = table.begin()?;
        for number in (0..numbers).skip(rank).step_by(ranks) {
            filling.add(draw(number), 1)?;
        }
        drop(filling);
        table.window.fence()?;

        // What is right: anybody can draw all numbers again.
        let mut expected = vec![0; DIFFERENT as usize + 1];
        (0..numbers).for_each(|number| expected[draw(number) as usize] += 1);
        let reading = table.begin()?;
        let (mut wrong, mut best) = (0u64, 0u64);
        for key in (1..=DIFFERENT).skip(rank).step_by(ranks) {
            let count = reading.find(key)?;
            wrong += u64::from(count != expected[key as usize]);
            // The highest count, and of equal ones the smallest key.
            best = best.max(count << 16 | (DIFFERENT - key));
        }
        // Nobody has inserted that.
        wrong += u64::from(reading.find(DIFFERENT + 1 + rank as u64)? != 0);
        drop(reading);

        // The slots of this rank as a plain slice, while nobody reaches into them.
        let used = table.window.local(|mine| mine.chunks(WORDS).filter(|slot| slot[KEY] != 0).count())?;
        let [used, wrong] = [used as u64, wrong].map(|count| world.allreduce(&count, op::sum()));
        let (used, wrong, best) = (used?, wrong?, world.allreduce(&best, op::max())?);
        table.window.free()?;
        if rank == 0 {
            let (key, count) = (DIFFERENT - (best & 0xffff), best >> 16);
            println!(
                "{numbers} numbers: {used} different, the most frequent is {key} ({count} times), {wrong} wrong counts"
            );
        }
        if wrong == 0 { Ok(()) } else { Err("the table is wrong".into()) }
    })
}

/// A slot is two words: its key, 0 if it is free, and its count.
const WORDS: usize = 2;
const KEY: usize = 0;
const COUNT: usize = 1;

struct Table<'job> {
    window: Window<'job, u64>,
    /// How many each rank has.
    slots: usize,
}

impl<'job> Table<'job> {
    fn new(world: &Communicator<'job>, slots: usize) -> corelace::Result<Table<'job>> {
        Ok(Table { window: world.allocate_window(slots * WORDS)?, slots })
    }

    /// Lets this rank reach into the slots of all, together with others who do that.
    fn begin(&self) -> corelace::Result<Open<'_>> {
        Ok(Open { all: self.window.lock_all()?, ranks: self.window.size(), slots: self.slots })
    }
}

/// The table while it is in use.
struct Open<'t> {
    all: LockAll<'t, u64>,
    ranks: usize,
    slots: usize,
}

impl Open<'_> {
    /// Adds to the count of a key, which gets a slot if it has none.
    fn add(&self, key: u64, amount: u64) -> Result<(), BoxError> {
        let there = self.all.at(self.owner(key))?;
        for slot in self.slots_of(key) {
            let found = there.compare_and_swap(slot * WORDS + KEY, 0, key)?;
            if found == 0 || found == key {
                there.fetch_add(slot * WORDS + COUNT, amount)?;
                return Ok(());
            }
        }
        Err(format!("rank {} has no slot left for key {key}", self.owner(key)).into())
    }

    /// The count of a key, 0 if it has none.
    fn find(&self, key: u64) -> Result<u64, BoxError> {
        let there = self.all.at(self.owner(key))?;
        for slot in self.slots_of(key) {
            let [found, count] = [there.get(slot * WORDS + KEY)?, there.get(slot * WORDS + COUNT)?];
            if found == key {
                return Ok(count);
            }
            if found == 0 {
                break;
            }
        }
        Ok(0)
    }

    fn owner(&self, key: u64) -> usize {
        (mix(key) % self.ranks as u64) as usize
    }

    /// Where a key may be, in the order in which it is looked for.
    fn slots_of(&self, key: u64) -> impl Iterator<Item = usize> + use<> {
        let (first, slots) = ((mix(key) / self.ranks as u64) as usize, self.slots);
        (0..slots).map(move |step| (first % slots + step) % slots)
    }
}

fn draw(number: u64) -> u64 {
    1 + mix(mix(number)) % DIFFERENT
}

/// Bits in, other bits out: no two numbers give the same.
fn mix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}
