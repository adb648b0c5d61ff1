//! A rank, its place in the job, and the way back to the launcher.

use std::sync::Arc;

use engine::Rank;
use fabric::Node;
use pmi::Control;

use crate::answers::{Answers, Stand, Witness};
use crate::last_call::Sheet;

/// Where a rank stands in its job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// By which the launcher knows it: its node. In a job that no other has started, the rank in MPI_COMM_WORLD.
    pub rank: u32,
    /// Ranks of the job.
    pub size: u32,
    /// Index of the program in an MPMD job; `None` when no launcher said.
    pub appnum: Option<u32>,
    /// Cores that ranks of this machine may use together.
    pub cores: u32,
    /// The launcher's process, by which jobs of different launchers are told apart.
    pub launcher: Option<u32>,
    /// The node of the rank that has started this job, and that of this job's first rank, if one did.
    pub parent: Option<(Node, Node)>,
}

/// One rank of a running job.
pub struct Job {
    /// The MPI process.
    pub rank: Rank,
    /// Where it notes its calls.
    pub sheet: Sheet,
    place: Place,
    control: Option<Arc<Control>>,
    witness: Stand,
}

impl Job {
    pub(crate) fn new(rank: Rank, place: Place, control: Option<Arc<Control>>, sheet: Sheet) -> Job {
        let witness = Stand::default();
        if let Some(control) = &control {
            rank.set_lookout(Box::new(Answers::new(place.rank, control.clone(), witness.clone())));
        }
        Job { rank, sheet, place, control, witness }
    }

    /// Names who knows the program's calls, for reports of what this rank waits for.
    pub fn set_witness(&self, witness: Witness) {
        let _ = self.witness.set(witness);
    }

    /// Where this rank stands.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Asks the launcher for something; `None` if there is no launcher.
    pub fn ask(&self, request: pmi::Request) -> Option<std::io::Result<pmi::Reply>> {
        self.control.as_ref().map(|control| control.ask(self.place.rank, request))
    }

    /// Tells the launcher that this rank has begun to use MPI. A launcher that is gone is not this rank's business: it will
    /// be ended with its job.
    pub fn initialized(&self) {
        if let Some(control) = &self.control {
            let _ = control.hello(self.place.rank);
        }
    }

    /// Tells the launcher that this rank has finished with MPI.
    pub fn finalized(&self) {
        if let Some(control) = &self.control {
            let _ = control.finalized(self.place.rank);
        }
    }

    /// Tells the user of something that a check has found. Call sites in `text` are between backquotes, as module and offset, which
    /// the launcher looks up.
    pub fn note(&self, text: &str) {
        let sent = self.control.as_ref().is_some_and(|control| control.note(self.place.rank, text).is_ok());
        if !sent {
            let text = text.replace('`', "");
            eprintln!("corelace: check: rank {}: {}", self.place.rank, pmi::visible(&text));
        }
    }

    /// Ends the whole job with `code` (MPI_Abort). `message` says why; it may be empty.
    pub fn abort(&self, code: i32, message: &str) -> ! {
        match &self.control {
            Some(control) => {
                let _ = control.abort(self.place.rank, code, message);
            }
            None if !message.is_empty() => eprintln!("corelace: {}", pmi::visible(message)),
            None => {}
        }
        end_process(code)
    }
}

/// Ends this process at once, with what it has printed written out. Exit handlers do not run: they may use MPI, or wait for
/// threads that wait for this one.
pub(crate) fn end_process(code: i32) -> ! {
    // SAFETY: fflush(NULL) and _exit have no preconditions.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(code)
    }
}
