//! The variables, events and categories that the library shows of itself (MPI chapter 15), as data: the one table that the C interface serves, and that
//! `corelace vars` prints.
//!
//! An entry's index is its place in its list, and never changes.

mod control;
mod events;
mod performance;

pub use control::{Control, Scope, Setting, Values, controls};
pub use events::{EVENTS, Element, Event, Happening};
pub use performance::{Class, Measure, PERFORMANCE, PHASES, Performance};

/// What a variable or event is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bind {
    /// The whole process.
    Process,
    /// A communicator, which a handle is made for.
    Comm,
}

/// Whom an entry is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Audience {
    /// Who uses the library.
    User,
    /// Who makes programs faster.
    Tuner,
    /// Who makes the library.
    Developer,
}

/// What entries have in common, each once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// Everything about messages; the next three are parts of it.
    PointToPoint,
    /// How messages travel.
    Protocols,
    /// How many there are, and how long.
    Messages,
    /// How they find their receives.
    Matching,
    /// Collectives.
    Collectives,
    /// Windows.
    OneSided,
    /// Waiting.
    Waiting,
    /// The process as a whole.
    Process,
}

/// A category.
#[derive(Clone, Copy, Debug)]
pub struct Category {
    /// Its topic.
    pub topic: Topic,
    /// What users call it.
    pub name: &'static str,
    /// What it holds.
    pub what: &'static str,
    /// Those that it contains.
    pub parts: &'static [Topic],
}

/// All categories.
pub const CATEGORIES: [Category; 8] = [
    Category {
        topic: Topic::PointToPoint,
        name: "point_to_point",
        what: "messages between two processes",
        parts: &[Topic::Protocols, Topic::Messages, Topic::Matching],
    },
    Category {
        topic: Topic::Protocols,
        name: "protocols",
        what: "how messages travel: limits, and how many went which way",
        parts: &[],
    },
    Category { topic: Topic::Messages, name: "messages", what: "messages and their bytes", parts: &[] },
    Category {
        topic: Topic::Matching,
        name: "matching",
        what: "messages before their receives, and receives before their messages",
        parts: &[],
    },
    Category {
        topic: Topic::Collectives,
        name: "collectives",
        what: "the algorithms of collective operations",
        parts: &[],
    },
    Category { topic: Topic::OneSided, name: "one_sided", what: "operations on windows", parts: &[] },
    Category {
        topic: Topic::Waiting,
        name: "waiting",
        what: "time in which a rank had nothing to do",
        parts: &[],
    },
    Category {
        topic: Topic::Process,
        name: "process",
        what: "the process itself: its memory, its threads, its state",
        parts: &[],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_every_entry_says_what_it_is() {
        let names = |list: Vec<(&str, &str)>| {
            assert!(list.iter().all(|(_, what)| what.len() > 10), "{list:?}");
            let known: HashSet<&str> = list.iter().map(|(name, _)| *name).collect();
            assert_eq!(known.len(), list.len(), "{list:?}");
        };
        names(controls().iter().map(|control| (control.name.as_str(), control.what.as_str())).collect());
        names(PERFORMANCE.iter().map(|variable| (variable.name, variable.what)).collect());
        names(EVENTS.iter().map(|event| (event.name, event.what)).collect());
        names(CATEGORIES.iter().map(|category| (category.name, category.what)).collect());
    }

    #[test]
    fn every_topic_is_a_category_and_no_leaf_is_empty() {
        for category in CATEGORIES.iter().filter(|category| category.parts.is_empty()) {
            let about = |topic: Topic| topic == category.topic;
            let held = controls().iter().filter(|control| about(control.topic)).count()
                + PERFORMANCE.iter().filter(|variable| about(variable.topic)).count()
                + EVENTS.iter().filter(|event| about(event.topic)).count();
            assert!(held > 0, "{}", category.name);
        }
        let parts = CATEGORIES.iter().flat_map(|category| category.parts);
        assert!(parts.into_iter().all(|part| CATEGORIES.iter().any(|category| category.topic == *part)));
    }
}
