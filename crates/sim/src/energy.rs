//! Where the energy goes: idle power over time, and a fixed amount for each thing that happens.
//!
//! Counts are kept, not sums of rounded products, so the parts add up exactly. The power over time is kept in a bounded
//! number of windows, which get wider as the run gets longer.

use crate::chip::Power;
use crate::{CYCLE, Chip, Time};

/// Energy by part, in femtojoules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Energy {
    /// Idle power of the whole chip over the time.
    pub idle: u128,
    /// Active cores.
    pub cores: u128,
    /// Links, routers and interfaces.
    pub network: u128,
    /// DMA engines.
    pub dma: u128,
    /// Memory outside the chip.
    pub ddr: u128,
}

/// The mean power over a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowerSample {
    /// Its begin.
    pub start: Time,
    /// Its end.
    pub end: Time,
    /// The power between them.
    pub microwatts: u64,
}

impl Energy {
    /// All parts together, in femtojoules.
    pub fn total(&self) -> u128 {
        self.idle + self.cores + self.network + self.dma + self.ddr
    }

    /// All parts together, in joules.
    pub fn joules(&self) -> f64 {
        self.total() as f64 * 1e-15
    }
}

/// The most windows of the power over time.
const WINDOWS: usize = 4096;

/// The width of a window at first.
const FIRST_WIDTH: Time = 1000 * CYCLE;

/// Counts what costs energy.
#[derive(Clone)]
pub(crate) struct Meter {
    power: Power,
    clock_hz: u64,
    active: u128,
    flit_hops: u64,
    dma_bytes: u64,
    ddr_bytes: u64,
    width: Time,
    /// Femtojoules spent in each window, without idle power.
    windows: Vec<u128>,
    /// The window that was spent in last, and where it ends: time mostly stays in it.
    current: usize,
    current_end: Time,
}

impl Meter {
    pub(crate) fn new(chip: &Chip) -> Self {
        Self {
            power: chip.power,
            clock_hz: chip.clock_hz,
            active: 0,
            flit_hops: 0,
            dma_bytes: 0,
            ddr_bytes: 0,
            width: FIRST_WIDTH,
            windows: vec![0],
            current: 0,
            current_end: FIRST_WIDTH,
        }
    }

    /// A core works from `at` on for `duration`.
    pub(crate) fn active(&mut self, at: Time, duration: Time) {
        self.active += u128::from(duration);
        let end = at + duration;
        let mut from = at;
        while from < end {
            self.seek(from);
            let until = end.min(self.current_end);
            self.windows[self.current] += self.core_energy(u128::from(until - from));
            from = until;
        }
    }

    /// Flits cross a link or an interface.
    #[inline]
    pub(crate) fn flits(&mut self, at: Time, flits: u64) {
        self.flit_hops += flits;
        self.spend(at, flits * self.power.flit_hop);
    }

    /// A DMA engine moves bytes.
    #[inline]
    pub(crate) fn dma(&mut self, at: Time, bytes: u64) {
        self.dma_bytes += bytes;
        self.spend(at, bytes * self.power.dma_byte);
    }

    /// A memory controller reads or writes bytes.
    pub(crate) fn ddr(&mut self, at: Time, bytes: u64) {
        self.ddr_bytes += bytes;
        self.spend(at, bytes * self.power.ddr_byte);
    }

    /// What was spent until `now`.
    pub(crate) fn energy(&self, now: Time) -> Energy {
        Energy {
            idle: self.idle_energy(now),
            cores: self.core_energy(self.active),
            network: u128::from(self.flit_hops) * u128::from(self.power.flit_hop),
            dma: u128::from(self.dma_bytes) * u128::from(self.power.dma_byte),
            ddr: u128::from(self.ddr_bytes) * u128::from(self.power.ddr_byte),
        }
    }

    /// The mean power of a stretch of time, in microwatts. What was spent in a window counts by the part of it that lies in the
    /// stretch.
    pub(crate) fn mean(&self, begin: Time, end: Time) -> u64 {
        let windows =
            (begin / self.width) as usize..(end.div_ceil(self.width) as usize).min(self.windows.len());
        let within = windows.map(|index| {
            let start = index as u64 * self.width;
            let part = end.min(start + self.width) - begin.max(start);
            self.windows[index] * u128::from(part) / u128::from(self.width)
        });
        self.sample(begin, end, within.sum()).microwatts
    }

    /// The power over time until `now`.
    pub(crate) fn samples(&self, now: Time) -> Vec<PowerSample> {
        // A stretch at the end in which nothing was spent has no windows yet, and may need wider ones.
        let mut meter = self.clone();
        meter.seek(now);
        let windows = meter.windows.iter().zip((0..now).step_by(meter.width as usize));
        windows.map(|(spent, start)| meter.sample(start, now.min(start + meter.width), *spent)).collect()
    }

    fn sample(&self, start: Time, end: Time, spent: u128) -> PowerSample {
        let dynamic = spent * u128::from(self.clock_hz) / (u128::from(end - start) * 1_000_000);
        PowerSample { start, end, microwatts: self.power.idle_microwatts + dynamic as u64 }
    }

    /// Microwatts over ticks: one microwatt is 10^9 fJ/s, and a second has `clock_hz` thousand ticks.
    fn idle_energy(&self, time: Time) -> u128 {
        u128::from(self.power.idle_microwatts) * u128::from(time) * 1_000_000 / u128::from(self.clock_hz)
    }

    fn core_energy(&self, time: u128) -> u128 {
        time * u128::from(self.power.core_cycle) / u128::from(CYCLE)
    }

    #[inline]
    fn spend(&mut self, at: Time, femtojoules: u64) {
        if at >= self.current_end || at + self.width < self.current_end {
            self.seek(at);
        }
        self.windows[self.current] += u128::from(femtojoules);
    }

    /// Makes the window of `at` the current one.
    #[cold]
    fn seek(&mut self, at: Time) {
        while at / self.width >= WINDOWS as u64 {
            let halves = self.windows.chunks(2).map(|pair| pair.iter().sum());
            self.windows = halves.collect();
            self.width *= 2;
        }
        self.current = (at / self.width) as usize;
        self.current_end = (self.current as u64 + 1) * self.width;
        if self.current >= self.windows.len() {
            self.windows.resize(self.current + 1, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter() -> Meter {
        let mut chip = Chip::builtin("mesh16").unwrap();
        chip.clock_hz = 1_000_000_000;
        chip.power =
            Power { idle_microwatts: 2_000_000, core_cycle: 10_000, flit_hop: 7, dma_byte: 3, ddr_byte: 5 };
        Meter::new(&chip)
    }

    #[test]
    fn two_watts_over_a_microsecond_are_two_microjoules() {
        // 1 us = 1000 cycles at 1 GHz; 2 uJ = 2e9 fJ.
        assert_eq!(meter().energy(1000 * CYCLE).total(), 2_000_000_000);
    }

    #[test]
    fn every_count_is_multiplied_by_its_own_price() {
        let mut meter = meter();
        meter.flits(0, 10);
        meter.dma(0, 100);
        meter.ddr(0, 1000);
        meter.active(0, 4 * CYCLE);
        let energy = meter.energy(0);
        assert_eq!(energy, Energy { idle: 0, cores: 40_000, network: 70, dma: 300, ddr: 5000 });
    }

    #[test]
    fn an_active_core_adds_its_power_while_it_is_active_and_not_longer() {
        let mut meter = meter();
        // 10 pJ a cycle at 1 GHz are 10 mW.
        meter.active(0, 2500 * CYCLE);
        let samples = meter.samples(4000 * CYCLE);
        let power: Vec<u64> = samples.iter().map(|sample| sample.microwatts).collect();
        assert_eq!(power, [2_010_000, 2_010_000, 2_005_000, 2_000_000]);
    }

    #[test]
    fn the_mean_power_of_a_stretch_counts_the_parts_of_windows_that_lie_in_it() {
        let mut meter = meter();
        meter.active(0, 1000 * CYCLE);
        assert_eq!(meter.mean(0, 1000 * CYCLE), 2_010_000);
        assert_eq!(meter.mean(500 * CYCLE, 1500 * CYCLE), 2_005_000);
        assert_eq!(meter.mean(5000 * CYCLE, 6000 * CYCLE), 2_000_000);
    }

    #[test]
    fn windows_widen_and_lose_no_energy() {
        let mut meter = meter();
        for at in 0..20_000 {
            meter.flits(at * FIRST_WIDTH, 1);
        }
        assert!(meter.windows.len() <= WINDOWS);
        assert_eq!(meter.windows.iter().sum::<u128>(), meter.energy(0).network);
    }

    #[test]
    fn an_hour_of_idleness_needs_few_samples() {
        let hour = 3600 * 1_000_000_000 * CYCLE;
        let mut meter = meter();
        meter.active(0, 100 * CYCLE);
        let samples = meter.samples(hour);
        assert!(samples.len() <= WINDOWS);
        let last = samples.last().unwrap();
        assert_eq!((last.end, last.microwatts), (hour, 2_000_000));
        assert!(samples.windows(2).all(|pair| pair[0].end == pair[1].start));
    }
}
