//! Ranks as threads or fibers of this process.

use std::ops::Range;
use std::sync::Arc;

use fabric_local::{Hooks, LocalFabric, Options, Outcome, Summons};
use pmi::Control;

use crate::job::{Job, Place};
use crate::join::rank_on;
use crate::last_call::Sheet;
use crate::observe::Wish;
use crate::settings::Settings;

/// What carries a rank inside one process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// An operating-system thread each.
    Thread,
    /// A fiber each, spread over one worker thread a core.
    Fiber,
}

/// A cluster to run.
pub struct Cluster<'a> {
    /// How many ranks.
    pub ranks: u32,
    /// What carries them.
    pub carrier: Carrier,
    /// Cores to use; 0 for all that this process may.
    pub cores: usize,
    /// Bytes of stack a rank; 0 for the carrier's default.
    pub stack_bytes: usize,
    /// The user's settings.
    pub settings: &'a Settings,
    /// Told whenever a rank's code gains or loses an operating-system thread.
    pub hooks: &'a dyn Hooks,
    /// As [`fabric_local::Options::unwind_stalled`]: true for ranks written in Rust, false for programs in C.
    pub unwind_stalled: bool,
    /// What others want to see of the ranks.
    pub wish: &'a Wish,
    /// The way to the launcher, if there is one.
    pub control: Option<Arc<Control>>,
    /// As [`fabric_local::Options::code`].
    pub code: Arc<[Range<usize>]>,
    /// Index of the program of each rank, by rank (MPI_APPNUM).
    pub appnum: &'a (dyn Fn(u32) -> Option<u32> + Sync),
}

/// Runs `body` once a rank and returns their outcomes by rank.
pub fn run<T: Send>(cluster: &Cluster<'_>, body: &(dyn Fn(Box<Job>) -> T + Sync)) -> Vec<Outcome<T>> {
    run_on_call(cluster, &Summons::default(), body)
}

/// As [`run`]; by `summons` the ranks are called to say what they wait for.
pub(crate) fn run_on_call<T: Send>(
    cluster: &Cluster<'_>,
    summons: &Summons,
    body: &(dyn Fn(Box<Job>) -> T + Sync),
) -> Vec<Outcome<T>> {
    let mut options = Options {
        workers: cluster.cores,
        manner: cluster.settings.manner,
        unwind_stalled: cluster.unwind_stalled,
        summons: summons.clone(),
        code: cluster.code.clone(),
        ..Options::new(cluster.ranks)
    };
    if cluster.stack_bytes > 0 {
        options.stack_bytes = cluster.stack_bytes;
    }
    let Cluster { ranks, settings, wish, control, appnum, .. } = cluster;
    let shared = Shared { ranks: *ranks, settings, wish, control, appnum: *appnum };
    let with_fabric = |fabric: LocalFabric| body(shared.job(fabric));
    match cluster.carrier {
        Carrier::Thread => fabric_local::run_threads(&options, cluster.hooks, &with_fabric),
        Carrier::Fiber => fabric_local::run_fibers(&options, cluster.hooks, &with_fabric),
    }
}

/// The part of a cluster that every rank's thread reads.
struct Shared<'a> {
    ranks: u32,
    settings: &'a Settings,
    wish: &'a Wish,
    control: &'a Option<Arc<Control>>,
    appnum: &'a (dyn Fn(u32) -> Option<u32> + Sync),
}

impl Shared<'_> {
    /// The job of the rank that has this fabric. Its stack is gone before the rank runs: thousands of ranks would each keep the pages.
    #[inline(never)]
    fn job(&self, fabric: LocalFabric) -> Box<Job> {
        use fabric::Fabric;
        let number = fabric.me().0;
        let place = Place {
            rank: number,
            size: self.ranks,
            appnum: (self.appnum)(number),
            cores: self.ranks,
            launcher: None,
            parent: None,
        };
        let rank = rank_on(Box::new(fabric), self.settings);
        self.wish.observe(&rank, number as usize);
        Box::new(Job::new(rank, place, self.control.clone(), Sheet::private()))
    }
}
