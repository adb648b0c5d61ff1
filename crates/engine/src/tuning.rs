//! Where protocols change, as data: defaults from the fabric, overridden by the user.

use fabric::Caps;

/// The tunable numbers of a rank. The runtime starts from [`Tuning::for_fabric`] and applies the user's settings by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// Largest message that travels eagerly.
    pub eager_max: usize,
    /// A posted receive of at least this size announces itself to the sender.
    pub receiver_first_min: usize,
    /// Messages of at least this size are copied by both ranks, half each, if both wait.
    pub share_min: usize,
    /// Letters handled in one poll.
    pub poll_limit: usize,
}

impl Tuning {
    /// The names that [`Tuning::set`] knows, with what they mean.
    pub const NAMES: [(&'static str, &'static str); 4] = [
        ("eager_max", "largest message in bytes that travels eagerly"),
        ("receiver_first_min", "receives of at least this many bytes announce themselves to the sender"),
        (
            "share_min",
            "messages of at least this many bytes are copied by both ranks, half each, if both wait",
        ),
        ("poll_limit", "letters handled in one poll of the mailbox"),
    ];

    /// What the fabric recommends.
    pub fn for_fabric(caps: &Caps) -> Tuning {
        Tuning {
            eager_max: caps.thresholds.eager_max,
            receiver_first_min: caps.thresholds.receiver_first_min,
            share_min: caps.thresholds.share_min,
            poll_limit: 32,
        }
    }

    /// Sets one number by its name; false if there is no such name.
    pub fn set(&mut self, name: &str, value: usize) -> bool {
        match name {
            "eager_max" => self.eager_max = value,
            "receiver_first_min" => self.receiver_first_min = value,
            "share_min" => self.share_min = value,
            "poll_limit" => self.poll_limit = value.max(1),
            _ => return false,
        }
        true
    }
}
