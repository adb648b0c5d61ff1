//! What ranks ask their launcher for while the job runs: processes that come later, and names of ports (MPI chapter 11).
//!
//! A job that a rank has started is one more part of this one: its processes are watched, explained and ended like the first.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Instant;

use pmi::{Program, Reply, Request};
use rustix::event::epoll::EventFlags;
use rustix::process::{PidfdFlags, Signal, kill_process};

use super::{Source, Supervisor, pid};
use crate::job::Context;
use crate::start::start_later;
use crate::{Attempt, Error, find_program};

/// Ports by the names under which they were published.
pub(super) type Names = HashMap<String, String>;

/// A job that a rank has started.
pub(super) struct Spawned {
    /// Its ranks, by node.
    ranks: Range<u32>,
    /// Why it cannot meet those that have started it.
    failed: Option<String>,
}

impl Supervisor<'_> {
    /// Does what a rank asks for, and tells it so.
    pub(super) fn answer(&mut self, rank: u32, pid: u32, reply: u32, request: Request) {
        let answer = match request {
            Request::Spawn(programs) => match self.start_later(rank, pid, &programs) {
                Ok(first) => Reply::Spawned(first),
                Err(why) => Reply::Refused(why),
            },
            Request::Publish { name, port } => match self.published.entry(name) {
                std::collections::hash_map::Entry::Occupied(taken) => {
                    Reply::Refused(format!("\"{}\" is published already", taken.key()))
                }
                std::collections::hash_map::Entry::Vacant(free) => {
                    free.insert(port);
                    Reply::Done
                }
            },
            Request::Unpublish { name } => match self.published.remove(&name) {
                Some(_) => Reply::Done,
                None => Reply::Refused(format!("\"{name}\" is not published")),
            },
            Request::Lookup { name } => match self.published.get(&name) {
                Some(port) => Reply::Found(port.clone()),
                None => Reply::Refused(format!("\"{name}\" is not published")),
            },
            Request::Fate { first } => {
                let failed = self.spawned_of(first).and_then(|spawned| spawned.failed.clone());
                failed.map_or(Reply::Done, Reply::Refused)
            }
        };
        // A rank that is gone needs no answer, and a pipe that is full is no pipe of ours.
        let pipe = OpenOptions::new()
            .write(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
            .open(format!("/proc/{pid}/fd/{reply}"));
        if let Ok(mut pipe) = pipe {
            _ = pipe.write_all(&answer.encode());
        }
    }

    fn start_later(&mut self, parent: u32, asker: u32, programs: &[Program]) -> Result<u32, String> {
        if self.kill_at.is_some() || self.killed {
            return Err("the job is being ended".into());
        }
        // What the user has set for the programs of the job holds for those that these start.
        let like =
            self.job.context_of_ranks().nth(parent as usize).map_or(&self.job.contexts[0], |(_, own)| own);
        let contexts = programs.iter().map(|program| context(program, asker, like));
        let contexts = contexts.collect::<Result<Vec<_>, String>>()?;
        let outputs = self.started.outputs.len();
        let first = start_later(self.job, &mut self.started, parent, &contexts)?;
        self.watch_from(first as usize, outputs).map_err(|error| error.to_string())?;
        self.spawned.push(Spawned { ranks: first..self.started.members.len() as u32, failed: None });
        Ok(first)
    }

    fn spawned_of(&mut self, rank: u32) -> Option<&mut Spawned> {
        // In the order of their ranks.
        let behind = self.spawned.partition_point(|spawned| spawned.ranks.start <= rank);
        self.spawned[..behind].last_mut().filter(|spawned| spawned.ranks.contains(&rank))
    }

    /// A rank has ended well without MPI_Init. If it belongs to a job that a rank has started, nobody
    /// will ever come out of that job's MPI_Init, nor its parents out of MPI_Comm_spawn.
    pub(super) fn ended_early(&mut self, rank: u32) {
        let why = format!("{} ended without having called MPI_Init", self.started.names[rank as usize]);
        let Some(spawned) = self.spawned_of(rank) else { return };
        spawned.failed.get_or_insert(why);
        let ranks = spawned.ranks.clone();
        ranks.for_each(|rank| self.end_if_in_vain(rank));
    }

    /// Ends a rank that waits in MPI_Init for others of its spawned job, if one of those has ended.
    pub(super) fn end_if_in_vain(&mut self, rank: u32) {
        let failed = self.spawned_of(rank).is_some_and(|spawned| spawned.failed.is_some());
        if failed && self.verdict.dismiss(rank) {
            _ = kill_process(pid(&self.started.members[rank as usize].process), Signal::KILL);
        }
    }

    /// Gives back what the launcher holds of a process that came later and has ended: there may be
    /// thousands of them. Its number is not used from now on, and may become another's.
    pub(super) fn forget(&mut self, index: usize) {
        if self.spawned_of(index as u32).is_some() {
            let member = &mut self.started.members[index];
            self.known.remove(&pid(&member.process));
            _ = member.process.wait();
            member.inbox.close();
            self.pidfds[index] = None;
        }
    }

    /// Watches members and outputs from these on.
    fn watch_from(&mut self, first: usize, outputs: usize) -> Result<(), Error> {
        self.verdict.add(&self.started.names[first..]);
        for index in first..self.started.members.len() {
            let process = &self.started.members[index].process;
            let number = pid(process);
            self.hangs.add(process.id(), Instant::now());
            self.known.insert(number);
            self.ended.push(false);
            let pidfd = rustix::process::pidfd_open(number, PidfdFlags::empty()).attempt("pidfd_open")?;
            self.add(&pidfd, Source::Exit(index), EventFlags::ET)?;
            self.pidfds.push(Some(pidfd));
            if let Some(inbox) = self.started.members[index].inbox.descriptor() {
                self.add(&inbox, Source::Inbox(index), EventFlags::empty())?;
            }
        }
        for index in outputs..self.started.outputs.len() {
            self.open.push(true);
            self.paused.push(false);
            if let Some(pipe) = self.started.outputs[index].0.pipe() {
                self.add(&pipe, Source::Output(index), EventFlags::empty())?;
            }
        }
        Ok(())
    }
}

/// A program as a rank asks for it: looked for where the rank would find it.
fn context(program: &Program, asker: u32, like: &Context) -> Result<Context, String> {
    if program.ranks == 0 {
        return Err(format!("0 processes of {}, expected at least 1", program.command));
    }
    let home = std::fs::read_link(format!("/proc/{asker}/cwd")).ok();
    let directory = match (program.directory.as_str(), home) {
        ("", home) => home,
        (given, Some(home)) => Some(home.join(given)),
        (given, None) => Some(PathBuf::from(given)),
    };
    let paths = [
        Some(program.path.as_str()).filter(|path| !path.is_empty()).map(Into::into),
        std::env::var_os("PATH"),
    ];
    let path = paths.into_iter().flatten().collect::<Vec<std::ffi::OsString>>().join(":".as_ref());
    let found = find_program(program.command.as_ref(), Some(&path), directory.as_deref());
    let given = program.environment.iter().filter_map(|pair| pair.split_once('='));
    let given = given.map(|(name, value)| (name.into(), value.into()));
    Ok(Context {
        ranks: program.ranks,
        program: found.map_err(|error| error.to_string())?,
        name: program.command.clone().into(),
        arguments: program.arguments.iter().map(Into::into).collect(),
        environment: like.environment.iter().cloned().chain(given).collect(),
        inherit: like.inherit.clone(),
        directory,
    })
}
