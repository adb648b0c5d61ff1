//! The merged file: one beginning, the job as lines of text, then one stream after the other.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::TraceError;
use crate::job::Job;
use crate::recording::{BYTE_ORDER, magic};
use crate::stream::{self, Stream, check_beginning, names_to_words, to_words, whole_records};

const MAGIC: [u8; 4] = *b"CLTR";
const VERSION: u32 = 2;
const STREAM: [u8; 4] = *b"STRM";
/// Magic, byte order, bytes of the job's lines, streams.
const HEAD_WORDS: usize = 4;
/// Magic and rank, events dropped, words of strings, words of records.
const STREAM_HEAD_WORDS: usize = 4;

/// A job's trace.
#[derive(Debug, Default)]
pub struct Trace {
    /// What ran.
    pub job: Job,
    /// What each rank did, and on a chip what the chip did.
    pub streams: Vec<Stream>,
    /// What [`Trace::salvage`] found damaged.
    pub damage: Option<TraceError>,
}

impl Trace {
    /// Reads a trace that must be whole.
    pub fn open(path: &Path) -> Result<Trace, TraceError> {
        let mut trace = Trace::salvage(path)?;
        match trace.damage.take() {
            Some(damage) => Err(damage),
            None => Ok(trace),
        }
    }

    /// Reads what is whole of a trace; the rest is in [`Trace::damage`]. Fails if not even the job can be read.
    pub fn salvage(path: &Path) -> Result<Trace, TraceError> {
        let bytes = std::fs::read(path).map_err(|error| TraceError::io(path, error))?;
        if bytes.len() < HEAD_WORDS * 8 {
            let begins_well = bytes.len() >= 4 && bytes[..4] == MAGIC;
            return Err(if begins_well {
                TraceError::damaged(path, bytes.len(), "the beginning of a trace, 32 bytes")
            } else {
                let found = String::from_utf8_lossy(&bytes[..bytes.len().min(4)]).into_owned();
                TraceError::Foreign { file: path.to_path_buf(), found, expected: "CLTR" }
            });
        }
        let head = to_words(&bytes[..HEAD_WORDS * 8]);
        check_beginning(path, &head, MAGIC, "CLTR", VERSION)?;

        let lines_begin = HEAD_WORDS * 8;
        let lines_end = usize::try_from(head[2]).ok().and_then(|length| lines_begin.checked_add(length));
        let lines = lines_end.and_then(|end| bytes.get(lines_begin..end)).ok_or_else(|| {
            TraceError::damaged(path, lines_begin, format!("{} bytes that describe the job", head[2]))
        })?;
        let lines = std::str::from_utf8(lines).map_err(|error| {
            TraceError::damaged(path, lines_begin + error.valid_up_to(), "lines of UTF-8 text about the job")
        })?;
        let job =
            lines.parse().map_err(|expected: String| TraceError::damaged(path, lines_begin, expected))?;

        let mut trace = Trace { job, ..Trace::default() };
        let mut offset = (lines_begin + lines.len()).next_multiple_of(8).min(bytes.len());
        for index in 0..head[3] {
            match read_stream(path, &bytes, &mut offset) {
                Ok((stream, None)) => trace.streams.push(stream),
                Ok((stream, damage)) => {
                    trace.streams.push(stream);
                    trace.damage = damage;
                }
                Err(TraceError::Damaged { file, offset, expected }) => {
                    let expected = format!("{expected} (stream {} of {})", index + 1, head[3]);
                    trace.damage = Some(TraceError::Damaged { file, offset, expected });
                }
                Err(other) => return Err(other),
            }
            if trace.damage.is_some() {
                break;
            }
        }
        Ok(trace)
    }

    /// The stream of a rank.
    pub fn rank(&self, rank: u32) -> Option<&Stream> {
        self.streams.iter().find(|stream| stream.rank == rank)
    }

    /// The chip's stream.
    pub fn chip(&self) -> Option<&Stream> {
        self.streams.iter().find(|stream| stream.is_chip())
    }
}

/// Reads a stream at `offset` and moves on behind it. A stream that is cut short is what is whole of it, with the damage.
fn read_stream(
    path: &Path,
    bytes: &[u8],
    offset: &mut usize,
) -> Result<(Stream, Option<TraceError>), TraceError> {
    let mut take = |bytes_wanted: usize| {
        let available = bytes.len() - *offset;
        let words = to_words(&bytes[*offset..*offset + bytes_wanted.min(available)]);
        let begin = *offset;
        *offset += bytes_wanted.min(available);
        (begin, words, bytes_wanted > available)
    };
    let (begin, head, short) = take(STREAM_HEAD_WORDS * 8);
    if short || head[0].to_ne_bytes()[..4] != STREAM {
        return Err(TraceError::damaged(path, begin, "the beginning of a stream, STRM"));
    }
    let byte_count = |words: u64| usize::try_from(words).ok().and_then(|words| words.checked_mul(8));
    let (Some(string_bytes), Some(record_bytes)) = (byte_count(head[2]), byte_count(head[3])) else {
        return Err(TraceError::damaged(path, begin, "a stream that fits into memory"));
    };
    let (strings_begin, strings, strings_short) = take(string_bytes);
    let (records_begin, mut records, records_short) = take(record_bytes);
    let whole = whole_records(&records);
    let damage = if strings_short {
        Some(TraceError::damaged(path, strings_begin, format!("{string_bytes} bytes of strings")))
    } else if records_short {
        Some(TraceError::damaged(path, records_begin, format!("{record_bytes} bytes of records")))
    } else if whole < records.len() {
        Some(TraceError::damaged(path, records_begin + whole * 8, "a whole record"))
    } else {
        None
    };
    records.truncate(whole);
    let names = stream::names(&strings);
    let rank = (head[0] >> 32) as u32;
    Ok((Stream { rank, dropped: head[1], names, records }, damage))
}

/// What [`merge`] made.
#[derive(Debug, Default)]
pub struct Merged {
    /// Events in the file.
    pub events: u64,
    /// Events that were recorded and overwritten by newer ones.
    pub dropped: u64,
    /// Recordings that could not be read.
    pub unreadable: Vec<TraceError>,
}

/// Makes one file of recordings. Those that cannot be read (a rank that died before it wrote any) are left out and named
/// in the result. `explain` turns the names that ranks gave to functions and call sites into those that people read.
pub fn merge(
    recordings: &[PathBuf],
    job: &Job,
    output: &Path,
    explain: &mut dyn FnMut(&str) -> String,
) -> Result<Merged, TraceError> {
    let io = |error| TraceError::io(output, error);
    let mut merged = Merged::default();
    let mut readable = Vec::new();
    for path in recordings {
        match Stream::of_recording(path) {
            // Only one recording at a time is held in memory: they are read again when written.
            Ok(_) => readable.push(path),
            Err(error) => merged.unreadable.push(error),
        }
    }
    let mut file = BufWriter::new(File::create(output).map_err(io)?);
    write_beginning(&mut file, job, readable.len()).map_err(io)?;
    for path in readable {
        let mut stream = Stream::of_recording(path)?;
        stream.names.iter_mut().for_each(|name| *name = explain(name));
        merged.events += stream.events().count() as u64;
        merged.dropped = merged.dropped.saturating_add(stream.dropped);
        write_stream(&mut file, &stream).map_err(io)?;
    }
    file.flush().map_err(io)?;
    Ok(merged)
}

fn write_beginning(file: &mut impl Write, job: &Job, streams: usize) -> std::io::Result<()> {
    let mut lines = job.to_string().into_bytes();
    lines.resize(lines.len().next_multiple_of(8), b'\n');
    let head = [magic(MAGIC, VERSION), BYTE_ORDER, lines.len() as u64, streams as u64];
    write_words(file, &head)?;
    file.write_all(&lines)
}

fn write_stream(file: &mut impl Write, stream: &Stream) -> std::io::Result<()> {
    let strings = names_to_words(&stream.names);
    let head =
        [magic(STREAM, stream.rank), stream.dropped, strings.len() as u64, stream.records.len() as u64];
    for words in [&head[..], &strings, &stream.records] {
        write_words(file, words)?;
    }
    Ok(())
}

fn write_words(file: &mut impl Write, words: &[u64]) -> std::io::Result<()> {
    words.iter().try_for_each(|word| file.write_all(&word.to_ne_bytes()))
}
