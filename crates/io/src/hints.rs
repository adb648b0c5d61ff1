//! Hints of files (MPI section 14.2.8), under the names that programs know from other libraries.

/// Whether something is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    /// If it seems worth it.
    Automatic,
    /// Always.
    Enable,
    /// Never.
    Disable,
}

impl Switch {
    const fn name(self) -> &'static str {
        match self {
            Switch::Automatic => "automatic",
            Switch::Enable => "enable",
            Switch::Disable => "disable",
        }
    }

    fn of(name: &str) -> Option<Switch> {
        [Switch::Automatic, Switch::Enable, Switch::Disable].into_iter().find(|switch| switch.name() == name)
    }
}

/// What the program says about how it uses a file, or what is done without a word of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hints {
    /// Ranks that access the file for the others in a collective call (`cb_nodes`); 0: as many as there are cores for them.
    pub aggregators: u64,
    /// Bytes that each of them holds at a time (`cb_buffer_size`).
    pub window: u64,
    /// Whether they do (`romio_cb_read`, `romio_cb_write`).
    pub collects_reads: Switch,
    /// The same for writing.
    pub collects_writes: Switch,
    /// Bytes with gaps that are read at a time (`ind_rd_buffer_size`).
    pub read_sieve: u64,
    /// Bytes with gaps that are read and written back at a time (`ind_wr_buffer_size`).
    pub write_sieve: u64,
    /// Whether gaps are read, too (`romio_ds_read`).
    pub sieves_reads: Switch,
    /// Whether gaps are written back (`romio_ds_write`).
    pub sieves_writes: Switch,
    /// What file domains are aligned to (`striping_unit`).
    pub alignment: u64,
}

impl Default for Hints {
    fn default() -> Hints {
        Hints {
            aggregators: 0,
            window: 512 << 10,
            collects_reads: Switch::Automatic,
            collects_writes: Switch::Automatic,
            read_sieve: 4 << 20,
            write_sieve: 512 << 10,
            sieves_reads: Switch::Automatic,
            sieves_writes: Switch::Automatic,
            alignment: 1 << 20,
        }
    }
}

/// A place of a hint.
enum Place<'a> {
    Number(&'a mut u64),
    Switch(&'a mut Switch),
}

/// All keys.
const KEYS: [&str; 9] = [
    "cb_nodes",
    "cb_buffer_size",
    "romio_cb_read",
    "romio_cb_write",
    "ind_rd_buffer_size",
    "ind_wr_buffer_size",
    "romio_ds_read",
    "romio_ds_write",
    "striping_unit",
];

impl Hints {
    fn place(&mut self, key: &str) -> Option<Place<'_>> {
        Some(match key {
            "cb_nodes" => Place::Number(&mut self.aggregators),
            "cb_buffer_size" => Place::Number(&mut self.window),
            "romio_cb_read" => Place::Switch(&mut self.collects_reads),
            "romio_cb_write" => Place::Switch(&mut self.collects_writes),
            "ind_rd_buffer_size" => Place::Number(&mut self.read_sieve),
            "ind_wr_buffer_size" => Place::Number(&mut self.write_sieve),
            "romio_ds_read" => Place::Switch(&mut self.sieves_reads),
            "romio_ds_write" => Place::Switch(&mut self.sieves_writes),
            "striping_unit" => Place::Number(&mut self.alignment),
            _ => return None,
        })
    }

    /// Takes a hint up, if it is known and means something; MPI lets all others be ignored.
    pub fn heed(&mut self, key: &str, value: &str) {
        match self.place(key) {
            Some(Place::Number(number)) => {
                if let Some(value) = value.parse().ok().filter(|value| *value > 0) {
                    *number = value;
                }
            }
            Some(Place::Switch(switch)) => *switch = Switch::of(value).unwrap_or(*switch),
            None => {}
        }
    }

    /// The hints in force, those without a value of their own by what they come to with so many aggregators.
    pub fn each(&self, aggregators: u64, mut each: impl FnMut(&str, &str)) {
        let mut all = Hints { aggregators, ..self.clone() };
        for key in KEYS {
            match all.place(key) {
                Some(Place::Number(number)) => each(key, &number.to_string()),
                Some(Place::Switch(switch)) => each(key, switch.name()),
                None => {}
            }
        }
    }

    /// The keys that are known.
    pub const fn keys() -> &'static [&'static str] {
        &KEYS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_that_mean_something_are_told_again_and_others_are_not() {
        let mut hints = Hints::default();
        for (key, value) in [
            ("cb_buffer_size", "4096"),
            ("romio_ds_write", "disable"),
            ("cb_nodes", "many"),
            ("romio_cb_read", "perhaps"),
            ("ind_rd_buffer_size", "0"),
            ("unknown", "1"),
        ] {
            hints.heed(key, value);
        }
        assert_eq!(hints, Hints { window: 4096, sieves_writes: Switch::Disable, ..Hints::default() });
        let mut told = Vec::new();
        hints.each(3, |key, value| told.push((key.to_owned(), value.to_owned())));
        assert_eq!(told.len(), KEYS.len());
        assert_eq!(told[0], ("cb_nodes".to_owned(), "3".to_owned()));
        assert_eq!(told[7], ("romio_ds_write".to_owned(), "disable".to_owned()));
    }
}
