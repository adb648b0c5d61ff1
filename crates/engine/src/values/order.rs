//! What is in order, and putting it so. The standard library's sorts are faster, and each use of one is kilobytes of every copy of the library, for lists that are sorted when a communicator is
//! made, or when somebody looks for misuse.

/// Sorts numbers in place, in ascending order.
pub(crate) fn sort(numbers: &mut [u64]) {
    sort_by(numbers, &|a, b| a < b);
}

/// Sorts in place, by a heap: without memory, and never slower than n log n. What is equal comes in any order.
pub fn sort_by<T>(items: &mut [T], is_less: &dyn Fn(&T, &T) -> bool) {
    for root in (0..items.len() / 2).rev() {
        sink(items, root, is_less);
    }
    for last in (1..items.len()).rev() {
        items.swap(0, last);
        sink(&mut items[..last], 0, is_less);
    }
}

/// Lets an item go down in a heap with the greatest on top, until none below it is greater.
#[inline(never)]
fn sink<T>(heap: &mut [T], mut at: usize, is_less: &dyn Fn(&T, &T) -> bool) {
    loop {
        let mut greatest = 2 * at + 1;
        if greatest >= heap.len() {
            return;
        }
        if greatest + 1 < heap.len() && is_less(&heap[greatest], &heap[greatest + 1]) {
            greatest += 1;
        }
        if !is_less(&heap[at], &heap[greatest]) {
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
