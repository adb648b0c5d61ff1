//! Shared allocations: zero at first, seen by all who attach them, reached by puts and gets, and given back.
//!
//! A fabric that has none passes if it says so.

use fabric::{Audience, Delivery, Fabric, Key, Mover, Node, PortalError, Region, Shape, Shared};

use crate::Case;
use crate::desk::{Desk, pattern};

pub const CASES: &[Case] = &[
    Case {
        name: "shared_memory_is_seen_by_all_who_attach_it",
        ranks: &[1, 2, 3, 16],
        budget: None,
        body: seen,
    },
    Case { name: "transfers_reach_shared_memory", ranks: &[2, 3], budget: None, body: transfers },
    Case { name: "shared_memory_comes_back", ranks: &[1, 2], budget: Some(BUDGET), body: given_back },
    Case { name: "unknown_shared_memory_is_refused", ranks: &[1, 2], budget: None, body: unknown },
];

const BUDGET: usize = 8 << 20;
/// Bytes that each node writes.
const PART: usize = 5000;

/// Node 0 allocates and tells all; `None` where the fabric has no shared memory.
fn allocated(desk: &Desk<'_>, bytes: usize) -> Option<(*mut u8, Key)> {
    if desk.me() != Node(0) {
        let key = Key::from_bytes(&desk.receive().payload)?;
        return Some((desk.fabric.attach_shared(&key).expect("a key that node 0 has given"), key));
    }
    match desk.fabric.allocate_shared(bytes) {
        Ok(Shared { base, len, key }) => {
            assert!(len >= bytes && base.addr().is_multiple_of(4096));
            desk.others().for_each(|peer| desk.post_key(peer, &key));
            Some((base, key))
        }
        Err(error) => {
            assert_eq!(error, PortalError::Unreachable);
            desk.others().for_each(|peer| desk.post(peer, &[0; 3], &[]));
            None
        }
    }
}

/// What a node has of shared memory.
fn bytes<'m>(base: *mut u8, length: usize) -> &'m mut [u8] {
    // SAFETY: mapped that long; the cases keep apart, by barriers, who writes where and when.
    unsafe { std::slice::from_raw_parts_mut(std::hint::black_box(base), length) }
}

fn release(desk: &Desk<'_>, key: &Key) {
    desk.barrier();
    // SAFETY: nobody uses it any more; the owner is last.
    unsafe {
        if desk.me() != Node(0) {
            desk.fabric.release_shared(key);
        }
        desk.barrier();
        if desk.me() == Node(0) {
            desk.fabric.release_shared(key);
        }
    }
}

fn seen(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let nodes = fabric.nodes() as usize;
    for turn in 0..3u64 {
        if let Some((base, key)) = allocated(&desk, nodes * PART) {
            assert!(bytes(base, nodes * PART).iter().all(|byte| *byte == 0), "fresh memory is zero");
            assert_eq!(fabric.attach_shared(&key).expect("twice is once"), base);
            desk.barrier();
            let me = desk.me().0 as usize;
            bytes(base, nodes * PART)[me * PART..][..PART].copy_from_slice(&pattern(turn + me as u64, PART));
            desk.barrier();
            for node in 0..nodes {
                let theirs = &bytes(base, nodes * PART)[node * PART..][..PART];
                assert!(theirs == pattern(turn + node as u64, PART), "node {node} wrote something else");
            }
            release(&desk, &key);
        }
    }
    desk.leave();
}

/// Everybody puts and gets its part through a key that node 0 has exposed to all, whether it has attached the memory or not.
fn transfers(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let nodes = fabric.nodes() as usize;
    if let Some((base, key)) = allocated(&desk, nodes * PART) {
        let exposed = if desk.me() == Node(0) {
            // A part of it, from its second page on, so that it is named by more than its start.
            let region = Region::shared(base.wrapping_add(4096), nodes * PART - 4096);
            // SAFETY: the memory lives until it is released below.
            let exposed = unsafe { fabric.expose(region, Audience::All) }.expect("an exposure");
            desk.others().for_each(|peer| desk.post_key(peer, &exposed));
            exposed
        } else {
            desk.receive_key()
        };
        let (place, length) = (desk.me().0 as usize * 100, 100);
        let (local, remote) = (Shape::contiguous(0, length), Shape::contiguous(place, length));
        let (data, mut back) = (pattern(place as u64, length), vec![0u8; length]);
        // SAFETY: the local sides live until the tickets are done, and node 0 exposes the region.
        unsafe {
            let put = fabric.put(Node(0), data.as_ptr(), &local, &exposed, &remote, &Delivery::BY_CORE);
            desk.finish(put.expect("a put into shared memory"));
            let get = fabric.get(Node(0), back.as_mut_ptr(), &local, &exposed, &remote, Mover::Core);
            desk.finish(get.expect("a get from shared memory"));
        }
        assert!(back == data, "what was put is not what was got");
        desk.barrier();
        for node in 0..nodes {
            let theirs = &bytes(base, nodes * PART)[4096 + node * 100..][..100];
            assert!(theirs == pattern(node as u64 * 100, 100), "the part of node {node}");
        }
        fabric.withdraw(exposed);
        release(&desk, &key);
    }
    desk.leave();
}

/// More than the budget in sum, but never at a time.
fn given_back(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    for _ in 0..50 {
        if let Some((base, key)) = allocated(&desk, 1 << 20) {
            bytes(base, 1 << 20)[desk.me().0 as usize] = 1;
            release(&desk, &key);
        }
    }
    let refused = fabric.allocate_shared(BUDGET + 1);
    assert!(matches!(refused, Err(PortalError::Exhausted | PortalError::Unreachable)), "{refused:?}");
    desk.leave();
}

fn unknown(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    for key in [Key([0; 4]), Key([u64::MAX; 4]), Key([4096, 4096, 0, 0])] {
        let refused = fabric.attach_shared(&key);
        assert!(matches!(refused, Err(PortalError::PeerMemory | PortalError::Unreachable)), "{refused:?}");
    }
    let mut own = [0u8; 64];
    // SAFETY: nothing is reached by a key that is not given.
    let exposed = unsafe { fabric.expose(Region::shared(own.as_mut_ptr(), 64), Audience::All) };
    if let Ok(key) = exposed {
        // Where all memory is shared, this is.
        assert!(fabric.route(desk.me()).same_memory);
        fabric.withdraw(key);
    }
    desk.leave();
}
