//! The data of `spec/`, read into types. The layout is described in `spec/README.md`.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::workspace::{self, Outcome};

/// Everything that `spec/` says.
pub struct Spec {
    /// Chapters in the order of the standard.
    pub chapters: Vec<Chapter>,
    pub constants: Vec<Constant>,
    pub types: Vec<Type>,
    /// Functions that may be called outside the life of MPI.
    pub any_phase: Vec<String>,
    /// Functions that programs call in their inner loops.
    pub hot: Vec<String>,
    /// Functions that can only answer that there is none of something.
    pub none: Vec<String>,
    /// What Corelace offers besides the standard, in a header of its own.
    pub extensions: Extensions,
}

#[derive(Deserialize)]
pub struct Extensions {
    pub constants: Vec<Constant>,
    /// Functions of programs.
    pub types: Vec<Type>,
    pub functions: Vec<Function>,
}

pub struct Chapter {
    /// Such as `p2p`.
    pub name: String,
    pub functions: Vec<Function>,
}

#[derive(Deserialize)]
pub struct Function {
    pub name: String,
    /// Absent: an `int` error code.
    pub returns: Option<Returns>,
    pub deprecated: Option<String>,
    pub replaced_by: Option<String>,
    /// The name of the small form, on a large-count function.
    pub small: Option<String>,
    pub params: Vec<Param>,
}

#[derive(Deserialize)]
pub struct Returns {
    pub ctype: String,
}

#[derive(Deserialize)]
pub struct Param {
    pub name: String,
    pub kind: String,
    pub dir: Direction,
    pub ctype: String,
    pub length: Option<String>,
    pub header_name: Option<String>,
    /// Used until the operation completes.
    #[serde(default, rename = "async")]
    pub asynchronous: bool,
    #[serde(default)]
    pub root_only: bool,
    /// Where MPI_IN_PLACE may stand for this buffer.
    pub in_place: Option<InPlace>,
    /// The buffer with which this is not significant if that is MPI_IN_PLACE.
    pub ignored_with: Option<String>,
    /// When this is not significant, whatever it is: a condition on arguments as they are given.
    pub ignored_if: Option<String>,
    #[serde(default)]
    pub large_only: bool,
    /// The null handle, or the null pointer, may be given.
    #[serde(default)]
    pub or_null: bool,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    In,
    Out,
    Inout,
}

/// Which processes may pass MPI_IN_PLACE.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum InPlace {
    All,
    Root,
}

#[derive(Deserialize)]
pub struct Constant {
    pub name: String,
    pub value: i64,
    pub ctype: String,
    pub category: String,
    pub form: String,
    pub alias_of: Option<String>,
    pub deprecated: Option<String>,
    pub datatype: Option<Datatype>,
}

#[derive(Deserialize)]
pub struct Datatype {
    pub c: Option<String>,
    pub cxx: Option<String>,
    pub fortran: Option<String>,
    /// Absent where the Fortran compiler decides.
    pub size: Option<u32>,
    pub extent: Option<u32>,
}

#[derive(Deserialize)]
pub struct Type {
    pub name: String,
    pub kind: String,
    pub ctype: Option<String>,
    pub deprecated: Option<String>,
    #[serde(default)]
    pub members: Vec<String>,
    pub returns: Option<String>,
    #[serde(default)]
    pub params: Vec<Param>,
}

impl Spec {
    /// Reads the data below `root/spec`.
    pub fn load(root: &Path) -> Outcome<Self> {
        let directory = root.join("spec");
        let mut files: Vec<_> = fs::read_dir(directory.join("functions"))
            .map_err(|error| format!("cannot list {}: {error}", directory.display()))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        files.sort();
        let mut chapters = Vec::new();
        for file in &files {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            let name = stem.split_once('-').map_or(&*stem, |(_, name)| name).to_owned();
            chapters.push(Chapter { name, functions: parse(file)? });
        }
        Ok(Self {
            chapters,
            constants: parse(&directory.join("constants.json"))?,
            types: parse(&directory.join("types.json"))?,
            any_phase: parse(&directory.join("any-phase.json"))?,
            hot: parse(&directory.join("hot.json"))?,
            none: parse(&directory.join("none.json"))?,
            extensions: parse(&directory.join("extensions.json"))?,
        })
    }

    /// Whether the standard has a function of this name.
    pub fn has(&self, name: &str) -> bool {
        self.function(name).is_some()
    }

    /// The function of a name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.chapters.iter().flat_map(|chapter| &chapter.functions).find(|function| function.name == *name)
    }

    /// The types of one kind (`handle`, `callback`, …).
    pub fn types_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Type> {
        self.types.iter().filter(move |entry| entry.kind == kind)
    }

    /// The types of functions that programs give to the library, those of the extensions among them.
    pub fn callbacks(&self) -> impl Iterator<Item = &Type> {
        self.types_of("callback").chain(&self.extensions.types)
    }
}

impl Function {
    /// Whether the result is an error code that goes through an error handler.
    pub fn returns_error_code(&self) -> bool {
        self.returns.is_none()
    }

    /// The name without `MPI_`.
    pub fn stem(&self) -> &str {
        self.name.strip_prefix("MPI_").unwrap_or(&self.name)
    }
}

impl Param {
    /// The name in C and in Rust: the header's where it differs from the standard's.
    pub fn declared_name(&self) -> &str {
        self.header_name.as_deref().unwrap_or(&self.name)
    }

    /// Whether this stands for `...`.
    pub fn is_variadic(&self) -> bool {
        self.ctype == "..."
    }
}

fn parse<T: DeserializeOwned>(path: &Path) -> Outcome<T> {
    let text = workspace::read(path)?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
