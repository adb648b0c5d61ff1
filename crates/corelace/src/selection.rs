//! Parts of a slice that do not lie in one piece: columns, sub-blocks, scattered elements (MPI section 5.1).

use engine::datatype::Datatype as EngineType;

use crate::error::{Error, Result};

/// Some elements of a slice: a column of a matrix, a block of a grid, elements at given places. Numbers count elements; nothing is
/// looked at until [`of`](Selection::of) or [`of_mut`](Selection::of_mut) lays it over a slice, which is when bounds are checked.
///
/// ```
/// use corelace::Selection;
///
/// corelace::run(2, |world| {
///     // A matrix of 3 rows and 4 columns.
///     let matrix: Vec<i32> = (0..12).collect();
///     let column = Selection::strided(1, 3, 1, 4);
///     if world.rank() == 0 {
///         world.send(&column.of(&matrix)?, 1, 0)?;
///         let corner = Selection::block(&[3, 4], &[1, 2], &[2, 2])?;
///         world.send(&corner.of(&matrix)?, 1, 0)?;
///     } else {
///         let mut into = vec![0; 12];
///         world.recv_into(&mut column.of_mut(&mut into)?, 0, 0)?;
///         assert_eq!(into, [0, 1, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0]);
///         assert_eq!(world.recv_vec::<i32>(0, 0)?.0, [6, 7, 10, 11]);
///     }
///     Ok::<(), corelace::Error>(())
/// })?;
/// # Ok::<(), corelace::RunError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection(Kind);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    Strided { start: usize, count: usize, length: usize, stride: usize },
    Block { sizes: Vec<usize>, starts: Vec<usize>, counts: Vec<usize> },
    Indexed(Vec<(usize, usize)>),
}

impl Selection {
    /// `count` pieces of `length` elements, the first at `start`, each `stride` elements behind the one before (MPI_Type_vector). Column `c`
    /// of a matrix of `rows` x `columns` is `strided(c, rows, 1, columns)`.
    pub fn strided(start: usize, count: usize, length: usize, stride: usize) -> Selection {
        Selection(Kind::Strided { start, count, length, stride })
    }

    /// The block of `counts[d]` elements from `starts[d]` on in each dimension `d` of a grid of `sizes[d]`, the last dimension being that
    /// whose elements lie side by side (MPI_Type_create_subarray).
    pub fn block(sizes: &[usize], starts: &[usize], counts: &[usize]) -> Result<Selection> {
        if starts.len() != sizes.len() || counts.len() != sizes.len() {
            let (sizes, starts, counts) = (sizes.len(), starts.len(), counts.len());
            return Err(Error::length(format!(
                "a grid of {sizes} dimensions is given with {starts} starts and {counts} counts, expected one for each dimension"
            )));
        }
        for (dimension, ((size, start), count)) in sizes.iter().zip(starts).zip(counts).enumerate() {
            if start.checked_add(*count).is_none_or(|end| end > *size) {
                return Err(Error::length(format!(
                    "{count} elements from {start} on leave dimension {dimension}, which has {size}"
                )));
            }
        }
        let (sizes, starts, counts) = (sizes.to_vec(), starts.to_vec(), counts.to_vec());
        Ok(Selection(Kind::Block { sizes, starts, counts }))
    }

    /// Pieces of any lengths at any places, in this order: (start, length) (MPI_Type_indexed).
    pub fn indexed(pieces: &[(usize, usize)]) -> Selection {
        Selection(Kind::Indexed(pieces.to_vec()))
    }

    /// How many elements are selected.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Strided { count, length, .. } => count.saturating_mul(*length),
            Kind::Block { counts, .. } => {
                counts.iter().fold(1, |all: usize, count| all.saturating_mul(*count))
            }
            Kind::Indexed(pieces) => pieces.iter().fold(0, |sum, (_, length)| sum.saturating_add(*length)),
        }
    }

    /// True if nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An error unless all of it lies in a slice of `len` elements. Everything below counts on that.
    pub(crate) fn check(&self, len: usize) -> Result<()> {
        let end = match &self.0 {
            _ if self.is_empty() => Some(0),
            Kind::Strided { start, count, length, stride } => (count - 1)
                .checked_mul(*stride)
                .and_then(|last| last.checked_add(*start)?.checked_add(*length)),
            Kind::Block { sizes, .. } => sizes.iter().try_fold(1usize, |all, size| all.checked_mul(*size)),
            Kind::Indexed(pieces) => pieces
                .iter()
                .filter(|(_, length)| *length > 0)
                .try_fold(0, |end: usize, (start, length)| Some(end.max(start.checked_add(*length)?))),
        };
        match end {
            Some(end) if end <= len => Ok(()),
            Some(end) => Err(Error::length(format!(
                "the selection reaches to element {end}, but the slice has {len} elements"
            ))),
            None => Err(Error::length(String::from("the selection reaches further than can be counted"))),
        }
    }

    /// An error if an element is selected twice.
    pub(crate) fn check_distinct(&self) -> Result<()> {
        let twice = match &self.0 {
            Kind::Strided { count, length, stride, .. } => *count > 1 && *length > *stride,
            Kind::Block { .. } => false,
            Kind::Indexed(pieces) => {
                let mut pieces: Vec<_> = pieces.iter().filter(|(_, length)| *length > 0).collect();
                pieces.sort();
                pieces.windows(2).any(|pair| pair[0].0 + pair[0].1 > pair[1].0)
            }
        };
        if twice {
            return Err(Error::length(String::from(
                "the selection has an element twice, expected each once where something is to be written",
            )));
        }
        Ok(())
    }

    /// The pieces, each a start and a length, in the order in which they travel.
    pub(crate) fn each_piece(&self, mut each: impl FnMut(usize, usize)) {
        match &self.0 {
            _ if self.is_empty() => {}
            Kind::Strided { start, count, length, stride } => {
                (0..*count).for_each(|index| each(start + index * stride, *length));
            }
            Kind::Block { sizes, starts, counts } => match sizes.len() {
                0 => each(0, 1),
                dimensions => {
                    let rows: usize = counts[..dimensions - 1].iter().product();
                    for row in 0..rows {
                        let (mut left, mut at, mut step) =
                            (row, starts[dimensions - 1], sizes[dimensions - 1]);
                        for dimension in (0..dimensions - 1).rev() {
                            at += (starts[dimension] + left % counts[dimension]) * step;
                            left /= counts[dimension];
                            step *= sizes[dimension];
                        }
                        each(at, counts[dimensions - 1]);
                    }
                }
            },
            Kind::Indexed(pieces) => {
                pieces
                    .iter()
                    .filter(|(_, length)| *length > 0)
                    .for_each(|&(start, length)| each(start, length));
            }
        }
    }

    /// As the engine knows it, for elements of a type.
    pub(crate) fn lower(&self, element: &EngineType) -> Result<EngineType> {
        let size = element.extent();
        let lowered = match &self.0 {
            _ if self.is_empty() => EngineType::contiguous(0, element),
            Kind::Strided { start, count, length, stride } => {
                EngineType::strided(*count as u64, *length as u64, *stride as i64 * size, element)
                    .and_then(|pieces| pieces.moved(*start as i64 * size))
            }
            Kind::Block { sizes, starts, counts } => {
                let (mut step, mut at, mut block) = (size, 0, Some(element.clone()));
                for dimension in (0..sizes.len()).rev() {
                    block =
                        block.and_then(|row| EngineType::strided(counts[dimension] as u64, 1, step, &row));
                    at += starts[dimension] as i64 * step;
                    step *= sizes[dimension] as i64;
                }
                block.and_then(|block| block.moved(at))
            }
            Kind::Indexed(pieces) => {
                let pieces: Vec<(i64, u64)> =
                    pieces.iter().map(|&(start, length)| (start as i64 * size, length as u64)).collect();
                EngineType::indexed(&pieces, element)
            }
        };
        // It lies in a slice by `check`, so all distances fit; but the same elements may be selected any number of times.
        lowered.ok_or_else(|| Error::length(String::from("the selection has more bytes than can be counted")))
    }
}
