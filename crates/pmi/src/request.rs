//! What a rank asks its launcher for: processes that come later, and names of ports (MPI chapter 11).
//!
//! A request travels as a [`Message`](crate::Message) and names a pipe of the rank's, by process and descriptor number; the launcher opens it and writes the [`Reply`] there. Nothing
//! else ever waits for a launcher.
//!
//! Texts are a length of four bytes, little endian, and their bytes. **Invariant:** decoding any bytes yields a value or nothing; it never allocates more than there are bytes.

/// The longest request, in bytes.
pub const REQUEST_MAX: usize = 128 << 10;

/// What a rank asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Start these programs as one more job.
    Spawn(Vec<Program>),
    /// Let others find a port by a name.
    Publish {
        /// The name.
        name: String,
        /// The port.
        port: String,
    },
    /// Forget a name.
    Unpublish {
        /// The name.
        name: String,
    },
    /// The port behind a name.
    Lookup {
        /// The name.
        name: String,
    },
    /// Whether a job that a rank has started can still come: refused if not.
    Fate {
        /// The node of its first process.
        first: u32,
    },
}

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Program {
    /// What it is called.
    pub command: String,
    /// Its arguments, the name not included.
    pub arguments: Vec<String>,
    /// How many processes.
    pub ranks: u32,
    /// The working directory; empty for that of the rank that asks.
    pub directory: String,
    /// Where to look for it besides the usual places; empty for nowhere.
    pub path: String,
    /// Variables, as NAME=VALUE.
    pub environment: Vec<String>,
}

/// What the launcher answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The processes are started, and this is the node of the first.
    Spawned(u32),
    /// It is done.
    Done,
    /// The port behind a name.
    Found(String),
    /// Why not.
    Refused(String),
}

impl Request {
    /// The bytes of the request.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Request::Spawn(programs) => {
                out.push(1);
                number(&mut out, programs.len() as u32);
                for program in programs {
                    text(&mut out, &program.command);
                    texts(&mut out, &program.arguments);
                    number(&mut out, program.ranks);
                    text(&mut out, &program.directory);
                    text(&mut out, &program.path);
                    texts(&mut out, &program.environment);
                }
            }
            Request::Publish { name, port } => {
                out.push(2);
                text(&mut out, name);
                text(&mut out, port);
            }
            Request::Unpublish { name } => {
                out.push(3);
                text(&mut out, name);
            }
            Request::Lookup { name } => {
                out.push(4);
                text(&mut out, name);
            }
            Request::Fate { first } => {
                out.push(5);
                number(&mut out, *first);
            }
        }
        out
    }

    /// Reads a request.
    pub fn decode(bytes: &[u8]) -> Option<Request> {
        let mut bytes = Bytes(bytes);
        let request = match bytes.byte()? {
            1 => Request::Spawn((0..bytes.number()?).map(|_| bytes.program()).collect::<Option<_>>()?),
            2 => Request::Publish { name: bytes.text()?, port: bytes.text()? },
            3 => Request::Unpublish { name: bytes.text()? },
            4 => Request::Lookup { name: bytes.text()? },
            5 => Request::Fate { first: bytes.number()? },
            _ => return None,
        };
        bytes.0.is_empty().then_some(request)
    }
}

impl Reply {
    /// The bytes of the reply, with their number in front.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            Reply::Spawned(first) => {
                body.push(1);
                number(&mut body, *first);
            }
            Reply::Done => body.push(2),
            Reply::Found(port) => {
                body.push(3);
                text(&mut body, port);
            }
            Reply::Refused(why) => {
                body.push(4);
                text(&mut body, why);
            }
        }
        let mut out = Vec::new();
        number(&mut out, body.len() as u32);
        out.extend(body);
        out
    }

    /// Reads a reply, without the number of its bytes.
    pub fn decode(bytes: &[u8]) -> Option<Reply> {
        let mut bytes = Bytes(bytes);
        Some(match bytes.byte()? {
            1 => Reply::Spawned(bytes.number()?),
            2 => Reply::Done,
            3 => Reply::Found(bytes.text()?),
            4 => Reply::Refused(bytes.text()?),
            _ => return None,
        })
    }
}

fn number(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn text(out: &mut Vec<u8>, text: &str) {
    number(out, text.len() as u32);
    out.extend_from_slice(text.as_bytes());
}

fn texts(out: &mut Vec<u8>, all: &[String]) {
    number(out, all.len() as u32);
    all.iter().for_each(|one| text(out, one));
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*first))
    }

    fn text(&mut self) -> Option<String> {
        let length = self.number()? as usize;
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(first.to_vec()).ok()
    }

    fn texts(&mut self) -> Option<Vec<String>> {
        (0..self.number()?).map(|_| self.text()).collect()
    }

    fn program(&mut self) -> Option<Program> {
        Some(Program {
            command: self.text()?,
            arguments: self.texts()?,
            ranks: self.number()?,
            directory: self.text()?,
            path: self.text()?,
            environment: self.texts()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_replies_are_read_as_they_were_written() {
        let program = Program {
            command: "worker".into(),
            arguments: vec!["-v".into(), String::new()],
            ranks: 3,
            directory: "/tmp".into(),
            path: String::new(),
            environment: vec!["A=b".into()],
        };
        let requests = [
            Request::Spawn(vec![program, Program::default()]),
            Request::Publish { name: "ocean".into(), port: "p".into() },
            Request::Unpublish { name: "ocean".into() },
            Request::Lookup { name: "ü".into() },
            Request::Fate { first: 9 },
        ];
        for request in requests {
            let bytes = request.encode();
            assert_eq!(Request::decode(&bytes), Some(request));
            assert!((0..bytes.len()).all(|cut| Request::decode(&bytes[..cut]).is_none()));
        }
        for reply in [Reply::Spawned(7), Reply::Done, Reply::Found("p".into()), Reply::Refused("no".into())] {
            assert_eq!(Reply::decode(&reply.encode()[4..]), Some(reply));
        }
    }
}
