//! The chip through time: the load of each link and server, the memory of each place, power.

use trace::ServerKind;

use crate::run::ChipRun;

/// The instants of the floor plan that can be looked at.
pub const STEPS: usize = 240;

/// A link's load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkLoad {
    /// The link.
    pub link: u32,
    /// Flits altogether.
    pub flits: u64,
    /// Share of the run in which it was busy.
    pub mean: f64,
    /// Share of its busiest step.
    pub peak: f64,
    /// The ticks of that step.
    pub peak_at: (u64, u64),
}

/// A server's load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerLoad {
    /// Who.
    pub server: ServerKind,
    /// At which place.
    pub place: u32,
    /// Ticks of work altogether.
    pub busy: u64,
    /// Share of the run in which it worked.
    pub mean: f64,
    /// Share of its busiest step.
    pub peak: f64,
    /// The ticks of that step.
    pub peak_at: (u64, u64),
}

/// What was used of the chip. Steps cut the run into equal parts.
pub struct ChipUse {
    /// Links, most flits first.
    pub links: Vec<LinkLoad>,
    /// For each link, its load in each step: row after row.
    pub load: Vec<f32>,
    /// The same of the control network.
    pub control: Vec<LinkLoad>,
    /// For each link of the control network, its load in each step.
    pub control_load: Vec<f32>,
    /// Servers that worked, most work first.
    pub servers: Vec<ServerLoad>,
    /// For each of them, its load in each step: row after row.
    pub server_load: Vec<f32>,
    /// For each place, the most bytes held in each step.
    pub memory: Vec<u64>,
    /// Watts in each step, on average; empty if not recorded.
    pub watts: Vec<f64>,
    /// For each place, the deepest queue of its DMA engines in each step; empty if not recorded.
    pub dma: Vec<u32>,
}

impl ChipUse {
    pub(super) fn of(chip: &ChipRun, duration: u64) -> ChipUse {
        let steps = Steps { duration: duration.max(1) };
        let plan = &chip.plan;
        let (control, control_load) =
            links(&chip.control, plan.control_links.len(), plan.control_flits_per_kilotick, steps);
        let (links, load) = links(&chip.links, plan.links.len(), plan.flits_per_kilotick, steps);
        let (servers, server_load) = servers(chip, steps);
        let memory = chip.memory.iter().map(|&(time, place, bytes)| (time, place, bytes)).collect();
        let dma = chip.dma.iter().map(|&(time, place, depth)| (time, place, u64::from(depth))).collect();
        ChipUse {
            links,
            load,
            control,
            control_load,
            servers,
            server_load,
            memory: most(memory, chip.plan.places.len(), steps),
            watts: mean_watts(&chip.power, steps),
            dma: if chip.dma.is_empty() {
                Vec::new()
            } else {
                most(dma, chip.plan.places.len(), steps).into_iter().map(|depth| depth as u32).collect()
            },
        }
    }

    /// The load of a link on average over all links.
    pub fn mean_load(&self) -> f64 {
        self.links.iter().map(|link| link.mean).sum::<f64>() / self.links.len().max(1) as f64
    }

    /// The step in which the chip did most: its links carried most, or if they carried nothing, its servers worked most.
    pub fn busiest_step(&self) -> usize {
        let sums = |rows: &[f32]| {
            let mut sums = [0.0f32; STEPS];
            rows.chunks(STEPS).for_each(|row| sums.iter_mut().zip(row).for_each(|(sum, load)| *sum += load));
            sums
        };
        let busiest = |sums: [f32; STEPS]| {
            let best = sums.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)));
            best.filter(|(_, sum)| **sum > 0.0).map(|(step, _)| step)
        };
        [&self.load, &self.control_load, &self.server_load]
            .into_iter()
            .find_map(|rows| busiest(sums(rows)))
            .unwrap_or(0)
    }

    /// Joules of the run.
    pub fn joules(&self, seconds: f64) -> Option<f64> {
        (!self.watts.is_empty()).then(|| self.watts.iter().sum::<f64>() / self.watts.len() as f64 * seconds)
    }
}

#[derive(Clone, Copy)]
struct Steps {
    duration: u64,
}

impl Steps {
    fn of(self, time: u64) -> usize {
        ((time as u128 * STEPS as u128 / self.duration as u128) as usize).min(STEPS - 1)
    }

    fn begin(self, step: usize) -> u64 {
        (self.duration as u128 * step as u128 / STEPS as u128) as u64
    }

    fn ticks(self) -> f64 {
        self.duration as f64 / STEPS as f64
    }

    /// The greatest load of a row of steps, and when it was.
    fn busiest(self, row: &[f32]) -> (f64, (u64, u64)) {
        let best = |best: (usize, f32), (step, &load): (usize, &f32)| {
            if load > best.1 { (step, load) } else { best }
        };
        let (step, peak) = row.iter().enumerate().fold((0, 0.0), best);
        (f64::from(peak), (self.begin(step), self.begin(step + 1)))
    }

    /// The steps that a span touches, and how much of it falls into each.
    fn shares(self, begin: u64, end: u64) -> impl Iterator<Item = (usize, f64)> {
        let whole = (end.max(begin + 1) - begin) as f64;
        let width = self.ticks();
        (self.of(begin)..=self.of(end.saturating_sub(1).max(begin))).map(move |step| {
            let from = (begin as f64).max(step as f64 * width);
            let to = (end.max(begin + 1) as f64).min((step + 1) as f64 * width);
            (step, ((to - from) / whole).clamp(0.0, 1.0))
        })
    }
}

/// The loads of the links of one plane, and of each link in each step.
fn links(
    windows: &[(u64, u64, u32, u32)],
    count: usize,
    flits_per_kilotick: u32,
    steps: Steps,
) -> (Vec<LinkLoad>, Vec<f32>) {
    let mut flits = vec![0.0f64; count * STEPS];
    let mut totals = vec![0u64; count];
    for &(begin, end, link, crossed) in windows {
        totals[link as usize] += u64::from(crossed);
        for (step, share) in steps.shares(begin, end) {
            flits[link as usize * STEPS + step] += share * f64::from(crossed);
        }
    }
    let capacity = f64::from(flits_per_kilotick.max(1)) / 1000.0;
    let load: Vec<f32> =
        flits.iter().map(|flits| (flits / (capacity * steps.ticks())).min(1.0) as f32).collect();
    let mut loads: Vec<LinkLoad> = (0..count)
        .map(|link| {
            let (peak, peak_at) = steps.busiest(&load[link * STEPS..][..STEPS]);
            LinkLoad {
                link: link as u32,
                flits: totals[link],
                mean: (totals[link] as f64 / (capacity * steps.duration as f64)).min(1.0),
                peak,
                peak_at,
            }
        })
        .collect();
    loads.sort_by_key(|load| (std::cmp::Reverse(load.flits), load.link));
    (loads, load)
}

/// The loads of the servers that worked, most work first, and of each in each step.
fn servers(chip: &ChipRun, steps: Steps) -> (Vec<ServerLoad>, Vec<f32>) {
    let mut totals: Vec<((ServerKind, u32), u64)> = Vec::new();
    for &(_, _, server, busy) in &chip.servers {
        match totals.binary_search_by_key(&server, |(known, _)| *known) {
            Ok(index) => totals[index].1 += busy,
            Err(free) => totals.insert(free, (server, busy)),
        }
    }
    totals.sort_by_key(|&(server, busy)| (std::cmp::Reverse(busy), server));
    let mut ticks = vec![0.0f64; totals.len() * STEPS];
    for &(begin, end, server, busy) in &chip.servers {
        let Some(row) = totals.iter().position(|(known, _)| *known == server) else { continue };
        for (step, share) in steps.shares(begin, end) {
            ticks[row * STEPS + step] += share * busy as f64;
        }
    }
    let load: Vec<f32> = ticks.iter().map(|ticks| (ticks / steps.ticks()).min(1.0) as f32).collect();
    let loads = totals.iter().enumerate().map(|(row, &((server, place), busy))| {
        let (peak, peak_at) = steps.busiest(&load[row * STEPS..][..STEPS]);
        let mean = (busy as f64 / steps.duration as f64).min(1.0);
        ServerLoad { server, place, busy, mean, peak, peak_at }
    });
    (loads.collect(), load)
}

/// The largest value of each place within each step, of values that last until the next one.
fn most(mut samples: Vec<(u64, u32, u64)>, places: usize, steps: Steps) -> Vec<u64> {
    samples.sort_by_key(|sample| sample.0);
    let mut most = vec![0; places * STEPS];
    let mut now = vec![0u64; places];
    let mut step = 0;
    let mut samples = samples.into_iter().peekable();
    while step < STEPS {
        for place in 0..places {
            most[place * STEPS + step] = now[place];
        }
        while let Some((_, place, value)) = samples.next_if(|sample| steps.of(sample.0) <= step) {
            now[place as usize] = value;
            let cell = &mut most[place as usize * STEPS + step];
            *cell = value.max(*cell);
        }
        step += 1;
    }
    most
}

fn mean_watts(samples: &[(u64, u64)], steps: Steps) -> Vec<f64> {
    if samples.is_empty() {
        return Vec::new();
    }
    let mut joules_in_ticks = vec![0.0; STEPS];
    for (index, &(begin, microwatts)) in samples.iter().enumerate() {
        let end = samples.get(index + 1).map_or(steps.duration, |next| next.0).min(steps.duration);
        if begin < end {
            for (step, share) in steps.shares(begin, end) {
                joules_in_ticks[step] += share * (end - begin) as f64 * microwatts as f64 * 1e-6;
            }
        }
    }
    joules_in_ticks.into_iter().map(|sum| sum / steps.ticks()).collect()
}
