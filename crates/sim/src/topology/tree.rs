//! Fat tree: levels of switches, each switch as wide upwards as downwards (a k-ary n-tree).
//!
//! Switches of a level are numbered in the base of the arity; one of level `l` has links to those of level `l + 1` whose numbers differ
//! from its own in digit `l` at most. A way goes up to the first level that source and destination have in common and down again. Upwards
//! the digits of the destination decide, so that ways to different destinations spread over the links and each has always the same.

use super::LinkId;
use crate::chip::{Place, Position};
use crate::link::Node;

/// Switches in levels, places at those of level 0.
pub(super) struct Tree {
    arity: u32,
    /// Switches of a level.
    width: u32,
    /// The first link between switches: upwards and downwards in turn, by level, lower switch and digit.
    first: LinkId,
}

impl Tree {
    pub(super) fn new(arity: u16, levels: u16, links: &mut Vec<(Node, Node)>) -> Tree {
        let arity = u32::from(arity);
        let tree = Tree { arity, width: arity.pow(u32::from(levels) - 1), first: links.len() as LinkId };
        let switch = |number: u32, level: u16| Node::Router(Position { x: number as u16, y: level });
        for level in 0..levels - 1 {
            for lower in 0..tree.width {
                for digit in 0..arity {
                    let upper = tree.with_digit(lower, level.into(), digit);
                    links.push((switch(lower, level), switch(upper, level + 1)));
                    links.push((switch(upper, level + 1), switch(lower, level)));
                }
            }
        }
        tree
    }

    pub(super) fn distance(&self, from: Position, to: Position) -> u32 {
        2 * self.top(from, to)
    }

    /// The way between two switches of level 0, to a place at the second.
    pub(super) fn walk(&self, from: Position, to: Position, place: Place, route: &mut Vec<LinkId>) {
        let top = self.top(from, to);
        let (mut at, to, place) = (u32::from(from.x), u32::from(to.x), u32::from(place.0));
        for level in 0..top {
            let digit = self.digit(place, level);
            route.push(self.link(level, at, digit));
            at = self.with_digit(at, level, digit);
        }
        for level in (0..top).rev() {
            let (upper, lower) = (self.digit(at, level), self.with_digit(at, level, self.digit(to, level)));
            route.push(self.link(level, lower, upper) + 1);
            at = lower;
        }
    }

    /// The level where the ways up from two switches of level 0 meet.
    fn top(&self, from: Position, to: Position) -> u32 {
        let (mut from, mut to, mut level) = (u32::from(from.x), u32::from(to.x), 0);
        while from != to {
            (from, to, level) = (from / self.arity, to / self.arity, level + 1);
        }
        level
    }

    /// The link up from a switch; the one after it comes down.
    fn link(&self, level: u32, lower: u32, digit: u32) -> LinkId {
        self.first + (2 * ((level * self.width + lower) * self.arity + digit)) as LinkId
    }

    fn digit(&self, number: u32, level: u32) -> u32 {
        number / self.arity.pow(level) % self.arity
    }

    fn with_digit(&self, number: u32, level: u32, digit: u32) -> u32 {
        number + digit * self.arity.pow(level) - self.digit(number, level) * self.arity.pow(level)
    }
}
