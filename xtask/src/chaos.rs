//! `cargo xtask chaos --jobs N [--seed S] [--prefix DIR]`: jobs of random traffic, each with a fault at a random moment.
//!
//! A job must end within two seconds of its fault (one that was only stopped: rightly, after it goes on), with the report and the status that
//! belong to the fault, and leave nothing: no process, known by a mark in its environment, and no file in the usual places. The seed of a
//! job decides everything but what the scheduler does; `--jobs 1 --seed S` repeats one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::install;
use crate::workspace::{self, Outcome};

/// How long after its fault a job may be there.
const LIMIT: Duration = Duration::from_secs(2);
/// How long a job without a fault, or one that was only stopped, may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long ranks exchange messages if nothing happens, in milliseconds.
const TRAFFIC: u64 = 400;
/// The variable by which processes of a job are found.
const MARK: &str = "CORELACE_CHAOS";

/// What is done to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// SIGKILL of a rank, or of the process of all ranks.
    KillRank,
    /// SIGKILL of mpirun.
    KillLauncher,
    /// SIGSTOP of a rank, and SIGCONT after a while.
    StopRank,
    /// The same with mpirun.
    StopLauncher,
    /// A rank calls exit(3).
    Exit,
    /// SIGTERM to mpirun.
    Terminate,
}

const FAULTS: [Fault; 6] = [
    Fault::KillRank,
    Fault::KillLauncher,
    Fault::StopRank,
    Fault::StopLauncher,
    Fault::Exit,
    Fault::Terminate,
];

/// Runs the command.
pub fn command(arguments: &[&str]) -> Outcome {
    let usage = || "usage: cargo xtask chaos --jobs N [--seed S] [--prefix DIR]".to_owned();
    let (mut jobs, mut seed, mut prefix) = (100, None, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(usage)?;
        match *word {
            "--jobs" => jobs = value.parse().map_err(|_| usage())?,
            "--seed" => seed = Some(value.parse().map_err(|_| usage())?),
            "--prefix" => prefix = Some(PathBuf::from(value)),
            _ => return Err(usage()),
        }
    }
    let root = workspace::root();
    let prefix = match prefix {
        Some(prefix) => prefix,
        None => {
            let prefix = install::target_directory(&root).join("test-prefix");
            install::command(&["--prefix", &prefix.display().to_string()])?;
            prefix
        }
    };
    let room = install::target_directory(&root).join("chaos");
    fs::create_dir_all(&room).map_err(|error| format!("{}: {error}", room.display()))?;
    let program = room.join("traffic");
    let source = root.join("tests/c/traffic.c");
    let compiled =
        Command::new(prefix.join("bin/mpicc")).arg("-O2").arg(&source).arg("-o").arg(&program).status();
    if !compiled.is_ok_and(|status| status.success()) {
        return Err(format!("cannot compile {}", source.display()));
    }
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let first = seed.unwrap_or_else(|| since.map_or(1, |time| time.as_secs()) << 16);
    let (began, mut failed) = (Instant::now(), 0);
    for seed in (0..jobs).map(|index: u64| first.wrapping_add(index)) {
        let plan = Plan::drawn(seed);
        if let Err(problem) = Run::start(&plan, &prefix, &program, &room).and_then(Run::judge) {
            failed += 1;
            println!("chaos: seed {seed}: {plan:?}: {problem}");
        }
    }
    println!("chaos: {jobs} jobs from seed {first} in {:.0} s", began.elapsed().as_secs_f64());
    println!("{} passed, {failed} failed", jobs - failed);
    if failed == 0 { Ok(()) } else { Err("some jobs did not end as they should".to_owned()) }
}

/// Everything that a seed decides.
#[derive(Debug)]
struct Plan {
    seed: u64,
    mode: &'static str,
    ranks: u64,
    fault: Fault,
    /// Which rank it is done to.
    victim: u64,
    /// Milliseconds after the start, or after the victim is there.
    moment: u64,
    /// How long a stop lasts, in milliseconds.
    pause: u64,
    /// Whether a rank leaves a process behind that has left the session.
    daemon: bool,
}

impl Plan {
    fn drawn(seed: u64) -> Plan {
        let mut state = seed;
        let mut draw = |below: u64| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)) % below
        };
        let ranks = 2 + draw(5);
        // Half of the faults come while the job starts.
        let moment = if draw(2) == 0 { draw(40) } else { draw(TRAFFIC * 3 / 4) };
        Plan {
            seed,
            mode: ["process", "thread", "fiber"][draw(3) as usize],
            ranks,
            fault: FAULTS[draw(FAULTS.len() as u64) as usize],
            victim: draw(ranks),
            moment,
            pause: 20 + draw(200),
            daemon: draw(4) == 0,
        }
    }
}

/// A job under way.
struct Run<'a> {
    plan: &'a Plan,
    child: Child,
    mark: String,
    temporary: PathBuf,
    said: [PathBuf; 2],
    before: BTreeSet<String>,
}

impl<'a> Run<'a> {
    fn start(plan: &'a Plan, prefix: &Path, program: &Path, room: &Path) -> Outcome<Run<'a>> {
        let fail = |error: std::io::Error| format!("cannot start: {error}");
        let mark = format!("{}-{}", std::process::id(), plan.seed);
        let temporary = room.join(&mark);
        fs::create_dir_all(&temporary).map_err(fail)?;
        let said = ["stdout", "stderr"].map(|name| room.join(format!("{mark}.{name}")));
        let mut command = Command::new(prefix.join("bin/mpirun"));
        command.args(["-n", &plan.ranks.to_string(), "--ranks", plan.mode]).arg(program);
        command.args([plan.seed.to_string(), TRAFFIC.to_string()]);
        if plan.fault == Fault::Exit {
            command.args([plan.victim.to_string(), (plan.moment * 2).to_string()]);
        }
        if plan.daemon {
            command.arg("daemon");
        }
        command.env(MARK, &mark).env("TMPDIR", &temporary).stdin(Stdio::null());
        command.stdout(fs::File::create(&said[0]).map_err(fail)?);
        command.stderr(fs::File::create(&said[1]).map_err(fail)?);
        let before = names();
        Ok(Run { plan, child: command.spawn().map_err(fail)?, mark, temporary, said, before })
    }

    /// Does what the plan says and looks at the end. Whatever is left of a job that failed is killed.
    fn judge(mut self) -> Outcome {
        let judged = self.endure();
        for pid in self.processes() {
            _ = kill_process(pid, Signal::KILL);
        }
        _ = self.child.wait();
        _ = fs::remove_dir_all(&self.temporary);
        let [stdout, stderr] = &self.said;
        let said = format!(
            "{}{}",
            fs::read_to_string(stdout).unwrap_or_default(),
            fs::read_to_string(stderr).unwrap_or_default()
        );
        _ = (fs::remove_file(stdout), fs::remove_file(stderr));
        judged.map_err(|problem| format!("{problem}; it said:\n{said}"))
    }

    fn endure(&mut self) -> Outcome {
        let plan = self.plan;
        let victim = match plan.fault {
            Fault::KillRank | Fault::StopRank => self.victim()?,
            _ => Pid::from_child(&self.child),
        };
        if plan.fault != Fault::Exit {
            sleep(Duration::from_millis(plan.moment));
        }
        let signal = |signal| _ = kill_process(victim, signal);
        let limit = match plan.fault {
            Fault::KillRank | Fault::KillLauncher => {
                signal(Signal::KILL);
                LIMIT
            }
            Fault::Terminate => {
                signal(Signal::TERM);
                LIMIT
            }
            Fault::StopRank | Fault::StopLauncher => {
                signal(Signal::STOP);
                sleep(Duration::from_millis(plan.pause));
                signal(Signal::CONT);
                PATIENCE
            }
            Fault::Exit => PATIENCE,
        };
        let deadline = Instant::now() + limit;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < deadline => sleep(Duration::from_millis(2)),
                _ => return Err(format!("not ended {limit:?} after the fault")),
            }
        };
        self.check(status)?;
        // What a launcher that ended by itself has left, it has left; its guard may need a moment.
        let deadline = if plan.fault == Fault::KillLauncher { deadline } else { Instant::now() + LIMIT / 4 };
        loop {
            let left = (self.processes(), self.files());
            if left.0.is_empty() && left.1.is_empty() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let shown =
                    |pid: &Pid| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let who: Vec<_> =
                    left.0.iter().map(|pid| format!("{pid} {}", shown(pid).replace('\0', " "))).collect();
                return Err(format!("processes {who:?} and files {:?} are left", left.1));
            }
            sleep(Duration::from_millis(2));
        }
    }

    /// Whether status and report are those of the fault.
    fn check(&self, status: ExitStatus) -> Outcome {
        let read = |path: &PathBuf| fs::read_to_string(path).unwrap_or_default();
        let (stdout, stderr) = (read(&self.said[0]), read(&self.said[1]));
        let (code, report) = match self.plan.fault {
            Fault::KillLauncher => (None, ""),
            Fault::KillRank => (Some(137), "was killed by signal 9 (SIGKILL)"),
            Fault::Exit => (Some(3), "exited with status 3 before MPI_Finalize"),
            // A launcher that is asked before it listens dies as any process does.
            Fault::Terminate if status.signal() == Some(15) => (None, ""),
            Fault::Terminate => (Some(143), "SIGTERM: "),
            Fault::StopRank | Fault::StopLauncher => (Some(0), ""),
        };
        let well = code != Some(0) || stdout == "no errors\n";
        if status.code() == code && stderr.contains(report) && well {
            return Ok(());
        }
        Err(format!("ended with {status}, expected {code:?} and \"{report}\""))
    }

    /// The process of the victim, as soon as it is there.
    fn victim(&mut self) -> Outcome<Pid> {
        let own = format!("CORELACE_RANK={}", self.plan.victim);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = self.processes().into_iter().find(|pid| {
                let read = |name| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
                let has = |text: Vec<u8>, word: &str| {
                    text.split(|byte| *byte == 0).any(|part| part == word.as_bytes())
                };
                match self.plan.mode {
                    "process" => has(read("environ"), &own),
                    _ => has(read("cmdline"), "__host"),
                }
            });
            match found {
                Some(pid) => return Ok(pid),
                None if Instant::now() >= deadline || !matches!(self.child.try_wait(), Ok(None)) => {
                    return Err("the victim never came".to_owned());
                }
                None => sleep(Duration::from_millis(1)),
            }
        }
    }

    /// The processes that carry the mark; the dead do not.
    fn processes(&self) -> Vec<Pid> {
        let mark = format!("{MARK}={}", self.mark);
        let carries = |pid: &Pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        };
        let all = entries(Path::new("/proc")).into_iter();
        all.filter_map(|name| Pid::from_raw(name.parse().ok()?)).filter(carries).collect()
    }

    fn files(&self) -> Vec<String> {
        let mut left = entries(&self.temporary);
        left.extend(names().difference(&self.before).cloned());
        left
    }
}

/// What lies in the places where other MPIs leave files.
fn names() -> BTreeSet<String> {
    let ours = |name: &String| name.contains("corelace") || name.contains("mpi");
    entries(Path::new("/dev/shm")).into_iter().chain(entries(Path::new("/tmp"))).filter(ours).collect()
}

fn entries(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_cover_every_fault_in_every_mode_and_a_seed_repeats_its_own() {
        let plans: Vec<_> = (0..500).map(Plan::drawn).collect();
        for fault in FAULTS {
            for mode in ["process", "thread", "fiber"] {
                assert!(
                    plans.iter().any(|plan| plan.fault == fault && plan.mode == mode),
                    "{fault:?} {mode}"
                );
            }
        }
        assert!(plans.iter().all(|plan| plan.victim < plan.ranks && plan.moment < TRAFFIC));
        assert_eq!(format!("{:?}", Plan::drawn(7)), format!("{:?}", plans[7]));
    }
}
