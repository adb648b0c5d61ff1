//! `corelace status PID`: how another program asks a launcher what its job does.
//!
//! The launcher listens on a socket in the abstract namespace, `corelace-PID`: there is no file to leave behind, and it is gone with
//! the launcher. Only programs of the same user (or root) are answered. A visitor writes the form it wants and reads the answer.
//! Any user may take the name before the launcher does. The visitor therefore asks the system which
//! process answers, and a launcher without its name says so.
//!
//! Invariant: no visitor can make the launcher wait longer than [`WRITE_LIMIT`], nor hold more than [`VISITORS`] places. A visitor reads
//! from the process that it has asked only.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use diagnose::Format;
use rustix::net::UCred;

/// How long writing an answer may take.
const WRITE_LIMIT: Duration = Duration::from_millis(200);
/// Visitors that wait at the same time.
const VISITORS: usize = 8;
/// How long a visitor waits for its answer.
const READ_LIMIT: Duration = Duration::from_secs(10);

/// Those who want to know, at the launcher's end.
pub(crate) struct Visitors {
    /// Without it the job runs as well.
    listener: Option<UnixListener>,
    /// Another process has the name.
    is_taken: bool,
    waiting: Vec<UnixStream>,
}

impl Visitors {
    /// Opens the socket of this launcher.
    pub(crate) fn open() -> Visitors {
        let listener = address(std::process::id()).and_then(|address| UnixListener::bind_addr(&address));
        let listener = listener.and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
        let is_taken = listener.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse);
        Visitors { listener: listener.ok(), is_taken, waiting: Vec::new() }
    }

    /// What the user is to know if this launcher cannot be asked.
    pub(crate) fn complaint(&self) -> Option<String> {
        let pid = std::process::id();
        self.is_taken.then(|| {
            format!(
                "note: corelace status {pid} will get no answer: another process has taken the name of this mpirun's \
                 socket, corelace-{pid}"
            )
        })
    }

    /// What is readable when somebody comes.
    pub(crate) fn door(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd)
    }

    /// Lets in who is at the door; true if somebody waits now.
    pub(crate) fn admit(&mut self) -> bool {
        while let Some(Ok((visitor, _))) = self.listener.as_ref().map(UnixListener::accept) {
            if self.waiting.len() < VISITORS && is_ours(&visitor) {
                self.waiting.push(visitor);
            }
        }
        self.are_waiting()
    }

    pub(crate) fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Answers all who wait, each in the form that it asked for.
    pub(crate) fn answer(&mut self, text: impl Fn(Format) -> String) {
        for mut visitor in self.waiting.drain(..) {
            let mut asked = [0; 16];
            // It has had time to say which form it wants; one that has said nothing gets the text.
            let read = visitor.set_nonblocking(true).and_then(|()| visitor.read(&mut asked)).unwrap_or(0);
            let format = std::str::from_utf8(&asked[..read]).ok().and_then(|word| word.trim().parse().ok());
            let answer = text(format.unwrap_or_default());
            _ = visitor.set_nonblocking(false);
            _ = visitor.set_write_timeout(Some(WRITE_LIMIT));
            _ = visitor.write_all(answer.as_bytes());
        }
    }
}

/// Asks the launcher with this process number what its job does.
pub fn status(pid: u32, format: &str) -> Result<String, String> {
    let said = || -> io::Result<String> {
        let mut socket = UnixStream::connect_addr(&address(pid)?)?;
        let answering = rustix::net::sockopt::socket_peercred(&socket)?;
        if let Some(stranger) = stranger(&answering, pid) {
            return Err(io::Error::other(stranger));
        }
        socket.set_read_timeout(Some(READ_LIMIT))?;
        socket.write_all(format.as_bytes())?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        Ok(answer)
    };
    match said() {
        Ok(answer) if answer.is_empty() => {
            Err(format!("mpirun {pid} does not answer: it belongs to another user, or has ended"))
        }
        Ok(answer) => Ok(answer),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Err(format!("{pid} is no running mpirun of Corelace's, expected the process number of one"))
        }
        Err(error) => Err(format!("mpirun {pid}: {error}")),
    }
}

fn address(pid: u32) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("corelace-{pid}"))
}

/// Why an answer is not the launcher's: it comes from another process, or from that of another user.
/// Root may ask the launchers of all.
fn stranger(answering: &UCred, launcher: u32) -> Option<String> {
    let (process, user) = (answering.pid.as_raw_nonzero().get(), answering.uid);
    let own = rustix::process::geteuid();
    if process.cast_unsigned() != launcher {
        let user = user.as_raw();
        Some(format!("process {process} of user {user} answers in its place, which is not believed"))
    } else if user != own && !user.is_root() && !own.is_root() {
        Some(format!("it belongs to user {}, expected one of your own", user.as_raw()))
    } else {
        None
    }
}

/// Whether the other end is of the same user, or root's.
fn is_ours(visitor: &UnixStream) -> bool {
    let user = rustix::net::sockopt::socket_peercred(visitor).map(|peer| peer.uid);
    user.is_ok_and(|user| user == rustix::process::geteuid() || user.is_root())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_gets_its_answer_in_the_form_it_asked_for() {
        let mut visitors = Visitors::open();
        let pid = std::process::id();
        let asks = std::thread::spawn(move || status(pid, "json"));
        let mut ready =
            [rustix::event::PollFd::from_borrowed_fd(visitors.door().unwrap(), rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut ready, None).unwrap();
        assert!(visitors.admit());
        let mut said = [rustix::event::PollFd::new(&visitors.waiting[0], rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut said, None).unwrap();
        visitors.answer(|format| format!("{format:?}"));
        assert_eq!(asks.join().unwrap().unwrap(), "Json");
        assert!(!visitors.are_waiting());
    }

    #[test]
    fn an_answer_of_another_process_is_not_believed() {
        // No process has such a number (the kernel's PID_MAX_LIMIT is 2^22).
        let pid = (1 << 30) + std::process::id();
        let impostor = UnixListener::bind_addr(&address(pid).unwrap()).unwrap();
        let error = status(pid, "text").unwrap_err();
        let own = (std::process::id(), rustix::process::geteuid().as_raw());
        let said = format!("process {} of user {} answers in its place, which is not believed", own.0, own.1);
        assert_eq!(error, format!("mpirun {pid}: {said}"));
        drop(impostor);
    }

    #[test]
    fn a_launcher_of_another_user_is_not_believed_unless_root_asks() {
        let own = rustix::process::geteuid();
        let of = |user| UCred {
            pid: rustix::process::getpid(),
            uid: rustix::process::Uid::from_raw(user),
            gid: rustix::process::getegid(),
        };
        let pid = std::process::id();
        assert_eq!(stranger(&of(own.as_raw()), pid), None);
        assert_eq!(stranger(&of(0), pid), None);
        let said = (!own.is_root()).then(|| "it belongs to user 12345, expected one of your own".into());
        assert_eq!(stranger(&of(12345), pid), said);
    }

    #[test]
    fn a_launcher_whose_name_is_taken_says_so() {
        let _first = Visitors::open();
        let second = Visitors::open();
        let name = format!("corelace-{}", std::process::id());
        assert!(second.complaint().is_some_and(|complaint| complaint.contains(&name)));
    }

    #[test]
    fn a_number_that_is_no_launcher_s_is_refused() {
        assert!(status(1, "text").unwrap_err().contains("1 is no running mpirun"));
    }
}
