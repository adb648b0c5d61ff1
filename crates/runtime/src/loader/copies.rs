//! The copies of a program that the ranks of a process run, and who makes them: the dynamic linker, or, of many, a mould.

use super::error::LoadError;
use super::image::Image;
use super::mould::{Casts, Mould};
use super::program::Program;

/// Up to so many copies are the dynamic linker's: debuggers, profilers and `dladdr` know them. A thousand take it half a second, ten thousand more
/// mappings than a process may have.
const LINKED: usize = 512;

/// Mappings of a copy that the dynamic linker has made, at least.
const MAPPINGS: usize = 5;

/// Makes the copies of one program, one after the other.
pub struct Copies {
    image: Image,
    casts: Option<Casts>,
}

impl Copies {
    /// For `count` copies of `image`, in a process that has `others` of other programs.
    pub fn new(image: &Image, count: usize, others: usize) -> Result<Copies, LoadError> {
        if count + others <= LINKED { Ok(Copies::linked(image)) } else { Copies::cast(image, count) }
    }

    /// All of them by the dynamic linker.
    pub(super) fn linked(image: &Image) -> Copies {
        Copies { image: image.clone(), casts: None }
    }

    /// `count` of them from a mould, if the program is one that has a mould.
    pub(super) fn cast(image: &Image, count: usize) -> Result<Copies, LoadError> {
        let casts = Mould::make(image)?.map(|mould| mould.reserve(count)).transpose()?;
        if casts.is_none() && count.saturating_mul(MAPPINGS) > fabric_local::most_mappings() {
            // Said at once: the dynamic linker would take minutes to find out.
            return Err(image.no_room(count, std::io::ErrorKind::OutOfMemory.into()));
        }
        Ok(Copies { image: image.clone(), casts })
    }

    /// Whether the dynamic linker has nothing to do with them.
    #[cfg(test)]
    pub(super) fn are_cast(&self) -> bool {
        self.casts.is_some()
    }

    /// The copy of `rank`: the constructors of its statics have run, but not `main`.
    ///
    /// # Panics
    /// If there are more than `count` of a program that has a mould.
    pub fn next(&mut self, rank: u32) -> Result<Program, LoadError> {
        match &mut self.casts {
            Some(casts) => Ok(Program::new(&self.image, rank, casts.cast()?)),
            None => Program::from_image(&self.image, rank),
        }
    }
}
