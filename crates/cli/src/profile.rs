//! Profiles: where protocols and collectives change their way on one machine, in a file that `corelace bench --tune` writes and `mpirun` reads.
//!
//! The library knows nothing of files. `mpirun` hands it the bounds as one list in one variable, and the limits of messages by the variables that they have anyway; what the user
//! has set by such a variable himself counts more.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use runtime::variables::{Setting, controls};
use runtime::{BOUNDS_VARIABLE, Bound, Bounds};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::flags;

/// The environment variable that names a profile.
pub const VARIABLE: &str = "CORELACE_PROFILE";

/// What a profile sets.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Profile {
    /// Where it was read.
    pub file: PathBuf,
    /// Bounds of algorithms, and their values.
    pub bounds: Vec<(Bound, u64)>,
    /// Limits of messages: their names and values.
    pub limits: Vec<(&'static str, u64)>,
}

/// Of what machine a profile is, and when it was made.
pub struct Origin {
    /// What its processor is called.
    pub machine: String,
    /// How many cores were used.
    pub cores: usize,
    /// The day.
    pub date: String,
}

/// The keys of a profile's section about itself, which are for people.
const ABOUT: [&str; 4] = ["machine", "cores", "date", "version"];

impl Profile {
    /// The one that the flag names, or the environment.
    pub fn wanted(flag: Option<&Path>) -> Result<Option<Profile>, String> {
        match (flag, std::env::var_os(VARIABLE)) {
            (Some(file), _) => Profile::read("--profile", file).map(Some),
            (None, Some(file)) if !file.is_empty() => Profile::read(VARIABLE, Path::new(&file)).map(Some),
            _ => Ok(None),
        }
    }

    fn read(argument: &str, file: &Path) -> Result<Profile, String> {
        let text = std::fs::read_to_string(file).map_err(|error| {
            format!(
                "{argument} is \"{}\": {error}, expected a file from `corelace bench --tune --output FILE`",
                file.display()
            )
        })?;
        Profile::parse(&text, file)
    }

    fn parse(text: &str, file: &Path) -> Result<Profile, String> {
        let source = Source { text, file };
        let table = DeTable::parse(text).map_err(|error| {
            source.error(error.span().unwrap_or_default(), &error.message().replace('\n', "; "))
        })?;
        let mut profile = Profile { file: file.to_owned(), ..Profile::default() };
        for (section, value) in table.get_ref() {
            let name: &str = section.get_ref();
            if !["about", "bounds", "limits"].contains(&name) {
                return Err(source.error(
                    section.span(),
                    &format!("{name}: no such section, expected about, bounds or limits"),
                ));
            }
            for entry in source.entries(name, value)? {
                match name {
                    "bounds" => profile.bounds.push(source.bound(&entry)?),
                    "limits" => profile.limits.push(source.limit(&entry)?),
                    _ if ABOUT.contains(&entry.key.as_str()) => {}
                    _ => return Err(source.unknown(&entry, "such line about a profile", ABOUT.into_iter())),
                }
            }
        }
        Ok(profile)
    }

    /// All bounds, those of the profile among them.
    pub fn all_bounds(&self) -> Bounds {
        let mut bounds = Bounds::BUILT_IN;
        for (bound, value) in &self.bounds {
            bounds.set(*bound, *value);
        }
        bounds
    }

    /// The variables that tell ranks of it. Limits are those of messages between processes; of those that `is_set` says have been set already there are none.
    pub fn environment(&self, processes: bool, is_set: impl Fn(&str) -> bool) -> Vec<(OsString, OsString)> {
        let limits = self.limits.iter().map(|(name, value)| (variable(name), value.to_string()));
        let limits = limits.filter(|(variable, _)| processes && !is_set(variable));
        let bounds =
            (!self.bounds.is_empty()).then(|| (BOUNDS_VARIABLE.to_owned(), list(&self.all_bounds())));
        limits.chain(bounds).map(|(name, value)| (name.into(), value.into())).collect()
    }

    /// The file. `remark` says something of a line, by its name.
    pub fn text(&self, origin: &Origin, remark: impl Fn(&str) -> String) -> String {
        let mut out = format!(
            "# Where Corelace changes its way on this machine: `mpirun --profile FILE` or CORELACE_PROFILE=FILE.\n\
             # Written by `corelace bench --tune`; what is not here is as built in (`corelace vars` lists all bounds).\n\n\
             [about]\nmachine = {}\ncores = {}\ndate = {}\nversion = {}\n",
            quoted(&origin.machine),
            origin.cores,
            quoted(&origin.date),
            quoted(env!("CARGO_PKG_VERSION")),
        );
        let mut section = |title: &str, lines: Vec<(&str, u64)>| {
            _ = writeln!(out, "\n[{title}]");
            for (name, value) in lines {
                _ = writeln!(out, "{name} = {value}  # {}", remark(name));
            }
        };
        section("bounds", self.bounds.iter().map(|(bound, value)| (name(*bound), *value)).collect());
        section("limits", self.limits.clone());
        out
    }
}

/// What profiles call a bound.
pub fn name(bound: Bound) -> &'static str {
    Bounds::TABLE[bound as usize].name
}

/// The value of [`BOUNDS_VARIABLE`].
pub fn list(bounds: &Bounds) -> String {
    let values: Vec<String> = bounds.values().iter().map(u64::to_string).collect();
    values.join(",")
}

/// Names of the limits of messages, and the variables that set them.
fn limits() -> impl Iterator<Item = (&'static str, String)> {
    controls().iter().filter_map(|control| match control.setting {
        Setting::Threshold(name) => Some((name, control.environment())),
        _ => None,
    })
}

/// The variable that sets a limit.
pub fn variable(limit: &str) -> String {
    limits().find(|(name, _)| *name == limit).map(|(_, variable)| variable).unwrap_or_default()
}

fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|letter| match letter {
        '"' | '\\' => format!("\\{letter}"),
        letter if letter.is_control() => format!("\\u{:04x}", u32::from(letter)),
        letter => letter.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// The text that errors refer to.
struct Source<'t> {
    text: &'t str,
    file: &'t Path,
}

/// A line of a section.
struct Entry<'t> {
    section: &'t str,
    /// With dots, where the file has tables in tables.
    key: String,
    value: &'t Spanned<DeValue<'t>>,
}

impl<'t> Source<'t> {
    /// The lines of a section, tables in it taken apart.
    fn entries(&self, section: &'t str, value: &'t Spanned<DeValue<'t>>) -> Result<Vec<Entry<'t>>, String> {
        let DeValue::Table(table) = value.get_ref() else {
            let written = self.written(value.span());
            return Err(
                self.error(value.span(), &format!("{section} is {written}, expected a section, [{section}]"))
            );
        };
        let mut found = Vec::new();
        gather(section, "", table, &mut found);
        Ok(found)
    }

    fn bound(&self, entry: &Entry<'_>) -> Result<(Bound, u64), String> {
        let known = Bounds::TABLE.iter().find(|known| known.name == entry.key);
        let names = Bounds::TABLE.iter().map(|known| known.name);
        let known = known.ok_or_else(|| self.unknown(entry, "bound of this name", names))?;
        Ok((known.bound, self.number(entry)?))
    }

    fn limit(&self, entry: &Entry<'_>) -> Result<(&'static str, u64), String> {
        let known = limits().map(|(name, _)| name).find(|name| *name == entry.key);
        let known =
            known.ok_or_else(|| self.unknown(entry, "limit of this name", limits().map(|(name, _)| name)))?;
        Ok((known, self.number(entry)?))
    }

    fn number(&self, entry: &Entry<'_>) -> Result<u64, String> {
        let number = entry.value.get_ref().as_integer();
        let number = number.and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        number.ok_or_else(|| {
            let what = if entry.key.ends_with("members") { "members" } else { "bytes" };
            let what = if entry.key == "poll_limit" { "letters" } else { what };
            let (section, key, written) = (entry.section, &entry.key, self.written(entry.value.span()));
            self.error(
                entry.value.span(),
                &format!("{section}.{key} is {written}, expected a number of {what}, 0 or more"),
            )
        })
    }

    fn unknown<'n>(&self, entry: &Entry<'_>, what: &str, known: impl Iterator<Item = &'n str>) -> String {
        let nearest = flags::nearest(&entry.key, known).map(|known| format!("; did you mean {known}?"));
        let (section, key, written) = (entry.section, &entry.key, self.written(entry.value.span()));
        let hint = nearest.unwrap_or_default();
        self.error(
            entry.value.span(),
            &format!("{section}.{key} is {written}: there is no {what}{hint} (corelace vars lists all)"),
        )
    }

    fn written(&self, span: Range<usize>) -> &'t str {
        &self.text[span]
    }

    fn error(&self, span: Range<usize>, reason: &str) -> String {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        format!("{}:{line}: {reason}", self.file.display())
    }
}

fn gather<'t>(section: &'t str, path: &str, table: &'t DeTable<'t>, found: &mut Vec<Entry<'t>>) {
    for (key, value) in table {
        let key = format!("{path}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(below) => gather(section, &format!("{key}."), below, found),
            _ => found.push(Entry { section, key, value }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Profile, String> {
        Profile::parse(text, Path::new("p.toml"))
    }

    #[test]
    fn what_is_written_is_read_again() {
        let bounds = vec![(Bound::AllreduceShortBytes, 65536), (Bound::BarrierExchangeMembers, 8)];
        let limits = vec![("eager_max", 4096)];
        let profile = Profile { file: "p.toml".into(), bounds, limits };
        let origin = Origin { machine: "two \"cores\"".into(), cores: 2, date: "today".into() };
        let text = profile.text(&origin, |name| format!("of {name}"));
        let mut read = parsed(&text).unwrap();
        read.bounds.sort_by_key(|(_, value)| std::cmp::Reverse(*value));
        assert_eq!(read, profile, "{text}");
    }

    #[test]
    fn ranks_are_told_all_bounds_and_the_limits_that_are_not_set_already() {
        let profile =
            parsed("[bounds]\nbarrier.exchange-members = 99\n[limits]\neager_max = 1\nshare_min = 2")
                .unwrap();
        let variables = profile.environment(true, |name| name == "CORELACE_EAGER_MAX");
        let list = Bounds::BUILT_IN
            .values()
            .iter()
            .skip(1)
            .fold("99".to_owned(), |list, value| format!("{list},{value}"));
        assert_eq!(
            variables,
            [("CORELACE_SHARE_MIN".into(), "2".into()), ("CORELACE_BOUNDS".into(), list.into())]
        );
        assert_eq!(profile.environment(false, |_| false).len(), 1, "limits are those of processes");
        assert!(parsed("[bounds]\n").unwrap().environment(true, |_| false).is_empty());
    }

    #[test]
    fn mistakes_are_answered_with_file_line_key_value_and_expectation() {
        for (text, expected) in [
            (
                "[bounds]\nallreduce.short-byte = 9",
                "p.toml:2: bounds.allreduce.short-byte is 9: there is no bound of this name; did you mean \
                 allreduce.short-bytes? (corelace vars lists all)",
            ),
            (
                "\n[bounds]\nallreduce.short-bytes = \"64K\"",
                "p.toml:3: bounds.allreduce.short-bytes is \"64K\", expected a number of bytes, 0 or more",
            ),
            (
                "[bounds]\nbarrier.exchange-members = -1",
                "p.toml:2: bounds.barrier.exchange-members is -1, expected a number of members, 0 or more",
            ),
            (
                "[bounds]\nbarrier.exchange-members = 1.5",
                "p.toml:2: bounds.barrier.exchange-members is 1.5, expected a number of members, 0 or more",
            ),
            (
                "[limits]\neager_min = 1",
                "p.toml:2: limits.eager_min is 1: there is no limit of this name; did you mean eager_max? \
                 (corelace vars lists all)",
            ),
            ("limits = 3", "p.toml:1: limits is 3, expected a section, [limits]"),
            ("[bound]\n", "p.toml:1: bound: no such section, expected about, bounds or limits"),
        ] {
            assert_eq!(parsed(text).unwrap_err(), expected);
        }
        let broken = parsed("[bounds]\nbarrier.exchange-members = \n").unwrap_err();
        assert!(broken.starts_with("p.toml:2: "), "{broken}");
        let missing = Profile::read("--profile", Path::new("not/there.toml")).unwrap_err();
        assert!(missing.starts_with("--profile is \"not/there.toml\": No such file"), "{missing}");
    }
}
