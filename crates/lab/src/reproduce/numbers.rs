//! The numbers of the applications, from the file that declares them: the same words of provenance as in the descriptions of chips.

use std::sync::LazyLock;

use sim::chip::Fact;

/// Every number of `apps/numbers.toml`.
pub static NUMBERS: LazyLock<Vec<Fact>> = LazyLock::new(|| {
    let text = include_str!("../../../../apps/numbers.toml");
    sim::chip::numbers(text, "apps/numbers.toml").expect("a tested file")
});

/// Those of applications that run on cards.
pub static OF_CARDS: LazyLock<Vec<Fact>> = LazyLock::new(|| of_files(&["stencil5.c."]));

/// Those of applications over asynchronous transfers.
pub static OF_STENCILS: LazyLock<Vec<Fact>> =
    LazyLock::new(|| of_files(&["lbm/lattice.h.", "gemm_async.c."]));

/// Those of all others.
pub static OF_CHIPS: LazyLock<Vec<Fact>> = LazyLock::new(|| {
    let elsewhere = |fact: &&Fact| !OF_CARDS.contains(fact) && !OF_STENCILS.contains(fact);
    NUMBERS.iter().filter(elsewhere).cloned().collect()
});

fn of_files(files: &[&str]) -> Vec<Fact> {
    let of_these = |fact: &&Fact| files.iter().any(|file| fact.path.starts_with(file));
    NUMBERS.iter().filter(of_these).cloned().collect()
}

/// The words that start an application with the numbers of its section `run`: `--nb 32 --depth 1 …`.
pub fn arguments(app: &str) -> Vec<String> {
    let section = format!("run.{app}.");
    let options = NUMBERS.iter().filter_map(|fact| Some((fact.path.strip_prefix(&section)?, &fact.value)));
    options.flat_map(|(option, value)| [format!("--{option}"), value.clone()]).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_sources_say_the_same_as_the_file() {
        let apps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps");
        for fact in NUMBERS.iter().filter(|fact| !fact.path.starts_with("run.")) {
            let (file, name) = fact.path.rsplit_once('.').unwrap();
            let source = std::fs::read_to_string(apps.join(file)).unwrap();
            assert!(source.contains(&format!("{name} = {}", fact.value)), "{file} and {fact:?}");
        }
    }

    #[test]
    fn every_cost_that_a_source_declares_is_in_the_file() {
        let apps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps");
        for file in [
            "fn.c",
            "gf.c",
            "km.c",
            "stencil5.c",
            "gemm_async.c",
            "hpl/blas.h",
            "lbm/lattice.h",
            "common/compute.h",
        ] {
            let source = std::fs::read_to_string(apps.join(file)).unwrap();
            let words = source.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            for name in words.filter(|word| word.contains("CYCLES_PER_")) {
                let path = format!("{file}.{name}");
                assert!(NUMBERS.iter().any(|fact| fact.path == path), "{path} has no provenance");
            }
        }
    }

    #[test]
    fn a_run_is_started_with_the_numbers_of_its_section() {
        let words = arguments("hpl");
        assert_eq!(words[..2], ["--n", "1250"]);
        assert!(words.windows(2).any(|pair| pair == ["--nb", "32"]), "{words:?}");
        assert!(arguments("a2a").is_empty());
    }
}
