//! The figures as pictures.

use std::path::Path;

use super::dcfa_mpi;
use super::study::{Ends, SCALING, Study, Variant};
use super::transfers;
use crate::chart::{AxisOf, Chart, Scale};

const ENDS: Ends = Ends { from: "0", to: "15" };
const METHODS: [(&str, &str); 4] =
    [("pe", "MPI_Send (PE)"), ("dma", "MPI_Isend (DMA)"), ("eager", "eager pieces"), ("lazy", "lazy")];
const APPLICATIONS: [(&str, &str); 3] = [("fn", "FN"), ("gf", "GF"), ("km", "KM")];

/// Draws the pictures of a publication, or all, into a directory, which is made if need be.
pub fn draw(study: &Study, directory: &Path, seed: Option<&str>) -> Result<(), String> {
    std::fs::create_dir_all(directory).map_err(|error| format!("--plot {}: {error}", directory.display()))?;
    let mut pictures = if seed == Some("002") { Vec::new() } else { of_chips(study)? };
    if seed.is_none_or(|seed| seed == "002") {
        pictures.extend(dcfa_mpi::pictures(study)?);
    }
    for (name, svg) in pictures {
        let file = directory.join(name);
        std::fs::write(&file, svg).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// Those of MPPA-MPI and LWMPI.
fn of_chips(study: &Study) -> Result<Vec<(String, String)>, String> {
    let mut pictures = vec![
        ("throughput.svg".to_owned(), throughput(study)?),
        ("latency.svg".to_owned(), latency(study)?),
        ("a2a.svg".to_owned(), mapping(study)?),
        ("weak-scaling.svg".to_owned(), weak_scaling(study)?),
        ("power.svg".to_owned(), power(study)?),
    ];
    pictures.push(("lattice.svg".to_owned(), lattice(study)?));
    for (app, name) in APPLICATIONS {
        pictures.push((format!("time-{app}.svg"), times(study, app, name)?));
    }
    Ok(pictures)
}

type Line = (String, Vec<(f64, f64)>);

/// A line for each method, of the half round trips of the sizes that `shows` gives a point.
fn by_method(study: &Study, shows: impl Fn(f64, f64) -> Option<(f64, f64)>) -> Result<Vec<Line>, String> {
    METHODS
        .iter()
        .map(|(protocol, name)| {
            let trips = study.half_trips(ENDS, protocol)?;
            Ok((name.to_string(), trips.into_iter().filter_map(|(bytes, time)| shows(bytes, time)).collect()))
        })
        .collect()
}

fn throughput(study: &Study) -> Result<String, String> {
    const MHZ: f64 = 400.0;
    Ok(Chart {
        title: "Throughput of a ping-pong between clusters 0 and 15",
        x: AxisOf { title: "message size", scale: Scale::Bytes },
        y: AxisOf { title: "MB/s", scale: Scale::Log },
        lines: by_method(study, |bytes, time| (bytes > 0.0).then_some((bytes, MHZ * bytes / time)))?,
    }
    .svg())
}

fn latency(study: &Study) -> Result<String, String> {
    Ok(Chart {
        title: "Half round trip between clusters 0 and 15",
        x: AxisOf { title: "message size", scale: Scale::Bytes },
        y: AxisOf { title: "cycles", scale: Scale::Linear },
        lines: by_method(study, |bytes, time| (1.0..=2048.0).contains(&bytes).then_some((bytes, time)))?,
    }
    .svg())
}

fn mapping(study: &Study) -> Result<String, String> {
    let lines: Result<Vec<Line>, String> =
        ["compact", "scatter"].into_iter().map(|map| Ok((map.to_owned(), study.all_to_all(map)?))).collect();
    Ok(Chart {
        title: "All-to-all of 12 ranks by mapping",
        x: AxisOf { title: "payload", scale: Scale::Bytes },
        y: AxisOf { title: "seconds", scale: Scale::Linear },
        lines: lines?,
    }
    .svg())
}

fn weak_scaling(study: &Study) -> Result<String, String> {
    let lines: Result<Vec<Line>, String> = APPLICATIONS
        .iter()
        .map(|(app, name)| {
            let points: Result<Vec<(f64, f64)>, String> = SCALING
                .iter()
                .map(|ranks| Ok((f64::from(*ranks), study.efficiency(app, *ranks, Variant::Optimised)?)))
                .collect();
            Ok((name.to_string(), points?))
        })
        .collect();
    Ok(Chart {
        title: "Weak scaling, LWMPI optimised",
        x: AxisOf { title: "ranks", scale: Scale::Doubling },
        y: AxisOf { title: "efficiency, percent", scale: Scale::Linear },
        lines: lines?,
    }
    .svg())
}

/// Figure 5.9 of Ho's thesis, with the band that it says the lattice reaches.
fn lattice(study: &Study) -> Result<String, String> {
    let clusters = transfers::CLUSTERS.map(f64::from);
    let mut lines = Vec::new();
    for (depth, name) in [(1, "one slot"), (2, "two slots"), (8, "eight slots")] {
        let points: Result<Vec<(f64, f64)>, String> = transfers::CLUSTERS
            .iter()
            .map(|count| Ok((f64::from(*count), transfers::scaling(study, *count, depth)?)))
            .collect();
        lines.push((name.to_owned(), points?));
    }
    let (low, high) = transfers::PLATEAU;
    for (name, bound) in [("thesis, least", low), ("thesis, most", high)] {
        lines.push((name.to_owned(), clusters[3..].iter().map(|count| (*count, bound)).collect()));
    }
    Ok(Chart {
        title: "Lattice Boltzmann by blocks of 8 x 8 x 8 from two DDRs",
        x: AxisOf { title: "clusters", scale: Scale::Doubling },
        y: AxisOf { title: "million updates a second", scale: Scale::Linear },
        lines,
    }
    .svg())
}

fn times(study: &Study, app: &'static str, name: &str) -> Result<String, String> {
    let title = format!("{name}: time by way of communication");
    Ok(Chart {
        title: &title,
        x: AxisOf { title: "ranks", scale: Scale::Doubling },
        y: AxisOf { title: "seconds", scale: Scale::Linear },
        lines: by_variant(|ranks, variant| study.seconds(app, ranks, variant))?,
    }
    .svg())
}

fn power(study: &Study) -> Result<String, String> {
    Ok(Chart {
        title: "KM: peak power",
        x: AxisOf { title: "ranks", scale: Scale::Doubling },
        y: AxisOf { title: "watts", scale: Scale::Linear },
        lines: by_variant(|ranks, variant| study.peak_power("km", ranks, variant))?,
    }
    .svg())
}

fn by_variant(of: impl Fn(u32, Variant) -> Result<f64, String>) -> Result<Vec<Line>, String> {
    Variant::ALL
        .into_iter()
        .map(|variant| {
            let points: Result<Vec<(f64, f64)>, String> =
                SCALING.iter().map(|ranks| Ok((f64::from(*ranks), of(*ranks, variant)?))).collect();
            Ok((variant.name().to_owned(), points?))
        })
        .collect()
}
