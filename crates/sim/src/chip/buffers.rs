//! Finite buffers in the routers of the data plane: `buffers` and `channels` of `[network.data]`, and which networks can have them.

use super::read::Section;
use super::schema::{COUNT_MAX, Result};
use super::unit::Kind;
use super::{Chip, Network, Shape};
use crate::topology::channels;

/// What a link of the data plane ends in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffers {
    /// Flits that each channel of a link has room for.
    pub flits: u32,
    /// Channels of a link, each with a buffer of its own.
    pub channels: u8,
}

/// The buffers, if the file describes any.
pub(super) fn read(section: &Section<'_>) -> Result<Option<Buffers>> {
    if !section.has("buffers") && !section.has("channels") {
        return Ok(None);
    }
    let flits = section.number("buffers", Kind::Count("flits"), 1..=COUNT_MAX)? as u32;
    let channels = section.number("channels", Kind::Count("channels"), 1..=u64::from(u8::MAX))? as u8;
    Ok(Some(Buffers { flits, channels }))
}

impl Network {
    /// Flits of the largest packet of the data plane: a buffer has room for one at least.
    pub fn packet_flits(&self) -> u32 {
        (u32::from(self.packet_payload) + self.data.header_bytes).div_ceil(self.data.flit_bytes)
    }

    /// How many channels a link needs at least, so that packets cannot wait for each other in a circle; a multiple of it does as well.
    pub fn channels_min(&self) -> u8 {
        channels::classes(self)
    }

    pub(super) fn buffers_suffice(&self) -> bool {
        self.buffers.is_none_or(|buffers| {
            buffers.flits >= self.packet_flits()
                && buffers.channels > 0
                && buffers.channels.is_multiple_of(self.channels_min())
        })
    }
}

impl Chip {
    /// Gives the routers finite buffers, or takes them away. An error says what is wrong with them. With buffers the data plane has no multicast: what
    /// copies of a packet hold up while they wait for room is not modelled.
    pub fn set_buffers(&mut self, buffers: Option<Buffers>) -> std::result::Result<(), String> {
        let fault = buffers.and_then(|buffers| fault(self, buffers));
        if let Some((_, reason)) = fault {
            return Err(reason);
        }
        self.network.buffers = buffers;
        if buffers.is_some() {
            self.network.data.multicast = None;
        }
        Ok(())
    }
}

/// Refuses buffers in which packets would wait for ever.
pub(super) fn check(section: &Section<'_>, chip: &Chip) -> Result<()> {
    match chip.network.buffers.and_then(|buffers| fault(chip, buffers)) {
        Some((key, reason)) => Err(section.refuse(key, reason)),
        None => Ok(()),
    }
}

/// What is wrong with buffers on a chip, and the key of it.
fn fault(chip: &Chip, buffers: Buffers) -> Option<(&'static str, String)> {
    let network = &chip.network;
    let Buffers { flits, channels } = buffers;
    let (packet, least) = (network.packet_flits(), network.channels_min());
    if flits < packet {
        return Some((
            "buffers",
            format!("{flits} flits have no room for a packet: expected at least {packet}"),
        ));
    }
    if channels == 0 || channels % least != 0 {
        let reason = format!(
            "{channels} channels on a torus, in whose rings packets could wait for each other for ever: expected a multiple of {least}"
        );
        return Some(("channels", reason));
    }
    if network.shape != Shape::Graph {
        return None;
    }
    let (from, to) = channels::circle(chip, (channels, least))?;
    let (from, to) = (from.describe(chip), to.describe(chip));
    Some((
        "buffers",
        format!("packets could wait for each other for ever: the ways over {from} -> {to} form a circle"),
    ))
}
