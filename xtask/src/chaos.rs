//! `cargo xtask chaos --jobs N [--seed S] [--prefix DIR]`: jobs of random traffic, each with a fault at a random moment.
//!
//! The rules that every job is held to:
//!
//! - It ends within two seconds of its fault; or it has ended well, if the fault came after its traffic because this driver was held up.
//!   A signal's moment is when it is sent; that of a rank's exit(3) is what the rank says of the monotonic
//!   clock, just before. A stop is mended by its SIGCONT, so that job has to end by itself and rightly: within the time that its traffic takes, all of
//!   it, and two seconds.
//! - It ends with the status that belongs to the fault and a report that names the rank, if it was one.
//! - It leaves nothing: no process, known by a mark in its environment, and no file in the usual places.
//!
//! Where others use the processors, two seconds of theirs are not two seconds of ours: before each job it is measured how much of the processors a
//! thread on each of them gets, and if that is clearly not all, the bounds of this job are longer by that factor, and the summary says how often and how much.
//! The seed of a job decides everything but what the scheduler does; `--jobs 1 --seed S` repeats one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};

use crate::draw::Draw;
use crate::install;
use crate::marked::{Mark, entries};
use crate::workspace::{self, Outcome};

/// How long after its fault a job may be there.
pub const LIMIT: Duration = Duration::from_secs(2);
/// How long the victim may take to be there.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How long ranks exchange messages if nothing happens, in milliseconds.
const TRAFFIC: u64 = 400;

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
    let prefix = install::for_tests(prefix.as_deref())?;
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
    let (began, mut failed, mut slowed) = (Instant::now(), 0, Vec::new());
    let mut longest = Duration::ZERO;
    for seed in (0..jobs).map(|index: u64| first.wrapping_add(index)) {
        let plan = Plan::drawn(seed);
        let load = load();
        slowed.extend((load > 1.0).then_some(load));
        match Run::start(&plan, load, &prefix, &program, &room).and_then(Run::judge) {
            Ok(took) => longest = longest.max(took),
            Err(problem) => {
                failed += 1;
                println!("chaos: seed {seed}: {plan:?}, load factor {load:.1}: {problem}");
            }
        }
    }
    println!(
        "chaos: {jobs} jobs from seed {first} in {:.0} s; the longest ended {:.2} s after its fault",
        began.elapsed().as_secs_f64(),
        longest.as_secs_f64()
    );
    match slowed.iter().copied().reduce(f64::max) {
        None => println!("every bound was {LIMIT:?}"),
        Some(most) => println!(
            "every bound was {LIMIT:?} but for {} jobs, which began while others used the processors: longer by factors up to {most:.1}",
            slowed.len()
        ),
    }
    println!("{} passed, {failed} failed", jobs - failed);
    if failed == 0 { Ok(()) } else { Err("some jobs did not end as they should".to_owned()) }
}

/// How much longer than alone a thread on each processor takes now; 1 where it is too little to tell from noise.
pub fn load() -> f64 {
    let spin = || {
        let (began, used) = (Instant::now(), clock_gettime(ClockId::ThreadCPUTime));
        while began.elapsed() < Duration::from_millis(40) {
            std::hint::spin_loop();
        }
        let now = clock_gettime(ClockId::ThreadCPUTime);
        let used = (now.tv_sec - used.tv_sec) as f64 + (now.tv_nsec - used.tv_nsec) as f64 / 1e9;
        began.elapsed().as_secs_f64() / used.max(1e-3)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let factor = std::thread::scope(|scope| {
        let spinning: Vec<_> = (0..threads).map(|_| scope.spawn(spin)).collect();
        spinning.into_iter().filter_map(|thread| thread.join().ok()).fold(1.0, f64::max)
    });
    if factor < 1.25 { 1.0 } else { factor }
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
        let mut draw = Draw(seed);
        let ranks = 2 + draw.below(5);
        // Half of the faults come while the job starts.
        let moment = if draw.below(2) == 0 { draw.below(40) } else { draw.below(TRAFFIC * 3 / 4) };
        Plan {
            seed,
            mode: draw.one_of(&["process", "thread", "fiber"]),
            ranks,
            fault: draw.one_of(&FAULTS),
            victim: draw.below(ranks),
            moment,
            pause: 20 + draw.below(200),
            daemon: draw.below(4) == 0,
        }
    }

    /// Whether status (code or signal) and report are those of the fault.
    fn check(&self, (code, signal): (Option<i32>, Option<i32>), stdout: &str, stderr: &str) -> Outcome {
        // One process of all ranks is nobody's in particular.
        let victim = match (self.fault, self.mode) {
            (Fault::KillRank, "process") | (Fault::Exit, _) => format!("corelace: rank {} (", self.victim),
            _ => "corelace: ".to_owned(),
        };
        let (expected, report) = match self.fault {
            Fault::KillLauncher => (None, None),
            Fault::KillRank => (Some(137), Some("was killed by signal 9 (SIGKILL)")),
            Fault::Exit => (Some(3), Some("exited with status 3")),
            // A launcher that is asked before it listens dies as any process does.
            Fault::Terminate if signal == Some(15) => (None, None),
            Fault::Terminate => (Some(143), Some("SIGTERM: ")),
            Fault::StopRank | Fault::StopLauncher => (Some(0), None),
        };
        // The first report is about the fault; what follows from it comes after.
        let first = stderr.lines().find(|line| line.starts_with("corelace: "));
        let reported = report.is_none_or(|report| {
            first.is_some_and(|line| line.starts_with(&victim) && line.contains(report))
        });
        let right = expected != Some(0) || (stdout == "no errors\n" && stderr.is_empty());
        if code == expected && reported && right {
            return Ok(());
        }
        let report = report.map_or(String::new(), |report| format!(" and \"{victim}…{report}\""));
        Err(format!("ended with status {code:?} or signal {signal:?}, expected status {expected:?}{report}"))
    }
}

/// A job under way.
struct Run<'a> {
    plan: &'a Plan,
    load: f64,
    started: Instant,
    child: Child,
    mark: Mark,
    temporary: PathBuf,
    said: [PathBuf; 2],
    before: BTreeSet<String>,
}

impl<'a> Run<'a> {
    fn start(plan: &'a Plan, load: f64, prefix: &Path, program: &Path, room: &Path) -> Outcome<Run<'a>> {
        let fail = |error: std::io::Error| format!("cannot start: {error}");
        let mark = Mark::of(plan.seed);
        let temporary = room.join(mark.text());
        fs::create_dir_all(&temporary).map_err(fail)?;
        let said = ["stdout", "stderr"].map(|name| room.join(format!("{}.{name}", mark.text())));
        let mut command = Command::new(prefix.join("bin/mpirun"));
        command.args(["-n", &plan.ranks.to_string(), "--ranks", plan.mode]).arg(program);
        command.args([plan.seed.to_string(), TRAFFIC.to_string()]);
        if plan.fault == Fault::Exit {
            command.args([plan.victim.to_string(), plan.moment.to_string()]);
        }
        if plan.daemon {
            command.arg("daemon");
        }
        mark.put_on(&mut command);
        command.env("TMPDIR", &temporary).stdin(Stdio::null());
        command.stdout(fs::File::create(&said[0]).map_err(fail)?);
        command.stderr(fs::File::create(&said[1]).map_err(fail)?);
        let before = names();
        Ok(Run {
            plan,
            load,
            started: Instant::now(),
            child: command.spawn().map_err(fail)?,
            mark,
            temporary,
            said,
            before,
        })
    }

    /// Does what the plan says and looks at the end. Whatever is left of a job that failed is killed.
    fn judge(mut self) -> Outcome<Duration> {
        let judged = self.endure();
        self.mark.kill_all();
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

    /// The time from the fault to the end.
    fn endure(&mut self) -> Outcome<Duration> {
        let plan = self.plan;
        let victim = match plan.fault {
            Fault::KillRank | Fault::StopRank => self.victim()?,
            _ => Pid::from_child(&self.child),
        };
        if plan.fault != Fault::Exit {
            sleep(Duration::from_millis(plan.moment));
        }
        let traffic = Duration::from_millis(TRAFFIC);
        // Held up itself: the job may be over.
        let late = plan.fault != Fault::Exit && self.started.elapsed() >= traffic;
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
                traffic + LIMIT
            }
            // Until the rank is at its exit; from there on its own word counts.
            Fault::Exit => traffic + PATIENCE,
        };
        let limit = limit.mul_f64(self.load);
        let deadline = Instant::now() + limit;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < deadline => sleep(Duration::from_millis(2)),
                _ => return Err(format!("not ended {limit:?} after the fault")),
            }
        };
        let ended = monotonic_milliseconds();
        let read = |path: &PathBuf| fs::read_to_string(path).unwrap_or_default();
        let (stdout, stderr) = (read(&self.said[0]), read(&self.said[1]));
        let is_over = late && status.success() && stdout == "no errors\n" && stderr.is_empty();
        if !is_over {
            plan.check((status.code(), status.signal()), &stdout, &stderr)?;
        }
        let mut took = limit.saturating_sub(deadline.saturating_duration_since(Instant::now()));
        if plan.fault == Fault::Exit {
            let left = left_at(&stderr).ok_or("the rank did not say when it left")?;
            took = Duration::from_millis(ended.saturating_sub(left));
            if took > LIMIT.mul_f64(self.load) {
                return Err(format!("ended {took:?} after the rank had left"));
            }
        }
        // What a launcher that ended by itself has left, it has left; its guard may need a moment.
        let deadline = if plan.fault == Fault::KillLauncher { deadline } else { Instant::now() + LIMIT / 4 };
        loop {
            let left = (self.mark.processes(), self.files());
            if left.0.is_empty() && left.1.is_empty() {
                return Ok(took);
            }
            if Instant::now() >= deadline {
                return Err(format!("processes {:?} and files {:?} are left", self.mark.shown(), left.1));
            }
            sleep(Duration::from_millis(2));
        }
    }

    /// The process of the victim, as soon as it is there.
    fn victim(&mut self) -> Outcome<Pid> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.mark.process_of(self.plan.victim, self.plan.mode) {
                Some(pid) => return Ok(pid),
                None if Instant::now() >= deadline || !matches!(self.child.try_wait(), Ok(None)) => {
                    return Err("the victim never came".to_owned());
                }
                None => sleep(Duration::from_millis(1)),
            }
        }
    }

    fn files(&self) -> Vec<String> {
        let mut left = entries(&self.temporary);
        left.extend(names().difference(&self.before).cloned());
        left
    }
}

/// When the rank that exits said that it does.
fn left_at(stderr: &str) -> Option<u64> {
    stderr.lines().find_map(|line| line.strip_prefix("leaving at ")?.parse().ok())
}

/// The clock that a rank reads before its exit.
fn monotonic_milliseconds() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// What lies in the places where other MPIs leave files.
fn names() -> BTreeSet<String> {
    let ours = |name: &String| name.contains("corelace") || name.contains("mpi");
    entries(Path::new("/dev/shm")).into_iter().chain(entries(Path::new("/tmp"))).filter(ours).collect()
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

    #[test]
    fn a_report_has_to_name_the_rank_that_left_and_a_job_that_went_on_has_to_be_silent() {
        let plan = |fault| Plan { fault, mode: "process", victim: 2, ranks: 4, ..Plan::drawn(0) };
        let left =
            "leaving at 812\ncorelace: rank 2 (pid 7, traffic) exited with status 3 before MPI_Finalize\n";
        assert_eq!(left_at(left), Some(812));
        assert!(plan(Fault::Exit).check((Some(3), None), "", left).is_ok());
        assert!(plan(Fault::Exit).check((Some(3), None), "", &left.replace("rank 2", "rank 1")).is_err());
        let after = format!("corelace: rank 1 (pid 6, traffic): rank 2 is gone\n{left}");
        assert!(plan(Fault::Exit).check((Some(3), None), "", &after).is_err());
        let stopped = plan(Fault::StopRank);
        assert!(stopped.check((Some(0), None), "no errors\n", "").is_ok());
        assert!(stopped.check((Some(0), None), "no errors\n", "corelace: rank 1 hangs\n").is_err());
        assert!(stopped.check((None, Some(9)), "no errors\n", "").is_err());
    }
}
