//! Operations against naive models.

use alloc::rc::Rc;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::kernels::find;
use super::*;
use crate::values::memory::long_double;

const ALL: [Builtin; 14] = [
    Builtin::Max,
    Builtin::Min,
    Builtin::Sum,
    Builtin::Prod,
    Builtin::Land,
    Builtin::Band,
    Builtin::Lor,
    Builtin::Bor,
    Builtin::Lxor,
    Builtin::Bxor,
    Builtin::MinLoc,
    Builtin::MaxLoc,
    Builtin::Replace,
    Builtin::NoOp,
];

fn apply(op: Builtin, basic: Basic, input: &[u8], inout: &[u8]) -> Vec<u8> {
    let mut result = inout.to_vec();
    find(op, basic).unwrap_or_else(|| panic!("{op:?} on {basic:?}"))(input, &mut result);
    result
}

fn allowed(basic: Basic) -> Vec<Builtin> {
    ALL.into_iter().filter(|op| Op::builtin(*op).check(&Datatype::basic(basic)).is_ok()).collect()
}

#[test]
fn each_type_allows_the_operations_of_the_standards_table_and_no_others() {
    use Builtin::*;
    let integer = [Max, Min, Sum, Prod, Land, Band, Lor, Bor, Lxor, Bxor, Replace, NoOp];
    for basic in
        [Basic::I8, Basic::I16, Basic::I32, Basic::I64, Basic::U8, Basic::U16, Basic::U32, Basic::U64]
    {
        assert_eq!(allowed(basic), integer, "{basic:?}");
    }
    for basic in [Basic::F32, Basic::F64] {
        assert_eq!(allowed(basic), [Max, Min, Sum, Prod, Replace, NoOp], "{basic:?}");
    }
    for basic in [Basic::ComplexF32, Basic::ComplexF64] {
        assert_eq!(allowed(basic), [Sum, Prod, Replace, NoOp], "{basic:?}");
    }
    for bytes in [1, 2, 4, 8, 16] {
        assert_eq!(allowed(Basic::Logical { bytes }), [Land, Lor, Lxor, Replace, NoOp]);
    }
    assert_eq!(allowed(Basic::Bool), [Land, Lor, Lxor, Replace, NoOp]);
    assert_eq!(allowed(Basic::Byte), [Band, Bor, Bxor, Replace, NoOp]);
    for basic in [
        Basic::PairF32I32,
        Basic::PairF64I32,
        Basic::PairI64I32,
        Basic::PairI32I32,
        Basic::PairI16I32,
        Basic::PairF32F32,
        Basic::PairF64F64,
    ] {
        assert_eq!(allowed(basic), [MinLoc, MaxLoc, Replace, NoOp], "{basic:?}");
    }
    for basic in [Basic::Packed, Basic::Char { bytes: 1 }, Basic::Opaque { bytes: 16 }] {
        assert_eq!(allowed(basic), [Replace, NoOp], "{basic:?}");
    }
}

#[test]
fn errors_name_the_operation_and_the_type() {
    let sum = Op::builtin(Builtin::Sum);
    assert_eq!(
        sum.check(&Datatype::basic(Basic::Byte)),
        Err(Error::Op { op: "MPI_SUM", datatype: Basic::Byte })
    );
    let derived = Datatype::contiguous(2, &Datatype::basic(Basic::I32)).unwrap();
    assert_eq!(sum.check(&derived), Err(Error::OpOnDerived { op: "MPI_SUM" }));
    struct Nothing;
    impl UserFunction for Nothing {
        #[allow(unsafe_code, reason = "the trait's method is unsafe to call")]
        unsafe fn apply(&self, _: *const u8, _: *mut u8, _: u64, _: &Datatype) {}
    }
    assert_eq!(Op::user(Rc::new(Nothing), true).check(&derived), Ok(()), "user operations take any type");
    let replace = Op::builtin(Builtin::Replace);
    assert_eq!(
        replace.check_reduction(&Datatype::basic(Basic::I32)),
        Err(Error::Op { op: "MPI_REPLACE", datatype: Basic::I32 }),
        "for one-sided operations only"
    );
}

macro_rules! integers {
    ($($name:ident: $type:ty, $basic:expr;)*) => {
        proptest! {$(
            #[test]
            fn $name(pairs in proptest::collection::vec((any::<$type>(), any::<$type>()), 0..70)) {
                let bytes = |numbers: Vec<$type>| -> Vec<u8> {
                    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
                };
                let input = bytes(pairs.iter().map(|pair| pair.0).collect());
                let inout = bytes(pairs.iter().map(|pair| pair.1).collect());
                let model: [(Builtin, fn($type, $type) -> $type); 10] = [
                    (Builtin::Max, |a, b| a.max(b)),
                    (Builtin::Min, |a, b| a.min(b)),
                    (Builtin::Sum, |a, b| a.wrapping_add(b)),
                    (Builtin::Prod, |a, b| a.wrapping_mul(b)),
                    (Builtin::Land, |a, b| (a != 0 && b != 0) as $type),
                    (Builtin::Lor, |a, b| (a != 0 || b != 0) as $type),
                    (Builtin::Lxor, |a, b| ((a != 0) != (b != 0)) as $type),
                    (Builtin::Band, |a, b| a & b),
                    (Builtin::Bor, |a, b| a | b),
                    (Builtin::Bxor, |a, b| a ^ b),
                ];
                for (op, combine) in model {
                    let expected = bytes(pairs.iter().map(|(a, b)| combine(*a, *b)).collect());
                    prop_assert_eq!(apply(op, $basic, &input, &inout), expected, "{:?}", op);
                }
            }
        )*}
    };
}

integers! {
    operations_on_8_bit_integers: i8, Basic::I8;
    operations_on_16_bit_integers: i16, Basic::I16;
    operations_on_32_bit_integers: i32, Basic::I32;
    operations_on_64_bit_integers: i64, Basic::I64;
    operations_on_unsigned_8_bit_integers: u8, Basic::U8;
    operations_on_unsigned_16_bit_integers: u16, Basic::U16;
    operations_on_unsigned_32_bit_integers: u32, Basic::U32;
    operations_on_unsigned_64_bit_integers: u64, Basic::U64;
}

fn doubles(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

macro_rules! floats {
    ($($name:ident: $type:ty, $basic:expr;)*) => {
        proptest! {$(
            /// All values, infinities and what is no number among them: of two, that which the kernel keeps matters, bit by bit.
            #[test]
            fn $name(pairs in proptest::collection::vec((any::<$type>(), any::<$type>()), 0..70)) {
                let bytes = |numbers: Vec<$type>| -> Vec<u8> {
                    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
                };
                let input = bytes(pairs.iter().map(|pair| pair.0).collect());
                let inout = bytes(pairs.iter().map(|pair| pair.1).collect());
                let model: [(Builtin, fn($type, $type) -> $type); 4] = [
                    (Builtin::Max, |a, b| if a > b { a } else { b }),
                    (Builtin::Min, |a, b| if a < b { a } else { b }),
                    (Builtin::Sum, |a, b| a + b),
                    (Builtin::Prod, |a, b| a * b),
                ];
                for (op, combine) in model {
                    let given = apply(op, $basic, &input, &inout);
                    let (given, _) = given.as_chunks();
                    for (given, (a, b)) in given.iter().map(|bytes| <$type>::from_ne_bytes(*bytes)).zip(&pairs) {
                        let expected = combine(*a, *b);
                        let is_computed = matches!(op, Builtin::Sum | Builtin::Prod);
                        let are_none = is_computed && given.is_nan() && expected.is_nan();
                        prop_assert!(are_none || given.to_bits() == expected.to_bits(), "{:?} of {} and {}", op, a, b);
                    }
                }
            }
        )*}
    };
}

floats! {
    operations_on_floats: f32, Basic::F32;
    operations_on_doubles: f64, Basic::F64;
}

proptest! {
    /// The lowest index wins among equal values, whichever side it is on.
    #[test]
    fn extreme_value_and_index(
        pairs in proptest::collection::vec((-3i32..3, 0i32..9, -3i32..3, 0i32..9), 0..40),
    ) {
        let input: Vec<u8> = pairs.iter().flat_map(|p| [p.0.to_ne_bytes(), p.1.to_ne_bytes()].concat()).collect();
        let inout: Vec<u8> = pairs.iter().flat_map(|p| [p.2.to_ne_bytes(), p.3.to_ne_bytes()].concat()).collect();
        for (op, sign) in [(Builtin::MaxLoc, -1), (Builtin::MinLoc, 1)] {
            let expected: Vec<u8> = pairs.iter().flat_map(|p| {
                let (value, index) = (sign * p.0, p.1).min((sign * p.2, p.3));
                [(sign * value).to_ne_bytes(), index.to_ne_bytes()].concat()
            }).collect();
            prop_assert_eq!(apply(op, Basic::PairI32I32, &input, &inout), expected, "{:?}", op);
        }
    }
}

/// Rows long enough for the widest instructions, with all remainders and from any address, against one element at a time. Bits are random, so there are numbers
/// that are none.
#[test]
fn rows_of_any_length_are_combined_as_their_elements_are() {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 56) as u8
    };
    let basics = [
        Basic::I8,
        Basic::I16,
        Basic::I32,
        Basic::I64,
        Basic::U8,
        Basic::U64,
        Basic::F32,
        Basic::F64,
        Basic::ComplexF64,
        Basic::Byte,
    ];
    for basic in basics {
        let size = basic.size() as usize;
        for op in allowed(basic) {
            for count in (0..20).chain([31, 32, 33, 63, 64, 65, 100, 257, 515, 2431]) {
                let start = usize::from(random() % 9);
                let input: Vec<u8> = (0..start + count * size).map(|_| random()).collect();
                let inout: Vec<u8> = (0..start + count * size).map(|_| random()).collect();
                let (input, inout) = (&input[start..], &inout[start..]);
                let single = |at: usize| {
                    let part = at * size..(at + 1) * size;
                    apply(op, basic, &input[part.clone()], &inout[part])
                };
                let expected: Vec<u8> = (0..count).flat_map(single).collect();
                let mut found = alloc::vec![0; start];
                found.extend_from_slice(inout);
                find(op, basic).expect("allowed")(input, &mut found[start..]);
                assert!(found[start..] == expected[..], "{op:?} of {count} {basic:?}");
            }
        }
    }
}

#[test]
fn a_nan_is_skipped_as_input_and_stays_as_inout() {
    // One by one, and many at a time.
    for count in [1, 9] {
        let (nan, one) = (doubles(&[f64::NAN].repeat(count)), doubles(&[1.0].repeat(count)));
        for op in [Builtin::Max, Builtin::Min] {
            assert_eq!(apply(op, Basic::F64, &nan, &one), one);
            assert_eq!(apply(op, Basic::F64, &one, &nan), nan);
        }
    }
}

#[test]
fn complex_products_and_sums() {
    let (a, b) = (doubles(&[1.0, 2.0]), doubles(&[3.0, -1.0]));
    assert_eq!(apply(Builtin::Prod, Basic::ComplexF64, &a, &b), doubles(&[5.0, 5.0]));
    assert_eq!(apply(Builtin::Sum, Basic::ComplexF64, &a, &b), doubles(&[4.0, 1.0]));
    let floats = |numbers: [f32; 2]| -> Vec<u8> { numbers.iter().flat_map(|n| n.to_ne_bytes()).collect() };
    assert_eq!(
        apply(Builtin::Prod, Basic::ComplexF32, &floats([1.0, 2.0]), &floats([3.0, -1.0])),
        floats([5.0, 5.0])
    );
}

#[test]
fn logical_values_are_zero_or_one_afterwards() {
    let word = |number: u32| number.to_ne_bytes().to_vec();
    let logical = Basic::Logical { bytes: 4 };
    assert_eq!(apply(Builtin::Land, logical, &word(2), &word(4)), word(1), "any non-zero value is true");
    assert_eq!(apply(Builtin::Lxor, logical, &word(2), &word(4)), word(0));
    assert_eq!(apply(Builtin::Lor, Basic::Bool, &[0], &[1]), [1]);
    let wide = |number: u128| number.to_ne_bytes().to_vec();
    assert_eq!(apply(Builtin::Land, Basic::Logical { bytes: 16 }, &wide(1 << 90), &wide(8)), wide(1));
}

#[test]
fn pairs_with_padding_compare_by_value_and_keep_the_index() {
    let pair = |value: f64, index: i32| [&value.to_ne_bytes()[..], &index.to_ne_bytes(), &[0; 4]].concat();
    assert_eq!(apply(Builtin::MaxLoc, Basic::PairF64I32, &pair(2.0, 7), &pair(1.0, 3)), pair(2.0, 7));
    assert_eq!(apply(Builtin::MinLoc, Basic::PairF64I32, &pair(2.0, 2), &pair(2.0, 3)), pair(2.0, 2));
    let short = |value: i16, index: i32| [&value.to_ne_bytes()[..], &[0; 2], &index.to_ne_bytes()].concat();
    assert_eq!(apply(Builtin::MinLoc, Basic::PairI16I32, &short(-5, 9), &short(4, 1)), short(-5, 9));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn long_doubles_have_more_digits_than_doubles() {
    use long_double::from_f64;
    let tiny = f64::EPSILON / 4.0;
    let sum = apply(Builtin::Sum, Basic::LongDouble, &from_f64(1.0), &from_f64(tiny));
    let sum: long_double::Bytes = sum.try_into().unwrap();
    assert_eq!(long_double::compare(&sum, &from_f64(1.0)), (true, false), "a double would have lost it");
    let back = long_double::subtract(&sum, &from_f64(1.0));
    assert_eq!(long_double::compare(&back, &from_f64(tiny)), (false, true));
    let product = apply(Builtin::Prod, Basic::LongDouble, &from_f64(-1.5), &from_f64(4.0));
    assert_eq!(product, from_f64(-6.0));
    assert_eq!(apply(Builtin::Max, Basic::LongDouble, &from_f64(-1.5), &from_f64(4.0)), from_f64(4.0));
    assert_eq!(apply(Builtin::Min, Basic::LongDouble, &from_f64(-1.5), &from_f64(4.0)), from_f64(-1.5));
    assert_eq!(
        apply(Builtin::Max, Basic::LongDouble, &from_f64(f64::NAN), &from_f64(4.0)),
        from_f64(4.0),
        "a NaN is skipped as input"
    );
    let complex = |re: f64, im: f64| [from_f64(re), from_f64(im)].concat();
    assert_eq!(
        apply(Builtin::Prod, Basic::ComplexLongDouble, &complex(1.0, 2.0), &complex(3.0, -1.0)),
        complex(5.0, 5.0)
    );
    let pair = |value: f64, index: i32| [&from_f64(value)[..], &index.to_ne_bytes(), &[0; 12]].concat();
    assert_eq!(apply(Builtin::MaxLoc, Basic::PairLongDoubleI32, &pair(2.0, 2), &pair(2.0, 3)), pair(2.0, 2));
}
