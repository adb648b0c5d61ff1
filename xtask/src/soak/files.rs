//! `cargo xtask soak files`: random writes of a file (`tests/c/files_faults.c`), in rounds with a fault each: a rank, or the launcher, is killed at a random
//! moment, the file may not grow, the disk is full.
//!
//! Ranks note in journals, which outlive them, what they begin to write and how it has ended. Afterwards
//!
//! - every write that was reported as done is in the file, all of it;
//! - what was under way, or was reported as failed, is there in part or not at all;
//! - every other byte is what it was, and the file is no longer than its writes make it;
//! - no process and no file is left, and the next round works on the same file, so that a lock that was left would hold it up.
//!
//! The seed of a round decides everything but what the scheduler does; `--minutes 0 --seed S` repeats one.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::chaos::{LIMIT, PATIENCE, load};
use crate::draw::Draw;
use crate::marked::{Mark, entries};
use crate::workspace::Outcome;

/// Bytes that a rank has of the file.
const ROOM: u64 = 1 << 15;
/// Bytes of a record of the second file.
const RECORD: usize = 200;
/// What stands in a journal for a place that the shared pointer knows.
const SOMEWHERE: u64 = u64::MAX;

/// What is done to a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Nothing,
    /// SIGKILL of a rank, or of the process of all ranks.
    KillRank,
    KillLauncher,
    /// SIGTERM to mpirun.
    Terminate,
    /// A limit of the length of files.
    Quota,
    /// A file system without room.
    Full,
}

const FAULTS: [Fault; 8] = [
    Fault::Nothing,
    Fault::KillRank,
    Fault::KillRank,
    Fault::KillRank,
    Fault::KillLauncher,
    Fault::Terminate,
    Fault::Quota,
    Fault::Full,
];

/// Makes a small file system that nobody else sees, runs the rest of the words in it, and keeps the files that were made there.
const SMALL: &str = "mount -t tmpfs -o size=\"$1\" none \"$2\" || exit 99; small=$2 keep=$3; shift 3; \"$@\"; code=$?; \
                     for file in \"$small\"/*; do if test -e \"$file\"; then cp \"$file\" \"$keep\"; fi; done; exit $code";

/// Everything that a seed decides.
#[derive(Debug)]
struct Plan {
    seed: u64,
    mode: &'static str,
    ranks: u64,
    fault: Fault,
    victim: u64,
    /// Milliseconds from when the victim is there.
    moment: u64,
    steps: u64,
    /// The longest that files may become, or that there is room for.
    room: u64,
}

impl Plan {
    fn drawn(seed: u64, may_mount: bool) -> Plan {
        let mut draw = Draw(seed);
        let ranks = 2 + draw.below(4);
        let fault = draw.one_of(&FAULTS);
        Plan {
            seed,
            mode: draw.one_of(&["process", "process", "thread", "fiber"]),
            ranks,
            fault: if fault == Fault::Full && !may_mount { Fault::Quota } else { fault },
            victim: draw.below(ranks),
            moment: draw.below(250),
            steps: 50 + draw.below(350),
            room: 1000 + draw.below(ranks * ROOM),
        }
    }
}

/// Counts of all rounds.
#[derive(Default)]
struct Sums {
    rounds: BTreeMap<Fault, u64>,
    done: u64,
    failed: u64,
    open: u64,
    bytes: u64,
}

/// Runs rounds for a while.
pub fn run(minutes: f64, first: u64, prefix: &Path, room: &Path, program: &Path) -> Outcome {
    let fail = |error: std::io::Error| format!("{}: {error}", room.display());
    let began = Instant::now();
    let may_mount = may_mount(room)?;
    println!("soak: files, {minutes} minutes from seed {first}");
    if !may_mount {
        println!("soak: this user may not mount, so that no disk is full: files reach their quota instead");
    }
    let file = room.join("file");
    _ = fs::remove_file(&file);
    let (mut before, mut sums, mut wrong) = (Vec::new(), Sums::default(), 0);
    for seed in first.. {
        let plan = Plan::drawn(seed, may_mount);
        let is_apart = plan.fault == Fault::Full;
        let start = if is_apart { Vec::new() } else { std::mem::take(&mut before) };
        let mut round = Round::start(&plan, &file, prefix, room, program).map_err(fail)?;
        if let Err(problem) = round.endure().and_then(|()| round.check(&start, &mut sums)) {
            wrong += 1;
            println!("soak: seed {seed}: {plan:?}: {problem}; it said:\n{}", round.said());
        }
        round.clear_up();
        *sums.rounds.entry(plan.fault).or_default() += 1;
        before = fs::read(&file).unwrap_or_default();
        if began.elapsed().as_secs_f64() >= minutes * 60.0 || wrong == 5 {
            break;
        }
    }
    _ = fs::remove_file(&file);
    let Sums { rounds, done, failed, open, bytes } = sums;
    let number: u64 = rounds.values().sum();
    println!(
        "soak: {number} rounds in {:.0} s {rounds:?}: {done} writes done ({bytes} bytes), {failed} failed, {open} under way when their rank ended",
        began.elapsed().as_secs_f64()
    );
    println!("{} passed, {wrong} failed", number - wrong);
    if wrong == 0 { Ok(()) } else { Err("files are not as their writers were told".to_owned()) }
}

/// Whether this user may have file systems of its own.
fn may_mount(room: &Path) -> Outcome<bool> {
    let small = room.join("may-mount");
    fs::create_dir_all(&small).map_err(|error| format!("{}: {error}", small.display()))?;
    let mut command = in_small_room("64k", &small, room);
    command.arg("true").stderr(Stdio::null());
    let may = command.status().is_ok_and(|status| status.success());
    _ = fs::remove_dir(&small);
    Ok(may)
}

fn in_small_room(size: &str, small: &Path, keep: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", SMALL, "sh", size]).args([small, keep]);
    command
}

/// A round under way.
struct Round<'a> {
    plan: &'a Plan,
    child: Child,
    mark: Mark,
    /// What the round may leave files in: its own directory.
    own: PathBuf,
    /// Where the file is afterwards.
    file: PathBuf,
}

impl<'a> Round<'a> {
    fn start(
        plan: &'a Plan,
        file: &Path,
        prefix: &Path,
        room: &Path,
        program: &Path,
    ) -> std::io::Result<Round<'a>> {
        let mark = Mark::of(plan.seed);
        let own = room.join(mark.text());
        for name in ["journals", "temporary", "small"] {
            fs::create_dir_all(own.join(name))?;
        }
        _ = fs::remove_file(second(file));
        let mpirun = prefix.join("bin/mpirun");
        let (mut command, target) = match plan.fault {
            Fault::Full => {
                let mut command = in_small_room(&plan.room.to_string(), &own.join("small"), &own);
                command.arg(mpirun);
                (command, own.join("small/file"))
            }
            Fault::Quota => {
                // The signal that comes with such a limit is ignored from the beginning: ranks that share a process share what it does.
                let mut command = Command::new("sh");
                command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]).arg(mpirun);
                (command, file.to_path_buf())
            }
            _ => (Command::new(mpirun), file.to_path_buf()),
        };
        let (limit, class) = match plan.fault {
            Fault::Quota => (plan.room, "quota"),
            Fault::Full => (0, "space"),
            _ => (0, "none"),
        };
        command.args(["-n", &plan.ranks.to_string(), "--ranks", plan.mode]).arg(program).arg(target);
        command
            .arg(own.join("journals"))
            .args([plan.seed, plan.steps, limit].map(|number| number.to_string()));
        command.arg(class).env("TMPDIR", own.join("temporary")).stdin(Stdio::null());
        mark.put_on(&mut command);
        command.stdout(fs::File::create(own.join("stdout"))?);
        command.stderr(fs::File::create(own.join("stderr"))?);
        let file = if plan.fault == Fault::Full { own.join("file") } else { file.to_path_buf() };
        Ok(Round { plan, child: command.spawn()?, mark, own, file })
    }

    /// Lets the fault happen and waits for the end, which has to be the right one.
    fn endure(&mut self) -> Outcome {
        let load = load();
        let fault = match self.plan.fault {
            Fault::KillRank => self.victim().map(|pid| (pid, Signal::KILL)),
            Fault::KillLauncher => Some((Pid::from_child(&self.child), Signal::KILL)),
            Fault::Terminate => Some((Pid::from_child(&self.child), Signal::TERM)),
            Fault::Nothing | Fault::Quota | Fault::Full => None,
        };
        if let Some((pid, signal)) = fault {
            sleep(Duration::from_millis(self.plan.moment));
            _ = kill_process(pid, signal);
        }
        let limit = if fault.is_some() { LIMIT } else { PATIENCE }.mul_f64(load);
        let deadline = Instant::now() + limit;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < deadline => sleep(Duration::from_millis(2)),
                _ => return Err(format!("not ended after {limit:?}")),
            }
        };
        self.ended_rightly(status)?;
        let deadline = Instant::now() + LIMIT.mul_f64(load);
        while !self.mark.processes().is_empty() {
            if Instant::now() >= deadline {
                return Err(format!("processes {:?} are left", self.mark.shown()));
            }
            sleep(Duration::from_millis(2));
        }
        let left = entries(&self.own.join("temporary"));
        if left.is_empty() { Ok(()) } else { Err(format!("files {left:?} are left")) }
    }

    /// The process of the victim as soon as it is there; none if the job has ended before.
    fn victim(&mut self) -> Option<Pid> {
        while matches!(self.child.try_wait(), Ok(None)) {
            if let Some(pid) = self.mark.process_of(self.plan.victim, self.plan.mode) {
                return Some(pid);
            }
            sleep(Duration::from_millis(1));
        }
        None
    }

    fn ended_rightly(&self, status: ExitStatus) -> Outcome {
        // The fault may have come too late.
        if status.success() && self.said() == "no errors\n" {
            return Ok(());
        }
        let (code, signal) = (status.code(), status.signal());
        let is_right = match self.plan.fault {
            Fault::Nothing | Fault::Quota | Fault::Full => false,
            Fault::KillRank => code == Some(137),
            Fault::KillLauncher => signal == Some(9),
            Fault::Terminate => code == Some(143) || signal == Some(15),
        };
        if is_right { Ok(()) } else { Err(format!("ended with {status}")) }
    }

    fn said(&self) -> String {
        let read = |name| fs::read_to_string(self.own.join(name)).unwrap_or_default();
        read("stdout") + &read("stderr")
    }

    /// Holds the files against the journals.
    fn check(&self, before: &[u8], sums: &mut Sums) -> Outcome {
        let journals: Vec<Option<Journal>> = (0..self.plan.ranks)
            .map(|rank| Journal::read(&self.own.join("journals").join(rank.to_string())))
            .collect();
        for note in journals.iter().flatten().flat_map(|journal| &journal.notes) {
            match note.state {
                State::Done => (sums.done, sums.bytes) = (sums.done + 1, sums.bytes + note.length),
                State::Failed => sums.failed += 1,
                State::Begun => sums.open += 1,
            }
        }
        check_blocks(before, &fs::read(&self.file).unwrap_or_default(), &journals)?;
        check_records(&fs::read(second(&self.file)).unwrap_or_default(), &journals)
    }

    fn clear_up(&mut self) {
        self.mark.kill_all();
        _ = self.child.wait();
        _ = fs::remove_dir_all(&self.own);
        _ = fs::remove_file(second(&self.file));
    }
}

/// The name of the file of records.
fn second(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".shared");
    name.into()
}

/// How a write has ended, as far as its rank knew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Begun,
    Done,
    Failed,
}

/// What a rank has noted of a write.
#[derive(Clone, Copy, Debug)]
struct Note {
    state: State,
    place: u64,
    length: u64,
    key: u64,
}

impl Note {
    /// The byte that it writes at a place.
    fn byte(&self, place: u64) -> u8 {
        let mixed = self.key.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 32)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 56) as u8
    }
}

/// What a rank has left.
struct Journal {
    block: u64,
    size: u64,
    notes: Vec<Note>,
}

impl Journal {
    /// None if the rank ended before it had one.
    fn read(path: &Path) -> Option<Journal> {
        let bytes = fs::read(path).ok()?;
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|chunk| u64::from_ne_bytes(chunk.try_into().expect("eight bytes")))
            .collect();
        let (&[block, size], rest) = words.split_first_chunk()?;
        let note = |words: &[u64]| {
            let state = match words[0] {
                1 => State::Begun,
                2 => State::Done,
                3 => State::Failed,
                _ => return None,
            };
            Some(Note { state, place: words[1], length: words[2], key: words[3] })
        };
        (size > 0).then(|| Journal { block, size, notes: rest.chunks_exact(4).map_while(note).collect() })
    }

    /// Where a place of a rank is in the file.
    fn offset(&self, rank: usize, place: u64) -> u64 {
        (place / self.block * self.size + rank as u64) * self.block + place % self.block
    }
}

/// What a byte may be.
#[derive(Clone, Default)]
struct Allowed {
    /// The last that was reported as done.
    sure: Option<u8>,
    /// What came after it and was not.
    others: Vec<u8>,
}

/// Every byte of the file is what it may be.
fn check_blocks(before: &[u8], now: &[u8], journals: &[Option<Journal>]) -> Outcome {
    let mut allowed: HashMap<u64, Allowed> = HashMap::new();
    for (rank, journal) in journals.iter().enumerate() {
        let Some(journal) = journal else { continue };
        for note in journal.notes.iter().filter(|note| note.place != SOMEWHERE) {
            for place in note.place..note.place + note.length {
                let byte = allowed.entry(journal.offset(rank, place)).or_default();
                match note.state {
                    State::Done => *byte = Allowed { sure: Some(note.byte(place)), others: Vec::new() },
                    State::Begun | State::Failed => byte.others.push(note.byte(place)),
                }
            }
        }
    }
    let end = allowed.keys().max().map_or(0, |last| last + 1).max(before.len() as u64);
    if now.len() as u64 > end {
        return Err(format!("the file has {} bytes, expected at most {end}", now.len()));
    }
    let nothing = Allowed::default();
    let is_right = |offset: &u64| {
        let Allowed { sure, others } = allowed.get(offset).unwrap_or(&nothing);
        let (was, is) = (before.get(*offset as usize), now.get(*offset as usize));
        let is_other = is.is_some_and(|is| others.contains(is));
        // What is not in the file, or lies between what was written, is zero.
        let is_as_before =
            sure.is_none() && is.unwrap_or(&0) == was.unwrap_or(&0) && (is.is_some() || was.is_none());
        is_other || is_as_before || sure.is_some_and(|sure| is == Some(&sure))
    };
    let wrong: Vec<u64> = (0..end).filter(|offset| !is_right(offset)).collect();
    let Some(first) = wrong.first() else { return Ok(()) };
    let Allowed { sure, others } = allowed.get(first).unwrap_or(&nothing);
    let who = |offset: u64| {
        let journal = journals.iter().flatten().next();
        journal.map_or(0, |journal| offset / journal.block % journal.size)
    };
    Err(format!(
        "{} bytes of {} are wrong, from {first} to {:?}, of rank {} first: it is {:?}, was {:?} before, last written {sure:?}, and not done {others:?}",
        wrong.len(),
        now.len(),
        wrong.last(),
        who(*first),
        now.get(*first as usize),
        before.get(*first as usize)
    ))
}

/// Every record that is done is in the file once; whatever else is there is a part of one that is not.
fn check_records(now: &[u8], journals: &[Option<Journal>]) -> Outcome {
    let mut missing: HashMap<Vec<u8>, State> = HashMap::new();
    for journal in journals.iter().flatten() {
        for note in journal.notes.iter().filter(|note| note.place == SOMEWHERE) {
            missing.insert((0..note.length).map(|at| note.byte(at)).collect(), note.state);
        }
    }
    let mut parts = Vec::new();
    for (number, slot) in now.chunks(RECORD).enumerate() {
        if missing.remove(slot).is_none() && slot.iter().any(|byte| *byte != 0) {
            parts.push((number, slot));
        }
    }
    if let Some((record, _)) = missing.iter().find(|(_, state)| **state == State::Done) {
        return Err(format!("a record that begins with {:?} is done and not in the file", &record[..8]));
    }
    let is_part = |slot: &[u8]| {
        let written = slot.len() - slot.iter().rev().take_while(|byte| **byte == 0).count();
        missing.keys().any(|record| record.starts_with(&slot[..written]))
    };
    match parts.iter().find(|(_, slot)| !is_part(slot)) {
        None => Ok(()),
        Some((number, slot)) => Err(format!(
            "record {number} begins with {:?} and is no part of one that is not done",
            &slot[..8.min(slot.len())]
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(state: State, place: u64, length: u64, key: u64) -> Note {
        Note { state, place, length, key }
    }

    /// Two ranks with blocks of four bytes; the first has written.
    fn journals(notes: &[Note]) -> [Option<Journal>; 2] {
        [Some(Journal { block: 4, size: 2, notes: notes.to_vec() }), None]
    }

    #[test]
    fn what_is_done_has_to_be_there_and_what_belongs_to_others_has_to_stay() {
        let done = note(State::Done, 0, 6, 7);
        let mut file: Vec<u8> = (0..16).collect();
        let before = file.clone();
        for place in 0..6 {
            file[(place / 4 * 8 + place % 4) as usize] = done.byte(place);
        }
        assert_eq!(check_blocks(&before, &file, &journals(&[done])), Ok(()));
        assert!(check_blocks(&before, &file[..9], &journals(&[done])).is_err());
        assert!(check_blocks(&before, &before, &journals(&[done])).is_err());
        let mut damaged = file.clone();
        damaged[5] ^= 1;
        assert!(check_blocks(&before, &damaged, &journals(&[done])).is_err());
        let longer = [&file[..], &[0]].concat();
        assert!(check_blocks(&before, &longer, &journals(&[done])).is_err());
    }

    #[test]
    fn what_is_not_done_may_be_there_in_part() {
        let (done, open) = (note(State::Done, 0, 4, 7), note(State::Begun, 0, 4, 8));
        let whole: Vec<u8> = (0..4).map(|place| done.byte(place)).collect();
        let part = [open.byte(0), open.byte(1), whole[2], whole[3]];
        assert_eq!(check_blocks(&[], &whole, &journals(&[done, open])), Ok(()));
        assert_eq!(check_blocks(&[], &part, &journals(&[done, open])), Ok(()));
        // In this order it is done.
        assert!(check_blocks(&[], &part, &journals(&[open, done])).is_err());
        assert_eq!(check_blocks(&[], &[], &journals(&[open])), Ok(()));
    }

    #[test]
    fn a_record_is_there_once_and_nothing_else_is() {
        let record = |state, key| note(state, SOMEWHERE, RECORD as u64, key);
        let text = |key| (0..RECORD as u64).map(|at| record(State::Done, key).byte(at)).collect::<Vec<u8>>();
        let notes = [record(State::Done, 1), record(State::Failed, 2)];
        let hole = vec![0; RECORD];
        assert_eq!(
            check_records(&[hole, text(1), text(2)[..40].to_vec()].concat(), &journals(&notes)),
            Ok(())
        );
        assert!(check_records(&text(2), &journals(&notes)).is_err());
        assert!(check_records(&[text(1), text(1)].concat(), &journals(&notes)).is_err());
        assert!(check_records(&[text(1), text(3)].concat(), &journals(&notes)).is_err());
    }

    #[test]
    fn plans_cover_every_fault_and_without_mounts_no_disk_is_full() {
        let plans: Vec<_> = (0..200).map(|seed| Plan::drawn(seed, true)).collect();
        assert!(FAULTS.iter().all(|fault| plans.iter().any(|plan| plan.fault == *fault)));
        assert!((0..200).all(|seed| Plan::drawn(seed, false).fault != Fault::Full));
    }
}
