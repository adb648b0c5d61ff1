//! What a chip file says, and what is refused.

use super::*;

#[test]
fn every_chip_that_comes_with_the_program_is_valid_and_has_its_own_name() {
    for (name, text) in BUILTIN {
        let chip = Chip::from_toml(text, name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(chip.name, name);
    }
}
