//! What the user sets by environment variables, checked.
//!
//! Every tunable of the engine is `CORELACE_` and its name in capitals; a value that is no number is an error that says so,
//! never silently the default. So is the algorithm of every collective that has several (`CORELACE_BCAST_ALGORITHM`). `CORELACE_CHECK` asks for checks of how the program uses MPI. `CORELACE_PROTOCOL` names the protocol that carries messages, `CORELACE_CMA` is on or off.
//! `CORELACE_WAIT` and `CORELACE_SPIN_US` say how ranks wait. `CORELACE_BOUNDS` is the list that `mpirun` makes of a profile.

use std::fmt;
use std::sync::OnceLock;

use engine::{Bounds, Protocol, Rank, Tuning};
use fabric::{Fabric, Route};
use ring::patience::{LIMIT_NS, Manner};

use crate::variables::{Control, Setting, Values, controls};

/// The environment variable that names a protocol; `mpirun --protocol` sets it.
pub const PROTOCOL_VARIABLE: &str = "CORELACE_PROTOCOL";

/// The environment variable that says where collectives change their way: all bounds in the order of their table, separated by commas. `mpirun` makes it of a profile.
pub const BOUNDS_VARIABLE: &str = "CORELACE_BOUNDS";

/// The environment variable that asks for a thread of the library's that makes progress while the program computes.
pub const AGENT_VARIABLE: &str = "CORELACE_AGENT";

/// The environment variable that says how many lanes communicators are spread over, in a process whose threads call at once.
pub const LANES_VARIABLE: &str = "CORELACE_LANES";

/// The environment variable that says how ranks wait; `mpirun --wait` sets it.
pub const WAIT_VARIABLE: &str = "CORELACE_WAIT";

/// The environment variable that says for how many microseconds a rank spins at most before it sleeps.
const SPIN_VARIABLE: &str = "CORELACE_SPIN_US";

/// What [`WAIT_VARIABLE`] can be, the default first.
pub const WAITS: [&str; 3] = ["adaptive", "spin", "sleep"];

/// The environment variable that says whether processes may read each other's memory.
const CMA_VARIABLE: &str = "CORELACE_CMA";

/// The environment variable that asks for checks of how the program uses MPI; `mpirun --check` sets it.
pub const CHECK_VARIABLE: &str = "CORELACE_CHECK";

/// The environment variable that names the initial error handler; `mpirun -initial-errhandler` sets it.
pub const INITIAL_HANDLER_VARIABLE: &str = "CORELACE_INITIAL_ERRHANDLER";

/// The user's settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    tuning: Vec<(&'static str, usize)>,
    /// Collectives and their algorithms.
    algorithms: Vec<(&'static str, &'static str)>,
    /// Where collectives change their way, if not where they usually do.
    bounds: Option<&'static Bounds>,
    /// Whether processes may read each other's memory (cross-memory attach).
    pub cma: bool,
    /// Which protocol carries messages.
    pub protocol: Protocol,
    /// How ranks wait that have nothing to do.
    pub manner: Manner,
}

/// A setting that makes no sense.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsError {
    variable: String,
    value: String,
    expected: String,
}

impl Settings {
    /// Reads the settings through `lookup`, usually `|name| std::env::var(name).ok()`.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Settings, SettingsError> {
        let mut tuning = Vec::new();
        for (name, _) in Tuning::NAMES {
            let variable = variable(name);
            if let Some(value) = lookup(&variable) {
                match value.parse() {
                    Ok(number) => tuning.push((name, number)),
                    Err(_) => {
                        return Err(SettingsError {
                            variable,
                            value,
                            expected: "a number of zero or more".into(),
                        });
                    }
                }
            }
        }
        let mut algorithms = Vec::new();
        for control in controls() {
            if let Setting::Algorithm(collective) = control.setting
                && let Some(value) = lookup(&control.environment())
            {
                algorithms.extend(algorithm(control, value)?.map(|name| (collective, name)));
            }
        }
        let bounds = lookup(BOUNDS_VARIABLE).map(bounds).transpose()?;
        let cma = cma(lookup(CMA_VARIABLE))?;
        let protocol = match lookup(PROTOCOL_VARIABLE) {
            None => Protocol::Auto,
            Some(name) => Protocol::named(&name).ok_or_else(|| SettingsError {
                variable: PROTOCOL_VARIABLE.into(),
                value: name,
                expected: format!("one of: {}", Protocol::NAMES.map(|(name, _)| name).join(" ")),
            })?,
        };
        switch(CHECK_VARIABLE, lookup(CHECK_VARIABLE))?;
        switch(AGENT_VARIABLE, lookup(AGENT_VARIABLE))?;
        InitialHandler::read(lookup(INITIAL_HANDLER_VARIABLE))?;
        lanes(lookup(LANES_VARIABLE))?;
        let manner = manner(lookup(WAIT_VARIABLE), lookup(SPIN_VARIABLE))?;
        Ok(Settings { tuning, algorithms, bounds, cma, protocol, manner })
    }

    /// Reads the settings of this process.
    pub fn from_process() -> Result<Settings, SettingsError> {
        Settings::read(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// The tuning for a fabric: its own defaults, those of the nearest route, then the user's numbers.
    pub fn tuning(&self, fabric: &dyn Fabric) -> Tuning {
        self.tuning_of(fabric.route(fabric.me()))
    }

    /// The tuning where this is the nearest route.
    fn tuning_of(&self, nearest: &Route) -> Tuning {
        let mut tuning = Tuning { protocol: self.protocol, ..Tuning::for_route(nearest) };
        for (name, value) in &self.tuning {
            assert!(tuning.set(name, *value), "{name} is a name from Tuning::NAMES");
        }
        tuning
    }

    /// The tuning of a rank that is a process, where ranks have cores of their own: for those who ask before there is one.
    pub fn tuning_of_processes(&self) -> Tuning {
        self.tuning_of(&fabric_shm::tuning::ROUTES.own)
    }

    /// Lets a rank prefer the algorithms that the user has named, and have the bounds of the profile.
    pub(crate) fn prefer(&self, rank: &Rank) {
        if let Some(bounds) = self.bounds {
            rank.set_bounds(bounds);
        }
        for (collective, algorithm) in &self.algorithms {
            rank.prefer_algorithm(collective, Some(algorithm));
        }
    }

    /// The algorithm that the user has named for a collective.
    pub fn algorithm(&self, collective: &str) -> Option<&'static str> {
        self.algorithms.iter().find(|(name, _)| *name == collective).map(|(_, algorithm)| *algorithm)
    }
}

/// The algorithm that `value` names; none if that is the table's choice.
fn algorithm(control: &Control, value: String) -> Result<Option<&'static str>, SettingsError> {
    let Values::Choice(known) = &control.values else { return Ok(None) };
    match known.iter().position(|name| *name == value) {
        Some(0) => Ok(None),
        Some(place) => Ok(Some(known[place])),
        None => Err(SettingsError {
            variable: control.environment(),
            value,
            expected: format!("one of: {}", known.join(" ")),
        }),
    }
}

/// The bounds of a list. A process has one list, and keeps it once for all of its ranks.
fn bounds(list: String) -> Result<&'static Bounds, SettingsError> {
    static SHARED: OnceLock<Bounds> = OnceLock::new();
    let read = Bounds::read(&list).ok_or_else(|| SettingsError {
        variable: BOUNDS_VARIABLE.into(),
        value: list,
        expected: format!(
            "{} numbers, as mpirun of this version makes them of a profile",
            Bounds::TABLE.len()
        ),
    })?;
    Ok(SHARED.get_or_init(|| read))
}

fn cma(value: Option<String>) -> Result<bool, SettingsError> {
    match value.as_deref() {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(SettingsError {
            variable: CMA_VARIABLE.into(),
            value: other.into(),
            expected: "on or off".into(),
        }),
    }
}

/// How ranks wait, by the values of the two variables.
fn manner(wait: Option<String>, spin: Option<String>) -> Result<Manner, SettingsError> {
    let limit_us = match spin {
        None => LIMIT_NS / 1000,
        Some(value) => {
            value.parse().ok().filter(|us| *us <= LONGEST_SPIN_US).ok_or_else(|| SettingsError {
                variable: SPIN_VARIABLE.into(),
                value,
                expected: format!("a number of microseconds, 0 to {LONGEST_SPIN_US}"),
            })?
        }
    };
    match wait.as_deref() {
        None | Some("adaptive") => Ok(Manner::Adaptive(limit_us * 1000)),
        Some("spin") => Ok(Manner::Spin),
        Some("sleep") => Ok(Manner::Sleep),
        Some(other) => Err(SettingsError {
            variable: WAIT_VARIABLE.into(),
            value: other.into(),
            expected: format!("one of: {}", WAITS.join(" ")),
        }),
    }
}

/// Ten seconds: whoever wants longer wants [`Manner::Spin`].
const LONGEST_SPIN_US: u64 = 10_000_000;

/// The microseconds of [`SPIN_VARIABLE`], and the place of the value of [`WAIT_VARIABLE`] in [`WAITS`]. Values that make no sense were refused by
/// [`Settings`].
pub(crate) fn waits_wanted() -> (u64, usize) {
    let value = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let limit = match manner(None, value(SPIN_VARIABLE)) {
        Ok(Manner::Adaptive(limit_ns)) => limit_ns,
        _ => LIMIT_NS,
    };
    let wait = value(WAIT_VARIABLE).and_then(|wait| WAITS.iter().position(|known| *known == wait));
    (limit / 1000, wait.unwrap_or(0))
}

/// Whether processes may read each other's memory. A value that makes no sense was refused by [`Settings`].
pub fn is_cma_wanted() -> bool {
    let value = std::env::var_os(CMA_VARIABLE).map(|value| value.to_string_lossy().into_owned());
    cma(value).unwrap_or(true)
}

/// Whether checks are asked for in the environment of this process. A value that makes no sense was refused by [`Settings`].
pub fn is_check_wanted() -> bool {
    is_on(CHECK_VARIABLE)
}

/// Whether a thread of the library is to make progress while the program computes.
pub fn is_agent_wanted() -> bool {
    is_on(AGENT_VARIABLE)
}

/// How many lanes communicators are spread over. A value that makes no sense was refused by [`Settings`].
pub fn lanes_wanted() -> u32 {
    let value = std::env::var_os(LANES_VARIABLE).map(|value| value.to_string_lossy().into_owned());
    lanes(value).unwrap_or(MOST_LANES)
}

const MOST_LANES: u32 = crate::lanes::LANES as u32;

fn lanes(value: Option<String>) -> Result<u32, SettingsError> {
    let Some(value) = value else { return Ok(MOST_LANES) };
    value.parse().ok().filter(|lanes| (1..=MOST_LANES).contains(lanes)).ok_or_else(|| SettingsError {
        variable: LANES_VARIABLE.into(),
        value,
        expected: format!("1 to {MOST_LANES}"),
    })
}

fn is_on(variable: &str) -> bool {
    let value = std::env::var_os(variable).map(|value| value.to_string_lossy().into_owned());
    switch(variable, value).unwrap_or(false)
}

/// The error handler that a process begins with (MPI section 9.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum InitialHandler {
    /// MPI_ERRORS_ARE_FATAL.
    #[default]
    Fatal,
    /// MPI_ERRORS_ABORT.
    Abort,
    /// MPI_ERRORS_RETURN.
    Return,
}

impl InitialHandler {
    /// The names of the standard's `mpi_initial_errhandler`.
    pub const NAMES: [(&'static str, InitialHandler); 3] = [
        ("mpi_errors_are_fatal", InitialHandler::Fatal),
        ("mpi_errors_abort", InitialHandler::Abort),
        ("mpi_errors_return", InitialHandler::Return),
    ];

    /// What the environment of this process asks for. A value that makes no sense was refused by [`Settings`].
    pub fn from_process() -> InitialHandler {
        let value = std::env::var_os(INITIAL_HANDLER_VARIABLE);
        Self::read(value.map(|value| value.to_string_lossy().into_owned())).unwrap_or_default()
    }

    fn read(value: Option<String>) -> Result<InitialHandler, SettingsError> {
        let Some(value) = value else { return Ok(InitialHandler::Fatal) };
        let known = Self::NAMES.into_iter().find(|(name, _)| *name == value);
        known.map(|(_, handler)| handler).ok_or_else(|| SettingsError {
            variable: INITIAL_HANDLER_VARIABLE.into(),
            value,
            expected: format!("one of: {}", Self::NAMES.map(|(name, _)| name).join(" ")),
        })
    }
}

/// A variable that is on or off; absent, it is off.
fn switch(variable: &str, value: Option<String>) -> Result<bool, SettingsError> {
    match value.as_deref() {
        None | Some("0" | "off" | "") => Ok(false),
        Some("1" | "on") => Ok(true),
        Some(other) => {
            Err(SettingsError { variable: variable.into(), value: other.into(), expected: "1 or 0".into() })
        }
    }
}

/// The environment variable of a tunable.
pub(crate) fn variable(name: &str) -> String {
    format!("CORELACE_{}", name.to_ascii_uppercase())
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is \"{}\", expected {}", self.variable, self.value, self.expected)
    }
}

impl std::error::Error for SettingsError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_is_no_number_is_refused_by_name() {
        let read = |value: &'static str| {
            Settings::read(move |name| (name == "CORELACE_EAGER_MAX").then(|| value.to_string()))
        };
        let error = read("4k").unwrap_err();
        assert_eq!(error.to_string(), "CORELACE_EAGER_MAX is \"4k\", expected a number of zero or more");
        assert_eq!(read("4096").unwrap().tuning, [("eager_max", 4096)]);
    }

    #[test]
    fn a_protocol_is_set_by_its_name_and_no_other() {
        let read = |value: &'static str| {
            Settings::read(move |name| (name == "CORELACE_PROTOCOL").then(|| value.to_string()))
        };
        assert_eq!(read("lwmpi-unopt").unwrap().protocol, Protocol::LwmpiUnopt);
        let error = read("fast").unwrap_err().to_string();
        assert!(error.starts_with("CORELACE_PROTOCOL is \"fast\", expected one of: auto pe "), "{error}");
    }

    #[test]
    fn an_algorithm_is_set_by_its_name_and_no_other() {
        let read = |value: &'static str| {
            Settings::read(move |name| (name == "CORELACE_BCAST_ALGORITHM").then(|| value.to_string()))
        };
        assert_eq!(read("binomial").unwrap().algorithm("bcast"), Some("binomial"));
        assert_eq!(read("auto").unwrap().algorithm("bcast"), None);
        let error = read("magic").unwrap_err().to_string();
        assert!(
            error.starts_with("CORELACE_BCAST_ALGORITHM is \"magic\", expected one of: auto "),
            "{error}"
        );
    }

    #[test]
    fn bounds_are_a_list_of_all_of_them() {
        let read = |list: String| Settings::read(move |name| (name == BOUNDS_VARIABLE).then(|| list.clone()));
        let built_in: Vec<String> = Bounds::BUILT_IN.values().iter().map(u64::to_string).collect();
        assert_eq!(read(built_in.join(",")).unwrap().bounds, Some(&Bounds::BUILT_IN));
        let error = read("4,8".into()).unwrap_err().to_string();
        let expected =
            format!("{} numbers, as mpirun of this version makes them of a profile", built_in.len());
        assert_eq!(error, format!("CORELACE_BOUNDS is \"4,8\", expected {expected}"));
    }

    #[test]
    fn there_are_as_many_lanes_as_the_user_says_and_there_can_be() {
        let read = |value: &'static str| {
            Settings::read(move |name| (name == LANES_VARIABLE).then(|| value.to_string()))
        };
        assert!(read("1").is_ok() && read("8").is_ok());
        let error = read("9").unwrap_err().to_string();
        assert_eq!(error, "CORELACE_LANES is \"9\", expected 1 to 8");
        assert!(read("0").is_err() && read("many").is_err());
        assert_eq!(lanes(None).ok(), Some(8));
    }

    #[test]
    fn ranks_wait_as_the_user_says() {
        let read = |wait: Option<&str>, spin: Option<&str>| {
            manner(wait.map(str::to_string), spin.map(str::to_string)).map_err(|error| error.to_string())
        };
        assert_eq!(read(None, None), Ok(Manner::default()));
        assert_eq!(read(Some("adaptive"), Some("250")), Ok(Manner::Adaptive(250_000)));
        assert_eq!(read(Some("spin"), None), Ok(Manner::Spin));
        assert_eq!(read(Some("sleep"), Some("9")), Ok(Manner::Sleep));
        let wrong = read(Some("hurry"), None).unwrap_err();
        assert_eq!(wrong, "CORELACE_WAIT is \"hurry\", expected one of: adaptive spin sleep");
        for value in ["-1", "4ms", "", "10000001"] {
            let wrong = read(None, Some(value)).unwrap_err();
            let expected = "a number of microseconds, 0 to 10000000";
            assert_eq!(wrong, format!("CORELACE_SPIN_US is \"{value}\", expected {expected}"));
        }
    }

    #[test]
    fn cross_memory_attach_is_on_unless_switched_off() {
        let read = |value: Option<&'static str>| {
            Settings::read(move |name| value.filter(|_| name == "CORELACE_CMA").map(str::to_string))
        };
        assert!(read(None).unwrap().cma);
        assert!(!read(Some("off")).unwrap().cma);
        assert!(read(Some("maybe")).is_err());
    }
}
