//! Numbers as people read them: three digits and a unit.

/// A duration in seconds.
pub(crate) fn seconds(value: f64) -> String {
    scaled(value, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])
}

/// Bytes, in powers of 1024.
pub(crate) fn bytes(value: u64) -> String {
    if value < 1024 {
        return format!("{value} B");
    }
    let kib = 1024.0;
    scaled(value as f64, &[(kib * kib * kib, "GiB"), (kib * kib, "MiB"), (kib, "KiB")])
}

/// A share of one.
pub(crate) fn percent(part: f64, whole: f64) -> String {
    if whole <= 0.0 {
        return "0 %".to_owned();
    }
    let value = part / whole * 100.0;
    match value {
        _ if value > 0.0 && value < 0.05 => "under 0.1 %".to_owned(),
        _ if (0.05..9.95).contains(&value) => format!("{value:.1} %"),
        _ => format!("{value:.0} %"),
    }
}

/// A count with thousands set apart.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 message`, `2 messages`.
pub(crate) fn plural(value: u64, what: &str) -> String {
    format!("{} {what}{}", count(value), if value == 1 { "" } else { "s" })
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let (scale, unit) =
        units.iter().find(|(scale, _)| value >= *scale).or(units.last()).copied().unwrap_or((1.0, ""));
    let number = value / scale;
    let decimals = match number {
        _ if number == 0.0 || number >= 99.95 => 0,
        _ if number >= 9.995 => 1,
        _ => 2,
    };
    format!("{number:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(seconds(0.0123456), "12.3 ms");
        assert_eq!(seconds(2.5e-7), "250 ns");
        assert_eq!(seconds(61.0), "61.0 s");
        assert_eq!(seconds(0.0), "0 ns");
        assert_eq!(bytes(1000), "1000 B");
        assert_eq!(bytes(1536), "1.50 KiB");
        assert_eq!(percent(1.0, 3.0), "33 %");
        assert_eq!(percent(1.0, 40.0), "2.5 %");
        assert_eq!(count(1234567), "1,234,567");
        assert_eq!(plural(1, "message"), "1 message");
    }
}
