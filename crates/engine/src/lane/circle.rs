//! Who tells whom in a barrier of the world by signals: a tree of arrivals towards node 0, and the same tree back.
//!
//! Flat for all but large jobs, where signals go to one node at a time: a node raises 16 counters faster than a level of the tree takes. Where the network's multicast raises
//! those of many nodes at once, the tree follows the clusters instead: the nodes of one tell its first, these tell node 0, and it lets all of them go on by one signal.

use alloc::vec::Vec;
use core::ops::Range;

use fabric::{Fabric, Node};

/// Children of a node where every signal goes to one.
const CHILDREN: u32 = 16;

/// A node's place in the tree. Nodes are counted as members of the world: where a job came later its first is not node 0 of the fabric, but there is no multicast there.
pub(crate) enum Circle {
    /// By the nodes' numbers: what node and size of the world say.
    Numbers,
    /// By clusters.
    Clusters {
        /// Who is told that this node has arrived; none at node 0.
        parent: Option<u32>,
        /// The first nodes of the other clusters, at node 0.
        heads: Vec<Node>,
        /// The other nodes of this cluster, at its first.
        mates: Vec<u32>,
    },
}

impl Circle {
    /// The tree for `p` nodes.
    pub fn new(fabric: &dyn Fabric, p: u32) -> Circle {
        Circle::by_clusters(fabric, p).unwrap_or(Circle::Numbers)
    }

    fn by_clusters(fabric: &dyn Fabric, p: u32) -> Option<Circle> {
        let most = fabric.multicast()?.laws().most;
        let cluster = |node: u32| fabric.route(Node(node)).cluster;
        // Node 0's is the first.
        let mut heads: Vec<(u32, u32)> = Vec::new();
        for node in 0..p {
            let number = cluster(node);
            if heads.iter().all(|(known, _)| *known != number) {
                heads.push((number, node));
                if heads.len() > most + 1 {
                    return None;
                }
            }
        }
        // To one node alone a multicast is no quicker than a signal.
        if heads.len() < 3 {
            return None;
        }
        let me = fabric.me().0;
        let mine = cluster(me);
        let head = heads.iter().find(|(number, _)| *number == mine)?.1;
        let parent = if me == 0 { None } else { Some(if me == head { 0 } else { head }) };
        let is_head = me == head;
        let mates = (0..p).filter(|node| is_head && *node != me && cluster(*node) == mine).collect();
        let others = heads.iter().filter(|_| me == 0).map(|(_, head)| Node(*head));
        Some(Circle::Clusters { parent, heads: others.filter(|head| head.0 != 0).collect(), mates })
    }

    /// How many nodes tell this one, of `p`, that they have arrived.
    pub fn children(&self, me: u64, p: u64) -> u64 {
        match self {
            Circle::Numbers => numbered(me, p).count() as u64,
            Circle::Clusters { heads, mates, .. } => (heads.len() + mates.len()) as u64,
        }
    }

    /// Whom this node tells.
    pub fn parent(&self, me: u64) -> Option<u64> {
        match self {
            Circle::Numbers => me.checked_sub(1).map(|before| before / u64::from(CHILDREN)),
            Circle::Clusters { parent, .. } => parent.map(u64::from),
        }
    }

    /// Whom this node lets go on at once, by multicast.
    pub fn heads(&self) -> &[Node] {
        match self {
            Circle::Numbers => &[],
            Circle::Clusters { heads, .. } => heads,
        }
    }

    /// Tells each of the others that this node lets go on.
    pub fn each_other<E>(
        &self,
        me: u64,
        p: u64,
        mut tell: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Circle::Numbers => numbered(me, p).try_for_each(tell),
            Circle::Clusters { mates, .. } => mates.iter().try_for_each(|mate| tell((*mate).into())),
        }
    }
}

/// The children of a node by number.
fn numbered(me: u64, p: u64) -> Range<u64> {
    let first = (me * u64::from(CHILDREN) + 1).min(p);
    first..(first + u64::from(CHILDREN)).min(p)
}
