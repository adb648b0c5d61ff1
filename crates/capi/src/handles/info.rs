//! Info objects: ordered pairs of strings (MPI chapter 10).
//!
//! They may be used by several threads at once, at every thread level and at any time (MPI section 11.4.1): hence the locks.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use engine::Quiet;

use crate::abi::constants::*;
use crate::abi::types::MPI_Info;
use crate::handles::{Kind, Table};

/// An info object.
#[derive(Default)]
pub(crate) struct Info(Quiet<Mutex<Vec<(String, String)>>>);

impl Info {
    fn pairs(&self) -> MutexGuard<'_, Vec<(String, String)>> {
        self.0.lock().expect("nobody panics with it")
    }

    pub(crate) fn set(&self, key: &str, value: &str) {
        let mut pairs = self.pairs();
        match pairs.iter_mut().find(|(present, _)| present == key) {
            Some((_, present)) => value.clone_into(present),
            None => pairs.push((key.to_owned(), value.to_owned())),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<String> {
        self.pairs().iter().find(|(present, _)| present == key).map(|(_, value)| value.clone())
    }

    /// Whether there was such a key.
    pub(crate) fn delete(&self, key: &str) -> bool {
        let mut pairs = self.pairs();
        let before = pairs.len();
        pairs.retain(|(present, _)| present != key);
        pairs.len() < before
    }

    pub(crate) fn len(&self) -> usize {
        self.pairs().len()
    }

    pub(crate) fn key(&self, index: usize) -> Option<String> {
        self.pairs().get(index).map(|(key, _)| key.clone())
    }

    /// An independent copy.
    pub(crate) fn copy(&self) -> Info {
        Info(Quiet::new(Mutex::new(self.pairs().clone())))
    }
}

/// The info objects of a process.
pub(crate) struct Infos {
    environment: OnceLock<Arc<Info>>,
    table: Mutex<Table<Arc<Info>>>,
}

impl Infos {
    pub(crate) const fn new() -> Self {
        Self { environment: OnceLock::new(), table: Mutex::new(Table::new(Kind::Info)) }
    }

    pub(crate) fn get(&self, handle: MPI_Info) -> Option<Arc<Info>> {
        if handle == MPI_INFO_ENV {
            Some(Arc::clone(self.environment.get_or_init(Arc::default)))
        } else {
            self.table().get(handle.0)
        }
    }

    pub(crate) fn insert(&self, info: Info) -> MPI_Info {
        MPI_Info(self.table().insert(Arc::new(info)))
    }

    pub(crate) fn remove(&self, handle: MPI_Info) -> Option<Arc<Info>> {
        self.table().remove(handle.0)
    }

    pub(crate) fn table(&self) -> MutexGuard<'_, Table<Arc<Info>>> {
        self.table.lock().expect("nobody panics with it")
    }
}

#[cfg(test)]
mod tests {
    use super::Info;

    #[test]
    fn keys_keep_their_order_and_a_second_set_overwrites() {
        let info = Info::default();
        info.set("b", "1");
        info.set("a", "2");
        info.set("b", "3");
        assert_eq!((info.key(0).as_deref(), info.key(1).as_deref(), info.len()), (Some("b"), Some("a"), 2));
        assert_eq!(info.get("b").as_deref(), Some("3"));
        let copy = info.copy();
        assert!(info.delete("b") && !info.delete("b"));
        assert_eq!((info.len(), copy.len()), (1, 2));
    }
}
