//! Memory of the program as a stream of bytes that a file has or gets: the bytes of its elements one after the other, or what a conversion makes of
//! them (MPI section 14.5).

use engine::datatype::Basic;
use engine::{Datatype, RecvBuffer, SendBuffer};
use fabric::{Audience, Fabric, Key, Mover, Node, PortalError, Region, Shape};

use crate::error::Result;
use crate::runs::Stripe;

/// What is written.
#[derive(Clone)]
pub struct Source {
    buffer: SendBuffer,
    /// Bytes of the elements in the program's memory.
    native: u64,
}

impl Source {
    /// Elements as they lie in memory.
    pub fn native(buffer: SendBuffer) -> Source {
        Source { native: buffer.bytes(), buffer }
    }

    /// What a conversion has made of elements that have so many bytes in memory.
    pub fn converted(bytes: Vec<u8>, native: u64) -> Source {
        Source { buffer: SendBuffer::owned(bytes), native }
    }

    /// Bytes in the file.
    pub fn bytes(&self) -> u64 {
        self.buffer.bytes()
    }

    /// Bytes in the program's memory of what was written.
    pub(crate) fn native_bytes(&self, written: u64) -> u64 {
        if written == self.bytes() { self.native } else { written }
    }

    /// A part of the stream, in one piece: of the program's memory itself, if it lies so there.
    pub(crate) fn part(&self, from: u64, len: u64) -> SendBuffer {
        if !self.buffer.datatype().layout().is_contiguous() {
            let mut bytes = vec![0; len as usize];
            self.buffer.pack(from, &mut bytes);
            return SendBuffer::owned(bytes);
        }
        let whole = self.whole();
        let start = whole.map_or(std::ptr::null(), |whole| whole[from as usize..].as_ptr());
        // SAFETY: a part of the buffer's memory, with the promise that came with it: until the operation that it was given to is complete, which keeps the
        // whole buffer.
        unsafe { SendBuffer::new(start, len, &Datatype::basic(Basic::Byte)) }
    }

    /// The stream, if it lies in one piece.
    fn whole(&self) -> Option<&[u8]> {
        let len = self.bytes() as usize;
        if len == 0 || !self.buffer.datatype().layout().is_contiguous() {
            return None;
        }
        // SAFETY: the promise that came with the buffer: readable and not written until the operation is complete; contiguous from its base on.
        Some(unsafe { std::slice::from_raw_parts(self.buffer.base(), len) })
    }

    /// Whether the stream lies in one piece, or there is none.
    pub(crate) fn is_in_one_piece(&self) -> bool {
        self.bytes() == 0 || self.whole().is_some()
    }

    /// Lets the others get the stream, which must lie in one piece, until it is withdrawn.
    pub(crate) fn expose(&self, fabric: &dyn Fabric) -> std::result::Result<Key, PortalError> {
        let (base, len) = (self.buffer.base().cast_mut(), self.bytes() as usize);
        // SAFETY: the promise that came with the buffer: readable until the operation is complete, which comes after the others have said that they need it
        // no more.
        unsafe { fabric.expose(Region { read_only: true, ..Region::host(base, len) }, Audience::All) }
    }

    /// The stream in one piece, if need be in a copy, at an address that another thread may read from.
    pub(crate) fn lent(&self) -> Lent {
        match self.whole() {
            Some(whole) => Lent::Theirs(whole.as_ptr().cast_mut(), whole.len()),
            None => {
                let mut bytes = vec![0; self.bytes() as usize];
                self.buffer.pack(0, &mut bytes);
                Lent::Ours(bytes)
            }
        }
    }

    /// Calls `each` with the stream in pieces, and where each begins.
    pub(crate) fn pieces(&self, most: usize, mut each: impl FnMut(u64, &[u8]) -> Result) -> Result {
        if let Some(whole) = self.whole() {
            return each(0, whole);
        }
        let (mut at, bytes) = (0, self.bytes());
        let mut room = vec![0; most.min(bytes as usize)];
        while at < bytes {
            let len = ((bytes - at) as usize).min(most);
            self.buffer.pack(at, &mut room[..len]);
            each(at, &room[..len])?;
            at += len as u64;
        }
        Ok(())
    }
}

/// What is read.
pub struct Sink {
    place: Place,
    bytes: u64,
    /// Bytes of the elements in the program's memory.
    native: u64,
}

enum Place {
    Native(RecvBuffer),
    Converted { room: Vec<u8>, take: Take },
}

/// Takes the bytes of a file that a conversion is for, as many as there were; how many bytes they are in the program's memory.
type Take = Box<dyn FnOnce(&[u8]) -> Result<u64>>;

impl Sink {
    /// Room for elements as they lie in memory.
    pub fn native(buffer: RecvBuffer) -> Sink {
        Sink { bytes: buffer.bytes(), native: buffer.bytes(), place: Place::Native(buffer) }
    }

    /// Room for so many bytes of the file, of which `take` makes so many in memory.
    pub fn converted(bytes: u64, native: u64, take: impl FnOnce(&[u8]) -> Result<u64> + 'static) -> Sink {
        let place = Place::Converted { room: vec![0; bytes as usize], take: Box::new(take) };
        Sink { bytes, native, place }
    }

    /// Room for elements that are in the external representation in the file.
    pub fn external(buffer: RecvBuffer) -> Sink {
        let bytes = buffer.count() * buffer.datatype().map().external_bytes();
        Sink::converted(bytes, buffer.bytes(), move |found| Ok(buffer.unpack_external(found)))
    }

    /// Bytes in the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn native_bytes(&self) -> u64 {
        self.native
    }

    /// The room in one piece, if it is.
    fn whole(&mut self) -> Option<&mut [u8]> {
        match &mut self.place {
            Place::Converted { room, .. } => Some(room),
            Place::Native(buffer) if buffer.datatype().layout().is_contiguous() && self.bytes > 0 => {
                // SAFETY: the promise that came with the buffer: writable and not used by others until the operation is complete; contiguous from its base
                // on.
                Some(unsafe { std::slice::from_raw_parts_mut(buffer.base(), self.bytes as usize) })
            }
            Place::Native(_) => None,
        }
    }

    /// Room for the stream in one piece, at an address that another thread may write to; a copy of it is [stored](Sink::store).
    pub(crate) fn lent(&mut self) -> Lent {
        let bytes = self.bytes as usize;
        match self.whole() {
            Some(whole) => Lent::Theirs(whole.as_mut_ptr(), whole.len()),
            None => Lent::Ours(vec![0; bytes]),
        }
    }

    /// Room for a part of the stream in one piece, if the whole is.
    pub(crate) fn part(&mut self, from: u64, len: u64) -> Option<RecvBuffer> {
        let start = self.whole()?[from as usize..].as_mut_ptr();
        // SAFETY: a part of the buffer's memory, with the promise that came with it.
        Some(unsafe { RecvBuffer::new(start, len, &Datatype::basic(Basic::Byte)) })
    }

    /// Stores bytes of the stream that were read elsewhere.
    pub(crate) fn store(&mut self, from: u64, bytes: &[u8]) {
        match &mut self.place {
            Place::Native(buffer) => buffer.unpack(from, bytes),
            Place::Converted { room, .. } => {
                room[from as usize..from as usize + bytes.len()].copy_from_slice(bytes);
            }
        }
    }

    /// Calls `each` with room for the stream in pieces, and where each begins, as long as they are filled.
    pub(crate) fn pieces(
        &mut self,
        most: usize,
        mut each: impl FnMut(u64, &mut [u8]) -> Result<u64>,
    ) -> Result<u64> {
        if let Some(whole) = self.whole() {
            return each(0, whole);
        }
        let (mut at, bytes) = (0, self.bytes);
        let mut room = vec![0; most.min(bytes as usize)];
        while at < bytes {
            let len = ((bytes - at) as usize).min(most);
            let found = each(at, &mut room[..len])?;
            self.store(at, &room[..found as usize]);
            at += found;
            if found < len as u64 {
                break;
            }
        }
        Ok(at)
    }

    /// So many bytes of the stream were found; how many these are in the program's memory.
    pub(crate) fn finish(self, found: u64) -> Result<u64> {
        match self.place {
            Place::Native(_) => Ok(found),
            Place::Converted { room, take } => take(&room[..found as usize]),
        }
    }
}

/// Memory that a thread of the library's uses for a while.
pub(crate) enum Lent {
    /// Of the program, which leaves it alone until the operation is complete.
    Theirs(*mut u8, usize),
    Ours(Vec<u8>),
}

// SAFETY: whoever has it is the only one who uses it: the program has promised not to, and the rank waits until the thread has given it back.
unsafe impl Send for Lent {}

impl Lent {
    pub fn bytes(&mut self) -> &mut [u8] {
        match self {
            Lent::Ours(bytes) => bytes,
            // SAFETY: as above; memory to read from is not written by those who have it to write a file.
            Lent::Theirs(base, len) => unsafe { std::slice::from_raw_parts_mut(*base, *len) },
        }
    }

    /// To read from.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Lent::Ours(bytes) => bytes,
            // SAFETY: as above.
            Lent::Theirs(base, len) => unsafe { std::slice::from_raw_parts(*base, *len) },
        }
    }
}

/// Memory of the library's own that messages come into and go out of, while it stays where it is.
pub(crate) struct Room(Vec<u8>);

impl Room {
    pub fn new(bytes: usize) -> Room {
        Room(vec![0; bytes])
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub fn of(bytes: Vec<u8>) -> Room {
        Room(bytes)
    }

    /// The room itself; an empty one stays. Where its bytes lie does not change.
    pub fn take(&mut self) -> Room {
        std::mem::replace(self, Room(Vec::new()))
    }

    /// Makes it so large at least. Nothing may be under way into it or out of it.
    pub fn grow(&mut self, bytes: usize) {
        if self.0.len() < bytes {
            self.0 = vec![0; bytes];
        }
    }

    /// A part of it, to be written.
    pub fn part(&mut self, at: usize, bytes: usize) -> &mut [u8] {
        &mut self.0[at..at + bytes]
    }

    /// Elements of a type from this byte of it on, for a receive that ends before the room does.
    pub fn receive(&mut self, at: usize, count: u64, datatype: &Datatype) -> RecvBuffer {
        assert!(self.has_room_for(at, count, datatype));
        // SAFETY: memory of this room, which its owner keeps and leaves alone until the receive is complete.
        unsafe { RecvBuffer::new(self.0.as_mut_ptr().add(at), count, datatype) }
    }

    /// The same, for a send.
    pub fn send(&self, at: usize, count: u64, datatype: &Datatype) -> SendBuffer {
        assert!(self.has_room_for(at, count, datatype));
        // SAFETY: as above.
        unsafe { SendBuffer::new(self.0.as_ptr().add(at), count, datatype) }
    }

    /// Gets bytes of a member's memory, from a position on, to where a stripe says, if this room begins at `start`.
    pub fn fetch(
        &mut self,
        fabric: &dyn Fabric,
        (node, key): (Node, &Key),
        position: u64,
        stripe: &Stripe,
        start: u64,
    ) -> std::result::Result<(), engine::Error> {
        let (len, count, stride) = (stripe.len as usize, stripe.count as usize, stripe.stride as usize);
        let here = Shape::rows((stripe.offset - start) as usize, len, count, stride.max(len));
        let there = Shape::rows(position as usize, len, count, len);
        assert!(here.end().is_some_and(|end| end <= self.0.len()));
        // SAFETY: the whole of the local shape is memory of this room; the member exposes its memory until all have said that they need it no more.
        let got = unsafe { fabric.get(node, self.0.as_mut_ptr(), &here, key, &there, Mover::Core) };
        let done = got.and_then(|ticket| fabric.done(ticket));
        match done {
            Ok(true) => Ok(()),
            Ok(false) => Err(engine::Error::Internal { reason: "a fabric of memory copies later" }),
            Err(PortalError::PeerLost) => Err(engine::Error::PeerLost { node: node.0 }),
            Err(PortalError::PeerMemory) => Err(engine::Error::PeerMemory { node: node.0, role: "send" }),
            Err(_) => Err(engine::Error::Internal { reason: "memory that was exposed cannot be reached" }),
        }
    }

    fn has_room_for(&self, at: usize, count: u64, datatype: &Datatype) -> bool {
        let (layout, room) = (datatype.layout(), self.0.len() as i64 - at as i64);
        let last = count.saturating_sub(1) as i64 * layout.extent();
        let fits = layout.true_lower_bound() >= 0 && layout.true_upper_bound() + last <= room;
        room >= 0 && (layout.size() == 0 || count == 0 || fits)
    }
}

/// Elements in the external representation.
pub fn external_source(buffer: &SendBuffer) -> Source {
    let mut bytes = vec![0; (buffer.count() * buffer.datatype().map().external_bytes()) as usize];
    buffer.pack_external(&mut bytes);
    Source::converted(bytes, buffer.bytes())
}
