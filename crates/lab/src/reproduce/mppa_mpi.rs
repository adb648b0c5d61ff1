//! Figures of MPPA-MPI (Ho and others, "MPI communication on MPPA many-core NoC", ParCo 2015).

use super::figure::{Figure, Published};
use super::study::{Ends, Sends, Study};

const FORTH: Ends = Ends { from: "0", to: "15" };
const BACK: Ends = Ends { from: "15", to: "0" };
const FROM_IO: Ends = Ends { from: "io", to: "15" };
const TO_IO: Ends = Ends { from: "15", to: "io" };
const MHZ: f64 = 400.0;

/// The measured laws of table IV: identifier, what, ends, protocol, K, h.
const LAWS: [(&str, &str, &str, Ends, &str, f64, f64); 8] = [
    ("a.cc0-cc15.pe.K", "a.cc0-cc15.pe.h", "MPI_Send, cluster 0 to 15", FORTH, "pe", 0.98, 31430.0),
    ("a.cc0-cc15.dma.K", "a.cc0-cc15.dma.h", "MPI_Isend, cluster 0 to 15", FORTH, "dma", 0.27, 33690.0),
    ("a.cc15-cc0.pe.K", "a.cc15-cc0.pe.h", "MPI_Send, cluster 15 to 0", BACK, "pe", 0.98, 30240.0),
    ("a.cc15-cc0.dma.K", "a.cc15-cc0.dma.h", "MPI_Isend, cluster 15 to 0", BACK, "dma", 0.27, 32850.0),
    ("a.io-cc15.pe.K", "a.io-cc15.pe.h", "MPI_Send, I/O to cluster 15", FROM_IO, "pe", 13.52, 159_544.0),
    ("a.io-cc15.dma.K", "a.io-cc15.dma.h", "MPI_Isend, I/O to cluster 15", FROM_IO, "dma", 0.84, 181_300.0),
    ("a.cc15-io.pe.K", "a.cc15-io.pe.h", "MPI_Send, cluster 15 to I/O", TO_IO, "pe", 0.98, 129_200.0),
    ("a.cc15-io.dma.K", "a.cc15-io.dma.h", "MPI_Isend, cluster 15 to I/O", TO_IO, "dma", 0.26, 144_500.0),
];

/// Bytes of one eager letter.
const LETTER: f64 = 96.0;
/// "Short": up to here splitting halves the latency.
const SHORT: f64 = 256.0;
/// From here on the laws say that a ninth eager piece takes longer than a handshake.
const EAGER_END: f64 = 768.0;
const KIBIBYTE: f64 = 1024.0;
/// A medium and a large message, for the choice of the best method.
const MEDIUM: f64 = 2048.0;
const LARGE: f64 = 262_144.0;

/// All of them.
pub fn figures() -> Vec<Figure> {
    let mut figures: Vec<Figure> = laws().collect();
    figures.extend(short_sends());
    figures.extend(throughput());
    figures.extend(curves());
    figures.extend(choices());
    figures.extend(crossings());
    figures.extend(rates());
    figures.extend(contention());
    figures.extend(broadcasts());
    figures.extend(linpack());
    figures
}

/// A number of a law: printed with three digits, so within one percent.
fn law(value: f64) -> Published {
    Published::Number { value, within: 0.01 }
}

fn laws() -> impl Iterator<Item = Figure> {
    LAWS.into_iter().flat_map(|(k_id, h_id, what, ends, protocol, k, h)| {
        [
            Figure::new(k_id, what, "cycles/B", law(k), move |study| Ok(study.law(ends, protocol)?.per_byte)),
            Figure::new(h_id, what, "cycles", law(h), move |study| Ok(study.law(ends, protocol)?.per_call)),
        ]
    })
}

/// How long a send that does not wait for its receiver takes.
fn short_sends() -> [Figure; 3] {
    let what = "MPI_Send of a lazy message";
    [
        Figure::new("a.eager", "MPI_Send in eager pieces, each", "cycles", law(3800.0), per_piece),
        Figure::new("a.lazy.K", what, "cycles/B", law(1.28), |study| Ok(lazy(study)?.per_byte)),
        Figure::new("a.lazy.h", what, "cycles", law(5300.0), |study| Ok(lazy(study)?.per_call)),
    ]
}

/// Mean time of a piece over all sizes that were split.
fn per_piece(study: &Study) -> Result<f64, String> {
    let times = study.send_times(FORTH, "eager")?;
    let pieces = |bytes: f64| (bytes / LETTER).floor() + 1.0;
    let each: Vec<f64> = times
        .iter()
        .filter(|(bytes, _)| *bytes <= 4096.0)
        .map(|(bytes, time)| time / pieces(*bytes))
        .collect();
    Ok(each.iter().sum::<f64>() / each.len() as f64)
}

fn lazy(study: &Study) -> Result<crate::lab::Law, String> {
    let times = study.send_times(FORTH, "lazy")?;
    let medium: Vec<(f64, f64)> =
        times.into_iter().filter(|(bytes, _)| (LETTER..=8192.0).contains(bytes)).collect();
    crate::lab::Law::through(&medium).ok_or_else(|| "too few sizes for a law".into())
}

fn throughput() -> [Figure; 2] {
    [("a.throughput.pe", "pe", 408.0), ("a.throughput.dma", "dma", 1481.0)].map(|(id, protocol, value)| {
        let published = Published::Number { value, within: 0.03 };
        let what = "largest throughput between clusters";
        Figure::new(id, what, "MB/s", published, move |study| asymptote(study, protocol))
    })
}

/// What the two largest messages differ by, in bytes and in time, so that the call's own time drops out.
fn asymptote(study: &Study, protocol: &'static str) -> Result<f64, String> {
    let trips = study.half_trips(FORTH, protocol)?;
    let [.., (less, shorter), (more, longer)] = trips[..] else { return Err("too few sizes".into()) };
    Ok(MHZ * (more - less) / (longer - shorter))
}

/// The curves of figure 5: throughput by size.
fn curves() -> [Figure; 4] {
    let about = |value| Published::Number { value, within: 0.05 };
    [
        Figure::new("a.curve.cc.pe", "throughput at 256 KiB, PE", "MB/s", about(400.0), |study| {
            Ok(throughput_of(study, FORTH, "pe", |bytes| bytes == LARGE)?.into_iter().fold(0.0, f64::max))
        }),
        Figure::new("a.curve.cc.dma", "throughput at 256 KiB, DMA", "MB/s", about(1000.0), |study| {
            Ok(throughput_of(study, FORTH, "dma", |bytes| bytes == LARGE)?.into_iter().fold(0.0, f64::max))
        }),
        Figure::new(
            "a.curve.cc.best",
            "best throughput, up to 512 KiB, DMA",
            "MB/s",
            about(1200.0),
            |study| Ok(throughput_of(study, FORTH, "dma", |_| true)?.into_iter().fold(0.0, f64::max)),
        ),
        Figure::new(
            "a.curve.io",
            "I/O and cluster 15, from 1 KiB: furthest from the laws' curve",
            "%",
            Published::AtMost(1.0),
            furthest_from_the_laws,
        ),
    ]
}

fn throughput_of(
    study: &Study,
    ends: Ends,
    protocol: &'static str,
    counts: impl Fn(f64) -> bool,
) -> Result<Vec<f64>, String> {
    let times = study.send_times(ends, protocol)?;
    Ok(times
        .into_iter()
        .filter(|(bytes, _)| counts(*bytes))
        .map(|(bytes, time)| MHZ * bytes / time)
        .collect())
}

/// All sizes, both ways and both methods: the greatest difference from 400 / (K + h / N) of table IV, in percent.
fn furthest_from_the_laws(study: &Study) -> Result<f64, String> {
    let mut furthest: f64 = 0.0;
    for (_, _, _, ends, protocol, k, h) in LAWS.into_iter().filter(|law| law.3 == FROM_IO || law.3 == TO_IO) {
        for (bytes, time) in study.send_times(ends, protocol)? {
            if bytes >= KIBIBYTE {
                furthest = furthest.max(100.0 * (time / (k * bytes + h) - 1.0).abs());
            }
        }
    }
    Ok(furthest)
}

/// The sizes of figure 6 at which one method becomes better than another.
fn crossings() -> [Figure; 2] {
    let between = Published::Range { low: SHORT, high: 800.0, within: 0.0 };
    let about = Published::Number { value: 3183.0, within: 0.05 };
    [
        Figure::new(
            "a.cross.eager",
            "longest message that is quickest in eager pieces",
            "B",
            between,
            |study| {
                let sizes = around_letters();
                let [eager, pe, dma] =
                    ["eager", "pe", "dma"].map(|way| study.half_trips_of(FORTH, way, &sizes));
                let (eager, pe, dma) = (eager?, pe?, dma?);
                let quickest = eager
                    .iter()
                    .zip(pe.iter().zip(&dma))
                    .filter(|(eager, (pe, dma))| eager.1 < pe.1.min(dma.1));
                quickest.map(|(eager, _)| eager.0).reduce(f64::max).ok_or_else(|| "never".into())
            },
        ),
        Figure::new("a.cross.dma", "shortest message that is quicker by DMA", "B", about, |study| {
            let steps: Vec<String> = (2048..=4608).step_by(64).map(|bytes: u32| bytes.to_string()).collect();
            let (pe, dma) = (
                study.send_times_of(FORTH, "pe", &steps.join(","))?,
                study.send_times_of(FORTH, "dma", &steps.join(","))?,
            );
            let quicker = pe.iter().zip(&dma).find(|(pe, dma)| dma.1 < pe.1);
            quicker.map(|(pe, _)| pe.0).ok_or_else(|| "never".into())
        }),
    ]
}

/// Sizes on both sides of where one more letter is needed.
fn around_letters() -> String {
    let letter = LETTER as u32;
    let sizes: Vec<String> =
        (1..=14).flat_map(|n| [n * letter - 1, n * letter]).map(|n| n.to_string()).collect();
    sizes.join(",")
}

/// Messages a second of figure 6, one method after the other; and their order, up to the size from which the laws cross.
fn rates() -> Vec<Figure> {
    const METHODS: [(&str, &str, &str, f64); 4] = [
        ("a.rate.lazy", "messages of 96 B a second, lazy", "lazy", 73_762.0),
        ("a.rate.eager", "messages of 96 B a second, eager pieces", "eager", 52_632.0),
        ("a.rate.pe", "messages of 96 B a second, PE", "pe", 12_689.0),
        ("a.rate.dma", "messages of 96 B a second, DMA", "dma", 11_864.0),
    ];
    let mut figures: Vec<Figure> = METHODS
        .into_iter()
        .map(|(id, what, protocol, value)| {
            Figure::new(id, what, "1/s", law(value), move |study| {
                let times = study.send_times_of(FORTH, protocol, &around_letters())?;
                let found = times.into_iter().find(|(bytes, _)| *bytes == LETTER);
                found
                    .map(|(_, time)| MHZ * 1e6 / time)
                    .ok_or_else(|| "no message of 96 bytes was measured".into())
            })
        })
        .collect();
    let what = "sizes from 96 to 767 B where not lazy > eager > PE > DMA";
    figures.push(Figure::new("a.rate.order", what, "", Published::Count(0.0), |study| {
        let mut times = Vec::new();
        for (_, _, protocol, _) in METHODS {
            times.push(study.send_times_of(FORTH, protocol, &around_letters())?);
        }
        let sizes = (0..times[0].len()).filter(|size| (LETTER..EAGER_END).contains(&times[0][*size].0));
        Ok(sizes.filter(|size| times.windows(2).any(|pair| pair[0][*size].1 >= pair[1][*size].1)).count()
            as f64)
    }));
    figures
}

fn choices() -> [Figure; 4] {
    let leads = Published::AtLeast(1.0);
    [
        Figure::new(
            "a.eager.half",
            "latency of eager pieces / best of PE and DMA, 1 to 256 B",
            "",
            Published::Range { low: 0.4, high: 0.6, within: 0.0 },
            eager_share,
        ),
        Figure::new("a.best.short", "8 B: best other latency / eager", "", leads, |study| {
            lead(study, Study::half_trips, "eager", 8.0)
        }),
        Figure::new("a.best.medium", "2 KiB: best other return time / lazy", "", leads, |study| {
            lead(study, Study::send_times, "lazy", MEDIUM)
        }),
        Figure::new("a.best.large", "256 KiB: best other latency / DMA", "", leads, |study| {
            lead(study, Study::half_trips, "dma", LARGE)
        }),
    ]
}

fn eager_share(study: &Study) -> Result<f64, String> {
    let (eager, pe, dma) =
        (study.half_trips(FORTH, "eager")?, study.half_trips(FORTH, "pe")?, study.half_trips(FORTH, "dma")?);
    let shares: Vec<f64> = eager
        .iter()
        .zip(pe.iter().zip(&dma))
        .filter(|((bytes, _), _)| (1.0..=SHORT).contains(bytes))
        .map(|((_, eager), ((_, pe), (_, dma)))| eager / pe.min(*dma))
        .collect();
    Ok(shares.iter().sum::<f64>() / shares.len() as f64)
}

type Times = fn(&Study, Ends, &'static str) -> Result<Vec<(f64, f64)>, String>;

/// How many times longer the best other method takes than `method` for messages of `bytes`.
fn lead(study: &Study, times: Times, method: &'static str, bytes: f64) -> Result<f64, String> {
    let at = |protocol| -> Result<f64, String> {
        let found = times(study, FORTH, protocol)?.into_iter().find(|(size, _)| *size == bytes);
        found.map(|(_, time)| time).ok_or_else(|| format!("no message of {bytes} bytes was measured"))
    };
    let mine = at(method)?;
    let others = ["pe", "dma", "eager", "lazy"].into_iter().filter(|other| *other != method);
    let times: Result<Vec<f64>, String> = others.map(at).collect();
    times?.into_iter().map(|time| time / mine).min_by(f64::total_cmp).ok_or_else(|| "no other method".into())
}

/// The paper gives no numbers.
fn contention() -> [Figure; 3] {
    [("a.contention.2", 2), ("a.contention.4", 4), ("a.contention.8", 8)].map(|(id, pairs)| {
        let what = "pairs that share a link: time / least possible";
        Figure::new(id, what, "", Published::Nothing, move |study| study.shared_link(pairs))
    })
}

/// What the multicast of the chip's network, which the paper names and does not use, would do for MPI_Bcast to 16 clusters: time with it, and without.
fn broadcasts() -> [Figure; 4] {
    const MULTICAST: &[&str] = &["--multicast"];
    let (short, long) = ("MPI_Bcast of 8 B to 16 clusters", "MPI_Bcast of 64 KiB to 16 clusters");
    let figure = |id, what, flags: &'static [&'static str], which: usize| {
        let measure = move |study: &Study| Ok(study.broadcasts(flags)?[which]);
        Figure::new(id, what, "cycles", Published::Nothing, measure)
    };
    [
        figure("a.bcast.short.messages", short, &[], 0),
        figure("a.bcast.short.multicast", short, MULTICAST, 0),
        figure("a.bcast.messages", long, &[], 1),
        figure("a.bcast.multicast", long, MULTICAST, 1),
    ]
}

/// Sizes of Linpack as figure 7b has them beyond what the chip has room for, up to its bare memory.
const LARGER: [u32; 3] = [1250, 1500, 2000];

fn linpack() -> [Figure; 6] {
    let speed = Published::Number { value: 1.2, within: 0.15 };
    let gain = Published::Range { low: 6.0, high: 10.0, within: 0.0 };
    let no_gain = Published::Points { value: 0.0, within: 1.0 };
    [
        Figure::new("a.hpl", "Linpack, N = 1250, 16 ranks, eager", "GFLOPS", speed, |study| {
            study.linpack(Sends::Eager)
        }),
        Figure::new("a.hpl.eager", "Linpack: gain by eager sends", "%", gain, |study| {
            percent_over(study, Sends::Eager, Sends::Plain)
        }),
        Figure::new("a.hpl.lazy", "Linpack: further gain by lazy sends", "%", no_gain, |study| {
            percent_over(study, Sends::EagerAndLazy, Sends::Eager)
        }),
        Figure::new(
            "a.hpl.memory",
            "Linpack: largest N that fits, by 250",
            "rows",
            Published::Count(1250.0),
            |study| {
                let mut largest = 0;
                for rows in (250..=4000).step_by(250) {
                    if !study.linpack_fits(rows)? {
                        break;
                    }
                    largest = rows;
                }
                Ok(largest.into())
            },
        ),
        Figure::new(
            "a.hpl.size",
            "Linpack, N = 1250, 1500, 2000 in larger memory: steps at which it gets faster",
            "",
            Published::Count((LARGER.len() - 1) as f64),
            |study| {
                let speeds: Result<Vec<f64>, String> =
                    LARGER.iter().map(|rows| study.linpack_in_larger_memory(*rows)).collect();
                Ok(speeds?.windows(2).filter(|pair| pair[1] > pair[0]).count() as f64)
            },
        ),
        Figure::new(
            "a.hpl.cores",
            "Linpack: 2, 4 or 16 cores of each cluster, fastest / 1 core",
            "",
            Published::AtMost(1.0),
            |study| {
                let speeds: Result<Vec<f64>, String> =
                    [2, 4, 16].iter().map(|cores| study.linpack_with_cores(*cores)).collect();
                Ok(speeds?.into_iter().fold(0.0, f64::max) / study.linpack(Sends::Eager)?)
            },
        ),
    ]
}

fn percent_over(study: &Study, sends: Sends, others: Sends) -> Result<f64, String> {
    Ok(100.0 * (study.linpack(sends)? / study.linpack(others)? - 1.0))
}
