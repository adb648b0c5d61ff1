//! Which CPUs each rank gets.
//!
//! Ranks take *blocks* of cores in the order of the map: neighbours close together, or turn by turn from each L3 cache, NUMA node or
//! socket. Binding then ties a rank to its block, or to all of the cache, node or socket that the block lies in. A block never
//! crosses a socket unless it is larger than one.
//!
//! Invariant: with more ranks than blocks the order starts again: there are no slots to run out of. Two ranks share a core only
//! when there is no other left.

use rustix::thread::CpuSet;

use crate::job::{Bind, Map};
use crate::topology::{self, Cpu};

/// How many cores the ranks of a job may use together: the cpuset, and the CPU quota of the control group if it is less.
pub fn usable_cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

/// Where ranks go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// The CPUs of each rank; empty for a rank that the kernel may move.
    pub sets: Vec<Vec<u32>>,
    /// All CPUs, in the order in which single ones are given out.
    pub order: Vec<u32>,
    cpus: Vec<Cpu>,
}

/// The CPUs for `ranks` ranks of `width` cores each.
pub(crate) fn places(ranks: u32, map: Map, bind: Bind, width: u32) -> Result<Places, String> {
    let cpus = topology::of_this_process();
    if let Some(cpu) =
        cpus.iter().filter(|_| bind != Bind::None).find(|cpu| cpu.id as usize >= CpuSet::MAX_CPU)
    {
        return Err(format!(
            "--bind-to: CPU {} may be used, but ranks can be tied to the first {} only; run under taskset, or with --bind-to none",
            cpu.id,
            CpuSet::MAX_CPU
        ));
    }
    Ok(arrange(cpus, ranks, map, bind, width))
}

fn arrange(cpus: Vec<Cpu>, ranks: u32, map: Map, bind: Bind, width: u32) -> Places {
    let order = taken(units(&cpus, true), map, 1).into_iter().flatten().map(|cpu| cpu.id).collect();
    if bind == Bind::None || cpus.is_empty() {
        return Places { sets: vec![Vec::new(); ranks as usize], order, cpus };
    }
    let width = width.max(1) as usize;
    let cores = units(&cpus, false);
    // A hardware thread each where ranks are more than cores, but not more than threads.
    let by_thread = bind == Bind::HwThread || (ranks as usize * width > cores.len() && bind == Bind::Core);
    let blocks = taken(if by_thread { units(&cpus, true) } else { cores }, map, width);
    let set = |block: &Vec<Cpu>| {
        let within = |of: fn(&Cpu) -> u32| {
            cpus.iter().filter(|cpu| block.iter().any(|own| of(own) == of(cpu))).map(|cpu| cpu.id).collect()
        };
        let mut set: Vec<u32> = match bind {
            Bind::None | Bind::HwThread | Bind::Core => block.iter().map(|cpu| cpu.id).collect(),
            Bind::L3 => within(|cpu| cpu.cache),
            Bind::Numa => within(|cpu| cpu.node),
            Bind::Socket => within(|cpu| cpu.socket),
        };
        set.sort_unstable();
        set.dedup();
        set
    };
    let sets = (0..ranks as usize).map(|rank| set(&blocks[rank % blocks.len()])).collect();
    Places { sets, order, cpus }
}

/// What is given out: cores with all their hardware threads, or single threads, of which the second ones of cores come last.
fn units(cpus: &[Cpu], by_thread: bool) -> Vec<Vec<Cpu>> {
    let mut cores: Vec<Vec<Cpu>> = Vec::new();
    for cpu in cpus {
        match cores.last_mut() {
            Some(core) if core[0].core == cpu.core => core.push(*cpu),
            _ => cores.push(vec![*cpu]),
        }
    }
    if !by_thread {
        return cores;
    }
    let threads = cores.iter().map(Vec::len).max().unwrap_or(0);
    (0..threads)
        .flat_map(|thread| cores.iter().filter_map(move |core| core.get(thread)))
        .map(|cpu| vec![*cpu])
        .collect()
}

/// Blocks of `width` units, in the order of the map.
fn taken(units: Vec<Vec<Cpu>>, map: Map, width: usize) -> Vec<Vec<Cpu>> {
    let domain: fn(&Cpu) -> u32 = match map {
        Map::Compact | Map::Scatter => |cpu| cpu.socket,
        Map::L3 => |cpu| cpu.cache,
        Map::Numa => |cpu| cpu.node,
    };
    let join = |block: &[Vec<Cpu>]| block.concat();
    // A round is all units of the same hardware thread: the next one begins when every core has been given out once.
    let mut domains: Vec<(u32, Vec<Vec<Cpu>>)> = Vec::new();
    for unit in &units {
        let key = domain(&unit[0]);
        match domains.iter_mut().find(|(known, _)| *known == key) {
            Some((_, list)) => list.push(unit.clone()),
            None => domains.push((key, vec![unit.clone()])),
        }
    }
    let blocks: Vec<Vec<Vec<Cpu>>> =
        domains.iter().map(|(_, list)| list.chunks_exact(width).map(join).collect()).collect();
    let most = blocks.iter().map(Vec::len).max().unwrap_or(0);
    if most == 0 {
        // Larger than a domain.
        let across: Vec<_> = units.chunks_exact(width).map(join).collect();
        return if across.is_empty() { vec![join(&units)] } else { across };
    }
    if map == Map::Compact {
        // Neighbours in rank are neighbours on the machine, but second threads of cores come last.
        return if width == 1 { units } else { blocks.concat() };
    }
    (0..most).flat_map(|turn| blocks.iter().filter_map(move |list| list.get(turn).cloned())).collect()
}

impl Places {
    /// What `--report-bindings` says of a rank.
    pub(crate) fn report(&self, rank: u32) -> String {
        let set = &self.sets[rank as usize];
        if set.is_empty() {
            return format!("rank {rank} is not bound");
        }
        let of = |what: fn(&Cpu) -> u32| {
            let own = self.cpus.iter().filter(|cpu| set.contains(&cpu.id));
            let mut numbers: Vec<u32> = own.map(what).collect();
            numbers.sort_unstable();
            numbers.dedup();
            topology::list(&numbers)
        };
        let (sockets, nodes) = (of(|cpu| cpu.socket), of(|cpu| cpu.node));
        format!("rank {rank} is bound to CPUs {} (socket {sockets}, NUMA node {nodes})", topology::list(set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::tests::machine;

    fn sets(ranks: u32, map: Map, bind: Bind, width: u32) -> Vec<String> {
        arrange(machine(), ranks, map, bind, width).sets.iter().map(|set| topology::list(set)).collect()
    }

    #[test]
    fn a_rank_gets_a_core_with_its_threads_and_a_thread_where_cores_run_out() {
        assert_eq!(sets(3, Map::Compact, Bind::Core, 1), ["0,8", "1,9", "2,10"]);
        let many = sets(10, Map::Compact, Bind::Core, 1);
        assert_eq!(many, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
        assert_eq!(sets(2, Map::Compact, Bind::HwThread, 1), ["0", "1"]);
        assert_eq!(sets(17, Map::Compact, Bind::Core, 1)[16], "0");
    }

    #[test]
    fn maps_take_turns_among_sockets_nodes_or_caches() {
        assert_eq!(sets(4, Map::Scatter, Bind::Core, 1), ["0,8", "4,12", "1,9", "5,13"]);
        assert_eq!(sets(5, Map::Numa, Bind::Core, 1), ["0,8", "2,10", "4,12", "6,14", "1,9"]);
        assert_eq!(sets(5, Map::L3, Bind::Core, 1), sets(5, Map::Numa, Bind::Core, 1));
    }

    #[test]
    fn several_cores_a_rank_lie_together_and_on_one_socket_if_they_fit() {
        assert_eq!(sets(2, Map::Compact, Bind::Core, 2), ["0-1,8-9", "2-3,10-11"]);
        assert_eq!(sets(3, Map::Scatter, Bind::Core, 2), ["0-1,8-9", "4-5,12-13", "2-3,10-11"]);
        // Three of a socket's four, twice.
        assert_eq!(sets(2, Map::Compact, Bind::Core, 3), ["0-2,8-10", "4-6,12-14"]);
        assert_eq!(sets(1, Map::Compact, Bind::Core, 8), ["0-15"]);
        assert_eq!(sets(2, Map::Compact, Bind::HwThread, 2), ["0-1", "2-3"]);
    }

    #[test]
    fn binding_widens_a_place_to_its_cache_node_or_socket() {
        assert_eq!(sets(3, Map::Compact, Bind::L3, 1), ["0-1,8-9", "0-1,8-9", "2-3,10-11"]);
        assert_eq!(sets(3, Map::Numa, Bind::Numa, 1), ["0-1,8-9", "2-3,10-11", "4-5,12-13"]);
        assert_eq!(sets(2, Map::Scatter, Bind::Socket, 1), ["0-3,8-11", "4-7,12-15"]);
    }

    #[test]
    fn unbound_ranks_go_anywhere_and_single_cpus_are_given_out_in_order() {
        let places = arrange(machine(), 2, Map::Scatter, Bind::None, 1);
        assert_eq!(places.sets, [Vec::<u32>::new(), Vec::new()]);
        assert_eq!(places.order[..4], [0, 4, 1, 5]);
        assert_eq!(places.order.len(), 16);
        assert_eq!(arrange(machine(), 1, Map::Compact, Bind::None, 1).order, (0..16).collect::<Vec<_>>());
    }

    #[test]
    fn bindings_are_reported_with_what_they_lie_in() {
        let places = arrange(machine(), 2, Map::Scatter, Bind::Numa, 1);
        assert_eq!(places.report(1), "rank 1 is bound to CPUs 4-5,12-13 (socket 1, NUMA node 2)");
        assert_eq!(arrange(machine(), 1, Map::Compact, Bind::None, 1).report(0), "rank 0 is not bound");
    }

    #[test]
    fn this_machine_has_a_place_for_every_rank() {
        for bind in [Bind::None, Bind::HwThread, Bind::Core, Bind::L3, Bind::Numa, Bind::Socket] {
            let places = places(5, Map::Compact, bind, 1).unwrap();
            assert_eq!(places.sets.len(), 5);
            assert_eq!(places.sets.iter().all(Vec::is_empty), bind == Bind::None);
        }
    }
}
