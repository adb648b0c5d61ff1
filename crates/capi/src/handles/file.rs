//! Files (MPI chapter 14): what the C interface has of them beside the file itself, and the representations of data that the program has registered.

use core::ffi::{c_int, c_void};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard};

use engine::{Counted, Group};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::handles::{Errhandler, Kind, Table, Type};

/// An open file of the program.
pub(crate) struct File {
    pub(crate) file: io::File,
    pub(crate) group: Group,
    pub(crate) amode: c_int,
    pub(crate) errhandler: RefCell<Arc<Errhandler>>,
    pub(crate) seen: RefCell<Seen>,
    handle: Cell<MPI_File>,
}

/// What the program said of its view.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) disp: MPI_Offset,
    pub(crate) etype: Counted<Type>,
    pub(crate) filetype: Counted<Type>,
    pub(crate) name: String,
    /// Functions of the program's, if they are used.
    pub(crate) datarep: Option<Arc<Datarep>>,
}

impl File {
    pub(crate) fn new(
        file: io::File,
        group: Group,
        amode: c_int,
        errhandler: Arc<Errhandler>,
        seen: Seen,
    ) -> File {
        File {
            file,
            group,
            amode,
            errhandler: RefCell::new(errhandler),
            seen: RefCell::new(seen),
            handle: Cell::new(MPI_FILE_NULL),
        }
    }

    /// The handle under which it is stored.
    pub(crate) fn handle(&self) -> MPI_File {
        self.handle.get()
    }
}

/// The open files of a process.
pub(crate) struct Files(Table<Rc<File>>);

impl Files {
    pub(crate) const fn new() -> Self {
        Self(Table::new(Kind::File))
    }

    pub(crate) fn get(&self, handle: MPI_File) -> Option<Rc<File>> {
        self.0.get(handle.0)
    }

    /// Keeps a file that is used in this lane.
    pub(crate) fn insert(&self, lane: u32, file: File) -> MPI_File {
        let file = Rc::new(file);
        let handle = MPI_File(self.0.insert_in(lane, Rc::clone(&file)));
        file.handle.set(handle);
        handle
    }

    pub(crate) fn remove(&self, handle: MPI_File) -> Option<Rc<File>> {
        self.0.remove(handle.0)
    }

    pub(crate) fn table(&self) -> &Table<Rc<File>> {
        &self.0
    }
}

/// A function that converts data between memory and file.
#[derive(Clone, Copy)]
pub(crate) enum Conversion {
    /// Data is the same on both sides.
    None,
    Small(
        unsafe extern "C-unwind" fn(
            *mut c_void,
            MPI_Datatype,
            c_int,
            *mut c_void,
            MPI_Offset,
            *mut c_void,
        ) -> c_int,
    ),
    Large(
        unsafe extern "C-unwind" fn(
            *mut c_void,
            MPI_Datatype,
            MPI_Count,
            *mut c_void,
            MPI_Offset,
            *mut c_void,
        ) -> c_int,
    ),
}

/// A representation of data that the program has registered (MPI section 14.5.3).
pub(crate) struct Datarep {
    pub(crate) name: String,
    pub(crate) read: Conversion,
    pub(crate) write: Conversion,
    pub(crate) extent: MPI_Datarep_extent_function,
    pub(crate) extra: *mut c_void,
}

// SAFETY: what the address means is the program's business, whose functions get it on whichever thread calls them.
unsafe impl Send for Datarep {}
// SAFETY: as above; nothing in it changes.
unsafe impl Sync for Datarep {}

/// Those of a process, for all lanes. They stay until it ends.
#[derive(Default)]
pub(crate) struct Datareps(Mutex<Vec<Arc<Datarep>>>);

impl Datareps {
    fn known(&self) -> MutexGuard<'_, Vec<Arc<Datarep>>> {
        self.0.lock().expect("nobody panics with it")
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<Datarep>> {
        self.known().iter().find(|known| known.name == name).cloned()
    }

    pub(crate) fn add(&self, datarep: Datarep) {
        self.known().push(Arc::new(datarep));
    }
}
