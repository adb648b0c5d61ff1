//! Control variables: every threshold and every choice of an algorithm, and what else the user sets by an environment variable.

use std::sync::OnceLock;

use engine::{Protocol, Rank, Tuning};

use super::{Audience, Topic};
use crate::settings::{self, InitialHandler};

/// A control variable.
#[derive(Clone, Debug)]
pub struct Control {
    /// What users call it. In capitals and behind `CORELACE_`, the environment variable that sets it.
    pub name: String,
    /// What it does.
    pub what: String,
    /// What it can be.
    pub values: Values,
    /// Who may change it, and who must with him.
    pub scope: Scope,
    /// What it changes.
    pub setting: Setting,
    /// For whom.
    pub audience: Audience,
    /// Where it belongs.
    pub topic: Topic,
}

/// What a control variable can be.
#[derive(Clone, Debug)]
pub enum Values {
    /// A number of zero or more.
    Number,
    /// One of these, by its place.
    Choice(Vec<&'static str>),
}

/// Who may change a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Nobody: the environment says it when the process begins.
    Fixed,
    /// All processes of the job, each to the same.
    All,
    /// As [`All`](Scope::All), before MPI is initialised.
    AllBefore,
}

/// What a control variable changes.
#[derive(Clone, Copy, Debug)]
pub enum Setting {
    /// A number of the [`Tuning`], by its name.
    Threshold(&'static str),
    /// The protocol that carries messages.
    Protocol,
    /// The algorithm of a collective.
    Algorithm(&'static str),
    /// Nothing that changes: this is the value.
    Fixed(fn() -> u64),
}

impl Control {
    /// The environment variable that sets it.
    pub fn environment(&self) -> String {
        settings::variable(&self.name)
    }
}

/// The values of an algorithm's variable: that of the table, or one of its names.
pub(crate) const BY_TABLE: &str = "auto";

/// All control variables.
pub fn controls() -> &'static [Control] {
    static ALL: OnceLock<Vec<Control>> = OnceLock::new();
    ALL.get_or_init(make)
}

fn make() -> Vec<Control> {
    let thresholds = Tuning::NAMES.iter().map(|(name, what)| Control {
        name: (*name).to_owned(),
        what: (*what).to_owned(),
        values: Values::Number,
        scope: Scope::All,
        setting: Setting::Threshold(name),
        audience: Audience::Tuner,
        topic: Topic::Protocols,
    });
    let protocol = Control {
        name: "protocol".to_owned(),
        what: "which protocol carries messages: the best by size, or always the same one".to_owned(),
        values: Values::Choice(Protocol::NAMES.map(|(name, _)| name).to_vec()),
        scope: Scope::AllBefore,
        setting: Setting::Protocol,
        audience: Audience::Tuner,
        topic: Topic::Protocols,
    };
    let mut all: Vec<Control> = thresholds.chain([protocol]).collect();
    for (collective, algorithm) in Rank::algorithms() {
        match all.last_mut() {
            Some(Control { setting: Setting::Algorithm(last), values: Values::Choice(known), .. })
                if *last == collective =>
            {
                // A table names an algorithm once for each range that it is for.
                if !known.contains(&algorithm) {
                    known.push(algorithm);
                }
            }
            _ => all.push(algorithms_of(collective, algorithm)),
        }
    }
    all.extend(fixed());
    all
}

fn algorithms_of(collective: &'static str, first: &'static str) -> Control {
    Control {
        name: format!("{collective}_algorithm"),
        what: format!("how {collective} is done: chosen by bytes and members, or always so where possible"),
        values: Values::Choice(vec![BY_TABLE, first]),
        scope: Scope::All,
        setting: Setting::Algorithm(collective),
        audience: Audience::Tuner,
        topic: Topic::Collectives,
    }
}

/// What the environment says once.
fn fixed() -> [Control; 7] {
    let control = |name: &str, what: &str, values, value, audience| Control {
        name: name.to_owned(),
        what: what.to_owned(),
        values,
        scope: Scope::Fixed,
        setting: Setting::Fixed(value),
        audience,
        topic: Topic::Process,
    };
    let switch = || Values::Choice(vec!["off", "on"]);
    let handlers = InitialHandler::NAMES.map(|(name, _)| name).to_vec();
    [
        control(
            "cma",
            "whether processes read each other's memory (cross-memory attach)",
            switch(),
            || u64::from(settings::is_cma_wanted()),
            Audience::Tuner,
        ),
        control(
            "agent",
            "whether a thread of the library makes progress while the program computes",
            switch(),
            || u64::from(settings::is_agent_wanted()),
            Audience::User,
        ),
        control(
            "lanes",
            "lanes that communicators are spread over in a process whose threads call at once",
            Values::Number,
            || u64::from(settings::lanes_wanted()),
            Audience::Tuner,
        ),
        control(
            "wait",
            "how a rank waits: it spins while that is worth it and then sleeps, or never sleeps, or sleeps at once",
            Values::Choice(settings::WAITS.to_vec()),
            || settings::waits_wanted().1 as u64,
            Audience::User,
        ),
        control(
            "spin_us",
            "microseconds for which a rank with a core of its own spins at most before it sleeps",
            Values::Number,
            || settings::waits_wanted().0,
            Audience::Tuner,
        ),
        control(
            "check",
            "whether the library checks how the program uses MPI",
            switch(),
            || u64::from(settings::is_check_wanted()),
            Audience::User,
        ),
        control(
            "initial_errhandler",
            "the error handler that a process begins with",
            Values::Choice(handlers),
            || {
                let initial = InitialHandler::from_process();
                let place = InitialHandler::NAMES.iter().position(|(_, handler)| *handler == initial);
                place.unwrap_or_default() as u64
            },
            Audience::User,
        ),
    ]
}
