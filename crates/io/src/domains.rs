//! Which rank stands for which part of a file in a collective call, and which part it holds at a time.
//!
//! The part of the file that all want together is cut into domains, one for each aggregator, at multiples of an alignment; a domain is gone
//! through in windows, one a round. All ranks compute the same from the same numbers.

use std::ops::Range;

/// The division of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Domains {
    span: Range<u64>,
    /// Where the first one would begin if it were as long as the others.
    origin: u64,
    /// Bytes of each but the outermost.
    each: u64,
    window: u64,
    /// How many.
    count: u64,
    members: u64,
}

impl Domains {
    /// The bytes of `span` among some of `members` ranks.
    pub fn new(span: Range<u64>, aggregators: u64, members: u64, (alignment, window): (u64, u64)) -> Domains {
        let (alignment, window) = (alignment.max(1), window.max(1));
        let origin = span.start / alignment * alignment;
        let total = span.end - origin;
        let each =
            total.div_ceil(aggregators.clamp(1, members)).div_ceil(alignment).saturating_mul(alignment);
        let each = each.max(1);
        Domains { origin, each, window: window.min(each), count: total.div_ceil(each), members, span }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The rank that stands for a domain: they are spread over all ranks.
    pub fn rank_of(&self, domain: u64) -> u32 {
        (domain * self.members / self.count) as u32
    }

    /// The domain that a rank stands for.
    pub fn of_rank(&self, rank: u32) -> Option<u64> {
        (0..self.count).find(|domain| self.rank_of(*domain) == rank)
    }

    /// The domain that a byte is in, and its end.
    pub fn at(&self, offset: u64) -> (u64, u64) {
        let domain = (offset - self.origin) / self.each;
        (domain, self.origin + (domain + 1) * self.each)
    }

    pub fn rounds(&self) -> u64 {
        self.each.div_ceil(self.window)
    }

    /// The round in which a byte of a domain is in its window.
    pub fn round_of(&self, domain: u64, offset: u64) -> u64 {
        (offset - self.origin - domain * self.each) / self.window
    }

    /// Most bytes of a window.
    pub fn window_bytes(&self) -> u64 {
        self.window
    }

    /// What is held of a domain in a round; nothing if the domain is shorter.
    pub fn window(&self, domain: u64, round: u64) -> Range<u64> {
        let (begin, end) = (self.origin + domain * self.each, self.origin + (domain + 1) * self.each);
        let start = (begin + round * self.window).clamp(self.span.start, self.span.end);
        let stop = (begin + (round + 1) * self.window).min(end).clamp(self.span.start, self.span.end);
        start..stop.max(start)
    }
}

/// Whether the parts of the file that ranks want lie in each other.
pub(crate) fn are_interleaved(mut parts: Vec<Range<u64>>) -> bool {
    parts.retain(|part| !part.is_empty());
    engine::sort_by(&mut parts, &|a, b| a.start < b.start);
    parts.windows(2).any(|pair| pair[1].start < pair[0].end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_behind_each_other_are_not_interleaved() {
        assert!(!are_interleaved(vec![10..20, 0..10, 5..5]));
        assert!(are_interleaved(vec![10..20, 0..11]));
    }

    proptest! {
        #[test]
        fn the_windows_of_all_domains_are_the_span_and_domains_begin_at_multiples_of_the_alignment(
            start in 0_u64..500,
            len in 1_u64..3000,
            aggregators in 0_u64..9,
            members in 1_u64..9,
            alignment in 1_u64..300,
            window in 1_u64..400,
        ) {
            let span = start..start + len;
            let domains = Domains::new(span.clone(), aggregators, members, (alignment, window));
            let mut at = span.start;
            for domain in 0..domains.count() {
                prop_assert!(u64::from(domains.rank_of(domain)) < members);
                prop_assert_eq!(domains.of_rank(domains.rank_of(domain)), Some(domain));
                for round in 0..domains.rounds() {
                    let part = domains.window(domain, round);
                    prop_assert!(part.end - part.start <= domains.window_bytes());
                    if part.is_empty() {
                        continue;
                    }
                    prop_assert_eq!(part.start, at);
                    prop_assert_eq!(domains.at(part.start).0, domain);
                    prop_assert_eq!(domains.round_of(domain, part.start), round);
                    prop_assert_eq!(domains.round_of(domain, part.end - 1), round);
                    prop_assert!(domains.at(part.start).1 >= part.end);
                    prop_assert!(domain == 0 || round > 0 || part.start.is_multiple_of(alignment));
                    at = part.end;
                }
            }
            prop_assert_eq!(at, span.end);
        }
    }
}
