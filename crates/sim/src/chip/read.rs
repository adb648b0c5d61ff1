//! Reading a chip file: sections, texts and numbers with their provenance, and for everything that is wrong the line.
//!
//! A section remembers what was asked for, so that [`Section::finish`] can refuse what nobody knows: a misspelled key would otherwise
//! be a number that silently has no effect.

use std::cell::{Cell, RefCell};
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fact::{CHOSEN, Fact, Provenance};
use super::nearest::nearest;
use super::schema::COST_MAX;
use super::unit::Kind;
use super::{ChipError, Position};
use crate::Rate;

/// The text that errors and facts refer to.
pub(super) struct Source<'t> {
    text: &'t str,
    origin: &'t str,
    /// The reference clock, as soon as it was read: what a nanosecond is.
    clock_hz: Cell<u64>,
    facts: RefCell<Vec<Fact>>,
    /// Where their values stand in the text.
    recorded: RefCell<Vec<usize>>,
}

/// A table of the file.
pub(super) struct Section<'t> {
    source: &'t Source<'t>,
    path: String,
    line: usize,
    span: Range<usize>,
    table: &'t DeTable<'t>,
    /// Where what is not in the table is looked for, one after the other.
    behind: Vec<&'t DeTable<'t>>,
    asked: RefCell<Vec<String>>,
}

type Result<T> = std::result::Result<T, ChipError>;

impl<'t> Source<'t> {
    pub(super) fn new(text: &'t str, origin: &'t str) -> Self {
        Self {
            text,
            origin,
            clock_hz: Cell::new(0),
            facts: RefCell::new(Vec::new()),
            recorded: RefCell::default(),
        }
    }

    pub(super) fn parse(&self) -> Result<Spanned<DeTable<'t>>> {
        DeTable::parse(self.text).map_err(|error| {
            let line = error.span().map_or(1, |span| self.line(span));
            self.error(line, error.message().to_string())
        })
    }

    /// The numbers that were read, in the order of the file.
    pub(super) fn into_facts(self) -> Vec<Fact> {
        let mut facts = self.facts.into_inner();
        put_in_order(&mut facts, &|fact| fact.line);
        facts
    }

    fn line(&self, span: Range<usize>) -> usize {
        let start = span.start.min(self.text.len());
        1 + self.text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count()
    }

    fn written(&self, span: Range<usize>) -> String {
        let words: Vec<&str> = self.text[span].split_whitespace().collect();
        words.join(" ")
    }

    fn error(&self, line: usize, reason: String) -> ChipError {
        ChipError { origin: self.origin.to_string(), line, reason }
    }
}

impl<'t> Section<'t> {
    pub(super) fn root(source: &'t Source<'t>, table: &'t DeTable<'t>) -> Self {
        Self {
            source,
            path: String::new(),
            line: 1,
            span: 0..0,
            table,
            behind: Vec::new(),
            asked: RefCell::default(),
        }
    }

    pub(super) fn text(&self, key: &str) -> Result<String> {
        let value = self.value(key)?;
        match value.get_ref().as_str() {
            Some("") => Err(self.refuse(key, "is empty")),
            Some(text) => Ok(text.to_string()),
            None => Err(self.wrong_type(key, value, "a text in quotes")),
        }
    }

    pub(super) fn section(&self, key: &str) -> Result<Section<'t>> {
        let value = self.value(key)?;
        self.below(self.path_of(key), key, value)
    }

    /// The sub-sections of a section whose names the file chooses.
    pub(super) fn named_sections(&self) -> Result<Vec<(String, Section<'t>)>> {
        let mut sections = Vec::new();
        for (key, value) in self.table.iter() {
            let name = key.get_ref().to_string();
            self.asked.borrow_mut().push(name.clone());
            let section = self.below(self.path_of(&name), &name, value)?;
            sections.push((name, section));
        }
        put_in_order(&mut sections, &|(_, section)| section.line);
        Ok(sections)
    }

    /// All texts of a section whose names the file chooses, in its order.
    pub(super) fn texts(&self) -> Result<Vec<(String, String)>> {
        let mut keys: Vec<_> = self.table.keys().collect();
        put_in_order(&mut keys, &|key| key.span().start);
        keys.into_iter().map(|key| Ok((key.get_ref().to_string(), self.text(key.get_ref())?))).collect()
    }

    /// The sections of `[[key]]`, none if there are none. Their path is that of the list until [`Section::called`].
    pub(super) fn sections(&self, key: &str) -> Result<Vec<Section<'t>>> {
        if !self.has(key) {
            return Ok(Vec::new());
        }
        let value = self.value(key)?;
        let Some(array) = value.get_ref().as_array() else {
            return Err(self.wrong_type(key, value, "a list of sections, [[…]]"));
        };
        array.iter().map(|value| self.below(self.path_of(key), key, value)).collect()
    }

    /// Adds a name to the path.
    pub(super) fn called(mut self, name: &str) -> Self {
        self.path = self.path_of(name);
        self
    }

    /// The same section, in which what is missing is as in the other.
    pub(super) fn like(mut self, other: &Section<'t>) -> Self {
        self.behind.push(other.table);
        self.behind.extend(&other.behind);
        self
    }

    /// The sub-section of that name, in which what is missing is as in those of the same name behind it.
    pub(super) fn merged(&self, key: &str) -> Result<Section<'t>> {
        let mut section = self.section(key)?;
        let tables = std::iter::once(&self.table).chain(&self.behind);
        let others = tables.filter_map(|table| table.get(key)?.get_ref().as_table());
        section.behind.extend(others.filter(|other| !std::ptr::eq(*other, section.table)));
        Ok(section)
    }

    /// Whether the key is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.asked.borrow_mut().push(key.to_string());
        self.find(key).is_some()
    }

    fn find(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        std::iter::once(&self.table).chain(&self.behind).find_map(|table| table.get(key))
    }

    /// A number, in the integer unit of its kind.
    pub(super) fn number(&self, key: &str, kind: Kind, range: RangeInclusive<u64>) -> Result<u64> {
        let entry = self.section(key)?;
        let value = entry.value("value")?;
        let written = match value.get_ref() {
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
            DeValue::Float(float) => float.as_str(),
            _ => return Err(entry.wrong_type("value", value, "a decimal number")),
        };
        let number: f64 = written
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
            .ok_or_else(|| entry.refuse("value", format!("is no finite number: {written}")))?;
        let unit = entry.text("unit")?;
        let Some(scale) = kind.scale(&unit, self.source.clock_hz.get() as f64) else {
            let reason = format!("\"{unit}\" does not fit here: expected {}", kind.accepted());
            return Err(entry.refuse("unit", reason));
        };
        let exact = scale.apply(number);
        let scaled = exact.round();
        if (exact - scaled).abs() > scale.tolerance(exact) {
            let reason = format!("{number} {unit} is finer than the model counts");
            return Err(entry.refuse("value", reason));
        }
        if !(*range.start() as f64..=*range.end() as f64).contains(&scaled) {
            let (low, high) = scale.back(*range.start() as f64, *range.end() as f64);
            let reason = format!("{number} {unit} is out of range: expected {low} to {high} {unit}");
            return Err(entry.refuse("value", reason));
        }
        entry.record("value", unit)?;
        Ok(scaled as u64)
    }

    /// A time a byte.
    pub(super) fn rate(&self, key: &str) -> Result<Rate> {
        self.number(key, Kind::CyclesPerByte, 0..=COST_MAX * Rate::STEPS).map(Rate::from_steps)
    }

    /// From now on numbers may be in seconds.
    pub(super) fn set_clock(&self, clock_hz: u64) {
        self.source.clock_hz.set(clock_hz);
    }

    /// Positions in the grid, each with its line.
    pub(super) fn positions(&self, key: &str) -> Result<Vec<(Position, usize)>> {
        let entry = self.section(key)?;
        let value = entry.value("value")?;
        let expected = "a list of positions, [[column, row], …]";
        let Some(array) = value.get_ref().as_array() else {
            return Err(entry.wrong_type("value", value, expected));
        };
        let mut positions = Vec::new();
        for pair in array.iter() {
            let line = self.source.line(pair.span());
            let coordinates = pair.get_ref().as_array().map(|pair| {
                let coordinate = |value: &Spanned<DeValue<'_>>| {
                    value.get_ref().as_integer().and_then(|integer| integer.as_str().parse().ok())
                };
                pair.iter().map(coordinate).collect::<Vec<Option<u16>>>()
            });
            match coordinates.as_deref() {
                Some([Some(x), Some(y)]) => positions.push((Position { x: *x, y: *y }, line)),
                _ => {
                    let written = self.source.written(pair.span());
                    let reason = format!("{}: {written} is no position: expected [column, row]", entry.path);
                    return Err(self.source.error(line, reason));
                }
            }
        }
        entry.record("value", String::new())?;
        Ok(positions)
    }

    /// A number whose unit may be any, for files that are lists of numbers. Nothing but its provenance is checked.
    pub(super) fn any_number(&self) -> Result<()> {
        let unit = if self.has("unit") { self.text("unit")? } else { String::new() };
        self.record("value", unit)
    }

    /// A list of names; none if the key is not there.
    pub(super) fn names(&self, key: &str) -> Result<Vec<String>> {
        if self.has(key) { self.name_list(key, self.value(key)?) } else { Ok(Vec::new()) }
    }

    /// A list of lists of names; none if the key is not there.
    pub(super) fn lists_of_names(&self, key: &str) -> Result<Vec<Vec<String>>> {
        if !self.has(key) {
            return Ok(Vec::new());
        }
        let value = self.value(key)?;
        let Some(lists) = value.get_ref().as_array() else {
            return Err(self.wrong_type(key, value, "a list of lists of names, [[\"…\", …], …]"));
        };
        lists.iter().map(|list| self.name_list(key, list)).collect()
    }

    fn name_list(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>> {
        let list = value.get_ref().as_array();
        let names: Option<Vec<&str>> =
            list.and_then(|list| list.iter().map(|name| name.get_ref().as_str()).collect());
        match names {
            Some(names) if names.is_empty() || names.contains(&"") => Err(self.refuse(key, "is empty")),
            Some(names) => Ok(names.into_iter().map(String::from).collect()),
            None => Err(self.wrong_type(key, value, "a list of names, [\"…\", …]")),
        }
    }

    /// Numbers without unit and provenance, as written, under the names that the file chooses: other values of numbers that have both.
    pub(super) fn plain_numbers(&self, key: &str) -> Result<Vec<(String, String)>> {
        let section = self.section(key)?;
        let number = |name: &str, value: &Spanned<DeValue<'_>>| match value.get_ref() {
            DeValue::Integer(_) | DeValue::Float(_) => Ok(self.source.written(value.span())),
            _ => Err(section.wrong_type(name, value, "a number")),
        };
        section
            .table
            .iter()
            .map(|(name, value)| Ok((name.get_ref().to_string(), number(name.get_ref(), value)?)))
            .collect()
    }

    /// Refuses keys that nobody asked for.
    pub(super) fn finish(&self) -> Result<()> {
        let asked = self.asked.borrow();
        let unknown = self.table.keys().filter(|key| !asked.iter().any(|known| known == key.get_ref()));
        // The first in the file, whatever order the table has.
        let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(()) };
        let meant = nearest(key.get_ref(), asked.iter().map(String::as_str));
        let meant = meant.map_or(String::new(), |name| format!("; did you mean '{name}'?"));
        let line = self.source.line(key.span());
        Err(self.source.error(line, format!("unknown key '{}'{meant}", self.path_of(key.get_ref()))))
    }

    /// An error at a key.
    pub(super) fn refuse(&self, key: &str, reason: impl AsRef<str>) -> ChipError {
        self.refuse_line(self.line_of(key), key, reason)
    }

    /// An error at a line that belongs to a key.
    pub(super) fn refuse_line(&self, line: usize, key: &str, reason: impl AsRef<str>) -> ChipError {
        self.source.error(line, format!("{}: {}", self.path_of(key), reason.as_ref()))
    }

    /// Notes a number with where it comes from, and refuses it if nobody says so.
    fn record(&self, key: &str, unit: String) -> Result<()> {
        let provenance = match (self.has("from"), self.has("calibrated")) {
            (true, false) => {
                let from = self.text("from")?;
                match from.strip_prefix(CHOSEN) {
                    Some(why) => Provenance::Chosen { why: why.to_string(), knowing: self.names("knowing")? },
                    None => Provenance::From(from),
                }
            }
            (false, true) => Provenance::Calibrated { what: self.text("calibrated")?, by: self.names("by")? },
            (true, true) => {
                return Err(self.refuse("from", "stands beside 'calibrated': a number has one provenance"));
            }
            (false, false) => {
                let reason = format!(
                    "{}: a number without provenance: add from = \"where it is published\" or calibrated = \"by which figure\"",
                    self.path
                );
                return Err(self.source.error(self.line, reason));
            }
        };
        self.finish()?;
        let span = self.value(key)?.span();
        let value = self.source.written(span.clone());
        let line = self.source.line(span.clone());
        let mut facts = self.source.facts.borrow_mut();
        // A number that several sections share is one fact, of the section that it stands in.
        let mut known = self.source.recorded.borrow_mut();
        if !known.contains(&span.start) {
            known.push(span.start);
            facts.push(Fact {
                path: self.path.clone(),
                value,
                unit,
                provenance,
                line,
                span: self.span.clone(),
            });
        }
        Ok(())
    }

    fn value(&self, key: &str) -> Result<&'t Spanned<DeValue<'t>>> {
        self.asked.borrow_mut().push(key.to_string());
        self.find(key).ok_or_else(|| self.missing(key))
    }

    /// A missing key may be there in another spelling.
    fn missing(&self, key: &str) -> ChipError {
        let asked = self.asked.borrow();
        let unknown = self.table.keys().map(|key| key.get_ref().as_ref());
        let misspelled = nearest(key, unknown.filter(|key| !asked.iter().any(|known| known == key)));
        let path = self.path_of(key);
        match misspelled {
            Some(other) => {
                let reason = format!("missing key '{path}'; is '{other}' meant to be it?");
                self.source.error(self.line_of(other), reason)
            }
            None => self.source.error(self.line, format!("missing key '{path}'")),
        }
    }

    fn below(&self, path: String, key: &str, value: &'t Spanned<DeValue<'t>>) -> Result<Section<'t>> {
        let line = self.source.line(value.span());
        match value.get_ref().as_table() {
            Some(table) => Ok(Section {
                source: self.source,
                path,
                line,
                span: value.span(),
                table,
                behind: Vec::new(),
                asked: RefCell::default(),
            }),
            None => {
                let expected =
                    "a number with provenance, { value = …, unit = \"…\", from = \"…\" }, or a section";
                Err(self.wrong_type(key, value, expected))
            }
        }
    }

    fn wrong_type(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) -> ChipError {
        let found = self.source.written(value.span());
        let line = self.source.line(value.span());
        let kind = value.get_ref().type_str();
        self.refuse_line(line, key, format!("{found} is of type {kind}: expected {expected}"))
    }

    fn line_of(&self, key: &str) -> usize {
        self.find(key).map_or(self.line, |value| self.source.line(value.span()))
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) }
    }
}

/// Sorts by places in a file. The standard library's sorts would be kilobytes of every copy of the library, for lists as short as a file's sections.
fn put_in_order<T>(items: &mut [T], place: &dyn Fn(&T) -> usize) {
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && place(&items[at]) < place(&items[at - 1]) {
            items.swap(at, at - 1);
            at -= 1;
        }
    }
}
