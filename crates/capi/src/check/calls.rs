//! A call that is under way: its arguments, and the handles that it was given by address, to see what became of them.

use smallvec::SmallVec;

use super::findings::Origin;
use super::regions::Region;
use super::shapes::{Arguments, Direction, Kind, Param};

/// A call of the program's.
pub(super) struct Called {
    pub(super) origin: Origin,
    pub(super) arguments: Arguments,
    /// What the handles held that are given by address.
    pub(super) given: SmallVec<[Given; 4]>,
    /// The memory that it communicates.
    pub(super) regions: Vec<Region>,
    /// Which collective call on its communicator it is, if it is one.
    pub(super) collective: Option<(u32, u64)>,
    /// The context of the communicator that it frees, if it does.
    pub(super) frees: Option<u32>,
    /// The number of the receive that it begins, if it does.
    pub(super) receive: Option<u64>,
    /// When it began, by the clock of all ranks, if it is about a window.
    pub(super) entered: Option<u64>,
}

/// A handle in memory of the program's, as it was before the call.
#[derive(Clone, Copy)]
pub(super) struct Given {
    pub(super) param: Param,
    address: usize,
    pub(super) before: u64,
}

impl Given {
    /// What is there now.
    pub(super) fn now(&self) -> u64 {
        read(self.param.kind, self.address)
    }
}

/// Arrays of handles longer than this are not looked at.
const HANDLES_MAX: i64 = 1 << 24;

impl Called {
    pub(super) fn new(origin: Origin, arguments: Arguments) -> Self {
        let given = given(&arguments);
        let (regions, collective, frees, receive, entered) = (Vec::new(), None, None, None, None);
        Self { origin, arguments, given, regions, collective, frees, receive, entered }
    }

    /// The communicator that the call is on, or frees: its handle.
    pub(super) fn comm(&self) -> Option<usize> {
        let freed =
            self.given.first().filter(|given| given.param.kind == Kind::Comm && !given.param.is_array);
        self.arguments.comm().or(freed.map(|given| given.before as usize))
    }

    /// The handle that the call has written.
    pub(super) fn written(&self, param: Param, word: u64) -> Option<u64> {
        (param.direction == Direction::Out && !param.is_array && word != 0 && is_handle(param.kind))
            .then(|| read(param.kind, word as usize))
    }

    /// Replaces a handle that the call has written.
    pub(super) fn replace(&self, word: u64, handle: u64) {
        // SAFETY: the call has just written a handle there.
        unsafe { std::ptr::with_exposed_provenance_mut::<u64>(word as usize).write(handle) };
    }
}

/// Functions that make a persistent operation.
pub(super) fn is_template(function: &str) -> bool {
    function.strip_suffix("_c").unwrap_or(function).ends_with("_init")
}

fn is_handle(kind: Kind) -> bool {
    use Kind::*;
    matches!(kind, Datatype | Comm | Group | Op | Info | Errhandler | Keyval | Request | Message | Win)
}

/// A handle; keys of attributes are `int`.
fn read(kind: Kind, address: usize) -> u64 {
    let address = std::ptr::with_exposed_provenance::<u8>(address);
    // SAFETY: MPI's contract with the caller: a handle that the call reads or has written. One that is aligned for its type.
    unsafe {
        if kind == Kind::Keyval {
            i64::from(address.cast::<i32>().read()) as u64
        } else {
            address.cast::<u64>().read()
        }
    }
}

fn given(arguments: &Arguments) -> SmallVec<[Given; 4]> {
    let mut given = SmallVec::new();
    for (param, word) in arguments.iter() {
        let by_address =
            param.direction == Direction::InOut || (param.direction == Direction::In && param.is_array);
        if word == 0 || !is_handle(param.kind) || !by_address {
            continue;
        }
        let length = if !param.is_array {
            1
        } else if param.kind == Kind::Request {
            let length = arguments.number("count").or_else(|| arguments.number("incount")).unwrap_or(0);
            length.clamp(0, HANDLES_MAX)
        } else {
            0
        };
        for index in 0..length as usize {
            let address = word as usize + index * size_of::<u64>();
            given.push(Given { param, address, before: read(param.kind, address) });
        }
    }
    given
}
