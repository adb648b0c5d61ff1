//! Foreign text on a terminal: names of programs, arguments, symbols, and what other processes say.
//!
//! Whatever prints such text for people passes it through [`visible`]. Invariant: the result holds
//! no character that moves the cursor, changes the terminal or reorders other text, except line
//! ends and tabs. Text in JSON keeps its form and its meaning, because JSON escapes the characters
//! below U+0020 itself and reads the escapes of the others.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with its control characters made visible: `\x1b` for ESC, `\u009b` for CSI.
pub fn visible(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(acts) else { return Cow::Borrowed(text) };
    let mut shown = text[..first].to_owned();
    for letter in text[first..].chars() {
        // Writing to a string does not fail.
        _ = match letter {
            ..' ' if acts(letter) => write!(shown, "\\x{:02x}", u32::from(letter)),
            _ if acts(letter) => write!(shown, "\\u{:04x}", u32::from(letter)),
            _ => shown.write_char(letter),
        };
    }
    Cow::Owned(shown)
}

/// Whether a terminal acts on a character: controls of C0 and C1, and the marks that embed,
/// override or isolate a direction of writing (Unicode Standard Annex 9).
fn acts(letter: char) -> bool {
    let directs = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    directs || letter.is_control() && !matches!(letter, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_characters_are_shown_and_text_stays() {
        let plain = "ring -n 3 \"größe\" 日本 🦀\tend\n";
        assert!(matches!(visible(plain), Cow::Borrowed(same) if same == plain));
        assert_eq!(visible("\x1b]0;owned\x07\x1b[31mred\r"), r"\x1b]0;owned\x07\x1b[31mred\x0d");
        assert_eq!(visible("é\u{9b}31m\x7f\u{202e}cod\u{2066}"), r"é\u009b31m\u007f\u202ecod\u2066");
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_acts_on_is_left(text: String) {
            let shown = visible(&text);
            prop_assert!(!shown.contains(acts));
            prop_assert_eq!(visible(&shown), shown.as_ref());
        }
    }
}
