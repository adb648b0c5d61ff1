//! Joining a job as a process: invited by the launcher, or alone.

use std::fmt;
use std::sync::Arc;

use engine::Rank;
use fabric::{Fabric, Node};
use fabric_shm::{Options, ShmFabric};
use pmi::{Control, Invitation};

use crate::job::{Job, Place, end_process};
use crate::last_call::Sheet;
use crate::observe::Wish;
use crate::settings::{Settings, SettingsError};

/// Why this process cannot become a rank.
#[derive(Debug)]
pub enum JoinError {
    /// The launcher's invitation is broken, or from another version.
    Invitation(pmi::Error),
    /// A descriptor that the invitation names is not open here.
    Descriptor(pmi::ClaimError),
    /// An environment variable of the user's makes no sense.
    Settings(SettingsError),
    /// The shared memory cannot be had.
    Memory(std::io::Error),
}

/// Joins the job that the environment invites to; without an invitation, a job of one.
///
/// Call it at most once in a process: the invitation's descriptors are taken.
pub fn join() -> Result<Job, JoinError> {
    let settings = Settings::from_process().map_err(JoinError::Settings)?;
    match Invitation::from_process().map_err(JoinError::Invitation)? {
        Some(invitation) => accept(&invitation, &settings),
        None => alone(&settings),
    }
}

/// Ends the job that the environment invites to, which this process has not joined. The launcher
/// tells the user, because it can explain the call sites in `message`.
pub fn give_up(code: i32, message: &str) -> ! {
    let told = Invitation::from_process().ok().flatten().is_some_and(|invitation| {
        // SAFETY: `join` has not taken the descriptor, and this process ends here.
        let control = unsafe { invitation.claim_control() };
        control.is_ok_and(|control| {
            Control::new(control).abort(invitation.first + invitation.rank, code, message).is_ok()
        })
    });
    if !told {
        eprintln!("corelace: {}", pmi::visible(message));
    }
    end_process(code)
}

fn accept(invitation: &Invitation, settings: &Settings) -> Result<Job, JoinError> {
    // SAFETY: the launcher passed these descriptors to this process alone, and `join` runs once.
    let (segment, control) = unsafe {
        let segment = invitation.claim_segment().map_err(JoinError::Descriptor)?;
        (segment, invitation.claim_control().map_err(JoinError::Descriptor)?)
    };
    let control = Control::new(control);
    // A refusal leaves the launcher's own ways of ending its ranks.
    let _ = control.die_with_launcher();
    buffer_stdout_by_lines();
    let options = Options {
        me: Node(invitation.first + invitation.rank),
        ranks: invitation.size,
        nodes: invitation.nodes,
        cores: invitation.cores as usize,
        manner: settings.manner,
        budget: None,
        cma: settings.cma,
        launcher: Some(invitation.launcher),
    };
    let fabric = ShmFabric::join(segment, &options).map_err(JoinError::Memory)?;
    let first = Node(invitation.first);
    let place = Place {
        rank: options.me.0,
        size: invitation.size,
        appnum: Some(invitation.appnum),
        cores: invitation.cores,
        launcher: Some(invitation.launcher),
        parent: invitation.parent.map(|parent| (Node(parent), first)),
    };
    let tuning = settings.tuning(&fabric);
    let rank = prefer(settings, Rank::among(Box::new(fabric), tuning, first, invitation.size));
    // This process has one rank, and so one recording.
    Wish::from_process().map_err(JoinError::Invitation)?.observe(&rank, 0);
    Ok(Job::new(rank, place, Some(Arc::new(control)), Sheet::of_process(place.rank)))
}

/// Standard output is a pipe to the launcher, which libc would fill by blocks: what a rank printed before it waits, or before it
/// is killed, would not be seen.
fn buffer_stdout_by_lines() {
    unsafe extern "C" {
        static mut stdout: *mut libc::FILE;
    }
    // SAFETY: libc's own stream, initialised before any code of a program runs; without a buffer given the call only changes
    // when the stream is written out, also if something is in it already (glibc).
    unsafe { libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0) };
}

fn alone(settings: &Settings) -> Result<Job, JoinError> {
    warn_of_foreign_launcher();
    let fabric = ShmFabric::alone(None).map_err(JoinError::Memory)?;
    let place = Place { rank: 0, size: 1, appnum: None, cores: 1, launcher: None, parent: None };
    Ok(Job::new(rank_on(Box::new(fabric), settings), place, None, Sheet::private()))
}

/// Another launcher that started several copies of this program would get as many jobs of one, silently: the most
/// confusing way to be wrong.
fn warn_of_foreign_launcher() {
    for variable in ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"] {
        let ranks = std::env::var(variable).ok().and_then(|value| value.parse::<u32>().ok());
        if let Some(ranks) = ranks.filter(|ranks| *ranks > 1) {
            eprintln!(
                "corelace: {variable}={ranks} says that another launcher started {ranks} processes; each of them is a job \
                 of one rank here. Start the program with Corelace's mpirun to get one job of {ranks}."
            );
            return;
        }
    }
    // PMIx tells the number of ranks only to those who ask its server.
    for variable in ["PMIX_RANK", "PMIX_NAMESPACE"] {
        if let Ok(value) = std::env::var(variable) {
            eprintln!(
                "corelace: {variable}={value} says that another launcher started this process; it is a job of one rank here. Start \
                 the program with Corelace's mpirun to get one job of all its ranks."
            );
            return;
        }
    }
}

pub(crate) fn rank_on(fabric: Box<dyn Fabric>, settings: &Settings) -> Rank {
    let tuning = settings.tuning(&*fabric);
    prefer(settings, Rank::new(fabric, tuning))
}

fn prefer(settings: &Settings, rank: Rank) -> Rank {
    settings.prefer(&rank);
    rank
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Invitation(error) => error.fmt(f),
            JoinError::Descriptor(error) => error.fmt(f),
            JoinError::Settings(error) => error.fmt(f),
            JoinError::Memory(error) => write!(f, "the shared memory of the job cannot be used: {error}"),
        }
    }
}

impl std::error::Error for JoinError {}
