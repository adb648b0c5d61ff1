//! Names of signals, and which of them the launcher may handle.

use rustix::process::Signal;

/// The name of a signal, for messages.
pub(crate) fn name(number: i32) -> String {
    match signal_hook::low_level::signal_name(number) {
        Some(name) => name.to_string(),
        None => format!("SIG{number}"),
    }
}

/// The signal of a number that the kernel gave us.
pub(crate) fn from_number(number: i32) -> Option<Signal> {
    Signal::from_named_raw(number)
}

/// Those of `wanted` that this process does not ignore. `nohup mpirun …` ignores SIGHUP, a background job of a script
/// SIGINT; handling them would take that back.
pub(crate) fn not_ignored(wanted: &[i32]) -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    wanted.iter().copied().filter(|number| mask & (1 << (number - 1)) == 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_their_usual_names() {
        assert_eq!(
            (name(9).as_str(), name(11).as_str(), name(15).as_str()),
            ("SIGKILL", "SIGSEGV", "SIGTERM")
        );
        assert_eq!(name(99), "SIG99");
    }
}
