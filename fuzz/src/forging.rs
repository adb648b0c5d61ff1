//! A fabric that damages the letters of one rank on their way, as that rank's damaged memory would.
//!
//! Only what a real peer could do is done: letters are changed, repeated, left out; portal keys that name no exposed memory are
//! refused, as the kernel refuses addresses of no process. That a rank never uses more than its own memory is left to the
//! engine's own assertions, which are on in the profiles that this is built in.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use fabric::*;
use fabric_local::LocalFabric;

/// The rank whose letters are damaged.
pub const FORGER: Node = Node(1);

/// Rounds in which every other rank has run and nothing has come of it.
const PATIENCE: u32 = 2000;

/// What a rank is unwound with whose letters a rank does not take that has failed before: in a real job it would have been
/// ended with that one.
pub struct Forsaken;

thread_local! {
    static FORGERY: RefCell<Forgery> = RefCell::default();
}

/// What all ranks of a job share: they are fibers of one thread.
#[derive(Default)]
struct Forgery {
    script: Vec<u8>,
    at: usize,
    history: Vec<(Header, Vec<u8>)>,
    exposed: HashMap<[u64; 4], usize>,
}

/// Begins a job whose damage follows `script`, a byte or a few a letter; letters after its end are left alone.
pub fn begin(script: &[u8]) {
    FORGERY.set(Forgery { script: script.to_vec(), ..Forgery::default() });
}

impl Forgery {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.script.get(self.at).copied();
        self.at += 1;
        byte
    }

    fn number(&mut self) -> u64 {
        let byte = self.byte().unwrap_or(0);
        let pick = self.byte().unwrap_or(0);
        match pick % 8 {
            0 => u64::from(byte),
            1 => u64::from(byte) << 32,
            2 => u64::MAX - u64::from(byte),
            3 => 1 << (byte % 64),
            4 => (1u64 << 32 | u64::from(byte)) << (byte % 3),
            // A word of another letter: most likely a request, a key or a length that exists.
            _ => match self.history.len() {
                0 => 0,
                letters => {
                    let (header, payload) = &self.history[usize::from(byte) % letters];
                    match (usize::from(pick) / 8) % 9 {
                        word @ 0..3 => header[word],
                        word => payload
                            .chunks_exact(8)
                            .nth(word - 3)
                            .map_or(0, |chunk| u64::from_le_bytes(chunk.try_into().expect("eight bytes"))),
                    }
                }
            },
        }
    }

    /// What arrives instead of a letter.
    fn forged(&mut self, header: &Header, payload: &[u8]) -> Vec<(Header, Vec<u8>)> {
        let original = (*header, payload.to_vec());
        self.history.push(original.clone());
        let (mut header, mut payload) = original.clone();
        match self.byte().map(|byte| byte % 16) {
            None | Some(0..6) => {}
            Some(6) => header[0] = header[0] & !0xff | u64::from(self.byte().unwrap_or(0) % 21),
            Some(7) => header[0] = self.number() << 32 | header[0] & 0xff,
            Some(8) => header[1] = self.number(),
            Some(9) => header[2] = self.number(),
            Some(10) => {
                let word = usize::from(self.byte().unwrap_or(0)) % 6 * 8;
                let value = self.number().to_le_bytes();
                if let Some(place) = payload.get_mut(word..word + 8) {
                    place.copy_from_slice(&value);
                }
            }
            Some(11) => payload.truncate(usize::from(self.byte().unwrap_or(0))),
            Some(12) => {
                let length = (payload.len() + usize::from(self.byte().unwrap_or(0))).min(96);
                payload.resize(length.max(payload.len()), 0xa5);
            }
            Some(13) => return vec![original.clone(), original],
            Some(14) => {
                let index = usize::from(self.byte().unwrap_or(0)) % self.history.len();
                return vec![self.history[index].clone(), original];
            }
            _ => return Vec::new(),
        }
        vec![(header, payload)]
    }

    /// The engine's own keys and nothing else.
    fn is_exposed(&self, key: &Key) -> bool {
        self.exposed.get(&key.0).is_some_and(|times| *times > 0)
    }
}

/// How the fabric of a job behaves.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    pub put: bool,
    pub get: bool,
    /// Transfers are done only after so many questions.
    pub slow: u32,
}

/// A rank's end.
pub struct Forging {
    inner: LocalFabric,
    habits: Habits,
    route: Route,
    under_way: RefCell<Vec<(u64, u32)>>,
    next_ticket: Cell<u64>,
}

impl Forging {
    pub fn new(inner: LocalFabric, habits: Habits) -> Forging {
        let Habits { put, get, .. } = habits;
        let usual = *inner.route(inner.me());
        let route =
            Route { letter_max: 96, letter_bulk: 96, put, get, same_memory: false, notice: false, ..usual };
        Forging { inner, habits, route, under_way: RefCell::default(), next_ticket: Cell::new(1) }
    }

    fn ticket(&self) -> Ticket {
        if self.habits.slow == 0 {
            return Ticket::DONE;
        }
        let ticket = self.next_ticket.replace(self.next_ticket.get() + 1);
        self.under_way.borrow_mut().push((ticket, self.habits.slow));
        Ticket(ticket)
    }
}

impl Mailbox for Forging {
    fn try_post(&self, to: Node, header: &Header, payload: &[u8]) -> Result<(), PostError> {
        self.inner.try_post(to, header, payload)
    }

    fn poll(&self, limit: usize, sink: &mut dyn FnMut(Node, &Header, &[u8])) -> usize {
        let healthy = self.inner.me() != FORGER;
        self.inner.poll(limit, &mut |from, header, payload| {
            if from != FORGER || !healthy {
                return sink(from, header, payload);
            }
            let letters = FORGERY.with_borrow_mut(|forgery| forgery.forged(header, payload));
            letters.iter().for_each(|(header, payload)| sink(from, header, payload));
        })
    }
}

impl Portal for Forging {
    unsafe fn expose(&self, region: Region, to: Audience) -> Result<Key, PortalError> {
        // SAFETY: passed on.
        let key = unsafe { self.inner.expose(region, to) }?;
        FORGERY.with_borrow_mut(|forgery| *forgery.exposed.entry(key.0).or_default() += 1);
        Ok(key)
    }

    fn withdraw(&self, key: Key) {
        FORGERY.with_borrow_mut(|forgery| {
            let times = forgery.exposed.entry(key.0).or_default();
            assert!(*times > 0, "withdrawn without having been exposed");
            *times -= 1;
        });
        self.inner.withdraw(key);
    }

    unsafe fn put(
        &self,
        peer: Node,
        local: *const u8,
        local_shape: &Shape,
        key: &Key,
        remote_shape: &Shape,
        delivery: &Delivery,
    ) -> Result<Ticket, PortalError> {
        assert!(self.habits.put, "put although the route says no");
        if !FORGERY.with_borrow(|forgery| forgery.is_exposed(key)) {
            return Err(PortalError::PeerMemory);
        }
        // SAFETY: passed on; the memory behind the key is exposed now.
        unsafe { self.inner.put(peer, local, local_shape, key, remote_shape, delivery) }?;
        Ok(self.ticket())
    }

    unsafe fn get(
        &self,
        peer: Node,
        local: *mut u8,
        local_shape: &Shape,
        key: &Key,
        remote_shape: &Shape,
        mover: Mover,
    ) -> Result<Ticket, PortalError> {
        assert!(self.habits.get, "get although the route says no");
        if !FORGERY.with_borrow(|forgery| forgery.is_exposed(key)) {
            return Err(PortalError::PeerMemory);
        }
        // SAFETY: passed on; the memory behind the key is exposed now.
        unsafe { self.inner.get(peer, local, local_shape, key, remote_shape, mover) }?;
        Ok(self.ticket())
    }

    fn done(&self, ticket: Ticket) -> Result<bool, PortalError> {
        let mut under_way = self.under_way.borrow_mut();
        let Some(at) = under_way.iter().position(|(number, _)| *number == ticket.0) else { return Ok(true) };
        under_way[at].1 = under_way[at].1.saturating_sub(1);
        let done = under_way[at].1 == 0;
        if done {
            under_way.swap_remove(at);
        }
        Ok(done)
    }
}

impl Signal for Forging {
    fn raise(&self, to: Node, lane: Lane) -> Result<(), Lost> {
        self.inner.raise(to, lane)
    }

    fn raised(&self, lane: Lane) -> u64 {
        self.inner.raised(lane)
    }

    fn open(&self, name: u64) -> bool {
        self.inner.open(name)
    }

    fn claim(&self, owner: Node, name: u64) -> bool {
        self.inner.claim(owner, name)
    }

    fn is_open(&self, owner: Node, name: u64) -> bool {
        self.inner.is_open(owner, name)
    }
}

impl Clock for Forging {
    fn now(&self) -> u64 {
        self.inner.now()
    }
}

impl Park for Forging {
    fn bide(&self, rounds: u32, idle: Idle) -> Option<Woke> {
        self.inner.bide(rounds, idle)
    }

    fn arm(&self) -> Armed {
        self.inner.arm()
    }

    fn pending(&self) -> bool {
        self.inner.pending()
    }

    fn sleep(&self, armed: Armed, until: Option<u64>) -> Woke {
        self.inner.sleep(armed, until)
    }

    fn disarm(&self, armed: Armed) {
        self.inner.disarm(armed);
    }

    fn park(&self, rounds: u32, idle: Idle) -> Woke {
        if rounds > PATIENCE {
            std::panic::resume_unwind(Box::new(Forsaken));
        }
        self.inner.park(rounds, idle)
    }
}

impl Memory for Forging {
    fn budget(&self) -> &Budget {
        self.inner.budget()
    }
}

impl Fabric for Forging {
    fn me(&self) -> Node {
        self.inner.me()
    }

    fn nodes(&self) -> u32 {
        self.inner.nodes()
    }

    fn caps(&self) -> &Caps {
        self.inner.caps()
    }

    fn route(&self, _: Node) -> &Route {
        &self.route
    }
}
