//! `cargo xtask coverage`: how much of MPI is there, chapter by chapter, from the same scan that the generator uses.

use crate::scan;
use crate::spec::Spec;
use crate::workspace::{self, Outcome};

/// Runs the command.
pub fn command() -> Outcome {
    let root = workspace::root();
    let spec = Spec::load(&root)?;
    let implemented = scan::implemented(&root)?;
    let (mut have, mut of) = (0, 0);
    println!("{:<32} {:>5} {:>5}", "chapter", "have", "of");
    for chapter in &spec.chapters {
        let (missing, present): (Vec<_>, Vec<_>) =
            chapter.functions.iter().partition(|function| implemented.path(function).is_none());
        let names: Vec<&str> = missing
            .iter()
            .filter(|function| function.small.is_none())
            .map(|function| function.stem())
            .collect();
        println!(
            "{:<32} {:>5} {:>5}  {}",
            chapter.name,
            present.len(),
            chapter.functions.len(),
            shorten(&names.join(" "))
        );
        have += present.len();
        of += chapter.functions.len();
    }
    println!("{:<32} {have:>5} {of:>5}", "all");
    Ok(())
}

/// The missing ones, as far as they fit on a line.
fn shorten(names: &str) -> String {
    const WIDTH: usize = 70;
    match names {
        "" => String::new(),
        names if names.len() <= WIDTH => format!("missing: {names}"),
        names => format!("missing: {}…", &names[..WIDTH]),
    }
}
