//! Which functions `capi` implements: a function `pub(crate) fn mpi_send(` anywhere below `crates/capi/src/imp/` implements
//! `MPI_Send` and `MPI_Send_c`, one `mpix_compute(` implements `MPIX_Compute`. The code is the only list.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::spec::Function;
use crate::workspace::{self, Outcome};

/// What starts a definition.
const MARK: &str = "pub(crate) fn ";

/// From the name of an implementing function (`mpi_send`) to the module that holds it (`crate::imp::p2p`).
pub struct Implemented(BTreeMap<String, String>);

impl Implemented {
    /// The path of the function that implements an MPI function. The large-count and the `_x` form share the
    /// implementation of the small form, unless they have one of their own or more parameters.
    pub fn path(&self, function: &Function) -> Option<String> {
        let own = function.name.to_lowercase();
        let more = function.params.iter().any(|param| param.large_only);
        let shared = match (&function.small, own.strip_suffix("_x")) {
            (Some(_), _) if more => None,
            (Some(small), _) => Some(format!("mpi_{}", small["MPI_".len()..].to_lowercase())),
            (None, shared) => shared.map(str::to_owned),
        };
        [Some(own), shared].into_iter().flatten().find_map(|name| {
            let module = self.0.get(&name)?;
            Some(format!("{module}::{name}"))
        })
    }
}

/// Scans the sources below `root`.
pub fn implemented(root: &Path) -> Outcome<Implemented> {
    let mut found = BTreeMap::new();
    visit(&root.join("crates/capi/src/imp"), "crate::imp", &mut found)?;
    Ok(Implemented(found))
}

fn visit(directory: &Path, module: &str, found: &mut BTreeMap<String, String>) -> Outcome {
    let Ok(entries) = fs::read_dir(directory) else { return Ok(()) };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let inner = if stem == "mod" { module.to_owned() } else { format!("{module}::{stem}") };
        if path.is_dir() {
            visit(&path, &inner, found)?;
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        for line in workspace::read(&path)?.lines() {
            let Some(rest) = line.trim_start().strip_prefix(MARK) else { continue };
            let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            if !name.starts_with("mpi_") && !name.starts_with("mpix_") {
                continue;
            }
            if let Some(other) = found.insert(name.clone(), inner.clone()) {
                return Err(format!("{name} is implemented in both {other} and {inner}"));
            }
        }
    }
    Ok(())
}
