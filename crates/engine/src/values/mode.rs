//! How a send is to complete.

/// The four send modes (MPI section 3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Completes when the buffer may be reused.
    Standard,
    /// Completes when the receive has started, too.
    Synchronous,
    /// Completes at once: the message is copied into the attached buffer.
    Buffered,
    /// The caller knows that the receive is posted. Sent as in standard mode.
    Ready,
}
