//! Numbers as the page gets them: little-endian arrays in base64, times in units that fit into 32 bits.

use std::fmt::Write;

/// In place of a time or an index: there is none.
pub(super) const NONE: u32 = u32::MAX;

/// Ticks as 32-bit units: a unit is a tick, or as many as the length of the run needs.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    pub(super) unit: u64,
}

impl Clock {
    pub(super) fn of(duration: u64) -> Clock {
        Clock { unit: duration / u64::from(NONE - 1) + 1 }
    }

    pub(super) fn units(self, ticks: u64) -> u32 {
        (ticks / self.unit).min(u64::from(NONE - 1)) as u32
    }
}

/// Of things of these lengths, which are kept: the `most` longest. Of equal ones those are kept that a hash of their index
/// favours, so that no rank and no time is left out.
pub(super) fn longest(lengths: impl Iterator<Item = u64>, most: usize) -> Vec<bool> {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut order: Vec<(u64, u64, usize)> = lengths
        .enumerate()
        .map(|(index, length)| (u64::MAX - length, (index as u64).wrapping_mul(GOLDEN), index))
        .collect();
    let mut kept = vec![true; order.len()];
    if order.len() > most {
        let (_, _, shorter) = order.select_nth_unstable(most.saturating_sub(1));
        shorter.iter().for_each(|&(_, _, index)| kept[index] = false);
    }
    kept
}

/// Named arrays.
#[derive(Default)]
pub(super) struct Blobs {
    html: String,
}

impl Blobs {
    pub(super) fn u8(&mut self, name: &str, values: &[u8]) {
        self.add(name, "Uint8Array", values);
    }

    pub(super) fn u16(&mut self, name: &str, values: &[u16]) {
        self.add(name, "Uint16Array", &bytes(values, |value| value.to_le_bytes()));
    }

    pub(super) fn u32(&mut self, name: &str, values: &[u32]) {
        self.add(name, "Uint32Array", &bytes(values, |value| value.to_le_bytes()));
    }

    pub(super) fn f32(&mut self, name: &str, values: &[f32]) {
        self.add(name, "Float32Array", &bytes(values, |value| value.to_le_bytes()));
    }

    pub(super) fn html(&self) -> &str {
        &self.html
    }

    fn add(&mut self, name: &str, kind: &str, bytes: &[u8]) {
        write!(
            self.html,
            "<script type=\"text/plain\" class=\"blob\" data-name=\"{name}\" data-kind=\"{kind}\">"
        )
        .expect("a string grows");
        base64(bytes, &mut self.html);
        self.html.push_str("</script>\n");
    }
}

fn bytes<T: Copy, const N: usize>(values: &[T], to_bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&value| to_bytes(value)).collect()
}

fn base64(bytes: &[u8], text: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    text.reserve(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let missing = digit > group.len();
            text.push(if missing { '=' } else { DIGITS[(bits >> (18 - 6 * digit) & 63) as usize].into() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (bytes, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            let mut text = String::new();
            base64(bytes.as_bytes(), &mut text);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn the_longest_are_kept() {
        let kept = |most| longest([5, 1, 9, 3].into_iter(), most);
        assert_eq!(kept(4), [true; 4]);
        assert_eq!(kept(2), [true, false, true, false]);
        let equal = longest(std::iter::repeat_n(7, 1000), 500);
        assert_eq!(equal.iter().filter(|kept| **kept).count(), 500);
        assert!(equal[..100].iter().any(|kept| *kept) && equal[900..].iter().any(|kept| *kept));
    }

    #[test]
    fn times_fit_however_long_the_run() {
        let clock = Clock::of(u64::MAX);
        assert!(clock.units(u64::MAX) < NONE);
        assert_eq!(Clock::of(1000).units(1000), 1000);
    }
}
