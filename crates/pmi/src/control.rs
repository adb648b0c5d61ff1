//! Both ends of the control channel: [`Control`] in a rank, [`Inbox`] in the launcher.
//!
//! Invariant: a frame is written by one `write` of at most a few thousand bytes into a socket that holds many times that, so a rank
//! waits for its launcher only after flooding it, and frames of several threads of a rank do not mix. The launcher in turn reads a bounded
//! number of bytes at a time: a rank that floods it costs no memory, and others have their turn.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::Signal;

use crate::{DecodeError, Message, PROTOCOL, REQUEST_MAX, Reply, Request, Statement};

/// A rank's end of the control channel.
///
/// One value may serve all ranks of a host: each method names the rank it speaks for. Errors mean that the launcher is
/// gone; a rank usually ignores them, for it will be ended anyway.
#[derive(Debug)]
pub struct Control {
    socket: UnixStream,
    /// The number of the last inquiry that was read.
    inquiry: AtomicU32,
    /// A thread waits for inquiries, so that nobody else need look.
    listened_to: AtomicBool,
}

impl Control {
    /// Wraps the claimed descriptor of the control socket.
    pub fn new(socket: OwnedFd) -> Control {
        Control {
            socket: UnixStream::from(socket),
            inquiry: AtomicU32::new(0),
            listened_to: AtomicBool::new(false),
        }
    }

    /// Says that `rank` is in `MPI_Init`.
    pub fn hello(&self, rank: u32) -> io::Result<()> {
        self.send(&Message::Hello { version: PROTOCOL, rank, pid: std::process::id() })
    }

    /// Says that `rank` has left `MPI_Finalize`.
    pub fn finalized(&self, rank: u32) -> io::Result<()> {
        self.send(&Message::Finalized { rank })
    }

    /// Says that `rank`, a thread or fiber of this process, has ended with `status`.
    pub fn exited(&self, rank: u32, status: i32) -> io::Result<()> {
        self.send(&Message::Exited { rank, status })
    }

    /// Asks the launcher to end the job with `code`; `message` may be empty. The caller should then wait to be killed,
    /// or exit: the launcher knows already.
    pub fn abort(&self, rank: u32, code: i32, message: &str) -> io::Result<()> {
        self.send(&Message::Abort { rank, code, message: message.to_string() })
    }

    /// Tells the user of something that a check of `rank` has found.
    pub fn note(&self, rank: u32, text: &str) -> io::Result<()> {
        self.send(&Message::Note { rank, text: text.to_string() })
    }

    /// Asks the launcher for something on behalf of `rank`, and waits for the reply.
    ///
    /// # Errors
    /// If the request is too long, there is no pipe for the reply, or what comes is none.
    pub fn ask(&self, rank: u32, request: Request) -> io::Result<Reply> {
        if request.encode().len() > REQUEST_MAX {
            let text = format!("it takes more than {REQUEST_MAX} bytes to tell the launcher");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let (mut ours, theirs) = io::pipe()?;
        let reply = theirs.as_fd().as_raw_fd() as u32;
        self.send(&Message::Request { rank, pid: std::process::id(), reply, request })?;
        let mut length = [0; 4];
        ours.read_exact(&mut length)?;
        let mut body = vec![0; (u32::from_le_bytes(length) as usize).min(REQUEST_MAX)];
        ours.read_exact(&mut body)?;
        // The other end stays open until here: the launcher opens it by its number.
        drop(theirs);
        Reply::decode(&body).ok_or_else(|| io::Error::other("the launcher's reply makes no sense"))
    }

    /// Makes this process die with its launcher, also if that one is killed by SIGKILL.
    ///
    /// Only right in a process that the launcher itself started: behind a shell script the parent is the shell. The
    /// launcher's guard process covers those; this call covers the case that the guard was killed as well.
    pub fn die_with_launcher(&self) -> io::Result<()> {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // A launcher that died before that call sends no signal any more. Its end of the socket tells, also behind a shell, where the
        // parent's number would not.
        if self.launcher_gone() {
            rustix::process::kill_process(rustix::process::getpid(), Signal::KILL)?;
        }
        Ok(())
    }

    /// True once the launcher has closed its end, that is, has died. Never blocks.
    pub fn launcher_gone(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut fds = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&at_once)).is_ok_and(|n| n > 0)
            && fds[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR)
    }

    /// Says what a rank waits for.
    pub fn state(&self, statement: Statement) -> io::Result<()> {
        self.send(&Message::Statement(Box::new(statement)))
    }

    /// Whether the launcher has asked what the ranks of this process wait for. Never blocks.
    pub fn asked(&self) -> Asked {
        self.read_inquiry(RecvFlags::DONTWAIT)
    }

    /// As [`asked`](Control::asked), but waits until the launcher asks or is gone.
    pub fn wait_to_be_asked(&self) -> Asked {
        self.listened_to.store(true, Ordering::Relaxed);
        self.read_inquiry(RecvFlags::empty())
    }

    /// The number of the last inquiry that any rank of this process has found; 0 at first.
    pub fn inquiry(&self) -> u32 {
        self.inquiry.load(Ordering::Relaxed)
    }

    /// True once a thread [waits](Control::wait_to_be_asked) for inquiries.
    pub fn is_listened_to(&self) -> bool {
        self.listened_to.load(Ordering::Relaxed)
    }

    fn read_inquiry(&self, how: RecvFlags) -> Asked {
        let mut numbers = [0u8; 64];
        match rustix::net::recv(&self.socket, &mut numbers, how) {
            Ok((_, 0)) => Asked::LauncherGone,
            // The launcher writes whole numbers. The last one is the one it waits for.
            Ok((_, read)) => {
                let last =
                    numbers[..read].chunks_exact(4).next_back().and_then(|bytes| bytes.try_into().ok());
                last.map_or(Asked::Nothing, |bytes| {
                    let number = u32::from_le_bytes(bytes);
                    self.inquiry.store(number, Ordering::Relaxed);
                    Asked::Inquiry(number)
                })
            }
            Err(Errno::CONNRESET) => Asked::LauncherGone,
            Err(_) => Asked::Nothing,
        }
    }

    fn send(&self, message: &Message) -> io::Result<()> {
        (&self.socket).write_all(&message.encode())
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What a rank finds in its end of the control channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing.
    Nothing,
    /// The launcher asks under this number what the ranks of this process wait for.
    Inquiry(u32),
    /// The launcher has died.
    LauncherGone,
}

/// The launcher's end: a non-blocking socket and the bytes of a frame not yet complete.
#[derive(Debug)]
pub struct Inbox {
    /// None once nothing more can arrive.
    socket: Option<UnixStream>,
    pending: Vec<u8>,
}

/// Why an [`Inbox`] cannot be read further.
#[derive(Debug)]
pub enum InboxError {
    /// The peer sent something else than frames.
    Decode(DecodeError),
    /// The socket failed.
    Io(io::Error),
}

impl fmt::Display for InboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InboxError::Decode(error) => error.fmt(f),
            InboxError::Io(error) => write!(f, "control channel: {error}"),
        }
    }
}

impl std::error::Error for InboxError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Says what it wraps, and is not its consequence.
            InboxError::Decode(error) => error.source(),
            InboxError::Io(error) => Some(error),
        }
    }
}

impl From<DecodeError> for InboxError {
    fn from(error: DecodeError) -> InboxError {
        InboxError::Decode(error)
    }
}

impl From<io::Error> for InboxError {
    fn from(error: io::Error) -> InboxError {
        InboxError::Io(error)
    }
}

impl Inbox {
    /// Bytes that are read at most before others have their turn.
    pub const TURN: usize = 64 << 10;

    /// A connected pair: the launcher's inbox and the descriptor to pass to the rank. Both are close-on-exec.
    pub fn pair() -> io::Result<(Inbox, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        Ok((Inbox { socket: Some(ours), pending: Vec::new() }, theirs.into()))
    }

    /// Hands the messages that have arrived to `each`, as many as come in [`Inbox::TURN`] bytes; true if there may be more. Never
    /// blocks. After the peer's end is closed, or after an error, [`Inbox::is_open`] is false, and the
    /// descriptor is closed.
    pub fn drain(&mut self, mut each: impl FnMut(Message)) -> Result<bool, InboxError> {
        let mut chunk = [0; 4096];
        for _ in 0..Inbox::TURN / chunk.len() {
            let Some(socket) = &mut self.socket else { return Ok(false) };
            match socket.read(&mut chunk) {
                Ok(0) => self.socket = None,
                Ok(n) => {
                    self.pending.extend_from_slice(&chunk[..n]);
                    if let Err(error) = self.deliver(&mut each) {
                        self.socket = None;
                        return Err(error.into());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A rank that was killed with unread data in its socket: the end of the stream by another name.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => self.socket = None,
                Err(error) => {
                    self.socket = None;
                    return Err(error.into());
                }
            }
        }
        Ok(self.is_open())
    }

    /// Reads no more: the peer has broken the rules, or has ended.
    pub fn close(&mut self) {
        self.socket = None;
        self.pending = Vec::new();
    }

    /// Asks what the ranks at the other end wait for. Never blocks: false if the question could not be put.
    pub fn ask(&self, inquiry: u32) -> bool {
        let socket = self.socket.as_ref();
        socket.is_some_and(|mut socket| matches!(socket.write(&inquiry.to_le_bytes()), Ok(4)))
    }

    /// False once nothing more can arrive.
    pub fn is_open(&self) -> bool {
        self.socket.is_some()
    }

    /// What is readable when messages have come; none once nothing more can arrive.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    fn deliver(&mut self, each: &mut impl FnMut(Message)) -> Result<(), DecodeError> {
        let mut taken = 0;
        while let Some((message, bytes)) = Message::decode(&self.pending[taken..])? {
            taken += bytes;
            each(message);
        }
        self.pending.drain(..taken);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(inbox: &mut Inbox) -> Vec<Message> {
        let mut messages = Vec::new();
        inbox.drain(|message| messages.push(message)).unwrap();
        messages
    }

    #[test]
    fn a_rank_s_life_arrives_in_order_and_closing_ends_it() {
        let (mut inbox, socket) = Inbox::pair().unwrap();
        let control = Control::new(socket);
        assert_eq!(received(&mut inbox), []);
        control.hello(3).unwrap();
        control.abort(3, 7, "no luck").unwrap();
        control.finalized(3).unwrap();
        control.exited(3, -1).unwrap();
        let pid = std::process::id();
        let expected = [
            Message::Hello { version: PROTOCOL, rank: 3, pid },
            Message::Abort { rank: 3, code: 7, message: "no luck".into() },
            Message::Finalized { rank: 3 },
            Message::Exited { rank: 3, status: -1 },
        ];
        assert_eq!(received(&mut inbox), expected);
        drop(control);
        assert_eq!(received(&mut inbox), []);
        assert!(!inbox.is_open());
    }

    #[test]
    fn an_inquiry_is_found_once_and_answered_on_the_same_socket() {
        let (mut inbox, socket) = Inbox::pair().unwrap();
        let control = Control::new(socket);
        assert_eq!(control.asked(), Asked::Nothing);
        assert!(inbox.ask(7) && inbox.ask(8));
        assert_eq!(control.asked(), Asked::Inquiry(8), "the last one is the one that counts");
        assert_eq!(control.asked(), Asked::Nothing);
        let statement = Statement { rank: 3, inquiry: 8, call: "MPI_Recv".into(), ..Statement::default() };
        control.state(statement.clone()).unwrap();
        assert_eq!(received(&mut inbox), [Message::Statement(Box::new(statement))]);
        drop(inbox);
        assert_eq!(control.asked(), Asked::LauncherGone);
    }

    #[test]
    fn a_rank_notices_that_its_launcher_is_gone() {
        let (inbox, socket) = Inbox::pair().unwrap();
        let control = Control::new(socket);
        assert!(!control.launcher_gone());
        drop(inbox);
        assert!(control.launcher_gone());
        assert!(control.hello(0).is_err());
    }

    #[test]
    fn a_flood_is_read_a_turn_at_a_time() {
        let (mut inbox, socket) = Inbox::pair().unwrap();
        let mut socket = UnixStream::from(socket);
        socket.set_nonblocking(true).unwrap();
        let frame = Message::Finalized { rank: 1 }.encode();
        let (many, mut bytes) = (frame.repeat(1000), 0);
        while let Ok(written) = socket.write(&many[bytes % frame.len()..]) {
            bytes += written;
        }
        let (sent, most) = (bytes / frame.len(), Inbox::TURN / frame.len());
        assert!(sent > most, "{sent} frames fit into a socket, expected more than {most}");
        let (mut got, mut turns) = (0, 0);
        loop {
            let mut now = 0;
            let more = inbox.drain(|_| now += 1).unwrap();
            assert!(now <= most + 1, "{now} messages in one turn");
            (got, turns) = (got + now, turns + 1);
            if !more {
                break;
            }
        }
        assert!(got == sent && turns > 1, "{got} of {sent} in {turns} turns");
    }

    #[test]
    fn bytes_that_are_no_frame_close_the_inbox_with_an_error() {
        let (mut inbox, socket) = Inbox::pair().unwrap();
        UnixStream::from(socket).write_all(b"GET / HTTP/1.1\r\n").unwrap();
        assert!(matches!(inbox.drain(|_| ()), Err(InboxError::Decode(_))));
        assert!(!inbox.is_open());
    }
}
