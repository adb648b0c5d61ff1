//! What a network does under a load: packets come to every sender at random moments, whether or not those before are gone (open loop).
//!
//! A run warms up, then measures the packets that come in a window, and goes on with the traffic until those have landed. Where they do not within twice the window,
//! or where less lands in the window than comes, the network is saturated: its latency grows with the length of the run and means nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sim::{CYCLE, Chip, Event, Machine, Memory, Mover, Place, Rate, Time, Transfer};

use super::traffic::{Pattern, Random};

/// Below this share of what came, what landed says that the network is saturated.
const ACCEPTED_MIN: f64 = 0.95;

/// Destinations of a sender that are tried alone.
const ALONE_MOST: u64 = 256;

/// What is sent over a chip.
pub struct Experiment<'a> {
    pub pattern: &'a Pattern,
    /// Payload of a packet.
    pub bytes: u16,
    /// Packets that are measured at each load, of all senders together.
    pub packets: u32,
}

/// A network without a load, and what its links bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quiet {
    /// Cycles of a packet that is alone.
    pub latency: f64,
    /// The load at which the busiest link or interface has no pause any more.
    pub bound: f64,
}

/// A network under a load. Loads are shares of what the interface of a sender can send.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// What came to the senders.
    pub offered: f64,
    /// What landed.
    pub accepted: f64,
    /// Cycles from coming to landing.
    pub mean: f64,
    /// That 99 of 100 packets do not exceed.
    pub high: f64,
    pub saturated: bool,
}

impl Experiment<'_> {
    /// Sends packets one after the other, each alone.
    pub fn alone(&self, chip: &Chip) -> Quiet {
        let mut machine = Machine::new(chip);
        let mut random = Random::new(0);
        let (mut sent, mut waited) = (0u64, 0);
        let senders = self.pattern.senders();
        let mut each = 0;
        for from in &senders {
            let destinations = self.pattern.sample(*from, ALONE_MOST, &mut random);
            each = destinations.len() as u64;
            for to in destinations {
                let begin = machine.now();
                machine.transfer(begin, self.packet(*from, to, sent));
                while let Some((at, event)) = machine.step() {
                    if matches!(event, Event::Landed { .. }) {
                        waited += at - begin;
                    }
                }
                sent += 1;
            }
        }
        let busiest = machine.links().iter().map(|link| link.busy).max().unwrap_or(1).max(1);
        let full = each * self.packet_time(chip);
        Quiet {
            latency: waited as f64 / sent as f64 / CYCLE as f64,
            bound: (full as f64 / busiest as f64).min(1.0),
        }
    }

    /// Time that a packet takes the interface of its sender.
    fn packet_time(&self, chip: &Chip) -> Time {
        let plane = &chip.network.data;
        let flits = (u32::from(self.bytes) + plane.header_bytes).div_ceil(plane.flit_bytes);
        plane.flit_time.of(flits.into())
    }

    /// Lets packets come at that load.
    pub fn under(&self, chip: &Chip, load: f64) -> Point {
        let senders = self.pattern.senders();
        let packet_time = self.packet_time(chip) as f64;
        let pause = packet_time / load;
        let window = (f64::from(self.packets) / senders.len() as f64 * pause) as Time;
        let (begin, end) = (window / 2, window / 2 + window);
        let mut run = Run {
            machine: Machine::new(chip),
            begin,
            end,
            born: Vec::new(),
            late: 0,
            landed: 0,
            latencies: Vec::new(),
        };
        let mut randoms: Vec<Random> =
            senders.iter().map(|from| Random::new(u64::from(*from) << 32)).collect();
        let mut next = |sender: usize, after: Time| {
            let random = &mut randoms[sender];
            // Memoryless: the moments know nothing of each other.
            let pause = (-random.share().ln() * pause) as Time;
            (after + pause, self.pattern.draw(senders[sender], random))
        };
        let mut coming: BinaryHeap<Reverse<(Time, usize, u16)>> = BinaryHeap::new();
        for sender in 0..senders.len() {
            let (at, to) = next(sender, 0);
            coming.push(Reverse((at, sender, to)));
        }
        while let Some(Reverse((at, sender, to))) = coming.pop() {
            run.go_on(at);
            if at >= end && (run.late == 0 || at >= end + 2 * window) {
                break;
            }
            let token = run.born.len() as u64;
            run.born.push(at);
            run.late += u64::from((begin..end).contains(&at));
            run.machine.transfer(at, self.packet(senders[sender], to, token));
            let (at, to) = next(sender, at);
            coming.push(Reverse((at, sender, to)));
        }
        let share = |count: usize| count as f64 * packet_time / senders.len() as f64 / window as f64;
        run.point(share)
    }

    /// A packet that is before its sender's interface at once.
    fn packet(&self, from: u16, to: u16, token: u64) -> Transfer {
        Transfer {
            from: Place(from),
            to: Place(to),
            bytes: self.bytes.into(),
            rows: 1,
            mover: Mover::Core { per_byte: Rate::ticks(0) },
            from_memory: Memory::Scratchpad,
            to_memory: Memory::Scratchpad,
            token,
        }
    }
}

/// A network under way.
struct Run {
    machine: Machine,
    /// The window.
    begin: Time,
    end: Time,
    /// When each packet came.
    born: Vec<Time>,
    /// Packets that came in the window and have not landed.
    late: u64,
    /// Packets that landed in the window.
    landed: usize,
    /// Of the packets that came in the window.
    latencies: Vec<Time>,
}

impl Run {
    fn go_on(&mut self, until: Time) {
        while let Some((at, event)) = self.machine.step_until(until) {
            let Event::Landed { token, .. } = event else { continue };
            let born = self.born[token as usize];
            self.landed += usize::from((self.begin..self.end).contains(&at));
            if (self.begin..self.end).contains(&born) {
                self.late -= 1;
                self.latencies.push(at - born);
            }
        }
    }

    fn point(mut self, share: impl Fn(usize) -> f64) -> Point {
        let came = self.born.iter().filter(|at| (self.begin..self.end).contains(at)).count();
        let (offered, accepted) = (share(came), share(self.landed));
        self.latencies.sort_unstable();
        let cycles = |ticks: Time| ticks as f64 / CYCLE as f64;
        let sum: Time = self.latencies.iter().sum();
        Point {
            offered,
            accepted,
            mean: cycles(sum) / self.latencies.len().max(1) as f64,
            high: self.latencies.get(self.latencies.len() * 99 / 100).map_or(0.0, |ticks| cycles(*ticks)),
            saturated: self.late > 0 || accepted < ACCEPTED_MIN * offered,
        }
    }
}

#[cfg(test)]
mod tests {
    use sim::Position;
    use sim::chip::{Buffers, Shape};

    use super::super::traffic::Traffic;
    use super::*;

    /// A grid of eight by eight as textbooks have it: packets of one flit, a cycle for a router and one for a flit on a link, none for a wire.
    fn textbook(shape: Shape, buffers: u32, channels: u8) -> Chip {
        let mut chip = Chip::builtin("mesh16").unwrap();
        chip.io.clear();
        (chip.network.shape, chip.network.columns, chip.network.rows) = (shape, 8, 8);
        chip.positions = (0..8).flat_map(|y| (0..8).map(move |x| Position { x, y })).collect();
        chip.network.packet_payload = 4;
        (chip.network.data.router, chip.network.data.wire) = (CYCLE, 0);
        chip.set_buffers((channels > 0).then_some(Buffers { flits: buffers, channels })).unwrap();
        chip
    }

    fn with<R>(traffic: Traffic, chip: &Chip, packets: u32, use_it: impl FnOnce(&Experiment<'_>) -> R) -> R {
        let pattern = Pattern::new(traffic, chip).unwrap();
        use_it(&Experiment { pattern: &pattern, bytes: chip.network.packet_payload, packets })
    }

    fn quiet(traffic: Traffic, chip: &Chip) -> Quiet {
        with(traffic, chip, 1, |experiment| experiment.alone(chip))
    }

    fn close(value: f64, expected: f64, tolerance: f64) -> bool {
        (value / expected - 1.0).abs() <= tolerance
    }

    #[test]
    fn without_a_load_latency_is_the_mean_of_the_closed_form() {
        // Links between two clusters of a row of eight: 21/8 on a mesh and 2 on a torus, over all pairs; twice that, without pairs of one cluster with itself.
        for (shape, mean_links) in
            [(Shape::Mesh, 2.0 * 21.0 / 8.0 * 64.0 / 63.0), (Shape::Torus, 4.0 * 64.0 / 63.0)]
        {
            for channels in [0, 2] {
                let found = quiet(Traffic::Uniform, &textbook(shape, 8, channels)).latency;
                // A router more than links, and the flit itself.
                assert!(close(found, mean_links + 2.0, 1e-9), "{shape:?}: {found}");
            }
        }
    }

    #[test]
    fn the_bound_is_that_of_the_bisection_and_of_a_hot_spots_interface() {
        // Half of each half's packets, and 1/63 of that more because none stays at home, over the eight links between the halves of a mesh; twice
        // as many on a torus, which has both ways round.
        let crossing = 32.0 * 32.0 / 63.0 / 8.0;
        assert!(close(quiet(Traffic::Uniform, &textbook(Shape::Mesh, 8, 0)).bound, 1.0 / crossing, 1e-9));
        assert!(close(quiet(Traffic::HotSpot, &textbook(Shape::Mesh, 8, 0)).bound, 1.0 / 63.0, 1e-9));
        assert_eq!(quiet(Traffic::Neighbour, &textbook(Shape::Torus, 8, 0)).bound, 1.0);
    }

    /// Whether a share of the bound saturates a network.
    fn saturates(chip: &Chip, share: f64) -> bool {
        let load = share * quiet(Traffic::Uniform, chip).bound;
        with(Traffic::Uniform, chip, 15_000, |experiment| experiment.under(chip, load)).saturated
    }

    #[test]
    fn uniform_traffic_saturates_grids_with_buffers_at_shares_that_were_seen_before() {
        // Of the 0.49 flits a cycle and node of the bisection; the shares are those of the first runs, held so that they do not change unseen.
        let one_channel = textbook(Shape::Mesh, 4, 1);
        assert!(!saturates(&one_channel, 0.65) && saturates(&one_channel, 0.85));
        assert!(!saturates(&textbook(Shape::Mesh, 8, 8), 0.85));
        assert!(!saturates(&textbook(Shape::Mesh, 0, 0), 0.95));
        let torus = textbook(Shape::Torus, 8, 4);
        assert!(!saturates(&torus, 0.6) && saturates(&torus, 0.95));
    }

    #[test]
    fn a_hot_spot_takes_what_its_interface_takes_with_and_without_buffers() {
        for channels in [0, 2] {
            let chip = textbook(Shape::Mesh, 4, channels);
            let load = 1.5 * quiet(Traffic::HotSpot, &chip).bound;
            let point = with(Traffic::HotSpot, &chip, 5000, |experiment| experiment.under(&chip, load));
            assert!(
                point.saturated && close(point.accepted, 1.0 / 63.0, 0.02),
                "{channels} channels: {point:?}"
            );
        }
    }

    #[test]
    fn at_a_low_load_both_models_agree_and_little_waits() {
        for shape in [Shape::Mesh, Shape::Torus] {
            let alone = quiet(Traffic::Uniform, &textbook(shape, 8, 0)).latency;
            for channels in [0, 2] {
                let chip = textbook(shape, 8, channels);
                let point = with(Traffic::Uniform, &chip, 4000, |experiment| experiment.under(&chip, 0.05));
                assert!(!point.saturated && close(point.mean, alone, 0.05), "{shape:?}: {point:?}");
                assert!(close(point.accepted, point.offered, 0.05) && point.high >= point.mean, "{point:?}");
            }
        }
    }
}
