//! Where a job may run: on this machine, under any of its names. Said clearly where more was asked for or allocated.

use std::collections::BTreeSet;

/// Refuses hosts that are not this machine; each with the flag that named it.
pub fn check(hosts: &[(&'static str, String)]) -> Result<(), String> {
    let own = own_name();
    match hosts.iter().find(|(_, host)| !is_here(host, &own)) {
        None => Ok(()),
        Some((flag, host)) => Err(format!(
            "{flag} {host}: Corelace runs the ranks of a job on one machine, expected localhost, 127.0.0.1 or {own}"
        )),
    }
}

/// The name of this machine.
pub fn own_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn is_here(host: &str, own: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    matches!(host, "localhost" | "127.0.0.1" | "::1" | "0.0.0.0" | "localhost.localdomain")
        || host.starts_with("127.")
        || short(host) == short(own)
}

/// What to tell the user in an allocation of several nodes.
pub fn note_of_allocation(ranks: u32, lookup: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (variable, nodes) = allocation(&lookup)?;
    let all = if ranks == 1 { "the one rank runs".into() } else { format!("all {ranks} ranks run") };
    Some(format!(
        "{variable}: this allocation has {nodes} nodes, but {all} on this one ({}); the others stay idle",
        own_name()
    ))
}

/// The variable of a batch system that tells of several nodes, and how many they are.
fn allocation(lookup: &impl Fn(&str) -> Option<String>) -> Option<(&'static str, usize)> {
    let count = |name| lookup(name).and_then(|value| value.trim().parse::<usize>().ok());
    let hosts = |text: String| -> usize {
        let first = text.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned));
        first.collect::<BTreeSet<_>>().len()
    };
    let file = |name| lookup(name).and_then(|path| std::fs::read_to_string(path).ok()).map(hosts);
    let words = |name: &str| {
        lookup(name).map(|text| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>().len())
    };
    let numbers = ["SLURM_JOB_NUM_NODES", "SLURM_NNODES", "PBS_NUM_NODES", "FLUX_JOB_NNODES"]
        .map(|name| (name, count(name)));
    let files =
        ["PBS_NODEFILE", "OAR_NODEFILE", "PE_HOSTFILE", "LSB_DJOB_HOSTFILE"].map(|name| (name, file(name)));
    let lists = ["LSB_HOSTS"].map(|name| (name, words(name)));
    let all = numbers.into_iter().chain(files).chain(lists);
    all.filter_map(|(name, nodes)| Some((name, nodes?))).find(|(_, nodes)| *nodes > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_several_names_and_others_are_refused_by_theirs() {
        let local = ["localhost", "127.0.0.1", &own_name()].map(|name| ("--host", name.to_owned()));
        assert_eq!(check(&local), Ok(()));
        let error = check(&[("--hostfile", "elsewhere.example.org".into())]).unwrap_err();
        assert!(error.starts_with(
            "--hostfile elsewhere.example.org: Corelace runs the ranks of a job on one machine"
        ));
    }

    #[test]
    fn allocations_of_several_nodes_are_noticed_under_every_batch_system() {
        let file = std::env::temp_dir().join(format!("corelace-nodes-{}", std::process::id()));
        std::fs::write(&file, "n1\nn1\nn2\n").unwrap();
        let path = file.display().to_string();
        for (name, value, expected) in [
            ("SLURM_JOB_NUM_NODES", "4", Some(4)),
            ("SLURM_NNODES", "1", None),
            ("PBS_NODEFILE", path.as_str(), Some(2)),
            ("LSB_HOSTS", "a a b c", Some(3)),
            ("LSB_HOSTS", "a a", None),
        ] {
            let found = allocation(&|asked: &str| (asked == name).then(|| value.to_owned()));
            assert_eq!(found, expected.map(|nodes| (name, nodes)), "{name}={value}");
        }
        std::fs::remove_file(file).unwrap();
        let note = note_of_allocation(8, |name| (name == "SLURM_NNODES").then(|| "2".into())).unwrap();
        assert!(
            note.starts_with("SLURM_NNODES: this allocation has 2 nodes, but all 8 ranks run on this one (")
        );
    }
}
