//! What a rank sees of a file (MPI section 14.3): the bytes that its file type names, from a displacement on, in elementary units.

use engine::Datatype;
use engine::datatype::{Block, Layout};

use crate::error::{Error, Kind, Result};
use crate::pattern::{Order, Pattern};

/// How data lies in the file (MPI section 14.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Representation {
    /// As in memory.
    Native,
    /// As this library likes, which is as in memory.
    Internal,
    /// Big-endian IEEE, which every MPI library reads.
    External32,
    /// As functions of the program make it.
    Registered,
}

/// A view of a file.
#[derive(Clone, Debug)]
pub struct View {
    pub(crate) pattern: Pattern,
    /// Bytes of an elementary unit in the file.
    pub(crate) unit: u64,
    /// Some of its bytes lie on others: it is to read only.
    pub(crate) overlaps: bool,
    /// How data lies in the file.
    pub representation: Representation,
}

impl View {
    /// All bytes of the file, as they are.
    pub fn bytes() -> View {
        let pattern = Pattern::whole();
        View { pattern, unit: 1, overlaps: false, representation: Representation::Native }
    }

    /// A view whose elementary units are `etype`, which is `unit` bytes from one to the next in the file.
    pub fn new(
        displacement: i64,
        etype: &Datatype,
        filetype: &Datatype,
        unit: i64,
        representation: Representation,
    ) -> Result<View> {
        let wrong = |text: std::fmt::Arguments<'_>| Err(Error::new(Kind::Argument, text));
        // What the standard forbids file types without naming a class for it has that of other libraries.
        let forbidden = |text: std::fmt::Arguments<'_>| Err(Error::new(Kind::Io, text));
        let Ok(start) = u64::try_from(displacement) else {
            return wrong(format_args!("disp is {displacement}, expected zero or more bytes"));
        };
        let layout = filetype.layout();
        if etype.size() == 0 && layout.size() > 0 || !layout.size().is_multiple_of(etype.size().max(1)) {
            return wrong(format_args!(
                "filetype has {} bytes of data, expected a multiple of the {} bytes of etype",
                layout.size(),
                etype.size()
            ));
        }
        if layout.size() > 0 && (layout.true_lower_bound() < 0 || layout.extent() <= 0) {
            return forbidden(format_args!(
                "filetype has its first byte at {} and an extent of {} bytes, expected no displacement before the view and an extent of \
                 one or more",
                layout.true_lower_bound(),
                layout.extent()
            ));
        }
        let (layout, bytes) = if unit == etype.extent() {
            (layout.clone(), etype.size())
        } else {
            (scaled(etype, filetype, unit)?, unit as u64)
        };
        let (pattern, order) = Pattern::new(start, layout).in_order();
        if order == Order::Backwards {
            return forbidden(format_args!(
                "filetype has displacements that go back, expected each at the one before it or behind it"
            ));
        }
        let overlaps = order == Order::Overlapping;
        Ok(View { pattern, unit: bytes.max(1), overlaps, representation })
    }

    /// What of it may be written: where copies of the file type lie on each other, the first of them; none if it has bytes that lie on others itself.
    pub fn to_write(self) -> Option<View> {
        if !self.overlaps {
            return Some(self);
        }
        let (pattern, order) = self.pattern.once();
        (order == Order::Apart).then_some(View { pattern, overlaps: false, ..self })
    }
}

/// The file type in a representation in which its units have another length: they must lie side by side in it, so that its displacements are
/// multiples of them.
fn scaled(etype: &Datatype, filetype: &Datatype, unit: i64) -> Result<Layout> {
    let (there, here) = (unit, etype.extent());
    let refused = || {
        let text = "filetype has gaps that are no multiples of etype, expected one whose displacements can be converted";
        Error::new(Kind::Conversion, text)
    };
    if !etype.layout().is_contiguous() || here <= 0 || there <= 0 {
        return Err(refused());
    }
    let scale = |number: i64| {
        (number % here == 0).then(|| (number / here).checked_mul(there)).flatten().ok_or_else(refused)
    };
    let (mut blocks, mut outcome) = (Vec::new(), Ok(()));
    let layout = filetype.layout();
    layout.walk(0, layout.size(), |offset, _, len| match (scale(offset), scale(len as i64)) {
        (Ok(offset), Ok(len)) => blocks.push(Block { offset, len: len as u64 }),
        _ => outcome = Err(refused()),
    });
    outcome?;
    Ok(Layout::new(blocks, scale(layout.lower_bound())?, scale(layout.extent())?))
}

/// Bytes from one element to the next in a file in the external representation, in which some types are shorter than in memory.
pub fn external_extent(datatype: &Datatype) -> Result<i64> {
    let (here, there) = (datatype.size() as i64, datatype.map().external_bytes() as i64);
    if here == there {
        return Ok(datatype.extent());
    }
    let whole = datatype.extent().checked_mul(there).filter(|product| product % here == 0);
    whole.map(|product| product / here).ok_or_else(|| {
        let text = format_args!(
            "datatype has {here} bytes and an extent of {}, expected one whose gaps can be converted to external32",
            datatype.extent()
        );
        Error::new(Kind::Conversion, text)
    })
}

#[cfg(test)]
mod tests {
    use engine::datatype::Basic;

    use super::*;

    fn ints(blocks: &[(i64, u64)], extent: i64) -> Datatype {
        let blocks = blocks.iter().map(|&(offset, len)| Block { offset, len });
        Datatype::derived(Layout::new(blocks, 0, extent), Some(Basic::I32))
    }

    #[test]
    fn a_view_that_cannot_be_is_refused_with_a_sentence() {
        let int = Datatype::basic(Basic::I32);
        let native = Representation::Native;
        for (displacement, filetype, word) in [
            (-1, ints(&[(0, 4)], 4), "disp"),
            (0, ints(&[(0, 6)], 6), "multiple"),
            (0, ints(&[(-4, 4)], 4), "before"),
            (0, ints(&[(8, 4), (0, 4)], 16), "go back"),
        ] {
            let error = View::new(displacement, &int, &filetype, 4, native).expect_err("an impossible view");
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn a_view_in_a_representation_with_shorter_units_has_its_gaps_shortened_too() {
        let long = Datatype::basic(Basic::Long);
        let every_second =
            Datatype::derived(Layout::new([Block { offset: 8, len: 8 }], 0, 16), Some(Basic::Long));
        let unit = external_extent(&long).expect("a basic type");
        let view = View::new(100, &long, &every_second, unit, Representation::External32).expect("a view");
        assert_eq!((view.unit, view.pattern.place(0), view.pattern.place(4)), (4, 104, 112));
    }
}
