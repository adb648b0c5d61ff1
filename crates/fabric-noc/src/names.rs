//! The name service of software that finds ranks by name (Nanvix, as LWMPI uses it).
//!
//! A central server on the first I/O subsystem knows which cluster a rank is on; a daemon in that cluster knows its port. The
//! first letter of a cluster to a rank elsewhere asks both, which is four messages; the cluster's own daemon keeps the answer.

use std::cell::RefCell;

use fabric::Node;
use sim::{Chip, Place};

use crate::board::Board;
use crate::cargo::{Cargo, LETTER_BYTES};

/// Who has been looked up by whom.
pub(crate) struct Names {
    server: Place,
    nodes: usize,
    /// By place, then by node: whether the place's daemon knows the node.
    known: RefCell<Vec<bool>>,
}

impl Names {
    pub(crate) fn new(chip: &Chip, nodes: u32) -> Names {
        let server = if chip.io.is_empty() { Place(0) } else { chip.io_place(0) };
        let nodes = nodes as usize;
        Names { server, nodes, known: RefCell::new(vec![false; usize::from(chip.places()) * nodes]) }
    }

    /// True if `place` has to ask for `node`; it will not have to again.
    fn learn(&self, place: Place, node: Node) -> bool {
        let entry = &mut self.known.borrow_mut()[usize::from(place.0) * self.nodes + node.0 as usize];
        !std::mem::replace(entry, true)
    }
}

impl Board {
    /// Finds out where `to` is, if the place of `me` does not know.
    pub(crate) fn look_up(&self, me: Node, to: Node) {
        let Some(names) = self.names() else { return };
        let (here, there) = {
            let state = self.state.borrow();
            (state.placement.place(me.0), state.placement.place(to.0))
        };
        if here != there && names.learn(here, to) {
            self.ask(me, here, names.server);
            self.ask(me, here, there);
        }
    }

    /// A question to the name server at a place, and its answer.
    fn ask(&self, me: Node, here: Place, server: Place) {
        if here == server {
            return;
        }
        {
            let mut state = self.state.borrow_mut();
            let costs = state.seat(me.0).costs;
            state.charge(me.0, costs.post);
            state.counts.name_letters += 2;
            state.call_kernel(me.0, costs.kernel);
            state.dispatch(me.0, server, LETTER_BYTES, Cargo::Question { asker: me.0, server });
        }
        self.block(me);
        let mut state = self.state.borrow_mut();
        let costs = state.seat(me.0).costs;
        state.charge(me.0, costs.take);
        state.call_kernel(me.0, costs.kernel);
    }
}
