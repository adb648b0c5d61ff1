//! How the data of a target is stored and loaded that is not near: through the portal, or where none reaches it (cross-memory attach is forbidden), by letters that
//! the target answers when it comes into the library.

use fabric::{Node, PortalError};

use crate::rank::Rank;
use crate::values::datatype::{Basic, Datatype};
use crate::values::memory::place::Place;
use crate::values::memory::{Scratch, SendBuffer};

impl Rank {
    /// Stores bytes as those from `from` on of the packed form of elements at a place.
    pub(super) fn store(
        &self,
        place: &Place,
        datatype: &Datatype,
        from: u64,
        bytes: &[u8],
    ) -> Result<(), PortalError> {
        let &Place::Asked(node, address) = place else {
            return place.store((self.fabric(), &mut |ticket| self.settle(ticket)), datatype, from, bytes);
        };
        let (mut result, mut last) = (Ok(()), None);
        datatype.layout().walk(from, bytes.len() as u64, |origin, at, len| {
            let address = address.wrapping_add_signed(origin);
            if result.is_ok() {
                let part = SendBuffer::owned(bytes[at as usize..(at + len) as usize].to_vec());
                let core = &self.lane.core;
                let asked = core.borrow_mut().ask_to_store(self.fabric(), &part, (node, address));
                result = asked.and_then(|id| self.wait(id)).map(|_| ()).map_err(|_| PortalError::PeerMemory);
                last = Some(address);
            }
        });
        result?;
        // What is behind the data is answered when that is in place.
        last.map_or(Ok(()), |address| self.load_from(node, address, &mut [0]))
    }

    /// Loads the bytes from `from` on of the packed form of elements at a place.
    pub(super) fn load(
        &self,
        place: &Place,
        datatype: &Datatype,
        from: u64,
        bytes: &mut [u8],
    ) -> Result<(), PortalError> {
        let &Place::Asked(node, address) = place else {
            return place.load((self.fabric(), &mut |ticket| self.settle(ticket)), datatype, from, bytes);
        };
        let mut result = Ok(());
        datatype.layout().walk(from, bytes.len() as u64, |origin, at, len| {
            if result.is_ok() {
                let part = &mut bytes[at as usize..(at + len) as usize];
                result = self.load_from(node, address.wrapping_add_signed(origin), part);
            }
        });
        result
    }

    fn load_from(&self, node: Node, address: u64, bytes: &mut [u8]) -> Result<(), PortalError> {
        let mut scratch = Scratch::zeroed(bytes.len());
        let room = scratch.region(bytes.len() as u64, &Datatype::basic(Basic::Byte));
        let asked =
            self.lane.core.borrow_mut().ask_to_load(self.fabric(), &room.to_receive(), (node, address));
        asked.and_then(|id| self.wait(id)).map_err(|_| PortalError::PeerMemory)?;
        room.load(bytes);
        Ok(())
    }
}
