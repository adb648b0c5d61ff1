//! A rank's line on the board of a live display: words in shared memory that it stores and the launcher reads.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use engine::observe::{Begin, End, Match, Observer, Wait};
use fabric::Fabric;
use pmi::{Doing, Line};

/// A rank's line.
pub(super) struct Gauge {
    /// The mapped page that the line is in; the board lives as long as the process.
    words: &'static [AtomicU64; Line::WORDS],
    messages: u64,
    bytes: u64,
}

impl Gauge {
    /// The line of `rank` on the board behind this descriptor.
    pub(super) fn on(board: i32, rank: u32) -> io::Result<Gauge> {
        // SAFETY: asks the system for a page size.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let offset = rank as usize * Line::BYTES;
        let begin = offset / page * page;
        // SAFETY: a new mapping of a whole page; the kernel checks descriptor and offset.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                board,
                begin as libc::off_t,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a line lies within a page (its length divides a page's), is aligned, never unmapped, and only ever used as
        // atomics. The launcher has made the board as long as its ranks need.
        let words = unsafe { &*address.cast::<u8>().add(offset - begin).cast() };
        let mut gauge = Gauge { words, messages: 0, bytes: 0 };
        gauge.show(Doing::Computing, 0);
        Ok(gauge)
    }

    #[inline]
    fn show(&mut self, doing: Doing, time: u64) {
        let doing = match doing {
            Doing::Starting => 0,
            Doing::Computing => 1,
            Doing::Communicating => 2,
            Doing::Waiting => 3,
            Doing::Ended => 4,
        };
        self.words[Line::DOING].store(doing, Relaxed);
        self.words[Line::TIME].store(time, Relaxed);
    }

    #[inline]
    fn sends(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes += bytes;
        self.words[Line::MESSAGES].store(self.messages, Relaxed);
        self.words[Line::SENT_BYTES].store(self.bytes, Relaxed);
    }
}

impl Observer for Gauge {
    fn begins(&mut self, fabric: &dyn Fabric, what: &Begin<'_>) {
        match what {
            Begin::Call { .. } => self.show(Doing::Communicating, fabric.now()),
            // What a rank does in a pause is not known; it runs.
            Begin::Work | Begin::Pause => self.show(Doing::Computing, fabric.now()),
            Begin::Send { transit, .. } => self.sends(transit.bytes),
            Begin::Access { bytes, .. } => self.sends(*bytes),
            Begin::Letter
            | Begin::Receive { .. }
            | Begin::Collective(_)
            | Begin::Early { .. }
            | Begin::Round { .. }
            | Begin::Region(_)
            | Begin::Epoch(_) => {}
        }
    }

    fn matches(&mut self, fabric: &dyn Fabric, what: &Match<'_>) {
        if what.waited {
            self.show(Doing::Communicating, fabric.now());
        }
    }

    fn ends(&mut self, fabric: &dyn Fabric, what: &End) {
        match what {
            End::Call | End::Pause => self.show(Doing::Computing, fabric.now()),
            End::Work | End::Region(_) | End::Send(_) | End::Receive(_) | End::Epoch(_) => {}
        }
    }

    fn waits(&mut self, fabric: &dyn Fabric, wait: Wait) {
        let doing = match wait {
            Wait::Begins => Doing::Waiting,
            Wait::Ends => Doing::Communicating,
        };
        self.show(doing, fabric.now());
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        self.words[Line::DOING].store(4, Relaxed);
    }
}
