//! Turns a job into processes: one a rank, or one host of all ranks.
//!
//! Invariant: a descriptor meant for a rank is inheritable only while that rank's process is being made; every other
//! process finds it closed. A pipe therefore ends when its rank (and what the rank started) has ended.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use pmi::{HostContext, HostPlan, HostRank, Inbox, Invitation, Observation};
use rustix::io::FdFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Resource};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::forward::{Dress, Voice};
use crate::guard::MARK;
use crate::input::Input;
use crate::job::{Bind, Context, Feed, Inherit, Job, Mode};
use crate::last_calls::Sheets;
use crate::place::Places;
use crate::stream::Stream;
use crate::{Attempt, Error, environment, files, place, recordings};

/// The hidden subcommand by which a helper executable becomes a process full of ranks: `__host LIBRARY PLAN_FD`.
pub const HOST_SUBCOMMAND: &str = "__host";

/// Up to so many ranks of one process have pipes of their own. More would take four descriptors each, of which a process may have some thousands: they
/// write records into pipes that they have in common.
const PIPES: u32 = 512;

/// What such a pipe holds: the largest that a user may have by default.
const SHARED_PIPE_BYTES: usize = 1 << 20;

/// A process of the job.
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
    /// What the launcher has to read for ranks.
    pub input: Input,
    /// The process group of the job; none before the first process of a job without a guard.
    pub group: Option<Pid>,
    /// How messages call each rank.
    pub names: Vec<String>,
    /// What ranks called last, if they are processes.
    pub sheets: Option<Sheets>,
    /// Where more processes can join, if ranks are processes.
    pub shared: Option<SharedMemory>,
    /// A word that no other job has.
    mark: String,
}

/// The memory that ranks share.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    segment: OwnedFd,
    /// How many nodes it has. Those of members are taken, in their order.
    nodes: u32,
    cores: u32,
    /// Jobs that ranks have started.
    spawned: u32,
}

/// Which of the launcher's own streams a rank's stream goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Stdout,
    Stderr,
}

/// A word that no other job has.
pub(crate) fn mark() -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{:x}", std::process::id(), time.as_nanos())
}

/// What every process of the job gets alike.
struct Common<'a> {
    job: &'a Job,
    /// What ranks record into, if they do.
    recordings: Option<&'a recordings::Recordings>,
    board: Option<&'a OwnedFd>,
    mark: &'a str,
}

/// Starts the job: its processes join `group`, or that of the first of them. If one rank cannot be started, those before it are killed.
pub(crate) fn start(
    job: &Job,
    board: Option<&OwnedFd>,
    group: Option<Pid>,
    mark: &str,
) -> Result<Started, Error> {
    make_room_for_descriptors(8 * u64::from(job.ranks()));
    let places = place::places(job.ranks(), job.map, job.bind, job.cores_a_rank).map_err(Error::Job)?;
    if job.report_bindings {
        for rank in 0..job.ranks() {
            eprintln!("corelace: {}", places.report(rank));
        }
    }
    let before = sched_getaffinity(None).ok();
    let common = Common { job, recordings: job.recordings.as_ref(), board, mark };
    let mut started = Started {
        members: Vec::new(),
        outputs: Vec::new(),
        input: Input::default(),
        group,
        names: Vec::new(),
        sheets: None,
        shared: None,
        mark: mark.to_owned(),
    };
    let result = match job.mode {
        Mode::Process => processes(&common, &places, &mut started),
        Mode::Thread | Mode::Fiber => host(&common, &places, &mut started),
    };
    if let Some(cores) = before.filter(|_| job.bind != Bind::None) {
        _ = sched_setaffinity(None, &cores);
    }
    if let Err(error) = result {
        started.kill();
        return Err(error);
    }
    let speakers = started.outputs.iter().map(|(stream, _)| stream.speakers()).sum();
    let mut first = 0;
    for (stream, _) in &mut started.outputs {
        stream.among(first, speakers, job.ranks() == 1);
        first += stream.speakers();
    }
    Ok(started)
}

fn processes(common: &Common<'_>, places: &Places, started: &mut Started) -> Result<(), Error> {
    let job = common.job;
    let size = job.ranks();
    let (segment, nodes) = files::segment(size)?;
    started.sheets = Some(Sheets::new(nodes)?);
    started.shared = Some(SharedMemory { segment, nodes, cores: place::usable_cores(), spawned: 0 });
    for (rank, (appnum, context)) in (0..size).zip(job.context_of_ranks()) {
        if !places.sets[rank as usize].is_empty() {
            // The child inherits the affinity of the thread that starts it; no code has to run in the child.
            let mut set = CpuSet::new();
            places.sets[rank as usize].iter().for_each(|cpu| set.set(*cpu as usize));
            _ = sched_setaffinity(None, &set);
        }
        process(common, &Seat { rank, size, first: 0, appnum, parent: None }, context, started)?;
    }
    Ok(())
}

/// Where a process of its own stands.
struct Seat {
    rank: u32,
    size: u32,
    /// The node of rank 0.
    first: u32,
    appnum: u32,
    /// The node of the rank that has started the job.
    parent: Option<u32>,
}

/// Starts one rank that is a process.
fn process(common: &Common<'_>, seat: &Seat, context: &Context, started: &mut Started) -> Result<(), Error> {
    let job = common.job;
    let &Seat { rank, size, first, appnum, parent } = seat;
    let (inbox, control) = Inbox::pair().attempt("a socket for a rank")?;
    // What reads the launcher's input is a rank of the job that the user has started.
    let own = parent.is_none();
    let stdin = if own { input_for(rank, job, started)? } else { None };
    let (stdout, stderr) = output_pipes(first + rank, job, started)?;
    let (Some(shared), Some(sheets)) = (&started.shared, &started.sheets) else {
        return Err(Error::Job("ranks that are processes share memory, and there is none".into()));
    };
    let invitation = Invitation {
        rank,
        size,
        segment_fd: shared.segment.as_raw_fd(),
        control_fd: control.as_raw_fd(),
        cores: shared.cores,
        appnum,
        launcher: std::process::id(),
        nodes: shared.nodes,
        first,
        parent,
    };
    let mut command = Command::new(&context.program);
    command.arg0(&context.name).args(&context.arguments);
    dress(&mut command, context, common, Some(rank), size);
    command.envs(Observation { sheets: Some(sheets.file().as_raw_fd()), ..Default::default() }.to_env());
    command.envs(invitation.to_env());
    command.stdin(stdin.map_or_else(Stdio::null, Stdio::from)).stdout(stdout).stderr(stderr);
    let mut passed = vec![shared.segment.as_fd(), control.as_fd(), sheets.file().as_fd()];
    passed.extend(recordings::inherited(common.recordings, common.board, Some(rank)));
    let process = spawn(&mut started.group, command, &passed).map_err(|source| Error::Spawn {
        rank,
        program: context.program.clone(),
        source,
    })?;
    let name = std::path::Path::new(&context.name).file_name().unwrap_or(&context.name);
    let of = if own { String::new() } else { format!(" of spawned job {}", shared.spawned) };
    started.names.push(format!("rank {rank}{of} (pid {}, {})", process.id(), name.display()));
    started.members.push(Member { process, inbox });
    Ok(())
}

/// Starts one more job, of processes, for a rank of this one: the node of its first rank, or why there is none. Nothing is left of a job that cannot be
/// started whole.
pub(crate) fn start_later(
    job: &Job,
    started: &mut Started,
    parent: u32,
    contexts: &[Context],
) -> Result<u32, String> {
    let first = started.members.len() as u32;
    let size: u32 = contexts.iter().map(|context| context.ranks).sum();
    let Some(shared) = started.shared.as_mut().filter(|_| job.mode == Mode::Process) else {
        return Err(
            "ranks that are threads or fibers of one process cannot start others (--ranks process can)"
                .into(),
        );
    };
    if size > shared.nodes - first {
        let left = shared.nodes - first;
        return Err(format!(
            "{size} processes do not fit: there is room for {left} more in the life of this mpirun"
        ));
    }
    shared.spawned += 1;
    let running = started.members.iter().filter(|member| member.inbox.is_open()).count() as u64;
    make_room_for_descriptors(8 * (running + u64::from(size)));
    let mark = started.mark.clone();
    let common = Common { job, recordings: None, board: None, mark: &mark };
    let before = started.outputs.len();
    let ranks =
        (0..).zip(contexts).flat_map(|(index, context)| (0..context.ranks).map(move |_| (index, context)));
    for (rank, (appnum, context)) in (0..).zip(ranks) {
        let seat = Seat { rank, size, first, appnum, parent: Some(parent) };
        if let Err(error) = process(&common, &seat, context, started) {
            for mut member in started.members.drain(first as usize..) {
                _ = member.process.kill();
                _ = member.process.wait();
            }
            started.names.truncate(first as usize);
            started.outputs.truncate(before);
            return Err(error.to_string());
        }
    }
    let speakers = started.outputs.iter().map(|(stream, _)| stream.speakers()).sum();
    let mut speaker = started.outputs[..before].iter().map(|(stream, _)| stream.speakers()).sum();
    for (stream, _) in &mut started.outputs[before..] {
        stream.among(speaker, speakers, false);
        speaker += stream.speakers();
    }
    Ok(first)
}

fn host(common: &Common<'_>, places: &Places, started: &mut Started) -> Result<(), Error> {
    let Common { job, board, .. } = *common;
    let (Some(helper), Some(library)) = (&job.helper, &job.library) else {
        return Err(Error::Job("ranks that are threads or fibers need an installed libmpi_abi.so.1".into()));
    };
    let size = job.ranks();
    let (inbox, control) = Inbox::pair().attempt("a socket for the host")?;

    let mut ends = Vec::new();
    let mut ranks = Vec::new();
    let records = records(job);
    let shared = if records { Some(shared_pipes(job, started)?) } else { None };
    for (rank, (_, context)) in (0..size).zip(job.context_of_ranks()) {
        let mut out = HostRank { stdin: -1, stdout: 0, stderr: 0 };
        if let Some(stdin) = input_for(rank, job, started)? {
            out.stdin = stdin.as_raw_fd();
            ends.push(stdin);
        }
        match &shared {
            Some(pipes) => (out.stdout, out.stderr) = (pipes.0.as_raw_fd(), pipes.1.as_raw_fd()),
            None => {
                let (stdout, stderr) = output_pipes(rank, job, started)?;
                (out.stdout, out.stderr) = (stdout.as_raw_fd(), stderr.as_raw_fd());
                ends.extend([stdout, stderr]);
            }
        }
        ranks.push(out);
        let name = std::path::Path::new(&context.name).file_name().unwrap_or(&context.name);
        started.names.push(format!("rank {rank} ({})", name.display()));
    }
    ends.extend(shared.into_iter().flat_map(|(stdout, stderr)| [stdout, stderr]));
    let contexts = job.contexts.iter().map(|context| HostContext {
        ranks: context.ranks,
        program: context.program.clone().into_os_string(),
        argv: std::iter::once(context.name.clone()).chain(context.arguments.iter().cloned()).collect(),
    });
    let mut plan = HostPlan {
        fibers: job.mode == Mode::Fiber,
        cores: place::usable_cores(),
        order: places.order.clone(),
        bind: job.bind != Bind::None,
        records,
        stack: job.stack.unwrap_or(0),
        control_fd: control.as_raw_fd(),
        contexts: contexts.collect(),
        ranks,
        chip: job.chip.clone(),
    };
    // With --progress the launcher shows more than the host could.
    let terminal = if board.is_none() { progress_terminal(&mut plan)? } else { None };
    let paper = files::filled(c"corelace-plan", plan.encode().as_bytes())?;

    // What shared libraries print without knowing of ranks comes out here, untagged.
    let own = |output| -> Result<(Stream, OwnedFd, Output), Error> {
        let (ours, theirs) = output_pipe()?;
        Ok((Stream::of_one(ours, Voice::new(Dress::default())), theirs, output))
    };
    let (out, err) = (own(Output::Stdout)?, own(Output::Stderr)?);
    let context = &job.contexts[0];
    let mut command = Command::new(helper);
    command.arg(HOST_SUBCOMMAND).arg(library).arg(paper.as_raw_fd().to_string());
    dress(&mut command, context, common, None, job.ranks());
    command.stdin(Stdio::null()).stdout(out.1).stderr(err.1);
    started.outputs.extend([(out.0, out.2), (err.0, err.2)]);

    let mut inherited: Vec<_> = ends.iter().map(|end| end.as_fd()).collect();
    inherited.extend([control.as_fd(), paper.as_fd()]);
    inherited.extend(recordings::inherited(job.recordings.as_ref(), board, None));
    inherited.extend(terminal.as_ref().map(|terminal| terminal.as_fd()));
    let process = spawn(&mut started.group, command, &inherited).map_err(|source| Error::Spawn {
        rank: 0,
        program: helper.clone(),
        source,
    })?;
    started.members.push(Member { process, inbox });
    Ok(())
}

impl Started {
    /// Ends what has been started when starting fails half-way.
    fn kill(&mut self) {
        if let Some(group) = self.group {
            _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        for member in &mut self.members {
            _ = member.process.kill();
            _ = member.process.wait();
        }
    }
}

/// Starts a process that inherits `descriptors`, in the job's group, which the first process makes if there is none.
fn spawn(
    group: &mut Option<Pid>,
    mut command: Command,
    descriptors: &[BorrowedFd<'_>],
) -> std::io::Result<Child> {
    command.process_group(group.map_or(0, |group| group.as_raw_nonzero().get()));
    for descriptor in descriptors {
        rustix::io::fcntl_setfd(descriptor, FdFlags::empty())?;
    }
    let child = command.spawn();
    for descriptor in descriptors {
        rustix::io::fcntl_setfd(descriptor, FdFlags::CLOEXEC)?;
    }
    let child = child?;
    group.get_or_insert(Pid::from_child(&child));
    Ok(child)
}

/// The environment and the directory, which ranks and hosts get alike.
fn dress(command: &mut Command, context: &Context, common: &Common<'_>, rank: Option<u32>, size: u32) {
    let Common { job, recordings, board, mark } = *common;
    if let Inherit::Only(names) = &context.inherit {
        command.env_clear();
        command.envs(names.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    }
    // A launcher that itself runs in a rank has variables of another job.
    for name in pmi::var::ALL.into_iter().chain(Observation::VARIABLES).chain(environment::names()) {
        command.env_remove(name);
    }
    command.env(MARK, mark).envs(environment::variables(rank, size));
    command.envs(context.environment.iter().map(|(name, value)| (name, value)));
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
    // What the rank, or all ranks of a host, are to show of themselves.
    let trace = recordings.map(|recordings| recordings.told(rank));
    let board = board.map(|board| board.as_raw_fd());
    command.envs(Observation { trace, board, sheets: None }.to_env());
}

/// The standard input of a rank, if it has one.
fn input_for(rank: u32, job: &Job, started: &mut Started) -> Result<Option<OwnedFd>, Error> {
    let stdin = rustix::stdio::stdin();
    let wanted = match job.stdin {
        Feed::Nobody => false,
        Feed::All => true,
        Feed::Rank(reader) => reader == rank,
    };
    if !wanted {
        return Ok(None);
    }
    // A terminal cannot be handed on: a rank is in a background process group, which the terminal stops when it reads. The launcher then
    // reads for it, as it does for ranks that all get the same.
    if job.stdin == Feed::All || rustix::termios::isatty(stdin) {
        let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC).attempt("a pipe for a rank's input")?;
        started.input.feed(ours).attempt("a pipe for a rank's input")?;
        return Ok(Some(theirs));
    }
    // A launcher without standard input (closed by a daemon) has nothing to hand on.
    Ok(rustix::io::fcntl_dupfd_cloexec(stdin, 3).ok())
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
    let style = &job.output;
    let mut one = |pattern: &Option<String>, name: &str, output| {
        if let Some(pattern) = pattern {
            return files::for_output(pattern.replace("%r", &rank.to_string()).as_ref());
        }
        let voice = voice(rank, job, name)?;
        let (ours, theirs) = output_pipe()?;
        started.outputs.push((Stream::of_one(ours, voice), output));
        Ok(theirs)
    };
    let stdout = one(&style.stdout_file, "stdout", Output::Stdout)?;
    Ok((stdout, one(&style.stderr_file, "stderr", Output::Stderr)?))
}

/// Whether ranks of this job have pipes in common.
fn records(job: &Job) -> bool {
    let to_files = job.output.stdout_file.is_some() || job.output.stderr_file.is_some();
    job.mode != Mode::Process && job.ranks() > PIPES && !to_files
}

/// The pipes for standard output and standard error of all ranks.
fn shared_pipes(job: &Job, started: &mut Started) -> Result<(OwnedFd, OwnedFd), Error> {
    let mut one = |name, output| {
        let voices = (0..job.ranks()).map(|rank| voice(rank, job, name)).collect::<Result<_, _>>()?;
        let (ours, theirs) = output_pipe()?;
        // Where the user may not have so much, it stays what it is.
        _ = rustix::pipe::fcntl_setpipe_size(&ours, SHARED_PIPE_BYTES);
        started.outputs.push((Stream::of_many(ours, voices), output));
        Ok(theirs)
    };
    Ok((one("stdout", Output::Stdout)?, one("stderr", Output::Stderr)?))
}

/// How what a rank writes is shown. `name` is that of the file which gets it too, if the user wants such files.
fn voice(rank: u32, job: &Job, name: &str) -> Result<Voice, Error> {
    let style = &job.output;
    let copy = style.directory.as_ref().map(|directory| {
        files::for_output(&directory.join(format!("1/rank.{rank}/{name}"))).map(std::fs::File::from)
    });
    Ok(Voice::new(Dress { tag: style.tag.then_some(rank), time: style.time, copy: copy.transpose()? }))
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
