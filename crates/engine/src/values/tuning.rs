//! Where protocols change, as data: defaults from the fabric, overridden by the user.

use fabric::Route;

/// The tunable numbers of a rank. The runtime starts from [`Tuning::for_route`] and applies the user's settings by name.
/// All ranks of a job have the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// Which protocol carries messages.
    pub protocol: Protocol,
    /// Largest message that travels eagerly.
    pub eager_max: usize,
    /// A posted receive of at least this size announces itself to the sender.
    pub receiver_first_min: usize,
    /// It does so only after this many rendezvous from that sender without one to it.
    pub one_way_min: usize,
    /// Messages of at least this size are copied by both ranks, half each, if both wait.
    pub share_min: usize,
    /// Messages of at least this size are moved by the DMA engine, where there is one.
    pub dma_min: usize,
    /// Largest message that is copied at the sender and leaves later.
    pub lazy_max: usize,
    /// Bytes that may wait in such copies.
    pub lazy_buffer: usize,
    /// Largest message that travels in letters where these turn out to be quicker.
    pub fresh_max: usize,
    /// Letters handled in one poll.
    pub poll_limit: usize,
}

/// Which protocol carries messages: the best by size, or always the same one, so that they can be compared. A forced protocol that
/// cannot carry a message (eager a synchronous send, lazy one that does not fit its buffer) leaves it to the next best.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Protocol {
    /// By size, locality and what the fabric can do.
    #[default]
    Auto,
    /// Rendezvous, the data put by the core (MPPA-MPI's MPI_Send).
    Pe,
    /// Rendezvous, the data put by the DMA engine (MPPA-MPI's MPI_Isend).
    Dma,
    /// In letters, in as many as it takes.
    Eager,
    /// Copied at the sender, put later by the agent.
    Lazy,
    /// LWMPI: inside a cluster the receiver copies out of the sender's buffer, elsewhere the path of five messages.
    Lwmpi,
    /// LWMPI without the local optimisation: the path of five messages everywhere.
    LwmpiUnopt,
}

impl Protocol {
    /// All of them with the names that users write.
    pub const NAMES: [(&'static str, Protocol); 7] = [
        ("auto", Protocol::Auto),
        ("pe", Protocol::Pe),
        ("dma", Protocol::Dma),
        ("eager", Protocol::Eager),
        ("lazy", Protocol::Lazy),
        ("lwmpi", Protocol::Lwmpi),
        ("lwmpi-unopt", Protocol::LwmpiUnopt),
    ];

    /// The protocol of this name.
    pub fn named(name: &str) -> Option<Protocol> {
        Protocol::NAMES.iter().find(|(known, _)| *known == name).map(|(_, protocol)| *protocol)
    }
}

impl Tuning {
    /// The names that [`Tuning::set`] knows, with what they mean.
    pub const NAMES: [(&'static str, &'static str); 9] = [
        ("eager_max", "largest message in bytes that travels eagerly"),
        ("receiver_first_min", "receives of at least this many bytes announce themselves to the sender"),
        (
            "one_way_min",
            "receives announce themselves only after this many rendezvous from that sender without one to it",
        ),
        (
            "share_min",
            "messages of at least this many bytes are copied by both ranks, half each, if both wait",
        ),
        ("dma_min", "messages of at least this many bytes are moved by the DMA engine, where there is one"),
        ("lazy_max", "largest message in bytes that is copied at the sender and leaves later"),
        ("lazy_buffer", "bytes that a rank may hold in such copies"),
        (
            "fresh_max",
            "largest message in bytes that travels in letters while its receiver finds the sender's memory slow to read, as what was just written is",
        ),
        ("poll_limit", "letters handled in one poll of the mailbox"),
    ];

    /// What the fabric recommends for peers that are reached by this route.
    pub fn for_route(route: &Route) -> Tuning {
        Tuning {
            protocol: Protocol::Auto,
            eager_max: route.thresholds.eager_max,
            receiver_first_min: route.thresholds.receiver_first_min,
            one_way_min: route.thresholds.one_way_min,
            share_min: route.thresholds.share_min,
            dma_min: route.thresholds.dma_min,
            lazy_max: route.thresholds.lazy_max,
            lazy_buffer: route.thresholds.lazy_buffer,
            fresh_max: route.thresholds.fresh_max,
            poll_limit: 32,
        }
    }

    /// One number by its name.
    pub fn get(&self, name: &str) -> Option<usize> {
        Some(match name {
            "eager_max" => self.eager_max,
            "receiver_first_min" => self.receiver_first_min,
            "one_way_min" => self.one_way_min,
            "share_min" => self.share_min,
            "dma_min" => self.dma_min,
            "lazy_max" => self.lazy_max,
            "lazy_buffer" => self.lazy_buffer,
            "fresh_max" => self.fresh_max,
            "poll_limit" => self.poll_limit,
            _ => return None,
        })
    }

    /// Sets one number by its name; false if there is no such name.
    pub fn set(&mut self, name: &str, value: usize) -> bool {
        match name {
            "eager_max" => self.eager_max = value,
            "receiver_first_min" => self.receiver_first_min = value,
            "one_way_min" => self.one_way_min = value,
            "share_min" => self.share_min = value,
            "dma_min" => self.dma_min = value,
            "lazy_max" => self.lazy_max = value,
            "lazy_buffer" => self.lazy_buffer = value,
            "fresh_max" => self.fresh_max = value,
            "poll_limit" => self.poll_limit = value.max(1),
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_that_has_a_name_is_set_and_read_by_it() {
        let mut tuning = Tuning {
            protocol: Protocol::Auto,
            eager_max: 0,
            receiver_first_min: 0,
            one_way_min: 0,
            share_min: 0,
            dma_min: 0,
            lazy_max: 0,
            lazy_buffer: 0,
            fresh_max: 0,
            poll_limit: 1,
        };
        for (value, (name, _)) in (100..).zip(Tuning::NAMES) {
            assert!(tuning.set(name, value), "{name}");
        }
        for (value, (name, _)) in (100..).zip(Tuning::NAMES) {
            assert_eq!(tuning.get(name), Some(value), "{name}");
        }
        assert_eq!(tuning.get("speed"), None);
    }
}
