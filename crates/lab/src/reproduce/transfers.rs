//! Figures of Ho's thesis ("Optimization of data transfer on many-core processors", 2018): transfers of blocks between DDR and clusters, and what lattice Boltzmann,
//! matrix products and BLAS become with them.
//!
//! They run on the machine under study if the rows of its DDR are described, otherwise on the MPPA-256 Bostan at the clock of the experiment. Domains and
//! matrices are smaller than the thesis', with the same blocks: what a cluster does for each block is the same, and no figure is a time of a whole run.

use sim::Chip;

use super::figure::{Figure, Published};
use super::study::Study;
use crate::lab::{Line, Run, Trial};

const STENCILS: &str = "mppa256-bostan-400";
const ROUTINES: &str = "mppa256-bostan-500";

/// Numbers of clusters, doubled until the chip is full.
pub const CLUSTERS: [u32; 5] = [1, 2, 4, 8, 16];

/// What the thesis shows for them, in words: linear to 8 clusters, then 20 to 22 million updates a second (figure 5.9).
pub const PLATEAU: (f64, f64) = (20.0, 22.0);

/// All of them.
pub fn figures() -> Vec<Figure> {
    let mut figures: Vec<Figure> = paper().into();
    figures.extend(memory());
    figures.extend(lattice());
    figures.extend(walls());
    figures.extend(products());
    figures.extend(routines());
    figures
}

/// The machine that the figures are measured on, given that of the others.
pub fn machine(chip: &str) -> String {
    described(chip).unwrap_or_else(|| STENCILS.to_owned())
}

/// The chip, if it has the software of the thesis.
fn described(chip: &str) -> Option<String> {
    Chip::find(chip).is_ok_and(|chip| chip.ipc("async").is_some()).then(|| chip.to_owned())
}

fn points(value: f64, within: f64) -> Published {
    Published::Points { value, within }
}

fn near(value: f64, within: f64) -> Published {
    Published::Number { value, within }
}

/// What the thesis computes on paper.
fn paper() -> [Figure; 9] {
    [
        Figure::new("e.hbw.16", "halo of a block of 16^3 nodes", "%", points(29.0, 1.5), |study| {
            formula(study, "lbm", &[("formula", "halo"), ("edge", "16")], "share", 100.0)
        }),
        Figure::new("e.hbw.64", "halo of a block of 64^3 nodes", "%", points(10.0, 1.5), |study| {
            formula(study, "lbm", &[("formula", "halo"), ("edge", "64")], "share", 100.0)
        }),
        Figure::new("e.search.3", "halo of the best blocks, 3 slots", "%", points(36.0, 1.0), |study| {
            searched(study, "3", "16x8x16")
        }),
        Figure::new("e.search.4", "halo of the best blocks, 4 slots", "%", points(43.0, 1.0), |study| {
            searched(study, "4", "16x8x8")
        }),
        Figure::new("e.lbm.model", "bound of 6 GB/s, blocks of 8^3", "MLUPS", near(20.2, 0.001), |study| {
            formula(study, "lbm", &[("formula", "bound"), ("edge", "8")], "mlups", 1.0)
        }),
        Figure::new("e.walls.memory.128", "three walls beside 128^3 nodes", "%", points(2.3, 0.1), |study| {
            formula(study, "lbm", &[("formula", "walls"), ("edge", "128")], "share", 100.0)
        }),
        Figure::new("e.walls.memory.256", "three walls beside 256^3 nodes", "%", points(1.1, 0.1), |study| {
            formula(study, "lbm", &[("formula", "walls"), ("edge", "256")], "share", 100.0)
        }),
        Figure::new(
            "e.gemm.memory",
            "five blocks of GEMM, single",
            "KiB",
            Published::Count(1280.0),
            |study| formula(study, "gemm_async", &[("real", "single")], "kib", 1.0),
        ),
        Figure::new(
            "e.blis.footprint",
            "memory of a BLAS cluster, single",
            "KiB",
            near(480.0, 0.04),
            |study| formula(study, "blas", &[("real", "single")], "kib", 1.0),
        ),
    ]
}

/// A number of the line that has all these words, among those that a program prints of what it computes on paper.
fn formula(
    study: &Study,
    app: &'static str,
    words: &[(&str, &str)],
    key: &str,
    times: f64,
) -> Result<f64, String> {
    let run = run(study, &machine(&study.chip), app, (1, false), "--formulas")?;
    let has_all = |line: &&Line| words.iter().all(|(key, value)| line.text(key) == Ok(*value));
    let line = run.lines.iter().find(has_all).ok_or_else(|| format!("no line of {app} has {words:?}"))?;
    Ok(times * line.number(key)?)
}

/// The halo of the blocks that a search finds, if they are the published ones.
fn searched(study: &Study, depth: &str, block: &str) -> Result<f64, String> {
    let words = [("formula", "search"), ("in_place", "0"), ("depth", depth), ("block", block)];
    formula(study, "lbm", &words, "halo", 100.0)
}

fn memory() -> [Figure; 3] {
    [
        Figure::new(
            "e.ddr.3d",
            "boxes over linear copies, one DDR",
            "x",
            Published::Range { low: 0.35, high: 0.42, within: 0.0 },
            |study| Ok(copies(study, 16, 1, "box")? / copies(study, 16, 1, "linear")?),
        ),
        Figure::new(
            "e.ddr.clusters",
            "copies of boxes, two DDRs, 16 clusters",
            "GB/s",
            near(6.0, 0.1),
            |study| copies(study, 16, 2, "box"),
        ),
        Figure::new(
            "e.ddr.knee",
            "clusters that reach 90 % of that",
            "clusters",
            Published::Range { low: 3.0, high: 5.0, within: 0.0 },
            |study| {
                let all = copies(study, 16, 2, "box")?;
                for clusters in [2, 3, 4, 5, 8] {
                    if copies(study, clusters, 2, "box")? >= 0.9 * all {
                        return Ok(f64::from(clusters));
                    }
                }
                Ok(16.0)
            },
        ),
    ]
}

/// GB/s of gets and puts of all bytes, one after the other.
fn copies(study: &Study, clusters: u32, ddrs: u32, kind: &str) -> Result<f64, String> {
    let run = run(study, &machine(&study.chip), "copy3d", (clusters, true), &format!("--ddrs {ddrs}"))?;
    let (mut bytes, mut seconds) = (0.0, 0.0);
    for line in run.lines.iter().filter(|line| line.text("kind") == Ok(kind)) {
        bytes += line.number("bytes")?;
        seconds += line.number("time")?;
    }
    Ok(bytes / seconds * 1e-9)
}

fn lattice() -> [Figure; 7] {
    let (low, high) = PLATEAU;
    [
        Figure::new(
            "e.lbm.1ddr",
            "lattice in one DDR, 3 slots",
            "MLUPS",
            Published::Range { low: 15.0, high: 17.0, within: 0.0 },
            |study| updates(study, 16, LARGE),
        ),
        Figure::new("e.lbm.2ddr", "two DDRs over one", "x", near(2.0, 0.1), |study| {
            Ok(updates(study, 16, LARGE_TWO)? / updates(study, 16, LARGE)?)
        }),
        Figure::new("e.lbm.depth", "3 slots over 4 smaller ones", "x", Published::AtLeast(1.0), |study| {
            Ok(updates(study, 16, LARGE)? / updates(study, 16, LARGE_FOUR)?)
        }),
        Figure::new(
            "e.lbm.scale",
            "blocks of 8^3, two DDRs, 16 clusters",
            "MLUPS",
            Published::Range { low, high, within: 0.0 },
            |study| updates(study, 16, &small(2)),
        ),
        Figure::new(
            "e.lbm.scale.8",
            "the same, 8 clusters",
            "MLUPS",
            Published::Range { low, high, within: 0.01 },
            |study| updates(study, 8, &small(2)),
        ),
        Figure::new(
            "e.lbm.slots.1",
            "one slot over two, 4 clusters",
            "x",
            Published::AtMost(0.95),
            |study| Ok(updates(study, 4, &small(1))? / updates(study, 4, &small(2))?),
        ),
        Figure::new("e.lbm.slots.8", "eight slots over two, 16 clusters", "x", near(1.0, 0.05), |study| {
            Ok(updates(study, 16, &small(8))? / updates(study, 16, &small(2))?)
        }),
    ]
}

const LARGE: &str = "--x 64 --y 64 --z 64 --steps 2";
const LARGE_TWO: &str = "--x 64 --y 64 --z 64 --steps 2 --ddrs 2";
const LARGE_FOUR: &str = "--x 64 --y 64 --z 64 --steps 2 --block-z 8 --depth 4";

/// Blocks of 8 x 8 x 8 nodes.
fn small(depth: u32) -> String {
    format!("--x 64 --y 64 --z 64 --steps 1 --ddrs 2 --block-x 8 --block-y 8 --block-z 8 --depth {depth}")
}

/// Million nodes a second.
pub fn scaling(study: &Study, clusters: u32, depth: u32) -> Result<f64, String> {
    updates(study, clusters, &small(depth))
}

fn updates(study: &Study, clusters: u32, words: &str) -> Result<f64, String> {
    let run = run(study, &machine(&study.chip), "lbm", (clusters, true), words)?;
    checked(&run)?.number("mlups")
}

fn walls() -> [Figure; 5] {
    let table = |id, what, unit, key: &'static str, variant: &'static str, value| {
        Figure::new(id, what, unit, Published::Count(value), move |study| {
            let words = format!("--variant {variant} --x 16 --y 8 --z 12 --steps 2");
            let run = run(study, &machine(&study.chip), "lbm", (1, false), &words)?;
            checked(&run)?.number(key)
        })
    };
    [
        table("e.walls.two.barriers", "two walls, 12 planes", "barriers", "barriers", "two-wall", 24.0),
        table("e.walls.three.barriers", "three walls, 12 planes", "barriers", "barriers", "three-wall", 12.0),
        table("e.walls.two.moved", "two walls, a node", "values", "moved", "two-wall", 76.0),
        table("e.walls.three.moved", "three walls, a node", "values", "moved", "three-wall", 76.0),
        Figure::new(
            "e.walls.mppa",
            "walls in blocks of 16^3 over 16 x 8 x 16",
            "x",
            Published::Nothing,
            |study| {
                let words = format!("{LARGE} --variant blocks-walls --block-y 16");
                Ok(updates(study, 16, &words)? / updates(study, 16, LARGE)?)
            },
        ),
    ]
}

fn products() -> [Figure; 8] {
    let speed = |id, what, published, within, kernel, ddrs, edge| {
        Figure::new(id, what, "GFLOPS", near(published, within), move |study| gemm(study, kernel, ddrs, edge))
    };
    let gain = |id, what, published, kernel| {
        Figure::new(id, what, "x", near(published, 0.01), move |study| {
            Ok(gemm(study, kernel, 2, 256)? / gemm(study, kernel, 1, 256)?)
        })
    };
    let (cached, in_c) = ("GEMM, two DDRs, loads through the cache", "GEMM, two DDRs, kernel in C");
    let (task, task_cached) = ("GEMM, one DDR, 1 MiB", "GEMM, one DDR, 1 MiB, loads through the cache");
    let (cached_gain, gain_in_c) =
        ("two DDRs over one, loads through the cache", "two DDRs over one, kernel in C");
    [
        speed("e.gemm.2ddr", "GEMM, single, two DDRs", 350.0, 0.1, "streaming", 2, 256),
        speed("e.gemm.1ddr", "GEMM, single, one DDR", 290.0, 0.1, "streaming", 1, 256),
        speed("e.gemm.cached", cached, 228.0, 0.1, "cached", 2, 256),
        gain("e.gemm.cached.gain", cached_gain, 228.0 / 227.0, "cached"),
        speed("e.gemm.c", in_c, 76.0, 0.1, "c", 2, 256),
        gain("e.gemm.c.gain", gain_in_c, 76.0 / 75.0, "c"),
        speed("e.gemm.task", task, 207.0, 0.15, "streaming", 1, LESS_MEMORY),
        speed("e.gemm.task.cached", task_cached, 192.0, 0.15, "cached", 1, LESS_MEMORY),
    ]
}

/// The edge of the largest blocks of whole tiles, by 32, of which five have room in 1 MiB. The thesis has no number.
const LESS_MEMORY: u32 = 224;

/// A block of C for each cluster, as deep as the thesis' matrices or as near to that as blocks of this edge allow.
fn gemm(study: &Study, kernel: &str, ddrs: u32, edge: u32) -> Result<f64, String> {
    let (rows, deep) = (4 * edge, 4096 / edge * edge);
    let words = format!(
        "--m {rows} --n {rows} --k {deep} --mb {edge} --nb {edge} --kb {edge} --ddrs {ddrs} --kernel {kernel}"
    );
    let run = run(study, &machine(&study.chip), "gemm_async", (16, true), &words)?;
    checked(&run)?.number("gflops")
}

fn routines() -> [Figure; 6] {
    let share = |id, what, routine: &'static str, published| {
        Figure::new(id, what, "%", published, move |study| routine_share(study, routine))
    };
    let others = Published::Range { low: 68.0, high: 75.0, within: 5.0 / 71.5 };
    [
        share("e.blis.gemm", "SGEMM of a core, of the peak", "gemm", others),
        share("e.blis.syrk", "SSYRK of a core, of the peak", "syrk", others),
        share("e.blis.syr2k", "SSYR2K of a core, of the peak", "syr2k", others),
        share("e.blis.trmm", "STRMM of a core, of the peak", "trmm", others),
        share("e.blis.trsm", "STRSM of a core, of the peak", "trsm", others),
        share("e.blis.symm", "SSYMM of a core, of the peak", "symm", points(61.0, 5.0)),
    ]
}

/// Percent of the 2 GFLOPS of a core at 500 MHz.
fn routine_share(study: &Study, routine: &str) -> Result<f64, String> {
    let chip = described(&study.chip).unwrap_or_else(|| ROUTINES.to_owned());
    let run = run(study, &chip, "blas", (1, true), "--m 520 --n 520 --k 520")?;
    let line = run.lines.iter().find(|line| line.text("routine") == Ok(routine));
    let line = line.ok_or_else(|| format!("no line of {routine}"))?;
    match line.text("check")? {
        "passed" => Ok(100.0 * line.number("gflops")? / 2.0),
        other => Err(format!("{routine}: its own check says {other}")),
    }
}

fn checked(run: &Run) -> Result<&Line, String> {
    let line = run.line()?;
    match line.text("check")? {
        "passed" => Ok(line),
        other => Err(format!("its own check says {other}")),
    }
}

/// A run of ranks that have a cluster each; with `io` the common memory is that of the I/O subsystem.
fn run(
    study: &Study,
    chip: &str,
    app: &'static str,
    (ranks, io): (u32, bool),
    words: &str,
) -> Result<Run, String> {
    study.lab.run(&Trial {
        app,
        chip: chip.to_owned(),
        ranks,
        map: "scatter",
        protocol: "auto",
        io,
        flags: &[],
        settings: &[],
        arguments: words.split(' ').map(String::from).collect(),
    })
}
