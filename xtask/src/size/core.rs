//! What a program on a chip has of Corelace at least, for `cargo xtask size` to link: messages of all modes, and the collectives that most programs use.
//!
//! Everything that belongs to the chip comes from outside: its fabric, memory and what becomes of a panic. So none of that is measured.
#![no_std]

extern crate alloc;

use alloc::boxed::Box;
use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;

use engine::datatype::{Basic, Datatype};
use engine::{
    Dest, Mode, Op, Rank, RecvBuffer, RequestId, Result, SendBuffer, Source, Tag, TagMatch, Tuning,
};
use fabric::Fabric;

unsafe extern "Rust" {
    fn chip_fabric() -> Box<dyn Fabric>;
    fn chip_operation() -> Op;
    fn chip_allocate(layout: Layout) -> *mut u8;
    fn chip_free(block: *mut u8, layout: Layout);
    fn chip_stop() -> !;
}

struct Heap;

// SAFETY: nothing of this ever runs.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { chip_allocate(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { chip_free(block, layout) }
    }
}

#[global_allocator]
static HEAP: Heap = Heap;

#[panic_handler]
fn panics(_: &PanicInfo<'_>) -> ! {
    unsafe { chip_stop() }
}

/// A rank begins.
#[unsafe(no_mangle)]
pub fn chip_begin() -> Box<Rank> {
    let fabric = unsafe { chip_fabric() };
    let tuning = Tuning::for_route(fabric.route(fabric.me()));
    Box::new(Rank::new(fabric, tuning))
}

/// What a datatype is made from.
#[unsafe(no_mangle)]
pub fn chip_type(basic: Basic) -> Datatype {
    Datatype::basic(basic)
}

/// Messages, by waiting and not.
#[unsafe(no_mangle)]
pub fn chip_messages(
    rank: &Rank,
    mode: Mode,
    out: &SendBuffer,
    into: &RecvBuffer,
    to: u32,
    tag: Tag,
) -> Result<()> {
    let world = rank.world();
    rank.send(mode, out, Dest::Rank(to), tag, world)?;
    rank.recv(into, Source::Any, TagMatch::Is(tag), world)?;
    let requests: [RequestId; 2] = [
        rank.isend(mode, out, Dest::Rank(to), tag, world)?,
        rank.irecv(into, Source::Rank(to), TagMatch::Any, world)?,
    ];
    for request in requests {
        rank.wait(request)?;
    }
    Ok(())
}

/// Collectives.
#[unsafe(no_mangle)]
pub fn chip_collectives(rank: &Rank, out: &SendBuffer, into: &RecvBuffer) -> Result<()> {
    let (world, op) = (rank.world(), unsafe { chip_operation() });
    rank.barrier(world)?.wait()?;
    rank.bcast(into, 0, world)?.wait()?;
    rank.reduce(Some(out), Some(into), &op, 0, world)?.wait()?;
    rank.allreduce(Some(out), into, &op, world)?.wait()?;
    rank.gather(Some(out), Some(into), 0, world)?.wait()?;
    rank.scatter(Some(out), Some(into), 0, world)?.wait()?;
    rank.allgather(Some(out), into, world)?.wait()?;
    rank.alltoall(Some(out), into, world)?.wait()
}
