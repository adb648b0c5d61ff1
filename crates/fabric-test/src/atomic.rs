//! Atomics: no step is lost, every answer is the word before, and what cannot be done is refused.
//!
//! Node 0 exposes words to all: of ordinary memory, and of a shared allocation where the fabric has them. What the routes say decides what must work.

use fabric::{
    Atomic, AtomicOp, Atomics, Audience, Fabric, Key, Node, PortalError, Region, Shared, Width, Word,
};

use crate::Case;
use crate::desk::Desk;

pub const CASES: &[Case] = &[
    Case { name: "sums_of_all_nodes_are_all_there", ranks: &[1, 2, 3, 16], budget: None, body: sums },
    Case { name: "a_lock_of_swaps_lets_one_in_at_a_time", ranks: &[2, 3], budget: None, body: lock },
    Case { name: "arrays_of_words_are_combined_one_by_one", ranks: &[1, 2, 3], budget: None, body: arrays },
    Case { name: "atomics_outside_of_words_are_refused", ranks: &[1, 2], budget: None, body: refused },
];

const WORDS: usize = 64;

/// Runs `body` with the key of words of node 0, zero at first, once for each kind of memory that atomics of this node must work on; `check` on node 0
/// with the words afterwards.
fn on_words(desk: &Desk<'_>, body: impl Fn(&Key), check: impl Fn(&[u64])) {
    let fabric = desk.fabric;
    let mut own = vec![0u64; WORDS];
    for shared in [false, true] {
        let allocated =
            (shared && desk.me() == Node(0)).then(|| fabric.allocate_shared(WORDS * 8).ok()).flatten();
        let base = if shared { allocated.map(|shared| shared.base.cast()) } else { Some(own.as_mut_ptr()) };
        let key = if desk.me() == Node(0) {
            let key = base.map(|base| expose(fabric, base, shared));
            desk.others().for_each(|peer| match &key {
                Some(key) => desk.post_key(peer, key),
                None => desk.post(peer, &[0; 3], &[]),
            });
            key
        } else {
            Key::from_bytes(&desk.receive().payload)
        };
        let works = match fabric.route(Node(0)).atomics {
            Atomics::None => false,
            Atomics::Shared => shared,
            Atomics::All => true,
        };
        if let Some(key) = &key {
            if works {
                body(key);
            } else {
                let word = Word { offset: 0, width: Width::Eight };
                let add = Atomic::Fetch { op: AtomicOp::Sum, operand: 1 };
                // SAFETY: node 0 exposes the words; nobody wants to know what was there.
                let answer = unsafe { fabric.atomic(Node(0), key, word, add, std::ptr::null_mut()) };
                assert_eq!(answer, Err(PortalError::Unreachable), "the route says that it does not work");
            }
        }
        desk.barrier();
        if desk.me() == Node(0)
            && let (Some(base), Some(key)) = (base, &key)
        {
            // SAFETY: nobody works on the words any more.
            let words = unsafe { std::slice::from_raw_parts(std::hint::black_box(base), WORDS) };
            if words.iter().any(|word| *word != 0) || works {
                check(words);
            }
            fabric.withdraw(*key);
        }
        if let Some(Shared { key, .. }) = allocated {
            // SAFETY: nobody uses it any more.
            unsafe { fabric.release_shared(&key) };
        }
        desk.barrier();
    }
}

fn expose(fabric: &dyn Fabric, base: *mut u64, shared: bool) -> Key {
    let (base, len) = (base.cast(), WORDS * 8);
    let region = if shared { Region::shared(base, len) } else { Region::host(base, len) };
    // SAFETY: the words live until they are withdrawn.
    unsafe { fabric.expose(region, Audience::All) }.expect("an exposure")
}

/// Does an atomic and waits for its answer.
fn act(desk: &Desk<'_>, key: &Key, word: Word, act: Atomic) -> u64 {
    let mut before = u64::MAX;
    // SAFETY: node 0 exposes the words, and the answer has a place until the ticket is done.
    let ticket = unsafe { desk.fabric.atomic(Node(0), key, word, act, &raw mut before) };
    desk.finish(ticket.expect("an atomic that the route promises"));
    // SAFETY: written behind the back of the compiler.
    unsafe { (&raw const before).read_volatile() }
}

fn sums(fabric: &dyn Fabric) {
    const TIMES: u64 = 200;
    let desk = Desk::new(fabric);
    let nodes = u64::from(fabric.nodes());
    let body = |key: &Key| {
        for width in [Width::Four, Width::Eight] {
            let word = Word { offset: 8 * width.bytes(), width };
            let mut last = None;
            for _ in 0..TIMES {
                let before = act(&desk, key, word, Atomic::Fetch { op: AtomicOp::Sum, operand: 1 });
                assert!(before < TIMES * nodes, "a sum that nobody has made: {before}");
                assert!(last.is_none_or(|last| before > last), "the word fell to {before}");
                last = Some(before);
            }
        }
        let flush = fabric.flush(Node(0)).expect("a flush");
        desk.finish(flush);
    };
    on_words(&desk, body, |words| {
        // Only those whose routes allow it have taken part; so either some have, all of them wholly, or nobody has.
        let (four, eight) = (words[4] & 0xffff_ffff, words[8]);
        assert!(four == eight && eight.is_multiple_of(TIMES), "sums were lost: {four} and {eight}");
        assert!(eight > 0, "node 0 itself has taken part");
    });
    desk.leave();
}

/// The first word is the lock, the second is read, then written, by whoever has it.
fn lock(fabric: &dyn Fabric) {
    const TIMES: u64 = 100;
    let desk = Desk::new(fabric);
    let (lock, guarded) = (Word { offset: 0, width: Width::Four }, Word { offset: 8, width: Width::Eight });
    let body = |key: &Key| {
        for _ in 0..TIMES {
            let take = Atomic::CompareSwap { expected: 0, desired: u64::from(desk.me().0) + 1 };
            while act(&desk, key, lock, take) != 0 {
                fabric.park(0, fabric::Idle::Briefly);
            }
            let seen = act(&desk, key, guarded, Atomic::Fetch { op: AtomicOp::Read, operand: 0 });
            let put = Atomic::Fetch { op: AtomicOp::Replace, operand: seen + 1 };
            assert_eq!(act(&desk, key, guarded, put), seen, "somebody else was in");
            let give = Atomic::CompareSwap { expected: u64::from(desk.me().0) + 1, desired: 0 };
            assert_eq!(act(&desk, key, lock, give), u64::from(desk.me().0) + 1);
        }
    };
    on_words(&desk, body, |words| {
        assert!(words[0] == 0 && words[1] > 0 && words[1].is_multiple_of(TIMES), "{:?}", &words[..2]);
    });
    desk.leave();
}

fn arrays(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let operands: Vec<u64> = (0..WORDS as u64).map(|index| index * index).collect();
    let first = Word { offset: 0, width: Width::Eight };
    let body = |key: &Key| {
        // SAFETY: node 0 exposes as many words as there are operands.
        let ticket = unsafe {
            fabric.atomic_array(Node(0), key, first, AtomicOp::Sum, operands.as_ptr().cast(), WORDS)
        };
        match ticket {
            Ok(ticket) => desk.finish(ticket),
            Err(error) => assert_eq!(error, PortalError::Unreachable),
        }
        assert_eq!(ticket.is_ok(), fabric.route(Node(0)).array_atomics, "arrays and route disagree");
    };
    on_words(&desk, body, |words| {
        let times = words[1];
        assert!((0..WORDS as u64).all(|index| words[index as usize] == times * index * index), "{words:?}");
    });
    desk.leave();
}

fn refused(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let bad = [
        ("off its place", Word { offset: 4, width: Width::Eight }),
        ("between words", Word { offset: 2, width: Width::Four }),
        ("past the end", Word { offset: WORDS * 8, width: Width::Four }),
        ("far past the end", Word { offset: usize::MAX - 7, width: Width::Eight }),
    ];
    let body = |key: &Key| {
        for (what, word) in bad {
            let add = Atomic::Fetch { op: AtomicOp::Sum, operand: 1 };
            // SAFETY: the call must be refused before it touches anything.
            let answer = unsafe { fabric.atomic(Node(0), key, word, add, std::ptr::null_mut()) };
            assert_eq!(answer, Err(PortalError::Shape), "a word {what}");
        }
    };
    on_words(&desk, body, |words| assert!(words.iter().all(|word| *word == 0), "a refused atomic wrote"));
    desk.leave();
}
