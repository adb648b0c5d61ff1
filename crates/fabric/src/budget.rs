//! A byte budget, and the account of who holds what.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;

use crate::{Key, PortalError, Shared};

/// Memory that a rank's library state may use, and memory that ranks share.
pub trait Memory {
    /// The account that every long-lived allocation made for this rank is booked on.
    fn budget(&self) -> &Budget;

    /// Memory of at least `bytes` bytes, zero at first, that every node of this node's cluster can map: the peer learns the key by a letter and
    /// [attaches](Memory::attach_shared) it. Counts on the budget of the node that allocates. Not for the path of messages: it may call the
    /// system. By default there is none, and the answer [`Unreachable`](PortalError::Unreachable).
    fn allocate_shared(&self, bytes: usize) -> Result<Shared, PortalError> {
        let _ = bytes;
        Err(PortalError::Unreachable)
    }

    /// Where this node has the memory that a node of its cluster has allocated under this key. A key that nobody has given is refused.
    fn attach_shared(&self, key: &Key) -> Result<*mut u8, PortalError> {
        let _ = key;
        Err(PortalError::Unreachable)
    }

    /// The program has got this memory from the library, or has given it back: where the machine has memories of several kinds, it is in the one that all nodes
    /// reach. By default there is one kind.
    fn lies_globally(&self, base: *const u8, bytes: usize, global: bool) {
        let _ = (base, bytes, global);
    }

    /// Gives memory up that was allocated to be shared: the mapping of this node, and if it is the owner, the memory itself.
    ///
    /// # Safety
    /// Nobody on this node uses it any more; if this is the owner, nobody at all.
    unsafe fn release_shared(&self, key: &Key) {
        let _ = key;
    }
}

/// A way to book on a byte account with a limit. Several ranks that share a memory (the scratchpad of a cluster) share one
/// account: each has a `Budget` of its own that writes its number beside what it books (see [`Budget::of_rank`]).
///
/// Single-threaded, like the fabric value that owns it.
#[derive(Debug)]
pub struct Budget {
    rank: Option<u32>,
    account: Rc<Account>,
}

#[derive(Debug)]
struct Account {
    limit: usize,
    state: RefCell<State>,
}

/// Purposes are few (tens a rank), so a list is faster than a map.
#[derive(Debug, Default)]
struct State {
    used: usize,
    holders: Vec<Holder>,
    peak: usize,
    /// Who held what when `peak` was reached, if somebody has given back since; until then `holders` tells.
    at_peak: Vec<Holder>,
}

/// Who holds how much of a budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder {
    /// What the memory is for, in a few words.
    pub purpose: &'static str,
    /// For which rank, where an account is shared; `None` for what all of them use.
    pub rank: Option<u32>,
    /// How much.
    pub bytes: usize,
}

impl Budget {
    /// An account of `limit` bytes.
    pub fn new(limit: usize) -> Budget {
        let account = Account { limit, state: RefCell::new(State::default()) };
        Budget { rank: None, account: Rc::new(account) }
    }

    /// An account without a limit, as hosts with virtual memory have it.
    pub fn unlimited() -> Budget {
        Budget::new(usize::MAX)
    }

    /// The same account, on which what is booked carries the number of `rank`.
    pub fn of_rank(&self, rank: u32) -> Budget {
        Budget { rank: Some(rank), account: self.account.clone() }
    }

    /// Books `bytes` for `purpose` (a few words, such as "unexpected messages"), or says who holds the rest.
    pub fn reserve(&self, purpose: &'static str, bytes: usize) -> Result<(), BudgetExceeded> {
        let mut state = self.account.state.borrow_mut();
        if self.account.limit - state.used < bytes {
            return Err(BudgetExceeded {
                purpose,
                wanted: bytes,
                limit: self.account.limit,
                holders: state.holders.iter().filter(|holder| holder.bytes > 0).copied().collect(),
            });
        }
        state.used += bytes;
        state.peak = state.peak.max(state.used);
        match state.find(purpose, self.rank) {
            Some(holder) => holder.bytes += bytes,
            None => state.holders.push(Holder { purpose, rank: self.rank, bytes }),
        }
        Ok(())
    }

    /// Gives back what was booked with the same purpose.
    ///
    /// # Panics
    /// If more is given back than was booked: an accounting error of the caller.
    pub fn release(&self, purpose: &'static str, bytes: usize) {
        let mut state = self.account.state.borrow_mut();
        if state.used == state.peak && bytes > 0 {
            // Only now, and not at every booking that reaches a new peak: most of them are followed by another.
            state.at_peak = state.holders.clone();
        }
        let Some(holder) = state.find(purpose, self.rank).filter(|holder| holder.bytes >= bytes) else {
            panic!("budget: {bytes} bytes of '{purpose}' released but not reserved");
        };
        holder.bytes -= bytes;
        state.used -= bytes;
    }

    /// Bytes in use on the account.
    pub fn used(&self) -> usize {
        self.account.state.borrow().used
    }

    /// Bytes that `purpose` holds, of this budget's rank.
    pub fn held(&self, purpose: &'static str) -> usize {
        self.account.state.borrow_mut().find(purpose, self.rank).map_or(0, |holder| holder.bytes)
    }

    /// Bytes in all.
    pub fn limit(&self) -> usize {
        self.account.limit
    }

    /// Who held what when most of the account was in use, in the order of their first booking.
    pub fn at_peak(&self) -> Vec<Holder> {
        let state = self.account.state.borrow();
        let holders = if state.used == state.peak { &state.holders } else { &state.at_peak };
        holders.iter().filter(|holder| holder.bytes > 0).copied().collect()
    }
}

impl State {
    fn find(&mut self, purpose: &'static str, rank: Option<u32>) -> Option<&mut Holder> {
        self.holders.iter_mut().find(|holder| holder.rank == rank && holder.purpose == purpose)
    }
}

/// An allocation did not fit into the budget.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BudgetExceeded {
    /// What the memory was for.
    pub purpose: &'static str,
    /// Bytes asked for.
    pub wanted: usize,
    /// The budget.
    pub limit: usize,
    /// Who holds how much of it.
    pub holders: Vec<Holder>,
}

/// So many holders are named in a message; a full scratchpad may have a hundred.
const NAMED: usize = 8;

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used: usize = self.holders.iter().map(|holder| holder.bytes).sum();
        write!(
            f,
            "{} bytes for {} do not fit: {used} of {} bytes are in use",
            self.wanted, self.purpose, self.limit
        )?;
        let mut holders = self.holders.clone();
        if holders.len() > NAMED {
            // The greatest, in their order.
            for at in 0..NAMED {
                let greatest = (at..holders.len()).rev().max_by_key(|index| holders[*index].bytes);
                holders[at..=greatest.unwrap_or(at)].rotate_right(1);
            }
        }
        for (index, holder) in holders.iter().take(NAMED).enumerate() {
            write!(f, "{}{} by {}", if index == 0 { " (" } else { ", " }, holder.bytes, holder.purpose)?;
            if let Some(rank) = holder.rank {
                write!(f, " of rank {rank}")?;
            }
        }
        if let Some(rest) = holders.get(NAMED..).filter(|rest| !rest.is_empty()) {
            let bytes: usize = rest.iter().map(|holder| holder.bytes).sum();
            write!(f, ", {bytes} by {} more", rest.len())?;
        }
        if holders.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

impl core::error::Error for BudgetExceeded {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_refused_reservation_names_the_holders() {
        let budget = Budget::new(100);
        budget.reserve("requests", 60).unwrap();
        budget.reserve("unexpected messages", 30).unwrap();
        let refused = budget.reserve("eager buffers", 11).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "11 bytes for eager buffers do not fit: 90 of 100 bytes are in use \
             (60 by requests, 30 by unexpected messages)"
        );
        budget.release("requests", 60);
        budget.reserve("eager buffers", 70).unwrap();
        assert_eq!(budget.used(), 100);
    }

    #[test]
    fn ranks_that_share_an_account_share_its_limit_and_are_named() {
        let cluster = Budget::new(100);
        let (first, second) = (cluster.of_rank(4), cluster.of_rank(5));
        first.reserve("heap", 70).unwrap();
        cluster.reserve("program text", 20).unwrap();
        let refused = second.reserve("heap", 11).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "11 bytes for heap do not fit: 90 of 100 bytes are in use (70 by heap of rank 4, 20 by program text)"
        );
        assert_eq!((first.held("heap"), second.held("heap")), (70, 0));
    }

    #[test]
    fn the_peak_is_remembered_with_its_holders() {
        let budget = Budget::new(100);
        budget.reserve("a", 60).unwrap();
        budget.reserve("b", 30).unwrap();
        budget.release("a", 60);
        budget.reserve("c", 50).unwrap();
        let bytes = |budget: &Budget| budget.at_peak().iter().map(|holder| holder.bytes).collect::<Vec<_>>();
        assert_eq!(bytes(&budget), [60, 30]);
        budget.reserve("c", 15).unwrap();
        assert_eq!(bytes(&budget), [30, 65]);
    }

    #[test]
    #[should_panic(expected = "released but not reserved")]
    fn releasing_what_was_not_reserved_is_an_accounting_error() {
        let budget = Budget::new(100);
        budget.reserve("requests", 6).unwrap();
        budget.release("requests", 7);
    }
}
