//! `corelace bench --tune`: measures on this machine where the ways of doing a collective cross, and writes that as a profile.
//!
//! Each number of a profile has a recipe that says what it separates (`recipe`); a search asks for sizes around the crossing (`search`). Both ways of a size are run in turn, several
//! times, and of each the best counts: what else happens on the machine makes a run slower and never quicker.

mod recipe;
mod search;

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::contestant::{Contestant, Installation, Turn};
use super::machine::{self, Machine};
use super::progress::Bar;
use super::suite::CROSSING;
use crate::runners::Runners;
use cli::profile::{Origin, Profile};
use recipe::{Axis, Number, RECIPES, Recipe};
use search::{Decision, LEAST_NOISE, Probe};

/// How to tune.
pub struct Wish<'w> {
    /// How often both ways of a size are run.
    pub rounds: u32,
    pub quick: bool,
    /// When to end: what has not been measured then stays as it is built in.
    pub limit: Duration,
    /// Only numbers with this in their name.
    pub only: Option<&'w str>,
    /// Where the profile goes.
    pub output: Option<&'w Path>,
}

/// What came of one number.
struct Outcome {
    recipe: Recipe,
    /// Members that it was measured with.
    members: Vec<u32>,
    /// Why it was not.
    result: Result<Decision, String>,
}

/// No program of a probe takes as long on a machine that works.
const LONGEST_PROBE: Duration = Duration::from_secs(60);

/// Measures, says for each number what was found, and writes the profile.
pub fn main(wish: &Wish<'_>) -> Result<u8, String> {
    let recipes: Vec<Recipe> = RECIPES
        .into_iter()
        .filter(|recipe| wish.only.is_none_or(|text| recipe.number.name().contains(text)))
        .collect();
    if recipes.is_empty() {
        let known: Vec<&str> = RECIPES.iter().map(|recipe| recipe.number.name()).collect();
        let only = wish.only.unwrap_or_default();
        return Err(format!("--only is \"{only}\", expected a part of one of: {}", known.join(", ")));
    }
    let prefix = cli::prefix::locate()?;
    let runners = Runners::new()?;
    let workshop = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let mut installation = Installation::ours(prefix.root());
    installation.build(workshop.path(), CROSSING)?;
    let machine = Machine::this();
    let bench =
        Bench { installation, workshop: workshop.path(), runners: &runners, wish, begin: Instant::now() };
    let mut bar = Bar::of(recipes.len());
    let mut outcomes = Vec::new();
    for recipe in recipes {
        bar.show(recipe.number.name());
        outcomes.push(bench.outcome(recipe, machine.cores as u32));
        if let Some(status) = runners.status_if_interrupted() {
            bar.clear();
            return Ok(status);
        }
        bar.advance();
    }
    bar.clear();
    cli::say(&text(&machine, &outcomes))?;
    let profile = profile(&outcomes);
    if let Some(file) = wish.output {
        let origin = Origin { machine: machine.text(), cores: machine.cores, date: machine::now() };
        let remark = |name: &str| remark(&outcomes, name);
        std::fs::write(file, profile.text(&origin, remark))
            .map_err(|error| format!("--output is \"{}\": {error}", file.display()))?;
        cli::say(&format!("{}: mpirun --profile {0}, or {}={0}\n", file.display(), cli::profile::VARIABLE))?;
    }
    Ok(0)
}

/// What probes are made with.
struct Bench<'b> {
    installation: Installation,
    workshop: &'b Path,
    runners: &'b Runners,
    wish: &'b Wish<'b>,
    begin: Instant,
}

impl Bench<'_> {
    fn outcome(&self, recipe: Recipe, cores: u32) -> Outcome {
        let built_in = recipe.number.built_in();
        let (mut found, mut probes, mut members) = (Vec::new(), Vec::new(), Vec::new());
        let mut failure = None;
        // Along members there is one search; along bytes one for each number of members.
        let sizes = match recipe.axis {
            Axis::Members(_) => vec![0],
            _ => recipe.sizes(cores),
        };
        for size in sizes {
            for call in recipe.calls {
                let range = match recipe.axis {
                    Axis::Bytes(least, most) | Axis::Together(least, most) => (least, most),
                    Axis::Members(_) => (2, u64::from(4 * cores).max(8)),
                };
                let mut probe =
                    |at: u64| self.probe(&recipe, call, size, at).map_err(|why| failure = Some(why)).ok();
                if let Some((crossing, probed)) = search::crossing(built_in, range, &mut probe) {
                    found.push(crossing);
                    probes.extend(probed);
                    members.push(size);
                }
            }
        }
        members.dedup();
        let result = match (found.is_empty(), failure) {
            (true, Some(why)) => Err(why),
            _ => Ok(search::decide(built_in, &found, &probes)),
        };
        Outcome { recipe, members, result }
    }

    /// Both ways of one size in turn, the best of all rounds of each.
    fn probe(&self, recipe: &Recipe, call: &str, members: u32, at: u64) -> Result<Probe, String> {
        let (members, bytes) = match recipe.axis {
            Axis::Bytes(..) => (members, at),
            Axis::Together(..) => (members, at / u64::from(members)),
            Axis::Members(bytes) => (at as u32, bytes),
        };
        // Programs take doubles.
        let bytes = if bytes == 0 { 0 } else { (bytes / 8 * 8).max(8) };
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..self.wish.rounds {
            for (above, times) in times.iter_mut().enumerate() {
                times.push(self.run(recipe, call, (members, bytes), above == 1)?);
            }
        }
        let [below, above] = times.map(best);
        Ok(Probe { at, below: below.0, above: above.0, noise: below.1.max(above.1) })
    }

    fn run(
        &self,
        recipe: &Recipe,
        call: &str,
        (members, bytes): (u32, u64),
        above: bool,
    ) -> Result<f64, String> {
        let left = self.wish.limit.checked_sub(self.begin.elapsed()).filter(|left| !left.is_zero());
        let left = left.ok_or("no time was left (--limit)")?;
        let (name, value) = recipe.environment(call, above);
        let turn = Turn {
            workshop: self.workshop,
            quick: self.wish.quick,
            limit: left.min(LONGEST_PROBE),
            runners: self.runners,
            environment: &[(name, value.into())],
            arguments: &[call.to_owned(), bytes.to_string()],
        };
        let contestant = Contestant::ours(0, recipe.ranks);
        let printed = contestant.run_program(&self.installation, CROSSING, members, &turn)?;
        match (printed.samples.first(), printed.failure) {
            (_, Some(failure)) => Err(failure.long),
            (Some(sample), None) => Ok(sample.value),
            (None, None) => Err("the program printed nothing".into()),
        }
    }
}

/// The best of some times, and by what share the next best is worse: how well the best is known.
fn best(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    let best = times.first().copied().unwrap_or(f64::NAN);
    (best, times.get(1).map_or(1.0, |next| next / best - 1.0))
}

/// What is to be set: numbers whose other value gains more than noise.
fn profile(outcomes: &[Outcome]) -> Profile {
    let mut profile = Profile::default();
    for outcome in outcomes {
        let Ok(decision) = outcome.result else { continue };
        match outcome.recipe.number {
            _ if decision.value == outcome.recipe.number.built_in() => {}
            Number::Bound(bound) => profile.bounds.push((bound, decision.value)),
            Number::Limit(name) => profile.limits.push((name, decision.value)),
        }
    }
    profile
}

/// What a profile says beside a value.
fn remark(outcomes: &[Outcome], name: &str) -> String {
    let outcome = outcomes.iter().find(|outcome| outcome.recipe.number.name() == name);
    match outcome.map(|outcome| (outcome.recipe.number.built_in(), &outcome.result)) {
        Some((built_in, Ok(decision))) => {
            format!("built in {built_in}; {:.2} times as quick between", decision.gain)
        }
        _ => String::new(),
    }
}

fn text(machine: &Machine, outcomes: &[Outcome]) -> String {
    let mut out = format!(
        "{}\nA bound keeps its built-in value unless another gains more than the noise: what the best times of the same differ by, {:.0} % at least.\n\n",
        machine.text(),
        100.0 * LEAST_NOISE
    );
    let width = outcomes.iter().map(|outcome| outcome.recipe.number.name().len()).max().unwrap_or(0).max(5);
    _ = writeln!(
        out,
        "{:<width$}  {:>8}  {:>9}  {:>9}  {:>5}  {:>5}",
        "bound", "members", "built in", "measured", "gain", "noise"
    );
    for Outcome { recipe, members, result } in outcomes {
        let members: Vec<String> = members.iter().map(|size| size.to_string()).collect();
        let members = match recipe.axis {
            Axis::Members(_) => "all".to_owned(),
            _ => members.join(" "),
        };
        let (name, built_in) = (recipe.number.name(), recipe.number.built_in());
        _ = match result {
            Ok(Decision { value, gain, noise }) => {
                let measured = if *value == built_in { "kept".to_owned() } else { value.to_string() };
                writeln!(
                    out,
                    "{name:<width$}  {members:>8}  {built_in:>9}  {measured:>9}  {gain:>5.2}  {:>3.0} %",
                    100.0 * noise
                )
            }
            Err(why) => writeln!(out, "{name:<width$}  {members:>8}  {built_in:>9}  not measured: {why}"),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    use runtime::Bound;

    fn outcome(bound: Bound, result: Result<Decision, String>) -> Outcome {
        let recipe = RECIPES.into_iter().find(|recipe| recipe.number == Number::Bound(bound)).unwrap();
        Outcome { recipe, members: vec![2, 8], result }
    }

    #[test]
    fn a_profile_has_what_gains_and_nothing_else() {
        let decision = |value, gain| Ok(Decision { value, gain, noise: 0.05 });
        let outcomes = [
            outcome(Bound::BoardBcastRoomBytes, decision(8192, 1.4)),
            outcome(Bound::BoardBlockRoomBytes, decision(16_384, 1.01)),
            outcome(Bound::GatherTreeBytes, Err("no time was left (--limit)".into())),
        ];
        assert_eq!(profile(&outcomes).bounds, [(Bound::BoardBcastRoomBytes, 8192)]);
        assert_eq!(
            remark(&outcomes, "board.bcast-room-bytes"),
            "built in 65536; 1.40 times as quick between"
        );
        let text = text(&Machine::default(), &outcomes);
        for part in
            ["65536       8192   1.40    5 %", "16384       kept   1.01", "not measured: no time was left"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn the_best_time_is_as_well_known_as_the_next_best_is_near() {
        let (time, noise) = best(vec![3.0, 2.2, 2.0, 9.0]);
        assert!(time == 2.0 && (noise - 0.1).abs() < 1e-9);
        assert_eq!(best(vec![2.0]), (2.0, 1.0));
    }
}
