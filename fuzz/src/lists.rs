//! What ranks of a collective access to a file tell each other of the bytes that they want.

/// Two words for a range of the file, then the list as it comes in a message.
pub fn runs(bytes: &[u8]) {
    let Some((range, message)) = bytes.split_at_checked(16) else { return };
    let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")) >> 1;
    let (start, end) = (word(&range[..8]), word(&range[8..]));
    if let Some(wanted) = io::bytes_of_foreign_runs(message, start.min(end)..end) {
        assert!(wanted <= end.saturating_sub(start));
    }
}

/// A stripe, a run and a stripe.
pub fn run_seeds() -> Vec<Vec<u8>> {
    let words: [u64; 14] = [0, 1 << 40, 5, 3, 10, 4, 100, 50, 0, 1, 1 << 20, 4096, 8192, 1 << 10];
    vec![words.iter().flat_map(|word| word.to_ne_bytes()).collect(), [0; 16].to_vec()]
}
