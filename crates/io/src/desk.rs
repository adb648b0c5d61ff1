//! Accesses that are under way: they go on whenever their rank makes progress, whatever it waits for.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use engine::{Rank, RequestId, Service, Source, Status, TagMatch};
use fabric::Fabric;

use crate::collective::Access;
use crate::error::{Error, Result};

/// The accesses of one file.
pub(crate) struct Desk {
    rank: &'static Rank,
    tasks: RefCell<Vec<(RequestId, Access)>>,
    /// One of them waits for a thread.
    outside: Cell<bool>,
    me: Weak<Desk>,
}

impl Desk {
    pub fn new(rank: &'static Rank) -> Rc<Desk> {
        Rc::new_cyclic(|me| Desk {
            rank,
            tasks: RefCell::default(),
            outside: Cell::new(false),
            me: me.clone(),
        })
    }

    /// Begins an access; its request tells when it has ended.
    pub fn begin(&self, mut access: Access) -> Result<RequestId> {
        let id = self.rank.external_request()?;
        match access.advance() {
            None => {
                self.outside.set(self.outside.get() || access.awaits_outside());
                let is_first = self.tasks.borrow().is_empty();
                self.tasks.borrow_mut().push((id, access));
                if is_first && let Some(me) = self.me.upgrade() {
                    self.rank.offer_service(me);
                }
            }
            Some(outcome) => self.end(id, access, outcome),
        }
        Ok(id)
    }

    fn end(&self, id: RequestId, access: Access, outcome: Result<u64>) {
        if let Err(Error::Engine(_)) = &outcome {
            // Messages may still be under way into its memory.
            std::mem::forget(access);
        }
        let status = |bytes| Status { source: Source::Any, tag: TagMatch::Any, bytes, cancelled: false };
        self.rank.finish(id, outcome.map(status).map_err(Error::outside));
    }

    /// Waits until all have ended.
    pub fn drain(&self) -> Result {
        Ok(self.rank.wait_until(|_| self.tasks.borrow().is_empty())?)
    }
}

impl Service for Desk {
    fn serve(&self, _: &dyn Fabric) -> bool {
        let mut tasks = self.tasks.take();
        if tasks.is_empty() {
            return false;
        }
        let (mut served, mut outside, mut left) = (false, false, Vec::with_capacity(tasks.len()));
        for (id, mut access) in tasks.drain(..) {
            let before = access.steps();
            match access.advance() {
                None => {
                    outside |= access.awaits_outside();
                    served |= access.steps() != before;
                    left.push((id, access));
                }
                Some(outcome) => {
                    served = true;
                    self.end(id, access, outcome);
                }
            }
        }
        left.append(&mut self.tasks.borrow_mut());
        self.outside.set(outside);
        if left.is_empty()
            && let Some(me) = self.me.upgrade()
        {
            let me: Rc<dyn Service> = me;
            self.rank.end_service(&me);
        }
        self.tasks.replace(left);
        served
    }

    fn awaits_outside(&self) -> bool {
        self.outside.get()
    }
}
