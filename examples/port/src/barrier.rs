//! What a machine may have besides: a barrier of its own. A port works without this file.

use fabric::{MachineBarrier, Node};

use crate::Port;
use crate::board::Core;

impl MachineBarrier for Port {
    fn arrive(&self) -> u64 {
        let cores = self.cores.len() as u64;
        let before = self.core(Node(0)).pull_wire();
        if (before + 1).is_multiple_of(cores) {
            self.cores.iter().for_each(Core::interrupt);
        }
        self.meeting.set(before / cores + 1);
        self.meeting.get()
    }

    fn passed(&self, meeting: u64) -> bool {
        let passed = self.has_passed(meeting);
        if passed {
            self.meeting.set(0);
        }
        passed
    }
}

impl Port {
    pub(crate) fn has_passed(&self, meeting: u64) -> bool {
        self.core(Node(0)).pulls() >= meeting * self.cores.len() as u64
    }
}
