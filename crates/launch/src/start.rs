//! Turns a job into processes: one a rank, or one host of all ranks.
//!
//! Invariant: a descriptor meant for a rank is inheritable only while that rank's process is being made; every other
//! process finds it closed. A pipe therefore ends when its rank (and what the rank started) has ended.

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use pmi::{HostContext, HostPlan, HostRank, Inbox, Invitation, Observation};
use rustix::fs::MemfdFlags;
use rustix::io::FdFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Resource;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::forward::Stream;
use crate::guard::Guard;
use crate::job::{Bind, Context, Job, Mode};
use crate::{Attempt, Error, place, recordings};

/// The hidden subcommand by which the helper executable becomes the host of threads or fibers.
const HOST_SUBCOMMAND: &str = "__host";

/// A process of the job; it leads a process group of its own.
#[derive(Debug)]
pub(crate) struct Member {
    pub process: Child,
    pub inbox: Inbox,
}

/// Everything the launcher holds of a started job.
#[derive(Debug)]
pub(crate) struct Started {
    /// One a rank, or the host alone.
    pub members: Vec<Member>,
    /// Standard output and standard error of each rank, and of the host itself.
    pub outputs: Vec<(Stream, Output)>,
    /// The pipe to rank 0, if the launcher has to read the terminal for it.
    pub input: Option<OwnedFd>,
    /// How messages call each rank.
    pub names: Vec<String>,
}

/// Which of the launcher's own streams a rank's stream goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Stdout,
    Stderr,
}

/// Starts the job. If one rank cannot be started, those before it are killed.
pub(crate) fn start(job: &Job, board: Option<&OwnedFd>, guard: &mut Option<Guard>) -> Result<Started, Error> {
    make_room_for_descriptors(8 * u64::from(job.ranks()));
    let before = sched_getaffinity(None).ok();
    let started = match job.mode {
        Mode::Process => processes(job, board, guard),
        Mode::Thread | Mode::Fiber => host(job, board, guard),
    };
    if let Some(cores) = before.filter(|_| job.bind == Bind::Core) {
        _ = sched_setaffinity(None, &cores);
    }
    started
}

fn processes(job: &Job, board: Option<&OwnedFd>, guard: &mut Option<Guard>) -> Result<Started, Error> {
    let size = job.ranks();
    let segment = rustix::fs::memfd_create(c"corelace", MemfdFlags::CLOEXEC)
        .attempt("memfd_create for the job's memory")?;
    let cores = place::order(job.map);
    let usable = place::usable_cores();
    let mut started = Started { members: Vec::new(), outputs: Vec::new(), input: None, names: Vec::new() };
    for (rank, (appnum, context)) in (0..size).zip(job.context_of_ranks()) {
        let (inbox, control) = Inbox::pair().attempt("a socket for a rank")?;
        let stdin = input_for(rank, &mut started)?;
        let (stdout, stderr) = output_pipes(rank, job, &mut started)?;
        let invitation = Invitation {
            rank,
            size,
            segment_fd: segment.as_raw_fd(),
            control_fd: control.as_raw_fd(),
            cores: usable,
            appnum,
        };
        let mut command = command_for(context, job);
        show_to_launcher(&mut command, job, board, Some(rank));
        command.envs(invitation.to_env()).stdin(stdin).stdout(stdout).stderr(stderr);
        if job.bind == Bind::Core && !cores.is_empty() {
            // The child inherits the affinity of the thread that starts it; no code has to run in the child.
            let mut one = CpuSet::new();
            one.set(cores[rank as usize % cores.len()]);
            _ = sched_setaffinity(None, &one);
        }
        let mut passed = vec![segment.as_fd(), control.as_fd()];
        passed.extend(recordings::inherited(job.recordings.as_ref(), board, Some(rank)));
        let spawned = spawn(command, &passed, guard);
        match spawned {
            Ok(process) => {
                let name = std::path::Path::new(&context.name).file_name().unwrap_or(&context.name);
                started.names.push(format!("rank {rank} (pid {}, {})", process.id(), name.display()));
                started.members.push(Member { process, inbox });
            }
            Err(source) => {
                started.kill();
                return Err(Error::Spawn { rank, program: context.program.clone(), source });
            }
        }
    }
    Ok(started)
}

fn host(job: &Job, board: Option<&OwnedFd>, guard: &mut Option<Guard>) -> Result<Started, Error> {
    let (Some(helper), Some(library)) = (&job.helper, &job.library) else {
        return Err(Error::Job("ranks that are threads or fibers need an installed libmpi_abi.so.1".into()));
    };
    let size = job.ranks();
    let mut started = Started { members: Vec::new(), outputs: Vec::new(), input: None, names: Vec::new() };
    let (inbox, control) = Inbox::pair().attempt("a socket for the host")?;

    let mut ends = Vec::new();
    let mut ranks = Vec::new();
    for (rank, (_, context)) in (0..size).zip(job.context_of_ranks()) {
        let mut out = HostRank { stdin: -1, stdout: 0, stderr: 0 };
        if rank == 0 {
            let stdin = launcher_input(&mut started)?;
            out.stdin = stdin.as_raw_fd();
            ends.push(stdin);
        }
        let (stdout, stderr) = output_pipes(rank, job, &mut started)?;
        (out.stdout, out.stderr) = (stdout.as_raw_fd(), stderr.as_raw_fd());
        ends.extend([stdout, stderr]);
        ranks.push(out);
        let name = std::path::Path::new(&context.name).file_name().unwrap_or(&context.name);
        started.names.push(format!("rank {rank} ({})", name.display()));
    }
    let contexts = job.contexts.iter().map(|context| HostContext {
        ranks: context.ranks,
        program: context.program.clone().into_os_string(),
        argv: std::iter::once(context.name.clone()).chain(context.arguments.iter().cloned()).collect(),
    });
    let mut plan = HostPlan {
        fibers: job.mode == Mode::Fiber,
        cores: place::usable_cores(),
        order: place::order(job.map).into_iter().map(|core| core as u32).collect(),
        bind: job.bind == Bind::Core,
        control_fd: control.as_raw_fd(),
        contexts: contexts.collect(),
        ranks,
        chip: job.chip.clone(),
    };
    // With --progress the launcher shows more than the host could.
    let terminal = if board.is_none() { progress_terminal(&mut plan)? } else { None };
    let paper = rustix::fs::memfd_create(c"corelace-plan", MemfdFlags::CLOEXEC)
        .attempt("memfd_create for the host's plan")?;
    let mut paper = std::fs::File::from(paper);
    paper.write_all(plan.encode().as_bytes()).attempt("writing the host's plan")?;

    // What shared libraries print without knowing of ranks comes out here, untagged.
    let own = |output| -> Result<(Stream, OwnedFd, Output), Error> {
        let (ours, theirs) = output_pipe()?;
        Ok((Stream::new(ours, None), theirs, output))
    };
    let (out, err) = (own(Output::Stdout)?, own(Output::Stderr)?);
    let context = &job.contexts[0];
    let mut command = Command::new(helper);
    command.arg(HOST_SUBCOMMAND).arg(library).arg(paper.as_raw_fd().to_string());
    dress(&mut command, context, job);
    // A launcher that itself runs in a rank has variables of another job.
    for name in pmi::var::ALL {
        command.env_remove(name);
    }
    show_to_launcher(&mut command, job, board, None);
    command.stdin(Stdio::null()).stdout(out.1).stderr(err.1);
    started.outputs.extend([(out.0, out.2), (err.0, err.2)]);

    let mut inherited: Vec<_> = ends.iter().map(|end| end.as_fd()).collect();
    inherited.extend([control.as_fd(), paper.as_fd()]);
    inherited.extend(recordings::inherited(job.recordings.as_ref(), board, None));
    inherited.extend(terminal.as_ref().map(|terminal| terminal.as_fd()));
    let process = spawn(command, &inherited, guard).map_err(|source| Error::Spawn {
        rank: 0,
        program: helper.clone(),
        source,
    })?;
    started.members.push(Member { process, inbox });
    Ok(started)
}

impl Started {
    /// Ends what has been started when starting fails half-way.
    fn kill(&mut self) {
        for member in &mut self.members {
            _ = member.process.kill();
            _ = member.process.wait();
        }
    }
}

fn command_for(context: &Context, job: &Job) -> Command {
    let mut command = Command::new(&context.program);
    command.arg0(&context.name).args(&context.arguments);
    dress(&mut command, context, job);
    command
}

/// The environment and the directory, which ranks and hosts get alike.
fn dress(command: &mut Command, context: &Context, job: &Job) {
    command.process_group(0).envs(context.environment.iter().map(|(name, value)| (name, value)));
    if let Some(directory) = &context.directory {
        command.current_dir(directory);
    }
    // Last in the list: it matters only when the installation was moved after the program was linked.
    if let Some(directory) = job.library.as_deref().and_then(|library| library.parent()) {
        let given = context.environment.iter().rev().find(|(name, _)| name == "LD_LIBRARY_PATH");
        let mut path = given
            .map(|(_, value)| value.clone())
            .or_else(|| std::env::var_os("LD_LIBRARY_PATH"))
            .unwrap_or_default();
        if !path.is_empty() {
            path.push(":");
        }
        path.push(OsString::from(directory));
        command.env("LD_LIBRARY_PATH", path);
    }
}

/// Tells a rank, or all ranks of a host, what to show of themselves.
fn show_to_launcher(command: &mut Command, job: &Job, board: Option<&OwnedFd>, rank: Option<u32>) {
    for name in Observation::VARIABLES {
        command.env_remove(name);
    }
    let trace = job.recordings.as_ref().map(|recordings| recordings.told(rank));
    let board = board.map(|board| board.as_raw_fd());
    command.envs(Observation { trace, board }.to_env());
}

/// Starts a process that inherits `descriptors`, and tells the guard.
fn spawn(
    mut command: Command,
    descriptors: &[BorrowedFd<'_>],
    guard: &mut Option<Guard>,
) -> std::io::Result<Child> {
    for descriptor in descriptors {
        rustix::io::fcntl_setfd(descriptor, FdFlags::empty())?;
    }
    let child = command.spawn();
    for descriptor in descriptors {
        rustix::io::fcntl_setfd(descriptor, FdFlags::CLOEXEC)?;
    }
    let child = child?;
    if let Some(guard) = guard {
        guard.watch(child.id());
    }
    Ok(child)
}

fn input_for(rank: u32, started: &mut Started) -> Result<Stdio, Error> {
    if rank == 0 { Ok(launcher_input(started)?.into()) } else { Ok(Stdio::null()) }
}

/// The launcher's input for rank 0. A terminal cannot be handed on: a rank is in a background process group, which the
/// terminal stops when it reads. The launcher then reads for it, into a pipe.
fn launcher_input(started: &mut Started) -> Result<OwnedFd, Error> {
    let stdin = rustix::stdio::stdin();
    if rustix::termios::isatty(stdin) {
        let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC).attempt("a pipe for rank 0's input")?;
        started.input = Some(ours);
        return Ok(theirs);
    }
    match rustix::io::fcntl_dupfd_cloexec(stdin, 3) {
        Ok(copy) => Ok(copy),
        // A launcher without standard input (closed by a daemon): nothing to read.
        Err(_) => Ok(std::fs::File::open("/dev/null").attempt("opening /dev/null")?.into()),
    }
}

/// A simulation may take long and say nothing: it gets the launcher's terminal to show how far it is, if there is one.
fn progress_terminal(plan: &mut HostPlan) -> Result<Option<OwnedFd>, Error> {
    let stderr = rustix::stdio::stderr();
    let Some(chip) = plan.chip.as_mut().filter(|_| rustix::termios::isatty(stderr)) else { return Ok(None) };
    let copy = rustix::io::fcntl_dupfd_cloexec(stderr, 3).attempt("a copy of standard error")?;
    chip.progress = copy.as_raw_fd();
    Ok(Some(copy))
}

fn output_pipes(rank: u32, job: &Job, started: &mut Started) -> Result<(OwnedFd, OwnedFd), Error> {
    let tag = job.tag_output.then_some(rank);
    let (out, stdout) = output_pipe()?;
    let (err, stderr) = output_pipe()?;
    started.outputs.push((Stream::new(out, tag), Output::Stdout));
    started.outputs.push((Stream::new(err, tag), Output::Stderr));
    Ok((stdout, stderr))
}

/// A pipe whose reading end, ours, never blocks; the writing end does, so that a rank waits for a slow terminal.
fn output_pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC).attempt("a pipe for a rank's output")?;
    rustix::fs::fcntl_setfl(&ours, rustix::fs::OFlags::NONBLOCK).attempt("making a pipe non-blocking")?;
    Ok((ours, theirs))
}

/// Raises the soft limit of open files where the job would not fit: it is a default for programs that use `select`, not a
/// decision against many ranks.
pub(crate) fn make_room_for_descriptors(files: u64) {
    let needed = 64 + files;
    let mut limit = rustix::process::getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < needed) {
        limit.current = Some(limit.maximum.map_or(needed, |maximum| maximum.min(needed)));
        _ = rustix::process::setrlimit(Resource::Nofile, limit);
    }
}
