//! Any graph: the way with the fewest links, and of these the one whose links stand first in the list, worked out once for every pair.

use super::LinkId;
use crate::chip::Link;

/// Where a way ends.
const NOWHERE: LinkId = LinkId::MAX;

/// Routers and the next link from each to each.
pub(crate) struct Graph {
    routers: usize,
    /// The first link between routers.
    first: LinkId,
    /// By router and destination: the link to take, counted from `first`.
    next: Vec<LinkId>,
    /// The router behind each link.
    behind: Vec<u16>,
}

impl Graph {
    /// Links are numbered from `first` on, in the order of the list.
    pub(crate) fn new(routers: u16, links: &[Link], first: LinkId) -> Graph {
        let routers = usize::from(routers);
        let mut graph = Graph {
            routers,
            first,
            next: vec![NOWHERE; routers * routers],
            behind: links.iter().map(|link| link.to).collect(),
        };
        for destination in 0..routers {
            graph.lead_to(destination, links);
        }
        graph
    }

    /// Finds the way from every router to one, going backwards from there.
    fn lead_to(&mut self, destination: usize, links: &[Link]) {
        let mut distance = vec![None; self.routers];
        distance[destination] = Some(0);
        for reached in 0.. {
            let mut further = false;
            for (index, link) in (0..).zip(links) {
                let from = usize::from(link.from);
                if distance[usize::from(link.to)] == Some(reached) && distance[from].is_none() {
                    distance[from] = Some(reached + 1);
                    self.next[from * self.routers + destination] = index;
                    further = true;
                }
            }
            if !further {
                return;
            }
        }
    }

    pub(super) fn distance(&self, from: u16, to: u16) -> u32 {
        self.way(from, to).count() as u32
    }

    pub(super) fn walk(&self, from: u16, to: u16, route: &mut Vec<LinkId>) {
        route.extend(self.way(from, to).map(|link| self.first + link));
    }

    /// The links of a way if there is one, otherwise as far as it goes.
    fn way(&self, from: u16, to: u16) -> impl Iterator<Item = LinkId> {
        let mut at = usize::from(from);
        std::iter::from_fn(move || {
            let link = self.next[at * self.routers + usize::from(to)];
            at = usize::from(*self.behind.get(usize::from(link))?);
            Some(link)
        })
    }

    /// The first two of the first `count` routers between which there is no way, or one with more than `longest` links.
    pub(crate) fn too_far(&self, count: u16, longest: u32) -> Option<(u16, u16)> {
        let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        pairs.filter(|(from, to)| from != to).find(|(from, to)| {
            let links = self.distance(*from, *to);
            links == 0 || links > longest
        })
    }
}
