//! Memory that the library has for the program, and that the other ranks can map.

use fabric::{Fabric, Key};

use crate::values::memory::ground::Ground;

/// A piece of such memory. Whoever has it says when it is given back: the addresses in it are the program's to use until then.
#[derive(Debug)]
pub struct SharedMemory {
    base: *mut u8,
    key: Key,
}

// SAFETY: it is given back by the rank that allocated it, whichever of its threads holds it.
unsafe impl Send for SharedMemory {}

impl SharedMemory {
    pub(crate) fn allocate(fabric: &dyn Fabric, bytes: usize) -> Option<SharedMemory> {
        fabric.allocate_shared(bytes).ok().map(|shared| SharedMemory { base: shared.base, key: shared.key })
    }

    pub(crate) fn release(self, fabric: &dyn Fabric) {
        Ground::release(fabric, &self.key);
    }

    /// Where it begins, which is a page.
    pub fn base(&self) -> *mut u8 {
        self.base
    }
}
