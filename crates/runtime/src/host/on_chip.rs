//! A host whose ranks run on a simulated chip (`mpirun --chip`).

use std::cell::RefCell;
use std::fs::File;
use std::os::fd::FromRawFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fabric_local::{Hooks, Outcome};
use pmi::{ChipStats, Control, HostChip, HostPlan};

use super::computing::Computing;
use super::progress::Progress;
use super::{HostError, Loaded, Main, hear_inquiries, report, stack_bytes};
use crate::answers;
use crate::chip::{self, Chip, Footprint, Glance, Map, OnChip};
use crate::job::Job;
use crate::loader::{Heap, Tally};
use crate::observe::Wish;
use crate::settings::Settings;

/// Runs the ranks of the plan on its chip; their outcomes by rank, the I/O rank last.
pub(super) fn run(
    plan: &HostPlan,
    on: &HostChip,
    loaded: &Loaded,
    (settings, wish): (&Settings, &Wish),
    hooks: &dyn Hooks,
    control: &Arc<Control>,
    body: &dyn Fn(Box<Job>, Main) -> i32,
) -> Result<Vec<Outcome<i32>>, HostError> {
    let chip = Chip::from_words(&on.chip).ok_or_else(|| HostError::Chip(on.origin.clone()))?;
    // SAFETY: the launcher passed this descriptor to this process alone, and a plan is run once.
    let terminal = (on.progress >= 0).then(|| unsafe { File::from_raw_fd(on.progress) });
    let progress = terminal.map(|terminal| Progress::new(terminal, chip.ticks_per_second()));
    let show = progress.as_ref().map(|progress| |glance: &Glance| progress.show(glance));
    let ranks = plan.ranks.len() as u32 - u32::from(on.io);
    let summoned = Arc::new(AtomicBool::new(false));
    let call = summoned.clone();
    hear_inquiries(control, move |control| answers::listen_for_chip(control, &call));
    let job = OnChip {
        chip: &chip,
        ranks,
        map: if on.scatter { Map::Scatter } else { Map::Compact },
        io: on.io,
        stack_bytes: stack_bytes(plan),
        settings,
        hooks,
        unwind_stalled: false,
        wish,
        control: Some(control.clone()),
        appnum: &|rank| Some(plan.context_of(rank) as u32),
        footprint: &|rank| {
            let program = plan.context_of(rank);
            let (text, data) = loaded.footprints[program];
            Footprint { program: program as u32, text: text as usize, data: data as usize }
        },
        scale: on.scale.map(|millionths| millionths as f64 / 1e6),
        summoned: Some(&summoned),
        watch: show.as_ref().map(|show| show as &dyn Fn(&Glance)),
    };
    let tallies = RefCell::new(Vec::new());
    let finished = chip::run(&job, &|job: Box<Job>| {
        let rank = job.place().rank;
        let mut main = loaded.take(rank);
        main.heap = Some(Heap::new(job.rank.fabric().budget().of_rank(rank), rank));
        let tally = Rc::new(Tally::new(chip.core.unwrap_or_default()));
        job.rank.count_work(tally.clone());
        tallies.borrow_mut().push(tally.clone());
        main.tally = Some(tally);
        body(job, main)
    });
    drop(progress);
    let finished = finished.map_err(HostError::Run)?;
    for complaint in &finished.complaints {
        eprintln!("corelace: {complaint}");
    }
    let computing = Computing::of(&tallies.into_inner(), &finished.stats);
    if let Some(doubt) = computing.doubt(&chip, on.scale.is_some()) {
        eprintln!("corelace: {doubt}");
    }
    if on.scale.is_some() {
        eprintln!("corelace: --scale charges measured processor time: this run is not reproducible");
    }
    if on.memory {
        eprint!("{}", pmi::visible(&report::map(&chip, &finished.memory)));
    }
    match on.stats {
        ChipStats::None => {}
        ChipStats::Text => {
            let text = report::text(&chip, ranks, &finished.stats, &computing);
            eprint!("{}", pmi::visible(&text));
        }
        ChipStats::Json => {
            eprint!("{}", report::json(&chip, ranks, (&finished.stats, &finished.memory), &computing))
        }
    }
    Ok(finished.outcomes)
}
