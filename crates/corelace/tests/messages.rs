//! Messages between two ranks, blocking: what arrives, in which order, and what is refused.

use corelace::{Any, Datatype, Error, ErrorKind};
use proptest::prelude::*;

const SIZES: [usize; 4] = [1, 2, 5, 16];

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Default, Datatype)]
struct Sample {
    time: f64,
    channel: [u16; 3],
    flags: u16,
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
struct Metres(f64);

#[repr(C, packed)]
#[derive(Clone, Copy, Datatype)]
struct Packed {
    kind: u8,
    value: u64,
}

#[test]
fn a_token_goes_around_the_ring() {
    for ranks in SIZES {
        let tokens = corelace::run(ranks, |world| {
            let (next, previous) = ((world.rank() + 1) % ranks, (world.rank() + ranks - 1) % ranks);
            if world.rank() == 0 {
                let mut token = 0u64;
                world.send_recv_replace(&mut token, next, 0, previous, 0).unwrap();
                token
            } else {
                let (token, status) = world.recv::<u64>(previous, 0).unwrap();
                assert_eq!((status.source(), status.tag(), status.bytes()), (Some(previous), Some(0), 8));
                world.send(&(token + world.rank() as u64), next, 0).unwrap();
                token
            }
        });
        assert_eq!(tokens.unwrap()[0], (ranks * (ranks - 1) / 2) as u64);
    }
}

#[test]
fn structs_arrive_as_they_were_sent() {
    corelace::run(2, |world| {
        let sample = Sample { time: 1.5, channel: [1, 2, 3], flags: 4 };
        if world.rank() == 0 {
            world.send(&[sample; 7][..], 1, 0).unwrap();
            world.send(&Metres(2.0), 1, 0).unwrap();
            world.send(&Packed { kind: 1, value: u64::MAX }, 1, 0).unwrap();
        } else {
            assert_eq!(world.recv_vec::<Sample>(0, 0).unwrap().0, [sample; 7]);
            assert_eq!(world.recv::<Metres>(0, 0).unwrap().0, Metres(2.0));
            let (packed, _) = world.recv::<Packed>(0, 0).unwrap();
            assert_eq!(({ packed.kind }, { packed.value }), (1, u64::MAX));
        }
    })
    .unwrap();
}

#[test]
fn messages_of_one_sender_arrive_in_order_and_tags_choose_among_them() {
    corelace::run(2, |world| {
        if world.rank() == 0 {
            for number in 0..100u32 {
                world.send(&number, 1, (number % 2) as i32).unwrap();
            }
        } else {
            for expected in (1..100).step_by(2) {
                assert_eq!(world.recv::<u32>(0, 1).unwrap().0, expected);
            }
            for expected in (0..100).step_by(2) {
                let (number, status) = world.recv::<u32>(Any, Any).unwrap();
                assert_eq!((number, status.tag()), (expected, Some(0)));
            }
        }
    })
    .unwrap();
}

#[test]
fn a_synchronous_send_waits_for_its_receive() {
    corelace::run(2, |world| {
        if world.rank() == 0 {
            world.send(&1u8, 1, 0).unwrap();
            world.synchronous_send(&2u8, 1, 1).unwrap();
            world.send(&3u8, 1, 2).unwrap();
        } else {
            let (_, _) = world.recv::<u8>(0, 0).unwrap();
            for _ in 0..50 {
                assert!(
                    world.try_probe(0, 2).unwrap().is_none(),
                    "sent before the receive of tag 1 was there"
                );
            }
            let (_, _) = world.recv::<u8>(0, 1).unwrap();
            let (_, _) = world.recv::<u8>(0, 2).unwrap();
        }
    })
    .unwrap();
}

#[test]
fn buffered_sends_need_room_and_never_wait() {
    corelace::run(2, |world| {
        let other = 1 - world.rank();
        let data = vec![world.rank() as u64; 50_000];
        let refused = world.buffered_send(&data[..], other, 0).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Buffer);
        world.attach_buffer(500_000).unwrap();
        world.buffered_send(&data[..], other, 0).unwrap();
        let more = vec![0u8; 600_000];
        assert_eq!(world.buffered_send(&more[..], other, 0).unwrap_err().kind(), ErrorKind::Buffer);
        assert_eq!(world.attach_buffer(1).unwrap_err().kind(), ErrorKind::Buffer);
        assert_eq!(world.recv_vec::<u64>(other, 0).unwrap().0, vec![other as u64; 50_000]);
        assert_eq!(world.detach_buffer().unwrap(), 500_000);
    })
    .unwrap();
}

#[test]
fn a_ready_send_meets_its_posted_receive() {
    corelace::run(2, |world| {
        let mut into = [0u16; 4];
        world.scope(|s| {
            let receiving = s.irecv(&mut into[..], 1 - world.rank(), 0)?;
            world.barrier()?;
            world.ready_send(&[world.rank() as u16; 4][..], 1 - world.rank(), 0)?;
            assert_eq!(*receiving.wait()?.0, [1 - world.rank() as u16; 4]);
            Ok(())
        })
    })
    .unwrap();
}

#[test]
fn nobody_is_sent_to_and_received_from_at_once() {
    corelace::run(1, |world| {
        world.send(&1.0, None, 0)?;
        let mut value = 7.0;
        let status = world.recv_into(&mut value, None, 0)?;
        assert_eq!((value, status.source(), status.tag(), status.bytes()), (7.0, None, None, 0));
        assert_eq!(world.recv::<f64>(None, 0)?.0, 0.0);
        assert!(world.recv_vec::<f64>(None, 0)?.0.is_empty());
        Ok::<(), Error>(())
    })
    .unwrap()
    .into_iter()
    .for_each(|result| result.unwrap());
}

#[test]
fn a_matched_message_can_be_received_by_its_holder_only() {
    corelace::run(2, |world| {
        if world.rank() == 0 {
            world.send(&1u32, 1, 0).unwrap();
            world.send(&2u32, 1, 0).unwrap();
        } else {
            world.probe(0, 0).unwrap();
            let first = world.try_matched_probe(0, 0).unwrap().expect("a probed message is there");
            assert_eq!(world.recv::<u32>(0, 0).unwrap().0, 2);
            let mut value = 0u32;
            first.recv_into(&mut value).unwrap();
            assert_eq!(value, 1);
        }
    })
    .unwrap();
}

#[test]
fn mistakes_are_errors_that_say_what_was_expected() {
    corelace::run(2, |world| {
        let texts = [
            world.send(&0u8, 2, 0).unwrap_err().to_string(),
            world.send(&0u8, usize::MAX, 0).unwrap_err().to_string(),
            world.recv::<u8>(5, 0).unwrap_err().to_string(),
            world.send(&0u8, 0, -1).unwrap_err().to_string(),
            world.broadcast(&mut 0u8, 3).unwrap_err().to_string(),
        ];
        assert_eq!(texts[0], "destination is 2, expected a rank from 0 to 1");
        assert!(texts[1].starts_with("destination is ") && texts[1].ends_with("expected a rank from 0 to 1"));
        assert_eq!(texts[2], "source is 5, expected a rank from 0 to 1");
        assert_eq!(texts[3], "tag is -1, expected 0 to 2147483647");
        assert_eq!(texts[4], "root is 3, expected a rank from 0 to 1");
    })
    .unwrap();
}

#[test]
fn a_message_of_the_wrong_length_is_an_error_and_the_next_one_arrives() {
    corelace::run(2, |world| {
        if world.rank() == 0 {
            world.send(&[1u8; 12][..], 1, 0).unwrap();
            world.send(&[1u8; 12][..], 1, 0).unwrap();
            world.send(&[1u8; 4][..], 1, 0).unwrap();
            world.send(&[9u8; 100_000][..], 1, 0).unwrap();
            world.send(&5u64, 1, 0).unwrap();
        } else {
            let error = world.recv::<u64>(0, 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Truncated);
            let error = world.recv_vec::<u64>(0, 0).unwrap_err();
            assert_eq!(
                error.to_string(),
                "the message from rank 0 with tag 0 has 12 bytes, expected a whole number of values of type u64 \
                 (8 bytes each)"
            );
            assert_eq!(world.recv::<u64>(0, 0).unwrap_err().kind(), ErrorKind::Length);
            assert_eq!(world.recv_into(&mut [0u8; 10][..], 0, 0).unwrap_err().kind(), ErrorKind::Truncated);
            assert_eq!(world.recv::<u64>(0, 0).unwrap().0, 5);
        }
    })
    .unwrap();
}

/// Sends `items` from rank 0 to rank 1 and gives what arrives, as a vector, in a buffer, and element by element.
fn travel<T: Datatype + Send + Sync>(items: &[T]) -> [Vec<T>; 3] {
    let received = corelace::run(2, |world| -> corelace::Result<Option<[Vec<T>; 3]>> {
        if world.rank() == 0 {
            world.send(items, 1, 0)?;
            world.synchronous_send(items, 1, 1)?;
            items.iter().try_for_each(|item| world.send(item, 1, 2))?;
            return Ok(None);
        }
        let (whole, _) = world.recv_vec::<T>(0, 0)?;
        let mut buffer = items.to_vec();
        buffer.reverse();
        let status = world.recv_into(&mut buffer[..], Any, 1)?;
        assert_eq!(status.count::<T>(), Some(items.len()));
        let singles: corelace::Result<Vec<T>> = items.iter().map(|_| Ok(world.recv::<T>(0, 2)?.0)).collect();
        Ok(Some([whole, buffer, singles?]))
    });
    received.unwrap().pop().unwrap().unwrap().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn bytes_survive_the_journey(items in proptest::collection::vec(any::<u8>(), 0..300)) {
        for received in travel(&items) {
            prop_assert_eq!(&received, &items);
        }
    }

    #[test]
    fn floats_survive_the_journey_bit_by_bit(items in proptest::collection::vec(any::<f64>(), 0..3000)) {
        let bits = |items: &[f64]| items.iter().map(|item| item.to_bits()).collect::<Vec<_>>();
        for received in travel(&items) {
            prop_assert_eq!(bits(&received), bits(&items));
        }
    }

    #[test]
    fn structs_survive_the_journey(
        items in proptest::collection::vec((-1e9f64..1e9, any::<[u16; 3]>(), any::<u16>()), 0..200)
    ) {
        let items: Vec<Sample> =
            items.into_iter().map(|(time, channel, flags)| Sample { time, channel, flags }).collect();
        for received in travel(&items) {
            prop_assert_eq!(&received, &items);
        }
    }
}
