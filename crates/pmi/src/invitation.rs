//! What a launcher tells a rank, rendered into environment variables and parsed back.
//!
//! Invariant: [`Invitation::from_env`] accepts exactly what [`Invitation::to_env`] renders, and tells three situations
//! apart: no launcher at all (`Ok(None)`), a well-formed invitation, and a broken one (an error that names the variable,
//! its value and what was expected). A broken invitation is never taken for "no launcher": that would silently start N
//! singletons instead of one job.

use std::fmt;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use rustix::io::FdFlags;

use crate::PROTOCOL;

/// The names of the environment variables.
pub mod var {
    /// Version of the protocol; its presence says that there is a launcher.
    pub const PROTOCOL: &str = "CORELACE_PMI_PROTOCOL";
    /// This process's rank in `MPI_COMM_WORLD`.
    pub const RANK: &str = "CORELACE_RANK";
    /// The number of ranks of the job.
    pub const SIZE: &str = "CORELACE_SIZE";
    /// Number of the inherited descriptor of the shared segment (a memfd, sized and sealed).
    pub const SEGMENT_FD: &str = "CORELACE_SEGMENT_FD";
    /// Number of the inherited descriptor of the control socket.
    pub const CONTROL_FD: &str = "CORELACE_CONTROL_FD";
    /// How many cores all ranks of the job on this machine may use together.
    pub const CORES: &str = "CORELACE_CORES";
    /// Every variable of an invitation, for a launcher inside a rank to take away.
    pub const ALL: [&str; 11] =
        [PROTOCOL, RANK, SIZE, SEGMENT_FD, CONTROL_FD, CORES, APPNUM, LAUNCHER, SEGMENT_NODES, FIRST, PARENT];
    /// How many nodes the shared segment has room for: those of the job, of jobs that it has started, and of those that come.
    pub const SEGMENT_NODES: &str = "CORELACE_SEGMENT_NODES";
    /// The node of the job's first rank.
    pub const FIRST: &str = "CORELACE_FIRST_NODE";
    /// The node of the rank that has started this job, or `none`.
    pub const PARENT: &str = "CORELACE_PARENT_NODE";
    /// The process number of the launcher, whose descendants may read each other's memory.
    pub const LAUNCHER: &str = "CORELACE_LAUNCHER_PID";
    /// Index of this rank's program in a `prog1 : prog2` job (the attribute `MPI_APPNUM`).
    pub const APPNUM: &str = "CORELACE_APPNUM";
}

/// What stands for no parent.
const NO_PARENT: &str = "none";

/// What a rank needs to know to join its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Rank in `MPI_COMM_WORLD`; always below `size`.
    pub rank: u32,
    /// Number of ranks in the job; at least one.
    pub size: u32,
    /// Descriptor number of the shared segment.
    pub segment_fd: RawFd,
    /// Descriptor number of the control socket.
    pub control_fd: RawFd,
    /// Cores that the ranks of this machine share; at least one. Ranks spin only if there is one for each.
    pub cores: u32,
    /// Index of the application context (`MPI_APPNUM`).
    pub appnum: u32,
    /// The launcher's process.
    pub launcher: u32,
    /// Nodes of the shared segment.
    pub nodes: u32,
    /// The node of rank 0; those of the others follow.
    pub first: u32,
    /// The node of the rank that has started this job, if one did.
    pub parent: Option<u32>,
}

impl Invitation {
    /// The variables to set in a rank's environment.
    pub fn to_env(&self) -> Vec<(&'static str, String)> {
        vec![
            (var::PROTOCOL, PROTOCOL.to_string()),
            (var::RANK, self.rank.to_string()),
            (var::SIZE, self.size.to_string()),
            (var::SEGMENT_FD, self.segment_fd.to_string()),
            (var::CONTROL_FD, self.control_fd.to_string()),
            (var::CORES, self.cores.to_string()),
            (var::APPNUM, self.appnum.to_string()),
            (var::LAUNCHER, self.launcher.to_string()),
            (var::SEGMENT_NODES, self.nodes.to_string()),
            (var::FIRST, self.first.to_string()),
            (var::PARENT, self.parent.map_or_else(|| NO_PARENT.to_owned(), |parent| parent.to_string())),
        ]
    }

    /// Reads an invitation; `lookup` is usually `|name| std::env::var(name).ok()`.
    ///
    /// `Ok(None)` means that no launcher is there: the process is a job of its own.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Option<Invitation>, Error> {
        let Some(protocol) = lookup(var::PROTOCOL) else {
            // A rank number without a protocol is a launcher we do not understand, or a variable exported by mistake.
            return match lookup(var::RANK) {
                None => Ok(None),
                Some(_) => Err(Error::Missing { name: var::PROTOCOL }),
            };
        };
        if protocol != PROTOCOL.to_string() {
            return Err(Error::Version { found: protocol });
        }
        let size = number(&lookup, var::SIZE, "a number of ranks from 1 to 2147483647", 1, i32::MAX as u32)?;
        let rank = number(&lookup, var::RANK, "a rank below CORELACE_SIZE", 0, size - 1)?;
        let fd = "a descriptor number from 3 to 2147483647";
        let segment_fd = number(&lookup, var::SEGMENT_FD, fd, 3, i32::MAX as u32)? as RawFd;
        let control_fd = number(&lookup, var::CONTROL_FD, fd, 3, i32::MAX as u32)? as RawFd;
        let cores = number(&lookup, var::CORES, "a number of cores, at least 1", 1, u32::MAX)?;
        let appnum = number(&lookup, var::APPNUM, "a program index below CORELACE_SIZE", 0, size - 1)?;
        let launcher = number(&lookup, var::LAUNCHER, "a process number", 1, i32::MAX as u32)?;
        let nodes =
            number(&lookup, var::SEGMENT_NODES, "a number of nodes, at least CORELACE_SIZE", size, u32::MAX)?;
        let first = number(&lookup, var::FIRST, "a node with room for all ranks behind it", 0, nodes - size)?;
        let parent = match lookup(var::PARENT).as_deref() {
            Some(NO_PARENT) => None,
            _ => Some(number(&lookup, var::PARENT, "a node before the first, or none", 0, first)?),
        };
        Ok(Some(Invitation {
            rank,
            size,
            segment_fd,
            control_fd,
            cores,
            appnum,
            launcher,
            nodes,
            first,
            parent,
        }))
    }

    /// Reads an invitation from this process's environment.
    pub fn from_process() -> Result<Option<Invitation>, Error> {
        Invitation::from_env(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// Takes ownership of the descriptor of the shared segment and marks it close-on-exec.
    ///
    /// # Safety
    ///
    /// Nothing else in this process may own the descriptor; call it at most once.
    pub unsafe fn claim_segment(&self) -> Result<OwnedFd, ClaimError> {
        // SAFETY: passed on to the caller.
        unsafe { claim(var::SEGMENT_FD, self.segment_fd) }
    }

    /// Takes ownership of the control socket's descriptor and marks it close-on-exec; see [`crate::Control::new`].
    ///
    /// # Safety
    ///
    /// Nothing else in this process may own the descriptor; call it at most once.
    pub unsafe fn claim_control(&self) -> Result<OwnedFd, ClaimError> {
        // SAFETY: passed on to the caller.
        unsafe { claim(var::CONTROL_FD, self.control_fd) }
    }
}

/// A broken invitation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The launcher speaks another protocol than this library.
    Version {
        /// The value of the variable.
        found: String,
    },
    /// A variable that belongs to every invitation is not set.
    Missing {
        /// The missing variable.
        name: &'static str,
    },
    /// A variable holds something else than expected.
    Malformed {
        /// The variable.
        name: &'static str,
        /// What it holds.
        value: String,
        /// What it should hold.
        expected: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Version { found } => write!(
                f,
                "CORELACE_PMI_PROTOCOL is \"{found}\" but this library speaks {PROTOCOL}: the launcher and \
                 libmpi_abi are of different versions; start the program with the mpirun of the same \
                 installation"
            ),
            Error::Missing { name } => write!(
                f,
                "{name} is not set although other variables of the launcher are: start the program with \
                 mpirun, or unset all CORELACE_* variables to run it alone"
            ),
            Error::Malformed { name, value, expected } => {
                write!(f, "{name} is \"{value}\", expected {expected}")
            }
        }
    }
}

impl std::error::Error for Error {}

/// The descriptor that a variable names is not open: typically a program that a rank itself started with `system()` or
/// `fork` after `MPI_Init`. Such a process is not part of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimError {
    /// The variable.
    pub name: &'static str,
    /// The number it holds.
    pub fd: RawFd,
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ClaimError { name, fd } = self;
        write!(
            f,
            "{name} names descriptor {fd}, which is not open in this process: it was started by a rank, not \
             by mpirun"
        )
    }
}

impl std::error::Error for ClaimError {}

fn number(
    lookup: &impl Fn(&str) -> Option<String>,
    name: &'static str,
    expected: &'static str,
    least: u32,
    most: u32,
) -> Result<u32, Error> {
    let value = lookup(name).ok_or(Error::Missing { name })?;
    // `parse` alone would accept "+3".
    match value.parse::<u32>() {
        Ok(n) if (least..=most).contains(&n) && !value.starts_with('+') => Ok(n),
        _ => Err(Error::Malformed { name, value, expected }),
    }
}

/// # Safety
///
/// Nothing else in this process may own `fd`.
unsafe fn claim(name: &'static str, fd: RawFd) -> Result<OwnedFd, ClaimError> {
    let closed = ClaimError { name, fd };
    // SAFETY: the borrow lasts for one fcntl that fails cleanly on a closed descriptor; the caller vouches for ownership.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
    let flags = rustix::io::fcntl_getfd(borrowed).map_err(|_| closed.clone())?;
    // What the rank itself starts later must not hold the job's descriptors open.
    rustix::io::fcntl_setfd(borrowed, flags | FdFlags::CLOEXEC).map_err(|_| closed)?;
    // SAFETY: `fd` is open (checked above) and nobody else owns it (the caller's promise).
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn sample() -> Invitation {
        Invitation {
            rank: 3,
            size: 8,
            segment_fd: 5,
            control_fd: 6,
            cores: 2,
            appnum: 1,
            launcher: 77,
            nodes: 20,
            first: 4,
            parent: Some(2),
        }
    }

    fn read(env: &[(&'static str, String)]) -> Result<Option<Invitation>, Error> {
        let map: HashMap<_, _> = env.iter().cloned().collect();
        Invitation::from_env(|name| map.get(name).cloned())
    }

    fn changed(name: &'static str, value: &str) -> Result<Option<Invitation>, Error> {
        let mut env = sample().to_env();
        env.iter_mut().find(|(n, _)| *n == name).unwrap().1 = value.to_string();
        read(&env)
    }

    #[test]
    fn without_a_launcher_there_is_no_invitation() {
        assert_eq!(Invitation::from_env(|_| None), Ok(None));
    }

    #[test]
    fn the_list_of_variables_is_complete() {
        assert_eq!(sample().to_env().iter().map(|(name, _)| *name).collect::<Vec<_>>(), var::ALL);
    }

    #[test]
    fn another_protocol_version_is_refused_with_both_versions() {
        let error = changed(var::PROTOCOL, "7").unwrap_err();
        assert!(error.to_string().contains("\"7\"") && error.to_string().contains("speaks 3"), "{error}");
    }

    #[test]
    fn a_malformed_value_is_named_with_its_variable_and_the_expectation() {
        for value in ["8", "-1", "", "x", "+3", " 3", "99999999999"] {
            let text = changed(var::RANK, value).unwrap_err().to_string();
            assert_eq!(text, format!("CORELACE_RANK is \"{value}\", expected a rank below CORELACE_SIZE"));
        }
        for (name, value) in [
            (var::SIZE, "0"),
            (var::SEGMENT_FD, "2"),
            (var::CONTROL_FD, "-4"),
            (var::CORES, "0"),
            (var::APPNUM, "8"),
            (var::LAUNCHER, "0"),
            (var::SEGMENT_NODES, "7"),
            (var::FIRST, "13"),
            (var::PARENT, "5"),
        ] {
            assert!(changed(name, value).unwrap_err().to_string().starts_with(name));
        }
    }

    #[test]
    fn each_missing_variable_is_named_and_never_taken_for_standalone() {
        for (missing, _) in sample().to_env() {
            let env: Vec<_> = sample().to_env().into_iter().filter(|(name, _)| *name != missing).collect();
            assert_eq!(read(&env), Err(Error::Missing { name: missing }));
        }
    }

    #[test]
    fn claiming_a_closed_descriptor_says_which_variable_named_it() {
        let invitation = Invitation { control_fd: 1_000_000, ..sample() };
        // SAFETY: no descriptor of that number exists.
        let error = unsafe { invitation.claim_control() }.unwrap_err();
        assert_eq!(error, ClaimError { name: var::CONTROL_FD, fd: 1_000_000 });
    }

    proptest! {
        #[test]
        fn what_is_rendered_is_parsed_back(
            size in 1..=i32::MAX as u32, rank: u32, segment_fd in 3..i32::MAX, control_fd in 3..i32::MAX,
            cores in 1..u32::MAX, appnum: u32, launcher in 1..i32::MAX as u32, spare: u32, first: u32, parent: Option<u32>,
        ) {
            let (rank, appnum) = (rank % size, appnum % size);
            let nodes = size.saturating_add(spare);
            let first = first % (nodes - size).saturating_add(1).max(1);
            let parent = parent.map(|parent| parent % first.saturating_add(1));
            let sent = Invitation {
                rank, size, segment_fd, control_fd, cores, appnum, launcher, nodes, first, parent,
            };
            prop_assert_eq!(read(&sent.to_env()), Ok(Some(sent)));
        }
    }
}
