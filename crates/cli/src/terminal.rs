//! How wide the user's terminal is, and texts that fit into it.

use std::fmt::Write as _;

/// The width where nothing says another one.
const USUAL: usize = 80;

/// The columns of the terminal that standard output is: those of `COLUMNS`, else what the terminal
/// says, else 80.
pub fn width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let asked = || rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| size.ws_col.into());
    // No text can be read in less.
    said.or_else(asked).filter(|width| *width > 0).unwrap_or(USUAL).max(40)
}

/// A row of two columns: a word, and what it means, in lines of at most `width` columns. A word that
/// is too long has the first line for itself.
pub fn row(word: &str, indent: usize, meaning: &str, width: usize) -> String {
    let mut text = format!("  {word}");
    if word.len() + 4 > indent {
        text.push('\n');
    } else {
        _ = write!(text, "{:1$}", "", indent - word.len() - 2);
    }
    for (number, line) in lines(meaning, width.saturating_sub(indent).max(20)).iter().enumerate() {
        if number > 0 || word.len() + 4 > indent {
            _ = write!(text, "{:indent$}", "");
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// The words of a text in lines of at most this many columns; a word that is longer has one of its own.
pub fn lines(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("one to begin with");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_wrapped_and_long_words_have_a_line_for_themselves() {
        assert_eq!(row("-a", 8, "one two three four", 28), "  -a    one two three four\n");
        assert_eq!(
            row("-a", 8, "one two three four five six", 28),
            "  -a    one two three four\n        five six\n"
        );
        assert_eq!(row("--abcdef", 8, "what", 28), "  --abcdef\n        what\n");
    }
}
