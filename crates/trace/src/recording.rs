//! A rank's recording: a file that the rank maps and writes into while it runs.
//!
//! ```text
//! +--------+----------------+---------+---------+-- - - --+
//! | header | strings        | chunk 0 | chunk 1 |         |
//! | 4 KiB  | 256 KiB        |         |         |         |
//! +--------+----------------+---------+---------+-- - - --+
//!          chunk: sequence | events and words used | records ...
//! ```
//!
//! Chunks are a ring: when the limit is reached the oldest is overwritten, and the events that were in it count as
//! dropped. One store publishes an event (the chunk's count of words used), so a recording is whole at every instant at
//! which its process can die. A chunk's blocks are allocated before its first event, because a store into a hole of a
//! full file system would kill the rank; if none are left, the ring stays as long as it is.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::atomic::Ordering::{Relaxed, Release};

use crate::error::TraceError;
use crate::event::{Event, Name};
use crate::mapping::Mapping;
use crate::wire;

/// The rank of the stream that the simulator of a chip writes.
pub const CHIP_STREAM: u32 = u32::MAX;
/// A chip's recording may take as much as so many ranks' do: it has the links and servers of all places.
pub const CHIP_SHARE: u64 = 8;

/// The words of a recording's header.
pub(crate) mod header {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const BYTE_ORDER: usize = 1;
    pub(crate) const RANK: usize = 2;
    pub(crate) const TICKS_PER_SECOND: usize = 3;
    pub(crate) const CHUNK_WORDS: usize = 4;
    pub(crate) const CHUNKS: usize = 5;
    pub(crate) const STRING_WORDS: usize = 6;
    pub(crate) const STRING_WORDS_USED: usize = 7;
    pub(crate) const EVENTS_DROPPED: usize = 8;
    pub(crate) const WORDS: usize = 512;
}

/// The words of a chunk before its records.
pub(crate) mod chunk {
    /// 0 while it is empty, 1 for the first chunk that was ever begun.
    pub(crate) const SEQUENCE: usize = 0;
    /// Words used, with these two, below; events above.
    pub(crate) const FILL: usize = 1;
    /// One event more in [`FILL`].
    pub(crate) const EVENT: u64 = 1 << 32;
    pub(crate) const RECORDS: usize = 2;
}

pub(crate) const MAGIC: [u8; 4] = *b"CLRK";
pub(crate) const VERSION: u32 = 2;
pub(crate) const BYTE_ORDER: u64 = 0x0102_0304_0506_0708;

const STRING_WORDS: usize = 256 * 1024 / 8;
const CHUNK_BYTES_MIN: u64 = 4096;
const CHUNK_BYTES_MAX: u64 = 256 * 1024;
/// Fewer chunks than this and overwriting one would lose too much of the past at once.
const CHUNKS_WANTED: u64 = 16;

/// Words between what is written and what is fetched for writing: with the lines of the ring too old for any cache, a store into
/// one would hold up all stores behind it, and the next letter is one of those.
const FETCHED_AHEAD: usize = 64;

/// A magic word: four letters below, the version above.
pub(crate) fn magic(letters: [u8; 4], version: u32) -> u64 {
    u64::from(u32::from_ne_bytes(letters)) | u64::from(version) << 32
}

/// What a rank writes its events into.
pub struct Recording {
    memory: Mapping,
    file: File,
    /// The chunk being written.
    begin: usize,
    /// Where in memory the next record goes.
    cursor: usize,
    /// Where the last one begins.
    last: usize,
    /// The chunk's [`chunk::FILL`].
    fill: u64,
    /// Where a record and a base might no longer fit.
    full_at: usize,
    base: u64,
    chunk_words: usize,
    /// Chunks in the ring: shrinks to what was used if the file system is full.
    chunks: u64,
    chunks_begun: u64,
    events: u64,
    dropped: u64,
    names: HashMap<Box<str>, Name>,
    strings_used: usize,
}

impl Recording {
    /// The length of the file of a recording whose events take at most `limit_bytes`: whoever reads recordings of others need not read on.
    pub fn length(limit_bytes: u64) -> u64 {
        let (chunks, chunk_bytes) = Recording::chunks(limit_bytes);
        ((header::WORDS + STRING_WORDS) * 8) as u64 + chunks * chunk_bytes
    }

    /// How many chunks there are, and bytes of each.
    fn chunks(limit_bytes: u64) -> (u64, u64) {
        let chunk_bytes = (limit_bytes / CHUNKS_WANTED).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX)
            / CHUNK_BYTES_MIN
            * CHUNK_BYTES_MIN;
        ((limit_bytes / chunk_bytes).max(2), chunk_bytes)
    }

    /// Creates the recording of a rank, or of the chip ([`CHIP_STREAM`]). Events take at most `limit_bytes` (at least two
    /// chunks of 4 KiB).
    pub fn create(
        path: &Path,
        rank: u32,
        limit_bytes: u64,
        ticks_per_second: u64,
    ) -> Result<Recording, TraceError> {
        let (chunks, chunk_bytes) = Recording::chunks(limit_bytes);
        let chunk_words = (chunk_bytes / 8) as usize;
        let words = (Recording::length(limit_bytes) / 8) as usize;
        let io = |error| TraceError::io(path, error);

        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).map_err(io)?;
        file.set_len(words as u64 * 8).map_err(io)?;
        let fixed = ((header::WORDS + STRING_WORDS) * 8) as u64;
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, fixed + chunk_bytes)
            .map_err(|error| TraceError::io(path, error))?;
        let memory = Mapping::of(&file, words).map_err(io)?;

        for (word, value) in [
            (header::RANK, u64::from(rank)),
            (header::TICKS_PER_SECOND, ticks_per_second),
            (header::CHUNK_WORDS, chunk_words as u64),
            (header::CHUNKS, chunks),
            (header::STRING_WORDS, STRING_WORDS as u64),
            (header::BYTE_ORDER, BYTE_ORDER),
        ] {
            memory[word].store(value, Relaxed);
        }
        memory[header::MAGIC].store(magic(MAGIC, VERSION), Release);

        let mut recording = Recording {
            memory,
            file,
            begin: 0,
            cursor: 0,
            last: 0,
            fill: 0,
            full_at: 0,
            base: 0,
            chunk_words,
            chunks,
            chunks_begun: 0,
            events: 0,
            dropped: 0,
            names: HashMap::from([("".into(), Name::NONE)]),
            strings_used: 0,
        };
        recording.begin_chunk();
        recording.set_base(0);
        Ok(recording)
    }

    /// Records an event: a few stores.
    #[inline(always)]
    pub fn record(&mut self, event: Event) {
        let time = event.time();
        let mut delta = time.wrapping_sub(self.base) as i64;
        if self.cursor >= self.full_at || delta != i64::from(delta as i32) {
            self.make_room(time);
            delta = 0;
        }
        wire::write(&event, &mut Next { recording: self, delta: delta as i32 });
    }

    /// The rank leaves its call at the time of the event that was recorded last: a store in place of another record.
    #[inline(always)]
    pub fn leave_at_last(&mut self) {
        let header = &self.memory[self.last];
        header.store(header.load(Relaxed) | wire::LEFT, Relaxed);
        self.publish(chunk::EVENT);
    }

    /// Takes the memory of the first `bytes` of events now rather than while events are recorded: a page that is touched for
    /// the first time costs as much as dozens of events. What is refused is tried again when it is needed.
    pub fn prepare(&mut self, bytes: u64) {
        let chunk_bytes = self.chunk_words as u64 * 8;
        let wanted = (bytes / chunk_bytes).min(self.chunks);
        let taken = (1..wanted).take_while(|slot| self.allocate(*slot)).count() as u64 + 1;
        let words = header::WORDS + STRING_WORDS + (taken.min(wanted) * chunk_bytes / 8) as usize;
        self.memory.populate(words);
    }

    /// The name of a string in this recording. When 256 KiB of strings are full, further ones have no name.
    pub fn intern(&mut self, text: &str) -> Name {
        if let Some(&name) = self.names.get(text) {
            return name;
        }
        let words = 1 + text.len().div_ceil(8);
        if self.strings_used + words > STRING_WORDS {
            return Name::NONE;
        }
        let strings = &self.memory[header::WORDS + self.strings_used..];
        strings[0].store(text.len() as u64, Relaxed);
        for (word, bytes) in strings[1..].iter().zip(text.as_bytes().chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(padded), Relaxed);
        }
        self.strings_used += words;
        self.memory[header::STRING_WORDS_USED].store(self.strings_used as u64, Release);
        let name = Name(self.names.len() as u32);
        self.names.insert(text.into(), name);
        name
    }

    /// Events recorded so far, with those dropped since.
    pub fn events(&self) -> u64 {
        self.events + self.fill / chunk::EVENT
    }

    /// Events that newer ones have overwritten.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Lets what has been written be seen: so many words and events more.
    #[inline(always)]
    fn publish(&mut self, more: u64) {
        self.fill += more;
        self.memory[self.begin + chunk::FILL].store(self.fill, Release);
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, time: u64) {
        if self.cursor >= self.full_at {
            self.begin_chunk();
        }
        self.set_base(time);
    }

    fn begin_chunk(&mut self) {
        if self.chunks_begun > 0 && self.chunks_begun < self.chunks && !self.allocate(self.chunks_begun) {
            self.chunks = self.chunks_begun;
        }
        let slot = self.chunks_begun % self.chunks;
        self.begin = header::WORDS + STRING_WORDS + slot as usize * self.chunk_words;
        let oldest = &self.memory[self.begin..];
        self.dropped += oldest[chunk::FILL].load(Relaxed) / chunk::EVENT;
        oldest[chunk::SEQUENCE].store(0, Release);
        oldest[chunk::FILL].store(chunk::RECORDS as u64, Release);
        self.chunks_begun += 1;
        oldest[chunk::SEQUENCE].store(self.chunks_begun, Release);
        self.memory[header::EVENTS_DROPPED].store(self.dropped, Release);

        self.events += self.fill / chunk::EVENT;
        self.fill = chunk::RECORDS as u64;
        self.cursor = self.begin + chunk::RECORDS;
        self.full_at = self.begin + self.chunk_words - (wire::LONGEST + wire::BASE_WORDS);
    }

    fn set_base(&mut self, time: u64) {
        for word in wire::base(time) {
            self.memory[self.cursor].store(word, Relaxed);
            self.cursor += 1;
        }
        self.base = time;
        self.publish(wire::BASE_WORDS as u64);
    }

    /// Whether the file system gives the blocks of a chunk.
    fn allocate(&self, slot: u64) -> bool {
        let bytes = self.chunk_words as u64 * 8;
        let offset = ((header::WORDS + STRING_WORDS) * 8) as u64 + slot * bytes;
        rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::empty(), offset, bytes).is_ok()
    }
}

/// The place of the next record, for which there is room.
struct Next<'a> {
    recording: &'a mut Recording,
    /// Ticks since the base.
    delta: i32,
}

impl wire::Sink for Next<'_> {
    #[inline(always)]
    fn put<const N: usize>(&mut self, words: [u64; N]) {
        let recording = &mut *self.recording;
        let begin = recording.cursor;
        let Some(place) = recording.memory[begin..].first_chunk::<N>() else { return };
        place[0].store(wire::with_delta(words[0], self.delta), Relaxed);
        for word in 1..N {
            place[word].store(words[word], Relaxed);
        }
        recording.last = begin;
        recording.cursor = begin + N;
        recording.publish(N as u64 + chunk::EVENT);
        recording.memory.fetch(begin + FETCHED_AHEAD);
    }
}
