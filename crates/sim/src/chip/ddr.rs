//! A memory outside the chip: how fast it is, and what it loses by where the bytes lie.
//!
//! Without `rows` it loses a fixed time at the begin of each contiguous piece. With them it is made of banks that each have one row open: bytes
//! come in whole bursts, a row that is not open costs its opening, and so does the change between reading and writing.

use super::ChipError;
use super::read::Section;
use super::schema::{COST_MAX, COUNT_MAX, MEMORY_MAX};
use super::unit::Kind;
use crate::{Rate, Time};

/// A memory controller: one server for reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ddr {
    /// Bytes.
    pub size: u64,
    /// Time to read a byte.
    pub read_per_byte: Rate,
    /// Time to write a byte.
    pub write_per_byte: Rate,
    /// Time lost at the start of each contiguous piece.
    pub piece: Time,
    /// Its rows, where a description knows them.
    pub rows: Option<Rows>,
}

/// Banks of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rows {
    /// Bytes of a row, which are side by side in the addresses; the next row is in the next bank.
    pub bytes: u32,
    /// Banks. Each has one row open.
    pub banks: u32,
    /// The least that is read or written, at a multiple of itself.
    pub burst: u32,
    /// Closing a bank's row and opening another.
    pub activate: Time,
    /// Changing from reading to writing, or back.
    pub turn: Time,
    /// From the read of a burst to its arrival at whoever asked. Others are served meanwhile.
    pub latency: Time,
    /// Bytes that one transfer asks for at a time: it reads no faster than these come. 0: as many as it likes.
    pub asked: u32,
}

impl Ddr {
    pub(super) fn read(section: &Section<'_>) -> Result<Ddr, ChipError> {
        let ddr = Ddr {
            size: section.number("size", Kind::Bytes, 1..=MEMORY_MAX)?,
            read_per_byte: section.rate("read")?,
            write_per_byte: section.rate("write")?,
            piece: if section.has("rows") {
                0
            } else {
                section.number("piece", Kind::Cycles, 0..=COST_MAX)?
            },
            rows: if section.has("rows") { Some(Rows::read(&section.section("rows")?)?) } else { None },
        };
        section.finish()?;
        Ok(ddr)
    }
}

impl Rows {
    fn read(section: &Section<'_>) -> Result<Rows, ChipError> {
        let time = |key| section.number(key, Kind::Cycles, 0..=COST_MAX);
        let bytes = |key| section.number(key, Kind::Bytes, 1..=COUNT_MAX).map(|bytes| bytes as u32);
        let rows = Rows {
            bytes: bytes("bytes")?,
            banks: section.number("banks", Kind::Count("banks"), 1..=COUNT_MAX)? as u32,
            burst: bytes("burst")?,
            activate: time("activate")?,
            turn: time("turn")?,
            latency: time("latency")?,
            asked: if section.has("asked") { bytes("asked")? } else { 0 },
        };
        if !rows.bytes.is_multiple_of(rows.burst) {
            let reason =
                format!("a row of {} bytes, expected a multiple of the burst's {}", rows.bytes, rows.burst);
            return Err(section.refuse("bytes", reason));
        }
        section.finish()?;
        Ok(rows)
    }

    /// Whether the model can compute with them.
    pub(super) fn holds_together(&self) -> bool {
        self.bytes > 0 && self.banks > 0 && self.burst > 0 && self.bytes.is_multiple_of(self.burst)
    }
}
