//! What shares what on this machine: hardware threads, cores, L3 caches, NUMA nodes and sockets, as sysfs tells.
//!
//! Invariant: only the CPUs that this process may use are there, so a job in a container or under `taskset` stays where it was put.
//! Where the kernel tells nothing (some containers hide sysfs), each CPU counts as a core of its own, all on one socket.

use std::collections::BTreeMap;
use std::path::Path;

/// A hardware thread and what it is part of. Numbers of cores and caches are unique on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cpu {
    pub socket: u32,
    pub node: u32,
    /// The first CPU that shares the L3 cache.
    pub cache: u32,
    /// The first CPU of the same core.
    pub core: u32,
    /// The kernel's number.
    pub id: u32,
}

/// The CPUs that this process may use, neighbours beside each other.
pub(crate) fn of_this_process() -> Vec<Cpu> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let allowed = list.map(|list| numbers(list.trim())).unwrap_or_else(affinity);
    read(Path::new("/sys/devices/system"), &allowed)
}

/// What the kernel's own call tells, where there is no /proc: of the first 1024 CPUs.
fn affinity() -> Vec<u32> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|id| set.is_set(*id)).map(|id| id as u32).collect()
}

/// Reads a tree as the kernel shows it below `/sys/devices/system`.
pub(crate) fn read(system: &Path, allowed: &[u32]) -> Vec<Cpu> {
    let text = |path: String| std::fs::read_to_string(system.join(path)).ok();
    let mut node_of = BTreeMap::new();
    for entry in std::fs::read_dir(system.join("node")).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(node) = name.to_str().and_then(|name| name.strip_prefix("node")?.parse::<u32>().ok()) else {
            continue;
        };
        let cpus = std::fs::read_to_string(entry.path().join("cpulist")).unwrap_or_default();
        node_of.extend(numbers(cpus.trim()).into_iter().map(|cpu| (cpu, node)));
    }
    let mut cpus: Vec<Cpu> = allowed
        .iter()
        .map(|&id| {
            let first = |path: String| numbers(text(path)?.trim()).first().copied();
            let socket = text(format!("cpu/cpu{id}/topology/physical_package_id"));
            let cache = (0..8).find(|index| {
                text(format!("cpu/cpu{id}/cache/index{index}/level")).is_some_and(|level| level.trim() == "3")
            });
            let socket = socket.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            let node = node_of.get(&id).copied().unwrap_or(socket);
            let shared =
                cache.and_then(|index| first(format!("cpu/cpu{id}/cache/index{index}/shared_cpu_list")));
            let core = first(format!("cpu/cpu{id}/topology/thread_siblings_list")).unwrap_or(id);
            Cpu { socket, node, cache: shared.unwrap_or(u32::MAX - node), core, id }
        })
        .collect();
    cpus.sort_unstable();
    cpus
}

/// The numbers of a list such as `0-3,8`; what cannot be read is left out.
pub(crate) fn numbers(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// The list of numbers, as short as it gets.
pub(crate) fn list(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |(first, last)| if first == last { format!("{first}") } else { format!("{first}-{last}") };
    ranges.into_iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Two sockets of two NUMA nodes each; a node is an L3 of two cores with two threads. Linux numbers first threads first: cores
    /// 0 to 7 are CPUs 0 to 7, their second threads CPUs 8 to 15.
    pub(crate) fn machine() -> Vec<Cpu> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("corelace-sysfs-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let root: PathBuf = std::env::temp_dir().join(name);
        let put = |path: String, text: String| {
            let file = root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text + "\n").unwrap();
        };
        for cpu in 0..16 {
            let core = cpu % 8;
            let node = core / 2;
            put(format!("cpu/cpu{cpu}/topology/physical_package_id"), (node / 2).to_string());
            put(format!("cpu/cpu{cpu}/topology/thread_siblings_list"), format!("{core},{}", core + 8));
            for (index, level) in [(0, 1), (1, 1), (2, 2), (3, 3)] {
                put(format!("cpu/cpu{cpu}/cache/index{index}/level"), level.to_string());
            }
            let first = 2 * node;
            let shared = format!("{}-{},{}-{}", first, first + 1, first + 8, first + 9);
            put(format!("cpu/cpu{cpu}/cache/index3/shared_cpu_list"), shared.clone());
            put(format!("node/node{node}/cpulist"), shared);
        }
        let cpus = read(&root, &(0..16).collect::<Vec<_>>());
        fs::remove_dir_all(root).unwrap();
        cpus
    }

    #[test]
    fn sockets_nodes_caches_cores_and_threads_are_read() {
        let cpus = machine();
        assert_eq!(cpus.len(), 16);
        let of = |id| *cpus.iter().find(|cpu| cpu.id == id).unwrap();
        assert_eq!(of(0), Cpu { socket: 0, node: 0, cache: 0, core: 0, id: 0 });
        assert_eq!(of(11), Cpu { socket: 0, node: 1, cache: 2, core: 3, id: 11 });
        assert_eq!(of(14), Cpu { socket: 1, node: 3, cache: 6, core: 6, id: 14 });
    }

    #[test]
    fn without_sysfs_every_cpu_counts_for_itself() {
        let cpus = read(Path::new("/no/such/tree"), &[3, 7]);
        assert_eq!(
            cpus.iter().map(|cpu| (cpu.socket, cpu.core, cpu.id)).collect::<Vec<_>>(),
            [(0, 3, 3), (0, 7, 7)]
        );
    }

    #[test]
    fn this_machine_is_its_cpuset() {
        let mut ids: Vec<_> = of_this_process().iter().map(|cpu| cpu.id).collect();
        ids.sort_unstable();
        assert_eq!(ids, affinity());
    }

    #[test]
    fn lists_are_read_and_written_as_the_kernel_does() {
        assert_eq!(numbers("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(numbers(""), Vec::<u32>::new());
        assert_eq!(list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
    }
}
