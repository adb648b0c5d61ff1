//! Put and get (MPI section 12.3). The origin applies the target's datatype to the target's memory.

use crate::progress::tables::watch::Access;
use crate::rank::Rank;
use crate::rank::window::errand::Wish;
use crate::rank::window::{Aim, Window};
use crate::values::error::{Error, Result};
use crate::values::memory::place::Place;
use crate::values::memory::{RecvBuffer, Region, SendBuffer};

/// Bytes of scattered data that are gathered at a time.
const GATHERED: u64 = 256 << 10;

impl Rank {
    /// Writes data of this rank to a target.
    #[inline]
    pub fn put(&self, window: &Window, from: &SendBuffer, aim: &Aim<'_>) -> Result<()> {
        let target = window.target(aim.target)?;
        self.tell_access(window, aim, Access::Put);
        window.stored.set(true);
        if aim.datatype.layout().is_contiguous()
            && let Some(bytes) = from.contiguous()
            && bytes.len() as u64 <= aim.bytes()
            && let Some(near) = target.near(aim.displacement, bytes.len() as u64)
        {
            near.store(bytes);
            return Ok(());
        }
        self.put_apart(window, from, aim)
    }

    /// Reads data of a target.
    #[inline]
    pub fn get(&self, window: &Window, into: &RecvBuffer, aim: &Aim<'_>) -> Result<()> {
        let target = window.target(aim.target)?;
        self.tell_access(window, aim, Access::Get);
        let bytes = aim.bytes();
        if aim.datatype.layout().is_contiguous()
            && into.is_contiguous()
            && bytes <= into.bytes()
            && let Some(near) = target.near(aim.displacement, bytes)
        {
            near.load(into, bytes as usize);
            return Ok(());
        }
        self.get_apart(window, into, aim)
    }

    /// What is scattered, far, or wrong.
    #[inline(never)]
    fn put_apart(&self, window: &Window, from: &SendBuffer, aim: &Aim<'_>) -> Result<()> {
        from.check()?;
        let bytes = from.bytes();
        fits(bytes, aim.bytes())?;
        if bytes == 0 {
            return Ok(());
        }
        let place = window.place(self, aim, bytes.div_ceil(aim.datatype.size()))?;
        if let Place::Near(near) = place {
            Region::from(from).copy_to(&near.region(aim.count, aim.datatype));
            return Ok(());
        }
        if let Some(all) = from.contiguous() {
            if let Place::Far(_, _, at) = place
                && aim.datatype.layout().is_contiguous()
                && self.ask(window, aim.target, (Wish::Put, at, all.len()), [all, &[]], &mut [])?
            {
                return Ok(());
            }
            return self
                .store(&place, aim.datatype, 0, all)
                .map_err(|error| window.failed(aim.target, error));
        }
        let mut packed = alloc::vec![0; bytes.min(GATHERED) as usize];
        for at in (0..bytes).step_by(GATHERED as usize) {
            let part = &mut packed[..(bytes - at).min(GATHERED) as usize];
            from.pack(at, part);
            self.store(&place, aim.datatype, at, part).map_err(|error| window.failed(aim.target, error))?;
        }
        Ok(())
    }

    #[inline(never)]
    fn get_apart(&self, window: &Window, into: &RecvBuffer, aim: &Aim<'_>) -> Result<()> {
        into.check()?;
        let bytes = aim.bytes();
        fits(bytes, into.bytes())?;
        if bytes == 0 {
            return Ok(());
        }
        let place = window.place(self, aim, aim.count)?;
        if let Place::Near(near) = place {
            near.region(aim.count, aim.datatype).copy_to(&Region::from(into));
            return Ok(());
        }
        if into.is_contiguous() {
            if let Place::Far(_, _, at) = place
                && aim.datatype.layout().is_contiguous()
                && let len = bytes as usize
                && into
                    .fill(len, |all| self.ask(window, aim.target, (Wish::Get, at, len), [&[], &[]], all))?
            {
                return Ok(());
            }
            return into
                .fill(bytes as usize, |all| self.load(&place, aim.datatype, 0, all))
                .map_err(|error| window.failed(aim.target, error));
        }
        let mut packed = alloc::vec![0; bytes.min(GATHERED) as usize];
        for at in (0..bytes).step_by(GATHERED as usize) {
            let part = &mut packed[..(bytes - at).min(GATHERED) as usize];
            self.load(&place, aim.datatype, at, part).map_err(|error| window.failed(aim.target, error))?;
            into.unpack(at, part);
        }
        Ok(())
    }
}

/// An error unless what is moved has room.
pub(super) fn fits(moved: u64, room: u64) -> Result<()> {
    if moved <= room { Ok(()) } else { Err(Error::WindowLength { moved, room }) }
}
