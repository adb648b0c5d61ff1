//! What somebody may have meant.

/// The candidate that takes the fewest changes to become `word`, if that is not more than a third of it.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = candidates.into_iter().map(|candidate| (changes(word, candidate), candidate));
    let (changes, candidate) = scored.min_by_key(|(changes, _)| *changes)?;
    let is_part = word.len() >= 3 && candidate.contains(word);
    (is_part || changes * 3 <= word.chars().count().max(3)).then_some(candidate)
}

/// Characters to insert, delete or replace. A part of the candidate counts as one change, because names are often shortened.
fn changes(word: &str, candidate: &str) -> usize {
    if word.len() >= 3 && candidate.contains(word) {
        return 1;
    }
    let candidate: Vec<char> = candidate.chars().collect();
    let mut row: Vec<usize> = (0..=candidate.len()).collect();
    for (i, letter) in word.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in candidate.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[candidate.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_a_letter_and_a_shortened_name_are_understood() {
        let names = ["mppa256-andey", "epiphany-iv"];
        assert_eq!(nearest("mpa256-andey", names), Some("mppa256-andey"));
        assert_eq!(nearest("andey", names), Some("mppa256-andey"));
        assert_eq!(nearest("epiphany-vi", names), Some("epiphany-iv"));
    }

    #[test]
    fn something_else_is_not_taken_for_a_slip() {
        assert_eq!(nearest("xeon-phi", ["mppa256-andey", "mesh16"]), None);
    }
}
