//! Random datatypes against the definition: a list of (basic type, offset), put together as the standard says, one entry at a time.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

/// A type map, spelled out, with its bounds.
#[derive(Clone, Debug)]
struct Model {
    entries: Vec<(Basic, i64)>,
    lower: i64,
    upper: i64,
    alignment: i64,
    explicit: bool,
}

/// A way to make a type of others.
#[derive(Clone, Debug)]
enum Recipe {
    Basic(u8),
    Contiguous(u64, Box<Recipe>),
    Strided(u64, u64, i64, Box<Recipe>),
    Indexed(Vec<(i64, u64)>, Box<Recipe>),
    Structure(Vec<(i64, u64, Recipe)>),
    Resized(i64, i64, Box<Recipe>),
    Subarray(Vec<(u64, u64, u64)>, Box<Recipe>),
    Darray(Vec<(u64, u64, u64, bool, u64)>, Box<Recipe>),
}

use alloc::boxed::Box;

const BASICS: [Basic; 6] =
    [Basic::Byte, Basic::I16, Basic::I32, Basic::F64, Basic::PairI16I32, Basic::PairF64I32];

impl Model {
    fn basic(basic: Basic) -> Model {
        let entries = match (basic.halves(), basic.index_offset()) {
            (Some([value, index]), Some(at)) => alloc::vec![(value, 0), (index, at as i64)],
            _ => alloc::vec![(basic, 0)],
        };
        Model {
            entries,
            lower: 0,
            upper: basic.extent() as i64,
            alignment: basic.alignment() as i64,
            explicit: false,
        }
    }

    fn extent(&self) -> i64 {
        self.upper - self.lower
    }

    /// Single copies at offsets, one after the other.
    fn placed(copies: &[(i64, &Model)], padded: bool) -> Model {
        let explicit = copies.iter().any(|(_, of)| of.explicit);
        let counted = copies.iter().filter(|(_, of)| of.explicit == explicit);
        let bounds: Vec<(i64, i64)> = counted.map(|(at, of)| (at + of.lower, at + of.upper)).collect();
        let lower = bounds.iter().map(|bounds| bounds.0).min().unwrap_or(0);
        let mut upper = bounds.iter().map(|bounds| bounds.1).max().unwrap_or(0);
        let alignment = copies.iter().map(|(_, of)| of.alignment).max().unwrap_or(1);
        if padded && !explicit {
            while (upper - lower) % alignment != 0 {
                upper += 1;
            }
        }
        let entries = copies
            .iter()
            .flat_map(|(at, of)| of.entries.iter().map(move |(basic, offset)| (*basic, at + offset)))
            .collect();
        Model { entries, lower, upper, alignment, explicit }
    }

    /// Each byte of the data of `count` elements, by offset, in order.
    fn bytes(&self, count: u64) -> Vec<i64> {
        let element = |index: i64| {
            self.entries.iter().flat_map(move |(basic, at)| {
                (0..basic.size() as i64).map(move |byte| index * self.extent() + at + byte)
            })
        };
        (0..count as i64).flat_map(element).collect()
    }
}

impl Recipe {
    fn made(&self) -> (Datatype, Model) {
        match self {
            Recipe::Basic(which) => {
                let basic = BASICS[*which as usize % BASICS.len()];
                (Datatype::basic(basic), Model::basic(basic))
            }
            Recipe::Contiguous(count, of) => {
                let (of, model) = of.made();
                let copies: Vec<_> = (0..*count as i64).map(|copy| (copy * model.extent(), &model)).collect();
                (Datatype::contiguous(*count, &of).expect("small"), Model::placed(&copies, false))
            }
            Recipe::Strided(count, length, stride, of) => {
                let (of, model) = of.made();
                let copies: Vec<_> = (0..*count as i64)
                    .flat_map(|block| (0..*length as i64).map(move |copy| (block, copy)))
                    .map(|(block, copy)| (block * stride + copy * model.extent(), &model))
                    .collect();
                let made = Datatype::strided(*count, *length, *stride, &of).expect("small");
                (made, Model::placed(&copies, false))
            }
            Recipe::Indexed(blocks, of) => {
                let (of, model) = of.made();
                let copies: Vec<_> = blocks
                    .iter()
                    .flat_map(|(at, copies)| (0..*copies as i64).map(move |copy| (at, copy)))
                    .map(|(at, copy)| (at + copy * model.extent(), &model))
                    .collect();
                let made = Datatype::indexed(blocks, &of).expect("small");
                (made, Model::placed(&copies, false))
            }
            Recipe::Structure(members) => {
                let parts: Vec<_> =
                    members.iter().map(|(at, copies, of)| (*at, *copies, of.made())).collect();
                let placed = |(at, copies, (_, model)): &'_ (i64, u64, (Datatype, Model))| {
                    let (at, extent) = (*at, model.extent());
                    (0..*copies as i64).map(move |copy| at + copy * extent).collect::<Vec<_>>()
                };
                let copies: Vec<_> = parts
                    .iter()
                    .flat_map(|part| placed(part).into_iter().map(|at| (at, &part.2.1)))
                    .collect();
                let members: Vec<_> = parts
                    .iter()
                    .map(|(at, copies, (of, _))| Member { at: *at, copies: *copies, of })
                    .collect();
                (Datatype::structure(&members).expect("small"), Model::placed(&copies, true))
            }
            Recipe::Resized(lower, extent, of) => {
                let (of, model) = of.made();
                let resized = of.resized(*lower, *extent).expect("small");
                (resized, Model { lower: *lower, upper: lower + extent, explicit: true, ..model })
            }
            Recipe::Subarray(dimensions, of) => {
                let (of, model) = of.made();
                let boxed: Vec<Dimension> = dimensions
                    .iter()
                    .map(|&(size, part, start)| Dimension {
                        size,
                        part: part.min(size),
                        start: start.min(size - part.min(size)),
                    })
                    .collect();
                let chosen = boxed.iter().map(|d| (d.size, (d.start..d.start + d.part).collect())).collect();
                let array = section(chosen, &model);
                (Datatype::subarray(&boxed, &of).expect("small"), array)
            }
            Recipe::Darray(dimensions, of) => {
                let (of, model) = of.made();
                let dealt: Vec<Portion> = dimensions
                    .iter()
                    .map(|&(size, processes, coordinate, cyclic, block)| Portion {
                        size,
                        processes,
                        coordinate: coordinate % processes,
                        distribution: if cyclic {
                            Distribution::Cyclic(block)
                        } else {
                            Distribution::Block(size.div_ceil(processes).max(block))
                        },
                    })
                    .collect();
                let owner = |portion: &Portion, index: u64| match portion.distribution {
                    Distribution::Block(block) => index / block,
                    Distribution::Cyclic(block) => index / block % portion.processes,
                };
                let chosen = dealt
                    .iter()
                    .map(|p| (p.size, (0..p.size).filter(|index| owner(p, *index) == p.coordinate).collect()))
                    .collect();
                let array = section(chosen, &model);
                (Datatype::darray(&dealt, &of).expect("small"), array)
            }
        }
    }
}

/// The chosen indices of each dimension, the fastest first, of an array of these elements.
fn section(dimensions: Vec<(u64, Vec<u64>)>, of: &Model) -> Model {
    let (mut places, mut step) = (alloc::vec![0_i64], of.extent());
    for (size, chosen) in dimensions {
        places = chosen
            .iter()
            .flat_map(|index| places.iter().map(move |place| place + *index as i64 * step))
            .collect();
        step *= size as i64;
    }
    let copies: Vec<_> = places.iter().map(|place| (*place, of)).collect();
    Model { lower: 0, upper: step, explicit: true, ..Model::placed(&copies, false) }
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let leaf = (0u8..6).prop_map(Recipe::Basic);
    leaf.prop_recursive(3, 12, 3, |inner| {
        let of = || inner.clone().prop_map(Box::new);
        let part = (1u64..5, 1u64..5, 0u64..4);
        let dealt = (1u64..9, 1u64..4, 0u64..4, any::<bool>(), 1u64..4);
        prop_oneof![
            (0u64..4, of()).prop_map(|(count, of)| Recipe::Contiguous(count, of)),
            (0u64..4, 0u64..4, -40i64..40, of())
                .prop_map(|(count, length, stride, of)| Recipe::Strided(count, length, stride, of)),
            (proptest::collection::vec((-40i64..40, 0u64..4), 0..5), of())
                .prop_map(|(blocks, of)| Recipe::Indexed(blocks, of)),
            proptest::collection::vec((-40i64..40, 0u64..3, inner.clone()), 0..4).prop_map(Recipe::Structure),
            (-20i64..20, -10i64..60, of()).prop_map(|(lower, extent, of)| Recipe::Resized(lower, extent, of)),
            (proptest::collection::vec(part, 1..4), of())
                .prop_map(|(dimensions, of)| Recipe::Subarray(dimensions, of)),
            (proptest::collection::vec(dealt, 1..3), of())
                .prop_map(|(dimensions, of)| Recipe::Darray(dimensions, of)),
        ]
    })
}

fn walked(datatype: &Datatype, from: u64, len: u64) -> Vec<i64> {
    let mut seen = Vec::new();
    let mut expected = 0;
    let mut pieces: Vec<(u64, i64, u64)> = Vec::new();
    datatype.layout().walk(from, len, |offset, at, run| pieces.push((at, offset, run)));
    pieces.sort_by_key(|piece| piece.0);
    for (at, offset, run) in pieces {
        assert_eq!(at, expected, "pieces lie one behind the other in the packed form");
        expected += run;
        seen.extend((0..run as i64).map(|byte| offset + byte));
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Size, bounds, elements and the bytes themselves, walked at once and in pieces that are cut anywhere.
    #[test]
    fn a_type_is_what_the_definition_says(
        recipe in recipe(),
        count in 1u64..4,
        cuts in proptest::collection::vec(1u64..40, 1..12),
    ) {
        let (made, model) = recipe.made();
        let layout = made.layout();
        let bytes: Vec<i64> = model.bytes(1);
        prop_assert_eq!(made.size(), bytes.len() as u64);
        prop_assert_eq!((layout.lower_bound(), made.extent()), (model.lower, model.extent()));
        let ends = (bytes.iter().min().copied().unwrap_or(0), bytes.iter().max().map_or(0, |last| last + 1));
        if !bytes.is_empty() {
            prop_assert_eq!((layout.true_lower_bound(), layout.true_upper_bound()), ends);
        }
        prop_assert_eq!(made.map().elements(), model.entries.len() as u64);
        let mut rows = Vec::new();
        made.map().each_row(0, &mut |basic, first, copies, stride| {
            rows.extend((0..copies as i64).map(|copy| (basic, first + copy * stride)));
        });
        prop_assert_eq!(&rows, &model.entries);

        let all = model.bytes(count);
        prop_assert_eq!(&walked(&made, 0, all.len() as u64), &all);
        let (mut from, mut cut) = (0, cuts.iter().cycle());
        while from < all.len() {
            let len = (*cut.next().expect("endless") as usize).min(all.len() - from);
            prop_assert_eq!(&walked(&made, from as u64, len as u64)[..], &all[from..from + len]);
            from += len;
        }
        let (mut at, mut boundaries) = (0, alloc::vec![0]);
        for (basic, _) in &model.entries {
            at += basic.size();
            boundaries.push(at);
        }
        for bytes in 0..=at {
            let elements = boundaries.iter().position(|boundary| *boundary == bytes).map(|index| index as u64);
            prop_assert_eq!(made.map().elements_in(bytes), elements);
        }
        if at > 0 {
            for (elements, boundary) in boundaries.iter().enumerate() {
                prop_assert_eq!(made.map().bytes_of(elements as u64), *boundary);
            }
        }
    }
}

#[test]
fn a_vector_of_ten_million_blocks_is_one_loop() {
    let double = Datatype::basic(Basic::F64);
    let column = Datatype::strided(10_000_000, 1, 80_000, &double).expect("it fits");
    assert_eq!((column.size(), column.layout().runs()), (80_000_000, 10_000_000));
    let mut pieces = 0;
    column.layout().pieces(4, 79_999_990, |_, _| pieces += 1);
    assert_eq!(pieces, 3, "a part of a run, all whole ones, a part of a run");
    assert_eq!(column.map().elements_in(8 * 9_999_999), Some(9_999_999));
}

#[test]
fn a_face_of_a_cube_is_one_loop() {
    let dimension = |part, start| Dimension { size: 96, part, start };
    let double = Datatype::basic(Basic::F64);
    let face =
        Datatype::subarray(&[dimension(1, 1), dimension(96, 0), dimension(96, 0)], &double).expect("it fits");
    let mut pieces = Vec::new();
    face.layout().pieces(0, face.size(), |_, piece| pieces.push((piece.origin, piece.count, piece.stride)));
    assert_eq!(pieces, [(8, 96 * 96, 96 * 8)]);
}

#[test]
fn touching_blocks_are_one_and_a_filled_extent_is_contiguous() {
    let layout = Layout::new([Block { offset: 0, len: 4 }, Block { offset: 4, len: 4 }], 0, 8);
    assert!(layout.is_contiguous());
    let padded = Layout::new([Block { offset: 0, len: 12 }], 0, 16);
    assert!(!padded.is_contiguous());
    assert_eq!(padded.size(), 12);
}

#[test]
fn types_beyond_63_bits_are_refused() {
    let double = Datatype::basic(Basic::F64);
    assert!(Datatype::contiguous(1 << 60, &double).is_none());
    assert!(Datatype::strided(2, 1, i64::MAX - 4, &double).is_none());
    assert!(Datatype::strided(1 << 62, 1 << 62, 0, &double).is_none());
    assert!(Datatype::indexed(&[(i64::MIN, 1), (i64::MAX - 8, 1)], &double).is_none());
    assert!(double.resized(i64::MAX, 1).is_none());
    assert!(double.moved(i64::MAX).is_none());
    let long = Dimension { size: 1 << 40, part: 1, start: 0 };
    assert!(Datatype::subarray(&[long, long], &double).is_none());
}
