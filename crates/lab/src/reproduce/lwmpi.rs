//! Figures of LWMPI (Uller and others, "LWMPI: an MPI library for lightweight manycores", 2021).
//!
//! They run on the chip under study if it has Nanvix, otherwise on the one that has.

use sim::Chip;

use super::figure::{Figure, Published};
use super::study::{SCALING, Study, Variant};

/// The portal's page.
const PAGE: f64 = 4096.0;
/// All clusters of the chip.
const FULL: u32 = SCALING[SCALING.len() - 1];

/// All of them.
pub fn figures() -> Vec<Figure> {
    let mut figures: Vec<Figure> = messages().into();
    figures.extend(mapping());
    figures.extend(friendly_numbers());
    figures.extend(gaussian_filter());
    figures.extend(k_means());
    figures.extend(power());
    figures
}

/// The machine that the figures are measured on, given that of the others.
pub fn machine(chip: &str) -> String {
    let has_nanvix = Chip::find(chip).is_ok_and(|chip| chip.ipc(NANVIX).is_some());
    if has_nanvix { chip.to_owned() } else { "mppa256-nanvix".to_owned() }
}

/// LWMPI's operating system, as descriptions name it.
const NANVIX: &str = "nanvix";

fn ratio(value: f64) -> Published {
    Published::Number { value, within: 0.15 }
}

/// What a message between ranks that know each other takes, and what it takes to know each other.
fn messages() -> [Figure; 6] {
    [
        Figure::new(
            "b.messages.remote",
            "messages of a send to another cluster",
            "",
            Published::Count(5.0),
            |study| study.letters_of_a_message("scatter"),
        ),
        Figure::new(
            "b.messages.local",
            "messages of a send in a cluster",
            "",
            Published::Count(1.0),
            |study| study.letters_of_a_message("compact"),
        ),
        Figure::new(
            "b.calls.remote",
            "system calls of a message to another cluster",
            "",
            Published::Count(21.0),
            |study| study.calls_of_a_message("scatter", "send"),
        ),
        Figure::new(
            "b.calls.raw",
            "system calls of a message by raw IPC",
            "",
            Published::Count(16.0),
            |study| study.calls_of_a_message("scatter", "raw"),
        ),
        Figure::new("b.lookup.cold", "messages of a first look-up", "", Published::Count(4.0), |study| {
            // Each of the two ranks looks up the other.
            Ok(study.letters_of_names()?.0 / 2.0)
        }),
        Figure::new("b.lookup.warm", "messages of further look-ups", "", Published::Count(0.0), |study| {
            Ok(study.letters_of_names()?.1)
        }),
    ]
}

fn mapping() -> Vec<Figure> {
    vec![
        Figure::new(
            "b.a2a.compact",
            "A2A compact: longest / shortest, 128 B to 32 KiB",
            "",
            Published::AtMost(1.5),
            |study| Ok(spread(study.all_to_all("compact")?, |_| true)),
        ),
        Figure::new(
            "b.a2a.scatter.short",
            "A2A scatter: longest / shortest, up to a page",
            "",
            Published::AtMost(1.1),
            |study| Ok(spread(study.all_to_all("scatter")?, |bytes| bytes <= PAGE)),
        ),
        Figure::new(
            "b.a2a.scatter.long",
            "A2A scatter: longest / shortest, from a page on",
            "",
            Published::AtLeast(1.5),
            |study| Ok(spread(study.all_to_all("scatter")?, |bytes| bytes >= PAGE)),
        ),
        Figure::new("b.a2a.ratio", "A2A: scatter / compact, greatest", "", ratio(2.8), |study| {
            let (compact, scatter) = (study.all_to_all("compact")?, study.all_to_all("scatter")?);
            Ok(greatest(compact.iter().zip(&scatter).map(|((_, near), (_, far))| far / near)))
        }),
    ]
}

fn spread(times: Vec<(f64, f64)>, counts: impl Fn(f64) -> bool) -> f64 {
    let times: Vec<f64> =
        times.into_iter().filter(|(bytes, _)| counts(*bytes)).map(|(_, time)| time).collect();
    greatest(times.iter().copied()) / least(times.iter().copied())
}

fn greatest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, f64::max)
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

/// How many of the doublings of the number of ranks make the advantage smaller. The published series fall at every one.
fn falls(id: &'static str, what: &'static str, app: &'static str, over: Variant) -> Figure {
    let all = Published::Count((SCALING.len() - 1) as f64);
    Figure::new(id, what, "", all, move |study: &Study| {
        Ok(study.advantages(app, over)?.windows(2).filter(|pair| pair[1] < pair[0]).count() as f64)
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn efficiency(id: &'static str, what: &'static str, app: &'static str, value: f64) -> Figure {
    Figure::new(id, what, "%", Published::Points { value, within: 10.0 }, move |study| {
        study.efficiency(app, FULL, Variant::Optimised)
    })
}

fn friendly_numbers() -> Vec<Figure> {
    vec![
        efficiency("b.fn.efficiency", "FN: weak scaling to 192 ranks", "fn", 77.0),
        Figure::new(
            "b.fn.variants",
            "FN: slowest variant / optimised, all scales",
            "",
            Published::Number { value: 1.0, within: 0.05 },
            |study| {
                let unoptimised = study.advantages("fn", Variant::Unoptimised)?;
                let raw = study.advantages("fn", Variant::Raw)?;
                Ok(greatest(unoptimised.into_iter().chain(raw)))
            },
        ),
    ]
}

fn gaussian_filter() -> Vec<Figure> {
    vec![
        efficiency("b.gf.efficiency", "GF: weak scaling to 192 ranks", "gf", 52.0),
        Figure::new(
            "b.gf.unoptimised.max",
            "GF: unoptimised / optimised, greatest",
            "",
            ratio(3.2),
            |study| Ok(greatest(study.advantages("gf", Variant::Unoptimised)?.into_iter())),
        ),
        Figure::new("b.gf.unoptimised.mean", "GF: unoptimised / optimised, mean", "", ratio(1.8), |study| {
            Ok(mean(&study.advantages("gf", Variant::Unoptimised)?))
        }),
        Figure::new(
            "b.gf.unoptimised.192",
            "GF: unoptimised / optimised, 192 ranks",
            "",
            Published::AtMost(1.8),
            |study| study.advantage("gf", FULL, Variant::Unoptimised),
        ),
        falls(
            "b.gf.unoptimised.trend",
            "GF: doublings at which unoptimised / optimised falls",
            "gf",
            Variant::Unoptimised,
        ),
        Figure::new("b.gf.raw.mean", "GF: raw IPC / optimised, mean", "", ratio(3.2), |study| {
            Ok(mean(&study.advantages("gf", Variant::Raw)?))
        }),
        falls("b.gf.raw.trend", "GF: doublings at which raw IPC / optimised falls", "gf", Variant::Raw),
        Figure::new("b.gf.raw.max", "GF: raw IPC / optimised, greatest", "", ratio(4.0), |study| {
            Ok(greatest(study.advantages("gf", Variant::Raw)?.into_iter()))
        }),
        Figure::new("b.gf.raw.min", "GF: raw IPC / optimised, least", "", ratio(2.4), |study| {
            Ok(least(study.advantages("gf", Variant::Raw)?.into_iter()))
        }),
    ]
}

fn k_means() -> Vec<Figure> {
    let between = Published::Range { low: 1.7, high: 2.1, within: 0.1 };
    vec![
        efficiency("b.km.efficiency", "KM: weak scaling to 192 ranks", "km", 57.0),
        Figure::new(
            "b.km.unoptimised.12",
            "KM: unoptimised / optimised, 12 ranks",
            "",
            ratio(2.0),
            |study| study.advantage("km", SCALING[0], Variant::Unoptimised),
        ),
        Figure::new(
            "b.km.unoptimised.192",
            "KM: unoptimised / optimised, 192 ranks",
            "",
            ratio(1.4),
            |study| study.advantage("km", FULL, Variant::Unoptimised),
        ),
        falls(
            "b.km.unoptimised.trend",
            "KM: doublings at which unoptimised / optimised falls",
            "km",
            Variant::Unoptimised,
        ),
        Figure::new("b.km.raw.mean", "KM: raw IPC / optimised, mean", "", ratio(2.0), |study| {
            Ok(mean(&study.advantages("km", Variant::Raw)?))
        }),
        falls("b.km.raw.trend", "KM: doublings at which raw IPC / optimised falls", "km", Variant::Raw),
        Figure::new("b.km.raw.max", "KM: raw IPC / optimised, greatest", "", between, |study| {
            Ok(greatest(study.advantages("km", Variant::Raw)?.into_iter()))
        }),
        Figure::new("b.km.raw.min", "KM: raw IPC / optimised, least", "", between, |study| {
            Ok(least(study.advantages("km", Variant::Raw)?.into_iter()))
        }),
    ]
}

fn power() -> Vec<Figure> {
    let watts = |value| Published::Number { value, within: 0.1 };
    vec![
        Figure::new("b.power.optimised", "KM, 192 ranks: peak power, optimised", "W", watts(8.5), |study| {
            study.peak_power("km", FULL, Variant::Optimised)
        }),
        Figure::new("b.power.raw", "KM, 192 ranks: peak power, raw IPC", "W", watts(8.0), |study| {
            study.peak_power("km", FULL, Variant::Raw)
        }),
        Figure::new(
            "b.power.order",
            "KM, 192 ranks: peak power, optimised less unoptimised",
            "W",
            Published::Range { low: 0.25, high: 0.75, within: 0.0 },
            |study| {
                let peak = |variant| study.peak_power("km", FULL, variant);
                Ok(peak(Variant::Optimised)? - peak(Variant::Unoptimised)?)
            },
        ),
        Figure::new(
            "b.energy.fn",
            "FN, 12 to 192 ranks: most energy of a variant / least",
            "",
            Published::Number { value: 1.0, within: 0.03 },
            |study| {
                let mut furthest: f64 = 1.0;
                for ranks in SCALING {
                    let energies: Result<Vec<f64>, String> =
                        Variant::ALL.iter().map(|variant| study.energy("fn", ranks, *variant)).collect();
                    let energies = energies?;
                    furthest =
                        furthest.max(greatest(energies.iter().copied()) / least(energies.iter().copied()));
                }
                Ok(furthest)
            },
        ),
        energy_follows_time(
            "b.energy.gf",
            "GF, mean of all scales: energy saved / time saved, over raw IPC",
            "gf",
        ),
        energy_follows_time(
            "b.energy.km",
            "KM, mean of all scales: energy saved / time saved, over raw IPC",
            "km",
        ),
    ]
}

fn energy_follows_time(id: &'static str, what: &'static str, app: &'static str) -> Figure {
    Figure::new(id, what, "", Published::Number { value: 1.0, within: 0.1 }, move |study| {
        let mut shares = Vec::new();
        for ranks in SCALING {
            let saved =
                study.energy(app, ranks, Variant::Raw)? / study.energy(app, ranks, Variant::Optimised)?;
            shares.push(saved / study.advantage(app, ranks, Variant::Raw)?);
        }
        Ok(mean(&shares))
    })
}
