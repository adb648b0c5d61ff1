//! `corelace vars`: the variables and events of the tools interface (MPI chapter 15), from the table that the library itself serves; and the bounds of collectives that are in force.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use runtime::Bounds;
use runtime::variables::{
    Audience, Bind, CATEGORIES, Class, Control, EVENTS, Event, PERFORMANCE, Performance, Scope, Topic,
    Values, controls,
};
use serde_json::json;

use cli::profile::Profile;

/// Lists the control variables with the environment variables that set them, the performance variables and the events, and where collectives change their way.
#[derive(Args)]
pub struct VarsArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Bounds as in this profile (default CORELACE_PROFILE, else as built in)
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Only those whose names contain this
    name: Option<String>,
}

pub fn main(arguments: &VarsArgs) -> Result<u8, String> {
    let wanted = |name: &str| arguments.name.as_ref().is_none_or(|part| name.contains(part.as_str()));
    let profile = Profile::wanted(arguments.profile.as_deref())?;
    let bounds = bounds(profile.as_ref()).into_iter().filter(|bound| wanted(bound.name)).collect();
    let found = Found {
        bounds,
        controls: controls().iter().filter(|control| wanted(&control.name)).collect(),
        performance: PERFORMANCE.iter().filter(|variable| wanted(variable.name)).collect(),
        events: EVENTS.iter().filter(|event| wanted(event.name)).collect(),
    };
    cli::say(&if arguments.json { found.json() } else { found.text() })?;
    Ok(0)
}

/// A bound in force.
struct InForce {
    name: &'static str,
    value: u64,
    built_in: u64,
    what: &'static str,
    /// The profile that says so.
    from: Option<String>,
}

/// All bounds, and where their values come from.
fn bounds(profile: Option<&Profile>) -> Vec<InForce> {
    let of = |named: &runtime::NamedBound| {
        let said = profile.and_then(|profile| {
            let said = profile.bounds.iter().find(|(bound, _)| *bound == named.bound)?;
            Some((said.1, profile.file.display().to_string()))
        });
        let (value, from) = said.map_or((named.built_in, None), |(value, file)| (value, Some(file)));
        InForce { name: named.name, value, built_in: named.built_in, what: named.what, from }
    };
    Bounds::TABLE.iter().map(of).collect()
}

struct Found {
    bounds: Vec<InForce>,
    controls: Vec<&'static Control>,
    performance: Vec<&'static Performance>,
    events: Vec<&'static Event>,
}

impl Found {
    fn text(&self) -> String {
        let mut out = String::new();
        let mut section = |title: &str, lines: Vec<[String; 3]>| {
            if lines.is_empty() {
                return;
            }
            let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
            let (first, second) = (width(0), width(1));
            _ = writeln!(out, "{title}");
            for [name, kind, what] in &lines {
                _ = writeln!(out, "  {name:<first$}  {kind:<second$}  {what}");
            }
            _ = writeln!(out);
        };
        let control = |control: &&Control| {
            let values = match &control.values {
                Values::Number => "number".to_owned(),
                Values::Choice(items) => items.join("|"),
            };
            let also = match control.scope {
                Scope::Fixed => format!("{}; set by {} only", control.what, control.environment()),
                Scope::All => control.what.clone(),
                Scope::AllBefore => format!("{}; before MPI_Init", control.what),
            };
            [control.name.clone(), values, also]
        };
        section(
            "Control variables (MPI_T_cvar_…; in capitals and behind CORELACE_, environment variables)",
            self.controls.iter().map(control).collect(),
        );
        let performance = |variable: &&Performance| {
            let bound = bound(variable.bind);
            [variable.name.to_owned(), format!("{}{bound}", class(variable.class)), variable.what.to_owned()]
        };
        section("Performance variables (MPI_T_pvar_…)", self.performance.iter().map(performance).collect());
        let event = |event: &&Event| {
            let elements: Vec<&str> = event.elements.iter().map(|element| element.name()).collect();
            let kind = format!("{}{}", elements.join(", "), bound(event.bind));
            [event.name.to_owned(), kind, event.what.to_owned()]
        };
        section("Events (MPI_T_event_…)", self.events.iter().map(event).collect());
        let bound = |bound: &InForce| {
            let from = match &bound.from {
                Some(file) => format!("{file}, built in {}", bound.built_in),
                None => "built in".to_owned(),
            };
            [bound.name.to_owned(), format!("{} ({from})", bound.value), bound.what.to_owned()]
        };
        section(
            "Bounds of collectives (mpirun --profile FILE, made by corelace bench --tune)",
            self.bounds.iter().map(bound).collect(),
        );
        out
    }

    fn json(&self) -> String {
        let control = |control: &&Control| {
            json!({
                "name": control.name,
                "environment": control.environment(),
                "what": control.what,
                "values": match &control.values {
                    Values::Number => json!("number"),
                    Values::Choice(items) => json!(items),
                },
                "changed": match control.scope {
                    Scope::Fixed => "never",
                    Scope::All => "by all ranks alike",
                    Scope::AllBefore => "by all ranks alike, before MPI_Init",
                },
                "audience": audience(control.audience),
                "category": category(control.topic),
            })
        };
        let performance = |variable: &&Performance| {
            json!({
                "name": variable.name,
                "what": variable.what,
                "class": class(variable.class),
                "of": subject(variable.bind),
                "of_each_process": variable.is_of_each() || variable.bind == Bind::Comm,
                "always_there": variable.is_always_there(),
                "read_only": variable.is_read_only(),
                "audience": audience(variable.audience),
                "category": category(variable.topic),
            })
        };
        let event = |event: &&Event| {
            json!({
                "name": event.name,
                "what": event.what,
                "of": subject(event.bind),
                "elements": event.elements.iter().map(|element| element.name()).collect::<Vec<_>>(),
                "audience": audience(event.audience),
                "category": category(event.topic),
            })
        };
        let bound = |bound: &InForce| {
            json!({
                "name": bound.name,
                "value": bound.value,
                "built_in": bound.built_in,
                "from": bound.from.as_deref().unwrap_or("built in"),
                "what": bound.what,
            })
        };
        let all = json!({
            "control": self.controls.iter().map(control).collect::<Vec<_>>(),
            "performance": self.performance.iter().map(performance).collect::<Vec<_>>(),
            "events": self.events.iter().map(event).collect::<Vec<_>>(),
            "bounds": self.bounds.iter().map(bound).collect::<Vec<_>>(),
        });
        format!("{all:#}\n")
    }
}

fn bound(bind: Bind) -> &'static str {
    match bind {
        Bind::Process => "",
        Bind::Comm => " of a communicator",
    }
}

fn subject(bind: Bind) -> &'static str {
    match bind {
        Bind::Process => "the process",
        Bind::Comm => "a communicator",
    }
}

fn class(class: Class) -> &'static str {
    match class {
        Class::State => "state",
        Class::Level => "level",
        Class::Size => "size",
        Class::Percentage => "percentage",
        Class::Highest => "high watermark",
        Class::Lowest => "low watermark",
        Class::Counter => "counter",
        Class::Aggregate => "aggregate",
        Class::Timer => "timer",
    }
}

fn audience(audience: Audience) -> &'static str {
    match audience {
        Audience::User => "user",
        Audience::Tuner => "tuner",
        Audience::Developer => "developer",
    }
}

fn category(topic: Topic) -> &'static str {
    CATEGORIES.iter().find(|category| category.topic == topic).map_or("", |category| category.name)
}
