//! What the words of a call's arguments mean: the table that `cargo xtask gen` writes, read once.
//!
//! An argument is `NAME:CODE`. A code is a letter for what it is, `<` `>` or `=` for read, written or both, `*` for an array, and `^` if it is significant at the root
//! alone. A line is a function's name, without `MPI_`, and two letters for each argument: which one it is, counted from `aa`. A form with large counts has a line of its own
//! only if more than the width of numbers in arrays is different.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::abi::shapes::{ARGUMENTS, SHAPES};

/// What an argument is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Kind {
    Buffer,
    Datatype,
    Comm,
    Group,
    Op,
    Info,
    Errhandler,
    Keyval,
    Request,
    Message,
    Win,
    Rank,
    Status,
    /// A number by value, or where one goes.
    Number,
    /// An array of `int`.
    Ints,
    /// An array of numbers of 64 bits.
    Longs,
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    In,
    Out,
    InOut,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Param {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) direction: Direction,
    pub(super) is_array: bool,
    pub(super) is_root_only: bool,
}

/// The shapes of all functions, in the order of their names, which are without `MPI_`.
pub(super) struct Shapes(Vec<(&'static str, Forms)>);

/// The shapes of a function and of its form with large counts.
struct Forms {
    small: Arc<[Param]>,
    large: Arc<[Param]>,
}

impl Shapes {
    pub(super) fn read() -> Self {
        let mut all = Vec::new();
        let params: Vec<Param> = ARGUMENTS.lines().filter_map(param).collect();
        for (name, forms) in SHAPES.lines().filter_map(|text| line(text, &params)) {
            let at = all.partition_point(|(known, _)| *known < name);
            all.insert(at, (name, forms));
        }
        Self(all)
    }

    pub(super) fn of(&self, function: &str) -> Arc<[Param]> {
        let large = || function.strip_suffix("_c").and_then(|small| Some(&self.forms(small)?.large));
        self.forms(function).map(|forms| &forms.small).or_else(large).cloned().unwrap_or_default()
    }

    fn forms(&self, function: &str) -> Option<&Forms> {
        let function = function.strip_prefix("MPI_")?;
        let at = self.0.binary_search_by_key(&function, |(name, _)| name).ok()?;
        Some(&self.0[at].1)
    }
}

fn line(text: &'static str, params: &[Param]) -> Option<(&'static str, Forms)> {
    let (name, letters) = text.split_once(' ')?;
    let place = |[high, low]: [u8; 2]| usize::from(high - b'a') * 26 + usize::from(low - b'a');
    let small: Arc<[Param]> =
        letters.as_bytes().as_chunks().0.iter().map(|pair| params[place(*pair)]).collect();
    let mut large = small.clone();
    if small.iter().any(|param| param.kind == Kind::Ints) {
        let ints = Arc::make_mut(&mut large).iter_mut().filter(|param| param.kind == Kind::Ints);
        ints.for_each(|param| param.kind = Kind::Longs);
    }
    Some((name, Forms { small, large }))
}

fn param(text: &'static str) -> Option<Param> {
    let (name, code) = text.split_once(':')?;
    let kind = match code.as_bytes().first()? {
        b'b' => Kind::Buffer,
        b't' => Kind::Datatype,
        b'c' => Kind::Comm,
        b'g' => Kind::Group,
        b'o' => Kind::Op,
        b'i' => Kind::Info,
        b'e' => Kind::Errhandler,
        b'k' => Kind::Keyval,
        b'q' => Kind::Request,
        b'm' => Kind::Message,
        b'w' => Kind::Win,
        b'r' => Kind::Rank,
        b's' => Kind::Status,
        b'v' => Kind::Number,
        b'n' => Kind::Ints,
        b'N' => Kind::Longs,
        _ => Kind::Other,
    };
    let direction = match code.as_bytes().get(1)? {
        b'<' => Direction::In,
        b'>' => Direction::Out,
        _ => Direction::InOut,
    };
    Some(Param { name, kind, direction, is_array: code.contains('*'), is_root_only: code.contains('^') })
}

/// The arguments of one call.
pub(super) struct Arguments {
    shape: Arc<[Param]>,
    words: SmallVec<[u64; 16]>,
}

impl Arguments {
    pub(super) fn new(shape: Arc<[Param]>, words: &[u64]) -> Self {
        Self { shape, words: words.into() }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Param, u64)> + '_ {
        self.shape.iter().copied().zip(self.words.iter().copied())
    }

    pub(super) fn word(&self, name: &str) -> Option<u64> {
        self.param(name).map(|(_, word)| word)
    }

    pub(super) fn param(&self, name: &str) -> Option<(Param, u64)> {
        self.iter().find(|(param, _)| param.name == name)
    }

    /// A number that is given by value.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.word(name).map(|word| word as i64)
    }

    /// Element `index` of an array of numbers. The program owes an array that is long enough.
    pub(super) fn element(&self, name: &str, index: usize) -> Option<i64> {
        let (param, address) = self.param(name).filter(|(_, address)| *address != 0)?;
        let address = std::ptr::with_exposed_provenance::<u8>(address as usize);
        match param.kind {
            // SAFETY: MPI's contract with the caller: the array has an element for each member of the communicator.
            Kind::Ints => Some(i64::from(unsafe { address.cast::<i32>().add(index).read_unaligned() })),
            // SAFETY: as above, and it is one of 64 bits.
            Kind::Longs => Some(unsafe { address.cast::<i64>().add(index).read_unaligned() }),
            // SAFETY: as above: an array of handles, which have the size of an address.
            _ => Some(unsafe { address.cast::<i64>().add(index).read_unaligned() }),
        }
    }

    /// The communicator that the call is on: its handle.
    pub(super) fn comm(&self) -> Option<usize> {
        let by_value = |param: &Param| param.kind == Kind::Comm && param.direction == Direction::In;
        self.iter().find(|(param, _)| by_value(param)).map(|(_, word)| word as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_the_table_has_a_shape_that_says_what_its_arguments_are() {
        let shapes = Shapes::read();
        let gatherv = shapes.of("MPI_Gatherv");
        let kinds: Vec<Kind> = gatherv.iter().map(|param| param.kind).collect();
        use Kind::*;
        assert_eq!(kinds, [Buffer, Number, Datatype, Buffer, Ints, Ints, Datatype, Rank, Comm]);
        assert!(gatherv[3].is_root_only && gatherv[4].is_array && !gatherv[0].is_root_only);
        let large = shapes.of("MPI_Gatherv_c");
        assert_eq!((large.len(), large[4].kind, large[5].kind, large[4].is_array), (9, Longs, Longs, true));
        assert!(Arc::ptr_eq(&shapes.of("MPI_Send_c"), &shapes.of("MPI_Send")));
        assert_eq!(shapes.of("MPI_Type_get_envelope_c").len(), shapes.of("MPI_Type_get_envelope").len() + 1);
        assert_eq!(shapes.of("MPI_Wait")[0].direction, Direction::InOut);
        assert_eq!(SHAPES.lines().count(), shapes.0.len());
        for (name, letters) in SHAPES.lines().map(|line| line.split_once(' ').unwrap()) {
            assert_eq!(shapes.of(&format!("MPI_{name}")).len() * 2, letters.len(), "{name}");
        }
        assert_eq!(gatherv[4].name, "recvcounts");
        assert!(shapes.of("MPI_No_such").is_empty());
    }

    #[test]
    fn elements_of_arrays_are_read_in_their_width() {
        let shape = Shapes::read().of("MPI_Gatherv");
        let counts = [3i32, -7];
        let mut words = [0; 9];
        words[4] = counts.as_ptr().expose_provenance() as u64;
        let arguments = Arguments::new(shape, &words);
        assert_eq!((arguments.element("recvcounts", 1), arguments.element("displs", 0)), (Some(-7), None));
    }
}
