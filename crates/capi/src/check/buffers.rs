//! The memory that a call is given, and what the function is that gets it.

use super::calls::Called;
use super::regions::Region;
use super::shapes::{Direction, Kind, Param};
use engine::Counted;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::handles::{Comm, Type};
use crate::process::State;

/// The memory that a communication is given, as far as it is significant in this process.
pub(super) fn regions(state: &State, call: &Called) -> Vec<Region> {
    let mut found = Vec::new();
    if !call.arguments.iter().any(|(param, _)| param.kind == Kind::Buffer) {
        return found;
    }
    let comm = call.arguments.comm().and_then(|handle| state.comms.get(MPI_Comm(handle)));
    let family = family(call.origin.function);
    if matches!(family.as_str(), "psend" | "precv") {
        // A part belongs to the program until it is ready, and again once it has arrived, so the whole is not owned by the operation.
        return found;
    }
    let collection = Collection { state, call, comm: comm.as_deref(), family: &family };
    for (buffer, count, datatype) in [
        ("buf", "count", "datatype"),
        ("buffer", "count", "datatype"),
        ("sendbuf", "sendcount", "sendtype"),
        ("recvbuf", "recvcount", "recvtype"),
        ("sendbuf", "count", "datatype"),
        ("recvbuf", "count", "datatype"),
        ("sendbuf", "recvcount", "datatype"),
        ("origin_addr", "origin_count", "origin_datatype"),
        ("result_addr", "result_count", "result_datatype"),
        ("recvbuf", "recvcount", "datatype"),
    ] {
        found.extend(collection.plain(buffer, count, datatype));
    }
    for buffer in ["origin_addr", "compare_addr", "result_addr"] {
        found.extend(collection.element(buffer));
    }
    for (buffer, counts, displacements, datatype) in [
        ("sendbuf", "sendcounts", &["sdispls", "displs"], "sendtype"),
        ("recvbuf", "recvcounts", &["rdispls", "displs"], "recvtype"),
        ("sendbuf", "sendcounts", &["sdispls", "displs"], "sendtypes"),
        ("recvbuf", "recvcounts", &["rdispls", "displs"], "recvtypes"),
    ] {
        collection.parts(buffer, counts, displacements, datatype, &mut found);
    }
    if family == "reduce_scatter" {
        collection.reduce_scatter(&mut found);
    }
    found.retain(|region| region.bytes() > 0);
    found
}

/// The name of what a function does, whichever form it has: `gather` for MPI_Igather_c and MPI_Gather_init.
pub(super) fn family(function: &str) -> String {
    let name = function.strip_prefix("MPI_").unwrap_or(function);
    let name = name.strip_suffix("_c").unwrap_or(name);
    let name = name.strip_suffix("_init").unwrap_or(name).to_ascii_lowercase();
    match name.strip_prefix('i') {
        Some(rest) if !name.starts_with("is_") => rest.to_owned(),
        _ => name,
    }
}

struct Collection<'a> {
    state: &'a State,
    call: &'a Called,
    comm: Option<&'a Comm>,
    family: &'a str,
}

impl Collection<'_> {
    /// A buffer with one count and one datatype.
    fn plain(&self, buffer: &str, count: &str, datatype: &str) -> Option<Region> {
        let (param, base) = self.significant(buffer)?;
        let count = self.call.arguments.number(count).filter(|count| *count > 0)?;
        let datatype = self.datatype(self.call.arguments.word(datatype)?)?;
        let blocks = match (self.family, buffer) {
            ("gather" | "allgather", "recvbuf") | ("scatter", "sendbuf") | ("alltoall", _) => {
                self.comm.map_or(1, |comm| comm.peer_size() as u64)
            }
            ("reduce_scatter_block", "sendbuf") => self.comm.map_or(1, |comm| comm.local_size() as u64),
            ("neighbor_allgather" | "neighbor_alltoall", "recvbuf") => {
                self.comm.map_or(0, |comm| comm.indegree() as u64)
            }
            ("neighbor_alltoall", "sendbuf") => self.comm.map_or(0, |comm| comm.outdegree() as u64),
            // A rank that sends to nobody needs no buffer.
            ("neighbor_allgather" | "neighbor_allgatherv", "sendbuf") => {
                self.comm.map_or(0, |comm| comm.outdegree().min(1) as u64)
            }
            _ => 1,
        };
        let count = (count as u64).saturating_mul(blocks);
        Some(self.region(param, base, count, &datatype))
    }

    /// A buffer with one element.
    fn element(&self, buffer: &str) -> Option<Region> {
        let datatype = self.call.arguments.word("datatype").filter(|_| buffer.ends_with("_addr"))?;
        let (param, base) = self.significant(buffer)?;
        Some(self.region(param, base, 1, &*self.datatype(datatype)?))
    }

    /// A buffer with counts and displacements for each member, or for each neighbour.
    fn parts(
        &self,
        buffer: &str,
        counts: &str,
        displacements: &[&str],
        datatype: &str,
        into: &mut Vec<Region>,
    ) {
        let arguments = &self.call.arguments;
        let (Some((param, base)), Some(comm)) = (self.significant(buffer), self.comm) else { return };
        let displacements = displacements.iter().find(|name| arguments.word(name).is_some());
        let (Some(displacements), Some((types, word))) = (displacements, arguments.param(datatype)) else {
            return;
        };
        let members = match (self.family.starts_with("neighbor_"), buffer) {
            (true, "sendbuf") => comm.outdegree(),
            (true, _) => comm.indegree(),
            (false, _) => comm.peer_size(),
        };
        for member in 0..members {
            let (Some(count), Some(displacement)) =
                (arguments.element(counts, member), arguments.element(displacements, member))
            else {
                return;
            };
            let handle = if types.is_array {
                arguments.element(datatype, member).map(|word| word as u64)
            } else {
                Some(word)
            };
            let Some(datatype) = handle.filter(|_| count > 0).and_then(|handle| self.datatype(handle)) else {
                continue;
            };
            let unit = if types.is_array { 1 } else { datatype.datatype.extent() };
            let start = base.wrapping_add_signed(displacement.wrapping_mul(unit) as isize);
            into.push(self.region(param, start, count as u64, &datatype));
        }
    }

    /// All of the data goes in, the own part comes out.
    fn reduce_scatter(&self, into: &mut Vec<Region>) {
        let arguments = &self.call.arguments;
        let Some(comm) = self.comm else { return };
        let Some(datatype) = arguments.word("datatype").and_then(|handle| self.datatype(handle)) else {
            return;
        };
        let counts: Vec<i64> = (0..comm.comm.size() as usize)
            .map_while(|member| arguments.element("recvcounts", member))
            .collect();
        let total = counts.iter().sum::<i64>().max(0) as u64;
        let own = counts.get(comm.comm.rank() as usize).copied().unwrap_or(0).max(0) as u64;
        for (buffer, count) in [("sendbuf", total), ("recvbuf", own)] {
            if let Some((param, base)) = self.significant(buffer) {
                into.push(self.region(param, base, count, &datatype));
            }
        }
    }

    /// A buffer that is looked at in this process and that is no MPI_IN_PLACE.
    fn significant(&self, name: &str) -> Option<(Param, usize)> {
        let (param, word) = self.call.arguments.param(name)?;
        let in_place = word == MPI_IN_PLACE.addr() as u64;
        let elsewhere = param.is_root_only && !self.is_root();
        // The root of two groups gives or takes for the other group alone (MPI section 6.2.3).
        let is_root_of_groups = self.call.arguments.number("root") == Some(i64::from(MPI_ROOT));
        let is_of_others = is_root_of_groups && !param.is_root_only && self.family != "bcast";
        // Nothing is read for, or written by, a process that is none.
        let peer = match param.direction {
            Direction::In => "dest",
            Direction::Out => "source",
            Direction::InOut => "",
        };
        let is_null = |name| self.call.arguments.number(name) == Some(i64::from(MPI_PROC_NULL));
        // An operation that changes nothing has no operand.
        let is_unused = name == "origin_addr" && self.call.arguments.word("op") == Some(MPI_NO_OP.0 as u64);
        if is_null(peer) || is_null("root") || is_null("target_rank") || is_unused {
            return None;
        }
        (param.kind == Kind::Buffer && !in_place && !elsewhere && !is_of_others)
            .then_some((param, word as usize))
    }

    fn is_root(&self) -> bool {
        let root = self.call.arguments.number("root");
        let here = |comm: &Comm| if comm.comm.is_inter() { MPI_ROOT } else { comm.comm.rank() as i32 };
        root.zip(self.comm).is_none_or(|(root, comm)| root == i64::from(here(comm)))
    }

    fn datatype(&self, handle: u64) -> Option<Counted<Type>> {
        self.state.types.get(MPI_Datatype(handle as usize))
    }

    fn region(&self, param: Param, base: usize, count: u64, datatype: &Type) -> Region {
        let is_written = match param.direction {
            Direction::In => false,
            Direction::Out => true,
            // The buffer of a broadcast is read at the root.
            Direction::InOut => self.family != "bcast" || !self.is_root(),
        };
        Region { name: param.name, base, count, datatype: datatype.datatype.clone(), is_written }
    }
}

#[cfg(test)]
mod tests {
    use super::family;

    #[test]
    fn all_forms_of_a_function_are_one_family() {
        for name in ["MPI_Gather", "MPI_Gather_c", "MPI_Igather", "MPI_Igather_c", "MPI_Gather_init"] {
            assert_eq!(family(name), "gather");
        }
        assert_eq!(family("MPI_Send_init_c"), "send");
    }
}
