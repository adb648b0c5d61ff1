//! The test programs that cargo builds, as its messages name them.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use super::cargo::cargo;
use crate::workspace::{self, Outcome};

/// A test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The package, by the name of its folder.
    pub package: String,
    /// What of the package: `lib`, `bin`, `proc-macro` or `tests`.
    pub target: String,
    pub executable: PathBuf,
    /// Where it runs: the directory of the package.
    pub directory: PathBuf,
    /// Whether it takes the words of Rust's own harness, which a program with a harness of its own
    /// does not.
    pub is_usual: bool,
}

impl Program {
    /// What people call it.
    pub fn name(&self) -> String {
        format!("{} {}", self.package, self.target)
    }
}

/// Builds the test programs of these packages, or of all.
pub fn build(packages: &[String]) -> Outcome<Vec<Program>> {
    let mut cargo = cargo();
    cargo.current_dir(workspace::root());
    cargo.args(["test", "--no-run", "--message-format", "json-render-diagnostics"]);
    match packages {
        [] => _ = cargo.arg("--workspace"),
        packages => _ = cargo.args(packages.iter().flat_map(|package| ["-p", package])),
    }
    let output = cargo.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot start {cargo:?}: {error}"))?;
    if !output.status.success() {
        return Err("the tests could not be built: see above".to_owned());
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    messages.lines().filter_map(|line| program(line).transpose()).collect()
}

/// The program that a message of cargo names, if it is about one.
fn program(message: &str) -> Outcome<Option<Program>> {
    let message: Value = serde_json::from_str(message).map_err(|error| format!("cargo said: {error}"))?;
    let Some(executable) = message["executable"].as_str() else { return Ok(None) };
    if message["profile"]["test"] != true {
        return Ok(None);
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let manifest = PathBuf::from(text(&message["manifest_path"]));
    let (kind, name) = (text(&message["target"]["kind"][0]), text(&message["target"]["name"]));
    let directory = manifest.parent().map(Path::to_owned).unwrap_or_default();
    let package = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Some(Program {
        package,
        is_usual: kind != "test" || !has_own_harness(&manifest, &name),
        target: if kind == "test" { "tests".to_owned() } else { kind },
        executable: executable.into(),
        directory,
    }))
}

/// Whether the manifest says so of the test. Cargo's messages do not tell.
fn has_own_harness(manifest: &Path, name: &str) -> bool {
    let text = std::fs::read_to_string(manifest).unwrap_or_default();
    let mut tests = text.split("[[test]]").skip(1);
    tests.any(|section| {
        let section = section.split("\n[").next().unwrap_or_default();
        section.contains(&format!("name = \"{name}\"")) && section.contains("harness = false")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_among_the_messages_of_cargo() {
        let said = r#"{"reason":"compiler-artifact","package_id":"path+file:///c/crates/sim#corelace-sim@0.1.0","manifest_path":"/c/crates/sim/Cargo.toml","target":{"kind":["lib"],"name":"corelace_sim"},"profile":{"test":true},"executable":"/t/sim-1"}"#;
        let found = program(said).unwrap().unwrap();
        assert_eq!((&*found.package, &*found.target), ("sim", "lib"));
        assert_eq!(found.directory, PathBuf::from("/c/crates/sim"));
        assert_eq!(program(&said.replace("true", "false")), Ok(None));
        assert_eq!(program(r#"{"reason":"build-finished","success":true}"#), Ok(None));
        assert!(program("{").is_err());
    }
}
