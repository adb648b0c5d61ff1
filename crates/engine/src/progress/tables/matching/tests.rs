//! The indices against a model that keeps plain lists and searches them from the front.

use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;
use std::time::Instant;

fn envelope(context: u32, source: u32, tag: i32) -> Envelope {
    Envelope { context: ContextId(context), source, tag }
}

#[test]
fn a_message_goes_to_the_receive_that_was_posted_first() {
    let mut posted = Posted::default();
    let exact = Pattern { context: ContextId(0), source: Some(3), tag: Some(5) };
    posted.push(Pattern { context: ContextId(0), source: None, tag: Some(5) }, 1);
    assert!(!posted.is_next(&exact), "a wildcard is ahead");
    posted.push(exact, 2);
    assert_eq!(posted.take(&envelope(0, 3, 5)), Some(1));
    assert!(!posted.is_next(&exact), "another of the same source and tag is ahead");
    assert!(posted.is_next(&Pattern { tag: Some(6), ..exact }));
    assert_eq!(posted.take(&envelope(0, 3, 5)), Some(2));
    assert!(posted.is_next(&exact));
    assert_eq!(posted.take(&envelope(0, 3, 5)), None);
}

#[test]
fn a_removed_receive_is_not_matched() {
    let mut posted = Posted::default();
    let exact = Pattern { context: ContextId(0), source: Some(3), tag: Some(5) };
    posted.push(exact, 1);
    let middle = posted.push(exact, 2);
    posted.push(exact, 3);
    assert_eq!(posted.remove(middle), 2);
    assert_eq!(posted.take(&envelope(0, 3, 5)), Some(1));
    assert_eq!(posted.take(&envelope(0, 3, 5)), Some(3));
}

#[test]
fn a_million_waiting_receives_do_not_slow_the_next_one() {
    let cost = |waiting: u64| {
        let mut posted = Posted::default();
        for n in 0..waiting {
            posted.push(Pattern { context: ContextId(0), source: Some(1), tag: Some(n as i32) }, n);
        }
        let start = Instant::now();
        for n in 0..1000 {
            posted.push(Pattern { context: ContextId(0), source: Some(2), tag: Some(7) }, n);
            assert_eq!(posted.take(&envelope(0, 2, 7)), Some(n));
        }
        start.elapsed()
    };
    // The best of several: others use the processor, too.
    let best = |waiting| (0..5).map(|_| cost(waiting)).min().unwrap();
    let (few, many) = (best(1000), best(1_000_000));
    // A linear search would be a thousand times slower; a cold cache is allowed.
    assert!(many < few * 50, "{few:?} with a thousand waiting, {many:?} with a million");
}

#[test]
fn a_hundred_thousand_waiting_messages_slow_no_wildcard() {
    let cost = |waiting: u64, asks: &dyn Fn(&mut Unexpected, i32)| {
        let mut unexpected = Unexpected::default();
        for n in 0..waiting {
            unexpected.push(&envelope(0, (n % 7) as u32, n as i32), n);
        }
        asks(&mut unexpected, waiting as i32);
        let start = Instant::now();
        for n in 0..500 {
            asks(&mut unexpected, waiting as i32 - n);
        }
        start.elapsed()
    };
    let wild = |source, tag| Pattern { context: ContextId(0), source, tag };
    let takes = |unexpected: &mut Unexpected, n: i32| _ = unexpected.take(&wild(None, Some(n - 1)));
    let misses = |unexpected: &mut Unexpected, _: i32| {
        assert_eq!(unexpected.find(&wild(None, Some(i32::MAX))), None);
        assert_eq!(unexpected.find(&wild(Some(99), None)), None);
        assert_eq!(unexpected.find(&Pattern { context: ContextId(8), ..wild(None, None) }), None);
    };
    for asks in [&takes as &dyn Fn(&mut Unexpected, i32), &misses] {
        let best = |waiting| (0..5).map(|_| cost(waiting, asks)).min().unwrap();
        let (few, many) = (best(1000), best(100_000));
        assert!(many < few * 50, "{few:?} with a thousand waiting, {many:?} with a hundred thousand");
    }
}

#[derive(Clone, Debug)]
enum Event {
    Post(Option<u32>, Option<i32>, u32),
    Arrive(u32, i32, u32),
}

fn event() -> impl Strategy<Value = Event> {
    let source = 0u32..3;
    let tag = 0i32..3;
    let context = 0u32..2;
    prop_oneof![
        2 => (proptest::option::of(source.clone()), proptest::option::of(tag.clone()), context.clone())
            .prop_map(|(s, t, c)| Event::Post(s, t, c)),
        3 => (source, tag, context).prop_map(|(s, t, c)| Event::Arrive(s, t, c)),
    ]
}

proptest! {
    #[test]
    fn matching_agrees_with_lists_searched_from_the_front(events in proptest::collection::vec(event(), 0..400)) {
        let mut posted = Posted::default();
        let mut unexpected = Unexpected::default();
        let mut model_posted: Vec<(Pattern, u64)> = Vec::new();
        let mut model_unexpected: Vec<(Envelope, u64)> = Vec::new();
        for (id, event) in events.into_iter().enumerate() {
            let id = id as u64 + 1;
            match event {
                Event::Post(source, tag, context) => {
                    let pattern = Pattern { context: ContextId(context), source, tag };
                    let expected = model_unexpected.iter().position(|(e, _)| pattern.fits(e));
                    let found = unexpected.take(&pattern);
                    prop_assert_eq!(found, expected.map(|at| model_unexpected.remove(at).1));
                    if found.is_none() {
                        posted.push(pattern, id);
                        model_posted.push((pattern, id));
                    }
                }
                Event::Arrive(source, tag, context) => {
                    let message = envelope(context, source, tag);
                    let expected = model_posted.iter().position(|(p, _)| p.fits(&message));
                    let found = posted.take(&message);
                    prop_assert_eq!(found, expected.map(|at| model_posted.remove(at).1));
                    if found.is_none() {
                        unexpected.push(&message, id);
                        model_unexpected.push((message, id));
                    }
                }
            }
        }
        prop_assert_eq!(unexpected.is_empty(), model_unexpected.is_empty());
    }
}
