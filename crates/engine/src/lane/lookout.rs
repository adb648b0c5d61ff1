//! Telling whoever answers for a rank that it waits.

use fabric::{Idle, Woke};

use crate::lane::Lane;
use crate::lane::statement::{Interest, Wait};
use crate::values::error::{Error, Result};

impl Lane {
    /// The cold end of a wait loop's round: tells the lookout. Takes and returns the number of the stretch, 0 at its beginning.
    #[cold]
    pub fn look_up(&self, woke: Woke, stretch: u64, interest: Interest<'_>) -> Result<u64> {
        let stretch = if stretch == 0 { self.next_stretch() } else { stretch };
        let glance = Wait { of: self.view(), interest, stretch, in_vain: false, polls: false };
        let woke = self.answer_glances(woke, &glance)?;
        if woke != Woke::Again {
            self.tell_lookout(&Wait { in_vain: woke == Woke::InVain, ..glance });
        }
        Ok(stretch)
    }

    /// Answers as long as nothing but answers is wanted; what the rank was woken for in the end.
    fn answer_glances(&self, mut woke: Woke, wait: &Wait<'_>) -> Result<Woke> {
        while woke == Woke::Glance {
            self.tell_lookout(wait);
            woke = self.park(0, Idle::UntilWoken);
        }
        if woke == Woke::Stalled { Err(Error::Stalled) } else { Ok(woke) }
    }

    /// The same for a rank that polls, of whose calls in a row without news this is number `rounds`.
    #[cold]
    pub fn look_up_polling(&self, woke: Woke, rounds: u32, interest: Interest<'_>) -> Result<()> {
        let (before, stretch) = self.polling.get();
        // The count begins anew when something has come.
        let stretch = if stretch == 0 || rounds < before { self.next_stretch() } else { stretch };
        self.polling.set((rounds, stretch));
        let wait = Wait { of: self.view(), interest, stretch, in_vain: false, polls: true };
        if self.answer_glances(woke, &wait)? != Woke::Again {
            self.tell_lookout(&wait);
        }
        Ok(())
    }

    fn tell_lookout(&self, wait: &Wait<'_>) {
        if let Some(lookout) = self.lookout.get() {
            lookout.look(wait);
        }
    }

    fn next_stretch(&self) -> u64 {
        self.stretches.set(self.stretches.get() + 1);
        self.stretches.get()
    }
}
