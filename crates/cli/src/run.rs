//! `mpirun`: from flags to a job, and the host process that a job of threads or fibers needs, or one on a simulated chip.

use std::ffi::{CString, OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use launch::{Bind, Context, Feed, Job, Map, Mode, OnHang};
use pmi::HostChip;
use sim::Chip;
use sim::chip::Description;

use crate::cache::Cache;
use crate::flags::{self, ChipOptions, Options, Part};
use crate::profile::Profile;
use crate::tracing::{Subject, Tracing};
use crate::{advice, commands, compile, count, nodes, prefix, terminal};

/// `mpirun` and `corelace run`; `name` is how the user called it.
pub fn main(name: &str, words: Vec<OsString>) -> Result<u8, String> {
    if words.is_empty() {
        print!("{}", flags::help(name, terminal::width()));
        return Ok(2);
    }
    let options = flags::parse(words)?;
    if options.help {
        print!("{}", flags::help(name, terminal::width()));
        return Ok(0);
    }
    if options.version {
        print!("{}", commands::version(name));
        return Ok(0);
    }
    let mut programs = Vec::new();
    let (job, tracing) = job(options, &mut programs)?;
    let ended = launch::run(&job).map_err(|error| error.to_string());
    match (tracing, &ended) {
        (Some(tracing), Ok(status)) => tracing.end(*status)?,
        (Some(tracing), Err(_)) => tracing.abandon(),
        (None, _) => {}
    }
    ended
}

/// `corelace __host LIBRARY PLAN`: becomes a process full of ranks. The plan is in a descriptor that the launcher passed.
pub fn host(library: &Path, plan: u32) -> Result<u8, String> {
    // Opened by name: a file of its own, while the inherited descriptor is left for the system to close.
    let text = std::fs::read(format!("/proc/self/fd/{plan}"))
        .map_err(|error| format!("host plan {plan}: {error}"))?;
    let text = CString::new(text).map_err(|_| "the host's plan holds a zero byte".to_string())?;
    let status = runtime::loader::call_host(library, &text).map_err(|error| error.to_string())?;
    Ok(u8::try_from(status).unwrap_or(1))
}

/// The job that the options describe. Programs that had to be compiled live as long as `compiled`.
fn job(
    mut options: Options,
    compiled: &mut Vec<compile::Compiled>,
) -> Result<(Job, Option<Tracing>), String> {
    if options.trace_limit.is_some() && options.trace.is_none() {
        return Err("--trace-limit without --trace: it is about the memory that a trace takes".into());
    }
    nodes::check(&options.hosts)?;
    for part in &mut options.parts {
        part.ranks = part.ranks.or(options.ranks_a_node);
    }
    tell(&options);
    let on_chip = on_chip(&mut options)?;
    let (chip, model) = on_chip.map_or((None, None), |(chip, model)| (Some(chip), Some(model)));
    let mode = if chip.is_some() { Mode::Fiber } else { options.mode.unwrap_or_default() };
    if options.stack.is_some() && mode == Mode::Process {
        return Err(
            "--stack with --ranks process: it is about threads and fibers, expected --ranks thread or fiber \
                    (ulimit -s decides the stack of a process)"
                .into(),
        );
    }
    if mode != Mode::Process {
        crate::surroundings::for_hosts()?;
    }
    // By default where a chip says what instructions cost, and nobody measures instead.
    let chip_options = &options.chip;
    let counted = model.as_ref().is_some_and(count::is_usual)
        && !chip_options.uncounted
        && chip_options.scale.is_none();
    if let Some(profile) = Profile::wanted(options.profile.as_deref())? {
        let variables = profile.environment(mode == Mode::Process, |name| std::env::var_os(name).is_some());
        options.environment.splice(0..0, variables);
    }
    let compilation = compile::Settings {
        counted,
        quiet: options.quiet,
        cache: if options.uncached { None } else { Cache::of_the_user() },
    };
    // Processes that are not MPI programs (`mpirun -n 2 hostname`) run without an installation, too.
    let prefix = prefix::locate();
    let mut contexts = Vec::new();
    for part in &options.parts {
        let mut context = context(part, &prefix, &compilation, compiled)?;
        if let Some(protocol) = options.protocol {
            context.environment.push((runtime::PROTOCOL_VARIABLE.into(), protocol.into()));
        }
        if let Some(wait) = options.wait {
            context.environment.push((runtime::WAIT_VARIABLE.into(), wait.into()));
        }
        // What is said for one program counts more than what is said for all.
        context.environment.splice(0..0, options.environment.iter().cloned());
        context.inherit = options.inherit.clone();
        if let Some(handler) = options.initial_handler {
            context.environment.push((runtime::INITIAL_HANDLER_VARIABLE.into(), handler.into()));
        }
        if options.check {
            context.environment.push((runtime::CHECK_VARIABLE.into(), "1".into()));
        }
        if mode != Mode::Process {
            crate::surroundings::for_copies(&context.program)?;
        }
        contexts.push(context);
    }
    let library = match (prefix, mode) {
        (Ok(prefix), _) => Some(prefix.library()),
        (Err(error), Mode::Process) => {
            crate::warn(&format!("corelace: note: {error}"));
            None
        }
        (Err(error), _) => return Err(error),
    };
    let tracing = match &options.trace {
        Some(file) => {
            Some(Tracing::begin(file, options.trace_limit, &subject(&options, mode, &chip, &model))?)
        }
        None => None,
    };
    let job = Job {
        contexts,
        mode,
        map: options.map,
        bind: options.bind.unwrap_or_default(),
        stack: options.stack,
        cores_a_rank: options.cores_a_rank.unwrap_or(1),
        report_bindings: options.report_bindings,
        output: options.output,
        stdin: options.stdin.unwrap_or(Feed::Rank(0)),
        report_exits: options.report_exits,
        timeout: options.timeout,
        on_hang: options.on_hang.unwrap_or_else(on_hang),
        hang_timeout: options.hang_timeout.unwrap_or(OnHang::TIMEOUT),
        helper: Some(prefix::executable()?),
        library,
        recordings: tracing.as_ref().map(Tracing::recordings),
        progress: options.progress.then(|| model.map_or(0, |model| model.ticks_per_second())),
        chip,
    };
    Ok((job, tracing))
}

/// What happens to a job that hangs if nothing was said: a person who waits for a prompt gets one.
fn on_hang() -> OnHang {
    if std::io::stderr().is_terminal() { OnHang::Abort } else { OnHang::Report }
}

/// Notes about what was asked for, and where it will run.
fn tell(options: &Options) {
    let ranks: u32 = options.parts.iter().map(|part| part.ranks.unwrap_or(1)).sum();
    if options.print_map {
        let list: Vec<_> = (0..ranks).map(|rank| rank.to_string()).collect();
        crate::warn(&format!("corelace: ({}:{})", nodes::own_name(), list.join(",")));
    }
    if options.verbose {
        for part in &options.parts {
            let words = part.command.join(OsStr::new(" "));
            crate::warn(&format!("corelace: {} ranks of {}", part.ranks.unwrap_or(1), words.display()));
        }
    }
    if options.quiet {
        return;
    }
    let wide =
        matches!(options.bind, Some(Bind::L3 | Bind::Numa | Bind::Socket)) || options.cores_a_rank.is_some();
    if wide && options.mode.is_some_and(|mode| mode != Mode::Process) {
        crate::warn("corelace: note: ranks that are threads or fibers are tied to one core each");
    }
    if let [part] = options.parts.as_slice()
        && let Some(note) = advice::on_order(part)
    {
        crate::warn(&format!("corelace: note: {note}"));
    }
    for what in &options.ignored {
        crate::warn(&format!("corelace: note: {what}: ignored"));
    }
    let lookup = |name: &str| std::env::var(name).ok();
    if let Some(note) = nodes::note_of_allocation(ranks, lookup).filter(|_| options.chip.name.is_none()) {
        crate::warn(&format!("corelace: note: {note}"));
    }
}

/// What a trace says of the job.
fn subject<'a>(
    options: &Options,
    mode: Mode,
    chip: &Option<HostChip>,
    model: &'a Option<Chip>,
) -> Subject<'a> {
    let io = chip.as_ref().is_some_and(|chip| chip.io);
    let ranks: u32 = options.parts.iter().map(|part| part.ranks.unwrap_or(1)).sum();
    let words = |part: &Part| part.command.join(OsStr::new(" ")).to_string_lossy().into_owned();
    let map =
        if options.map == Map::Scatter { runtime::chip::Map::Scatter } else { runtime::chip::Map::Compact };
    Subject {
        ranks: ranks - u32::from(io),
        mode,
        command: options.parts.iter().map(words).collect::<Vec<_>>().join(" : "),
        chip: model.as_ref().map(|model| (model, map, io)),
    }
}

/// The chip that the job is to run on, if one was named; the program of its I/O rank becomes the last of the job.
fn on_chip(options: &mut Options) -> Result<Option<(HostChip, Chip)>, String> {
    let ChipOptions { name, io, memory, stats, scale, uncounted: _, on, ipc, multicast, given } =
        options.chip.clone();
    let Some(name) = name else {
        return match given {
            Some(flag) => Err(format!("{flag} without --chip: it is about runs on a simulated chip")),
            None => Ok(None),
        };
    };
    if let Some(mode @ (Mode::Process | Mode::Thread)) = options.mode {
        let mode = format!("{mode:?}").to_lowercase();
        return Err(format!(
            "--ranks {mode} with --chip {name}: ranks on a chip are fibers of one process, expected --ranks fiber or none"
        ));
    }
    let description = Description::find(&name).map_err(|error| format!("--chip {name}: {error}"))?;
    let mut chip = Chip::from_toml(&description.text, &description.origin)
        .map_err(|error| format!("--chip {name}: {error}"))?;
    if let Some(kinds) = on {
        chip.run_on(&kinds).map_err(|error| format!("--on {error}"))?;
    }
    if let Some(software) = ipc {
        chip.use_software(&software).map_err(|error| format!("--ipc {error}"))?;
    }
    if !multicast {
        chip.leave_multicast();
    } else if !chip.has_multicast() {
        return Err(format!(
            "--multicast with --chip {name}: its description has no [network.data.multicast] and [network.control.multicast], or has finite buffers"
        ));
    }
    let ranks: u64 = options.parts.iter().map(|part| u64::from(part.ranks.unwrap_or(1))).sum();
    if ranks > u64::from(chip.ranks_max()) {
        return Err(format!(
            "-n {ranks} with --chip {name}: expected at most {} ranks ({} clusters of {})",
            chip.ranks_max(),
            chip.homes().iter().map(|home| home.places).sum::<u16>(),
            chip.homes().iter().map(|home| home.each).min().unwrap_or(0)
        ));
    }
    if let Some(program) = &io {
        if chip.io.is_empty() {
            return Err(format!("--io with --chip {name}: the chip has no I/O subsystem"));
        }
        let first = &options.parts[0];
        options.parts.push(Part { ranks: Some(1), command: vec![program.clone()], ..first.clone() });
    }
    let host = HostChip {
        origin: description.origin,
        chip: chip.to_words(),
        scatter: options.map == Map::Scatter,
        io: io.is_some(),
        memory,
        stats,
        scale,
        progress: -1,
    };
    Ok(Some((host, chip)))
}

fn context(
    part: &Part,
    prefix: &Result<prefix::Prefix, String>,
    compilation: &compile::Settings,
    compiled: &mut Vec<compile::Compiled>,
) -> Result<Context, String> {
    let (name, arguments) = part.command.split_first().expect("the parser refuses an empty command");
    let directory = part.directory.as_ref().map(PathBuf::from);
    if let Some(directory) = directory.as_ref().filter(|directory| !directory.is_dir()) {
        return Err(format!("-wdir {}: no such directory", directory.display()));
    }
    let mut environment = Vec::new();
    for (name, value) in &part.exports {
        match value.clone().or_else(|| std::env::var_os(name)) {
            Some(value) => environment.push((name.clone(), value)),
            None => {
                let name = name.display();
                crate::warn(&format!("corelace: -x {name}: not set in the environment of mpirun"));
            }
        }
    }
    let source = Path::new(name);
    let (program, name) = match compile::language(source) {
        Some(language) if source.exists() => {
            let prefix = prefix.as_ref().map_err(Clone::clone)?;
            let built = compile::compile(language, source, prefix, compilation)?;
            let program = built.path();
            compiled.push(built);
            (program, source.with_extension("").into_os_string())
        }
        _ => {
            let path =
                environment.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
            let mut path = path.or_else(|| std::env::var_os("PATH"));
            if let Some(first) = &part.path {
                let mut all = first.clone();
                all.push(":");
                all.push(path.unwrap_or_default());
                path = Some(all);
            }
            let program = launch::find_program(name, path.as_deref(), directory.as_deref());
            let advised = |error| advice::on(&error, directory.as_deref(), prefix.as_ref().ok());
            (program.map_err(advised)?, name.clone())
        }
    };
    Ok(Context {
        ranks: part.ranks.unwrap_or(1),
        program,
        name,
        arguments: arguments.to_vec(),
        environment,
        inherit: launch::Inherit::All,
        directory,
    })
}
