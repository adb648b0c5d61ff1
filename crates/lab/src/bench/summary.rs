//! What runs add up to: in how many lines and runs we are ahead, where not, which targets are met, and what could not be measured.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::allowed;
use super::figure::Figure;
use super::paired::{Paired, paired};
use super::run::{Missing, Run};
use super::runs::Runs;
use super::table::{Standing, standing};
use super::targets::{self, Outcome};

/// The last lines of a table.
pub fn text(runs: &Runs) -> String {
    match runs.all() {
        [run] => of_one(run),
        several => of_several(several),
    }
}

/// Whether a target is missed in any of the runs.
pub fn misses(runs: &Runs) -> bool {
    let mut verdicts = runs
        .all()
        .iter()
        .flat_map(|run| run.figures.iter().flat_map(|figure| targets::verdicts(run, figure)));
    verdicts.any(|verdict| verdict.outcome == Outcome::Missed)
}

/// Lines ahead and behind, targets, and what could not be measured.
fn of_one(run: &Run) -> String {
    let mut text = String::new();
    for ours in run.ours() {
        let standings: Vec<(&Figure, Standing)> =
            run.figures.iter().filter_map(|figure| Some((figure, standing(run, figure, ours)?))).collect();
        if standings.is_empty() {
            continue;
        }
        let behind: Vec<&(&Figure, Standing)> = standings.iter().filter(|(_, at)| !at.is_ahead()).collect();
        let ahead = standings.len() - behind.len();
        let by_medians = standings.iter().filter(|(_, at)| at.is_ahead_by_medians()).count();
        let has_medians = run.rounds > 1;
        let medians = if has_medians { format!(", in {by_medians} by the medians") } else { String::new() };
        _ = writeln!(text, "{ours}: ahead in {ahead} of {} lines{medians}", standings.len());
        for (figure, at) in behind {
            let median =
                if has_medians { format!(", by the medians {:.2}", at.by_medians) } else { String::new() };
            let limits = beside_limits(&[beside_limit(run, figure, ours)]);
            _ = writeln!(text, "  behind: {} ({}{median}){limits}", figure.title(), at.text());
        }
    }
    let verdicts: Vec<_> = run
        .figures
        .iter()
        .flat_map(|figure| targets::verdicts(run, figure).map(move |verdict| (figure, verdict)))
        .filter(|(_, verdict)| verdict.outcome != Outcome::Unknown)
        .collect();
    if !verdicts.is_empty() {
        let met = verdicts.iter().filter(|(_, verdict)| verdict.outcome == Outcome::Met).count();
        _ = writeln!(text, "targets: {met} of {} met", verdicts.len());
        for (figure, verdict) in verdicts.iter().filter(|(_, verdict)| verdict.outcome == Outcome::Missed) {
            _ = writeln!(text, "  missed: {}: {}{}", figure.title(), verdict.goal, asking(&[verdict.asks]));
        }
    }
    text + &not_measured(std::slice::from_ref(run))
}

/// The same of several runs: in how many of those that have a line or a target we are ahead, or meet it.
fn of_several(runs: &[Run]) -> String {
    let when: Vec<String> = runs
        .iter()
        .map(|run| format!("{} in {} round{}", run.date, run.rounds, if run.rounds == 1 { "" } else { "s" }))
        .collect();
    let mut text = format!("{} runs: {}; the tables are those of the first\n", runs.len(), when.join(", "));
    let has_medians = runs.iter().any(|run| run.rounds > 1);
    for ours in runs[0].ours() {
        let lines = lines(runs, ours);
        if lines.is_empty() {
            continue;
        }
        _ = writeln!(text, "{ours}: {} lines", lines.len());
        _ = writeln!(text, "  ahead in {}", tally(lines.iter().map(Line::ahead)));
        if has_medians {
            _ = writeln!(text, "  by the medians in {}", tally(lines.iter().map(Line::ahead_by_medians)));
            let ahead = lines.iter().filter(|line| line.paired.is_some_and(|at| at.ratio >= 1.0)).count();
            _ = writeln!(text, "  round by round, by the median of all: ahead in {ahead} of {}", lines.len());
        }
        for line in lines.iter().filter(|line| !line.is_always_ahead()) {
            let ratios = line.ratios(&Standing::text);
            _ = write!(
                text,
                "  behind: {}, ahead in {} ({ratios})",
                line.figure.title(),
                line.ahead().text()
            );
            if has_medians {
                let ratios = line.ratios(&|at| format!("{:.2}", at.by_medians));
                _ = write!(text, ", by the medians in {} ({ratios})", line.ahead_by_medians().text());
                _ = line.paired.map_or(Ok(()), |at| write!(text, ", {}", at.text()));
            }
            let limits: Vec<Option<f64>> =
                runs.iter().map(|run| beside_limit(run, run.same(line.figure)?, ours)).collect();
            _ = writeln!(text, "{}", beside_limits(&limits));
        }
    }
    let goals = goals(runs);
    if !goals.is_empty() {
        _ = writeln!(text, "targets: {}", goals.len());
        _ = writeln!(text, "  met in {}", tally(goals.iter().map(|goal| goal.met)));
        for Goal { title, goal, met, asks } in &goals {
            let word = if met.is_all() { "met" } else { "missed" };
            let asking = if met.is_all() { String::new() } else { asking(asks) };
            _ = writeln!(text, "  {word}: {title}: {goal}, met in {}{asking}", met.text());
        }
    }
    text + &not_measured(runs)
}

/// How many times longer a line of our processes takes than what the machine allows.
fn beside_limit(run: &Run, figure: &Figure, ours: &str) -> Option<f64> {
    let is_of_processes = ours == targets::PROCESS;
    is_of_processes.then_some(figure.best(ours)? / allowed::limit(run, figure)?)
}

/// The same of all runs, in words.
fn beside_limits(ratios: &[Option<f64>]) -> String {
    allowed::each(ratios).map_or(String::new(), |each| format!(", at {each} x what the machine allows"))
}

/// What a target asks for, in words.
fn asking(ratios: &[Option<f64>]) -> String {
    allowed::each(ratios)
        .map_or(String::new(), |each| format!(", which asks for {each} x what the machine allows"))
}

/// In how many of so many runs something is so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Share {
    count: usize,
    of: usize,
}

impl Share {
    fn text(self) -> String {
        format!("{} of {}", self.count, self.of)
    }

    fn is_all(self) -> bool {
        self.count == self.of
    }
}

/// How often there is each share, the highest first.
fn tally(shares: impl Iterator<Item = Share>) -> String {
    let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for Share { count, of } in shares {
        *counts.entry((of, count)).or_default() += 1;
    }
    let each = counts.iter().rev().enumerate().map(|(at, ((of, count), times))| {
        let runs = if at == 0 { " runs" } else { "" };
        format!("{count} of {of}{runs}: {times}")
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A line of tables, and where one contestant of ours stands in it in each run; `None` where it is not compared.
struct Line<'r> {
    figure: &'r Figure,
    standings: Vec<Option<Standing>>,
    /// Where it stands in the rounds of all runs.
    paired: Option<Paired>,
}

impl Line<'_> {
    fn ahead(&self) -> Share {
        self.share(Standing::is_ahead)
    }

    fn ahead_by_medians(&self) -> Share {
        self.share(Standing::is_ahead_by_medians)
    }

    /// In all runs that compare it, by the best of rounds and by the medians.
    fn is_always_ahead(&self) -> bool {
        self.ahead().is_all() && self.ahead_by_medians().is_all()
    }

    fn share(&self, is_so: impl Fn(&Standing) -> bool) -> Share {
        let known = self.standings.iter().flatten();
        Share { count: known.clone().filter(|at| is_so(at)).count(), of: known.count() }
    }

    /// One for each run.
    fn ratios(&self, text: &dyn Fn(&Standing) -> String) -> String {
        let each = self.standings.iter().map(|at| at.as_ref().map_or("-".into(), text));
        each.collect::<Vec<String>>().join(", ")
    }
}

/// The lines in which any of the runs compares this contestant of ours, in the order in which they first come.
fn lines<'r>(runs: &'r [Run], ours: &str) -> Vec<Line<'r>> {
    let mut lines: Vec<Line<'r>> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        for figure in &run.figures {
            let Some(standing) = standing(run, figure, ours) else { continue };
            let known = lines.iter().position(|line| line.figure.is_same(figure)).unwrap_or_else(|| {
                lines.push(Line {
                    figure,
                    standings: vec![None; runs.len()],
                    paired: paired(runs, figure, ours),
                });
                lines.len() - 1
            });
            lines[known].standings[at] = Some(standing);
        }
    }
    lines
}

/// A target, and in how many of the runs that can tell it is met.
struct Goal {
    title: String,
    goal: String,
    met: Share,
    /// In each run that can tell.
    asks: Vec<Option<f64>>,
}

fn goals(runs: &[Run]) -> Vec<Goal> {
    let mut goals: Vec<Goal> = Vec::new();
    let verdicts = runs.iter().flat_map(|run| {
        let of_figure = move |figure| targets::verdicts(run, figure).map(move |verdict| (figure, verdict));
        run.figures.iter().flat_map(of_figure)
    });
    for (figure, verdict) in verdicts.filter(|(_, verdict)| verdict.outcome != Outcome::Unknown) {
        let (title, goal) = (figure.title(), verdict.goal);
        let known = goals.iter().position(|known| (&known.title, &known.goal) == (&title, &goal));
        let known = known.unwrap_or_else(|| {
            goals.push(Goal { title, goal, met: Share { count: 0, of: 0 }, asks: Vec::new() });
            goals.len() - 1
        });
        goals[known].asks.push(verdict.asks);
        goals[known].met.of += 1;
        goals[known].met.count += usize::from(verdict.outcome == Outcome::Met);
    }
    goals
}

/// Who could not run what, and in which runs unless in all.
fn not_measured(runs: &[Run]) -> String {
    let mut known: Vec<(&Missing, Vec<usize>)> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        for missing in &run.failures {
            match known.iter_mut().find(|(known, _)| *known == missing) {
                Some((_, runs)) => runs.push(at + 1),
                None => known.push((missing, vec![at + 1])),
            }
        }
    }
    let mut text = String::new();
    for (Missing { contestant, program, ranks, why }, which) in known {
        let numbers: Vec<String> = which.iter().map(usize::to_string).collect();
        let which = match &numbers[..] {
            all if all.len() == runs.len() => String::new(),
            [one] => format!(" in run {one}"),
            several => format!(" in runs {}", several.join(", ")),
        };
        _ = writeln!(text, "not measured{which}: {contestant}, {program} on {ranks} ranks: {why}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::figure::tests::figure;
    use super::super::run::tests::run;
    use super::*;

    const OURS: &str = "corelace process";

    /// A line of 2 KiB: samples of ours, and of each of the others.
    fn line(ours: &[f64], openmpi: &[f64], mpich: &[f64]) -> Figure {
        figure("latency", 2048, 2, &[(OURS, ours), ("openmpi", openmpi), ("mpich", mpich)])
    }

    /// A line of 8 KiB, which has a target: 1.3 times the best other.
    fn aimed(ours: f64, theirs: f64) -> Figure {
        figure("latency", 8192, 2, &[(OURS, &[ours]), ("openmpi", &[theirs])])
    }

    fn several(runs: Vec<Run>) -> String {
        text(&Runs::of(runs))
    }

    fn missing(why: &str) -> Missing {
        Missing { contestant: "mpich".into(), program: "pairs.c".into(), ranks: 2, why: why.into() }
    }

    #[test]
    fn a_round_that_was_lucky_puts_another_ahead_but_not_by_the_medians() {
        let run = run(vec![line(&[1.0, 1.1, 1.2], &[0.3, 1.6, 1.7], &[2.0, 2.1, 2.2])]);
        let expected = "corelace process: ahead in 0 of 1 lines, in 1 by the medians\n  behind: latency 2 KiB on 2 ranks (0.30~, by the medians 1.45)\n";
        assert_eq!(text(&Runs::of(vec![run])), expected);
    }

    #[test]
    fn the_summary_of_one_run_counts_lines_and_lists_those_behind_and_missed_and_not_measured() {
        let mut run = run(vec![line(&[0.5], &[1.0], &[1.0]), aimed(2.0, 1.0)]);
        run.failures.push(missing("exit status: 1: no cores"));
        let expected = "corelace process: ahead in 1 of 2 lines, in 1 by the medians\n  behind: latency 8 KiB on 2 ranks (0.50, by the medians 0.50)\n\
             targets: 0 of 1 met\n  missed: latency 8 KiB on 2 ranks: process 1.3 x best other\n\
             not measured: mpich, pairs.c on 2 ranks: exit status: 1: no cores\n";
        let runs = Runs::of(vec![run]);
        assert_eq!(text(&runs), expected);
        assert!(misses(&runs));
    }

    #[test]
    fn of_several_runs_each_line_has_the_number_of_those_in_which_it_is_ahead_and_its_ratios_unless_in_all() {
        let of = |theirs: &[f64]| run(vec![line(&[1.0, 1.1, 1.2], theirs, &[4.0]), aimed(1.0, 2.0)]);
        let text = several(vec![of(&[2.0, 2.2, 2.4]), of(&[0.5, 2.2, 2.4]), of(&[0.8, 0.88, 0.9])]);
        let when = "2026-01-02 03:04 UTC in 3 rounds";
        let expected = format!(
            "3 runs: {when}, {when}, {when}; the tables are those of the first\n\
             corelace process: 2 lines\n  ahead in 3 of 3 runs: 1, 1 of 3: 1\n  by the medians in 3 of 3 runs: 1, 2 of 3: 1\n  \
             round by round, by the median of all: ahead in 2 of 2\n  \
             behind: latency 2 KiB on 2 ranks, ahead in 1 of 3 (2.00, 0.50~, 0.80), by the medians in 2 of 3 (2.00, 2.00, 0.80), round by round 2.00, ahead in 5 of 9\n\
             targets: 1\n  met in 3 of 3 runs: 1\n  met: latency 8 KiB on 2 ranks: process 1.3 x best other, met in 3 of 3\n"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn a_line_that_only_a_lucky_round_puts_ahead_in_all_runs_is_listed_too() {
        let of = |theirs: f64| run(vec![line(&[1.0, 3.0, 3.1], &[2.0, theirs, 2.2], &[9.0])]);
        let text = several(vec![of(2.1), of(2.1)]);
        assert!(text.contains("  ahead in 2 of 2 runs: 1\n  by the medians in 0 of 2 runs: 1\n"), "{text}");
        assert!(
            text.contains("ahead in 2 of 2 (2.00~, 2.00~), by the medians in 0 of 2 (0.70, 0.70)"),
            "{text}"
        );
    }

    #[test]
    fn what_is_behind_or_missed_is_held_against_what_the_machine_allows() {
        let limit = figure("limit-two-copies", 8192, 1, &[(OURS, &[1.0])]);
        let one = run(vec![limit, aimed(1.25, 1.17)]);
        let text = several(vec![one.clone(), run(vec![aimed(1.25, 1.17)])]);
        let behind = "behind: latency 8 KiB on 2 ranks, ahead in 0 of 2 (0.94, 0.94), by the medians in 0 of 2 (0.94, 0.94), round by round 0.94, ahead in 0 of 2, at 1.25, - x what the machine allows\n";
        let missed = "missed: latency 8 KiB on 2 ranks: process 1.3 x best other, met in 0 of 2, which asks for 0.90, - x what the machine allows\n";
        assert!(text.contains(behind) && text.contains(missed), "{text}");
        let text = of_one(&one);
        let behind = "behind: latency 8 KiB on 2 ranks (0.94, by the medians 0.94), at 1.25 x what the machine allows\n";
        let missed = "missed: latency 8 KiB on 2 ranks: process 1.3 x best other, which asks for 0.90 x what the machine allows\n";
        assert!(text.contains(behind) && text.contains(missed), "{text}");
    }

    #[test]
    fn runs_that_lack_a_line_are_not_counted_for_it() {
        let (behind, other) = (run(vec![line(&[2.0], &[1.0], &[1.0])]), run(vec![aimed(1.0, 2.0)]));
        let text = several(vec![behind.clone(), other, behind]);
        assert!(text.contains("corelace process: 2 lines\n  ahead in 0 of 2 runs: 1, 1 of 1: 1\n"), "{text}");
        assert!(text.contains("latency 2 KiB on 2 ranks, ahead in 0 of 2 (0.50, -, 0.50)"), "{text}");
        assert!(!text.contains("behind: latency 8 KiB"), "{text}");
    }

    #[test]
    fn runs_of_one_round_have_no_medians_to_speak_of() {
        let mut one = run(vec![line(&[2.0], &[1.0], &[1.0])]);
        one.rounds = 1;
        let text = several(vec![one.clone(), one]);
        assert!(text.contains(" in 1 round,") && !text.contains("medians"), "{text}");
    }

    #[test]
    fn a_target_is_counted_by_runs_and_one_that_is_missed_in_any_of_them_is_a_miss() {
        let (met, missed) = (run(vec![aimed(1.0, 2.0)]), run(vec![aimed(2.0, 2.0)]));
        let always = Runs::of(vec![met.clone(), met.clone()]);
        assert!(!misses(&always));
        let unknown = run(vec![figure("latency", 8192, 2, &[(OURS, &[1.0])])]);
        let once = Runs::of(vec![met.clone(), missed, unknown, met]);
        assert!(misses(&once));
        let text = text(&once);
        assert!(text.contains("targets: 1\n  met in 2 of 3 runs: 1\n"), "{text}");
        let each = "  missed: latency 8 KiB on 2 ranks: process 1.3 x best other, met in 2 of 3\n";
        assert!(text.contains(each), "{text}");
    }

    #[test]
    fn what_was_not_measured_names_its_runs_unless_it_is_all() {
        let of = |whys: &[&str]| {
            let mut run = run(Vec::new());
            run.failures.extend(whys.iter().copied().map(missing));
            run
        };
        let text = several(vec![of(&["always", "twice"]), of(&["always", "once"]), of(&["twice", "always"])]);
        let last: Vec<&str> = text.lines().skip(1).collect();
        let expected = [
            "not measured: mpich, pairs.c on 2 ranks: always",
            "not measured in runs 1, 3: mpich, pairs.c on 2 ranks: twice",
            "not measured in run 2: mpich, pairs.c on 2 ranks: once",
        ];
        assert_eq!(last, expected);
    }
}
