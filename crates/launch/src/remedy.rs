//! What to do when the system refuses something: the half of an error that its number does not say.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Begins with a blank and stands in brackets, or is empty.
pub(crate) fn of(refusal: &io::Error) -> String {
    let Some(errno) = Errno::from_io_error(refusal) else { return String::new() };
    let text = match errno {
        Errno::MFILE => {
            let limit = limit_of(Resource::Nofile);
            format!("this process may have {limit} of them: raise `ulimit -n`, or start fewer ranks")
        }
        Errno::NFILE => "the whole system has no room for more: end other jobs, or raise fs.file-max".into(),
        Errno::AGAIN => {
            let limit = limit_of(Resource::Nproc);
            format!(
                "the user may have {limit} processes and threads, see `ulimit -u`; the control group's pids.max may be lower"
            )
        }
        Errno::NOMEM => {
            let limit = getrlimit(Resource::As).current;
            let limit = limit.map_or("no limit".into(), |bytes| format!("{} KiB", bytes / 1024));
            format!("address space of a process, `ulimit -v`: {limit}; or the machine has no memory left")
        }
        Errno::FBIG => "raise `ulimit -f`: it counts for memory that processes share, too".into(),
        Errno::NOSYS => {
            "Linux 5.4 or newer is needed, and a container's filter must let the call pass".into()
        }
        Errno::PERM => "a container's filter must let the call pass".into(),
        _ => return String::new(),
    };
    format!(" ({text})")
}

fn limit_of(resource: Resource) -> String {
    getrlimit(resource).current.map_or("any number".into(), |limit| limit.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_of_descriptors_names_the_limit_and_the_command() {
        let limit = limit_of(Resource::Nofile);
        let text = of(&Errno::MFILE.into());
        assert_eq!(
            text,
            format!(" (this process may have {limit} of them: raise `ulimit -n`, or start fewer ranks)")
        );
    }

    #[test]
    fn what_explains_itself_is_left_alone() {
        assert_eq!(of(&Errno::NOENT.into()), "");
        assert_eq!(of(&io::Error::other("something else")), "");
    }
}
