//! What backends ask of the machine, for those who explain it.

/// Whether the kernel copies between processes at all; a peer may still be out of reach.
pub fn attach_allowed() -> bool {
    fabric_shm::attach_allowed()
}

/// Bytes of shared memory for each rank that is a process. They count as the length of a file; pages are taken when used.
pub fn shared_bytes_of_a_rank() -> u64 {
    fabric_shm::tuning::geometry(1).rank_bytes() as u64
}
