//! The union of the ways from one place to several: the tree along which routers copy packets.
//!
//! It is a tree where ways that have parted never meet again, which a chip's description makes sure of (`chip::multicast`).

use super::{Interfaces, LinkId, Topology};
use crate::chip::Place;

/// A link of a tree.
pub(crate) struct Branch {
    pub(crate) link: LinkId,
    /// The links that go on from its end.
    pub(crate) onwards: Vec<u16>,
    /// The destination, by number, whose interface it is.
    pub(crate) ends_at: Option<u16>,
}

impl Topology {
    /// The tree from one place to all the others, the interface of the source first; and the interfaces of the way to each. A source with several interfaces
    /// uses the one that is nearest to all destinations together.
    pub(crate) fn spread(&self, from: Place, to: &[Place]) -> (Vec<Branch>, Vec<Interfaces>) {
        let nearest = |source: u16, to: Place| {
            let pairs = self.interfaces_of(to).map(|destination| Interfaces { source, destination });
            pairs.min_by_key(|pair| self.distance(*pair)).expect("a place has an interface")
        };
        let far = |source: &u16| to.iter().map(|to| self.distance(nearest(*source, *to))).sum::<u32>();
        let source = self.interfaces_of(from).min_by_key(far).expect("a place has an interface");
        let pairs: Vec<Interfaces> = to.iter().map(|to| nearest(source, *to)).collect();
        let mut tree = vec![Branch { link: 2 * source, onwards: Vec::new(), ends_at: None }];
        let mut way = Vec::new();
        for (number, pair) in pairs.iter().enumerate() {
            self.route(*pair, &mut way);
            let mut at = 0;
            for &link in &way[1..] {
                let known = tree[at].onwards.iter().find(|branch| tree[usize::from(**branch)].link == link);
                at = known.copied().map_or_else(
                    || {
                        let next = tree.len();
                        tree[at].onwards.push(next as u16);
                        tree.push(Branch { link, onwards: Vec::new(), ends_at: None });
                        next
                    },
                    usize::from,
                );
            }
            tree[at].ends_at = Some(number as u16);
        }
        (tree, pairs)
    }
}
