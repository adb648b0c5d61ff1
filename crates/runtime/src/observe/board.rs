//! A rank's line on the board of a live display: words in shared memory that it stores and the launcher reads.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use engine::{MessageNumber, Observer, PostNumber, Transit};
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
    fn enter(&mut self, fabric: &dyn Fabric, _: &'static str, _: u64) {
        self.show(Doing::Communicating, fabric.now());
    }

    fn leave(&mut self, fabric: &dyn Fabric) {
        self.show(Doing::Computing, fabric.now());
    }

    /// What a rank does in a pause is not known; it runs.
    fn pauses(&mut self, fabric: &dyn Fabric, _: bool) {
        self.show(Doing::Computing, fabric.now());
    }

    fn sent(&mut self, _: &dyn Fabric, _: MessageNumber, transit: &Transit) {
        self.sends(transit.bytes);
    }

    fn send_begins(&mut self, _: &dyn Fabric, _: MessageNumber, transit: &Transit) {
        self.sends(transit.bytes);
    }

    fn received(
        &mut self,
        fabric: &dyn Fabric,
        _: MessageNumber,
        _: Option<PostNumber>,
        _: &Transit,
        waited: bool,
    ) {
        if waited {
            self.show(Doing::Communicating, fabric.now());
        }
    }

    fn wait_begins(&mut self, fabric: &dyn Fabric) {
        self.show(Doing::Waiting, fabric.now());
    }

    fn wait_ends(&mut self, fabric: &dyn Fabric) {
        self.show(Doing::Communicating, fabric.now());
    }

    fn compute_begins(&mut self, fabric: &dyn Fabric) {
        self.show(Doing::Computing, fabric.now());
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        self.words[Line::DOING].store(4, Relaxed);
    }
}
