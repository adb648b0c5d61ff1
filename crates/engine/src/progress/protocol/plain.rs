//! Non-blocking receives as most are: of a short message, of one source and tag, where nobody watches. They are posted, or get a message that has been kept for them, in one
//! call that begins nothing else and makes everything where it stays.

use core::mem;

use fabric::Fabric;

use super::copied;
use crate::progress::core::{Core, ENTRY_BYTES, UNEXPECTED};
use crate::progress::tables::arrived::{Arrived, Body};
use crate::progress::tables::matching::{Pattern, Place};
use crate::progress::tables::request::Request;
use crate::values::memory::RecvBuffer;
use crate::values::request::{RequestId, Status};
use crate::values::slab::Key;

impl Core {
    /// Begins a receive of a short message of one source and tag where nobody watches, one that is posted or of a message that has been kept for it; `None`, and nothing
    /// is begun, if it takes more than that. A call of its own: in entry points, which are made to be small, the request would be made elsewhere and copied.
    #[inline(never)]
    pub fn receive_plainly(
        &mut self,
        fabric: &dyn Fabric,
        buffer: &RecvBuffer,
        pattern: Pattern,
    ) -> Option<RequestId> {
        if buffer.bytes() >= self.choice.announce_min
            || self.watch.is_some()
            || self.fault.is_some()
            || self.requests.is_full()
        {
            return None;
        }
        if let Some((place, message)) = self.unexpected.find(&pattern) {
            return self.receive_kept_plainly(fabric, buffer, place, message);
        }
        let place = self.posted.push(pattern, self.requests.next_key());
        Some(RequestId::from_bits(self.requests.insert_with(|| Request::posted(buffer, place))))
    }

    /// Receives a message all of which has been kept, into a buffer that has room for it.
    #[inline(always)]
    fn receive_kept_plainly(
        &mut self,
        fabric: &dyn Fabric,
        buffer: &RecvBuffer,
        place: Place,
        message: Key,
    ) -> Option<RequestId> {
        let arrived = self.messages.get(message)?;
        let (data, envelope, held) = (arrived.whole()?, arrived.envelope, arrived.held());
        let length = data.len() as u64;
        if length > buffer.bytes() {
            return None;
        }
        buffer.unpack(0, data);
        copied(fabric, length);
        self.unexpected.remove(place);
        if held > 0 {
            self.spare_body(message);
        }
        self.messages.drop_entry(message);
        fabric.budget().release(UNEXPECTED, ENTRY_BYTES + held);
        let outcome = Ok(Status::received(&envelope, length));
        Some(RequestId::from_bits(self.requests.insert_with(|| Request::complete(outcome))))
    }

    /// Keeps the memory of a message that has been received, whose entry goes next.
    fn spare_body(&mut self, message: Key) {
        if let Some(Arrived { body: Body::Data(data), .. }) = self.messages.get_mut(message) {
            self.spares.keep(mem::take(data));
        }
    }
}
