//! Mailboxes, signal counters and doorbells over a piece of memory that several ranks map, by atomics alone.
//!
//! Nobody takes a lock, and posting never waits. But a ring is not lock-free in the sense of the literature: a sender that is stopped
//! between the claim of a cell and its publication (by a debugger, or for a time slice) holds up what others have sent to the same
//! receiver, until it goes on.
//!
//! Two backends stand on this crate: `fabric-local` (ranks of one address space) and `fabric-shm` (ranks as processes).
//! Both lay an [`Exchange`](exchange) over their memory and give each rank an [`Endpoint`]; what differs is only how a
//! sleeping rank is woken.
//!
//! | module | subject |
//! | --- | --- |
//! | [`cell`] | one letter of 128 bytes and its control word |
//! | [`ring`] | the bounded ring of cells that many senders fill and one receiver empties |
//! | [`pool`] | the sender's slots for payloads that do not fit in a cell |
//! | [`claim`] | a word that two ranks race for |
//! | [`doorbell`] | falling asleep without losing a wake-up |
//! | [`exchange`] | where everything lies in the region |
//! | [`endpoint`] | one rank's mailbox and signals: `posting`, how letters leave; `taking`, how they come |
//! | `delivery` | what backends over an endpoint have in common, word by word |
//! | [`transfer`] | plain-memory puts and gets, and the checks that all portals share |
//! | `linux` | futex, membarrier, clock and mappings (feature `linux`) |
//! | `ground` | the core that a rank waits on, and who else does (feature `linux`) |
//! | `naps` | how long a sender sleeps that waits for room |
//! | `patience` | how long a waiter spins before it sleeps |
//! | `waiting` | when a waiting rank spins, yields and sleeps (feature `linux`) |
//!
//! **Invariant.** Zeroed memory is a valid, empty exchange: no rank initialises anything for another, so ranks may join
//! in any order and letters may be posted to a rank that has not joined yet.
//!
//! Everything that touches shared words goes through [`sync`], so that `RUSTFLAGS="--cfg loom"` model-checks the same
//! code that ships.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(loom)]
extern crate std;

pub mod cell;
pub mod claim;
#[cfg(not(loom))]
mod delivery;
pub mod doorbell;
#[cfg(not(loom))]
pub mod endpoint;
#[cfg(not(loom))]
pub mod exchange;
#[cfg(all(feature = "linux", not(loom)))]
pub mod ground;
#[cfg(not(loom))]
mod lines;
#[cfg(all(feature = "linux", not(loom)))]
pub mod linux;
#[cfg(not(loom))]
pub mod naps;
#[cfg(not(loom))]
pub mod patience;
pub mod pool;
pub mod ring;
pub mod sync;
#[cfg(not(loom))]
pub mod transfer;
#[cfg(all(feature = "linux", not(loom)))]
pub mod waiting;

pub use cell::{CELL_BYTES, Cell, INLINE_BYTES};
pub use claim::Claim;
pub use doorbell::Doorbell;
#[cfg(not(loom))]
pub use endpoint::Endpoint;
#[cfg(not(loom))]
pub use exchange::Geometry;
pub use pool::Pool;
pub use ring::{Consumer, Ring};
