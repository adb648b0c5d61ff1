//! Partitioned requests (MPI chapter 4): which of its parts each has ready.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use engine::RequestId;

/// The partitioned requests of a process.
#[derive(Default)]
pub(crate) struct Partitioned {
    /// How many there are: every start asks.
    live: Cell<usize>,
    known: RefCell<Vec<(RequestId, Rc<Parts>)>>,
}

/// What is known of one of them.
pub(crate) struct Parts {
    pub(crate) sends: bool,
    /// Which parts are ready, since it was started last.
    pub(crate) marked: Box<[Cell<bool>]>,
    pub(crate) left: Cell<usize>,
    /// All are.
    pub(crate) ready: Rc<Cell<bool>>,
}

impl Parts {
    pub(crate) fn new(sends: bool, count: usize) -> Parts {
        let marked = (0..count).map(|_| Cell::new(false)).collect();
        Parts { sends, marked, left: Cell::new(count), ready: Rc::default() }
    }
}

impl Partitioned {
    pub(crate) fn find(&self, id: RequestId) -> Option<Rc<Parts>> {
        self.known.borrow().iter().find(|(known, _)| *known == id).map(|(_, parts)| Rc::clone(parts))
    }

    pub(crate) fn insert(&self, id: RequestId, parts: Parts) {
        self.known.borrow_mut().push((id, Rc::new(parts)));
        self.live.set(self.known.borrow().len());
    }

    /// The request is started: no part is ready.
    #[inline]
    pub(crate) fn begin(&self, id: RequestId) {
        if self.live.get() == 0 {
            return;
        }
        if let Some(parts) = self.find(id) {
            parts.marked.iter().for_each(|mark| mark.set(false));
            parts.left.set(parts.marked.len());
            parts.ready.set(false);
        }
    }

    /// The program has freed it.
    pub(crate) fn forget(&self, id: RequestId) {
        if self.live.get() > 0 {
            self.known.borrow_mut().retain(|(known, _)| *known != id);
            self.live.set(self.known.borrow().len());
        }
    }
}
