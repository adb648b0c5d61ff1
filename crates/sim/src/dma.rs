//! A DMA engine: some channels, and the transfers that wait for one, in order.

use std::collections::VecDeque;

/// The engine of one interface.
#[derive(Default)]
pub(crate) struct Engine {
    busy: u32,
    waiting: VecDeque<u32>,
}

impl Engine {
    /// Asks for a channel. False: the flow waits until [`Self::release`] returns it.
    pub(crate) fn request(&mut self, flow: u32, channels: u32) -> bool {
        if self.busy < channels {
            self.busy += 1;
            true
        } else {
            self.waiting.push_back(flow);
            false
        }
    }

    /// Transfers that have a channel or wait for one.
    pub(crate) fn depth(&self) -> u32 {
        self.busy + self.waiting.len() as u32
    }

    /// Gives a channel back. The flow that gets it now, if one waits.
    pub(crate) fn release(&mut self) -> Option<u32> {
        let next = self.waiting.pop_front();
        if next.is_none() {
            self.busy -= 1;
        }
        next
    }
}
