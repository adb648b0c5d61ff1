//! Chapter 11: processes that come later; `ports` has ports and names.
//!
//! All processes of one launcher are nodes of one fabric, in whatever job: so two sides that were never in one communicator need nothing but the node of the other's leader. From
//! there on it is the creation of an intercommunicator, with the communicator of all nodes as the bridge.
//!
//! What goes wrong at the root is told to the others, who would wait.

use core::ffi::{CStr, c_char, c_int};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::datatype::Basic;
use engine::{Bridge, Datatype, Dest, Mode, RecvBuffer, SendBuffer, Source, Status, Tag, TagMatch};
use pmi::{Program, Reply, Request};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Out, RankArg};
use crate::errors::{Fault, Outcome};
use crate::handles::{Comm, Info};
use crate::imp::comm::deliver;
use crate::process::{State, current};

/// The first tag of jobs that come later, by the node of their first process. Those of `ports` are
/// below and above.
const JOBS: i64 = 1 << 10;
/// How often a rank that waits for processes asks the launcher what has become of them, at most.
const ASK_EVERY: Duration = Duration::from_millis(100);

pub(super) fn tag(number: i64) -> Outcome<Tag> {
    Ok(Tag::new(number)?)
}

/// Asks the launcher.
pub(super) fn ask(call: &Call, class: c_int, request: Request) -> Outcome<Reply> {
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
pub(super) fn meet(
    call: &Call,
    comm: &Comm,
    leader: u32,
    node: Option<u32>,
    tag: Tag,
) -> Outcome<engine::Comm> {
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
pub(super) fn tell(
    call: &Call,
    comm: &Comm,
    root: u32,
    told: Outcome<[u32; 2]>,
    class: c_int,
) -> Outcome<[u32; 2]> {
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
                Reply::Spawned(first) => await_children(call, first).map(|()| [first, ranks]),
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

/// Waits until all processes of a job that this one has started are in MPI_Init, or cannot come.
fn await_children(call: &Call, first: u32) -> Outcome {
    let (tag, mut asked, mut fate) = (tag(JOBS + i64::from(first))?, Instant::now(), Ok(Reply::Done));
    receive_unless(call, &mut [], Source::Rank(first), tag, &mut || {
        if asked.elapsed() >= ASK_EVERY {
            fate = ask(call, MPI_ERR_SPAWN, Request::Fate { first });
            asked = Instant::now();
        }
        fate.is_err()
    })?;
    fate.map(drop)
}

/// Receives a message in the communicator of all nodes: none if `enough` held before one came.
pub(super) fn receive_unless(
    call: &Call,
    room: &mut [u8],
    from: Source,
    tag: Tag,
    enough: &mut dyn FnMut() -> bool,
) -> Outcome<Option<Status>> {
    call.in_lane(0, |call| {
        let rank = call.rank();
        let bytes = Datatype::basic(Basic::Byte);
        // SAFETY: the room outlives the request, which is complete when this returns.
        let room = unsafe { RecvBuffer::new(room.as_mut_ptr(), room.len() as u64, &bytes) };
        let coming = rank.irecv(&room, from, TagMatch::Is(tag), rank.universe())?;
        if let Some(come) = rank.wait_unless(coming, enough)? {
            return Ok(Some(come));
        }
        rank.cancel(coming)?;
        Ok(Some(rank.wait(coming)?).filter(|status| !status.cancelled))
    })
}

/// Sends a message in the communicator of all nodes. In its lane.
pub(super) fn send(rank: &engine::Rank, bytes: &[u8], to: u32, tag: Tag) -> Outcome {
    let bytes = SendBuffer::owned(bytes.to_vec());
    Ok(rank.send(Mode::Standard, &bytes, Dest::Rank(to), tag, rank.universe())?)
}

/// MPI_Init in a process that another job has started: both sides meet, when all of this one are there.
pub(crate) fn meet_parent(state: &'static State) -> Outcome {
    let Some((parent, first)) = state.place().and_then(|place| place.parent) else { return Ok(()) };
    let rank = state.rank();
    let bridge = Bridge { comm: rank.universe(), leader: parent.0, crossing: None };
    let tag = tag(JOBS + i64::from(first.0))?;
    let made = state.in_first_lane(|| -> Outcome<engine::Comm> {
        rank.await_members(rank.world())?;
        if rank.world().rank() == 0 {
            send(rank, &[], parent.0, tag)?;
        }
        Ok(rank.create_intercomm(rank.world(), 0, Some(bridge), tag)?)
    })?;
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
