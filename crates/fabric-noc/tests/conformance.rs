//! The conformance suite on chips, with every kind of neighbour: in the same cluster, in another, and through a kernel.

use std::time::Duration;

use corelace_fabric_noc as fabric_noc;
use fabric_local::{NoHooks, Outcome};
use fabric_noc::{Map, Memory, NocFabric, Options, Software};
use fabric_test::{Body, Runner, conform, describe_panic, within};
use sim::Chip;

/// How to run a job.
struct OnChip {
    chip: Chip,
    map: Map,
    software: Software,
}

impl OnChip {
    fn new(name: &str, map: Map) -> OnChip {
        let chip = Chip::builtin(name).expect("a chip that ships");
        OnChip { map, software: Software::default_of(&chip), chip }
    }
}

impl Runner for OnChip {
    fn run(&self, ranks: u32, budget: Option<usize>, body: Body) -> Result<(), String> {
        let options = Options {
            map: self.map,
            software: self.software.clone(),
            memory: budget.map_or(Memory::Unlimited, Memory::Bytes),
            ..Options::new(&self.chip, ranks)
        };
        let body = |fabric: NocFabric| body(&fabric);
        let report = fabric_noc::run(&options, &NoHooks, &body).map_err(|error| error.to_string())?;
        let failures = report.outcomes.into_iter().enumerate().filter_map(|(rank, outcome)| match outcome {
            Outcome::Ended(()) => None,
            Outcome::Panicked(panic) => Some(format!("rank {rank} failed: {}", describe_panic(&*panic))),
            Outcome::Stalled => Some(format!("rank {rank} waits for ever")),
        });
        let failures: Vec<String> = failures.collect();
        if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
    }
}

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn mesh16_conforms() {
    within(LIMIT, || conform("mesh16", &OnChip::new("mesh16", Map::Compact)));
}

#[test]
fn mppa256_andey_conforms_inside_clusters() {
    within(LIMIT, || conform("mppa256-andey, compact", &OnChip::new("mppa256-andey", Map::Compact)));
}

#[test]
fn mppa256_andey_conforms_between_clusters() {
    within(LIMIT, || conform("mppa256-andey, scattered", &OnChip::new("mppa256-andey", Map::Scatter)));
}

#[test]
fn mppa256_nanvix_conforms_through_kernel_and_name_service() {
    within(LIMIT, || {
        let software = Software { ipc: "nanvix".into(), name_service: true };
        let chip = OnChip { software, ..OnChip::new("mppa256-nanvix", Map::Scatter) };
        conform("mppa256-nanvix", &chip);
    });
}

#[test]
fn earth_simulator_conforms_in_a_node_with_two_kinds_of_memory() {
    within(LIMIT, || conform("earth-simulator, compact", &OnChip::new("earth-simulator", Map::Compact)));
}

#[test]
fn earth_simulator_conforms_between_nodes() {
    within(LIMIT, || conform("earth-simulator, scattered", &OnChip::new("earth-simulator", Map::Scatter)));
}

#[test]
fn intel_scc_conforms_by_cores_alone_through_buffers_of_one_letter() {
    within(LIMIT, || {
        let chip = OnChip::new("intel-scc", Map::Scatter);
        let software = Software { ipc: "rcce".into(), ..chip.software };
        conform("intel-scc, scattered", &OnChip { software, ..chip });
    });
}

#[test]
fn cards_conform_with_registered_memory_and_shadows() {
    within(LIMIT, || {
        // Every put and every exposure for reading goes by the shadow, however short.
        let chip = OnChip::new("xeonphi-ib8", Map::Scatter);
        let software = Software { ipc: "dcfa-shadow".into(), ..chip.software };
        conform("xeonphi-ib8, cards", &OnChip { software, ..chip });
    });
}

#[test]
fn hosts_and_cards_conform_side_by_side() {
    within(LIMIT, || {
        let mut chip = OnChip::new("xeonphi-ib8", Map::Scatter);
        chip.chip.run_on("host,card").expect("both take ranks");
        conform("xeonphi-ib8, hosts and cards", &chip);
    });
}
