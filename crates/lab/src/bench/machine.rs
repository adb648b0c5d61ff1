//! The machine and the time of a measurement, which its figures mean nothing without.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// What figures depend on.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Machine {
    pub processor: String,
    pub cores: usize,
    pub kernel: String,
}

impl Machine {
    /// This one.
    pub fn this() -> Machine {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let kernel = rustix::system::uname();
        Machine {
            processor: processor(&text).unwrap_or(std::env::consts::ARCH).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: format!("Linux {}", kernel.release().to_string_lossy()),
        }
    }

    /// In one line.
    pub fn text(&self) -> String {
        let cores = if self.cores == 1 { "1 core".into() } else { format!("{} cores", self.cores) };
        format!("{cores} of {}, {}", self.processor, self.kernel)
    }
}

/// The processor's name in /proc/cpuinfo.
fn processor(text: &str) -> Option<&str> {
    let value = text.lines().find(|line| line.starts_with("model name"))?.split_once(':')?.1.trim();
    (!value.is_empty()).then_some(value)
}

/// The day and the time, UTC.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (year, month, day) = civil(since / 86_400);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", since / 3600 % 24, since / 60 % 60)
}

/// The date so many days after the first of January 1970.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 0;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        month += 1;
        if days < length {
            break;
        }
        days -= length;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates_in_leap_years_and_others() {
        let dates = [0, 58, 59, 11_016, 11_017, 19_722, 20_088].map(civil);
        let expected = [
            (1970, 1, 1),
            (1970, 2, 28),
            (1970, 3, 1),
            (2000, 2, 29),
            (2000, 3, 1),
            (2023, 12, 31),
            (2024, 12, 31),
        ];
        assert_eq!(dates, expected);
    }

    #[test]
    fn the_processor_is_called_as_the_kernel_calls_it() {
        assert_eq!(processor("processor\t: 0\nmodel name\t: A Chip 1.0\n"), Some("A Chip 1.0"));
        assert_eq!(processor("processor\t: 0\n"), None);
    }
}
