//! The rounds of a measurement, and measurements one after the other: every contestant runs every program, turn and turn about. Who fails or takes too long says so in its cells, and holds nobody up.

use std::path::Path;
use std::time::Duration;

use super::contestant::{Contestant, Installation, Turn, VERSION};
use super::figure::{Figure, Figures};
use super::machine::{self, Machine};
use super::progress::Bar;
use super::run::{Entry, Missing, Run};
use super::runs::Runs;
use super::suite::Case;
use crate::runners::Runners;

/// What is to be measured.
pub struct Plan<'p> {
    pub cases: Vec<Case>,
    pub contestants: Vec<Contestant>,
    pub installations: Vec<Installation>,
    /// So many times all rounds.
    pub runs: u32,
    pub rounds: u32,
    pub quick: bool,
    pub limit: Duration,
    pub only: Option<&'p str>,
}

/// A contestant that does not run this program any more, and why.
struct Retired<'p> {
    contestant: &'p Contestant,
    case: &'p Case,
    short: String,
    long: String,
}

impl Plan<'_> {
    /// Compiles and runs everything. An interrupt ends it early, and what was measured until then counts.
    pub fn measure(&mut self, workshop: &Path, runners: &Runners) -> Result<Runs, String> {
        self.build(workshop)?;
        let mut bar = Bar::of(self.runs as usize * self.rounds as usize * self.pairs().len());
        let mut runs = Vec::new();
        for _ in 0..self.runs {
            runs.push(self.run(workshop, runners, &mut bar)?);
            if runners.interrupted() {
                break;
            }
        }
        bar.clear();
        Ok(Runs::of(runs))
    }

    /// All rounds once.
    fn run(&self, workshop: &Path, runners: &Runners, bar: &mut Bar) -> Result<Run, String> {
        let entries = self.contestants.iter().map(|contestant| Entry {
            name: contestant.name.clone(),
            ours: contestant.is_ours,
            version: self.installations[contestant.installation].version(),
        });
        let how = (self.rounds, self.quick);
        let mut run = Run::new(machine::now(), Machine::this(), how, entries.collect());
        let (quick, limit) = (self.quick, self.limit);
        let turn = Turn { workshop, quick, limit, runners, environment: &[], arguments: &[] };
        let mut figures = Figures::default();
        let mut retired: Vec<Retired<'_>> = Vec::new();
        let pairs = self.pairs();
        'rounds: for round in 1..=self.rounds {
            run.rounds = round;
            for (case, contestant) in &pairs {
                let is_out = |one: &Retired<'_>| {
                    std::ptr::eq(one.case, *case) && std::ptr::eq(one.contestant, *contestant)
                };
                if !retired.iter().any(is_out) {
                    bar.show(&format!("{}: {} on {} ranks", contestant.name, case.program.file, case.ranks));
                    let installation = &self.installations[contestant.installation];
                    let printed = contestant.run(installation, case, &turn);
                    // Whoever ran then was ended by that.
                    if runners.interrupted() {
                        break 'rounds;
                    }
                    let printed = printed?;
                    figures.add(&contestant.name, case.suite.name, case.ranks, printed.samples);
                    retired.extend(printed.failure.map(|failure| Retired {
                        contestant,
                        case,
                        short: failure.short,
                        long: failure.long,
                    }));
                }
                bar.advance();
            }
        }
        for Retired { contestant, case, short, long } in retired {
            let concerns = |figure: &Figure| {
                figure.ranks == case.ranks && case.prints.iter().any(|start| figure.name.starts_with(start))
            };
            figures.excuse(&contestant.name, &short, concerns);
            let (contestant, program) = (contestant.name.clone(), case.program.file.to_owned());
            run.failures.push(Missing { contestant, program, ranks: case.ranks, why: long });
        }
        run.figures = figures.into_wanted(|name| self.only.is_none_or(|text| name.contains(text)));
        Ok(run)
    }

    fn build(&mut self, workshop: &Path) -> Result<(), String> {
        for installation in &mut self.installations {
            installation.build(workshop, VERSION)?;
        }
        let taken: Vec<_> = self.pairs().iter().map(|(case, who)| (case.program, who.installation)).collect();
        for (program, installation) in taken {
            self.installations[installation].build(workshop, program)?;
        }
        Ok(())
    }

    /// Turns of one round.
    fn pairs(&self) -> Vec<(&Case, &Contestant)> {
        let all = self
            .cases
            .iter()
            .flat_map(|case| self.contestants.iter().enumerate().map(move |who| (case, who)));
        all.filter(|(case, (at, who))| who.takes(case, *at == 0))
            .map(|(case, (_, who))| (case, who))
            .collect()
    }
}
