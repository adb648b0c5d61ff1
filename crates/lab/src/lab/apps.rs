//! The sources of the applications, carried along, so that an installation can run experiments without the repository.

use std::path::Path;

macro_rules! sources {
    ($($path:literal),* $(,)?) => {
        /// Path below `apps/`, and text.
        const SOURCES: &[(&str, &str)] = &[$(($path, include_str!(concat!("../../../../apps/", $path)))),*];
    };
}

sources!(
    "a2a.c",
    "barrier.c",
    "bcast.c",
    "blas.c",
    "blas/backend.h",
    "blas/backend_mpi.h",
    "blas/products.h",
    "blas/routines.h",
    "blas/tiles.h",
    "common/channel.h",
    "common/compute.h",
    "common/global.h",
    "common/microkernel.h",
    "common/offload.h",
    "common/options.h",
    "common/random.h",
    "common/report.h",
    "common/roles.h",
    "common/suite.h",
    "common/timed_send.h",
    "commonly.c",
    "copy3d.c",
    "fn.c",
    "gemm_async.c",
    "gf.c",
    "hpl.c",
    "hpl/blas.h",
    "hpl/broadcast.h",
    "hpl/grid.h",
    "hpl/matrix.h",
    "hpl/panel.h",
    "hpl/solve.h",
    "hpl/swap.h",
    "hpl/update.h",
    "km.c",
    "lbm.c",
    "lbm/blocks.h",
    "lbm/formulas.h",
    "lbm/lattice.h",
    "lbm/serial.h",
    "lbm/shared.h",
    "lbm/walls.h",
    "pairs.c",
    "pingpong.c",
    "queue.c",
    "rma.c",
    "stencil5.c",
);

/// Writes all sources below `directory`.
pub fn write_to(directory: &Path) -> Result<(), String> {
    for (path, text) in SOURCES {
        let file = directory.join("apps").join(path);
        let written = std::fs::create_dir_all(file.parent().unwrap_or(directory))
            .and_then(|()| std::fs::write(&file, text));
        written.map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// The files that make up an application: each is one C file with headers.
pub fn sources(app: &str) -> impl Iterator<Item = String> {
    std::iter::once(format!("apps/{app}.c"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_of_the_repository_is_carried_along() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps");
        let mut directories = vec![root.clone()];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else if path.extension().is_some_and(|extension| extension == "c" || extension == "h") {
                    let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                    assert!(SOURCES.iter().any(|(known, _)| *known == name), "{name} is missing in the list");
                }
            }
        }
    }
}
