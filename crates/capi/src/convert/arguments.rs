//! Numbers and handles given by value.

use core::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::Arc;

use engine::{Counted, Dest, RequestId, Root, Source, Tag, TagMatch};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::Buf;
use crate::errors::{Fault, Outcome};
use crate::handles::{Comm, CommRef, Errhandler, File, Group, Info, Op, Session, Type, Window, without_lane};

/// A rank as given. Which values are right depends on the communicator and on the role.
#[derive(Clone, Copy)]
pub(crate) struct RankArg {
    pub(crate) name: &'static str,
    pub(crate) value: c_int,
}

/// A tag as given. Receives take MPI_ANY_TAG.
#[derive(Clone, Copy)]
pub(crate) struct TagArg {
    pub(crate) name: &'static str,
    pub(crate) value: c_int,
}

impl RankArg {
    /// A destination in a communicator.
    #[inline]
    pub(crate) fn dest(self, comm: &Comm) -> Outcome<Dest> {
        if (self.value as u32) < comm.peer_size() as u32 {
            Ok(Dest::Rank(self.value as u32))
        } else if self.value == MPI_PROC_NULL {
            Ok(Dest::Null)
        } else {
            Err(self.misfit(MPI_ERR_RANK, comm, " or MPI_PROC_NULL"))
        }
    }

    /// A source in a communicator.
    #[inline]
    pub(crate) fn source(self, comm: &Comm) -> Outcome<Source> {
        if (self.value as u32) < comm.peer_size() as u32 {
            Ok(Source::Rank(self.value as u32))
        } else if self.value == MPI_ANY_SOURCE {
            Ok(Source::Any)
        } else if self.value == MPI_PROC_NULL {
            Ok(Source::Null)
        } else {
            Err(self.misfit(MPI_ERR_RANK, comm, ", MPI_ANY_SOURCE or MPI_PROC_NULL"))
        }
    }

    /// A member of a group.
    pub(crate) fn of_group(self, group: &Group) -> Outcome<u32> {
        if (self.value as u32) < group.size() {
            Ok(self.value as u32)
        } else {
            Err(no_rank(self.name, self.value, MPI_ERR_RANK, group.size() as usize, ""))
        }
    }

    /// A member of a communicator, and nothing else.
    pub(crate) fn member(self, comm: &Comm) -> Outcome<u32> {
        if (self.value as u32) < comm.peer_size() as u32 {
            Ok(self.value as u32)
        } else {
            Err(self.misfit(MPI_ERR_RANK, comm, ""))
        }
    }

    /// The root of a collective.
    #[inline]
    pub(crate) fn root(self, comm: &Comm) -> Outcome<Root> {
        if (self.value as u32) < comm.peer_size() as u32 {
            Ok(Root::Rank(self.value as u32))
        } else {
            self.root_across(comm)
        }
    }

    /// On an intercommunicator the members of the root's group say so instead of naming it (MPI section 6.2.3).
    #[cold]
    fn root_across(self, comm: &Comm) -> Outcome<Root> {
        match self.value {
            MPI_ROOT if comm.comm.is_inter() => Ok(Root::Me),
            MPI_PROC_NULL if comm.comm.is_inter() => Ok(Root::Beside),
            _ if comm.comm.is_inter() => Err(self.misfit(MPI_ERR_ROOT, comm, ", MPI_ROOT or MPI_PROC_NULL")),
            _ => Err(self.misfit(MPI_ERR_ROOT, comm, "")),
        }
    }

    #[inline(always)]
    fn misfit(self, class: c_int, comm: &Comm, also: &str) -> Fault {
        no_peer(self.name, self.value, class, comm, also)
    }
}

// Both take the parts of an argument: the whole would have to be in memory for them, in every call.

/// Not among the ranks of a communicator that messages go to and come from.
#[cold]
#[inline(never)]
fn no_peer(name: &str, value: c_int, class: c_int, comm: &Comm, also: &str) -> Fault {
    let side = if comm.comm.is_inter() { " of the remote group" } else { "" };
    no_rank(name, value, class, comm.peer_size(), &format!("{side}{also}"))
}

#[cold]
fn no_rank(name: &str, value: c_int, class: c_int, size: usize, also: &str) -> Fault {
    let last = size.saturating_sub(1);
    Fault::new(class, format_args!("{name} is {value}, expected a rank from 0 to {last}{also}"))
}

impl TagArg {
    /// The tag of a message to send.
    #[inline]
    pub(crate) fn of_send(self) -> Outcome<Tag> {
        match Tag::new(i64::from(self.value)) {
            Ok(tag) => Ok(tag),
            Err(_) => Err(no_tag(self.name, self.value, "")),
        }
    }

    /// The tags that a receive takes.
    #[inline]
    pub(crate) fn of_receive(self) -> Outcome<TagMatch> {
        match Tag::new(i64::from(self.value)) {
            Ok(tag) => Ok(TagMatch::Is(tag)),
            Err(_) if self.value == MPI_ANY_TAG => Ok(TagMatch::Any),
            Err(_) => Err(no_tag(self.name, self.value, " or MPI_ANY_TAG")),
        }
    }
}

#[cold]
#[inline(never)]
fn no_tag(name: &str, value: c_int, also: &str) -> Fault {
    Fault::new(MPI_ERR_TAG, format_args!("{name} is {value}, expected 0 to {}{also}", Tag::MAX))
}

/// A request that must not be null.
pub(crate) fn given(name: &'static str, request: MPI_Request) -> Outcome<RequestId> {
    optional(request).ok_or_else(|| {
        Fault::new(
            MPI_ERR_REQUEST,
            format_args!("{name} is MPI_REQUEST_NULL, expected a request of an operation"),
        )
    })
}

/// A request that may be null.
#[inline]
pub(crate) fn optional(request: MPI_Request) -> Option<RequestId> {
    if request == MPI_REQUEST_NULL {
        None
    } else {
        Some(RequestId::from_bits(without_lane(request.0) as u64))
    }
}

impl Call {
    /// A communicator.
    #[inline(always)]
    pub(crate) fn comm(&self, name: &'static str, handle: MPI_Comm) -> Outcome<CommRef> {
        let found = self.state.comms.of_call(handle, self.lane());
        found.ok_or_else(|| self.no_comm(name, handle))
    }

    #[cold]
    #[inline(never)]
    fn no_comm(&self, name: &str, handle: MPI_Comm) -> Fault {
        let past = self.state.comms.table().past(handle.0);
        Fault::handle(MPI_ERR_COMM, name, handle.0, "a communicator", past)
    }

    /// A group.
    #[inline(never)]
    pub(crate) fn group(&self, name: &'static str, handle: MPI_Group) -> Outcome<Group> {
        let groups = &self.state.groups;
        groups.get(handle).ok_or_else(|| {
            let past = groups.table().past(handle.0);
            Fault::handle(MPI_ERR_GROUP, name, handle.0, "a group", past)
        })
    }

    /// A datatype.
    #[inline(always)]
    pub(crate) fn datatype(&self, name: &'static str, handle: MPI_Datatype) -> Outcome<Counted<Type>> {
        self.state.types.get(handle).ok_or_else(|| self.no_datatype(name, handle))
    }

    #[cold]
    #[inline(never)]
    fn no_datatype(&self, name: &str, handle: MPI_Datatype) -> Fault {
        let past = self.state.types.table().past(handle.0);
        Fault::handle(MPI_ERR_TYPE, name, handle.0, "a datatype", past)
    }

    /// A reduction operation.
    #[inline]
    pub(crate) fn op(&self, name: &'static str, handle: MPI_Op) -> Outcome<Op> {
        self.state.ops.get(handle).ok_or_else(|| self.no_op(name, handle))
    }

    #[cold]
    #[inline(never)]
    fn no_op(&self, name: &str, handle: MPI_Op) -> Fault {
        let past = self.state.ops.table().past(handle.0);
        Fault::handle(MPI_ERR_OP, name, handle.0, "an operation", past)
    }

    /// An info object, or none for MPI_INFO_NULL.
    #[inline(never)]
    pub(crate) fn info(&self, name: &'static str, handle: MPI_Info) -> Outcome<Option<Arc<Info>>> {
        if handle == MPI_INFO_NULL {
            return Ok(None);
        }
        let found = self.state.infos.get(handle);
        found.map(Some).ok_or_else(|| {
            let past = self.state.infos.table().past(handle.0);
            Fault::handle(MPI_ERR_INFO, name, handle.0, "an info object or MPI_INFO_NULL", past)
        })
    }

    /// An error handler.
    #[inline(never)]
    pub(crate) fn errhandler(&self, name: &'static str, handle: MPI_Errhandler) -> Outcome<Arc<Errhandler>> {
        let handlers = &self.state.handlers;
        match handle {
            MPI_ERRORS_ARE_FATAL => Ok(Arc::clone(&handlers.fatal)),
            MPI_ERRORS_ABORT => Ok(Arc::clone(&handlers.abort)),
            MPI_ERRORS_RETURN => Ok(Arc::clone(&handlers.returns)),
            _ => {
                let made = handlers.made();
                made.get(handle.0).ok_or_else(|| {
                    let past = made.past(handle.0);
                    Fault::handle(MPI_ERR_ERRHANDLER, name, handle.0, "an error handler", past)
                })
            }
        }
    }

    /// A session.
    #[inline(never)]
    pub(crate) fn session(&self, name: &'static str, handle: MPI_Session) -> Outcome<Arc<Session>> {
        let found = self.state.sessions.get(handle);
        found.ok_or_else(|| {
            let past = self.state.sessions.lock().table().past(handle.0);
            Fault::handle(MPI_ERR_SESSION, name, handle.0, "a session", past)
        })
    }

    /// A window.
    #[inline(never)]
    pub(crate) fn window(&self, name: &'static str, handle: MPI_Win) -> Outcome<Window> {
        let found = self.state.windows.get(handle);
        found.ok_or_else(|| {
            let past = self.state.windows.table().past(handle.0);
            Fault::handle(MPI_ERR_WIN, name, handle.0, "a window", past)
        })
    }

    /// An open file.
    #[inline(never)]
    pub(crate) fn file(&self, name: &'static str, handle: MPI_File) -> Outcome<Rc<File>> {
        let found = self.state.files.get(handle);
        found.ok_or_else(|| {
            let past = self.state.files.table().past(handle.0);
            Fault::handle(MPI_ERR_FILE, name, handle.0, "an open file", past)
        })
    }

    /// A number of elements or bytes.
    #[inline(always)]
    pub(crate) fn count(&self, name: &'static str, value: i64) -> Outcome<i64> {
        if value >= 0 { Ok(value) } else { Err(negative(MPI_ERR_COUNT, name, value)) }
    }

    /// The length of an array that the call is given.
    #[inline]
    pub(crate) fn length(&self, name: &'static str, value: impl Into<i64>) -> Outcome<usize> {
        let value = value.into();
        usize::try_from(value).map_err(|_| negative(MPI_ERR_ARG, name, value))
    }

    /// The address of data. Null is refused if the data has bytes, unless the datatype itself holds absolute addresses, as
    /// it does with MPI_BOTTOM (MPI section 5.1.5).
    ///
    /// # Safety
    /// See the module `convert`.
    #[inline(always)]
    pub(crate) unsafe fn buffer(
        &self,
        name: &'static str,
        address: *mut c_void,
        count: i64,
        datatype: Option<&Counted<Type>>,
    ) -> Outcome<Buf> {
        if address.addr() <= LAST_SENTINEL {
            sentinel(name, address, count, datatype)?;
        }
        // SAFETY: passed on.
        Ok(unsafe { Buf::new(address) })
    }

    /// The address of plain bytes.
    ///
    /// # Safety
    /// See the module `convert`.
    #[inline]
    pub(crate) unsafe fn bytes(&self, name: &'static str, address: *mut c_void, count: i64) -> Outcome<Buf> {
        if address == MPI_IN_PLACE {
            return Err(misplaced(name));
        }
        if address.is_null() && count > 0 {
            return Err(null_bytes(name, count));
        }
        // SAFETY: passed on.
        Ok(unsafe { Buf::new(address) })
    }

    /// The address of data in parts: null may be right, MPI_IN_PLACE not.
    ///
    /// # Safety
    /// See the module `convert`.
    pub(crate) unsafe fn parts(&self, name: &'static str, address: *mut c_void) -> Outcome<Buf> {
        if address == MPI_IN_PLACE {
            return Err(misplaced(name));
        }
        // SAFETY: passed on.
        Ok(unsafe { Buf::new(address) })
    }
}

/// MPI_BOTTOM, which is null, and MPI_IN_PLACE: one comparison tells them from addresses of data.
const LAST_SENTINEL: usize = 1;

#[cold]
fn sentinel(
    name: &'static str,
    address: *mut c_void,
    count: i64,
    datatype: Option<&Counted<Type>>,
) -> Outcome {
    if address == MPI_IN_PLACE {
        return Err(misplaced(name));
    }
    if count > 0 { null_buffer(name, count, datatype) } else { Ok(()) }
}

/// Section 6.2 says of each collective where MPI_IN_PLACE may stand; it has no meaning elsewhere.
#[cold]
fn misplaced(name: &'static str) -> Fault {
    Fault::new(
        MPI_ERR_BUFFER,
        format_args!("{name} is MPI_IN_PLACE, expected an address: this process cannot work in place here"),
    )
}

#[cold]
fn null_bytes(name: &'static str, count: i64) -> Fault {
    Fault::new(
        MPI_ERR_BUFFER,
        format_args!("{name} is a null pointer, expected the address of {count} bytes"),
    )
}

#[cold]
fn null_buffer(name: &'static str, count: i64, datatype: Option<&Counted<Type>>) -> Outcome {
    let Some(datatype) = datatype else { return Ok(()) };
    let layout = datatype.datatype.layout();
    let absolute = !datatype.datatype.is_predefined() && layout.true_lower_bound() != 0;
    if layout.size() == 0 || absolute {
        return Ok(());
    }
    Err(Fault::new(
        MPI_ERR_BUFFER,
        format_args!(
            "{name} is a null pointer, expected the address of {count} elements of {} bytes",
            layout.size()
        ),
    ))
}

#[cold]
fn negative(class: c_int, name: &str, value: i64) -> Fault {
    Fault::new(class, format_args!("{name} is {value}, expected zero or more"))
}

#[cfg(test)]
mod tests {
    use super::{LAST_SENTINEL, MPI_BOTTOM, MPI_IN_PLACE};

    #[test]
    fn addresses_that_mean_something_else_are_the_lowest() {
        assert_eq!((MPI_BOTTOM.addr(), MPI_IN_PLACE.addr()), (0, LAST_SENTINEL));
    }
}
