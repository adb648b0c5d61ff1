//! Moving a stream of bytes between memory and the parts of a file where they lie, with few calls of the system.
//!
//! Runs that lie close together are copied out of a mapping of their part of the file, or read at once, with the gaps between them, into memory of the
//! library's, and picked out there (they are sieved). To write them, what lies in the gaps is read, the runs are put in, and all of it is written back, under a lock: others may write into the gaps
//! at the same time.
//!
//! **Invariant:** whoever writes while others may write gaps back has a lock. Ranks whose views have no gaps write without, and none of them writes gaps
//! back; they announce it ([`Handle::announce`]), and as long as there is an announcement nobody else does.

use std::ops::Range;

use crate::error::Result;
use crate::handle::Handle;
use crate::hints::{Hints, Switch};
use crate::pattern::Pattern;
use crate::runs::{Run, Stripe};

/// How runs with gaps between them are moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sieve {
    /// Bytes of the library's memory.
    buffer: u64,
    switch: Switch,
    /// Everything from the first byte to the last is locked by the caller (MPI's atomic mode).
    pub atomic: bool,
    /// All ranks of the file lock what they write.
    locks: bool,
}

impl Sieve {
    pub fn to_read(hints: &Hints, atomic: bool) -> Sieve {
        Sieve { buffer: hints.read_sieve, switch: hints.sieves_reads, atomic, locks: atomic }
    }

    pub fn to_write(hints: &Hints, atomic: bool, locks: bool) -> Sieve {
        Sieve { buffer: hints.write_sieve, switch: hints.sieves_writes, atomic, locks: locks || atomic }
    }
}

/// A gap that is longer is not read only to be thrown away: a call of the system costs less.
const LONGEST_GAP: u64 = 64 << 10;
/// The same for a gap that has to be written back, too.
const LONGEST_GAP_WRITTEN: u64 = 4 << 10;
/// A run of so many bytes is worth a call of its own.
const LONG_RUN: u64 = 64 << 10;
const LONG_RUN_WRITTEN: u64 = 4 << 10;
/// Fewer bytes from the first run to the last are read sooner than mapped.
const LEAST_MAPPED: usize = 64 << 10;

/// What a read has found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Found {
    /// Bytes of the stream, from its start.
    pub bytes: u64,
    /// Where the file ends, if that is before the end of what was wanted.
    pub end: Option<u64>,
}

/// Reads a part of a stream into memory that is as long.
pub(crate) fn read(
    handle: &Handle,
    pattern: &Pattern,
    range: Range<u64>,
    memory: &mut [u8],
    sieve: Sieve,
) -> Result<Found> {
    if memory.is_empty() || pattern.is_empty() {
        return Ok(Found::default());
    }
    let _locked =
        if sieve.atomic { Some(handle.lock(&pattern.reach(&range), !handle.can_read())?) } else { None };
    let mut reader = Reader { handle, sieve, batch: Vec::new(), buffer: Vec::new(), found: Found::default() };
    let mut outcome = Ok(());
    pattern.walk_stripes(range, |runs, at| {
        if outcome.is_ok() && reader.found.end.is_none() {
            outcome = reader.take_stripe(runs, at, memory);
        }
    });
    outcome.and_then(|()| reader.flush(memory))?;
    Ok(reader.found)
}

/// Reads runs into memory that has its first byte for `origin` of the file, and gaps where the file has them.
pub(crate) fn read_runs(
    handle: &Handle,
    runs: &[Run],
    origin: u64,
    memory: &mut [u8],
    sieve: Sieve,
) -> Result<Found> {
    let mut reader = Reader { handle, sieve, batch: Vec::new(), buffer: Vec::new(), found: Found::default() };
    for run in runs {
        if reader.found.end.is_some() {
            break;
        }
        reader.take(Piece::of(run.offset, run.offset - origin, run.len), memory)?;
    }
    reader.flush(memory)?;
    Ok(reader.found)
}

/// Writes a part of a stream from memory that is as long.
pub(crate) fn write(
    handle: &Handle,
    pattern: &Pattern,
    range: Range<u64>,
    memory: &[u8],
    sieve: Sieve,
) -> Result<u64> {
    if memory.is_empty() || pattern.is_empty() {
        return Ok(0);
    }
    let _locked = if sieve.atomic { Some(handle.lock(&pattern.reach(&range), true)?) } else { None };
    let mut writer = Writer { handle, sieve, batch: Vec::new(), buffer: Vec::new() };
    let mut outcome = Ok(());
    pattern.walk(range, |offset, at, len| {
        if outcome.is_ok() {
            outcome = writer.take(Piece::of(offset, at, len), memory);
        }
    });
    outcome.and_then(|()| writer.flush(memory))?;
    Ok(memory.len() as u64)
}

/// Writes runs from memory that has its first byte for `origin` of the file, and gaps where the file has them.
pub(crate) fn write_runs(handle: &Handle, runs: &[Run], origin: u64, memory: &[u8], sieve: Sieve) -> Result {
    let mut writer = Writer { handle, sieve, batch: Vec::new(), buffer: Vec::new() };
    for run in runs {
        writer.take(Piece::of(run.offset, run.offset - origin, run.len), memory)?;
    }
    writer.flush(memory)
}

/// Runs of the file, and where they are in memory: one behind the other.
#[derive(Clone, Copy, Debug)]
struct Piece {
    runs: Stripe,
    at: u64,
}

impl Piece {
    /// One run.
    fn of(offset: u64, at: u64, len: u64) -> Piece {
        Piece { runs: Stripe { offset, len, stride: 0, count: 1 }, at }
    }

    fn offset(&self) -> u64 {
        self.runs.offset
    }

    fn end(&self) -> u64 {
        self.runs.end()
    }

    fn in_memory(&self) -> Range<usize> {
        self.at as usize..(self.at + self.runs.bytes()) as usize
    }

    /// Each run, with where it is in memory.
    fn each(self) -> impl Iterator<Item = (Run, usize)> {
        (0..self.runs.count)
            .map(move |index| (self.runs.run(index), (self.at + index * self.runs.len) as usize))
    }
}

/// Whether a piece can be moved together with those before it.
fn fits(batch: &[Piece], piece: &Piece, longest_gap: u64, buffer: u64) -> bool {
    let (Some(first), Some(last)) = (batch.first(), batch.last()) else { return true };
    piece.offset().saturating_sub(last.end()) <= longest_gap && piece.end() - first.offset() <= buffer
}

/// From the first byte of a batch to its end: pieces may lie on each other.
fn span(batch: &[Piece]) -> Range<u64> {
    let end = batch.iter().map(Piece::end).max().unwrap_or(0);
    batch.first().map_or(0, Piece::offset)..end
}

struct Reader<'a> {
    handle: &'a Handle,
    sieve: Sieve,
    batch: Vec<Piece>,
    buffer: Vec<u8>,
    found: Found,
}

impl Reader<'_> {
    /// Takes runs that lie at equal distances, as many at a time as there is memory for with their gaps.
    fn take_stripe(&mut self, runs: Stripe, at: u64, memory: &mut [u8]) -> Result {
        let gap = runs.stride.saturating_sub(runs.len);
        let fit = self.sieve.buffer.saturating_sub(runs.len) / runs.stride.max(1) + 1;
        let most = if self.is_alone(runs.len) || gap > LONGEST_GAP { 1 } else { fit };
        for index in (0..runs.count).step_by(usize::try_from(most).unwrap_or(usize::MAX)) {
            let Run { offset, .. } = runs.run(index);
            let part = Stripe { offset, count: most.min(runs.count - index), ..runs };
            self.take(Piece { runs: part, at: at + index * runs.len }, memory)?;
        }
        Ok(())
    }

    /// Whether a run is read by itself.
    fn is_alone(&self, len: u64) -> bool {
        self.sieve.switch == Switch::Disable || self.sieve.switch == Switch::Automatic && len >= LONG_RUN
    }

    fn take(&mut self, piece: Piece, memory: &mut [u8]) -> Result {
        let alone = self.is_alone(piece.runs.len);
        if alone || !fits(&self.batch, &piece, LONGEST_GAP, self.sieve.buffer) {
            self.flush(memory)?;
        }
        if self.found.end.is_some() {
            return Ok(());
        }
        self.batch.push(piece);
        if alone { self.flush(memory) } else { Ok(()) }
    }

    fn flush(&mut self, memory: &mut [u8]) -> Result {
        let (Some(first), Some(last)) = (self.batch.first().copied(), self.batch.last().copied()) else {
            return Ok(());
        };
        let span = span(&self.batch);
        let wanted = (span.end - span.start) as usize;
        // Memory may have the same gaps: then there is nothing to pick out.
        let is_mirrored = (last.in_memory().end as u64 - first.at) == last.end() - first.offset();
        let may_map = self.sieve.switch == Switch::Automatic && wanted >= LEAST_MAPPED && !is_mirrored;
        if may_map && let Some(mapping) = self.handle.map(&span) {
            for piece in self.batch.drain(..) {
                let from = (piece.offset() - span.start) as usize;
                mapping.copy(from, &piece.runs, &mut memory[piece.in_memory()]);
                self.found.bytes += piece.runs.bytes();
            }
            return Ok(());
        }
        let got = if is_mirrored {
            let start = first.at as usize;
            self.handle.read(&mut memory[start..start + wanted], span.start)?
        } else {
            self.buffer.resize(wanted, 0);
            self.handle.read(&mut self.buffer, span.start)?
        };
        let end = span.start + got as u64;
        for (run, to) in self.batch.drain(..).flat_map(Piece::each) {
            let available = end.saturating_sub(run.offset).min(run.len);
            if !is_mirrored {
                let (from, bytes) = ((run.offset - span.start) as usize, available as usize);
                memory[to..to + bytes].copy_from_slice(&self.buffer[from..from + bytes]);
            }
            self.found.bytes += available;
            if available < run.len {
                break;
            }
        }
        if got < wanted {
            self.found.end = Some(end);
        }
        Ok(())
    }
}

struct Writer<'a> {
    handle: &'a Handle,
    sieve: Sieve,
    batch: Vec<Piece>,
    buffer: Vec<u8>,
}

impl Writer<'_> {
    fn take(&mut self, piece: Piece, memory: &[u8]) -> Result {
        let may_sieve = self.sieve.locks && self.handle.can_read();
        let alone = match self.sieve.switch {
            Switch::Disable => true,
            Switch::Enable => !may_sieve,
            Switch::Automatic => piece.runs.len >= LONG_RUN_WRITTEN || !may_sieve,
        };
        let gap = if self.sieve.switch == Switch::Enable { self.sieve.buffer } else { LONGEST_GAP_WRITTEN };
        if alone || !fits(&self.batch, &piece, gap, self.sieve.buffer) {
            self.flush(memory)?;
        }
        self.batch.push(piece);
        if alone { self.flush(memory) } else { Ok(()) }
    }

    fn flush(&mut self, memory: &[u8]) -> Result {
        if self.batch.is_empty() {
            return Ok(());
        }
        let span = span(&self.batch);
        let is_locked = self.sieve.atomic || !self.sieve.locks;
        let _locked = if is_locked { None } else { Some(self.handle.lock(&span, true)?) };
        match self.batch.as_slice() {
            [only] => self.handle.write(&memory[only.in_memory()], only.offset())?,
            batch if self.handle.others_write_without_locks() => {
                for piece in batch {
                    self.handle.write(&memory[piece.in_memory()], piece.offset())?;
                }
            }
            batch => {
                self.buffer.clear();
                self.buffer.resize((span.end - span.start) as usize, 0);
                // Behind the end of the file there are zeros.
                self.handle.read(&mut self.buffer, span.start)?;
                for piece in batch {
                    let to = (piece.offset() - span.start) as usize;
                    self.buffer[to..to + piece.runs.len as usize].copy_from_slice(&memory[piece.in_memory()]);
                }
                self.handle.write(&self.buffer, span.start)?;
            }
        }
        self.batch.clear();
        Ok(())
    }
}
