//! The report for a terminal. The page shows the same tables: both take their cells from here.

use std::collections::BTreeMap;
use std::fmt::Write;

use trace::{AccessKind, EpochKind, Protocol};

use crate::analysis::{Analysis, CallSite, PatternSum, Shares};
use crate::run::{Run, State};
use crate::table::{Cell, Table};
use crate::units::{percent, plural};

/// Rows of the long tables in a terminal.
const ROWS: usize = 20;

/// Sentences, then tables.
pub fn text(run: &Run, analysis: &Analysis) -> String {
    let mut text = format!("{}\n\n", title(run));
    for sentence in crate::sentences(run, analysis) {
        writeln!(text, "{sentence}").expect("a string grows");
    }
    let profile_title = match analysis.profile.len() {
        0..=ROWS => "Calls by function and call site".to_owned(),
        all => format!("Calls by function and call site, the {ROWS} longest of {all}"),
    };
    for (title, table) in [
        ("Wait states, longest first", patterns(run, analysis, 1)),
        (&profile_title, profile(run, analysis, ROWS)),
        ("Regions of the program", regions(run)),
        ("Time of each rank", ranks(run, analysis)),
        ("Waits, longest first", waits(run, analysis, ROWS)),
        ("Messages by protocol", protocols(analysis)),
        ("One-sided operations", accesses(analysis)),
        ("Epochs of windows", epochs(run)),
        ("Links of the chip, most used first", links(run, analysis)),
        ("Servers of the chip, most used first", servers(run, analysis)),
    ] {
        if !table.rows.is_empty() {
            write!(text, "\n{title}\n{}", table.to_text()).expect("a string grows");
        }
        if title.starts_with("Wait states") {
            for sum in &analysis.patterns {
                writeln!(text, "  {}: {}", sum.pattern.title(run), sum.pattern.advice(run))
                    .expect("a string grows");
            }
        }
    }
    text
}

/// What ran, in a line.
pub(crate) fn title(run: &Run) -> String {
    let how = match run.job.mode.as_str() {
        "" => String::new(),
        mode => format!(
            ", ranks as {}",
            if mode == "chip" { "cores of a chip".to_owned() } else { plural_of(mode) }
        ),
    };
    format!(
        "{}: {}{how}, {}",
        run.job.command,
        plural(run.ranks.len() as u64, "rank"),
        plural(run.events, "event")
    )
}

fn plural_of(mode: &str) -> String {
    if mode.ends_with('s') { format!("{mode}es") } else { format!("{mode}s") }
}

/// Where each rank's time went.
pub(crate) fn ranks(run: &Run, analysis: &Analysis) -> Table {
    let row = |(rank, shares): (usize, &Shares)| {
        let share = |ticks: u64| Cell::share(ticks as f64, shares.total() as f64);
        let time = |ticks: u64| Cell::seconds(run.seconds(ticks));
        vec![
            Cell::number(rank as u32),
            time(shares.compute),
            share(shares.compute),
            time(shares.transfer),
            share(shares.transfer),
            time(shares.wait),
            share(shares.wait),
            time(analysis.waits.caused[rank]),
        ]
    };
    Table {
        columns: vec![
            "rank",
            "computing",
            "share",
            "moving",
            "share",
            "waiting",
            "share",
            "others waited for it",
        ],
        rows: analysis.shares.iter().enumerate().map(row).collect(),
    }
}

/// Calls by function and call site, at most `most` rows.
pub(crate) fn profile(run: &Run, analysis: &Analysis, most: usize) -> Table {
    let all = Shares::sum(&analysis.shares).total() as f64;
    let time = |ticks: f64| Cell::seconds(ticks / run.job.ticks_per_second.max(1) as f64);
    let row = |place: &CallSite| {
        vec![
            Cell::text(run.name(place.function)),
            Cell::count(place.calls),
            Cell::bytes(place.bytes),
            time(place.ticks as f64),
            Cell::share(place.ticks as f64, all),
            time(place.mean()),
            time(place.longest as f64),
            time(place.waited as f64),
            Cell::text(run.name(place.site)),
        ]
    };
    Table {
        columns: vec!["function", "calls", "bytes", "total", "share", "mean", "longest", "waiting", "at"],
        rows: analysis.profile.iter().take(most).map(row).collect(),
    }
}

/// Regions of the program, all ranks together: how often, how long, and what the ranks did in them.
pub(crate) fn regions(run: &Run) -> Table {
    let mut sums: BTreeMap<u32, (u64, u64, u64, [u64; 3])> = BTreeMap::new();
    for rank in &run.ranks {
        for region in &rank.regions {
            let sum = sums.entry(region.number).or_default();
            let ticks = region.end - region.begin;
            (sum.0, sum.1, sum.2) = (sum.0 + 1, sum.1.saturating_add(ticks), sum.2.max(ticks));
            for (state, sum) in [State::Compute, State::Transfer, State::Wait].into_iter().zip(&mut sum.3) {
                *sum = sum.saturating_add(rank.ticks_in(state, region.begin, region.end));
            }
        }
    }
    let row = |(number, (times, ticks, longest, states)): (u32, (u64, u64, u64, [u64; 3]))| {
        let time = |ticks: u64| Cell::seconds(run.seconds(ticks));
        let mean = run.seconds(ticks) / times.max(1) as f64;
        let mut row =
            vec![Cell::number(number), Cell::count(times), time(ticks), Cell::seconds(mean), time(longest)];
        row.extend(states.map(time));
        row
    };
    Table {
        columns: vec!["region", "times", "total", "mean", "longest", "computing", "moving", "waiting"],
        rows: sums.into_iter().map(row).collect(),
    }
}

/// Wait states by pattern, with the `sites` worst call sites of each.
pub(crate) fn patterns(run: &Run, analysis: &Analysis, sites: usize) -> Table {
    let all = Shares::sum(&analysis.shares).total() as f64;
    let waiting: f64 = analysis.patterns.iter().map(|sum| sum.ticks as f64).sum();
    let row = |sum: &PatternSum| {
        let worst = sum.sites.iter().take(sites).map(|site| match site.site {
            0 => run.name(site.function).to_owned(),
            at => format!(
                "{} ({}) {}",
                run.name(site.function),
                run.name(at),
                percent(site.ticks as f64, sum.ticks as f64)
            ),
        });
        vec![
            Cell::text(sum.pattern.title(run)),
            Cell::seconds(run.seconds(sum.ticks)),
            Cell::share(sum.ticks as f64, all),
            Cell::share(sum.ticks as f64, waiting),
            Cell::count(sum.times),
            Cell::text(worst.collect::<Vec<_>>().join("; ")),
        ]
    };
    Table {
        columns: vec!["pattern", "waited", "of all time", "of all waiting", "times", "most of it in"],
        rows: analysis.patterns.iter().map(row).collect(),
    }
}

/// The longest groups of waits, at most `most`.
pub(crate) fn waits(run: &Run, analysis: &Analysis, most: usize) -> Table {
    let rows = analysis.waits.groups.iter().take(most).map(|group| {
        vec![
            Cell::number(group.rank),
            Cell::seconds(run.seconds(group.ticks)),
            Cell::count(group.times),
            Cell::text(group.cause.label(run)),
            Cell::optional(group.peer),
            Cell::text(run.name(group.function)),
            Cell::text(run.name(group.site)),
        ]
    });
    Table { columns: vec!["rank", "waited", "times", "why", "for rank", "in", "at"], rows: rows.collect() }
}

/// How messages travelled.
pub(crate) fn protocols(analysis: &Analysis) -> Table {
    let used =
        Protocol::ALL.iter().zip(analysis.traffic.protocols).filter(|(_, (messages, _))| *messages > 0);
    Table {
        columns: vec!["protocol", "messages", "bytes"],
        rows: used
            .map(|(protocol, (messages, sent))| {
                vec![Cell::text(protocol.label()), Cell::count(messages), Cell::bytes(sent)]
            })
            .collect(),
    }
}

/// What one-sided operations did.
pub(crate) fn accesses(analysis: &Analysis) -> Table {
    let used = AccessKind::ALL.iter().zip(analysis.accesses.kinds).filter(|(_, (times, _))| *times > 0);
    Table {
        columns: vec!["operation", "times", "bytes"],
        rows: used
            .map(|(kind, (times, moved))| {
                vec![Cell::text(kind.label()), Cell::count(times), Cell::bytes(moved)]
            })
            .collect(),
    }
}

/// How many epochs there were of each kind, and how long they lasted on all ranks together.
pub(crate) fn epochs(run: &Run) -> Table {
    let of = |kind: EpochKind| {
        let epochs = run.ranks.iter().flat_map(|rank| &rank.epochs).filter(move |epoch| epoch.kind == kind);
        let (times, ticks) =
            epochs.fold((0, 0u64), |sum, epoch| (sum.0 + 1, sum.1.saturating_add(epoch.end - epoch.begin)));
        (times > 0)
            .then(|| vec![Cell::text(kind.label()), Cell::count(times), Cell::seconds(run.seconds(ticks))])
    };
    Table {
        columns: vec!["epoch", "times", "altogether"],
        rows: EpochKind::ALL.into_iter().filter_map(of).collect(),
    }
}

/// How many of the links and of the servers are listed.
const LISTED: usize = 10;

/// The most used links of each network.
pub(crate) fn links(run: &Run, analysis: &Analysis) -> Table {
    let mut rows = Vec::new();
    if let (Some(chip), Some(used)) = (&run.chip, &analysis.chip) {
        let planes =
            [("data", &chip.plan.links, &used.links), ("control", &chip.plan.control_links, &used.control)];
        for (plane, ends, loads) in planes {
            for load in loads.iter().filter(|load| load.flits > 0).take(LISTED) {
                let ends = ends[load.link as usize];
                let name = |place| chip.plan.place_name(place);
                rows.push(vec![
                    Cell::text(plane),
                    Cell::text(format!("{} → {}", name(ends.from), name(ends.to))),
                    Cell::count(load.flits),
                    Cell::share(load.mean, 1.0),
                    Cell::share(load.peak, 1.0),
                ]);
            }
        }
    }
    Table { columns: vec!["network", "link", "flits", "busy", "at the most"], rows }
}

/// The most used servers: who, and how much of the run they worked.
pub(crate) fn servers(run: &Run, analysis: &Analysis) -> Table {
    let mut rows = Vec::new();
    if let (Some(chip), Some(used)) = (&run.chip, &analysis.chip) {
        for load in used.servers.iter().take(LISTED) {
            rows.push(vec![
                Cell::text(load.server.label()),
                Cell::text(chip.plan.place_name(load.place)),
                Cell::seconds(run.seconds(load.busy)),
                Cell::share(load.mean, 1.0),
                Cell::share(load.peak, 1.0),
            ]);
        }
    }
    Table { columns: vec!["server", "of", "worked", "busy", "at the most"], rows }
}
