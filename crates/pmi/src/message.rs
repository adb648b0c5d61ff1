//! The messages of the control channel and their frames.
//!
//! ```text
//! offset  0        4       5      8                12
//!         | length | kind  | zero | body (length bytes) ...
//!           u32 LE   u8      u24
//! ```
//!
//! Integers are little endian. Invariant: a decoder fed any bytes, in pieces of any size, either yields messages, asks for
//! more, or fails; it never allocates more than [`REQUEST_MAX`] because a peer says so.

use std::fmt;

use crate::request::{REQUEST_MAX, Request};
use crate::statement::{STATEMENT_MAX, Statement};

/// The longest text that an `Abort` message carries, in bytes; longer ones are cut at a character boundary.
pub const MESSAGE_MAX: usize = 4096;

const HEADER: usize = 8;
const BODY_MAX: usize = MESSAGE_MAX + 16;
const CRASH_BODY: usize = 32;
/// Bytes of a [`StackCopy`] before what was on the stack.
const STACK_HEAD: usize = 48;

/// What a rank (or the host of many ranks) tells the launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The rank is in `MPI_Init`.
    Hello {
        /// The protocol the rank speaks.
        version: u32,
        /// Which rank.
        rank: u32,
        /// Its process, which need not be the one the launcher started (think of a shell script).
        pid: u32,
    },
    /// The rank has left `MPI_Finalize`; it may take its time to exit.
    Finalized {
        /// Which rank.
        rank: u32,
    },
    /// A rank of a host (thread or fiber) has returned from `main` or called `exit`.
    Exited {
        /// Which rank.
        rank: u32,
        /// Its exit status, as `main` returned it.
        status: i32,
    },
    /// The rank called `MPI_Abort`, or the library gave up.
    Abort {
        /// Which rank.
        rank: u32,
        /// The code given to `MPI_Abort`.
        code: i32,
        /// Why, for a person; empty if the program's own `MPI_Abort` is all there is to say.
        message: String,
    },
    /// A rank of a host (thread or fiber) got a signal that ends the process of all of them.
    Crashed(Crash),
    /// What lay on the stack of a rank that [crashed](Message::Crashed).
    Stack(Box<StackCopy>),
    /// What a rank waits for: the answer to an inquiry, or its last words.
    Statement(Box<Statement>),
    /// What `--check` found; the job goes on.
    Note {
        /// Which rank.
        rank: u32,
        /// What it found, for a person. Call sites are between backquotes, as module and offset.
        text: String,
    },
    /// The rank wants something, and waits for a [`Reply`](crate::Reply).
    Request {
        /// Which rank.
        rank: u32,
        /// Its process.
        pid: u32,
        /// The descriptor in that process that the reply is written to.
        reply: u32,
        /// What it wants.
        request: Request,
    },
}

/// Which rank of a host a deadly signal belongs to, and what it was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// Which rank.
    pub rank: u32,
    /// The number of the signal.
    pub signal: u32,
    /// Bytes of the rank's stack if it has overflowed, else 0.
    pub overflowed: u64,
    /// The address that could not be accessed, where the signal is about one.
    pub address: u64,
    /// The instruction that could not go on, as the file of the rank's program counts; 0 if it was in a library.
    pub instruction: u64,
}

/// The registers and the innermost part of the stack of a rank that crashed. Addresses are those of its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackCopy {
    /// Which rank.
    pub rank: u32,
    /// Where it was.
    pub instruction: u64,
    /// Its stack pointer.
    pub stack: u64,
    /// Its frame pointer, or whatever that register held.
    pub frame: u64,
    /// Where its program lies.
    pub code: u64,
    /// Where `bytes` begin.
    pub begin: u64,
    /// What was there.
    pub bytes: Vec<u8>,
}

impl StackCopy {
    /// The most bytes of a stack that travel.
    pub const BYTES_MAX: usize = 12 << 10;

    /// The frame's part before the bytes, of which there are `bytes`. Allocates nothing: for handlers of signals.
    pub fn frame_head(rank: u32, words: [u64; 5], bytes: usize) -> [u8; HEADER + STACK_HEAD] {
        let mut frame = [0; HEADER + STACK_HEAD];
        frame[..4].copy_from_slice(&((STACK_HEAD + bytes) as u32).to_le_bytes());
        frame[4] = STACK;
        frame[HEADER..HEADER + 4].copy_from_slice(&rank.to_le_bytes());
        for (place, word) in frame[HEADER + 8..].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        frame
    }
}

impl Crash {
    /// The frame of the message. Allocates nothing: for handlers of signals.
    pub fn frame(&self) -> [u8; HEADER + CRASH_BODY] {
        let mut frame = [0; HEADER + CRASH_BODY];
        frame[..4].copy_from_slice(&(CRASH_BODY as u32).to_le_bytes());
        frame[4] = CRASHED;
        let body = &mut frame[HEADER..];
        body[..4].copy_from_slice(&self.rank.to_le_bytes());
        body[4..8].copy_from_slice(&self.signal.to_le_bytes());
        body[8..16].copy_from_slice(&self.overflowed.to_le_bytes());
        body[16..24].copy_from_slice(&self.address.to_le_bytes());
        body[24..].copy_from_slice(&self.instruction.to_le_bytes());
        frame
    }
}

/// Bytes that are no frame of this protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The kind byte is unknown.
    Kind(u8),
    /// The length does not belong to the kind.
    Length {
        /// The kind byte.
        kind: u8,
        /// The length field.
        length: usize,
        /// What the kind needs.
        expected: &'static str,
    },
    /// The reserved bytes are not zero.
    Reserved,
    /// The text is no UTF-8.
    Text,
    /// The body is no statement.
    Statement,
    /// The body is no request.
    Request,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Kind(kind) => write!(f, "control message of kind {kind}, expected 1 to 9"),
            DecodeError::Length { kind, length, expected } => {
                write!(f, "control message of kind {kind} with {length} bytes, expected {expected}")
            }
            DecodeError::Reserved => {
                f.write_str("control message whose reserved bytes are not zero: not a frame")
            }
            DecodeError::Text => f.write_str("control message whose text is not UTF-8"),
            DecodeError::Statement => f.write_str("control message of kind 5 that makes no sense"),
            DecodeError::Request => f.write_str("control message of kind 9 that makes no sense"),
        }
    }
}

impl std::error::Error for DecodeError {}

impl Message {
    /// The rank that the message speaks for, or claims to.
    pub fn rank(&self) -> u32 {
        match self {
            Message::Hello { rank, .. }
            | Message::Finalized { rank }
            | Message::Exited { rank, .. }
            | Message::Abort { rank, .. }
            | Message::Note { rank, .. }
            | Message::Request { rank, .. } => *rank,
            Message::Statement(statement) => statement.rank,
            Message::Crashed(crash) => crash.rank,
            Message::Stack(copy) => copy.rank,
        }
    }

    /// The frame of this message.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(16);
        let kind = match self {
            Message::Hello { version, rank, pid } => {
                for word in [version, rank, pid] {
                    body.extend_from_slice(&word.to_le_bytes());
                }
                HELLO
            }
            Message::Finalized { rank } => {
                body.extend_from_slice(&rank.to_le_bytes());
                FINALIZED
            }
            Message::Exited { rank, status } => {
                body.extend_from_slice(&rank.to_le_bytes());
                body.extend_from_slice(&status.to_le_bytes());
                EXITED
            }
            Message::Abort { rank, code, message } => {
                body.extend_from_slice(&rank.to_le_bytes());
                body.extend_from_slice(&code.to_le_bytes());
                body.extend_from_slice(shortened(message).as_bytes());
                ABORT
            }
            Message::Crashed(crash) => return crash.frame().to_vec(),
            Message::Stack(copy) => {
                let StackCopy { rank, instruction, stack, frame, code, begin, bytes } = &**copy;
                let words = [*instruction, *stack, *frame, *code, *begin];
                return [&StackCopy::frame_head(*rank, words, bytes.len())[..], bytes].concat();
            }
            Message::Statement(statement) => {
                body = statement.encode();
                STATEMENT
            }
            Message::Note { rank, text } => {
                body.extend_from_slice(&rank.to_le_bytes());
                body.extend_from_slice(shortened(text).as_bytes());
                NOTE
            }
            Message::Request { rank, pid, reply, request } => {
                for word in [rank, pid, reply] {
                    body.extend_from_slice(&word.to_le_bytes());
                }
                body.extend(request.encode());
                REQUEST
            }
        };
        let mut frame = Vec::with_capacity(HEADER + body.len());
        frame.extend_from_slice(&(body.len() as u32).to_le_bytes());
        frame.extend_from_slice(&[kind, 0, 0, 0]);
        frame.extend_from_slice(&body);
        frame
    }

    /// Decodes the first message of `bytes`: the message and how many bytes it took, or `None` if more are needed.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Message, usize)>, DecodeError> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let kind = header[4];
        let expected = match kind {
            HELLO if length != 12 => Some("12"),
            FINALIZED if length != 4 => Some("4"),
            EXITED if length != 8 => Some("8"),
            ABORT if !(8..=BODY_MAX).contains(&length) => Some("8 to 4112"),
            CRASHED if length != CRASH_BODY => Some("32"),
            STATEMENT if length > STATEMENT_MAX => Some("at most 16384"),
            NOTE if !(4..=BODY_MAX).contains(&length) => Some("4 to 4112"),
            REQUEST if !(12..=REQUEST_MAX + 12).contains(&length) => Some("12 to 131084"),
            STACK if !(STACK_HEAD..=STACK_HEAD + StackCopy::BYTES_MAX).contains(&length) => {
                Some("48 to 12336")
            }
            HELLO | FINALIZED | EXITED | ABORT | STATEMENT | CRASHED | NOTE | STACK | REQUEST => None,
            unknown => return Err(DecodeError::Kind(unknown)),
        };
        if let Some(expected) = expected {
            return Err(DecodeError::Length { kind, length, expected });
        }
        if header[5..] != [0, 0, 0] {
            return Err(DecodeError::Reserved);
        }
        if rest.len() < length {
            return Ok(None);
        }
        let body = &rest[..length];
        let message = match kind {
            HELLO => Message::Hello { version: word(body, 0), rank: word(body, 1), pid: word(body, 2) },
            FINALIZED => Message::Finalized { rank: word(body, 0) },
            EXITED => Message::Exited { rank: word(body, 0), status: word(body, 1) as i32 },
            CRASHED => Message::Crashed(Crash {
                rank: word(body, 0),
                signal: word(body, 1),
                overflowed: long(body, 1),
                address: long(body, 2),
                instruction: long(body, 3),
            }),
            STACK if body[4..8] != [0; 4] => return Err(DecodeError::Reserved),
            STACK => Message::Stack(Box::new(StackCopy {
                rank: word(body, 0),
                instruction: long(body, 1),
                stack: long(body, 2),
                frame: long(body, 3),
                code: long(body, 4),
                begin: long(body, 5),
                bytes: body[STACK_HEAD..].to_vec(),
            })),
            STATEMENT => Message::Statement(Box::new(Statement::decode(body).ok_or(DecodeError::Statement)?)),
            NOTE => Message::Note {
                rank: word(body, 0),
                text: std::str::from_utf8(&body[4..]).map_err(|_| DecodeError::Text)?.to_string(),
            },
            REQUEST => Message::Request {
                rank: word(body, 0),
                pid: word(body, 1),
                reply: word(body, 2),
                request: Request::decode(&body[12..]).ok_or(DecodeError::Request)?,
            },
            _ => Message::Abort {
                rank: word(body, 0),
                code: word(body, 1) as i32,
                message: std::str::from_utf8(&body[8..]).map_err(|_| DecodeError::Text)?.to_string(),
            },
        };
        Ok(Some((message, HEADER + length)))
    }
}

const HELLO: u8 = 1;
const FINALIZED: u8 = 2;
const EXITED: u8 = 3;
const ABORT: u8 = 4;
const STATEMENT: u8 = 5;
const CRASHED: u8 = 6;
const NOTE: u8 = 7;
const STACK: u8 = 8;
const REQUEST: u8 = 9;

/// At most [`MESSAGE_MAX`] bytes of `text`, cut where a character ends.
fn shortened(text: &str) -> &str {
    cut(text, MESSAGE_MAX)
}

/// At most `most` bytes of `text`, cut where a character ends.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn word(body: &[u8], index: usize) -> u32 {
    let at = index * 4;
    u32::from_le_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]])
}

fn long(body: &[u8], index: usize) -> u64 {
    u64::from(word(body, 2 * index)) | u64::from(word(body, 2 * index + 1)) << 32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_message() -> impl Strategy<Value = Message> {
        prop_oneof![
            any::<(u32, u32, u32)>().prop_map(|(version, rank, pid)| Message::Hello { version, rank, pid }),
            any::<u32>().prop_map(|rank| Message::Finalized { rank }),
            any::<(u32, i32)>().prop_map(|(rank, status)| Message::Exited { rank, status }),
            (any::<u32>(), ".{0,200}").prop_map(|(rank, text)| Message::Note { rank, text }),
            (any::<u32>(), any::<i32>(), ".{0,200}").prop_map(|(rank, code, message)| Message::Abort {
                rank,
                code,
                message
            }),
            any::<(u32, u32, u64, u64, u64)>().prop_map(
                |(rank, signal, overflowed, address, instruction)| {
                    Message::Crashed(Crash { rank, signal, overflowed, address, instruction })
                }
            ),
            (any::<(u32, u64, u64, u64, u64, u64)>(), prop::collection::vec(any::<u8>(), 0..200)).prop_map(
                |((rank, instruction, stack, frame, code, begin), bytes)| {
                    let copy = StackCopy { rank, instruction, stack, frame, code, begin, bytes };
                    Message::Stack(Box::new(copy))
                }
            ),
            crate::statement::tests::statement()
                .prop_map(|statement| Message::Statement(Box::new(statement))),
        ]
    }

    proptest! {
        #[test]
        fn a_message_survives_encoding(message in any_message()) {
            let frame = message.encode();
            prop_assert_eq!(Message::decode(&frame), Ok(Some((message, frame.len()))));
        }

        #[test]
        fn a_cut_frame_asks_for_more(message in any_message(), cut: prop::sample::Index) {
            let frame = message.encode();
            prop_assert_eq!(Message::decode(&frame[..cut.index(frame.len())]), Ok(None));
        }

        #[test]
        fn any_bytes_are_refused_or_taken_but_never_overrun(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(Some((_, taken))) = Message::decode(&bytes) {
                prop_assert!(taken <= bytes.len());
            }
        }
    }

    #[test]
    fn a_very_long_text_is_cut_at_a_character() {
        let message = Message::Abort { rank: 1, code: 2, message: "é".repeat(MESSAGE_MAX) };
        let (decoded, _) = Message::decode(&message.encode()).unwrap().unwrap();
        assert_eq!(decoded, Message::Abort { rank: 1, code: 2, message: "é".repeat(MESSAGE_MAX / 2) });
    }

    #[test]
    fn an_absurd_length_is_refused_before_anything_is_read() {
        let frame = [0xff, 0xff, 0xff, 0xff, ABORT, 0, 0, 0];
        assert!(matches!(Message::decode(&frame), Err(DecodeError::Length { kind: ABORT, .. })));
    }
}
