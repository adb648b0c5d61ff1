//! Records and chunks of the Open Trace Format 2, byte by byte.
//!
//! A file is made of chunks of one length, the last of which may be shorter. A chunk begins with its byte order and the
//! numbers of its first and last event. No record crosses the end of a chunk; what is left of it is zeros. The file ends with
//! an end of chunk and an end of file. A time is a record of its own, before the events at that time.

/// Begins a chunk.
const CHUNK: u8 = 3;
/// Of a chunk in little-endian order.
const LITTLE_ENDIAN: u8 = 0x42;
/// Ends the last chunk, and ends the file.
const END: [u8; 2] = [2, 1];
/// The record of a time, which is followed by eight bytes.
const TIME: u8 = 5;
const TIME_BYTES: usize = 9;
/// Order, first and last event.
const HEADER_BYTES: usize = 18;
/// In place of a reference: there is none.
const NONE: u8 = 0xff;
/// A length that does not fit into one byte, which is followed by eight bytes.
const LONG: u8 = 0xff;

/// A record that is being made.
pub(super) struct Record {
    kind: u8,
    body: Vec<u8>,
}

impl Record {
    pub(super) fn new(kind: u8) -> Record {
        Record { kind, body: Vec::with_capacity(32) }
    }

    pub(super) fn byte(mut self, value: u8) -> Record {
        self.body.push(value);
        self
    }

    /// A number: how many bytes it has, and these, the lowest first.
    pub(super) fn number(mut self, value: u64) -> Record {
        number(value, &mut self.body);
        self
    }

    pub(super) fn optional(self, value: Option<u32>) -> Record {
        match value {
            Some(value) => self.number(value.into()),
            None => self.byte(NONE),
        }
    }

    /// A text, which ends with a zero.
    pub(super) fn text(mut self, text: &str) -> Record {
        self.body.extend(text.bytes().filter(|byte| *byte != 0));
        self.byte(0)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.kind];
        match u8::try_from(self.body.len()) {
            Ok(length) if length != LONG => bytes.push(length),
            _ => {
                bytes.push(LONG);
                bytes.extend((self.body.len() as u64).to_le_bytes());
            }
        }
        bytes.extend(&self.body);
        bytes
    }
}

fn number(value: u64, bytes: &mut Vec<u8>) {
    let length = (64 - value.leading_zeros()).div_ceil(8) as usize;
    bytes.push(length as u8);
    bytes.extend(&value.to_le_bytes()[..length]);
}

/// The records of a file.
pub(super) struct Chunks {
    bytes: Vec<u8>,
    /// Of a chunk.
    length: usize,
    /// Where the last chunk begins.
    begin: usize,
    /// Records so far.
    records: u64,
    /// The time of the last event of this chunk.
    time: Option<u64>,
    has_events: bool,
}

impl Chunks {
    pub(super) fn of_events(length: usize) -> Chunks {
        Chunks::new(length, true)
    }

    pub(super) fn of_definitions(length: usize) -> Chunks {
        Chunks::new(length, false)
    }

    fn new(length: usize, has_events: bool) -> Chunks {
        let mut chunks = Chunks { bytes: Vec::new(), length, begin: 0, records: 0, time: None, has_events };
        chunks.open();
        chunks
    }

    fn open(&mut self) {
        self.begin = self.bytes.len();
        self.time = None;
        let first = if self.has_events { self.records + 1 } else { 1 };
        self.bytes.extend([CHUNK, LITTLE_ENDIAN]);
        self.bytes.extend(first.to_le_bytes());
        self.bytes.extend([0; 8]);
    }

    /// Writes the number of the chunk's last event into its header.
    fn close(&mut self) {
        if self.has_events {
            self.bytes[self.begin + HEADER_BYTES - 8..self.begin + HEADER_BYTES]
                .copy_from_slice(&self.records.to_le_bytes());
        }
    }

    pub(super) fn record(&mut self, time: Option<u64>, record: Record) {
        self.put(time, &record.bytes());
    }

    /// An event that is only a reference.
    pub(super) fn short(&mut self, time: u64, kind: u8, reference: u32) {
        let mut bytes = vec![kind];
        number(reference.into(), &mut bytes);
        self.put(Some(time), &bytes);
    }

    fn put(&mut self, time: Option<u64>, record: &[u8]) {
        let room = self.length - (self.bytes.len() - self.begin);
        if record.len() + TIME_BYTES + END.len() > room {
            self.close();
            self.bytes.resize(self.begin + self.length, 0);
            self.open();
        }
        if let Some(now) = time.filter(|_| time != self.time) {
            self.bytes.push(TIME);
            self.bytes.extend(now.to_le_bytes());
            self.time = time;
        }
        self.bytes.extend(record);
        self.records += 1;
    }

    /// Records so far.
    pub(super) fn events(&self) -> u64 {
        self.records
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.close();
        self.bytes.extend(END);
        self.bytes
    }
}

/// The file that says what there is: lengths of chunks (events, definitions), ranks, and definitions.
pub(super) fn anchor(
    chunks: [usize; 2],
    ranks: usize,
    definitions: u64,
    description: &str,
    started: u64,
) -> Vec<u8> {
    let mut bytes = vec![CHUNK, LITTLE_ENDIAN];
    bytes.extend(b"OTF2\0");
    // The format, and the library that would have written it.
    bytes.extend([3, 2, 3, 0, 0]);
    chunks.iter().for_each(|length| bytes.extend((*length as u64).to_le_bytes()));
    // Files of the system's, not compressed.
    bytes.extend([1, 1]);
    bytes.extend((ranks as u64).to_le_bytes());
    bytes.extend(definitions.to_le_bytes());
    for text in ["", "Corelace", description] {
        bytes.extend(text.bytes().filter(|byte| *byte != 0));
        bytes.push(0);
    }
    // No properties.
    bytes.extend([0; 4]);
    // A number for the archive, other than that of other runs.
    bytes.extend((started << 20 ^ definitions).to_le_bytes());
    // No snapshots, and no thumbnails.
    bytes.extend([0; 8]);
    bytes.extend(END);
    bytes.push(0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_bytes_as_they_need() {
        for (value, expected) in
            [(0, vec![0]), (7, vec![1, 7]), (299, vec![2, 0x2b, 1]), (4096, vec![2, 0, 0x10])]
        {
            let mut bytes = Vec::new();
            number(value, &mut bytes);
            assert_eq!(bytes, expected, "{value}");
        }
    }

    #[test]
    fn long_records_have_a_long_length() {
        let long = Record::new(10).text(&"x".repeat(299)).bytes();
        assert_eq!(long[..11], [10, 0xff, 0x2c, 1, 0, 0, 0, 0, 0, 0, b'x']);
        assert_eq!(Record::new(10).text("x").bytes(), [10, 2, b'x', 0]);
    }

    #[test]
    fn no_event_crosses_the_end_of_a_chunk() {
        let mut chunks = Chunks::of_events(64);
        (0..20).for_each(|time| chunks.short(time, 12, 5));
        let bytes = chunks.finish();
        let firsts: Vec<u8> = bytes.chunks(64).map(|chunk| chunk[2]).collect();
        let lasts: Vec<u8> = bytes.chunks(64).map(|chunk| chunk[10]).collect();
        assert_eq!((firsts, lasts), (vec![1, 4, 7, 10, 13, 16, 19], vec![3, 6, 9, 12, 15, 18, 20]));
        assert!(bytes.chunks(64).all(|chunk| chunk[..2] == [CHUNK, LITTLE_ENDIAN]));
    }
}
