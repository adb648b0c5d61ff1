//! The memory of other members, as one who stands for a domain reaches it: bytes that are to be written are fetched from there, and nobody has to send them.
//!
//! A member that has its stream in one piece tells where it begins. What belongs into a window is then one piece of that. Short runs of
//! another process come in one piece and are dealt out here, while they are in the cache; those in this rank's own reach are copied once.

use engine::Error;
use fabric::{Fabric, Key, Node};

use crate::memory::Room;
use crate::runs::Stripe;

/// Runs of so many bytes are worth a place in a list of the system's.
const LONG: u64 = 4 << 10;

/// Where the stream of a member lies.
#[derive(Debug)]
pub(crate) struct Origin {
    node: Node,
    key: Key,
    /// How far it is fetched.
    position: u64,
    /// It has addresses here.
    near: bool,
}

impl Origin {
    /// Bytes in a message: the position and the key.
    pub const BYTES: usize = 8 + Key::BYTES;

    /// As a member tells it.
    pub fn encode(key: &Key, position: u64) -> Vec<u8> {
        [&position.to_le_bytes()[..], &key.to_bytes()].concat()
    }

    /// From a message of a member.
    pub fn decode(fabric: &dyn Fabric, node: Node, bytes: &[u8]) -> Option<Origin> {
        let (position, key) = bytes.split_first_chunk::<8>()?;
        let near = node == fabric.me() || fabric.route(node).same_memory;
        Some(Origin { node, key: Key::from_bytes(key)?, position: u64::from_le_bytes(*position), near })
    }

    /// Fetches the next bytes of the stream to where the stripes of the file say, in a window that begins at `start`.
    pub fn fetch(
        &mut self,
        fabric: &dyn Fabric,
        stripes: &[Stripe],
        start: u64,
        window: &mut Room,
        staging: &mut Room,
    ) -> Result<(), Error> {
        let from = (self.node, &self.key);
        let bytes: u64 = stripes.iter().map(Stripe::bytes).sum();
        if self.near || stripes.iter().all(|stripe| stripe.len >= LONG) {
            for stripe in stripes {
                window.fetch(fabric, from, self.position, stripe, start)?;
                self.position += stripe.bytes();
            }
            return Ok(());
        }
        staging.grow(bytes as usize);
        let whole = Stripe { offset: 0, len: bytes, stride: 0, count: 1 };
        staging.fetch(fabric, from, self.position, &whole, 0)?;
        self.position += bytes;
        deal(&staging.bytes()[..bytes as usize], stripes, start, window);
        Ok(())
    }
}

/// Whether this rank reaches the memory of all members of a file, and in no modelled time: there, messages are what an access costs.
pub(crate) fn reaches_all(fabric: &dyn Fabric, mut members: impl Iterator<Item = Node>) -> bool {
    fabric.virtual_time().is_none()
        && members.all(|node| {
            let route = fabric.route(node);
            route.get && route.granularity == 1
        })
}

/// Copies bytes to where stripes say, in a window that begins at `start`.
fn deal(mut bytes: &[u8], stripes: &[Stripe], start: u64, window: &mut Room) {
    for stripe in stripes {
        let (mut at, len) = ((stripe.offset - start) as usize, stripe.len as usize);
        for _ in 0..stripe.count {
            let (run, rest) = bytes.split_at(len);
            window.part(at, len).copy_from_slice(run);
            (bytes, at) = (rest, at + stripe.stride as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use fabric::{Audience, Portal as _, Region};
    use fabric_local::{LocalFabric, NoHooks, Options, Outcome};

    use super::*;

    #[test]
    fn bytes_lie_where_stripes_say_whether_they_come_at_once_or_run_by_run() {
        let stripes = [
            Stripe { offset: 103, len: 2, stride: 5, count: 3 },
            Stripe { offset: 130, len: 4, stride: 0, count: 1 },
        ];
        let mut wanted = vec![0_u8; 40];
        for (byte, at) in (1..).zip([3, 4, 8, 9, 13, 14, 30, 31, 32, 33]) {
            wanted[at] = byte;
        }
        let outcomes = fabric_local::run_fibers(&Options::new(1), &NoHooks, &|local: LocalFabric| {
            let mut stream: Vec<u8> = vec![99, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
            // SAFETY: memory of this function, which fetches from it before it returns.
            let key = unsafe { local.expose(Region::host(stream.as_mut_ptr(), stream.len()), Audience::All) };
            for near in [true, false] {
                let told = Origin::encode(&key.expect("exposed"), 1);
                let told = Origin::decode(&local, local.me(), &told).expect("what was encoded");
                let mut origin = Origin { near, ..told };
                let (mut window, mut staging) = (Room::new(40), Room::new(0));
                origin.fetch(&local, &stripes, 100, &mut window, &mut staging).expect("fetched");
                assert_eq!(window.bytes(), wanted);
                assert_eq!(origin.position, 11);
            }
        });
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Ended(()))));
    }
}
