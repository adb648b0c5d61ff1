//! Chapter 11: ports and names.
//!
//! A caller at a port sends the number of its ticket to the node that has opened the port, and waits
//! to be accepted. The ticket stands in the launcher's book. Invariant: who takes it out, the caller
//! that gives up or the one who accepts, decides whether they meet, so nobody meets a caller that is
//! gone. From there on it is the creation of an intercommunicator, as in `processes`.

use core::ffi::{CStr, c_int};
use std::io::{Read as _, Write as _};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd as _;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use engine::{Source, Tag};
use pmi::{Reply, Request};

use super::processes::{ask, meet, receive_unless, send, tag, tell};
use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Out, OutString, RankArg};
use crate::errors::{Fault, Outcome};
use crate::handles::{Comm, Info};
use crate::imp::comm::{add, deliver};
use crate::process::current;

/// The tag of MPI_Comm_join; those of jobs are above.
const JOIN: i64 = 1;
/// The first tag of ports, by their number in the process that has opened them.
const PORTS: i64 = 1 << 21;
/// Ports that a process can open in its life: their tags end with those of the standard.
const MOST_PORTS: i32 = 1 << 10;
/// For how long MPI_Comm_connect waits where the program does not say (MPI section 11.9.3).
const CONNECT_WITHIN: Duration = Duration::from_secs(60);

/// The name under which the launcher knows that a port is open.
fn book_entry(port: &str) -> String {
    format!("port {port}")
}

/// A port: the node that listens, and the number of the port there.
struct Port {
    node: u32,
    number: i32,
}

impl Port {
    fn name(&self, launcher: u32) -> String {
        format!("corelace:{launcher}:{}:{}", self.node, self.number)
    }

    fn named(call: &Call, name: &CStr) -> Outcome<Port> {
        let name = name.to_string_lossy();
        let wrong = |expected: &str| {
            Fault::new(MPI_ERR_PORT, format_args!("port_name is \"{name}\", expected {expected}"))
        };
        let mut parts = name.split(':');
        let known = parts.next() == Some("corelace");
        let mut number = || parts.next().and_then(|part| part.parse::<u32>().ok());
        let (Some(launcher), Some(node), Some(number)) = (number(), number(), number()) else {
            return Err(wrong("a name that MPI_Open_port gave"));
        };
        if !known || call.state.place().and_then(|place| place.launcher) != Some(launcher) {
            return Err(wrong("a port of a process that the same mpirun has started"));
        }
        Ok(Port { node, number: number as i32 })
    }

    fn tag(&self) -> Outcome<Tag> {
        tag(PORTS + i64::from(self.number))
    }
}

fn launcher(call: &Call) -> Outcome<u32> {
    let launcher = call.state.place().and_then(|place| place.launcher);
    launcher.filter(|_| !current::is_hosting()).ok_or_else(|| {
        let why = "there are ports between processes that mpirun has started only (--ranks process)";
        Fault::new(MPI_ERR_UNSUPPORTED_OPERATION, why)
    })
}

pub(crate) fn mpi_open_port(call: &Call, _info: Option<Arc<Info>>, port_name: OutString) -> Outcome {
    static OPENED: AtomicI32 = AtomicI32::new(0);
    let launcher = launcher(call)?;
    let number = OPENED.fetch_add(1, Ordering::Relaxed);
    if number >= MOST_PORTS {
        let text = format_args!("this process has opened {MOST_PORTS} ports, which is all there are");
        return Err(Fault::new(MPI_ERR_OTHER, text));
    }
    let port = Port { node: call.state.rank().fabric().me().0, number };
    let name = port.name(launcher);
    ask(call, MPI_ERR_PORT, Request::Publish { name: book_entry(&name), port: name.clone() })?;
    port_name.set(&name);
    Ok(())
}

pub(crate) fn mpi_close_port(call: &Call, port_name: &CStr) -> Outcome {
    Port::named(call, port_name)?;
    let name = book_entry(&port_name.to_string_lossy());
    ask(call, MPI_ERR_PORT, Request::Unpublish { name }).map(|_| ())
}

pub(crate) fn mpi_comm_accept(
    call: &Call,
    port_name: &CStr,
    info: Option<Option<Arc<Info>>>,
    root: RankArg,
    comm: &Rc<Comm>,
    newcomm: Out<MPI_Comm>,
) -> Outcome {
    comm.comm.intra()?;
    let root = root.member(comm)?;
    let waits = || {
        let port = Port::named(call, port_name)?;
        let own = call.state.rank().fabric().me().0;
        if port.node != own {
            let text =
                format_args!("port_name is {port_name:?}, expected a port that this process has opened");
            return Err(Fault::new(MPI_ERR_PORT, text));
        }
        let (tag, limit, began) = (port.tag()?, timeout(info)?, Instant::now());
        loop {
            let mut number = [0; 4];
            let mut late = || limit.is_some_and(|limit| began.elapsed() >= limit);
            let caller = receive_unless(call, &mut number, Source::Any, tag, &mut late)?;
            let Some(Source::Rank(node)) = caller.map(|caller| caller.source) else {
                return Err(nobody(port_name, "MPI_Comm_connect", limit.unwrap_or_default()));
            };
            let name = Ticket { node, number: u32::from_ne_bytes(number) }.book_entry();
            // A caller that has given up has taken its ticket out, and is gone.
            if ask(call, MPI_ERR_PORT, Request::Unpublish { name }).is_ok() {
                call.in_lane(0, |call| send(call.rank(), &[], node, tag))?;
                return Ok([node, port.number as u32]);
            }
        }
    };
    connected(call, root, comm, waits, newcomm)
}

pub(crate) fn mpi_comm_connect(
    call: &Call,
    port_name: &CStr,
    info: Option<Option<Arc<Info>>>,
    root: RankArg,
    comm: &Rc<Comm>,
    newcomm: Out<MPI_Comm>,
) -> Outcome {
    comm.comm.intra()?;
    let root = root.member(comm)?;
    let calls = || {
        let port = Port::named(call, port_name)?;
        let limit = timeout(info)?.unwrap_or(CONNECT_WITHIN);
        let book_entry = book_entry(&port_name.to_string_lossy());
        ask(call, MPI_ERR_PORT, Request::Lookup { name: book_entry }).map_err(|_| {
            Fault::new(MPI_ERR_PORT, format_args!("port_name is {port_name:?}, expected a port that is open"))
        })?;
        let (tag, ticket) = (port.tag()?, Ticket::new(call));
        let name = ticket.book_entry();
        ask(call, MPI_ERR_PORT, Request::Publish { name: name.clone(), port: String::new() })?;
        call.in_lane(0, |call| send(call.rank(), &ticket.number.to_ne_bytes(), port.node, tag))?;
        let mut until = Some(Instant::now() + limit);
        let answer = receive_unless(call, &mut [], Source::Rank(port.node), tag, &mut || {
            // Who takes the ticket out of the launcher's book first decides whether they meet.
            until.take_if(|until| Instant::now() >= *until).is_some()
                && ask(call, MPI_ERR_PORT, Request::Unpublish { name: name.clone() }).is_ok()
        })?;
        answer
            .map(|_| [port.node, port.number as u32])
            .ok_or_else(|| nobody(port_name, "MPI_Comm_accept", limit))
    };
    connected(call, root, comm, calls, newcomm)
}

/// What a caller at a port has in the launcher's book until somebody accepts it, or it gives up.
struct Ticket {
    node: u32,
    number: u32,
}

impl Ticket {
    fn new(call: &Call) -> Ticket {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        let number = CALLS.fetch_add(1, Ordering::Relaxed);
        Ticket { node: call.state.rank().fabric().me().0, number }
    }

    fn book_entry(&self) -> String {
        format!("call {}:{}", self.node, self.number)
    }
}

/// The hint `timeout`: seconds, which may have a fraction.
fn timeout(info: Option<Option<Arc<Info>>>) -> Outcome<Option<Duration>> {
    let Some(given) = info.flatten().and_then(|info| info.get("timeout")) else { return Ok(None) };
    let text = format_args!("info key timeout is \"{given}\", expected a number of seconds, as 60 or 0.5");
    seconds(given.trim()).map(Some).ok_or_else(|| Fault::new(MPI_ERR_INFO, text))
}

/// Reads decimal digits alone: what reads and writes all floating-point numbers takes tens of KiB.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let millis =
        fraction.bytes().chain(*b"000").take(3).fold(0, |sum, digit| 10 * sum + u64::from(digit - b'0'));
    // A later moment than a clock can show is no limit to speak of.
    let limit = Duration::from_secs(whole.parse().ok()?).checked_add(Duration::from_millis(millis))?;
    Instant::now().checked_add(limit).map(|_| limit)
}

/// Nobody has done at a port what would have ended the wait there.
fn nobody(port_name: &CStr, function: &str, limit: Duration) -> Fault {
    let text = format_args!(
        "port_name is {port_name:?}, where nobody has called {function} within {}.{:03} s (info key timeout)",
        limit.as_secs(),
        limit.subsec_millis()
    );
    Fault::new(MPI_ERR_PORT, text)
}

/// Both sides of a port: the root finds the node of the other, and its group meets that behind it.
fn connected(
    call: &Call,
    root: u32,
    comm: &Rc<Comm>,
    find: impl FnOnce() -> Outcome<[u32; 2]>,
    newcomm: Out<MPI_Comm>,
) -> Outcome {
    let found = if root == comm.comm.rank() { find() } else { Ok([0, 0]) };
    let [node, number] = tell(call, comm, root, found, MPI_ERR_PORT)?;
    let made = meet(call, comm, root, Some(node), tag(PORTS + i64::from(number))?)?;
    deliver(call, comm, Some(made), newcomm);
    Ok(())
}

pub(crate) fn mpi_publish_name(
    call: &Call,
    service_name: &CStr,
    _info: Option<Arc<Info>>,
    port_name: &CStr,
) -> Outcome {
    let name = service(service_name)?;
    let port = port_name.to_string_lossy().into_owned();
    ask(call, MPI_ERR_SERVICE, Request::Publish { name, port }).map(|_| ())
}

/// The name under which the launcher knows a service.
fn service(name: &CStr) -> Outcome<String> {
    if name.is_empty() {
        return Err(Fault::new(MPI_ERR_ARG, "service_name is empty, expected a name"));
    }
    Ok(format!("service {}", name.to_string_lossy()))
}

pub(crate) fn mpi_unpublish_name(
    call: &Call,
    service_name: &CStr,
    _info: Option<Arc<Info>>,
    _port_name: &CStr,
) -> Outcome {
    ask(call, MPI_ERR_SERVICE, Request::Unpublish { name: service(service_name)? }).map(|_| ())
}

pub(crate) fn mpi_lookup_name(
    call: &Call,
    service_name: &CStr,
    _info: Option<Arc<Info>>,
    port_name: OutString,
) -> Outcome {
    match ask(call, MPI_ERR_NAME, Request::Lookup { name: service(service_name)? })? {
        Reply::Found(port) => {
            port_name.set(&port);
            Ok(())
        }
        _ => Err(Fault::new(MPI_ERR_NAME, "the launcher says something else than asked for")),
    }
}

/// Two processes that have a socket in common tell each other their nodes through it (MPI section 11.10.3).
pub(crate) fn mpi_comm_join(call: &Call, fd: c_int, intercomm: Out<MPI_Comm>) -> Outcome {
    let own = [launcher(call)?, call.state.rank().fabric().me().0];
    let failed = |error| Fault::new(MPI_ERR_OTHER, format_args!("fd is {fd}, which fails: {error}"));
    // SAFETY: a descriptor of the program's, which lends it for the call; it is not closed here.
    let mut socket = ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(fd) });
    let words: Vec<u8> = own.iter().flat_map(|word| word.to_ne_bytes()).collect();
    socket.write_all(&words).map_err(failed)?;
    let mut theirs = [0; 8];
    socket.read_exact(&mut theirs).map_err(failed)?;
    let [a, b, c, d, e, f, g, h] = theirs;
    let (their_launcher, node) = (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]));
    if their_launcher != own[0] || node == own[1] {
        intercomm.set(MPI_COMM_NULL);
        let why = "the other process is this one, or was started by another mpirun";
        return Err(Fault::new(MPI_ERR_OTHER, why));
    }
    let own = call.comm("comm", MPI_COMM_SELF)?;
    let made = meet(call, &own, 0, Some(node), tag(JOIN)?)?;
    intercomm.set(add(call, Comm::new(made, Arc::clone(&own.errhandler.borrow()))));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_decimal_and_may_have_a_fraction() {
        let read = [("0", 0), ("60", 60_000), ("0.5", 500), ("1.25", 1_250), ("3.00456", 3_004)];
        for (text, millis) in read {
            assert_eq!(seconds(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "soon", "-1", "+1", "1e6", ".5", "1.", "1.5s", "18446744073709551615"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
