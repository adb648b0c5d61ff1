//! The report for a terminal. The page shows the same tables: both take their cells from here.

use std::fmt::Write;

use trace::{AccessKind, EpochKind, Protocol};

use crate::analysis::{Analysis, Cause, Shares};
use crate::run::Run;
use crate::units::{bytes, count, percent, plural, seconds};

/// A table: its columns, and rows of cells.
pub(crate) struct Table {
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Sentences, then tables.
pub fn text(run: &Run, analysis: &Analysis) -> String {
    let mut text = format!("{}\n\n", title(run));
    for sentence in crate::sentences(run, analysis) {
        writeln!(text, "{sentence}").expect("a string grows");
    }
    for (title, table) in [
        ("Time of each rank", ranks(run, analysis)),
        ("Waits, longest first", waits(run, analysis)),
        ("Messages by protocol", protocols(analysis)),
        ("One-sided operations", accesses(analysis)),
        ("Epochs of windows", epochs(run)),
        ("Links of the chip, most used first", links(run, analysis)),
        ("Servers of the chip, most used first", servers(run, analysis)),
    ] {
        if !table.rows.is_empty() {
            write!(text, "\n{title}\n{}", table.text()).expect("a string grows");
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
        let share = |ticks: u64| percent(ticks as f64, shares.total() as f64);
        let time = |ticks: u64| seconds(run.seconds(ticks));
        vec![
            rank.to_string(),
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
        columns: vec!["rank", "computing", "", "moving", "", "waiting", "", "others waited for it"],
        rows: analysis.shares.iter().enumerate().map(row).collect(),
    }
}

/// The longest groups of waits.
pub(crate) fn waits(run: &Run, analysis: &Analysis) -> Table {
    let rows = analysis.waits.groups.iter().take(20).map(|group| {
        let why = match group.cause {
            Cause::LateSender => "late sender",
            Cause::LateReceiver => "late receiver",
            Cause::LateToArrive => "came last",
            Cause::Locked => "had the lock",
            Cause::LateToPost => "late to post",
            Cause::LateToComplete => "late to complete",
            Cause::OnItsWay => "on its way",
            Cause::Unknown => "not recorded",
        };
        vec![
            group.rank.to_string(),
            seconds(run.seconds(group.ticks)),
            count(group.times),
            why.to_owned(),
            group.peer.map_or("–".to_owned(), |peer| peer.to_string()),
            run.name(group.function).to_owned(),
            run.name(group.site).to_owned(),
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
                vec![protocol.label().to_owned(), count(messages), bytes(sent)]
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
            .map(|(kind, (times, moved))| vec![kind.label().to_owned(), count(times), bytes(moved)])
            .collect(),
    }
}

/// How many epochs there were of each kind, and how long they lasted on all ranks together.
pub(crate) fn epochs(run: &Run) -> Table {
    let of = |kind: EpochKind| {
        let epochs = run.ranks.iter().flat_map(|rank| &rank.epochs).filter(move |epoch| epoch.kind == kind);
        let (times, ticks) =
            epochs.fold((0, 0u64), |sum, epoch| (sum.0 + 1, sum.1.saturating_add(epoch.end - epoch.begin)));
        (times > 0).then(|| vec![kind.label().to_owned(), count(times), seconds(run.seconds(ticks))])
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
                    plane.to_owned(),
                    format!("{} → {}", name(ends.from), name(ends.to)),
                    count(load.flits),
                    percent(load.mean, 1.0),
                    percent(load.peak, 1.0),
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
                load.server.label().to_owned(),
                chip.plan.place_name(load.place).to_owned(),
                seconds(run.seconds(load.busy)),
                percent(load.mean, 1.0),
                percent(load.peak, 1.0),
            ]);
        }
    }
    Table { columns: vec!["server", "of", "worked", "busy", "at the most"], rows }
}

impl Table {
    fn text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].as_str()).chain([self.columns[column]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let is_numeric = |column: usize| {
            self.rows
                .iter()
                .all(|row| row[column].starts_with(|first: char| first.is_ascii_digit() || first == '–'))
        };
        let numeric: Vec<bool> = (0..self.columns.len()).map(is_numeric).collect();
        let header: Vec<String> = self.columns.iter().map(|name| (*name).to_owned()).collect();
        let mut text = String::new();
        for row in std::iter::once(&header).chain(&self.rows) {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let padding = " ".repeat(widths[column] - cell.chars().count());
                line += "  ";
                line += &if numeric[column] { padding + cell } else { cell.clone() + &padding };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}
