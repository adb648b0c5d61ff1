//! What passes between the ranks' streams and the launcher's own: read when there is room for it, written when somebody takes it.

use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;

use super::{CHUNK, PROMPTING, Source, Supervisor, ranks};
use crate::start::Output;
use crate::stream::Pumped;

/// How long the beginning of a line of rank 0 waits for its end when a person sits at the terminal.
const PROMPT_AFTER: Duration = Duration::from_millis(50);
/// The largest size that a pipe has by default (`/proc/sys/fs/pipe-max-size`).
const PIPE_MAX: usize = 1024 * 1024;

impl Supervisor<'_> {
    /// Before waiting: outlets that somebody must read, streams that may be read again, and input that is wanted.
    pub(super) fn watch(&mut self) {
        for index in 0..self.outlets.len() {
            let outlet = &self.outlets[index];
            let wanted = outlet.is_waiting();
            if wanted && !self.watched[index] {
                // Refused for what is always writable.
                let key = Source::Outlet(index).key();
                self.watched[index] = epoll::add(&self.epoll, outlet, key, EventFlags::OUT).is_ok();
            } else if !wanted && std::mem::take(&mut self.watched[index]) {
                _ = epoll::delete(&self.epoll, outlet);
            }
            if let Some(error) = outlet.failure() {
                self.output_is_refused(error);
            }
            if self.outlets[index].is_roomy() {
                for stream in 0..self.paused.len() {
                    if self.outlet_of(stream) == index
                        && std::mem::take(&mut self.paused[stream])
                        && let Some(pipe) = self.started.outputs[stream].0.pipe()
                    {
                        _ = self.add(&pipe, Source::Output(stream), EventFlags::empty());
                    }
                }
            }
        }
        let hungry = self.started.input.is_hungry() && self.terminal_again_at.is_none();
        if hungry && !self.input_is_watched && !self.input_is_ready {
            let stdin = rustix::stdio::stdin();
            match epoll::add(&self.epoll, stdin, Source::Input.key(), EventFlags::IN) {
                Err(Errno::PERM) => self.input_is_ready = true,
                added => self.input_is_watched = added.is_ok(),
            }
        } else if !hungry && std::mem::take(&mut self.input_is_watched) {
            _ = epoll::delete(&self.epoll, rustix::stdio::stdin());
        }
    }

    /// As a program in a pipeline dies of SIGPIPE, in silence; a full disk is told.
    pub(super) fn output_is_refused(&mut self, error: Errno) {
        let (status, message) = match error {
            Errno::PIPE | Errno::IO => (128 + 13, String::new()),
            error => (
                1,
                format!("the output cannot be written: {}; {} ended", error, ranks(self.verdict.running())),
            ),
        };
        let end = self.verdict.end(status, message);
        self.end_after_failure(end);
    }

    /// Hands one piece of input to the ranks that want it.
    pub(super) fn read_input(&mut self) {
        let source = rustix::stdio::stdin();
        if rustix::termios::isatty(source) {
            let group = rustix::process::getpgrp();
            if !rustix::termios::tcgetpgrp(source).is_ok_and(|foreground| foreground == group) {
                // Reading now would stop the launcher; it may come to the foreground later.
                self.terminal_again_at = Some(Instant::now() + Duration::from_millis(200));
                return;
            }
        }
        if self.started.input.read(source) {
            let stdout = self.outlets.stdout();
            self.outlets[stdout].line_was_ended();
        }
        self.watch_full_sinks();
    }

    pub(super) fn watch_full_sinks(&self) {
        for (index, pipe) in self.started.input.waiting() {
            _ = epoll::add(&self.epoll, pipe, Source::Sink(index).key(), EventFlags::OUT);
        }
    }

    pub(super) fn outlet_of(&self, stream: usize) -> usize {
        match self.started.outputs[stream].1 {
            Output::Stdout => self.outlets.stdout(),
            Output::Stderr => self.outlets.stderr(),
        }
    }

    /// Reads one stream once, unless its outlet is full.
    pub(super) fn pump(&mut self, index: usize) -> Pumped {
        if !self.open[index] {
            return Pumped::Ended;
        }
        let outlet = self.outlet_of(index);
        let outlet = &mut self.outlets[outlet];
        let stream = &mut self.started.outputs[index].0;
        if outlet.is_full() {
            if let (false, Some(pipe)) = (std::mem::replace(&mut self.paused[index], true), stream.pipe()) {
                _ = epoll::delete(&self.epoll, pipe);
            }
            return Pumped::Dry;
        }
        let pumped = stream.pump(&mut self.room, outlet);
        if index == PROMPTING && self.started.input.is_open() {
            self.prompt_at = stream.has_prompt().then(|| Instant::now() + PROMPT_AFTER);
        }
        if pumped == Pumped::Ended {
            self.close(index);
        }
        pumped
    }

    /// A stream that delivers no more.
    pub(super) fn close(&mut self, index: usize) {
        let outlet = self.outlet_of(index);
        let stream = &mut self.started.outputs[index].0;
        stream.end(&mut self.outlets[outlet]);
        self.paused[index] = false;
        self.open[index] = false;
    }

    /// Reads what is in the pipes now: at most what the largest pipe holds, for a rank may never stop writing.
    pub(super) fn drain_outputs(&mut self) {
        for index in 0..self.open.len() {
            for _ in 0..PIPE_MAX / CHUNK {
                if self.pump(index) != Pumped::Open {
                    break;
                }
            }
        }
    }
}
