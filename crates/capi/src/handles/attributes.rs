//! Attributes cached on communicators, datatypes and windows (MPI section 7.7).
//!
//! The program's copy and delete functions may call MPI again, on the same object too: no borrow is held while one runs.

use core::ffi::{c_int, c_void};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::abi::constants::*;
use crate::errors::{Fault, Outcome};

/// Which objects a key is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Carrier {
    Comm,
    Type,
    Win,
}

/// The copy function of all carriers: their handles have the same representation.
pub(crate) type Copy = Option<
    unsafe extern "C-unwind" fn(usize, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int,
>;

/// The delete function of all carriers.
pub(crate) type Delete = Option<unsafe extern "C-unwind" fn(usize, c_int, *mut c_void, *mut c_void) -> c_int>;

/// A key. Attributes keep it alive after the program has freed it.
pub(crate) struct Keyval {
    number: c_int,
    carrier: Carrier,
    copy: Copy,
    delete: Delete,
    extra: *mut c_void,
}

// SAFETY: nothing of a key changes; the pointer is the program's own, and is only handed back to it.
unsafe impl Send for Keyval {}
// SAFETY: as above.
unsafe impl Sync for Keyval {}

/// The keys of a process, which several threads may make and free at once (MPI section 11.4.1).
pub(crate) struct Keyvals(Mutex<Known>);

/// Lists: a program has few keys, and a map of its own would be as large as all else that is done with them.
struct Known {
    /// By their numbers, which only grow.
    live: Vec<Arc<Keyval>>,
    /// Freed, but perhaps still in use. Only the program's own mistakes look here.
    freed: Vec<Weak<Keyval>>,
    next: c_int,
}

/// Above the predefined keys.
const FIRST: c_int = 0x1000;

impl Keyvals {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Known { live: Vec::new(), freed: Vec::new(), next: FIRST }))
    }

    pub(crate) fn create(&self, carrier: Carrier, copy: Copy, delete: Delete, extra: *mut c_void) -> c_int {
        let mut known = self.lock();
        let number = known.next;
        known.next += 1;
        known.live.push(Arc::new(Keyval { number, carrier, copy, delete, extra }));
        number
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().expect("nobody panics with it")
    }

    /// Frees a key. One that was freed may be freed again as long as an attribute uses it: several copies of its number may be about, and a
    /// delete function may free the key of what it deletes.
    pub(crate) fn free(&self, carrier: Carrier, number: c_int) -> Outcome {
        let found = self.find(carrier, number);
        let mut known = self.lock();
        known.freed.retain(|keyval| keyval.strong_count() > 0);
        match found {
            Ok(keyval) => {
                if let Some(at) = known.place(number) {
                    known.live.remove(at);
                    known.freed.push(Arc::downgrade(&keyval));
                }
                Ok(())
            }
            Err(fault) => {
                let is_this = |keyval: &Weak<Keyval>| keyval.upgrade().is_some_and(|it| it.number == number);
                if known.freed.iter().any(is_this) { Ok(()) } else { Err(fault) }
            }
        }
    }

    pub(crate) fn find(&self, carrier: Carrier, number: c_int) -> Outcome<Arc<Keyval>> {
        let known = self.lock();
        let found = known.place(number).map(|at| Arc::clone(&known.live[at]));
        drop(known);
        found.filter(|keyval| keyval.carrier == carrier).ok_or_else(|| {
            let text =
                format_args!("keyval is {number}, expected a key for this kind of object that was not freed");
            Fault::new(MPI_ERR_KEYVAL, text)
        })
    }
}

impl Known {
    fn place(&self, number: c_int) -> Option<usize> {
        self.live.binary_search_by_key(&number, |keyval| keyval.number).ok()
    }
}

/// The attributes of one object, in the order in which they were set.
#[derive(Default)]
pub(crate) struct Attributes(RefCell<Vec<(Arc<Keyval>, *mut c_void)>>);

impl Attributes {
    /// A key for an object's attribute. One that was freed serves as long as the object has the attribute (MPI section 7.7.2).
    pub(crate) fn key(&self, keyvals: &Keyvals, carrier: Carrier, number: c_int) -> Outcome<Arc<Keyval>> {
        let present = self.0.borrow().iter().find(|(keyval, _)| keyval.number == number).cloned();
        match present {
            Some((keyval, _)) => Ok(keyval),
            None => keyvals.find(carrier, number),
        }
    }

    pub(crate) fn get(&self, number: c_int) -> Option<*mut c_void> {
        self.0.borrow().iter().find(|(keyval, _)| keyval.number == number).map(|(_, value)| *value)
    }

    /// Sets an attribute; one that is there is deleted first.
    pub(crate) fn set(&self, object: usize, keyval: Arc<Keyval>, value: *mut c_void) -> Outcome {
        if self.get(keyval.number).is_some() {
            self.delete(object, keyval.number)?;
        }
        self.0.borrow_mut().push((keyval, value));
        Ok(())
    }

    /// Deletes an attribute, if it is there. It stays if its delete function fails.
    pub(crate) fn delete(&self, object: usize, number: c_int) -> Outcome {
        let found = self.0.borrow().iter().find(|(keyval, _)| keyval.number == number).cloned();
        let Some((keyval, value)) = found else { return Ok(()) };
        if let Some(delete) = keyval.delete.filter(|delete| *delete as usize != CALLBACK_NULL) {
            // SAFETY: the program registered this function for exactly these arguments.
            let code = unsafe { delete(object, number, value, keyval.extra) };
            if code != MPI_SUCCESS {
                return Err(Fault::from_callback("attribute delete function", code));
            }
        }
        self.0.borrow_mut().retain(|(keyval, _)| keyval.number != number);
        Ok(())
    }

    /// Deletes all attributes, the latest first (MPI section 11.2.3 asks for that on MPI_COMM_SELF).
    pub(crate) fn clear(&self, object: usize) -> Outcome {
        loop {
            let last = self.0.borrow().last().map(|(keyval, _)| keyval.number);
            match last {
                Some(number) => self.delete(object, number)?,
                None => return Ok(()),
            }
        }
    }

    /// Fills `copy`, the attributes of a duplicate, by the copy functions.
    pub(crate) fn copy_to(&self, object: usize, copy: &Attributes) -> Outcome {
        let attributes = self.0.borrow().clone();
        for (keyval, value) in attributes {
            let copied = match keyval.copy {
                None => None,
                Some(function) if function as usize == CALLBACK_DUP => Some(value),
                Some(function) => {
                    let (mut copied, mut flag) = (std::ptr::null_mut::<c_void>(), 0);
                    let out = (&raw mut copied).cast();
                    // SAFETY: the program registered this function for exactly these arguments.
                    let code =
                        unsafe { function(object, keyval.number, keyval.extra, value, out, &mut flag) };
                    if code != MPI_SUCCESS {
                        return Err(Fault::from_callback("attribute copy function", code));
                    }
                    (flag != 0).then_some(copied)
                }
            };
            if let Some(value) = copied {
                copy.0.borrow_mut().push((keyval, value));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use core::ffi::{c_int, c_void};

    use super::{Attributes, Carrier, Keyvals};

    unsafe extern "C-unwind" fn refuse(_: usize, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
        77
    }

    unsafe extern "C-unwind" fn double(
        _: usize,
        _: c_int,
        _: *mut c_void,
        value: *mut c_void,
        out: *mut c_void,
        flag: *mut c_int,
    ) -> c_int {
        // SAFETY: the caller passes the places of an attribute and of a flag.
        unsafe {
            out.cast::<usize>().write(value as usize * 2);
            flag.write(1);
        }
        0
    }

    #[test]
    fn a_duplicate_gets_what_the_copy_function_says_and_nothing_by_default() {
        let keyvals = Keyvals::new();
        let none = std::ptr::null_mut();
        let doubled = keyvals.create(Carrier::Comm, Some(double), None, none);
        let dropped = keyvals.create(Carrier::Comm, None, None, none);
        let (from, to) = (Attributes::default(), Attributes::default());
        for key in [doubled, dropped] {
            from.set(1, keyvals.find(Carrier::Comm, key).ok().unwrap(), 21 as *mut c_void).ok().unwrap();
        }
        keyvals.free(Carrier::Comm, doubled).ok().unwrap();
        assert!(keyvals.free(Carrier::Comm, doubled).is_ok(), "a key in use may be freed again");
        assert!(from.copy_to(1, &to).is_ok(), "a freed key still serves the attributes that have it");
        assert_eq!(to.get(doubled).map(|value| value as usize), Some(42));
        assert_eq!(to.get(dropped), None);
        drop((from, to));
        assert!(keyvals.free(Carrier::Comm, doubled).is_err(), "it is not in use any more");
    }

    #[test]
    fn an_attribute_stays_when_its_delete_function_fails() {
        let keyvals = Keyvals::new();
        let key = keyvals.create(Carrier::Type, None, Some(refuse), std::ptr::null_mut());
        let attributes = Attributes::default();
        attributes.set(1, keyvals.find(Carrier::Type, key).ok().unwrap(), std::ptr::null_mut()).ok().unwrap();
        assert_eq!(attributes.delete(1, key).err().map(|fault| fault.code()), Some(77));
        assert!(attributes.get(key).is_some());
        assert!(keyvals.find(Carrier::Comm, key).is_err(), "a key serves one kind of object");
    }
}
