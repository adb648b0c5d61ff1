//! The memory that a call is given: which bytes, whether they are written, and whether two pieces of it overlap.

use std::ops::Range;
use std::rc::Rc;

use engine::Datatype;

use super::calls::Called;
use super::shapes::{Direction, Kind};
use crate::abi::constants::*;
use crate::abi::types::*;
use crate::handles::{Comm, Type};
use crate::process::State;

/// Elements of a datatype at an address of the program's.
#[derive(Clone)]
pub(super) struct Region {
    /// The argument.
    pub(super) name: &'static str,
    pub(super) base: usize,
    pub(super) count: u64,
    pub(super) datatype: Datatype,
    /// The operation writes there.
    pub(super) is_written: bool,
}

/// Checksums look at so many bytes of a buffer, its first ones: a check must not take longer than the operation.
const SUMMED_MAX: u64 = 16 << 20;
/// Regions in more pieces are not compared piece by piece.
const PIECES_MAX: u64 = 1 << 16;

impl Region {
    pub(super) fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.datatype.size())
    }

    /// From the first byte to the last, gaps included.
    pub(super) fn hull(&self) -> Range<usize> {
        if self.bytes() == 0 {
            return 0..0;
        }
        let layout = self.datatype.layout();
        let last = (self.count as i64 - 1).wrapping_mul(layout.extent());
        let (low, high) = (last.min(0) + layout.true_lower_bound(), last.max(0) + layout.true_upper_bound());
        self.base.wrapping_add_signed(low as isize)..self.base.wrapping_add_signed(high as isize)
    }

    /// The first bytes that both have, if there are some. Regions of very many pieces that interleave are taken to be apart.
    pub(super) fn overlap(&self, other: &Region) -> Option<Range<usize>> {
        let (ours, theirs) = (self.hull(), other.hull());
        let common = ours.start.max(theirs.start)..ours.end.min(theirs.end);
        if common.is_empty() {
            return None;
        }
        let dense = |region: &Region| region.datatype.layout().is_contiguous();
        if dense(self) && dense(other) {
            return Some(common);
        }
        let (ours, theirs) = (self.pieces()?, other.pieces()?);
        let (mut at, mut beside) = (ours.iter().peekable(), theirs.iter().peekable());
        while let (Some(one), Some(two)) = (at.peek(), beside.peek()) {
            let common = one.start.max(two.start)..one.end.min(two.end);
            if !common.is_empty() {
                return Some(common);
            }
            if one.end <= two.end {
                at.next()
            } else {
                beside.next()
            };
        }
        None
    }

    /// The pieces by address; nothing if there are too many.
    fn pieces(&self) -> Option<Vec<Range<usize>>> {
        let layout = self.datatype.layout();
        if !layout.is_contiguous() && layout.runs().saturating_mul(self.count) > PIECES_MAX {
            return None;
        }
        let mut pieces = Vec::new();
        layout.walk(0, self.bytes(), |offset, _, len| {
            let start = self.base.wrapping_add_signed(offset as isize);
            pieces.push(start..start.wrapping_add(len as usize));
        });
        pieces.sort_unstable_by_key(|piece| piece.start);
        Some(pieces)
    }

    /// A number that is another one, nearly certainly, if the data has changed.
    pub(super) fn sum(&self) -> u64 {
        let mut sum = 0xcbf2_9ce4_8422_2325u64;
        let mut mix = |word: u64| sum = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        self.datatype.layout().walk(0, self.bytes().min(SUMMED_MAX), |offset, _, len| {
            let start =
                std::ptr::with_exposed_provenance::<u8>(self.base.wrapping_add_signed(offset as isize));
            // SAFETY: the program has given this memory to a send, to be read until that is complete.
            let bytes = unsafe { std::slice::from_raw_parts(start, len as usize) };
            let words = bytes.chunks_exact(8);
            for byte in words.remainder() {
                mix(u64::from(*byte));
            }
            for word in words {
                mix(u64::from_ne_bytes(word.try_into().expect("eight bytes")));
            }
        });
        sum
    }
}

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
        ("recvbuf", "recvcount", "datatype"),
    ] {
        found.extend(collection.plain(buffer, count, datatype));
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
    let name = name.strip_suffix("_init").unwrap_or(name).to_lowercase();
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
            _ => 1,
        };
        let count = (count as u64).saturating_mul(blocks);
        Some(self.region(param, base, count, &datatype))
    }

    /// A buffer with counts and displacements for each member.
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
        for member in 0..comm.peer_size() {
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
    fn significant(&self, name: &str) -> Option<(super::shapes::Param, usize)> {
        let (param, word) = self.call.arguments.param(name)?;
        let in_place = word == MPI_IN_PLACE.addr() as u64;
        let elsewhere = param.is_root_only && !self.is_root();
        // Nothing is read for, or written by, a process that is none.
        let peer = match param.direction {
            Direction::In => "dest",
            Direction::Out => "source",
            Direction::InOut => "",
        };
        let is_null = |name| self.call.arguments.number(name) == Some(i64::from(MPI_PROC_NULL));
        if is_null(peer) || is_null("root") {
            return None;
        }
        (param.kind == Kind::Buffer && !in_place && !elsewhere).then_some((param, word as usize))
    }

    fn is_root(&self) -> bool {
        let root = self.call.arguments.number("root");
        let here = |comm: &Comm| if comm.comm.is_inter() { MPI_ROOT } else { comm.comm.rank() as i32 };
        root.zip(self.comm).is_none_or(|(root, comm)| root == i64::from(here(comm)))
    }

    fn datatype(&self, handle: u64) -> Option<Rc<Type>> {
        self.state.types.get(MPI_Datatype(handle as usize))
    }

    fn region(&self, param: super::shapes::Param, base: usize, count: u64, datatype: &Type) -> Region {
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
    use engine::datatype::{Basic, Block, Layout};

    use super::*;

    fn region(base: usize, count: u64, datatype: &Datatype) -> Region {
        Region { name: "buf", base, count, datatype: datatype.clone(), is_written: true }
    }

    #[test]
    fn dense_regions_overlap_where_their_bytes_do() {
        let int = Datatype::basic(Basic::I32);
        assert_eq!(region(1000, 4, &int).overlap(&region(1012, 4, &int)), Some(1012..1016));
        assert_eq!(region(1000, 4, &int).overlap(&region(1016, 4, &int)), None);
        assert_eq!(region(1000, 0, &int).overlap(&region(1000, 4, &int)), None);
    }

    #[test]
    fn columns_that_interleave_are_apart_and_equal_ones_are_not() {
        let column = Datatype::derived(
            Layout::new((0..5).map(|row| Block { offset: row * 40, len: 8 }), 0, 8),
            Some(Basic::F64),
        );
        assert_eq!(region(1000, 1, &column).overlap(&region(1008, 1, &column)), None);
        assert_eq!(region(1000, 2, &column).overlap(&region(1008, 1, &column)), Some(1008..1016));
    }

    #[test]
    fn a_changed_byte_changes_the_sum() {
        let mut data = [7u8; 37];
        let bytes = Datatype::basic(Basic::Byte);
        let address = data.as_mut_ptr().expose_provenance();
        let before = region(address, 37, &bytes).sum();
        assert_eq!(region(address, 37, &bytes).sum(), before);
        data[36] = 8;
        std::hint::black_box(&mut data);
        assert_ne!(region(address, 37, &bytes).sum(), before);
    }

    #[test]
    fn all_forms_of_a_function_are_one_family() {
        for name in ["MPI_Gather", "MPI_Gather_c", "MPI_Igather", "MPI_Igather_c", "MPI_Gather_init"] {
            assert_eq!(family(name), "gather");
        }
        assert_eq!(family("MPI_Send_init_c"), "send");
    }
}
