//! Moving data between its places in memory and its packed form, a [piece](Piece) at a time.
//!
//! One loop for each length that programs have often, decided once a piece; both directions are the same code. Everything else is
//! copied by a few wide moves, which may overlap within a run, or, from some length on, by the machine's own copy.

use processor::hints;

use crate::values::datatype::{Piece, Runs};

/// Which way data moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// From its places into the packed form.
    Gather,
    /// From the packed form to its places.
    Scatter,
}

/// Moves a piece of the data whose origin is `base`, to or from `packed`.
///
/// # Safety
/// The runs of the piece, from `base` on, and as many bytes at `packed` are valid: to be read on the side that the data comes from, to be
/// written on the other; and the two sides do not overlap.
#[inline]
pub(super) unsafe fn copy(way: Way, base: *mut u8, piece: &Piece<'_>, packed: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        match way {
            Way::Gather => piece_of::<true>(base, piece, packed),
            Way::Scatter => piece_of::<false>(base, piece, packed),
        }
    }
}

#[inline(never)]
unsafe fn piece_of<const GATHER: bool>(base: *mut u8, piece: &Piece<'_>, packed: *mut u8) {
    let first = base.wrapping_offset(piece.origin as isize);
    let (count, stride) = (piece.count as usize, piece.stride as isize);
    // SAFETY: the caller's promise, for each run.
    unsafe {
        match piece.runs {
            Runs::One(len) => match len {
                1 => stripes::<GATHER, u8>(first, count, stride, packed),
                2 => stripes::<GATHER, u16>(first, count, stride, packed),
                4 => stripes::<GATHER, u32>(first, count, stride, packed),
                8 => stripes::<GATHER, u64>(first, count, stride, packed),
                16 => stripes::<GATHER, [u64; 2]>(first, count, stride, packed),
                32 => stripes::<GATHER, [u64; 4]>(first, count, stride, packed),
                len => {
                    for index in 0..count {
                        let place = first.wrapping_offset(index as isize * stride);
                        run::<GATHER>(place, packed.add(index * len as usize), len as usize);
                    }
                }
            },
            Runs::Equal(len, offsets) => {
                let each = offsets.len() * len as usize;
                for index in 0..count {
                    let place = first.wrapping_offset(index as isize * stride);
                    let packed = packed.add(index * each);
                    match len {
                        1 => listed::<GATHER, u8>(place, offsets, packed),
                        2 => listed::<GATHER, u16>(place, offsets, packed),
                        4 => listed::<GATHER, u32>(place, offsets, packed),
                        8 => listed::<GATHER, u64>(place, offsets, packed),
                        16 => listed::<GATHER, [u64; 2]>(place, offsets, packed),
                        len => {
                            for (entry, offset) in offsets.iter().enumerate() {
                                let run_at = place.wrapping_offset(*offset as isize);
                                run::<GATHER>(run_at, packed.add(entry * len as usize), len as usize);
                            }
                        }
                    }
                }
            }
            Runs::Many(runs) => {
                let mut packed = packed;
                for index in 0..count {
                    let place = first.wrapping_offset(index as isize * stride);
                    for one in runs {
                        run::<GATHER>(place.wrapping_offset(one.offset as isize), packed, one.len as usize);
                        packed = packed.add(one.len as usize);
                    }
                }
            }
        }
    }
}

/// Words in a row of places. Only numbers of the lengths that grids are made of are worth a loop of their own where they are far from each other.
#[inline(always)]
unsafe fn stripes<const GATHER: bool, T: Copy>(first: *mut u8, count: usize, stride: isize, packed: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        if matches!(size_of::<T>(), 8 | 16) && FAR.contains(&stride.unsigned_abs()) && count >= 4 * AHEAD {
            far_stripes::<GATHER, T>(first, count, stride, packed);
        } else {
            row::<GATHER, false, T>(first, count, stride, packed);
        }
    }
}

/// Bytes between places that the machine does not find by itself in time. Across pages it finds none, but four lines in flight are as fast.
const FAR: core::ops::Range<usize> = 512..4096;

/// Far places that are on their way into the cache while others are copied.
const AHEAD: usize = 8;

/// Apart: the loops for places that are near are not to pay for it with their registers.
#[inline(never)]
unsafe fn far_stripes<const GATHER: bool, T: Copy>(
    first: *mut u8,
    count: usize,
    stride: isize,
    packed: *mut u8,
) {
    // SAFETY: the caller's promise.
    unsafe { row::<GATHER, true, T>(first, count, stride, packed) };
}

/// Four at a time: the loads do not wait for each other.
#[inline(always)]
unsafe fn row<const GATHER: bool, const FETCH: bool, T: Copy>(
    first: *mut u8,
    count: usize,
    stride: isize,
    packed: *mut u8,
) {
    let size = size_of::<T>();
    let place = |index: usize| first.wrapping_offset(index as isize * stride);
    let mut index = 0;
    // SAFETY: the caller's promise, for each run.
    unsafe {
        while index + 4 <= count {
            let packed = packed.add(index * size);
            if FETCH {
                (AHEAD..AHEAD + 4).for_each(|ahead| hints::will_read(place(index + ahead), 1));
            }
            word::<GATHER, T>(place(index), packed);
            word::<GATHER, T>(place(index + 1), packed.add(size));
            word::<GATHER, T>(place(index + 2), packed.add(2 * size));
            word::<GATHER, T>(place(index + 3), packed.add(3 * size));
            index += 4;
        }
        while index < count {
            word::<GATHER, T>(place(index), packed.add(index * size));
            index += 1;
        }
    }
}

#[inline(always)]
unsafe fn listed<const GATHER: bool, T: Copy>(place: *mut u8, offsets: &[i64], packed: *mut u8) {
    for (index, offset) in offsets.iter().enumerate() {
        // SAFETY: the caller's promise, for each run.
        unsafe {
            word::<GATHER, T>(place.wrapping_offset(*offset as isize), packed.add(index * size_of::<T>()))
        };
    }
}

#[inline(always)]
unsafe fn word<const GATHER: bool, T: Copy>(place: *mut u8, packed: *mut u8) {
    let (place, packed) = (place.cast::<T>(), packed.cast::<T>());
    // SAFETY: the caller's promise: as many bytes are valid on both sides. They need not be aligned.
    unsafe {
        if GATHER {
            packed.write_unaligned(place.read_unaligned());
        } else {
            place.write_unaligned(packed.read_unaligned());
        }
    }
}

/// One run of any length.
#[inline(always)]
unsafe fn run<const GATHER: bool>(place: *mut u8, packed: *mut u8, len: usize) {
    // SAFETY: the caller's promise; the second word of a pair ends where the run does.
    unsafe {
        match len {
            0 => {}
            1 => word::<GATHER, u8>(place, packed),
            2..=3 => both_ends::<GATHER, u16>(place, packed, len),
            4..=7 => both_ends::<GATHER, u32>(place, packed, len),
            8..=16 => both_ends::<GATHER, u64>(place, packed, len),
            17..=32 => both_ends::<GATHER, [u64; 2]>(place, packed, len),
            33..=64 => both_ends::<GATHER, [u64; 4]>(place, packed, len),
            _ if GATHER => processor::copy(place, packed, len),
            _ => processor::copy(packed, place, len),
        }
    }
}

/// A run of one to two words, as two words that may overlap.
#[inline(always)]
unsafe fn both_ends<const GATHER: bool, T: Copy>(place: *mut u8, packed: *mut u8, len: usize) {
    let last = len - size_of::<T>();
    // SAFETY: the caller's promise: `len` bytes are valid on both sides.
    unsafe {
        word::<GATHER, T>(place, packed);
        word::<GATHER, T>(place.add(last), packed.add(last));
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use crate::values::datatype::{Basic, Datatype};
    use crate::values::memory::{RecvBuffer, SendBuffer};

    /// Every length of run, in a row, in a list and in a loop of lists, packed and unpacked again.
    #[test]
    fn what_is_gathered_and_scattered_again_is_the_same_and_nothing_else_is_touched() {
        let byte = Datatype::basic(Basic::Byte);
        for len in 1..90_u64 {
            let run = Datatype::contiguous(len, &byte).expect("it fits");
            let row = Datatype::strided(7, 1, len as i64 + 3, &run).expect("it fits");
            let list = Datatype::indexed(&[(0, 1), (100, 1), (203, 1)], &run).expect("it fits");
            let mixed = Datatype::indexed(&[(0, len), (100, 1), (203, len + 2)], &byte).expect("it fits");
            for datatype in [row, list, mixed] {
                let elements = 3;
                let extent = datatype.extent() as usize + 5;
                let datatype = datatype.resized(0, extent as i64).expect("it fits");
                let mut source: Vec<u8> = (0..extent * elements).map(|index| (index * 7 + 1) as u8).collect();
                let mut target = alloc::vec![0u8; source.len()];
                // SAFETY: both hold three elements, and live until the end.
                let (from, to) = unsafe {
                    let from = SendBuffer::new(source.as_mut_ptr(), elements as u64, &datatype);
                    (from, RecvBuffer::new(target.as_mut_ptr(), elements as u64, &datatype))
                };
                let mut packed = alloc::vec![0u8; from.bytes() as usize];
                from.pack(0, &mut packed);
                to.unpack(0, &packed);
                let mut expected = alloc::vec![0u8; source.len()];
                let (mut at, mut ordered) = (0, Vec::new());
                datatype.layout().walk(0, from.bytes(), |offset, _, len| {
                    let run = offset as usize..offset as usize + len as usize;
                    expected[run.clone()].copy_from_slice(&source[run.clone()]);
                    ordered.extend_from_slice(&source[run]);
                    at += len;
                });
                assert_eq!(packed, ordered, "runs of {len}");
                assert_eq!(target, expected, "runs of {len}");
            }
        }
    }

    /// Rows whose places are near, far and on pages of their own, forwards and backwards.
    #[test]
    fn words_in_a_row_are_the_same_at_every_distance() {
        for len in [4_u64, 8, 16, 32] {
            for distance in [40_i64, 511, 512, 768, 4095, 4096, -768, -5000] {
                for count in [31_u64, 32, 35, 101] {
                    let word = Datatype::contiguous(len, &Datatype::basic(Basic::Byte)).expect("it fits");
                    let row = Datatype::strided(count, 1, distance, &word).expect("it fits");
                    let room = (count as usize + 1) * distance.unsigned_abs() as usize;
                    let first = if distance < 0 { room - distance.unsigned_abs() as usize } else { 0 };
                    let mut source: Vec<u8> = (0..room).map(|at| (at * 7 + at / 251) as u8).collect();
                    let mut target = alloc::vec![0u8; room];
                    // SAFETY: both have room for one element from there on, and live until the end.
                    let (from, to) = unsafe {
                        let from = SendBuffer::new(source.as_mut_ptr().add(first), 1, &row);
                        (from, RecvBuffer::new(target.as_mut_ptr().add(first), 1, &row))
                    };
                    let mut packed = alloc::vec![0u8; from.bytes() as usize];
                    from.pack(0, &mut packed);
                    to.unpack(0, &packed);
                    let mut expected = alloc::vec![0u8; room];
                    for index in 0..count as usize {
                        let place = (first as i64 + index as i64 * distance) as usize;
                        let run = place..place + len as usize;
                        assert_eq!(
                            packed[index * len as usize..][..len as usize],
                            source[run.clone()],
                            "word {index}, {distance} apart"
                        );
                        expected[run.clone()].copy_from_slice(&source[run]);
                    }
                    assert!(target == expected, "{count} words of {len}, {distance} apart");
                }
            }
        }
    }
}
