//! `corelace fit --measured`: the numbers of a description that measured times of messages determine.
//!
//! The model says what each measured message takes, and how that changes with each number: the ping-pong is run on copies of the description in
//! which one number is a tenth larger. Least squares then find the numbers with which the model comes closest to the data, every time
//! weighted by its own size. What the data do not determine stays in proportion to what the description says.

use sim::Chip;
use sim::chip::{Description, Fact, Provenance, rewrite};

use super::data::{Measure, Point, Way};
use super::squares::{self, Solution};
use crate::keys;
use crate::lab::{Lab, Trial, in_parallel, ping_pong};

/// How much a number is changed to see what depends on it.
const NUDGE: f64 = 0.1;
/// Rounds of fitting: costs are sums, so that one suffices unless something else becomes the limit.
const ROUNDS: usize = 4;

/// What was fitted to what.
pub struct Fitting {
    description: Description,
    chip: Chip,
    measure: Measure,
    /// The data.
    pub points: Vec<Point>,
    /// The numbers that may change, as the description has them.
    facts: Vec<Fact>,
}

/// What came out.
pub struct Fitted {
    /// The numbers, in the order of the description.
    pub numbers: Vec<Number>,
    /// Sums that the data determine although they do not determine their parts.
    pub sums: Vec<Sum>,
    /// The law of each way, from the data alone.
    pub laws: Vec<WayLaw>,
    /// The copy of the description.
    pub text: String,
}

/// A number that was fitted.
pub struct Number {
    /// Where it stands.
    pub path: String,
    /// What it was.
    pub was: f64,
    /// What it is.
    pub is: f64,
    /// Its unit.
    pub unit: String,
    /// How well it is known.
    pub knowledge: Knowledge,
}

/// How well a number is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Knowledge {
    /// The data determine it to within so much on either side (95 %).
    Within(f64),
    /// The data determine sums with it.
    InSums,
    /// Nothing that was measured depends on it.
    Untouched,
}

/// A sum of numbers, some of them several times.
pub struct Sum {
    /// In words: `agent + 2 take`.
    pub what: String,
    /// Its value.
    pub value: f64,
    /// Half of its 95 % interval.
    pub within: f64,
    /// Their unit.
    pub unit: String,
}

/// The law t = K N + h of a way, with halves of 95 % intervals.
pub struct WayLaw {
    /// The way.
    pub way: Way,
    /// K, cycles a byte.
    pub per_byte: (f64, f64),
    /// h, cycles.
    pub per_call: (f64, f64),
    /// The largest distance of a point from the line, and from the fitted model, as a part of the point's own time.
    pub worst: (f64, f64),
}

impl Fitting {
    /// What is to be fitted: the named numbers, or all of the software and the interfaces that nobody has published.
    pub fn new(chip: &str, text: &str, named: &[String]) -> Result<Fitting, String> {
        let description = Description::find(chip).map_err(|error| error.to_string())?;
        let chip =
            Chip::from_toml(&description.text, &description.origin).map_err(|error| error.to_string())?;
        let (measure, points) = super::data::read(text, chip.clock_hz)?;
        let mut facts: Vec<Fact> = Vec::new();
        if named.is_empty() {
            let io = points.iter().any(|point| point.way.from == "io" || point.way.to == "io");
            let sets = software(&chip, &points);
            facts.extend(chip.facts.iter().filter(|fact| is_open(fact, &sets, io)).cloned());
        }
        for key in named {
            facts.extend(keys::resolve(key, &chip)?.into_iter().cloned());
        }
        if let Some(fact) = facts.iter().find(|fact| !is_cost(fact) || value(fact) == 0.0) {
            return Err(format!(
                "{} is {} {}, expected a time or a rate above 0",
                fact.path, fact.value, fact.unit
            ));
        }
        if points.len() < 2 || facts.is_empty() {
            return Err(format!("{} measurements for {} numbers: nothing to fit", points.len(), facts.len()));
        }
        Ok(Fitting { description, chip, measure, points, facts })
    }

    /// Fits.
    pub fn fit(&self, lab: &Lab, source: &str) -> Result<Fitted, String> {
        let began: Vec<f64> = self.facts.iter().map(value).collect();
        let mut numbers = began.clone();
        let mut predicted = self.predict(lab, &numbers)?;
        let (mut rows, mut solution, mut at);
        let mut round = 0;
        loop {
            at = numbers.clone();
            rows = self.sensitivities(lab, &numbers, &predicted)?;
            let wanted: Vec<f64> = self
                .points
                .iter()
                .zip(&predicted)
                .map(|(point, ours)| (point.cycles - ours) / point.cycles)
                .collect();
            solution = squares::solve(&rows, &wanted);
            // A cost is not negative, and no step may leave the neighbourhood in which the sensitivities mean something.
            for (number, step) in numbers.iter_mut().zip(&solution.step) {
                *number *= 1.0 + step.clamp(-0.9, 9.0);
            }
            predicted = self.predict(lab, &numbers)?;
            round += 1;
            let left = self.misfit(&predicted);
            let hoped = solution.variance * (self.points.len() - solution.rank()).max(1) as f64;
            if left <= 1.05 * hoped + 1e-8 * self.points.len() as f64 || round == ROUNDS {
                break;
            }
        }
        let steps = Steps { rows: &rows, solution: &solution, at: &at, numbers: &numbers };
        let fitted: Vec<Number> =
            (0..numbers.len()).map(|index| self.number(index, began[index], &steps)).collect();
        let text = self.write(&fitted, source)?;
        Ok(Fitted { sums: self.sums(&steps), laws: self.laws(&predicted), numbers: fitted, text })
    }

    /// What each measurement would be with these numbers.
    fn predict(&self, lab: &Lab, numbers: &[f64]) -> Result<Vec<f64>, String> {
        let changes: Vec<(&Fact, Fact)> = self
            .facts
            .iter()
            .zip(numbers)
            .map(|(fact, number)| (fact, Fact { value: written(*number, fact), ..fact.clone() }))
            .collect();
        let text = rewrite(&self.description.text, &changes)?;
        let words: Vec<String> = changes.iter().map(|(_, fact)| fact.value.clone()).collect();
        let file = lab.write(&format!("fit-{}.toml", words.join("-")), &text)?;
        let mut cycles = Vec::new();
        for point in &self.points {
            let run = lab.run(&self.trial(&file, &point.way)?)?;
            let size = point.bytes as f64;
            let lines = ping_pong::direction(&run, &point.way.from);
            let line =
                lines.iter().find(|line| line.number("bytes") == Ok(size)).ok_or("a size was not played")?;
            cycles.push(line.number(self.measure.key())?);
        }
        Ok(cycles)
    }

    /// A ping-pong with all sizes that were measured between these ends by this method, whichever way.
    fn trial(&self, file: &str, way: &Way) -> Result<Trial, String> {
        let alike = |other: &Way| {
            other.method == way.method
                && ((&other.from, &other.to) == (&way.from, &way.to)
                    || (&other.from, &other.to) == (&way.to, &way.from))
        };
        let mut sizes: Vec<u64> =
            self.points.iter().filter(|point| alike(&point.way)).map(|point| point.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
        ping_pong::trial(file, (&way.from, &way.to), way.method, &sizes.join(","), 2)
    }

    /// By point and number: how much of the measured time a step by the number's own size would add.
    fn sensitivities(&self, lab: &Lab, numbers: &[f64], predicted: &[f64]) -> Result<Vec<Vec<f64>>, String> {
        let indices: Vec<usize> = (0..numbers.len()).collect();
        let nudged = in_parallel(&indices, |index| {
            let mut nudged = numbers.to_vec();
            nudged[*index] *= 1.0 + NUDGE;
            let cycles = self.predict(lab, &nudged);
            lab.advance();
            cycles
        });
        let nudged: Result<Vec<Vec<f64>>, String> = nudged.into_iter().collect();
        let nudged = nudged?;
        let row = |(index, point): (usize, &Point)| {
            nudged.iter().map(|cycles| (cycles[index] - predicted[index]) / NUDGE / point.cycles).collect()
        };
        Ok(self.points.iter().enumerate().map(row).collect())
    }

    /// How many runs of the model a round takes besides the one that checks it.
    pub fn pieces(&self) -> usize {
        self.facts.len()
    }

    fn misfit(&self, predicted: &[f64]) -> f64 {
        self.points.iter().zip(predicted).map(|(point, ours)| (ours / point.cycles - 1.0).powi(2)).sum()
    }

    fn number(&self, index: usize, was: f64, steps: &Steps<'_>) -> Number {
        let fact = &self.facts[index];
        let is = steps.numbers[index];
        let knowledge = if steps.rows.iter().all(|row| row[index].abs() < 1e-6) {
            Knowledge::Untouched
        } else if steps.solution.determined[index] {
            Knowledge::Within(steps.solution.interval_of(index) * steps.at[index])
        } else {
            Knowledge::InSums
        };
        Number { path: fact.path.clone(), was, is, unit: fact.unit.clone(), knowledge }
    }

    /// The sums that the description knows to stay, and those that the times of the ways are made of.
    fn sums(&self, steps: &Steps<'_>) -> Vec<Sum> {
        let mut factors: Vec<Vec<f64>> = Vec::new();
        for sum in self.chip.free.iter().flat_map(|division| division.sums()) {
            if sum.iter().all(|path| self.facts.iter().any(|fact| fact.path == *path)) {
                factors.push(self.facts.iter().map(|fact| f64::from(sum.contains(&fact.path))).collect());
            }
        }
        for way in self.ways() {
            factors.extend(self.parts_of_law(way, steps));
        }
        let mut sums: Vec<Sum> = Vec::new();
        for mut factors in factors {
            for (factor, determined) in factors.iter_mut().zip(&steps.solution.determined) {
                if *determined {
                    *factor = 0.0;
                }
            }
            let named: Vec<usize> =
                (0..factors.len()).filter(|index| factors[*index].abs() > 0.005).collect();
            let units: Vec<&str> = named.iter().map(|index| self.facts[*index].unit.as_str()).collect();
            let scaled: Vec<f64> =
                factors.iter().zip(steps.at).map(|(factor, number)| factor * number).collect();
            let alike = units.windows(2).all(|pair| pair[0] == pair[1]);
            if named.len() < 2 || !alike || !steps.solution.determines(&scaled) {
                continue;
            }
            let what = self.in_words(&named, &factors);
            if sums.iter().all(|known| known.what != what) {
                let value = factors.iter().zip(steps.numbers).map(|(factor, number)| factor * number).sum();
                let within = steps.solution.interval(&scaled);
                sums.push(Sum { what, value, within, unit: units[0].to_owned() });
            }
        }
        sums
    }

    /// How often each number is in h, and in K, of a way: from what its shortest and its longest message depend on.
    fn parts_of_law(&self, way: &Way, steps: &Steps<'_>) -> Vec<Vec<f64>> {
        let of_way = || (0..self.points.len()).filter(|index| self.points[*index].way == *way);
        let size = |index: &usize| self.points[*index].bytes;
        let (Some(short), Some(long)) = (of_way().min_by_key(size), of_way().max_by_key(size)) else {
            return Vec::new();
        };
        if size(&short) == size(&long) {
            return Vec::new();
        }
        let per_unit = |point: usize, number: usize| {
            steps.rows[point][number] * self.points[point].cycles / steps.at[number]
        };
        let bytes = |point: usize| self.points[point].bytes as f64;
        let slope =
            |number| (per_unit(long, number) - per_unit(short, number)) / (bytes(long) - bytes(short));
        let rounded = |factor: f64| (factor * 100.0).round() / 100.0;
        let all = 0..steps.numbers.len();
        let call = all.clone().map(|number| rounded(per_unit(short, number) - slope(number) * bytes(short)));
        vec![call.collect(), all.map(|number| rounded(slope(number))).collect()]
    }

    /// A sum as people write it, without what its numbers' paths have in common.
    fn in_words(&self, named: &[usize], factors: &[f64]) -> String {
        let section =
            |index: &usize| self.facts[*index].path.rsplit_once('.').map_or("", |(section, _)| section);
        let shared = section(&named[0]);
        let short = named.iter().all(|index| section(index) == shared) && !shared.is_empty();
        let word = |index: &usize| {
            let path = &self.facts[*index].path;
            let name = if short { &path[shared.len() + 1..] } else { path };
            if factors[*index] == 1.0 { name.to_owned() } else { format!("{} {name}", factors[*index]) }
        };
        let words: Vec<String> = named.iter().map(word).collect();
        if short { format!("{shared}: {}", words.join(" + ")) } else { words.join(" + ") }
    }

    fn ways(&self) -> Vec<&Way> {
        let mut ways: Vec<&Way> = Vec::new();
        for point in &self.points {
            if !ways.contains(&&point.way) {
                ways.push(&point.way);
            }
        }
        ways
    }

    fn laws(&self, predicted: &[f64]) -> Vec<WayLaw> {
        let law = |way: &Way| {
            let of_way: Vec<usize> =
                (0..self.points.len()).filter(|index| self.points[*index].way == *way).collect();
            let points: Vec<&Point> = of_way.iter().map(|index| &self.points[*index]).collect();
            let most = |of: fn(&Point) -> f64| points.iter().map(|point| of(point)).fold(1.0, f64::max);
            let (bytes, cycles) = (most(|point| point.bytes as f64), most(|point| point.cycles));
            // Both unknowns in parts of the longest time, every point weighted by its own.
            let row = |point: &&Point| {
                vec![point.bytes as f64 / bytes * cycles / point.cycles, cycles / point.cycles]
            };
            let solution =
                squares::solve(&points.iter().map(row).collect::<Vec<_>>(), &vec![1.0; points.len()]);
            let unknown = |index: usize, scale: f64| {
                (solution.step[index] * scale, solution.interval_of(index) * scale)
            };
            let (per_byte, per_call) = (unknown(0, cycles / bytes), unknown(1, cycles));
            let off = |point: &Point, ours: f64| (ours / point.cycles - 1.0).abs();
            let line = |point: &&Point| off(point, per_byte.0 * point.bytes as f64 + per_call.0);
            let model = of_way.iter().map(|index| off(&self.points[*index], predicted[*index]));
            WayLaw {
                way: way.clone(),
                per_byte,
                per_call,
                worst: (points.iter().map(line).fold(0.0, f64::max), model.fold(0.0, f64::max)),
            }
        };
        self.ways().into_iter().map(law).collect()
    }

    /// The copy of the description, in which every number that the data had a part in says so.
    fn write(&self, numbers: &[Number], source: &str) -> Result<String, String> {
        let mut changes = Vec::new();
        for (fact, number) in self.facts.iter().zip(numbers) {
            let what = match number.knowledge {
                Knowledge::Within(half) => {
                    format!(
                        "fitted to {source}: {} +- {} (95 %)",
                        written(number.is, fact),
                        super::digits(half)
                    )
                }
                Knowledge::InSums => format!(
                    "fitted to {source}, which determines only sums with it; its part of them is as in {}",
                    self.description.origin
                ),
                Knowledge::Untouched => continue,
            };
            let provenance = Provenance::Calibrated { what, by: Vec::new() };
            changes.push((fact, Fact { value: written(number.is, fact), provenance, ..fact.clone() }));
        }
        let changed: Vec<&str> = changes.iter().map(|(fact, _)| fact.path.as_str()).collect();
        let text = without_divisions(&rewrite(&self.description.text, &changes)?, &changed);
        Chip::from_toml(&text, &self.description.origin).map_err(|error| error.to_string())?;
        Ok(format!("# {}, fitted to {source} by corelace fit --measured.\n{text}", self.description.origin))
    }
}

/// What a round of fitting has found.
struct Steps<'a> {
    rows: &'a [Vec<f64>],
    solution: &'a Solution,
    /// The numbers at which the sensitivities were taken, by whose sizes the solution counts.
    at: &'a [f64],
    numbers: &'a [f64],
}

/// The communication software that messages of these methods go by.
fn software<'c>(chip: &'c Chip, points: &[Point]) -> Vec<&'c str> {
    let of_lwmpi = |method: &str| method.starts_with("lwmpi");
    let names = chip.ipc.iter().map(|(name, _)| name.as_str());
    let used = |name: &&str| {
        points.iter().any(|point| match of_lwmpi(point.way.method) && chip.ipc("nanvix").is_some() {
            true => *name == "nanvix",
            false => *name == chip.default_ipc,
        })
    };
    names.filter(used).collect()
}

/// Whether nobody has published the number, and measured messages may tell it.
fn is_open(fact: &Fact, software: &[&str], io: bool) -> bool {
    let costs = software.iter().any(|set| {
        let of = |place: &str| fact.path.starts_with(&format!("ipc.{set}.{place}."));
        of("cluster") || io && of("io")
    });
    let interface = fact.path == "cluster.receive" || io && fact.path.starts_with("io.");
    let published = matches!(fact.provenance, Provenance::From(_));
    is_cost(fact) && value(fact) > 0.0 && !published && (costs || interface)
}

fn is_cost(fact: &Fact) -> bool {
    ["cycles", "ns", "us", "cycles/byte", "ns/byte", "GB/s", "bytes/cycle"].contains(&fact.unit.as_str())
}

fn value(fact: &Fact) -> f64 {
    fact.value.parse().unwrap_or(0.0)
}

/// A number as finely as the model counts.
fn written(number: f64, fact: &Fact) -> String {
    match fact.unit.as_str() {
        "cycles" => format!("{number:.3}"),
        _ => format!("{number:.6}"),
    }
}

/// The text without the `[[free]]` sections of numbers that have changed: their ends are those of the other numbers.
fn without_divisions(text: &str, changed: &[&str]) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find("[[free]]\n") {
        let end = rest[begin + 1..].find("\n[").map_or(rest.len(), |end| begin + 2 + end);
        let block = &rest[begin..end];
        let section = block
            .lines()
            .find_map(|line| line.strip_prefix("section")?.split('"').nth(1))
            .unwrap_or_default();
        kept += &rest[..begin];
        if !changed.iter().any(|path| path.starts_with(section)) {
            kept += block;
        }
        rest = &rest[end..];
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisions_of_changed_numbers_do_not_get_into_the_copy() {
        let text = "a = 1\n\n[[free]]\nsection = \"ipc.x\"\nlow = { a = 1 }\n\n[[free]]\nsection = \"ipc.y\"\nlow = { b = 1 }\n";
        let copy = without_divisions(text, &["ipc.x.cluster.post"]);
        assert_eq!(copy, "a = 1\n\n[[free]]\nsection = \"ipc.y\"\nlow = { b = 1 }\n");
        assert_eq!(without_divisions(text, &[]), text);
        assert_eq!(without_divisions(text, &["ipc.x.a", "ipc.y.a"]), "a = 1\n\n");
    }

    #[test]
    fn without_names_what_nobody_published_is_fitted() {
        let text = "from,to,method,bytes,time_cycles\n0,15,pe,1,31430\n0,15,pe,1000,32410\n";
        let fitting = Fitting::new("mppa256-andey", text, &[]).unwrap();
        let paths: Vec<&str> = fitting.facts.iter().map(|fact| fact.path.as_str()).collect();
        assert!(
            paths.contains(&"cluster.receive") && paths.contains(&"ipc.mppaipc.cluster.put_core"),
            "{paths:?}"
        );
        assert!(
            !paths.contains(&"network.data.router") && !paths.iter().any(|path| path.contains("io")),
            "{paths:?}"
        );
        let refusal = Fitting::new("mppa256-andey", text, &["cores".into()]).err().unwrap();
        assert!(refusal.contains("expected a time or a rate"), "{refusal}");
    }
}
