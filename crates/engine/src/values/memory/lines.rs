//! When it is worth telling the caches what comes next of data that members of a communicator give each other.

use processor::hints;

/// Fewer bytes are on their way soon enough.
const BYTES_LEAST: usize = 1 << 10;

/// More would drive each other out of the first cache.
const BYTES_MOST: usize = 16 << 10;

/// These bytes will be copied next, which another core has written.
pub(super) fn will_copy(begin: *mut u8, bytes: usize) {
    if bytes >= BYTES_LEAST && hints::are_worth_it_before_copies() {
        hints::will_read(begin, bytes.min(BYTES_MOST));
    }
}

/// These bytes will be written soon, which another core has read.
pub(super) fn will_write(begin: *mut u8, bytes: usize) {
    if bytes >= BYTES_LEAST {
        hints::will_write(begin, bytes.min(BYTES_MOST));
    }
}
