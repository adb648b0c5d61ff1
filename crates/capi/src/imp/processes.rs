//! Chapter 11: processes that come later, ports, and names.
//!
//! All processes of one launcher are nodes of one fabric, in whatever job: so two sides that were never in one communicator need nothing but the node of the other's leader. From
//! there on it is the creation of an intercommunicator, with the communicator of all nodes as the bridge.
//!
//! What goes wrong at the root is told to the others, who would wait.

use core::ffi::{CStr, c_char, c_int};
use std::io::{Read as _, Write as _};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd as _;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use engine::datatype::Basic;
use engine::{Bridge, Datatype, Dest, Mode, RecvBuffer, SendBuffer, Source, Tag, TagMatch};
use pmi::{Program, Reply, Request};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Out, OutString, RankArg};
use crate::errors::{Fault, Outcome};
use crate::handles::{Comm, Info};
use crate::imp::comm::{add, deliver};
use crate::process::{State, current};

/// The tag of MPI_Comm_join; those of jobs and ports are above.
const JOIN: i64 = 1;
/// The first tag of jobs that come later, by the node of their first process.
const JOBS: i64 = 1 << 10;
/// The first tag of ports, by their number in the process that has opened them.
const PORTS: i64 = 1 << 21;
/// Ports that a process can open in its life: their tags end with those of the standard.
const MOST_PORTS: i32 = 1 << 10;

/// The name under which the launcher knows that a port is open.
fn book_entry(port: &str) -> String {
    format!("port {port}")
}

fn tag(number: i64) -> Outcome<Tag> {
    Ok(Tag::new(number)?)
}

/// Asks the launcher.
fn ask(call: &Call, class: c_int, request: Request) -> Outcome<Reply> {
    let Some(asked) = call.state.ask(request).filter(|_| !current::is_hosting()) else {
        let why = if current::is_hosting() {
            "ranks that are threads or fibers of one process cannot: --ranks process can"
        } else {
            "this process was started without mpirun, which would have to"
        };
        return Err(Fault::new(class, why));
    };
    match asked {
        Ok(Reply::Refused(why)) => Err(Fault::new(class, why)),
        Ok(reply) => Ok(reply),
        Err(error) => Err(Fault::new(class, format_args!("the launcher cannot be asked: {error}"))),
    }
}

/// An intercommunicator of a communicator and those behind a node, which the member `leader` alone needs to know.
fn meet(call: &Call, comm: &Comm, leader: u32, node: Option<u32>, tag: Tag) -> Outcome<engine::Comm> {
    let cross = |act: &mut dyn FnMut(&engine::Rank)| call.in_lane(0, |call| act(call.rank()));
    let crossing: Option<&engine::Crossing<'_>> = if call.lane() == 0 { None } else { Some(&cross) };
    let universe = call.state.rank().universe();
    let bridge = node.map(|node| Bridge { comm: universe, leader: node, crossing });
    Ok(call.rank().create_intercomm(&comm.comm, leader, bridge, tag)?)
}

/// Bytes of what the root tells all members: three numbers, and why there are none.
const TOLD: usize = 256;
const NUMBERS: usize = 12;

/// What the root tells all members: numbers, or why there are none. All can say it, whoever of them ends the job first.
fn tell(call: &Call, comm: &Comm, root: u32, told: Outcome<[u32; 2]>, class: c_int) -> Outcome<[u32; 2]> {
    let (words, fault) = match told {
        Ok([one, two]) => ([1, one, two], None),
        Err(fault) => ([0, 0, 0], Some(fault)),
    };
    let mut bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_ne_bytes()).collect();
    bytes.extend(fault.iter().flat_map(|fault| fault.text().bytes()).take(TOLD - NUMBERS));
    bytes.resize(TOLD, 0);
    let bytes = call.rank().told_by(root, &comm.comm, &bytes)?;
    let (numbers, why) = bytes.split_at(NUMBERS);
    let mut words =
        numbers.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap_or_default()));
    match (words.next(), words.next(), words.next()) {
        (Some(1), Some(one), Some(two)) => Ok([one, two]),
        _ => Err(fault.unwrap_or_else(|| {
            let why = String::from_utf8_lossy(why);
            Fault::new(
                class,
                format_args!("it failed at the root, rank {root}: {}", why.trim_end_matches('\0')),
            )
        })),
    }
}

/// The strings of a list that ends with a null pointer.
///
/// # Safety
/// The contract of `convert`: such a list, or null.
unsafe fn strings(list: *mut *mut c_char) -> Vec<String> {
    let mut found = Vec::new();
    if list.is_null() {
        return found;
    }
    for index in 0.. {
        // SAFETY: the list has not ended before here; what is not null is a string.
        let text = unsafe { list.add(index).read() };
        if text.is_null() {
            break;
        }
        // SAFETY: as said.
        found.push(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
    }
    found
}

/// A program with its hints (MPI section 11.8.4): `wdir`, `path`, `env` (lines of NAME=VALUE), and `host`, which can only be this one.
fn program(command: &CStr, arguments: Vec<String>, ranks: c_int, info: Option<&Info>) -> Outcome<Program> {
    let hint = |key| info.and_then(|info| info.get(key)).unwrap_or_default();
    let host = hint("host");
    if !host.is_empty() && !is_this_machine(&host) {
        let text = format_args!("host is \"{host}\", expected this machine: processes are started here only");
        return Err(Fault::new(MPI_ERR_SPAWN, text));
    }
    let most = u32::try_from(ranks).ok().filter(|ranks| *ranks > 0);
    let most = most
        .ok_or_else(|| Fault::new(MPI_ERR_ARG, format_args!("maxprocs is {ranks}, expected at least 1")))?;
    Ok(Program {
        command: command.to_string_lossy().into_owned(),
        arguments,
        ranks: soft(&hint("soft"), most),
        directory: hint("wdir"),
        path: hint("path"),
        environment: hint("env").lines().map(str::to_owned).collect(),
    })
}

fn is_this_machine(host: &str) -> bool {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    ["localhost", "127.0.0.1", name.trim()].contains(&host)
}

/// The most processes that a list of numbers and ranges (`a`, `a:b`, `a:b:c`) allows, if it allows any.
fn soft(list: &str, most: u32) -> u32 {
    let allowed = |part: &str| -> Option<u32> {
        let mut numbers = part.split(':').map(|number| number.trim().parse::<i64>().ok());
        let first = numbers.next()??;
        let (last, step) = (numbers.next().unwrap_or(Some(first))?, numbers.next().unwrap_or(Some(1))?);
        let most = i64::from(most);
        let (low, high) = (first.min(last), first.max(last).min(most));
        if step == 0 || low > high {
            return None;
        }
        let (step, base) = (step.abs(), if step > 0 { first } else { last.min(first) });
        let best = base + (high - base).div_euclid(step) * step;
        u32::try_from(best).ok().filter(|best| (1..=most).contains(&i64::from(*best)))
    };
    list.split(',').filter_map(allowed).max().unwrap_or(most)
}

pub(crate) fn mpi_comm_spawn(
    call: &Call,
    command: &CStr,
    argv: *mut *mut c_char,
    maxprocs: usize,
    info: Option<Option<Arc<Info>>>,
    root: RankArg,
    comm: &Rc<Comm>,
    intercomm: Out<MPI_Comm>,
    array_of_errcodes: *mut c_int,
) -> Outcome {
    let programs = || {
        // SAFETY: the contract of `convert`, at the root.
        let arguments = unsafe { strings(argv) };
        let hints = info.as_ref().and_then(|info| info.as_deref());
        Ok(vec![program(command, arguments, c_int::try_from(maxprocs).unwrap_or(c_int::MAX), hints)?])
    };
    spawn(call, programs, maxprocs, (root, comm), intercomm, array_of_errcodes)
}

pub(crate) fn mpi_comm_spawn_multiple(
    call: &Call,
    count: usize,
    array_of_commands: *mut *mut c_char,
    array_of_argv: *mut *mut *mut c_char,
    array_of_maxprocs: &[c_int],
    array_of_info: &[MPI_Info],
    root: RankArg,
    comm: &Rc<Comm>,
    intercomm: Out<MPI_Comm>,
    array_of_errcodes: *mut c_int,
) -> Outcome {
    let one = |index: usize| {
        // SAFETY: the contract of `convert`, at the root: so many commands, and as many lists unless there is none at all.
        let (command, arguments) = unsafe {
            let command = call.string("array_of_commands", array_of_commands.add(index).read())?;
            let list =
                if array_of_argv.is_null() { core::ptr::null_mut() } else { array_of_argv.add(index).read() };
            (command, strings(list))
        };
        let hints = call.info("array_of_info", array_of_info[index])?;
        program(command, arguments, array_of_maxprocs[index], hints.as_deref())
    };
    let all = array_of_maxprocs.iter().map(|most| usize::try_from(*most).unwrap_or(0)).sum();
    let programs = || {
        if count == 0 || array_of_commands.is_null() {
            return Err(Fault::new(MPI_ERR_ARG, "count is 0 or there are no commands, expected at least 1"));
        }
        (0..count).map(one).collect()
    };
    spawn(call, programs, all, (root, comm), intercomm, array_of_errcodes)
}

fn spawn(
    call: &Call,
    programs: impl FnOnce() -> Outcome<Vec<Program>>,
    wanted: usize,
    (root, comm): (RankArg, &Rc<Comm>),
    intercomm: Out<MPI_Comm>,
    errcodes: *mut c_int,
) -> Outcome {
    comm.comm.intra()?;
    let root = root.member(comm)?;
    let wanted = call.rank().told_by(root, &comm.comm, &(wanted as u32).to_ne_bytes())?;
    let wanted = u32::from_ne_bytes(wanted.try_into().unwrap_or_default()) as usize;
    let started = if root == comm.comm.rank() {
        programs().and_then(|programs| {
            let ranks = programs.iter().map(|program| program.ranks).sum();
            match ask(call, MPI_ERR_SPAWN, Request::Spawn(programs))? {
                Reply::Spawned(first) => Ok([first, ranks]),
                _ => Err(Fault::new(MPI_ERR_SPAWN, "the launcher says something else than asked for")),
            }
        })
    } else {
        Ok([0, 0])
    };
    let started = tell(call, comm, root, started, MPI_ERR_SPAWN);
    let ranks = started.as_ref().map_or(0, |[_, ranks]| *ranks as usize);
    if !errcodes.is_null() {
        // SAFETY: the contract of `convert`: an element for each process that the root has asked for.
        let codes = unsafe { call.outs("array_of_errcodes", errcodes, wanted) }?;
        (0..wanted)
            .for_each(|index| codes.set(index, if index < ranks { MPI_SUCCESS } else { MPI_ERR_SPAWN }));
    }
    let [first, _] = started?;
    let made = meet(call, comm, root, Some(first), tag(JOBS + i64::from(first))?)?;
    deliver(call, comm, Some(made), intercomm);
    Ok(())
}

/// MPI_Init in a process that another job has started: both sides meet.
pub(crate) fn meet_parent(state: &'static State) -> Outcome {
    let Some((parent, first)) = state.place().and_then(|place| place.parent) else { return Ok(()) };
    let rank = state.rank();
    let bridge = Bridge { comm: rank.universe(), leader: parent.0, crossing: None };
    let tag = tag(JOBS + i64::from(first.0))?;
    let made = state.in_first_lane(|| rank.create_intercomm(rank.world(), 0, Some(bridge), tag))?;
    let comm = Comm::new(made, Arc::clone(&state.handlers.initial));
    "MPI_COMM_PARENT".clone_into(&mut comm.name.borrow_mut());
    state.use_lane(comm.comm.lane());
    state.parent.set(state.comms.insert(comm));
    Ok(())
}

pub(crate) fn mpi_comm_get_parent(call: &Call, parent: Out<MPI_Comm>) -> Outcome {
    let handle = call.state.parent.get();
    let lives = handle != MPI_COMM_NULL && call.state.comms.of_call(handle, u32::MAX).is_some();
    parent.set(if lives { handle } else { MPI_COMM_NULL });
    Ok(())
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
    _info: Option<Option<Arc<Info>>>,
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
        let tag = port.tag()?;
        let caller = call.in_lane(0, |call| {
            let nothing = Datatype::basic(Basic::Byte);
            // SAFETY: no bytes.
            let room = unsafe { RecvBuffer::new(core::ptr::NonNull::<u8>::dangling().as_ptr(), 0, &nothing) };
            call.rank().recv(&room, Source::Any, TagMatch::Is(tag), call.rank().universe())
        })?;
        match caller.source {
            Source::Rank(node) => Ok([node, port.number as u32]),
            _ => Err(Fault::new(MPI_ERR_INTERN, "a caller that is nobody")),
        }
    };
    connected(call, root, comm, waits, newcomm)
}

pub(crate) fn mpi_comm_connect(
    call: &Call,
    port_name: &CStr,
    _info: Option<Option<Arc<Info>>>,
    root: RankArg,
    comm: &Rc<Comm>,
    newcomm: Out<MPI_Comm>,
) -> Outcome {
    comm.comm.intra()?;
    let root = root.member(comm)?;
    let calls = || {
        let port = Port::named(call, port_name)?;
        let name = book_entry(&port_name.to_string_lossy());
        ask(call, MPI_ERR_PORT, Request::Lookup { name }).map_err(|_| {
            Fault::new(MPI_ERR_PORT, format_args!("port_name is {port_name:?}, expected a port that is open"))
        })?;
        let (tag, to) = (port.tag()?, Dest::Rank(port.node));
        let nothing = SendBuffer::owned(Vec::new());
        call.in_lane(0, |call| call.rank().send(Mode::Standard, &nothing, to, tag, call.rank().universe()))?;
        Ok([port.node, port.number as u32])
    };
    connected(call, root, comm, calls, newcomm)
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
    use super::soft;

    #[test]
    fn as_many_processes_as_a_list_allows_and_no_more_than_wanted() {
        assert_eq!(soft("", 5), 5);
        assert_eq!(soft("1,2,4", 5), 4);
        assert_eq!(soft("0:8:3", 8), 6);
        assert_eq!(soft("9:1:-2", 8), 7);
        assert_eq!(soft("10", 8), 8, "none of them is possible");
    }
}
