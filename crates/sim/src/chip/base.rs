//! A description that is another one with some numbers changed: `base = "NAME"`.
//!
//! What it has besides `name` and `description` are sections with the keys that differ, each on a line of its own. The sections of an I/O
//! subsystem are called by its name, `[io.north.ddr]`. Lines of the base give way to them, and what comes out is read as any other description: an
//! error in it is told with the line of the base.

use super::{BUILTIN, ChipError};

/// The description with its base filled in; as it is, if it has none.
pub(super) fn complete(text: &str, origin: &str) -> Result<Option<String>, ChipError> {
    let refuse =
        |line: usize, reason: String| ChipError { origin: origin.to_owned(), line: line + 1, reason };
    let Some((at, value)) = lines(text)
        .find_map(|line| (line.section.is_empty() && line.key == "base").then_some((line.at, line.value)))
    else {
        return Ok(None);
    };
    let name = value.trim().trim_matches('"');
    let Some((_, base)) = BUILTIN.iter().find(|(builtin, text)| *builtin == name && !has_base(text)) else {
        return Err(refuse(at, format!("base: there is no description \"{name}\" that is complete")));
    };
    let mut written: Vec<&str> = base.lines().collect();
    for change in lines(text).filter(|change| change.at != at) {
        let Some(old) = lines(base).find(|old| old.section == change.section && old.key == change.key) else {
            let path = if change.section.is_empty() {
                change.key.to_owned()
            } else {
                format!("{}.{}", change.section, change.key)
            };
            return Err(refuse(change.at, format!("{path}: \"{name}\" has no such line to change")));
        };
        written[old.at] = change.text;
    }
    Ok(Some(written.join("\n") + "\n"))
}

fn has_base(text: &str) -> bool {
    lines(text).any(|line| line.section.is_empty() && line.key == "base")
}

/// A line `key = …`, and where it stands.
struct Line<'t> {
    at: usize,
    section: String,
    key: &'t str,
    value: &'t str,
    text: &'t str,
}

/// All lines that set a key, with the path of their section.
fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut section = String::new();
    let mut io = String::new();
    text.lines().enumerate().filter_map(move |(at, text)| {
        if let Some(header) = text.strip_prefix('[') {
            let path = header.trim_start_matches('[').split(']').next().unwrap_or_default();
            section = match path.strip_prefix("io.") {
                // Of the subsystem above, where it is not called by name.
                Some(below) if !io.is_empty() && !below.starts_with(&io) => format!("io.{io}.{below}"),
                _ => path.to_owned(),
            };
            return None;
        }
        let (key, value) = text.split_once('=').filter(|(key, _)| !key.starts_with(['#', ' ', '[']))?;
        let key = key.trim();
        if section == "io" && key == "name" {
            io = value.trim().trim_matches('"').to_owned();
            section = format!("io.{io}");
        }
        Some(Line { at, section: section.clone(), key, value, text })
    })
}

#[cfg(test)]
mod tests {
    use super::super::Chip;

    const FASTER: &str = "name = \"faster\"\nbase = \"mppa256-bostan\"\n\n[clock]\nfrequency = { value = 1, unit = \"GHz\", from = \"chosen: a what-if\" }\n\n[io.south.ddr]\nread = { value = 17, unit = \"GB/s\", from = \"chosen: a what-if\" }\n";

    #[test]
    fn lines_of_the_base_give_way_and_all_others_stay() {
        let (base, faster) =
            (Chip::builtin("mppa256-bostan").unwrap(), Chip::from_toml(FASTER, "faster.toml").unwrap());
        assert_eq!((faster.name.as_str(), faster.clock_hz), ("faster", 1_000_000_000));
        assert_eq!((faster.cluster, &faster.positions), (base.cluster, &base.positions));
        let read = |chip: &Chip, io: usize| {
            chip.io[io].ddr.unwrap().read_per_byte.of(1_000_000) as f64 / chip.clock_hz as f64
        };
        assert!((read(&faster, 0) / read(&base, 0) - 1.0).abs() < 1e-3);
        assert!((read(&faster, 1) / read(&base, 1) - 0.5).abs() < 1e-3);
    }

    #[test]
    fn a_base_or_a_line_that_is_not_there_is_refused() {
        let refused = |old: &str, new: &str| {
            Chip::from_toml(&FASTER.replace(old, new), "f.toml").unwrap_err().to_string()
        };
        assert_eq!(
            refused("mppa256-bostan", "nothing"),
            "f.toml:2: base: there is no description \"nothing\" that is complete"
        );
        assert_eq!(
            refused("mppa256-bostan", "mppa256-bostan-400"),
            "f.toml:2: base: there is no description \"mppa256-bostan-400\" that is complete"
        );
        assert_eq!(
            refused("frequency", "frequence"),
            "f.toml:5: clock.frequence: \"mppa256-bostan\" has no such line to change"
        );
    }
}
