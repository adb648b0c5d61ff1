//! Figures as a table for people and as JSON for programs.

use serde_json::{Value, json};

use super::figure::{Figure, Figures};

/// A table; the last column compares our processes with the best of the others.
pub fn text(figures: &Figures, contestants: &[&str]) -> String {
    let (ours, others) = split(contestants);
    let mut rows = vec![header(contestants, !others.is_empty())];
    for figure in figures.iter() {
        let mut row = vec![figure.name.clone(), size(figure), figure.ranks.to_string(), figure.unit.clone()];
        row.extend(contestants.iter().map(|name| figure.of(name).map_or("-".into(), number)));
        if !others.is_empty() {
            row.push(advantage(figure, ours, others).map_or("-".into(), |factor| format!("{factor:.2}")));
        }
        rows.push(row);
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(
                |(column, (cell, width))| {
                    if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The same as JSON.
pub fn json(figures: &Figures, contestants: &[&str], rounds: u32) -> String {
    let (ours, others) = split(contestants);
    let list: Vec<Value> = figures
        .iter()
        .map(|figure| {
            let values: serde_json::Map<String, Value> =
                figure.best.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            json!({
                "name": figure.name, "size": figure.size, "ranks": figure.ranks, "unit": figure.unit,
                "values": values, "advantage": advantage(figure, ours, others),
            })
        })
        .collect();
    let whole = json!({ "rounds": rounds, "contestants": contestants, "figures": list });
    serde_json::to_string_pretty(&whole).expect("plain data")
}

/// Our processes, and everybody else's. The first two contestants are ours.
fn split<'a>(contestants: &'a [&'a str]) -> (&'a str, &'a [&'a str]) {
    (contestants[0], &contestants[2.min(contestants.len())..])
}

/// How many times better our processes are than the best of the others.
fn advantage(figure: &Figure, ours: &str, others: &[&str]) -> Option<f64> {
    let ours = figure.of(ours)?;
    others
        .iter()
        .filter_map(|other| figure.of(other))
        .map(|theirs| figure.advantage(ours, theirs))
        .min_by(f64::total_cmp)
}

fn header(contestants: &[&str], compared: bool) -> Vec<String> {
    let mut row: Vec<String> = ["figure", "size", "ranks", "unit"].map(String::from).to_vec();
    row.extend(contestants.iter().map(|name| name.to_string()));
    if compared {
        row.push("x best other".into());
    }
    row
}

fn size(figure: &Figure) -> String {
    match (figure.name.as_str(), figure.size) {
        ("start" | "private" | "barrier", _) => String::new(),
        (_, size) if size >= 1 << 20 && size % (1 << 20) == 0 => format!("{} MiB", size >> 20),
        (_, size) if size >= 1024 && size % 1024 == 0 => format!("{} KiB", size >> 10),
        (_, size) => format!("{size} B"),
    }
}

fn number(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.3}"),
        value if value < 1000.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::figure::Sample;
    use super::*;

    fn figures() -> Figures {
        let mut figures = Figures::default();
        let sample = |value| vec![Sample { name: "latency".into(), size: 2048, value, unit: "us".into() }];
        figures.add("corelace process", 2, sample(0.5));
        figures.add("corelace fiber", 2, sample(0.1));
        figures.add("other", 2, sample(1.0));
        figures.add("third", 2, sample(0.75));
        figures
    }

    #[test]
    fn the_last_column_compares_with_the_best_other() {
        let text = text(&figures(), &["corelace process", "corelace fiber", "other", "third"]);
        let row = text.lines().nth(1).unwrap();
        assert!(row.starts_with("latency") && row.contains("2 KiB") && row.ends_with("1.50"), "{text}");
    }

    #[test]
    fn without_others_there_is_no_comparison() {
        let text = text(&figures(), &["corelace process", "corelace fiber"]);
        assert!(!text.contains("x best other"), "{text}");
    }

    #[test]
    fn json_holds_every_value() {
        let text = json(&figures(), &["corelace process", "corelace fiber", "other", "third"], 5);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["figures"][0]["values"]["third"], json!(0.75));
        assert_eq!(value["figures"][0]["advantage"], json!(1.5));
    }
}
