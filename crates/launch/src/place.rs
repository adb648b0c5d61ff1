//! Which core each rank gets.
//!
//! Invariant: only cores of the launcher's own cpuset are given out, so a job in a container or under `taskset` stays where
//! it was put. With more ranks than cores the order starts again: there are no slots to run out of.

use rustix::thread::CpuSet;

use crate::job::Map;

/// How many cores the ranks of a job may use together: the cpuset, and the CPU quota of the control group if it is less.
pub fn usable_cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

/// A logical core and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Core {
    package: u32,
    core: u32,
    /// Its index among the hardware threads of the physical core.
    thread: u32,
    id: usize,
}

/// The cores of this process's cpuset, in the order in which ranks get them.
pub(crate) fn order(map: Map) -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    let mut cores: Vec<Core> =
        (0..CpuSet::MAX_CPU).filter(|id| set.is_set(*id)).map(|id| located(id, &topology_file)).collect();
    number_threads(&mut cores);
    arrange(cores, map)
}

fn topology_file(id: usize, name: &str) -> Option<u32> {
    let path = format!("/sys/devices/system/cpu/cpu{id}/topology/{name}");
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Where the kernel tells nothing (some containers hide sysfs), each logical core counts as a core of its own.
fn located(id: usize, read: &dyn Fn(usize, &str) -> Option<u32>) -> Core {
    let package = read(id, "physical_package_id").unwrap_or(0);
    Core { package, core: read(id, "core_id").unwrap_or(id as u32), thread: 0, id }
}

fn number_threads(cores: &mut [Core]) {
    cores.sort();
    for index in 1..cores.len() {
        let before = cores[index - 1];
        if (before.package, before.core) == (cores[index].package, cores[index].core) {
            cores[index].thread = before.thread + 1;
        }
    }
}

/// Compact: all first hardware threads of a package, then of the next one, and the second threads last of all: two ranks
/// share a physical core only when there is no other left. Scatter: the same, with packages taking turns.
fn arrange(mut cores: Vec<Core>, map: Map) -> Vec<usize> {
    match map {
        Map::Compact => cores.sort_by_key(|core| (core.thread, core.package, core.core, core.id)),
        Map::Scatter => {
            cores.sort();
            let mut seen = std::collections::HashMap::new();
            let mut keyed: Vec<_> = cores
                .into_iter()
                .map(|core| {
                    let turn = seen.entry((core.package, core.thread)).or_insert(0);
                    *turn += 1;
                    ((core.thread, *turn, core.package), core)
                })
                .collect();
            keyed.sort();
            return keyed.into_iter().map(|(_, core)| core.id).collect();
        }
    }
    cores.into_iter().map(|core| core.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages of two cores with two threads each, numbered as Linux does: first threads first.
    fn machine() -> Vec<Core> {
        let mut cores: Vec<_> = (0..8)
            .map(|id| {
                located(id, &|id, name| {
                    Some(if name == "core_id" { id as u32 % 2 } else { (id as u32 % 4) / 2 })
                })
            })
            .collect();
        number_threads(&mut cores);
        cores
    }

    #[test]
    fn compact_fills_a_package_and_takes_second_threads_last() {
        assert_eq!(arrange(machine(), Map::Compact), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn scatter_alternates_between_packages_and_takes_second_threads_last() {
        assert_eq!(arrange(machine(), Map::Scatter), [0, 2, 1, 3, 4, 6, 5, 7]);
    }

    #[test]
    fn without_a_topology_every_core_counts_for_itself() {
        let mut cores: Vec<_> = (0..3).map(|id| located(id, &|_, _| None)).collect();
        number_threads(&mut cores);
        assert_eq!(arrange(cores, Map::Compact), [0, 1, 2]);
    }

    #[test]
    fn the_order_of_this_machine_is_its_cpuset() {
        let set = rustix::thread::sched_getaffinity(None).unwrap();
        for map in [Map::Compact, Map::Scatter] {
            let order = order(map);
            assert_eq!(order.len(), set.count() as usize);
            assert!(order.iter().all(|id| set.is_set(*id)));
        }
    }
}
