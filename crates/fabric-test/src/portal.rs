//! Puts and gets: every alignment, every shape, and what must be refused.
//!
//! Node 0 exposes a region to each other node in turn; that node works on it and says when it is done. A fabric that cannot
//! reach the peer passes if it says so both through its route and through the error.

use fabric::{Audience, Delivery, Fabric, Key, Mover, Node, PortalError, Region, Shape};

use crate::Case;
use crate::desk::{Desk, pattern};

pub const CASES: &[Case] = &[
    Case { name: "gets_of_every_alignment_and_size_are_exact", ranks: &[2, 3], budget: None, body: gets },
    Case { name: "puts_of_every_alignment_and_size_are_exact", ranks: &[2, 3], budget: None, body: puts },
    Case { name: "strided_transfers_move_their_rows_only", ranks: &[2], budget: None, body: strided },
    Case { name: "transfers_of_megabytes_are_exact", ranks: &[2], budget: None, body: large },
    Case { name: "bad_shapes_are_refused_and_move_nothing", ranks: &[2], budget: None, body: refused },
    Case { name: "routes_agree_with_what_works", ranks: &[1, 2, 3], budget: None, body: announced },
    Case { name: "transfers_with_oneself_work", ranks: &[1, 2], budget: None, body: with_oneself },
];

/// Exposes `region` of node 0 to each other node in turn. The node runs `work` with the key; `check` runs on node 0 after
/// it has said that it is done.
fn in_turn(desk: &Desk<'_>, region: &mut [u8], work: impl Fn(&Key), mut check: impl FnMut(&mut [u8])) {
    if desk.me() == Node(0) {
        for peer in desk.others() {
            // SAFETY: the region outlives the exposure and is not touched until the peer is done.
            let key = unsafe {
                desk.fabric.expose(Region::host(region.as_mut_ptr(), region.len()), Audience::One(peer))
            }
            .expect("an exposure");
            desk.post_key(peer, &key);
            assert_eq!(desk.receive().from, peer);
            desk.fabric.withdraw(key);
            check(region);
        }
    } else {
        work(&desk.receive_key());
        desk.post(Node(0), &[0; 3], &[]);
    }
}

/// Sizes and offsets that fit the granularity of the portal.
fn pieces(fabric: &dyn Fabric) -> Vec<(usize, usize, usize)> {
    let sizes = [0usize, 1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 4095, 4096, 4097, 20_000];
    let grain = fabric.route(Node(0)).granularity;
    let mut pieces = Vec::new();
    for size in sizes {
        for offset in 0..16 {
            let local = (offset * 7 + 3) % 16;
            if [size, offset, local].iter().all(|&value| value.is_multiple_of(grain)) {
                pieces.push((offset, local, size));
            }
        }
    }
    pieces
}

const REGION: usize = 20_000 + 64;
/// Room for an alignment of 16 in front of the local buffer, and for guard bytes behind.
const LOCAL: usize = REGION;

/// A buffer whose byte 0 lies at a multiple of 16.
#[repr(align(16))]
struct Aligned([u8; LOCAL]);

fn aligned(fill: u8) -> Box<Aligned> {
    Box::new(Aligned([fill; LOCAL]))
}

fn gets(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let mut region = aligned(0);
    region.0.copy_from_slice(&pattern(1, REGION));
    let original = pattern(1, REGION);
    let work = |key: &Key| {
        if !fabric.route(Node(0)).gets() {
            return;
        }
        let mut local = aligned(0xee);
        for (offset, place, size) in pieces(fabric) {
            local.0.fill(0xee);
            let (to, from) = (Shape::contiguous(place, size), Shape::contiguous(offset, size));
            // SAFETY: the local buffer lives on, and node 0 exposes the region.
            let ticket = unsafe { fabric.get(Node(0), local.0.as_mut_ptr(), &to, key, &from, Mover::Core) };
            desk.finish(ticket.unwrap_or_else(|error| panic!("a get within reach failed: {error:?}")));
            assert_eq!(
                local.0[place..place + size],
                original[offset..offset + size],
                "{size} bytes from {offset}"
            );
            let untouched = local.0[..place].iter().chain(&local.0[place + size..]);
            assert!(
                untouched.into_iter().all(|&byte| byte == 0xee),
                "a get of {size} bytes wrote beside its buffer"
            );
        }
    };
    in_turn(&desk, &mut region.0, work, |region| assert_eq!(region, original, "a get changed its source"));
    desk.leave();
}

fn puts(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let mut region = aligned(0xee);
    // Each piece is put and read back by a get, with its surroundings; where gets do not work, node 0 checks the last one.
    let work = |key: &Key| {
        let route = fabric.route(Node(0));
        if !route.put {
            return;
        }
        let mut back = aligned(0);
        for (number, (offset, place, size)) in pieces(fabric).into_iter().enumerate() {
            let mut local = aligned(0);
            local.0[place..place + size].copy_from_slice(&pattern(number as u64, size));
            let (from, to) = (Shape::contiguous(place, size), Shape::contiguous(offset, size));
            // SAFETY: the local buffer lives until the ticket is done, and node 0 exposes the region.
            let ticket =
                unsafe { fabric.put(Node(0), local.0.as_ptr(), &from, key, &to, &Delivery::BY_CORE) };
            desk.finish(ticket.unwrap_or_else(|error| panic!("a put within reach failed: {error:?}")));
            if route.gets() {
                let whole = Shape::contiguous(0, REGION);
                // SAFETY: as above, for writes.
                let ticket =
                    unsafe { fabric.get(Node(0), back.0.as_mut_ptr(), &whole, key, &whole, Mover::Core) };
                desk.finish(ticket.expect("a get within reach"));
                assert_eq!(
                    back.0[offset..offset + size],
                    pattern(number as u64, size),
                    "{size} bytes to {offset}"
                );
                assert!(back.0[..offset].iter().all(|&byte| byte == 0xee), "a put wrote before its place");
                assert!(
                    back.0[offset + size..].iter().all(|&byte| byte == 0xee),
                    "a put wrote past its place"
                );
                // Wipe it out again.
                let wiped = aligned(0xee);
                // SAFETY: as for the put above.
                let ticket =
                    unsafe { fabric.put(Node(0), wiped.0.as_ptr(), &from, key, &to, &Delivery::BY_CORE) };
                desk.finish(ticket.expect("a put within reach"));
            }
        }
        let last = pattern(99, REGION);
        let whole = Shape::contiguous(0, REGION);
        // SAFETY: as above.
        let ticket = unsafe { fabric.put(Node(0), last.as_ptr(), &whole, key, &whole, &Delivery::BY_CORE) };
        desk.finish(ticket.expect("a put within reach"));
    };
    in_turn(&desk, &mut region.0, work, |region| {
        if region.iter().any(|&byte| byte != 0xee) {
            assert_eq!(region, pattern(99, REGION), "the letter came before the data");
        }
        region.fill(0xee);
    });
    desk.leave();
}

/// The bytes that a shape names in a buffer, in order.
fn gathered(buffer: &[u8], shape: &Shape) -> Vec<u8> {
    let mut bytes = Vec::new();
    shape.for_each_row(|offset| bytes.extend_from_slice(&buffer[offset..offset + shape.row_bytes]));
    bytes
}

fn strided(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let shape = |offset, row_bytes, rows, row_stride, planes, plane_stride| Shape {
        offset,
        row_bytes,
        rows,
        row_stride,
        planes,
        plane_stride,
    };
    // Pairs of a local and a remote shape; the third has more rows than one call of the kernel takes.
    let pairs = [
        (shape(0, 16, 10, 16, 1, 0), shape(16, 16, 10, 48, 1, 0)),
        (shape(32, 16, 10, 64, 1, 0), shape(0, 16, 10, 16, 1, 0)),
        (shape(0, 16, 2500, 32, 1, 0), shape(16, 16, 2500, 48, 1, 0)),
        (shape(16, 32, 5, 64, 4, 512), shape(0, 32, 5, 32, 4, 1024)),
        (shape(0, 16, 40, 32, 60, 2048), shape(64, 16, 40, 48, 60, 1920)),
        (shape(0, 16, 3, 16, 7, 48), shape(0, 16, 3, 16, 7, 48)),
    ];
    let grain = fabric.route(Node(0)).granularity;
    let odd = [
        (shape(3, 5, 11, 13, 3, 211), shape(1, 5, 11, 7, 3, 101)),
        (shape(0, 1, 300, 2, 2, 700), shape(9, 1, 300, 3, 2, 1000)),
    ];
    let pairs: Vec<_> = pairs.into_iter().chain(odd.into_iter().filter(|_| grain == 1)).collect();
    const BYTES: usize = 200_000;
    let original = pattern(5, BYTES);
    let mut region = original.clone();
    let work = |key: &Key| {
        let route = fabric.route(Node(0));
        if !(route.gets() && route.put) {
            return;
        }
        let mut remote = original.clone();
        for (number, (local_shape, remote_shape)) in pairs.iter().enumerate() {
            let mut local = vec![0xee; BYTES];
            // SAFETY: the local buffer lives on, and node 0 exposes the region.
            let ticket = unsafe {
                fabric.get(Node(0), local.as_mut_ptr(), local_shape, key, remote_shape, Mover::Core)
            };
            desk.finish(ticket.unwrap_or_else(|error| panic!("strided get {number} failed: {error:?}")));
            let mut expected = vec![0xee; BYTES];
            let mut bytes = gathered(&remote, remote_shape).into_iter();
            local_shape.for_each_row(|at| {
                expected[at..at + local_shape.row_bytes].fill_with(|| bytes.next().expect("equal counts"));
            });
            assert!(local == expected, "strided get {number} moved other bytes than its shape names");

            let source = pattern(100 + number as u64, BYTES);
            // SAFETY: as above, for reads.
            let ticket = unsafe {
                fabric.put(Node(0), source.as_ptr(), local_shape, key, remote_shape, &Delivery::BY_CORE)
            };
            desk.finish(ticket.unwrap_or_else(|error| panic!("strided put {number} failed: {error:?}")));
            let mut bytes = gathered(&source, local_shape).into_iter();
            remote_shape.for_each_row(|at| {
                remote[at..at + remote_shape.row_bytes].fill_with(|| bytes.next().expect("equal counts"));
            });
            let (mut back, whole) = (vec![0; BYTES], Shape::contiguous(0, BYTES));
            // SAFETY: as above.
            let ticket = unsafe { fabric.get(Node(0), back.as_mut_ptr(), &whole, key, &whole, Mover::Core) };
            desk.finish(ticket.expect("a get within reach"));
            assert!(back == remote, "strided put {number} moved other bytes than its shape names");
        }
    };
    in_turn(&desk, &mut region, work, |_| ());
    desk.leave();
}

fn large(fabric: &dyn Fabric) {
    const BYTES: usize = 3 << 20;
    let desk = Desk::new(fabric);
    let mut region = pattern(1, BYTES);
    let work = |key: &Key| {
        let route = fabric.route(Node(0));
        let whole = Shape::contiguous(0, BYTES);
        if route.gets() {
            let mut local = vec![0; BYTES];
            // SAFETY: the local buffer lives on, and node 0 exposes the region.
            let ticket = unsafe { fabric.get(Node(0), local.as_mut_ptr(), &whole, key, &whole, Mover::Core) };
            desk.finish(ticket.expect("a get within reach"));
            assert!(local == pattern(1, BYTES), "a large get came damaged");
        }
        if route.put {
            let source = pattern(2, BYTES);
            // SAFETY: as above, for reads.
            let ticket =
                unsafe { fabric.put(Node(0), source.as_ptr(), &whole, key, &whole, &Delivery::BY_CORE) };
            desk.finish(ticket.expect("a put within reach"));
        }
        if route.gets() && route.put {
            let mut back = vec![0; BYTES];
            // SAFETY: as above, for writes.
            let ticket = unsafe { fabric.get(Node(0), back.as_mut_ptr(), &whole, key, &whole, Mover::Core) };
            desk.finish(ticket.expect("a get within reach"));
            assert!(back == pattern(2, BYTES), "a large put did not arrive");
        }
    };
    in_turn(&desk, &mut region, work, |region| {
        assert!(region == pattern(1, BYTES) || region == pattern(2, BYTES), "a large put came damaged");
    });
    desk.leave();
}

fn refused(fabric: &dyn Fabric) {
    const BYTES: usize = 1024;
    let desk = Desk::new(fabric);
    let mut region = pattern(1, BYTES);
    let good = Shape::contiguous(0, 64);
    let bad = [
        ("other row length", good, Shape::contiguous(0, 128)),
        ("other number of rows", good, Shape::rows(0, 32, 2, 32)),
        ("past the end", good, Shape::contiguous(BYTES - 32, 64)),
        ("starting past the end", good, Shape::contiguous(BYTES + 64, 64)),
        ("last row past the end", Shape::rows(0, 64, 4, 64), Shape::rows(0, 64, 4, 512)),
        ("wrapping around the address space", good, Shape::contiguous(usize::MAX - 31, 64)),
        (
            "more bytes than memory",
            Shape { planes: 4, ..Shape::rows(0, 64, usize::MAX / 64, 0) },
            Shape { planes: 4, ..Shape::rows(0, 64, usize::MAX / 64, 0) },
        ),
    ];
    let work = |key: &Key| {
        let (mut local, route) = (vec![0xee; BYTES], fabric.route(Node(0)));
        for (what, mine, theirs) in &bad {
            if route.gets() {
                // SAFETY: the call must be refused before it touches anything.
                let ticket =
                    unsafe { fabric.get(Node(0), local.as_mut_ptr(), mine, key, theirs, Mover::Core) };
                assert_eq!(ticket, Err(PortalError::Shape), "a get with {what}");
            }
            if route.put {
                // SAFETY: as above.
                let ticket =
                    unsafe { fabric.put(Node(0), local.as_ptr(), mine, key, theirs, &Delivery::BY_CORE) };
                assert_eq!(ticket, Err(PortalError::Shape), "a put with {what}");
            }
        }
        assert!(local.iter().all(|&byte| byte == 0xee), "a refused get wrote");
    };
    in_turn(&desk, &mut region, work, |region| assert!(region == pattern(1, BYTES), "a refused put wrote"));
    desk.leave();
}

/// What works must be announced, and what is announced must work.
fn announced(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    desk.barrier();
    let own = fabric.route(desk.me());
    assert!(own.put && own.get && own.same_memory && !own.notice, "a node reaches itself");
    let mut region = vec![7u8; 64];
    let work = |key: &Key| {
        let (route, shape) = (fabric.route(Node(0)), Shape::contiguous(0, 64));
        let mut local = [7u8; 64];
        // SAFETY: the local buffer lives on, and node 0 exposes the region.
        let got = unsafe { fabric.get(Node(0), local.as_mut_ptr(), &shape, key, &shape, Mover::Core) };
        match got {
            Ok(ticket) => desk.finish(ticket),
            Err(error) => assert_eq!(error, PortalError::Unreachable),
        }
        assert_eq!(got.is_ok(), route.gets(), "get and route disagree");
        // SAFETY: as above, for reads.
        let put = unsafe { fabric.put(Node(0), local.as_ptr(), &shape, key, &shape, &Delivery::BY_CORE) };
        match put {
            Ok(ticket) => desk.finish(ticket),
            Err(error) => assert_eq!(error, PortalError::Unreachable),
        }
        assert_eq!(put.is_ok(), route.put, "put and route disagree");
    };
    in_turn(&desk, &mut region, work, |region| assert_eq!(region, [7; 64]));
    desk.leave();
}

fn with_oneself(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let mut region = pattern(1, 512);
    let me = desk.me();
    // SAFETY: the region outlives the exposure.
    let key = unsafe { fabric.expose(Region::host(region.as_mut_ptr(), region.len()), Audience::One(me)) }
        .expect("an exposure");
    let mut local = vec![0u8; 512];
    let (from, to) = (Shape::rows(0, 16, 8, 64), Shape::rows(16, 16, 8, 16));
    // SAFETY: both sides live on and do not overlap.
    let ticket = unsafe { fabric.get(me, local.as_mut_ptr(), &to, &key, &from, Mover::Core) }
        .expect("a get from oneself");
    desk.finish(ticket);
    assert_eq!(gathered(&local, &to), gathered(&pattern(1, 512), &from));
    let source = pattern(2, 512);
    // SAFETY: as above.
    let ticket = unsafe { fabric.put(me, source.as_ptr(), &to, &key, &from, &Delivery::BY_CORE) }
        .expect("a put to oneself");
    desk.finish(ticket);
    fabric.withdraw(key);
    assert_eq!(gathered(&region, &from), gathered(&source, &to));
    desk.leave();
}
