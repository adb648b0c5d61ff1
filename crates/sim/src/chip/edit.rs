//! Copies of a description with other numbers: everything else of the text, comments too, stays as it is.

use super::base;
use super::fact::{CHOSEN, Fact, Provenance};

/// The text with each first fact, which was read from it, written as the second says: value, unit and provenance. A description with a base
/// becomes a complete one.
pub fn rewrite(text: &str, changes: &[(&Fact, Fact)]) -> Result<String, String> {
    let complete = base::complete(text, "the description").map_err(|error| error.to_string())?;
    let text = complete.as_deref().unwrap_or(text);
    let mut ordered: Vec<&(&Fact, Fact)> = changes.iter().collect();
    ordered.sort_by_key(|(fact, _)| fact.span.start);
    let (mut copy, mut done) = (String::new(), 0);
    for (old, new) in ordered {
        let Some(before) = text.get(done..old.span.start).filter(|_| written_in_braces(text, old)) else {
            return Err(format!(
                "{}, line {}, is not written as {{ value = …, unit = \"…\", … }}: a copy with another number cannot be made",
                old.path, old.line
            ));
        };
        copy += before;
        copy += &in_braces(new);
        done = old.span.end;
    }
    Ok(copy + &text[done..])
}

/// The text of a description with other values of some numbers, by their paths; `facts` are the numbers of the same text.
pub fn changed(text: &str, facts: &[Fact], changes: &[(&str, &str)]) -> Result<String, String> {
    let mut written = Vec::new();
    for (path, value) in changes {
        let fact = find(facts, path)?;
        written.push((fact, Fact { value: (*value).to_owned(), ..fact.clone() }));
    }
    rewrite(text, &written)
}

/// The number at a path.
pub(super) fn find<'f>(facts: &'f [Fact], path: &str) -> Result<&'f Fact, String> {
    facts.iter().find(|fact| fact.path == path).ok_or_else(|| format!("there is no number {path}"))
}

fn written_in_braces(text: &str, fact: &Fact) -> bool {
    text.get(fact.span.clone()).is_some_and(|written| written.starts_with('{'))
}

fn in_braces(fact: &Fact) -> String {
    let unit = if fact.unit.is_empty() { String::new() } else { format!("unit = {}, ", quoted(&fact.unit)) };
    let list = |key: &str, names: &[String]| match names {
        [] => String::new(),
        names => {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            format!(", {key} = [{}]", names.join(", "))
        }
    };
    let provenance = match &fact.provenance {
        Provenance::From(source) => format!("from = {}", quoted(source)),
        Provenance::Chosen { why, knowing } => {
            format!("from = {}{}", quoted(&format!("{CHOSEN}{why}")), list("knowing", knowing))
        }
        Provenance::Calibrated { what, by } => format!("calibrated = {}{}", quoted(what), list("by", by)),
    };
    format!("{{ value = {}, {unit}{provenance} }}", fact.value)
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => quoted += &format!("\\u{:04x}", control as u32),
            plain => quoted.push(plain),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BUILTIN, Chip};

    #[test]
    fn a_copy_says_the_new_number_and_everything_else_as_before() {
        for (name, text) in BUILTIN {
            let chip = Chip::from_toml(text, name).expect("it ships");
            let old = chip.facts.iter().find(|fact| fact.path == "clock.frequency").expect("all have it");
            let provenance =
                Provenance::Calibrated { what: "my \"own\"\tclock".into(), by: vec!["a.clock".into()] };
            let new = Fact { value: "123".into(), unit: "MHz".into(), provenance, ..old.clone() };
            let copy = rewrite(text, &[(old, new.clone())]).expect("it is written in braces");
            let read = Chip::from_toml(&copy, name).expect("still a description");
            assert_eq!(read.clock_hz, 123_000_000);
            for (before, after) in chip.facts.iter().zip(&read.facts) {
                let expected = if before == old { &new } else { before };
                assert_eq!(
                    (&after.path, &after.value, &after.unit),
                    (&expected.path, &expected.value, &expected.unit)
                );
                assert_eq!(after.provenance, expected.provenance);
            }
            let unchanged: Vec<(&Fact, Fact)> = chip.facts.iter().map(|fact| (fact, fact.clone())).collect();
            let same =
                Chip::from_toml(&rewrite(text, &unchanged).expect("in braces"), name).expect("the same");
            assert!(
                same.facts
                    .iter()
                    .zip(&chip.facts)
                    .all(|(a, b)| a.value == b.value && a.provenance == b.provenance)
            );
        }
    }

    #[test]
    fn a_number_that_is_a_section_of_its_own_is_refused_by_name_and_line() {
        let (name, text) = BUILTIN[3];
        let section = "[clock.frequency]\nvalue = 1\nunit = \"GHz\"\nfrom = \"chosen: round\"\n";
        let text = text
            .replace("[clock]\n", "")
            .lines()
            .filter(|line| !line.starts_with("frequency"))
            .fold(String::new(), |text, line| text + line + "\n")
            + section;
        let chip = Chip::from_toml(&text, name).expect("the same chip");
        let fact = chip.facts.iter().find(|fact| fact.path == "clock.frequency").expect("it is there");
        let refusal = rewrite(&text, &[(fact, fact.clone())]).expect_err("it is no inline table");
        assert!(refusal.starts_with("clock.frequency, line "), "{refusal}");
    }
}
