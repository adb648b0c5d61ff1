//! Multicast of a plane: `[network.data.multicast]` for transfers, `[network.control.multicast]` for letters and signals, and which networks can have it.
//!
//! A packet leaves its source once, and a router copies it where the ways of its destinations part. So the ways from a source must never meet again once
//! they have parted, which holds where packets go along the row and then along the column, and at a single switch.

use super::read::Section;
use super::schema::{COST_MAX, COUNT_MAX, Result};
use super::unit::Kind;
use super::{Chip, Network, Shape};
use crate::Time;

/// That routers of a plane copy packets, and what this costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Multicast {
    /// What a core needs more to set one up than to send to one place.
    pub setup: Time,
    /// What a router needs more for a packet that it copies, in which it takes no other from the same link.
    pub copy: Time,
    /// The most places that one goes to.
    pub destinations: u16,
}

/// The multicast of a plane, if the file describes one.
pub(super) fn read(plane: &Section<'_>) -> Result<Option<Multicast>> {
    if !plane.has("multicast") {
        return Ok(None);
    }
    let section = plane.section("multicast")?;
    let multicast = Multicast {
        setup: section.number("setup", Kind::Cycles, 0..=COST_MAX)?,
        copy: section.number("copy", Kind::Cycles, 0..=COST_MAX)?,
        destinations: section.number("destinations", Kind::Count("places"), 1..=COUNT_MAX)? as u16,
    };
    section.finish()?;
    Ok(Some(multicast))
}

impl Network {
    /// Whether its planes can copy packets if they are said to.
    pub(super) fn multicasts_rightly(&self) -> bool {
        self.data.multicast.is_none() && self.control.multicast.is_none()
            || self.parts_for_good() && (self.data.multicast.is_none() || self.buffers.is_none())
    }

    fn parts_for_good(&self) -> bool {
        matches!(self.shape, Shape::Mesh | Shape::Torus | Shape::Crossbar)
    }
}

impl Chip {
    /// Whether its network copies packets: transfers, and letters and signals.
    pub fn has_multicast(&self) -> bool {
        self.network.data.multicast.is_some() && self.network.control.multicast.is_some()
    }

    /// The same chip for software that does not use multicast.
    pub fn leave_multicast(&mut self) {
        (self.network.data.multicast, self.network.control.multicast) = (None, None);
    }
}

/// Refuses multicast where it is not modelled.
pub(super) fn check(plane: &Section<'_>, network: &Network) -> Result<()> {
    if network.multicasts_rightly() || !plane.has("multicast") {
        return Ok(());
    }
    let reason =
        "packets are copied where their ways part for good: expected the shape mesh, torus or crossbar";
    Err(plane.refuse("multicast", reason))
}
