//! Decimal fractions written with integers alone: the standard library's writing of floating-point numbers would be ten kilobytes of every copy of this one.

/// `numerator / denominator` with so many places behind the point, the last one rounded.
pub(super) fn fraction(numerator: u128, denominator: u128, places: u32) -> String {
    let one = 10_u128.pow(places);
    let scaled = (numerator * one + denominator / 2) / denominator;
    format!("{}.{:0width$}", (scaled / one) as u64, (scaled % one) as u64, width = places as usize)
}

/// A duration with a unit that suits it.
pub(super) fn duration(ticks: u64, ticks_per_second: u64) -> String {
    const UNITS: [(u128, &str); 4] = [(1_000_000_000, "ns"), (1_000_000, "us"), (1000, "ms"), (1, "s")];
    let (ticks, second) = (u128::from(ticks), u128::from(ticks_per_second));
    // The first of which there are less than a thousand, or seconds.
    let suits = |(a_second, _): &&(u128, &str)| ticks * a_second < 1000 * second;
    let (a_second, unit) = UNITS.iter().find(suits).unwrap_or(&UNITS[3]);
    format!("{} {unit}", fraction(ticks * a_second, second, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_rounded_at_the_last_place() {
        assert_eq!(fraction(1, 3, 4), "0.3333");
        assert_eq!(fraction(2, 3, 1), "0.7");
        assert_eq!(fraction(1999, 1000, 2), "2.00");
        assert_eq!(fraction(u128::from(u64::MAX), 1_000_000_000_000, 3), "18446744.074");
    }

    #[test]
    fn durations_have_the_unit_that_suits_them() {
        let second = 400_000_000_000;
        for (ticks, written) in [
            (0, "0.000 ns"),
            (400, "1.000 ns"),
            (399_999, "999.998 ns"),
            (400_000, "1.000 us"),
            (181_200 * 400, "181.200 us"),
            (second / 20, "50.000 ms"),
            (3 * second / 2, "1.500 s"),
            (5000 * second, "5000.000 s"),
        ] {
            assert_eq!(duration(ticks, second), written, "{ticks} ticks");
        }
    }
}
