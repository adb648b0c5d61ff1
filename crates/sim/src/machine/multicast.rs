//! Packets that routers copy: one leaves the source, and each link that lies on the ways of several destinations carries it once.
//!
//! ```text
//! Begin -> Fetch -> (Ready) -> Branch -> Branch … -> LandedAt, for each destination
//!                                  \-> Branch … -> LandedAt
//! ```
//!
//! A credit goes back when a packet is in the memories of all destinations. What holds for packets to one destination holds for copies, too: they
//! come in order, so a link knows by its own count how long the next one is.

use std::collections::VecDeque;

use super::motion::{Due, flits};
use super::{Event, Letter, Machine, Memory, Transfer};
use crate::chip::Place;
use crate::ddr::Layout;
use crate::flow::{Flow, Pieces};
use crate::topology::{Branch, Interfaces, Route};
use crate::{Rate, Time};

/// Where the packets of a transfer go that has several destinations.
pub(crate) struct Tree {
    branches: Vec<Branch>,
    /// What each branch has still to carry.
    carried: Vec<Pieces>,
    leaves: Vec<Leaf>,
    /// Packets that are not everywhere yet, oldest first: how many destinations have each, and when the last of these had it and its credit is back.
    under_way: VecDeque<(u16, Time)>,
    /// Packets that are everywhere.
    everywhere: u64,
    /// Destinations that have all of it.
    full: u16,
}

/// A destination.
struct Leaf {
    to: Place,
    way_back: Time,
    slowest: Rate,
    packets: u64,
    bytes: u64,
}

impl Tree {
    /// How many destinations there are.
    pub(crate) fn destinations(&self) -> u64 {
        self.leaves.len() as u64
    }

    /// Whether all destinations have all of it.
    pub(crate) fn is_full(&self) -> bool {
        usize::from(self.full) == self.leaves.len()
    }
}

impl Machine {
    /// Moves bytes over the data plane to the place of the transfer and to others, whose scratchpads they go into, by packets that routers copy. Each
    /// destination is told of by an [`Event::Landed`] of its own.
    ///
    /// # Panics
    ///
    /// If the chip has no multicast, a place is named twice or is the source, or the transfer goes to DDR.
    pub fn multicast(&mut self, at: Time, transfer: Transfer, others: &[Place], layout: Layout) {
        self.check_time(at);
        self.check_memory(transfer.from, transfer.from_memory);
        assert!(transfer.to_memory == Memory::Scratchpad, "a multicast goes to scratchpads");
        let to = self.destinations(transfer.from, transfer.to, others);
        let most = self.network.data.multicast.map_or(0, |multicast| multicast.destinations);
        assert!(to.len() <= usize::from(most), "{} destinations, at most {most}", to.len());
        self.trace.fold(transfer.token ^ transfer.bytes.rotate_left(32));
        let (branches, pairs) = self.topology.spread(transfer.from, &to);
        let interfaces = pairs[0];
        let leaves = to.iter().zip(pairs).map(|(to, pair)| self.leaf(*to, pair)).collect();
        let pieces = Pieces::new(transfer.bytes, transfer.rows);
        let carried = branches.iter().map(|_| pieces).collect();
        let tree = Tree { branches, carried, leaves, under_way: VecDeque::new(), everywhere: 0, full: 0 };
        let mut flow = Flow::new(transfer, layout, interfaces, self.network.credits);
        flow.tree = Some(Box::new(tree));
        let flow = self.flows.insert(flow);
        self.queue.push(at, transfer.from.0, Due::Begin { flow });
    }

    /// Sends a letter to several places, in one packet that routers copy. Each place is told of by an [`Event::Letter`] of its own.
    ///
    /// # Panics
    ///
    /// If the chip has no multicast of letters, or a place is named twice or is the source.
    pub fn multicast_letter(&mut self, at: Time, from: Place, to: &[Place], bytes: u32, token: u64) {
        self.check_time(at);
        let to = self.destinations(from, to[0], &to[1..]);
        let most = self.network.control.multicast.map_or(0, |multicast| multicast.destinations);
        assert!(to.len() <= usize::from(most), "{} destinations, at most {most}", to.len());
        self.trace.fold(token ^ u64::from(bytes).rotate_left(32));
        let flits = self.letter_flits(bytes);
        let (branches, _) = self.topology.spread(from, &to);
        let missing = to.len() as u16;
        let tree = LetterTree { branches, to, missing };
        let route = Route::default();
        // All links of a mesh, a torus or a crossbar are alike.
        let letter = Letter { from, to: from, token, flits, slowest: 0, route, tree: Some(Box::new(tree)) };
        let letter = self.letters.insert(letter);
        self.queue.push(at, from.0, Due::LetterBranch { letter, branch: 0 });
    }

    fn destinations(&self, from: Place, first: Place, others: &[Place]) -> Vec<Place> {
        let to: Vec<Place> = std::iter::once(first).chain(others.iter().copied()).collect();
        let mut once = to.clone();
        once.push(from);
        once.sort_unstable();
        once.dedup();
        assert!(once.len() == to.len() + 1, "a multicast goes once to each of several other places");
        to
    }

    fn leaf(&self, to: Place, pair: Interfaces) -> Leaf {
        let mut way = Vec::new();
        self.topology.route(pair, &mut way);
        let links = way.iter().map(|link| &self.links[usize::from(*link)]);
        let wires: Time = links.clone().map(|link| link.wire()).sum();
        let way_back = wires + (way.len() as u64 - 1) * self.network.data.router;
        Leaf {
            to,
            way_back,
            slowest: links.map(|link| link.flit()).max().unwrap_or_default(),
            packets: 0,
            bytes: 0,
        }
    }

    /// A packet's head is before a link of a tree.
    pub(super) fn branch(&mut self, flow: u32, branch: u16) {
        let multicast = self.network.data.multicast.unwrap_or_default();
        let Some(tree) = &mut self.flows.at(flow).tree else { unreachable!("only trees have branches") };
        let at = usize::from(branch);
        let payload = tree.carried[at].next(self.network.packet_payload).payload;
        let flits = flits(&self.network.data, payload);
        let Branch { link, ref onwards, ends_at } = tree.branches[at];
        let link = &mut self.links[usize::from(link)];
        self.meter.flits(self.now, flits);
        let copying = if onwards.len() > 1 { multicast.copy } else { 0 };
        let mut duration = link.duration(flits) + copying;
        if let Some(leaf) = ends_at {
            let leaf = &tree.leaves[usize::from(leaf)];
            duration = duration.max(self.ends[usize::from(leaf.to.0)].receive_per_byte.of(payload.into()));
        }
        let start = link.reserve(self.now, flits, duration);
        let next = start + link.wire() + self.network.data.router + copying;
        let spots = self.ends.len() as u16;
        for &branch in onwards {
            let spot = spots + tree.branches[usize::from(branch)].link;
            self.queue.push(next, spot, Due::Branch { flow, branch });
        }
        if let Some(leaf) = ends_at {
            let slowest = tree.leaves[usize::from(leaf)].slowest.of(flits);
            self.arrived_at(flow, leaf, payload, start + duration.max(slowest));
        }
        if branch == 0 {
            self.sent(flow, payload, start + duration);
        }
    }

    /// A packet is in the memory of one destination at `end`.
    fn arrived_at(&mut self, flow: u32, leaf: u16, payload: u16, end: Time) {
        let state = self.flows.at(flow);
        let (all, source) = (state.transfer.bytes, state.transfer.from.0);
        let Some(tree) = &mut state.tree else { unreachable!("only trees have leaves") };
        let here = &mut tree.leaves[usize::from(leaf)];
        let place = (here.packets - tree.everywhere) as usize;
        here.packets += 1;
        here.bytes += u64::from(payload);
        let (to, back) = (here.to.0, end + here.way_back);
        let is_last = here.bytes == all;
        if place == tree.under_way.len() {
            tree.under_way.push_back((0, 0));
        }
        let (copies, latest) = &mut tree.under_way[place];
        *copies += 1;
        *latest = back.max(*latest);
        if usize::from(*copies) == tree.leaves.len() {
            // Those of a destination come in order, so the oldest is the first that is everywhere.
            let (_, back) = tree.under_way.pop_front().expect("the packet");
            tree.everywhere += 1;
            if let Some(at) = state.credits.give_back(back) {
                self.queue.push(at, source, Due::Fetch { flow });
            }
        }
        if is_last {
            self.queue.push(end, to, Due::LandedAt { flow, leaf });
        }
    }

    /// All packets are in the memory of one destination.
    pub(super) fn landed_at(&mut self, flow: u32, leaf: u16) -> Event {
        let state = self.flows.at(flow);
        let token = state.transfer.token;
        let Some(tree) = &mut state.tree else { unreachable!("only trees have leaves") };
        tree.full += 1;
        let to = tree.leaves[usize::from(leaf)].to;
        if tree.is_full() {
            self.end_half(flow);
        }
        Event::Landed { to, token }
    }

    /// A letter's head is before a link of a tree.
    pub(super) fn letter_branch(&mut self, letter: u32, branch: u16) {
        let plane = self.network.control;
        let base = self.topology.links_of_a_plane();
        let state = self.letters.at(letter);
        let flits = u64::from(state.flits);
        let Some(tree) = &state.tree else { unreachable!("only trees have branches") };
        let Branch { link, ref onwards, ends_at } = tree.branches[usize::from(branch)];
        let link = &mut self.links[usize::from(base + link)];
        let copying =
            if onwards.len() > 1 { plane.multicast.map_or(0, |multicast| multicast.copy) } else { 0 };
        let duration = link.duration(flits) + copying;
        let start = link.reserve(self.now, flits, duration);
        let next = start + link.wire() + plane.router + copying;
        self.meter.flits(self.now, flits);
        let spots = self.ends.len() as u16 + base;
        for &branch in onwards {
            let spot = spots + tree.branches[usize::from(branch)].link;
            self.queue.push(next, spot, Due::LetterBranch { letter, branch });
        }
        if let Some(leaf) = ends_at {
            let to = tree.to[usize::from(leaf)];
            self.queue.push(start + duration, to.0, Due::LetterAt { letter, leaf });
        }
    }

    /// A letter is in the queue of one of its receivers.
    pub(super) fn letter_at(&mut self, letter: u32, leaf: u16) -> Event {
        let state = self.letters.at(letter);
        let (from, token) = (state.from, state.token);
        let Some(tree) = &mut state.tree else { unreachable!("only trees have leaves") };
        let to = tree.to[usize::from(leaf)];
        tree.missing -= 1;
        if tree.missing == 0 {
            self.letters.remove(letter);
        }
        Event::Letter { from, to, token }
    }
}

/// Where a letter goes that has several receivers.
pub(super) struct LetterTree {
    branches: Vec<Branch>,
    to: Vec<Place>,
    /// Receivers that do not have it.
    missing: u16,
}
