//! A byte budget, and the account of who holds what.

use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;

/// Memory that a rank's library state may use.
pub trait Memory {
    /// The account that every long-lived allocation made for this rank is booked on.
    fn budget(&self) -> &Budget;
}

/// A byte account with a limit. Single-threaded, like the fabric value that owns it. Purposes are few (tens), so a list is
/// faster than a map.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    state: RefCell<Account>,
}

#[derive(Debug, Default)]
struct Account {
    used: usize,
    holders: Vec<(&'static str, usize)>,
}

impl Budget {
    /// An account of `limit` bytes.
    pub const fn new(limit: usize) -> Budget {
        Budget { limit, state: RefCell::new(Account { used: 0, holders: Vec::new() }) }
    }

    /// An account without a limit, as hosts with virtual memory have it.
    pub const fn unlimited() -> Budget {
        Budget::new(usize::MAX)
    }

    /// Books `bytes` for `purpose` (a few words, such as "unexpected messages"), or says who holds the rest.
    pub fn reserve(&self, purpose: &'static str, bytes: usize) -> Result<(), BudgetExceeded> {
        let mut account = self.state.borrow_mut();
        if self.limit - account.used < bytes {
            return Err(BudgetExceeded {
                purpose,
                wanted: bytes,
                limit: self.limit,
                holders: account.holders.clone(),
            });
        }
        account.used += bytes;
        match account.holders.iter_mut().find(|(name, _)| *name == purpose) {
            Some((_, held)) => *held += bytes,
            None => account.holders.push((purpose, bytes)),
        }
        Ok(())
    }

    /// Gives back what was booked with the same purpose.
    ///
    /// # Panics
    /// If more is given back than was booked: an accounting error of the caller.
    pub fn release(&self, purpose: &'static str, bytes: usize) {
        let mut account = self.state.borrow_mut();
        let (_, held) = account
            .holders
            .iter_mut()
            .find(|(name, held)| *name == purpose && *held >= bytes)
            .unwrap_or_else(|| panic!("budget: {bytes} bytes of '{purpose}' released but not reserved"));
        *held -= bytes;
        account.used -= bytes;
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.state.borrow().used
    }

    /// Bytes that `purpose` holds.
    pub fn held(&self, purpose: &str) -> usize {
        self.state.borrow().holders.iter().find(|(name, _)| *name == purpose).map_or(0, |(_, held)| *held)
    }

    /// Bytes in all.
    pub fn limit(&self) -> usize {
        self.limit
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
    pub holders: Vec<(&'static str, usize)>,
}

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used: usize = self.holders.iter().map(|(_, held)| held).sum();
        write!(
            f,
            "{} bytes for {} do not fit: {used} of {} bytes are in use",
            self.wanted, self.purpose, self.limit
        )?;
        for (index, (name, held)) in self.holders.iter().filter(|(_, held)| *held > 0).enumerate() {
            write!(f, "{}{held} by {name}", if index == 0 { " (" } else { ", " })?;
        }
        if used > 0 { f.write_str(")") } else { Ok(()) }
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
    #[should_panic(expected = "released but not reserved")]
    fn releasing_what_was_not_reserved_is_an_accounting_error() {
        let budget = Budget::new(100);
        budget.reserve("requests", 6).unwrap();
        budget.release("requests", 7);
    }
}
