//! What a network adapter needs before it moves a rank's memory by itself, and what helps it (InfiniBand): memory is registered, which on a co-processor card
//! a delegate on the host does; and data may be sent from a shadow of it in the host's memory, where reading the card's is slow.

use super::Long;
use super::kind::Kind as PlaceKind;
use super::read::Section;
use super::schema::{COST_MAX, COUNT_MAX, Result};
use super::unit::Kind;
use crate::Time;

/// An adapter that puts and gets registered memory. Receivers get from senders that come first, and the end of a put is told by a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Adapter {
    /// The kind of places whose place of the same number does what only it may: registering, and lending shadows. `None`: the rank's own core.
    pub delegate: Option<u16>,
    /// Registering a region.
    pub register: Time,
    /// Each page of it.
    pub register_page: Time,
    /// Bytes of a page.
    pub page: u32,
    /// Regions that stay registered; the one that was used longest ago makes room for the next.
    pub regions: u32,
    /// Long data is copied to the memory of the delegate, which the adapter reads faster, as a whole before the first byte leaves.
    pub shadow: Option<Long>,
}

impl Adapter {
    /// What registering so many bytes takes.
    pub fn registration(&self, bytes: u64) -> Time {
        self.register + self.register_page * bytes.div_ceil(u64::from(self.page.max(1)))
    }
}

pub(super) fn read(section: &Section<'_>, kinds: &[PlaceKind]) -> Result<Adapter> {
    let time = |key| section.number(key, Kind::Cycles, 0..=COST_MAX);
    let delegate = if section.has("delegate") {
        let name = section.text("delegate")?;
        let index = kinds.iter().position(|kind| kind.name == name);
        let index = index.ok_or_else(|| {
            section.refuse("delegate", format!("there is no kind of places \"{name}\", [[place]]"))
        })?;
        Some(index as u16)
    } else {
        None
    };
    let shadow = if section.has("shadow_min") {
        if delegate.is_none() {
            return Err(section.refuse("shadow_min", "needs a delegate, whose memory the shadow is in"));
        }
        Some(Long {
            min: section.number("shadow_min", Kind::Bytes, 1..=COST_MAX)?,
            call: time("shadow_call")?,
        })
    } else {
        None
    };
    let adapter = Adapter {
        delegate,
        register: time("register")?,
        register_page: time("register_page")?,
        page: section.number("page", Kind::Bytes, 1..=u64::from(u32::MAX))? as u32,
        regions: section.number("regions", Kind::Count("regions"), 1..=COUNT_MAX)? as u32,
        shadow,
    };
    section.finish()?;
    Ok(adapter)
}
