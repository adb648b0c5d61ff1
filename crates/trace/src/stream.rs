//! What one rank, or the chip, recorded: reading it from the rank's own file, and its events in order.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::TraceError;
use crate::event::{Event, Name};
use crate::recording::{self, CHIP_STREAM, chunk, header};
use crate::wire::{self, Decoded};

/// The events of a rank, or of the chip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stream {
    /// The world rank, or [`CHIP_STREAM`].
    pub rank: u32,
    /// Events that newer ones have overwritten.
    pub dropped: u64,
    /// Interned strings; the first is empty.
    pub(crate) names: Vec<String>,
    /// Whole records, the first of which sets the base.
    pub(crate) records: Vec<u64>,
}

impl Stream {
    /// Reads the recording that a rank wrote, whether or not the rank came to its end.
    pub fn of_recording(path: &Path) -> Result<Stream, TraceError> {
        let file = File::open(path).map_err(|error| TraceError::io(path, error))?;
        let read = |offset: usize, words: usize, what: &str| read_words(&file, path, offset, words, what);
        let head = read(0, header::WORDS, "the header of a recording")?;
        check_beginning(path, &head, recording::MAGIC, "CLRK", recording::VERSION)?;

        let length = file.metadata().map_err(|error| TraceError::io(path, error))?.len() / 8;
        let [chunk_words, chunks, string_words, strings_used] =
            [header::CHUNK_WORDS, header::CHUNKS, header::STRING_WORDS, header::STRING_WORDS_USED]
                .map(|word| head[word]);
        let fits = chunk_words >= chunk::RECORDS as u64
            && strings_used <= string_words
            && chunks
                .checked_mul(chunk_words)
                .and_then(|words| words.checked_add(string_words))
                .and_then(|words| words.checked_add(header::WORDS as u64))
                .is_some_and(|words| words <= length);
        if !fits {
            let expected = format!("{chunks} chunks of {chunk_words} words, all within the file");
            return Err(TraceError::damaged(path, header::CHUNK_WORDS * 8, expected));
        }

        let strings = read(header::WORDS, strings_used as usize, "strings")?;
        let mut begun = Vec::new();
        for slot in 0..chunks as usize {
            let offset = header::WORDS + string_words as usize + slot * chunk_words as usize;
            let head = read(offset, chunk::RECORDS, "the header of a chunk")?;
            if head[chunk::SEQUENCE] != 0 {
                begun.push((head[chunk::SEQUENCE], offset, head[chunk::FILL] as u32 as usize));
            }
        }
        begun.sort_unstable();

        let mut stream = Stream {
            rank: head[header::RANK] as u32,
            dropped: head[header::EVENTS_DROPPED],
            names: names(&strings),
            records: Vec::new(),
        };
        for (_, offset, used) in begun {
            let used = used.clamp(chunk::RECORDS, chunk_words as usize);
            let records = read(offset + chunk::RECORDS, used - chunk::RECORDS, "records")?;
            let whole = whole_records(&records);
            stream.records.extend_from_slice(&records[..whole]);
        }
        Ok(stream)
    }

    /// Whether this is the chip's stream.
    pub fn is_chip(&self) -> bool {
        self.rank == CHIP_STREAM
    }

    /// The events, oldest first.
    pub fn events(&self) -> Events<'_> {
        Events { records: &self.records, base: 0, left: None }
    }

    /// The string of a name; empty if there is none.
    pub fn name(&self, name: Name) -> &str {
        self.names.get(name.0 as usize).map_or("", String::as_str)
    }
}

/// The events of a stream, in the order in which they were recorded.
#[derive(Clone)]
pub struct Events<'a> {
    records: &'a [u64],
    base: u64,
    /// When the rank left its call, if the event before said so.
    left: Option<u64>,
}

impl Iterator for Events<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if let Some(time) = self.left.take() {
            return Some(Event::Leave { time });
        }
        while let Some((length, decoded)) = wire::decode(self.records, self.base) {
            self.records = &self.records[length..];
            match decoded {
                Decoded::Base(time) => self.base = time,
                Decoded::Event(event, left) => {
                    self.left = left.then(|| event.time());
                    return Some(event);
                }
                Decoded::Unknown => {}
            }
        }
        None
    }
}

/// How many of these words are whole records.
pub(crate) fn whole_records(words: &[u64]) -> usize {
    let mut whole = 0;
    while let Some((length, _)) = wire::decode(&words[whole..], 0) {
        whole += length;
    }
    whole
}

/// The interned strings in a region: for each its length, then its bytes.
pub(crate) fn names(mut words: &[u64]) -> Vec<String> {
    let mut names = vec![String::new()];
    while let Some((&bytes, rest)) = words.split_first() {
        let Some(text) = usize::try_from(bytes).ok().and_then(|bytes| rest.get(..bytes.div_ceil(8))) else {
            break;
        };
        let padded: Vec<u8> = text.iter().flat_map(|word| word.to_ne_bytes()).collect();
        names.push(String::from_utf8_lossy(&padded[..bytes as usize]).into_owned());
        words = &rest[text.len()..];
    }
    names
}

/// The words of [`names`], without the first, which is always there.
pub(crate) fn names_to_words(names: &[String]) -> Vec<u64> {
    let mut words = Vec::new();
    for name in &names[1..] {
        words.push(name.len() as u64);
        for bytes in name.as_bytes().chunks(8) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            words.push(u64::from_ne_bytes(padded));
        }
    }
    words
}

/// Holds the first two words of a file against what they must be.
pub(crate) fn check_beginning(
    path: &Path,
    head: &[u64],
    letters: [u8; 4],
    expected: &'static str,
    version: u32,
) -> Result<(), TraceError> {
    let found = head[0].to_ne_bytes();
    if found[..4] != letters {
        let found = String::from_utf8_lossy(&found[..4]).into_owned();
        return Err(TraceError::Foreign { file: path.to_path_buf(), found, expected });
    }
    if head[1] != recording::BYTE_ORDER {
        return Err(TraceError::Incompatible {
            file: path.to_path_buf(),
            found: "a machine of the other byte order".into(),
            expected: format!("this machine's (byte order word {:#018x})", recording::BYTE_ORDER),
        });
    }
    let found = u32::from_ne_bytes([found[4], found[5], found[6], found[7]]);
    if found != version {
        return Err(TraceError::Incompatible {
            file: path.to_path_buf(),
            found: format!("version {found} of the format"),
            expected: format!("version {version}"),
        });
    }
    Ok(())
}

fn read_words(
    file: &File,
    path: &Path,
    offset: usize,
    words: usize,
    what: &str,
) -> Result<Vec<u64>, TraceError> {
    let mut bytes = vec![0; words * 8];
    file.read_exact_at(&mut bytes, offset as u64 * 8).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => TraceError::damaged(path, offset * 8, what),
        _ => TraceError::io(path, error),
    })?;
    Ok(to_words(&bytes))
}

/// Whole words of bytes; what is left over is dropped.
pub(crate) fn to_words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}
