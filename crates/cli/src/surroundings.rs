//! What jobs need of the machine, asked before anything is started, so that one sentence says what is missing. `corelace
//! doctor` asks the same questions.

use std::path::Path;

use rustix::process::{Resource, getrlimit};

/// Threads and fibers are copies of a program that lie in memory files, which the dynamic linker opens by the names that /proc
/// gives them.
pub fn for_hosts() -> Result<(), String> {
    if Path::new("/proc/self/fd").exists() {
        return Ok(());
    }
    Err("ranks that are threads or fibers need /proc, which is not there: mount it, or use --ranks process"
        .into())
}

/// Every thread and fiber has a copy of its program in a file in memory, whose length the limit of file sizes bounds: the system
/// would end the host by a signal.
pub fn for_copies(program: &Path) -> Result<(), String> {
    let limit = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    match std::fs::metadata(program) {
        Ok(file) if file.len() > limit => Err(format!(
            "ulimit -f allows files of {limit} bytes, but ranks that are threads or fibers need copies of {} in memory, {} bytes: \
             raise it, or use --ranks process",
            program.display(),
            file.len()
        )),
        _ => Ok(()),
    }
}
