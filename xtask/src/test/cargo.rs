//! The cargo that runs this, and its build directories.

use std::process::Command;

use crate::install;
use crate::workspace::{self, Outcome};

/// The cargo that runs this.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Cargo with a build directory of this name, for other flags than usual.
pub fn cargo_in(directory: &str) -> Command {
    let mut cargo = cargo();
    cargo.env("CARGO_TARGET_DIR", install::target_directory(&workspace::root()).join(directory));
    cargo
}

/// Names packages of ours to a command of cargo.
pub fn of<'c>(cargo: &'c mut Command, packages: &[&str]) -> &'c mut Command {
    cargo.args(packages.iter().flat_map(|package| ["-p", package]))
}

/// Adds the integration tests of some modules to a `cargo test`; arguments of the tests may follow.
///
/// It is an error if a module is not there: its tests would be none, which pass.
pub fn of_modules<'c>(
    cargo: &'c mut Command,
    packages: &[&str],
    modules: &[&str],
) -> Outcome<&'c mut Command> {
    let crates = workspace::root().join("crates");
    let has = |package: &str, module: &str| {
        let name = package.strip_prefix("corelace-").unwrap_or(package);
        crates.join(name).join("tests").join(module).with_extension("rs").is_file()
    };
    for module in modules {
        if !packages.iter().any(|package| has(package, module)) {
            return Err(format!("no test of {} is called {module}.rs", packages.join(" or ")));
        }
    }
    let tests = of(cargo, packages).args(["--test", "*", "--"]);
    Ok(tests.args(modules.iter().map(|module| format!("{module}::"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_tests_are_looked_for_before_they_are_named() {
        let mut cargo = cargo();
        of_modules(&mut cargo, &["corelace-engine", "corelace"], &["boards", "adversarial"]).unwrap();
        let told: Vec<_> = cargo.get_args().skip(4).collect();
        assert_eq!(told, ["--test", "*", "--", "boards::", "adversarial::"]);
        let error = of_modules(&mut cargo, &["corelace-engine"], &["waits", "adversarial"]).unwrap_err();
        assert_eq!(error, "no test of corelace-engine is called adversarial.rs");
    }
}
