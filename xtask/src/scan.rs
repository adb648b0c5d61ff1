//! Which functions `capi` implements: a function `pub(crate) fn mpi_send(` anywhere below `crates/capi/src/imp/` implements
//! `MPI_Send` and `MPI_Send_c`, one `mpix_compute(` implements `MPIX_Compute`; one `plan_bcast(` implements `MPI_Bcast`, `MPI_Ibcast` and
//! `MPI_Bcast_init`. The code is the only list.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::spec::Function;
use crate::workspace::{self, Outcome};

/// What starts a definition.
const MARK: &str = "pub(crate) fn ";

/// From the name of an implementing function (`mpi_send`) to the module that holds it (`crate::imp::p2p`).
pub struct Implemented(BTreeMap<String, String>);

/// What implements an MPI function.
#[derive(Clone, PartialEq, Eq)]
pub struct Implementation {
    /// The path of a Rust function.
    pub path: String,
    /// If that only makes the plan of a collective: what becomes of the plan.
    pub form: Option<Form>,
}

/// The forms of a collective.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Blocking,
    NonBlocking,
    Persistent,
}

impl Implemented {
    /// What implements an MPI function. The large-count and the `_x` form share the implementation of the small form, unless they
    /// have one of their own or more parameters.
    pub fn of(&self, function: &Function) -> Option<Implementation> {
        let own = function.name.to_lowercase();
        let more = function.params.iter().any(|param| param.large_only);
        let shared = match (&function.small, own.strip_suffix("_x")) {
            (Some(_), _) if more => None,
            (Some(small), _) => Some(small.to_lowercase()),
            (None, shared) => shared.map(str::to_owned),
        };
        [Some(own), shared].into_iter().flatten().find_map(|name| {
            self.path(&name).map(|path| Implementation { path, form: None }).or_else(|| self.plan(&name))
        })
    }

    fn path(&self, name: &str) -> Option<String> {
        self.0.get(name).map(|module| format!("{module}::{name}"))
    }

    /// The plan of a collective, and which of its forms this name is.
    fn plan(&self, name: &str) -> Option<Implementation> {
        let name = name.strip_prefix("mpi_")?;
        let forms = [
            (Some(name), Form::Blocking),
            (name.strip_prefix('i'), Form::NonBlocking),
            (name.strip_suffix("_init"), Form::Persistent),
        ];
        forms.into_iter().find_map(|(collective, form)| {
            let path = self.path(&format!("plan_{}", collective?))?;
            Some(Implementation { path, form: Some(form) })
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
            if !["mpi_", "mpix_", "plan_"].iter().any(|prefix| name.starts_with(prefix)) {
                continue;
            }
            if let Some(other) = found.insert(name.clone(), inner.clone()) {
                return Err(format!("{name} is implemented in both {other} and {inner}"));
            }
        }
    }
    Ok(())
}
