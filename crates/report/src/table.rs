//! Tables of the report. The text and the page show the same cells; the page sorts by their keys.

use serde_json::{Value, json};

use crate::units;

/// A table: its columns, and rows of cells.
pub(crate) struct Table {
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// A cell. One with a key is a number: it is aligned to the right and sorted by the key.
pub(crate) struct Cell {
    text: String,
    key: Option<f64>,
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), key: None }
    }

    /// A number that names something: without separators.
    pub(crate) fn number(value: u32) -> Cell {
        Cell { text: value.to_string(), key: Some(f64::from(value)) }
    }

    /// A number that may be missing; missing ones sort first.
    pub(crate) fn optional(value: Option<u32>) -> Cell {
        value.map_or(Cell { text: "–".into(), key: Some(-1.0) }, Cell::number)
    }

    /// Nothing, among numbers.
    pub(crate) fn blank() -> Cell {
        Cell { text: String::new(), key: Some(0.0) }
    }

    pub(crate) fn count(value: u64) -> Cell {
        Cell { text: units::count(value), key: Some(value as f64) }
    }

    pub(crate) fn bytes(value: u64) -> Cell {
        Cell { text: units::bytes(value), key: Some(value as f64) }
    }

    pub(crate) fn seconds(value: f64) -> Cell {
        Cell { text: units::seconds(value), key: Some(value) }
    }

    /// How much more or less it is after than before, in seconds.
    pub(crate) fn difference(before: f64, after: f64) -> Cell {
        let text = units::seconds((after - before).abs());
        let text = if text.starts_with("0 ") { text } else { format!("{}{text}", sign(before, after)) };
        Cell { text, key: Some(after - before) }
    }

    /// The same in percent of what it was before.
    pub(crate) fn change(before: f64, after: f64) -> Cell {
        // Sorted before and behind all that can be a share.
        const NEW: f64 = 1e18;
        let (text, key) = match (before > 0.0, after > 0.0) {
            (true, true) => {
                let share = units::percent((after - before).abs(), before);
                let text = if share == "0 %" { share } else { format!("{}{share}", sign(before, after)) };
                (text, after / before - 1.0)
            }
            (true, false) => ("gone".to_owned(), -1.0),
            (false, true) => ("new".to_owned(), NEW),
            (false, false) => ("–".to_owned(), 0.0),
        };
        Cell { text, key: Some(key) }
    }

    pub(crate) fn share(part: f64, whole: f64) -> Cell {
        let key = if whole > 0.0 { part / whole } else { 0.0 };
        Cell { text: units::percent(part, whole), key: Some(key) }
    }
}

impl Table {
    /// As the page gets it: texts, and the keys of numbers beside them.
    pub(crate) fn json(&self) -> Value {
        let rows = |of: fn(&Cell) -> Value| {
            self.rows.iter().map(|row| row.iter().map(of).collect()).collect::<Vec<Vec<Value>>>()
        };
        json!({
            "columns": self.columns,
            "rows": rows(|cell| json!(cell.text)),
            "keys": rows(|cell| json!(cell.key)),
        })
    }

    /// As a terminal shows it.
    pub(crate) fn to_text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].text.as_str());
            cells.chain([self.columns[column]]).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let is_numeric = |column: usize| self.rows.iter().all(|row| row[column].key.is_some());
        let numeric: Vec<bool> = (0..self.columns.len()).map(is_numeric).collect();
        let header: Vec<&str> = self.columns.clone();
        let rows = self.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect());
        let mut text = String::new();
        for row in std::iter::once(header).chain(rows) {
            let mut line = String::new();
            for (column, cell) in row.into_iter().enumerate() {
                let padding = " ".repeat(widths[column] - cell.chars().count());
                line += "  ";
                line += &if numeric[column] { padding + cell } else { cell.to_owned() + &padding };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

fn sign(before: f64, after: f64) -> &'static str {
    if after < before { "−" } else { "+" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_aligned_to_the_right_and_texts_to_the_left() {
        let rows = vec![
            vec![Cell::text("a long name"), Cell::share(1.0, 4000.0)],
            vec![Cell::text("b"), Cell::share(1.0, 2.0)],
        ];
        let table = Table { columns: vec!["who", "share"], rows };
        assert_eq!(
            table.to_text(),
            "  who                share\n  a long name  under 0.1 %\n  b                   50 %\n"
        );
        assert_eq!(table.json()["keys"][1], json!([null, 0.5]));
    }
}
