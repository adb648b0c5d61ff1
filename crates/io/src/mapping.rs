//! A part of a file as memory: what of it is wanted is copied once, and the gaps in between not at all.
//!
//! Touching a mapped page that the file does not have, or that the disk cannot give, ends the program. So the system is asked to bring all pages in before
//! any is touched, and says no instead: then the part is read in the ordinary way, which tells what is wrong. What is left is another program that shortens the
//! file while its bytes are copied, which no reader of a mapping can rule out; parts are small, so that this is a matter of a millisecond.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd as _;

use crate::runs::Stripe;

/// A part of a file, mapped to be read.
pub(crate) struct Mapping {
    base: *mut libc::c_void,
    /// Bytes that are mapped, from a page's beginning on.
    mapped: usize,
    /// The bytes that were asked for.
    wanted: Range<usize>,
}

/// File systems of the machine's own, by the numbers that the system has for them: ext2 to ext4, XFS, Btrfs, F2FS, tmpfs, overlays. The pages of others may be
/// lost while they are mapped, when a server is.
const LOCAL: [i64; 6] = [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x0102_1994, 0x794C_7630];

/// Whether parts of a file may be mapped: a plain file of the machine's own.
pub(crate) fn is_possible(file: &File) -> bool {
    // SAFETY: numbers, all of which may be zero.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: a number of an open file, and room for the answer.
    let code = unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut about) };
    code == 0 && LOCAL.contains(&(about.f_type as i64)) && file.metadata().is_ok_and(|about| about.is_file())
}

impl Mapping {
    /// A part of a file with all its pages, if the file has them all and the system can bring them.
    pub fn new(file: &File, part: &Range<u64>) -> Option<Mapping> {
        if file.metadata().ok()?.len() < part.end {
            return None;
        }
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
        let start = part.start / page * page;
        let (mapped, before) = ((part.end - start) as usize, (part.start - start) as usize);
        let (none, protection, flags) = (std::ptr::null_mut(), libc::PROT_READ, libc::MAP_SHARED);
        // SAFETY: new memory at an address of the system's choice.
        let base = unsafe { libc::mmap(none, mapped, protection, flags, file.as_raw_fd(), start as i64) };
        if base == libc::MAP_FAILED {
            return None;
        }
        let mapping = Mapping { base, mapped, wanted: before..mapped };
        // SAFETY: the memory that was mapped; systems that do not know the advice refuse it.
        let code = unsafe { libc::madvise(base, mapped, libc::MADV_POPULATE_READ) };
        (code == 0).then_some(mapping)
    }

    /// Copies runs, of which the first lies at this place of the part, one behind the other.
    pub fn copy(&self, from: usize, runs: &Stripe, to: &mut [u8]) {
        let (from, len) = (self.wanted.start + from, runs.len as usize);
        assert!(
            to.len() as u64 == runs.bytes()
                && from as u64 + runs.end() - runs.offset <= self.wanted.end as u64
        );
        for (index, room) in to.chunks_exact_mut(len).enumerate() {
            // SAFETY: in the mapping. Others may write the file meanwhile: the bytes are copied as they are found, and nothing is concluded from them.
            unsafe {
                let place = self.base.cast::<u8>().add(from + index * runs.stride as usize);
                std::ptr::copy_nonoverlapping(place, room.as_mut_ptr(), len);
            }
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nothing refers to it.
        unsafe { libc::munmap(self.base, self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_bytes_of_the_file_and_one_behind_its_end_is_refused() {
        let path = std::env::temp_dir().join(format!("corelace-mapping-{}", std::process::id()));
        let bytes: Vec<u8> = (0..20_000_u32).map(|at| (at % 251) as u8).collect();
        std::fs::write(&path, &bytes).expect("a file");
        let file = File::open(&path).expect("the file");
        let part = Mapping::new(&file, &(5000..17_001)).expect("a mapping");
        let mut found = vec![0; 12_000];
        part.copy(1, &Stripe { offset: 5001, len: 12_000, stride: 0, count: 1 }, &mut found);
        assert_eq!(found, bytes[5001..17_001]);
        part.copy(0, &Stripe { offset: 5000, len: 2, stride: 11_999, count: 2 }, &mut found[..4]);
        assert_eq!(found[..4], [bytes[5000], bytes[5001], bytes[16_999], bytes[17_000]]);
        assert!(Mapping::new(&file, &(5000..20_001)).is_none());
        std::fs::remove_file(&path).expect("deleted");
    }

    #[test]
    fn what_is_no_plain_file_is_not_mapped() {
        assert!(!is_possible(&File::open("/dev/zero").expect("a device")));
    }
}
