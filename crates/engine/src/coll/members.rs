//! Arithmetic of members.

/// The largest power of two that is not above `size`.
pub(super) fn power_below(size: u32) -> u32 {
    1 << size.ilog2()
}

/// The place of a member when members are counted from the root on.
pub(super) fn from_root(member: u32, root: u32, size: u32) -> u32 {
    if member >= root { member - root } else { member + size - root }
}

/// The member at a place counted from the root on.
pub(super) fn member_at(place: u32, root: u32, size: u32) -> u32 {
    ((u64::from(place) + u64::from(root)) % u64::from(size)) as u32
}
