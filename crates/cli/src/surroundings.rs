//! What jobs need of the machine, asked before anything is started, so that one sentence says what is missing. `corelace
//! doctor` asks the same questions.

use std::path::Path;

/// Threads and fibers are copies of a program that lie in memory files, which the dynamic linker opens by the names that /proc
/// gives them.
pub fn for_hosts() -> Result<(), String> {
    if Path::new("/proc/self/fd").exists() {
        return Ok(());
    }
    Err("ranks that are threads or fibers need /proc, which is not there: mount it, or use --ranks process"
        .into())
}
