//! Numbers in ascending order. The standard library's sorts are faster, and each use of one is kilobytes of every copy of the library, for lists of ranks
//! and colours that are sorted when a communicator is made.

/// Sorts in place, by a heap: without memory, and never slower than n log n.
pub(crate) fn sort(numbers: &mut [u64]) {
    for root in (0..numbers.len() / 2).rev() {
        sink(numbers, root);
    }
    for last in (1..numbers.len()).rev() {
        numbers.swap(0, last);
        sink(&mut numbers[..last], 0);
    }
}

/// Lets a number go down in a heap with the greatest on top, until none below it is greater.
fn sink(heap: &mut [u64], mut at: usize) {
    loop {
        let left = 2 * at + 1;
        let Some(greatest) = (left..heap.len().min(left + 2)).max_by_key(|child| heap[*child]) else {
            return;
        };
        if heap[greatest] <= heap[at] {
            return;
        }
        heap.swap(at, greatest);
        at = greatest;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_sorted(numbers: Vec<u64>) {
            let mut expected = numbers.clone();
            expected.sort_unstable();
            let mut sorted = numbers;
            super::sort(&mut sorted);
            prop_assert_eq!(sorted, expected);
        }
    }
}
