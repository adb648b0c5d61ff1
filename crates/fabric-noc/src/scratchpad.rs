//! The memory of the places: one byte account each, shared by the ranks that run there.
//!
//! Booked before the first rank runs: the text of each program once a place, data and stack of each rank. Mailboxes are booked
//! letter by letter as they fill (see `state`), everything else by those who allocate it.

use fabric::Budget;
use sim::{Chip, Code, Place};

use crate::job::{Memory, Options, RunError, Scratchpad};
use crate::placement::Placement;

/// What the account calls the part that is not left to programs and libraries.
const SYSTEM: &str = "system";
/// What the account calls the code and constants of programs.
const TEXT: &str = "program text";
/// What the account calls the globals of programs.
const DATA: &str = "program data";
/// What the account calls stacks.
const STACK: &str = "stack";
/// What the account calls the slots of letters that wait to be taken.
pub(crate) const MAILBOX: &str = "mailbox";

/// One account a place; those of places without ranks stay empty.
pub(crate) struct Scratchpads(Vec<Budget>);

impl Scratchpads {
    /// Books what programs and stacks take.
    pub(crate) fn new(options: &Options<'_>, placement: &Placement) -> Result<Scratchpads, RunError> {
        let chip = options.chip;
        let limit = |place| match options.memory {
            Memory::Chip => bytes_of(chip, place),
            Memory::Bytes(bytes) => bytes,
            Memory::Unlimited => usize::MAX,
        };
        let budgets: Vec<Budget> = (0..chip.places()).map(|place| Budget::new(limit(Place(place)))).collect();
        if options.memory == Memory::Chip {
            for (place, budget) in (0..chip.clusters()).map(Place).zip(&budgets) {
                let system = chip.cluster.scratchpad - chip.cluster.usable;
                budget
                    .reserve(SYSTEM, system as usize)
                    .map_err(|exceeded| RunError::Memory { place, exceeded })?;
            }
        }
        let mut shared: Vec<(Place, u32)> = Vec::new();
        for node in 0..placement.nodes() {
            let (place, footprint) = (placement.place(node), (options.footprint)(node));
            let account = &budgets[place.0 as usize];
            let rank = account.of_rank(node);
            let text = if chip.cluster.code == Code::Scratchpad { footprint.text } else { 0 };
            let book = || {
                if !shared.contains(&(place, footprint.program)) {
                    account.reserve(TEXT, text)?;
                }
                rank.reserve(DATA, footprint.data)?;
                rank.reserve(STACK, chip.cluster.stack as usize)
            };
            book().map_err(|exceeded| RunError::Memory { place, exceeded })?;
            shared.push((place, footprint.program));
        }
        Ok(Scratchpads(budgets))
    }

    /// The way of `node` to the account of its place.
    pub(crate) fn of_node(&self, placement: &Placement, node: u32) -> Budget {
        self.0[placement.place(node).0 as usize].of_rank(node)
    }

    /// Bytes in use of each place.
    pub(crate) fn used(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|budget| budget.used() as u64)
    }

    /// Every account that ranks have used, at its peak.
    pub(crate) fn report(&self, placement: &Placement) -> Vec<Scratchpad> {
        let mut places: Vec<Place> = Vec::new();
        for place in (0..placement.nodes()).map(|node| placement.place(node)) {
            if let Err(free) = places.binary_search(&place) {
                places.insert(free, place);
            }
        }
        let scratchpad = |place: Place| {
            let budget = &self.0[usize::from(place.0)];
            Scratchpad { place, limit: budget.limit(), holders: budget.at_peak() }
        };
        places.into_iter().map(scratchpad).collect()
    }
}

/// The bytes of a place's memory. An I/O subsystem has its DDR.
fn bytes_of(chip: &Chip, place: Place) -> usize {
    let bytes = match (chip.io_at(place), chip.kind_at(place)) {
        (Some(io), _) => io.ddr.map_or(io.scratchpad, |ddr| ddr.size),
        (None, Some((kind, _))) => chip.kinds[usize::from(kind)].memory,
        (None, None) => chip.cluster.scratchpad,
    };
    bytes as usize
}
