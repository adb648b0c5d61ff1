//! What the figures are made of: ping-pongs, all-to-alls, weak scaling and Linpack on the chip.

use std::sync::Arc;

use sim::Chip;
use sim::chip::Description;

use super::{lwmpi, numbers};
use crate::lab::{Lab, Law, Line, Run, Trial, ping_pong};

/// The chip under study, and how thoroughly.
pub struct Study {
    pub lab: Arc<Lab>,
    pub chip: String,
    /// Fewer images, rounds and sizes: a look rather than a measurement.
    pub quick: bool,
}

/// Numbers of ranks of the weak scaling: one cluster, doubled until the chip is full.
pub const SCALING: [u32; 5] = [12, 24, 48, 96, 192];

/// What a link of the chip carries.
const LINK_BYTES_PER_CYCLE: f64 = 4.0;

/// Ranks of MPPA-MPI's experiments, one a cluster.
const CLUSTERS: u32 = 16;

/// Message sizes of the ping-pongs: dense where eager messages are split.
const SIZES: &str =
    "0,1,8,32,64,95,100,128,191,200,255,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144,524288";

/// What an application says before it ends because its cluster's memory is full.
const NO_ROOM: &str = "no room for";

/// How an application communicates in LWMPI's comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// LWMPI with the local slot.
    Optimised,
    /// LWMPI without it.
    Unoptimised,
    /// The operating system's mailboxes and portals by hand.
    Raw,
}

impl Variant {
    /// All of them.
    pub const ALL: [Variant; 3] = [Variant::Optimised, Variant::Unoptimised, Variant::Raw];

    /// In pictures.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Optimised => "LWMPI, optimised",
            Variant::Unoptimised => "LWMPI, unoptimised",
            Variant::Raw => "raw IPC",
        }
    }
}

/// Which of MPPA-MPI's optimisations are on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sends {
    /// None: every message waits for its receiver.
    Plain,
    /// Short messages in letters.
    Eager,
    /// Short messages in letters, medium ones copied at the sender.
    EagerAndLazy,
}

impl Sends {
    fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Sends::Plain => &[("CORELACE_EAGER_MAX", "0"), ("CORELACE_LAZY_MAX", "0")],
            Sends::Eager => &[("CORELACE_LAZY_MAX", "0")],
            Sends::EagerAndLazy => &[],
        }
    }
}

/// The two ends of a ping-pong: clusters by number, or `io`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    pub from: &'static str,
    pub to: &'static str,
}

impl Study {
    /// Mean times of the messages between two ranks, one a cluster, in the direction of `ends`.
    fn ping_pong(&self, ends: Ends, protocol: &'static str, sizes: &str) -> Result<Vec<Line>, String> {
        let repeat = if self.quick { 3 } else { 50 };
        let trial = ping_pong::trial(&self.chip, (ends.from, ends.to), protocol, sizes, repeat)?;
        Ok(ping_pong::direction(&self.lab.run(&trial)?, ends.from))
    }

    /// Duration of the send call in cycles, by size.
    pub fn send_times(&self, ends: Ends, protocol: &'static str) -> Result<Vec<(f64, f64)>, String> {
        self.send_times_of(ends, protocol, SIZES)
    }

    /// The same for other sizes, a list with commas.
    pub fn send_times_of(
        &self,
        ends: Ends,
        protocol: &'static str,
        sizes: &str,
    ) -> Result<Vec<(f64, f64)>, String> {
        by_size(&self.ping_pong(ends, protocol, sizes)?, "cycles")
    }

    /// Half of the round trip in cycles, by size.
    pub fn half_trips(&self, ends: Ends, protocol: &'static str) -> Result<Vec<(f64, f64)>, String> {
        self.half_trips_of(ends, protocol, SIZES)
    }

    /// The same for other sizes, a list with commas.
    pub fn half_trips_of(
        &self,
        ends: Ends,
        protocol: &'static str,
        sizes: &str,
    ) -> Result<Vec<(f64, f64)>, String> {
        by_size(&self.ping_pong(ends, protocol, sizes)?, "half_cycles")
    }

    /// The law of the send call.
    pub fn law(&self, ends: Ends, protocol: &'static str) -> Result<Law, String> {
        let times = self.send_times(ends, protocol)?;
        Law::through(&times).ok_or_else(|| "too few sizes for a law".into())
    }

    /// What a run of LWMPI's ping-pong with so many exchanges of a short message says of the chip: between two ranks of one cluster (`compact`) or of
    /// two, by MPI or by hand (`raw`).
    fn exchanges(&self, map: &'static str, send: &str, exchanges: u32) -> Result<Run, String> {
        let words = ["--from", "0", "--to", "1", "--sizes", "128", "--send", send, "--repeat"];
        let mut arguments: Vec<String> = words.map(String::from).into();
        arguments.push(exchanges.to_string());
        self.lab.run(&Trial {
            app: "pingpong",
            chip: lwmpi::machine(&self.chip),
            ranks: 2,
            map,
            protocol: "lwmpi",
            io: false,
            flags: &[],
            settings: &[],
            arguments,
        })
    }

    /// How much of something that a run counts is of one message between ranks that know each other. What the longer run has more is ten exchanges of
    /// two messages: beginning, looking up and end drop out.
    fn of_a_message(&self, map: &'static str, send: &str, counts: &[&str]) -> Result<f64, String> {
        let counted = |exchanges| -> Result<f64, String> {
            let run = self.exchanges(map, send, exchanges)?;
            counts.iter().map(|count| run.stat(count)).sum()
        };
        Ok((counted(20)? - counted(10)?) / 20.0)
    }

    /// Letters and transfers of a message of LWMPI.
    pub fn letters_of_a_message(&self, map: &'static str) -> Result<f64, String> {
        self.of_a_message(map, "send", &["/letters", "/local_letters", "/transfers"])
    }

    /// Calls of the system cores for a message.
    pub fn calls_of_a_message(&self, map: &'static str, send: &str) -> Result<f64, String> {
        self.of_a_message(map, send, &["/calls"])
    }

    /// Letters of the name service in a run of two ranks on two clusters, which look each other up, and how many more a longer run has.
    pub fn letters_of_names(&self) -> Result<(f64, f64), String> {
        let letters = |exchanges| self.exchanges("scatter", "send", exchanges)?.stat("/name_letters");
        let all = letters(10)?;
        Ok((all, letters(20)? - all))
    }

    /// Time of an exchange of all 12 ranks with all, by payload.
    pub fn all_to_all(&self, map: &'static str) -> Result<Vec<(f64, f64)>, String> {
        let run = self.lab.run(&Trial {
            app: "a2a",
            chip: lwmpi::machine(&self.chip),
            ranks: 12,
            map,
            protocol: "lwmpi",
            io: false,
            flags: &[],
            settings: &[],
            arguments: vec!["--rounds".into(), if self.quick { "2" } else { "10" }.into()],
        })?;
        run.lines.iter().map(|line| Ok((line.number("bytes")?, line.number("time")?))).collect()
    }

    /// A run of one of the applications, of its size for that many ranks.
    fn application(&self, app: &'static str, ranks: u32, variant: Variant) -> Result<Run, String> {
        let mut arguments: Vec<String> = match (app, self.quick) {
            ("gf", true) => vec!["--scale".into(), "0.01".into()],
            // A number of rounds that no size ends before, so that all do the same work a rank.
            ("km", true) => vec!["--rounds".into(), "5".into()],
            _ => numbers::arguments(app),
        };
        if variant == Variant::Raw {
            arguments.push("--ipc".into());
        }
        let run = self.lab.run(&Trial {
            app,
            chip: lwmpi::machine(&self.chip),
            ranks,
            map: "compact",
            protocol: if variant == Variant::Unoptimised { "lwmpi-unopt" } else { "lwmpi" },
            io: false,
            flags: &[],
            settings: &[],
            arguments,
        })?;
        match run.line()?.text("check")? {
            "passed" => Ok(run),
            other => Err(format!("{app} on {ranks} ranks: its own check says {other}")),
        }
    }

    /// Seconds of an application.
    pub fn seconds(&self, app: &'static str, ranks: u32, variant: Variant) -> Result<f64, String> {
        self.application(app, ranks, variant)?.line()?.number("time")
    }

    /// Percent of one cluster's speed that each of 16 clusters still has, with 16 times the work.
    pub fn efficiency(&self, app: &'static str, ranks: u32, variant: Variant) -> Result<f64, String> {
        Ok(100.0 * self.seconds(app, SCALING[0], variant)? / self.seconds(app, ranks, variant)?)
    }

    /// How many times longer another variant takes than the optimised one.
    pub fn advantage(&self, app: &'static str, ranks: u32, over: Variant) -> Result<f64, String> {
        Ok(self.seconds(app, ranks, over)? / self.seconds(app, ranks, Variant::Optimised)?)
    }

    /// The same for every number of ranks.
    pub fn advantages(&self, app: &'static str, over: Variant) -> Result<Vec<f64>, String> {
        SCALING.iter().map(|ranks| self.advantage(app, *ranks, over)).collect()
    }

    /// Greatest mean power of a window of time, in watts.
    pub fn peak_power(&self, app: &'static str, ranks: u32, variant: Variant) -> Result<f64, String> {
        self.application(app, ranks, variant)?.stat("/peak_watts")
    }

    /// Energy of the chip in joules.
    pub fn energy(&self, app: &'static str, ranks: u32, variant: Variant) -> Result<f64, String> {
        self.application(app, ranks, variant)?.stat("/energy/total")
    }

    /// Linpack on 16 ranks, one a cluster, in GFLOPS.
    pub fn linpack(&self, sends: Sends) -> Result<f64, String> {
        self.linpack_with(&self.chip, sends, numbers::arguments("hpl"))
    }

    /// Whether Linpack of this size has room on the clusters.
    pub fn linpack_fits(&self, rows: u32) -> Result<bool, String> {
        match self.linpack_of(&self.chip, rows) {
            Ok(_) => Ok(true),
            Err(error) if error.contains(NO_ROOM) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Linpack of this size in GFLOPS, with four times the memory.
    pub fn linpack_in_larger_memory(&self, rows: u32) -> Result<f64, String> {
        let Description { text, .. } = Description::find(&self.chip).map_err(|error| error.to_string())?;
        let facts = Chip::find(&self.chip).map_err(|error| error.to_string())?.facts;
        let text =
            sim::chip::changed(&text, &facts, &[("cluster.scratchpad", "8"), ("cluster.usable", "7.5")])?;
        self.linpack_of(&self.lab.write("larger-memory.toml", &text)?, rows)
    }

    /// Linpack in GFLOPS, with products shared by so many cores of a cluster.
    pub fn linpack_with_cores(&self, cores: u32) -> Result<f64, String> {
        let mut arguments = numbers::arguments("hpl");
        arguments.extend(["--cores".to_owned(), cores.to_string()]);
        self.linpack_with(&self.chip, Sends::Eager, arguments)
    }

    fn linpack_of(&self, chip: &str, rows: u32) -> Result<f64, String> {
        let mut arguments = numbers::arguments("hpl");
        let size =
            arguments.iter().position(|word| word == "--n").ok_or("no --n among the numbers of hpl")?;
        arguments[size + 1] = rows.to_string();
        self.linpack_with(chip, Sends::Eager, arguments)
    }

    fn linpack_with(&self, chip: &str, sends: Sends, arguments: Vec<String>) -> Result<f64, String> {
        let run = self.lab.run(&Trial {
            app: "hpl",
            chip: chip.to_owned(),
            ranks: CLUSTERS,
            map: "scatter",
            protocol: "auto",
            io: false,
            flags: &[],
            settings: sends.settings(),
            arguments,
        })?;
        let line = run.line()?;
        match line.text("result")? {
            "passed" => line.number("gflops"),
            other => Err(format!("hpl: its residual has {other}")),
        }
    }

    /// Cycles of a broadcast of 8 bytes and of one of 64 KiB from one cluster to all others, with these flags of the launcher.
    pub fn broadcasts(&self, flags: &'static [&'static str]) -> Result<[f64; 2], String> {
        let run = self.lab.run(&Trial {
            app: "bcast",
            chip: self.chip.clone(),
            ranks: CLUSTERS,
            map: "scatter",
            protocol: "auto",
            io: false,
            flags,
            settings: &[],
            arguments: Vec::new(),
        })?;
        let [short, long] = &run.lines[..] else { return Err("two lines were expected".into()) };
        Ok([short.number("cycles")?, long.number("cycles")?])
    }

    /// Cycles of a message of each of so many pairs at once between two neighbouring clusters, which all use the one link between
    /// them, over the least that one message and the link allow.
    pub fn shared_link(&self, pairs: u32) -> Result<f64, String> {
        let run = self.lab.run(&Trial {
            app: "pairs",
            chip: self.chip.clone(),
            ranks: 24,
            map: "compact",
            protocol: "dma",
            io: false,
            flags: &[],
            settings: &[],
            arguments: ["--send", "isend", "--at-once", &format!("1,{pairs}")].map(String::from).into(),
        })?;
        let [alone, together] = &run.lines[..] else { return Err("two lines were expected".into()) };
        let link = f64::from(pairs) * together.number("bytes")? / LINK_BYTES_PER_CYCLE;
        Ok(together.number("cycles")? / alone.number("cycles")?.max(link))
    }
}

fn by_size(lines: &[Line], of: &str) -> Result<Vec<(f64, f64)>, String> {
    lines.iter().map(|line| Ok((line.number("bytes")?, line.number(of)?))).collect()
}
