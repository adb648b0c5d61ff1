//! Two runs side by side: what took more or less time after than before, by function and call site.
//!
//! Times are those of a rank on average, so that runs of different numbers of ranks compare; counts are those of all ranks.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::json;

use crate::analysis::{Analysis, Pattern, Shares};
use crate::page::assemble;
use crate::run::Run;
use crate::table::{Cell, Table};
use crate::text;
use crate::units::{percent, plural, seconds};

/// Rows of the table of call sites in a terminal.
const ROWS: usize = 30;
/// Below this share of the run a difference is not worth a sentence.
const WORTH_SAYING: f64 = 0.01;

const HTML: &str = include_str!("../page/compare.html");
const SCRIPTS: [&str; 3] =
    [include_str!("../page/data.js"), include_str!("../page/tables.js"), include_str!("../page/compare.js")];

/// Two runs and what was found out about them, the earlier one first.
pub struct Comparison<'a> {
    before: (&'a Run, &'a Analysis),
    after: (&'a Run, &'a Analysis),
    sites: Vec<Site>,
}

/// A function and call site in both runs.
struct Site {
    function: String,
    site: String,
    calls: [u64; 2],
    /// Seconds of a rank on average.
    seconds: [f64; 2],
}

impl Site {
    fn difference(&self) -> f64 {
        self.seconds[1] - self.seconds[0]
    }

    fn name(&self) -> String {
        match self.site.as_str() {
            "–" => self.function.clone(),
            site => format!("{} ({site})", self.function),
        }
    }
}

impl<'a> Comparison<'a> {
    /// Compares two runs.
    pub fn of(before: (&'a Run, &'a Analysis), after: (&'a Run, &'a Analysis)) -> Comparison<'a> {
        let mut sites: BTreeMap<(&str, String), ([u64; 2], [f64; 2])> = BTreeMap::new();
        for (side, (run, analysis)) in [before, after].into_iter().enumerate() {
            for place in &analysis.profile {
                let key = (run.name(place.function), without_folders(run.name(place.site)));
                let entry = sites.entry(key).or_default();
                entry.0[side] += place.calls;
                entry.1[side] += of_a_rank(run, place.ticks);
            }
        }
        let mut sites: Vec<Site> = sites
            .into_iter()
            .map(|((function, site), (calls, seconds))| Site {
                function: function.to_owned(),
                site,
                calls,
                seconds,
            })
            .collect();
        sites.sort_by(|a, b| b.difference().abs().total_cmp(&a.difference().abs()));
        Comparison { before, after, sites }
    }

    /// For a terminal: sentences, then tables.
    pub fn text(&self) -> String {
        let mut all =
            format!("before: {}\nafter:  {}\n\n", text::title(self.before.0), text::title(self.after.0));
        for sentence in self.sentences() {
            writeln!(all, "{sentence}").expect("a string grows");
        }
        let title = match self.sites.len() {
            0..=ROWS => "Calls by function and call site, largest difference first".to_owned(),
            many => format!("Calls by function and call site, the {ROWS} largest differences of {many}"),
        };
        for (title, table) in [
            ("Totals, times of a rank on average", self.totals()),
            (&title, self.calls(ROWS)),
            ("Wait states, largest difference first", self.patterns()),
        ] {
            if !table.rows.is_empty() {
                write!(all, "\n{title}\n{}", table.to_text()).expect("a string grows");
            }
        }
        all
    }

    /// One HTML file, which needs no network.
    pub fn page(&self) -> String {
        let bars = [self.before, self.after].map(|(run, analysis)| {
            let sum = Shares::sum(&analysis.shares);
            [sum.compute, sum.transfer, sum.wait].map(|ticks| of_a_rank(run, ticks))
        });
        let durations = [self.before.0, self.after.0].map(|run| run.seconds(run.duration));
        let data = json!({
            "titles": [text::title(self.before.0), text::title(self.after.0)],
            "durations": durations,
            "bars": bars,
            "sentences": self.sentences(),
            "totals": self.totals().json(),
            "calls": self.calls(usize::MAX).json(),
            "patterns": self.patterns().json(),
        });
        assemble(HTML, &SCRIPTS.concat(), "two runs compared", &data, "")
    }

    fn sentences(&self) -> Vec<String> {
        let [before, after] = [self.before.0, self.after.0].map(|run| run.seconds(run.duration));
        let more = if after < before { "less" } else { "more" };
        let mut all = vec![format!(
            "The run took {} before and {} after: {} {more} ({}).",
            seconds(before),
            seconds(after),
            seconds((after - before).abs()),
            percent((after - before).abs(), before)
        )];
        let ranks = [self.before.0, self.after.0].map(|run| run.ranks.len() as u64);
        if ranks[0] != ranks[1] {
            all.push(format!(
                "{} ran before, {} after. Times are those of a rank on average; counts are those of all ranks.",
                plural(ranks[0], "rank"),
                plural(ranks[1], "rank")
            ));
        }
        for (side, (run, _)) in [("before", self.before), ("after", self.after)] {
            if let Some((ranks, cores)) = run.crowded() {
                all.push(format!("The {ranks} ranks {side} shared {}.", plural(cores, "core")));
            }
            if run.dropped > 0 {
                all.push(format!("The trace {side} is not whole, so its sums are too small."));
            }
        }
        let worth = |site: &&Site| site.difference().abs() >= WORTH_SAYING * before.max(after);
        let saved = self.sites.iter().filter(worth).find(|site| site.difference() < 0.0);
        let added = self.sites.iter().filter(worth).find(|site| site.difference() > 0.0);
        for (what, more, site) in [("saved", "less", saved), ("added", "more", added)] {
            if let Some(site) = site {
                all.push(format!(
                    "Most time was {what} in {}: {} {more} for a rank.",
                    site.name(),
                    seconds(site.difference().abs())
                ));
            }
        }
        all
    }

    fn totals(&self) -> Table {
        let sums = [self.before, self.after].map(|(run, analysis)| (run, Shares::sum(&analysis.shares)));
        let time = |name: &str, of: &dyn Fn(&Run, &Shares) -> f64| {
            let [before, after] = [0, 1].map(|side: usize| of(sums[side].0, &sums[side].1));
            vec![
                Cell::text(name),
                Cell::seconds(before),
                Cell::seconds(after),
                Cell::difference(before, after),
                Cell::change(before, after),
            ]
        };
        let number = |name: &str, show: fn(u64) -> Cell, of: &dyn Fn(&Run, &Analysis) -> u64| {
            let [before, after] = [self.before, self.after].map(|(run, analysis)| of(run, analysis));
            let change = Cell::change(before as f64, after as f64);
            vec![Cell::text(name), show(before), show(after), Cell::blank(), change]
        };
        Table {
            columns: vec!["", "before", "after", "difference", "change"],
            rows: vec![
                time("run", &|run, _| run.seconds(run.duration)),
                time("computing", &|run, sum| of_a_rank(run, sum.compute)),
                time("moving messages", &|run, sum| of_a_rank(run, sum.transfer)),
                time("waiting", &|run, sum| of_a_rank(run, sum.wait)),
                number("ranks", Cell::count, &|run, _| run.ranks.len() as u64),
                number("calls", Cell::count, &|_, analysis| {
                    analysis.profile.iter().map(|place| place.calls).sum()
                }),
                number("messages", Cell::count, &|_, analysis| analysis.traffic.total_messages()),
                number("bytes of messages", Cell::bytes, &|_, analysis| analysis.traffic.total_bytes()),
            ],
        }
    }

    fn calls(&self, most: usize) -> Table {
        let row = |site: &Site| {
            let [before, after] = site.seconds;
            vec![
                Cell::text(&*site.function),
                Cell::count(site.calls[0]),
                Cell::count(site.calls[1]),
                Cell::seconds(before),
                Cell::seconds(after),
                Cell::difference(before, after),
                Cell::change(before, after),
                Cell::text(&*site.site),
            ]
        };
        Table {
            columns: vec![
                "function",
                "calls before",
                "after",
                "time before",
                "after",
                "difference",
                "change",
                "at",
            ],
            rows: self.sites.iter().take(most).map(row).collect(),
        }
    }

    fn patterns(&self) -> Table {
        let mut sums: BTreeMap<Pattern, [f64; 2]> = BTreeMap::new();
        for (side, (run, analysis)) in [self.before, self.after].into_iter().enumerate() {
            for sum in &analysis.patterns {
                sums.entry(sum.pattern).or_default()[side] += of_a_rank(run, sum.ticks);
            }
        }
        // Where ranks share cores, it is not told what they wait for.
        let names = [self.before.0, self.after.0].into_iter().find(|run| run.crowded().is_some());
        let names = names.unwrap_or(self.before.0);
        let mut sums: Vec<(Pattern, [f64; 2])> = sums.into_iter().collect();
        sums.sort_by(|(_, a), (_, b)| (b[1] - b[0]).abs().total_cmp(&(a[1] - a[0]).abs()));
        let row = |(pattern, [before, after]): (Pattern, [f64; 2])| {
            vec![
                Cell::text(pattern.title(names)),
                Cell::seconds(before),
                Cell::seconds(after),
                Cell::difference(before, after),
                Cell::change(before, after),
            ]
        };
        Table {
            columns: vec!["pattern", "before", "after", "difference", "change"],
            rows: sums.into_iter().map(row).collect(),
        }
    }
}

/// Seconds of a rank on average, of ticks of all ranks.
fn of_a_rank(run: &Run, ticks: u64) -> f64 {
    run.seconds(ticks) / run.ranks.len().max(1) as f64
}

/// A call site with its file's name alone: two runs may have been started in different folders.
fn without_folders(site: &str) -> String {
    let (function, place) =
        site.rsplit_once(" at ").map_or(("", site), |(function, place)| (function, place));
    let file = place.rsplit_once('/').map_or(place, |(_, file)| file);
    if function.is_empty() { file.to_owned() } else { format!("{function} at {file}") }
}
