//! An open file of many ranks.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use engine::{Crossing, Datatype, RequestId};

use crate::collective::{Access, Common, Data, Order, aggregators};
use crate::desk::Desk;
use crate::error::{Error, Kind, Result};
use crate::hints::Hints;
use crate::meeting::{agree, judge, meet, verdict};
use crate::memory::{Sink, Source};
use crate::mode::Mode;
use crate::pointer::SharedPointer;
use crate::view::{Representation, View, external_extent};

/// An open file.
pub struct File {
    common: Rc<Common>,
    desk: Rc<Desk>,
    mode: Mode,
    hints: RefCell<Hints>,
    view: RefCell<View>,
    /// The pointer of this rank, in elementary units of the view.
    position: Cell<i64>,
    shared: Rc<SharedPointer>,
    atomic: Cell<bool>,
    /// Ranks lock what they write: the view of one of them has, or had, gaps.
    locks: Cell<bool>,
    /// How many collective accesses there were.
    number: Cell<u32>,
    /// The split collective access that has begun, and what the program calls it.
    split: Cell<Option<(RequestId, &'static str)>>,
}

/// Where an access begins (MPI section 14.4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whence {
    /// At an offset from the beginning of the view, in elementary units.
    At(i64),
    /// At this rank's pointer.
    Own,
    /// At the pointer that all ranks share.
    Shared,
}

impl File {
    pub(crate) fn of(common: Rc<Common>, mode: Mode, hints: Hints, pointer: SharedPointer) -> File {
        File {
            desk: Desk::new(common.rank),
            common,
            mode,
            hints: RefCell::new(hints),
            view: RefCell::new(View::bytes()),
            position: Cell::new(0),
            shared: Rc::new(pointer),
            atomic: Cell::new(false),
            locks: Cell::new(false),
            number: Cell::new(0),
            split: Cell::new(None),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.common.handle.name()
    }

    /// How it was opened.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    fn wrong(&self, kind: Kind, text: std::fmt::Arguments<'_>) -> Error {
        Error::new(kind, format_args!("file \"{}\": {text}", self.name()))
    }

    /// Closes it. Collective.
    pub fn close(&self, home: Option<&Crossing<'_>>) -> Result {
        let Common { rank, comm, handle, .. } = &*self.common;
        if let Some((_, call)) = self.split.get() {
            let text =
                format_args!("{call} has begun and not ended, expected its end before the file is closed");
            return Err(self.wrong(Kind::UnsupportedOperation, text));
        }
        self.desk.drain()?;
        // Nobody reaches for the shared pointer any more, and nobody opens what is to be deleted.
        meet(rank, comm, [0; 8])?;
        self.shared.free(home)?;
        let deleted = if self.mode.deletes && comm.rank() == 0 {
            match std::fs::remove_file(handle.name()) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(Error::of_system(handle.name(), "deletion", &error))
                }
                _ => Ok(()),
            }
        } else {
            Ok(())
        };
        if self.mode.deletes { agree(rank, comm, "deletion of the file", deleted) } else { Ok(()) }
    }

    /// Bytes of the file.
    pub fn size(&self) -> Result<u64> {
        self.common.handle.size()
    }

    /// Makes the file so long. Collective.
    pub fn set_size(&self, bytes: i64) -> Result {
        self.by_the_first(bytes, |bytes| self.common.handle.set_size(bytes))
    }

    /// Has the system find room for so many bytes, by which the file becomes longer, never shorter. Collective.
    pub fn preallocate(&self, bytes: i64) -> Result {
        self.by_the_first(bytes, |bytes| self.common.handle.preallocate(bytes))
    }

    fn by_the_first(&self, bytes: i64, act: impl FnOnce(u64) -> Result) -> Result {
        let Common { rank, comm, .. } = &*self.common;
        let done = match u64::try_from(bytes) {
            Err(_) => {
                Err(self.wrong(Kind::Argument, format_args!("size is {bytes}, expected zero or more bytes")))
            }
            Ok(_) if !self.mode.writes => Err(self.read_only()),
            Ok(_) if self.mode.sequential => Err(self.not_sequential()),
            Ok(bytes) if comm.rank() == 0 => act(bytes),
            Ok(_) => Ok(()),
        };
        let mut mine = verdict(&done);
        mine[1] = bytes as u64;
        let said = meet(rank, comm, mine)?;
        judge(&format!("changing the size of file \"{}\"", self.name()), done, &said)?;
        if let Some(member) = said.iter().position(|words| words[1] != bytes as u64) {
            let text = format_args!(
                "size is {bytes}, but rank {member} has another, expected the same at all ranks"
            );
            return Err(self.wrong(Kind::NotSame, text));
        }
        Ok(())
    }

    /// Brings what this rank has written to the disk. Collective.
    pub fn sync(&self) -> Result {
        let synced = if self.mode.writes { self.common.handle.sync() } else { Ok(()) };
        agree(self.common.rank, &self.common.comm, "synchronisation", synced)
    }

    /// Whether accesses are atomic: each as a whole before or after each other one. Collective.
    pub fn set_atomic(&self, atomic: bool) -> Result {
        let said = meet(self.common.rank, &self.common.comm, [u64::from(atomic), 0, 0, 0, 0, 0, 0, 0])?;
        if said.iter().any(|words| words[0] != u64::from(atomic)) {
            let text = format_args!("flag differs between ranks, expected the same at all");
            return Err(self.wrong(Kind::NotSame, text));
        }
        self.atomic.set(atomic);
        Ok(())
    }

    /// Whether they are.
    pub fn is_atomic(&self) -> bool {
        self.atomic.get()
    }

    /// The hints in force.
    pub fn hints(&self, each: impl FnMut(&str, &str)) {
        let hints = self.hints.borrow();
        hints.each(aggregators(&hints, &self.common), each);
    }

    /// Takes hints up.
    pub fn heed(&self, key: &str, value: &str) {
        self.hints.borrow_mut().heed(key, value);
    }

    /// Sees the file by another view; all pointers are at its beginning. Collective.
    pub fn set_view(&self, view: Result<View>) -> Result {
        let Common { rank, comm, .. } = &*self.common;
        let view = view.and_then(|view| match self.split.get() {
            Some((_, call)) => Err(self.wrong(Kind::UnsupportedOperation, format_args!("{call} has begun and not ended"))),
            None if self.mode.writes => view.to_write().ok_or_else(|| self.wrong(
                Kind::Io,
                format_args!("filetype has bytes that lie on others, expected none in a file that is opened to be written"),
            )),
            None => Ok(view),
        });
        if comm.rank() == 0 && view.is_ok() {
            self.shared.set(0)?;
        }
        let mut words = verdict(&view);
        words[1] = u64::from(view.as_ref().is_ok_and(|view| !view.pattern.is_contiguous()));
        let said = meet(rank, comm, words)?;
        let view = judge("setting of the view", view, &said)?;
        self.view.replace(view);
        self.position.set(0);
        self.lock_if(said.iter().any(|words| words[1] != 0));
        Ok(())
    }

    /// Ranks lock what they write from the first view with gaps on, which are written back. That they go on when there are none any more costs them
    /// little; programs that change their view for each access would pay more for announcements.
    fn lock_if(&self, some_have_gaps: bool) {
        if some_have_gaps && self.mode.writes && !self.locks.replace(true) {
            self.common.handle.recall();
        }
    }

    /// How data lies in the file.
    pub fn representation(&self) -> Representation {
        self.view.borrow().representation
    }

    /// Bytes from one element to the next in the file.
    pub fn extent(&self, datatype: &Datatype) -> Result<i64> {
        match self.representation() {
            Representation::External32 => external_extent(datatype),
            _ => Ok(datatype.extent()),
        }
    }

    /// Where in the file an elementary unit of the view lies.
    pub fn byte_offset(&self, offset: i64) -> Result<i64> {
        let view = self.view.borrow();
        Ok(view.pattern.place(self.stream_position(offset, view.unit)?) as i64)
    }

    /// The displacement of a view which begins where the shared pointer is (MPI_DISPLACEMENT_CURRENT). Collective: it is read before anybody moves it.
    pub fn current_displacement(&self) -> Result<i64> {
        let here = self.byte_offset(self.shared.value()?)?;
        let said = meet(self.common.rank, &self.common.comm, [here as u64, 0, 0, 0, 0, 0, 0, 0])?;
        Ok(said[0][0] as i64)
    }

    /// Where this rank's pointer is, in elementary units.
    pub fn position(&self) -> Result<i64> {
        self.not_if_sequential()?;
        Ok(self.position.get())
    }

    /// Where the shared pointer is.
    pub fn shared_position(&self) -> Result<i64> {
        self.shared.value()
    }

    /// Moves this rank's pointer.
    pub fn seek(&self, to: i64) -> Result {
        self.not_if_sequential()?;
        self.not_before_the_view(to)?;
        self.position.set(to);
        Ok(())
    }

    /// Moves the shared pointer. Collective.
    pub fn seek_shared(&self, to: Result<i64>) -> Result {
        let Common { rank, comm, .. } = &*self.common;
        self.not_if_sequential()?;
        let checked = to.and_then(|to| self.not_before_the_view(to).map(|()| to));
        let to = agree(rank, comm, "moving of the shared pointer", checked)?;
        let said = meet(rank, comm, [to as u64, 0, 0, 0, 0, 0, 0, 0])?;
        if let Some(member) = said.iter().position(|words| words[0] != said[0][0]) {
            let text = format_args!(
                "offset leads to {} at rank 0 and to {} at rank {member}, expected the same place at all ranks",
                said[0][0], said[member][0]
            );
            return Err(self.wrong(Kind::NotSame, text));
        }
        if comm.rank() == 0 {
            self.shared.set(to)?;
        }
        meet(rank, comm, [0; 8])?;
        Ok(())
    }

    /// The end of the file, in elementary units of the view: the first that lies behind all bytes.
    pub fn end(&self) -> Result<i64> {
        let view = self.view.borrow();
        Ok(view.pattern.position_of(self.size()?).div_ceil(view.unit) as i64)
    }

    pub(crate) fn move_all_to(&self, position: i64) -> Result {
        self.position.set(position);
        if self.common.comm.rank() == 0 {
            self.shared.set(position)?;
        }
        meet(self.common.rank, &self.common.comm, [0; 8]).map(drop)
    }

    fn not_before_the_view(&self, to: i64) -> Result {
        if to >= 0 {
            return Ok(());
        }
        Err(self
            .wrong(Kind::Argument, format_args!("offset leads to {to}, expected no place before the view")))
    }

    fn not_sequential(&self) -> Error {
        let text = format_args!(
            "it was opened with MPI_MODE_SEQUENTIAL, expected accesses by the shared pointer only"
        );
        self.wrong(Kind::UnsupportedOperation, text)
    }

    fn not_if_sequential(&self) -> Result {
        if self.mode.sequential { Err(self.not_sequential()) } else { Ok(()) }
    }

    fn read_only(&self) -> Error {
        self.wrong(
            Kind::ReadOnly,
            format_args!("it was opened with MPI_MODE_RDONLY, expected one that may be written"),
        )
    }

    fn stream_position(&self, offset: i64, unit: u64) -> Result<u64> {
        let position = u64::try_from(offset).ok().and_then(|offset| offset.checked_mul(unit));
        position.filter(|position| *position <= i64::MAX as u64).ok_or_else(|| {
            self.wrong(
                Kind::Argument,
                format_args!("offset is {offset}, expected zero or more elementary units"),
            )
        })
    }

    /// What is done for an access, once it is known to be possible: the pointer moves behind it.
    fn order(&self, data: Data, whence: Whence, by_threads: bool) -> Result<(Order, i64)> {
        if whence != Whence::Shared {
            self.not_if_sequential()?;
        }
        let (order, units) = self.order_anywhere(data, by_threads)?;
        let from = match whence {
            Whence::At(offset) => offset,
            Whence::Own => {
                let from = self.position.get();
                self.position.set(from + units);
                from
            }
            Whence::Shared => self.shared.add(units)?,
        };
        let start = self.stream_position(from, self.view.borrow().unit)?;
        if start.checked_add(order.data.bytes()).is_none_or(|end| end > i64::MAX as u64) {
            let text = format_args!(
                "offset is {from}, expected one from which on there are offsets for {units} units"
            );
            return Err(self.wrong(Kind::Argument, text));
        }
        if let Some(end) = order.pattern.end().filter(|end| start + order.data.bytes() > *end) {
            let text = format_args!(
                "offset is {from} and {units} units are accessed, expected an access inside of the first copy of filetype, which is {end} bytes of data: \
                 the second would lie before the end of it"
            );
            return Err(self.wrong(Kind::Argument, text));
        }
        Ok((Order { start, ..order }, from))
    }

    /// The same without a place; and how many elementary units are accessed.
    fn order_anywhere(&self, data: Data, by_threads: bool) -> Result<(Order, i64)> {
        let view = self.view.borrow();
        if data.writes() && !self.mode.writes {
            return Err(self.read_only());
        }
        if !data.writes() && !self.mode.reads {
            let text = format_args!("it was opened with MPI_MODE_WRONLY, expected one that may be read");
            return Err(self.wrong(Kind::Access, text));
        }
        let bytes = data.bytes();
        if !bytes.is_multiple_of(view.unit) {
            let text = format_args!(
                "count and datatype are {bytes} bytes in the file, expected a multiple of the {} bytes of the view's etype",
                view.unit
            );
            return Err(self.wrong(Kind::Io, text));
        }
        let order = Order {
            common: Rc::clone(&self.common),
            data,
            pattern: view.pattern.clone(),
            start: 0,
            overlaps: view.overlaps,
            locks: self.locks.get(),
            hints: self.hints.borrow().clone(),
            atomic: self.atomic.get(),
            number: 0,
            by_threads,
            exposed: None,
        };
        Ok((order, (bytes / view.unit) as i64))
    }

    /// Reads now; how many bytes of the program's memory.
    pub fn read(&self, sink: Sink, whence: Whence) -> Result<u64> {
        let (native, bytes) = (sink.native_bytes(), sink.bytes());
        let (order, from) = self.order(Data::Read(sink), whence, false)?;
        let found = order.now()?;
        self.came(whence, from, found, native, bytes);
        Ok(found)
    }

    /// Where the file has ended before all was read, the own pointer stands there.
    fn came(&self, whence: Whence, from: i64, found: u64, native: u64, bytes: u64) {
        if whence == Whence::Own && found < native {
            // In the same proportion, if the file has another representation.
            let moved = (u128::from(found) * u128::from(bytes) / u128::from(native)) as u64;
            self.position.set(from + (moved / self.view.borrow().unit) as i64);
        }
    }

    /// Writes now; how many bytes of the program's memory.
    pub fn write(&self, source: Source, whence: Whence) -> Result<u64> {
        let (order, _) = self.order(Data::Write(source), whence, false)?;
        order.now()
    }

    /// Begins to read.
    pub fn begin_read(&self, sink: Sink, whence: Whence) -> Result<RequestId> {
        let (order, _) = self.order(Data::Read(sink), whence, true)?;
        self.desk.begin(Access::independent(order))
    }

    /// Begins to write.
    pub fn begin_write(&self, source: Source, whence: Whence) -> Result<RequestId> {
        let (order, _) = self.order(Data::Write(source), whence, true)?;
        self.desk.begin(Access::independent(order))
    }

    /// Reads together with all other ranks of the file; in their order, if by the shared pointer. Waits for them.
    pub fn read_all(&self, sink: Sink, whence: Whence) -> Result<u64> {
        let (native, bytes, from) = (sink.native_bytes(), sink.bytes(), self.position.get());
        let request = self.begin_all(Data::Read(sink), whence, false)?;
        let found = self.common.rank.wait(request)?.bytes;
        self.came(whence, from, found, native, bytes);
        Ok(found)
    }

    /// Writes together with all other ranks of the file; in their order, if by the shared pointer. Waits for them.
    pub fn write_all(&self, source: Source, whence: Whence) -> Result<u64> {
        let request = self.begin_all(Data::Write(source), whence, false)?;
        Ok(self.common.rank.wait(request)?.bytes)
    }

    /// As [`read_all`](File::read_all), without waiting.
    pub fn begin_read_all(&self, sink: Sink, whence: Whence) -> Result<RequestId> {
        self.begin_all(Data::Read(sink), whence, true)
    }

    /// As [`write_all`](File::write_all), without waiting.
    pub fn begin_write_all(&self, source: Source, whence: Whence) -> Result<RequestId> {
        self.begin_all(Data::Write(source), whence, true)
    }

    fn begin_all(&self, data: Data, whence: Whence, by_threads: bool) -> Result<RequestId> {
        let number = self.number.get();
        self.number.set(number.wrapping_add(1));
        let access = if whence == Whence::Shared {
            let (order, _) = self.order_anywhere(data, by_threads)?;
            if order.pattern.end().is_some() {
                let text = format_args!(
                    "its filetype lies before its own end when it is repeated, expected one whose copies follow each other"
                );
                return Err(self.wrong(Kind::UnsupportedOperation, text));
            }
            Access::ordered(Order { number, ..order }, &self.shared, self.view.borrow().unit)?
        } else {
            let (order, _) = self.order(data, whence, by_threads)?;
            Access::collective(Order { number, ..order })?
        };
        self.desk.begin(access)
    }

    /// Begins a split collective access, which `call` is the name of.
    pub fn begin_split(&self, call: &'static str, begin: impl FnOnce(&File) -> Result<RequestId>) -> Result {
        if let Some((_, other)) = self.split.get() {
            let text = format_args!("{other} has begun and not ended, expected one split access at a time");
            return Err(self.wrong(Kind::UnsupportedOperation, text));
        }
        self.split.set(Some((begin(self)?, call)));
        Ok(())
    }

    /// Ends it; how many bytes of the program's memory.
    pub fn end_split(&self, call: &'static str) -> Result<u64> {
        match self.split.get() {
            Some((request, begun)) if begun == call => {
                self.split.set(None);
                Ok(self.common.rank.wait(request)?.bytes)
            }
            other => {
                let begun = other.map_or("nothing", |(_, begun)| begun);
                let text = format_args!("{begun} has begun, expected {call} before its end");
                Err(self.wrong(Kind::UnsupportedOperation, text))
            }
        }
    }
}
