//! What a rank finds in its environment about its place, under the names that scripts and GPU wrappers know.
//!
//! None of these names makes another MPI library try to connect to a launcher: those that would (`PMI_FD`, `PMIX_NAMESPACE`, …) are not
//! set. All ranks are on one node, so local numbers are those of the world. Threads and fibers share one environment: they get
//! the numbers that are the same for all.

/// The names for a rank's number.
const RANK: [&str; 5] = [
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_NODE_RANK",
    "PMI_RANK",
    "MPI_LOCALRANKID",
];
/// The names for the number of ranks.
const SIZE: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"];
/// The names for the rank and the number of its node, and ours of local numbers.
const NODE: [(&str, &str); 2] = [("CORELACE_NODE", "0"), ("CORELACE_NODES", "1")];
/// Ours.
const LOCAL: (&str, &str) = ("CORELACE_LOCAL_RANK", "CORELACE_LOCAL_SIZE");

/// The variables of a rank, or those that all ranks of a process share.
pub(crate) fn variables(rank: Option<u32>, size: u32) -> Vec<(&'static str, String)> {
    let mut list: Vec<(&'static str, String)> = Vec::new();
    if let Some(rank) = rank {
        list.extend(RANK.iter().chain([&LOCAL.0]).map(|name| (*name, rank.to_string())));
    }
    list.extend(SIZE.iter().chain([&LOCAL.1]).map(|name| (*name, size.to_string())));
    list.extend(NODE.map(|(name, value)| (name, value.to_owned())));
    list
}

/// Every name, for a launcher inside a rank to take away.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    RANK.into_iter().chain(SIZE).chain([LOCAL.0, LOCAL.1]).chain(NODE.map(|(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_has_all_names_and_ranks_of_one_process_those_that_they_share() {
        let all: Vec<_> = names().collect();
        assert_eq!(variables(Some(3), 8).len(), all.len());
        for (name, value) in variables(Some(3), 8) {
            assert!(all.contains(&name));
            assert!(
                value == if name.contains("SIZE") || name.contains("NRANKS") { "8" } else { "3" }
                    || name.contains("NODE")
            );
        }
        assert!(variables(None, 8).iter().all(|(name, _)| !RANK.contains(name)));
    }
}
