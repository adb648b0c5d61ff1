//! What a program asked for, for those who watch: a collective with its members, before anything of it happens.

use crate::lane::Lane;
use crate::progress::tables::watch::{Begin, Meeting};
use crate::values::comm::Comm;
use crate::values::ids::ContextId;

/// A collective as it was asked for.
pub(crate) struct Asked<'a> {
    pub which: &'static str,
    pub comm: &'a Comm,
    /// Of an intracommunicator.
    pub root: Option<u32>,
    /// Of the buffer, or of one member's block: counted if somebody watches.
    pub bytes: &'a dyn Fn() -> u64,
}

impl Lane {
    /// Tells the observer, if there is one, of a collective whose messages have this context and tag.
    #[inline]
    pub fn show(&self, asked: &Asked<'_>, context: ContextId, number: i32) {
        if self.is_observed() {
            self.show_observer(asked, context, number);
        }
    }

    #[cold]
    #[inline(never)]
    fn show_observer(&self, asked: &Asked<'_>, context: ContextId, number: i32) {
        let Asked { which, comm, root, bytes } = *asked;
        let bytes = bytes();
        if !comm.is_inter() {
            let members = comm.group();
            self.begins(|| Begin::Collective(Meeting { which, context, number, root, bytes, members }));
        }
    }
}
