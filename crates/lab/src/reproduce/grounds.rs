//! What a figure rests on, and so what agreeing with it proves. Nobody writes a kind beside a figure: it follows from what the description of the
//! chip and the numbers of the applications say they were set by, and from the two lists of this file.
//!
//! | kind | a figure is of it |
//! | --- | --- |
//! | fit | if a calibrated number names it |
//! | implied | if it follows from fits by algebra, or is true by construction |
//! | assumed | if a number was chosen knowing it, or if a division that the fits leave free decides it |
//! | predicted | if nothing of that holds |
//!
//! The first that holds counts. A figure without a published value has no kind: there is nothing to agree with.

use std::ops::AddAssign;

use sim::Chip;
use sim::chip::{Fact, Provenance};

use super::figure::{Figure, Published};

/// What agreeing with a figure proves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The description was calibrated by it.
    Fit,
    /// It cannot but come out if the fits do.
    Implied,
    /// A choice that nobody published decides it.
    Assumed,
    /// It comes out of the model and the protocols by itself.
    Predicted,
    /// The papers have no value.
    Unpublished,
}

impl Kind {
    /// Those that count, from the weakest to the strongest.
    pub const COUNTED: [Kind; 4] = [Kind::Fit, Kind::Implied, Kind::Assumed, Kind::Predicted];

    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Fit => "fit",
            Kind::Implied => "implied",
            Kind::Assumed => "assumed",
            Kind::Predicted => "predicted",
            Kind::Unpublished => "unpublished",
        }
    }
}

/// A kind, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Basis {
    pub kind: Kind,
    /// The numbers, figures or reasons that make it so.
    pub because: String,
}

/// Figures that follow from others by algebra: which, from which, how.
const FOLLOW: &[(&str, &[&str], &str)] = &[
    ("a.cc15-cc0.pe.h", &["a.cc0-cc15.pe.h"], SYMMETRIC),
    ("a.cc15-cc0.dma.h", &["a.cc0-cc15.dma.h"], SYMMETRIC),
    ("a.throughput.pe", &["a.cc0-cc15.pe.K"], "400 MHz / K"),
    ("a.throughput.dma", &["a.cc0-cc15.dma.K"], "400 MHz / K"),
    ("a.best.medium", &["a.lazy.K", "a.lazy.h", "a.cc0-cc15.pe.K", "a.cc0-cc15.pe.h"], "the laws at 2 KiB"),
    ("a.curve.cc.pe", &["a.cc0-cc15.pe.K", "a.cc0-cc15.pe.h"], "the law at 256 KiB"),
    ("a.curve.cc.dma", &["a.cc0-cc15.dma.K", "a.cc0-cc15.dma.h"], "the law at 256 KiB"),
    ("a.curve.cc.best", &["a.cc0-cc15.dma.K", "a.cc0-cc15.dma.h"], "the law at 512 KiB"),
    ("a.curve.io", &["a.io-cc15.dma.K", "a.io-cc15.dma.h", "a.cc15-io.dma.K", "a.cc15-io.dma.h"], "the laws"),
    (
        "a.cross.dma",
        &["a.cc0-cc15.pe.K", "a.cc0-cc15.pe.h", "a.cc0-cc15.dma.K", "a.cc0-cc15.dma.h"],
        "difference of h / difference of K",
    ),
    ("a.rate.lazy", &["a.lazy.K", "a.lazy.h"], "400 MHz / the law at 96 B"),
    ("a.rate.eager", &["a.eager"], "400 MHz / two pieces"),
    ("a.rate.pe", &["a.cc0-cc15.pe.K", "a.cc0-cc15.pe.h"], "400 MHz / the law at 96 B"),
    ("a.rate.dma", &["a.cc0-cc15.dma.K", "a.cc0-cc15.dma.h"], "400 MHz / the law at 96 B"),
    ("a.rate.order", &["a.lazy.h", "a.eager", "a.cc0-cc15.pe.h", "a.cc0-cc15.dma.h"], "the laws up to 767 B"),
    (
        "c.bw.intel",
        &["c.bw.offload", "c.bw.direct"],
        "the ratio of both, for the way out of the card is the same",
    ),
    ("d.put.bw", &["d.case4.bw", "d.put.start"], "the crossbar's rate at 8 MiB"),
    ("d.get.bw", &["d.case4.bw", "d.get.start"], "the crossbar's rate at 8 MiB"),
    ("a.best.large", &["a.cc0-cc15.pe.K", "a.cc0-cc15.dma.K", "a.cc0-cc15.dma.h"], "the laws at 256 KiB"),
];

/// Figures that are true whatever the numbers are: which, why.
const BY_CONSTRUCTION: &[(&str, &str)] = &[
    ("a.best.short", "one letter cannot take longer than the letters and the put of a handshake"),
    ("b.messages.remote", "the protocol is written with these messages"),
    ("b.messages.local", "the protocol is written with these messages"),
    ("b.calls.remote", SOURCES),
    ("b.calls.raw", SOURCES),
    ("b.lookup.cold", "the name service is written with these messages"),
    ("b.lookup.warm", "the name service is written with these messages"),
    ("b.fn.variants", "6.6 thousand million cycles of declared work beside a few hundred messages"),
    ("c.dir.in", ONE_WIRE),
    ("c.dir.target", ONE_WIRE),
    (
        "c.mr.reused",
        "the cache of regions is made so; the count shows that messages go by it, and that the host has no part in them",
    ),
    ("d.barrier.64", MACHINE_BARRIER),
    ("d.barrier.512", MACHINE_BARRIER),
    ("d.alloc.case1", KINDS_OF_MEMORY),
    ("d.alloc.case2", KINDS_OF_MEMORY),
    ("d.alloc.case3", KINDS_OF_MEMORY),
    ("d.alloc.case4", KINDS_OF_MEMORY),
    ("e.hbw.16", ON_PAPER),
    ("e.hbw.64", ON_PAPER),
    ("e.search.3", ON_PAPER),
    ("e.search.4", ON_PAPER),
    ("e.lbm.model", ON_PAPER),
    ("e.walls.memory.128", ON_PAPER),
    ("e.walls.memory.256", ON_PAPER),
    ("e.walls.two.barriers", COUNTED),
    ("e.walls.three.barriers", COUNTED),
    ("e.walls.two.moved", COUNTED),
    ("e.walls.three.moved", COUNTED),
    ("e.gemm.memory", ON_PAPER),
    ("e.blis.footprint", ON_PAPER),
];

const SYMMETRIC: &str = "the same way back, and nothing that is known tells the two ends apart";
const ON_PAPER: &str = "the same formula, computed";
const COUNTED: &str = "counts of the algorithm, which is the thesis'";
const SOURCES: &str = "the steps of a message make the calls that the published sources do";
const ONE_WIRE: &str = "the slowest link is the same for both: the wire, or the way out of the card";
const MACHINE_BARRIER: &str = "the description has one time for any number of nodes, as the paper measured";
const KINDS_OF_MEMORY: &str = "the kinds of memory are made so; the count shows that messages go that way";

/// The numbers that figures may rest on.
#[derive(Clone, Copy)]
pub struct Grounds<'g> {
    pub chip: &'g Chip,
    pub applications: &'g [Fact],
}

impl Grounds<'_> {
    /// What a figure rests on.
    pub fn of(&self, figure: &Figure) -> Basis {
        let basis = |kind, because: String| Basis { kind, because };
        if figure.published == Published::Nothing {
            return basis(Kind::Unpublished, "the papers have no value".into());
        }
        let id = figure.id;
        let setters =
            self.paths(|fact| matches!(&fact.provenance, Provenance::Calibrated { by, .. } if names(by, id)));
        if !setters.is_empty() {
            return basis(Kind::Fit, format!("sets {}", setters.join(", ")));
        }
        if let Some((_, from, how)) = FOLLOW.iter().find(|(implied, ..)| *implied == id) {
            return basis(Kind::Implied, format!("from {}: {how}", from.join(", ")));
        }
        if let Some((_, why)) = BY_CONSTRUCTION.iter().find(|(implied, _)| *implied == id) {
            return basis(Kind::Implied, format!("by construction: {why}"));
        }
        let choices = self.paths(
            |fact| matches!(&fact.provenance, Provenance::Chosen { knowing, .. } if names(knowing, id)),
        );
        if !choices.is_empty() {
            return basis(
                Kind::Assumed,
                format!(
                    "was known when {} {} chosen",
                    choices.join(", "),
                    if choices.len() == 1 { "was" } else { "were" }
                ),
            );
        }
        if let Some(division) = self.chip.free.iter().find(|division| names(&division.decides, id)) {
            return basis(Kind::Assumed, format!("left free: {}", division.what));
        }
        basis(Kind::Predicted, "no number names it".into())
    }

    /// How many numbers were set by figures or chosen. Those that say the same for the same reason, as the four I/O subsystems do, count once.
    pub fn free_numbers(&self) -> FreeNumbers {
        let count = |facts: &[Fact], counts: fn(&Provenance) -> bool| {
            let mut seen: Vec<(&str, &str, &Provenance)> = facts
                .iter()
                // The programs declare their work, and the published MPIs do without multicast, so what these cost has no part in any published figure.
                .filter(|fact| counts(&fact.provenance))
                .filter(|fact| !fact.path.starts_with("core.") && !fact.path.contains(".multicast."))
                .map(|fact| {
                    (fact.path.rsplit('.').next().unwrap_or(""), fact.value.as_str(), &fact.provenance)
                })
                .collect();
            seen.sort_by_key(|(key, value, provenance)| (*key, *value, provenance.to_string()));
            seen.dedup();
            seen.len()
        };
        let calibrated = |provenance: &Provenance| matches!(provenance, Provenance::Calibrated { .. });
        let chosen = |provenance: &Provenance| matches!(provenance, Provenance::Chosen { .. });
        FreeNumbers {
            calibrated: count(&self.chip.facts, calibrated) + count(self.applications, calibrated),
            chosen: count(&self.chip.facts, chosen),
            chosen_in_applications: count(self.applications, chosen),
        }
    }

    /// A sentence about calibrated numbers that name no figure: the figures that set them may be in the table as predictions.
    pub fn remark(&self) -> Option<String> {
        let unnamed =
            self.paths(|fact| matches!(&fact.provenance, Provenance::Calibrated { by, .. } if by.is_empty()));
        let what = unnamed.join(", ");
        (!unnamed.is_empty()).then(|| {
            format!("what set {what} is not said by name (by = [\"…\"]), so figures may be less than their kind says")
        })
    }

    /// Where the numbers are that a figure had a part in.
    fn paths(&self, counts: impl Fn(&Fact) -> bool) -> Vec<String> {
        let facts = self.chip.facts.iter().chain(self.applications).filter(|fact| counts(fact));
        facts.map(|fact| fact.path.clone()).collect()
    }
}

/// How many numbers of the files nobody measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FreeNumbers {
    pub calibrated: usize,
    pub chosen: usize,
    pub chosen_in_applications: usize,
}

impl AddAssign for FreeNumbers {
    fn add_assign(&mut self, more: FreeNumbers) {
        self.calibrated += more.calibrated;
        self.chosen += more.chosen;
        self.chosen_in_applications += more.chosen_in_applications;
    }
}

fn names(list: &[String], id: &str) -> bool {
    list.iter().any(|name| name == id)
}

#[cfg(test)]
mod tests {
    use super::super::numbers::NUMBERS;
    use super::*;

    fn andey() -> Chip {
        Chip::builtin("mppa256-andey").unwrap()
    }

    fn figure(id: &str) -> Figure {
        super::super::figures()
            .into_iter()
            .find(|figure| figure.id == id)
            .unwrap_or_else(|| panic!("no {id}"))
    }

    fn kind(chip: &Chip, id: &str) -> Kind {
        Grounds { chip, applications: &NUMBERS }.of(&figure(id)).kind
    }

    #[test]
    fn a_figure_that_a_calibrated_number_names_is_a_fit_and_no_prediction() {
        for (name, _) in sim::chip::BUILTIN {
            let chip = Chip::builtin(name).unwrap();
            for fact in chip.facts.iter().chain(NUMBERS.iter()) {
                let Provenance::Calibrated { by, .. } = &fact.provenance else { continue };
                for id in by {
                    assert_eq!(kind(&chip, id), Kind::Fit, "{name}: {fact:?}");
                }
            }
        }
    }

    #[test]
    fn a_prediction_that_a_description_begins_to_name_becomes_a_fit() {
        let text = sim::chip::BUILTIN[0].1;
        let (old, new) = ("by = [\"a.eager\"]", "by = [\"a.eager\", \"a.hpl.lazy\"]");
        let changed = Chip::from_toml(&text.replacen(old, new, 1), "changed").unwrap();
        assert_eq!(kind(&andey(), "a.hpl.lazy"), Kind::Predicted);
        assert_eq!(kind(&changed, "a.hpl.lazy"), Kind::Fit);
    }

    #[test]
    fn every_figure_that_a_number_or_a_list_names_exists() {
        let figures = super::super::figures();
        let exists =
            |id: &str, who: &str| assert!(figures.iter().any(|figure| figure.id == id), "{who} names {id}");
        for (name, _) in sim::chip::BUILTIN {
            let chip = Chip::builtin(name).unwrap();
            for fact in chip.facts.iter().chain(NUMBERS.iter()) {
                fact.provenance.figures().iter().for_each(|id| exists(id, &fact.path));
            }
            chip.free.iter().flat_map(|division| &division.decides).for_each(|id| exists(id, "[[free]]"));
        }
        for (id, from, _) in FOLLOW {
            exists(id, "FOLLOW");
            from.iter().for_each(|id| exists(id, "FOLLOW"));
        }
        BY_CONSTRUCTION.iter().for_each(|(id, _)| exists(id, "BY_CONSTRUCTION"));
    }

    #[test]
    fn what_follows_follows_from_fits() {
        for (id, from, _) in FOLLOW {
            for source in *from {
                let machine = match id.split('.').next() {
                    Some("c") => "xeonphi-ib8",
                    Some("d") => "earth-simulator",
                    _ => "mppa256-andey",
                };
                assert_eq!(
                    kind(&Chip::builtin(machine).unwrap(), source),
                    Kind::Fit,
                    "{id} follows from {source}"
                );
            }
        }
    }

    #[test]
    fn every_calibrated_number_of_the_chip_under_study_names_its_figures() {
        for fact in &andey().facts {
            if let Provenance::Calibrated { by, .. } = &fact.provenance {
                assert!(!by.is_empty(), "{fact:?}");
            }
        }
    }

    #[test]
    fn calibrated_numbers_that_name_no_figure_are_remarked_on() {
        let remark = |chip: &Chip| Grounds { chip, applications: &NUMBERS }.remark();
        assert_eq!(remark(&andey()), None);
        let epiphany = remark(&Chip::builtin("epiphany-iv").unwrap()).unwrap();
        assert!(
            epiphany.starts_with("what set power.idle, power.core_cycle is not said by name"),
            "{epiphany}"
        );
    }

    #[test]
    fn choices_make_assumptions_and_figures_without_a_value_do_not_count() {
        let chip = andey();
        assert_eq!(kind(&chip, "a.hpl"), Kind::Assumed, "the cost of an operation was chosen knowing it");
        assert_eq!(kind(&chip, "a.eager.half"), Kind::Assumed, "the division of a send's time decides it");
        let nanvix = Chip::builtin("mppa256-nanvix").unwrap();
        assert_eq!(kind(&nanvix, "b.km.unoptimised.12"), Kind::Fit, "the cost of a call is set by it");
        assert_eq!(
            kind(&nanvix, "b.gf.raw.max"),
            Kind::Predicted,
            "no other number of LWMPI's is set by a figure"
        );
        assert_eq!(kind(&chip, "a.throughput.pe"), Kind::Implied);
        assert_eq!(kind(&chip, "a.contention.2"), Kind::Unpublished);
        assert!(!Kind::COUNTED.contains(&Kind::Unpublished));
    }

    #[test]
    fn copies_of_a_number_count_once() {
        let chip = andey();
        let receive =
            chip.facts.iter().filter(|fact| fact.path.starts_with("io.") && fact.path.ends_with(".receive"));
        assert_eq!(receive.count(), 4);
        let mut doubled = chip.clone();
        doubled.facts.extend(chip.facts.clone());
        let free = |chip: &Chip| Grounds { chip, applications: &NUMBERS }.free_numbers();
        assert_eq!(free(&chip), free(&doubled));
        assert!(free(&chip).calibrated < chip.facts.len());
    }
}
