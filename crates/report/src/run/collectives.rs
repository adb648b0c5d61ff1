//! Which functions are collective, and who waits for whom in them.

/// How the members of a collective depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Collective {
    /// A barrier: nobody goes on before all have come.
    Barrier,
    /// Everyone needs something of everyone.
    NToN,
    /// All need something of the root.
    OneToN,
    /// The root needs something of all.
    NToOne,
    /// Each needs something of those before it.
    Prefix,
    /// A fence of a window.
    Fence,
    /// Communicators and windows are made or freed.
    Making,
    /// The end of the job.
    End,
}

impl Collective {
    /// That of a function, by its name.
    pub fn of(function: &str) -> Option<Collective> {
        let name = function.strip_prefix('P').unwrap_or(function).strip_prefix("MPI_")?;
        Some(match name {
            "Barrier" => Collective::Barrier,
            "Allreduce"
            | "Allgather"
            | "Allgatherv"
            | "Alltoall"
            | "Alltoallv"
            | "Alltoallw"
            | "Reduce_scatter"
            | "Reduce_scatter_block" => Collective::NToN,
            "Bcast" | "Scatter" | "Scatterv" => Collective::OneToN,
            "Reduce" | "Gather" | "Gatherv" => Collective::NToOne,
            "Scan" | "Exscan" => Collective::Prefix,
            "Finalize" => Collective::End,
            "Win_fence" => Collective::Fence,
            "Win_create" | "Win_create_dynamic" | "Win_allocate" | "Win_allocate_shared" | "Win_free" => {
                Collective::Making
            }
            _ if name.starts_with("Comm_") => Collective::Making,
            _ => return None,
        })
    }
}
