//! `corelace doctor`: what this machine offers to MPI programs, found by trying, and what each finding means.
//!
//! | module | what it looks at |
//! | --- | --- |
//! | `kernel` | system calls that ranks and launcher use, and switches that change them |
//! | `limits` | `ulimit` and control groups, and how many ranks they allow |
//! | `jobs` | a small job of each kind of ranks |
//! | `neighbours` | the commands of the user's path, other MPIs, Python |
//!
//! Invariant: nothing is changed and nothing is left behind; every probe either measures or says that it could not.

mod jobs;
mod kernel;
mod limits;
mod neighbours;

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use clap::Args;
use serde_json::{Value, json};

use cli::prefix;

/// What `corelace doctor` takes.
#[derive(Args)]
pub struct DoctorArgs {
    /// Look only: run no jobs
    #[arg(long)]
    quick: bool,
    /// Print the findings as JSON: a list of objects with grade, what, value and meaning
    #[arg(long)]
    json: bool,
}

/// How good a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grade {
    Good,
    /// Works, but slower or with a limit.
    Fair,
    /// Something will not work.
    Bad,
}

struct Finding {
    grade: Grade,
    what: &'static str,
    value: String,
    meaning: String,
}

/// Prints the findings; the status is 1 if something will not work.
pub fn main(options: &DoctorArgs) -> Result<u8, String> {
    let mut findings = neighbours::findings();
    findings.extend([cores(), quota()]);
    findings.extend(kernel::findings());
    findings.extend([huge_pages(), shared_memory()]);
    findings.extend(limits::findings());
    findings.extend(compilers());
    findings.push(installation());
    if !options.quick {
        findings.extend(jobs::findings());
    }
    let text = || format!("{}\n{}\n", as_text(&findings), verdict(&findings, options.quick));
    cli::say(&if options.json { as_json(&findings) } else { text() })?;
    Ok(u8::from(findings.iter().any(|finding| finding.grade == Grade::Bad)))
}

fn as_text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { grade, what, value, meaning } in findings {
        let mark = match grade {
            Grade::Good => "ok  ",
            Grade::Fair => "note",
            Grade::Bad => "BAD ",
        };
        _ = writeln!(text, "{mark}  {what:<22} {value}\n{:29}{meaning}", "");
    }
    text
}

/// What all findings come to, in one sentence.
fn verdict(findings: &[Finding], quick: bool) -> String {
    let of = |grade: Grade| {
        let found = findings.iter().filter(|finding| finding.grade == grade);
        found.map(|finding| finding.what).collect::<Vec<_>>()
    };
    let (bad, fair) = (of(Grade::Bad), of(Grade::Fair));
    let runs = match quick {
        true => "Nothing here keeps MPI programs from running (no job was tried: --quick)",
        false => "MPI programs run on this machine",
    };
    match (bad.len(), fair.len()) {
        (0, 0) => format!("{runs}, and there is nothing to improve."),
        (0, 1) => format!("{runs}; a note says what could be better: {}.", fair[0]),
        (0, notes) => format!("{runs}; {notes} notes say what could be better: {}.", fair.join(", ")),
        (1, _) => format!("Something will not work: {}.", bad[0]),
        (things, _) => format!("{things} things will not work: {}.", bad.join(", ")),
    }
}

fn as_json(findings: &[Finding]) -> String {
    let list: Vec<Value> = findings
        .iter()
        .map(|Finding { grade, what, value, meaning }| {
            let grade = match grade {
                Grade::Good => "good",
                Grade::Fair => "fair",
                Grade::Bad => "bad",
            };
            json!({ "grade": grade, "what": what, "value": value, "meaning": meaning })
        })
        .collect();
    format!("{:#}\n", Value::Array(list))
}

fn finding(
    grade: Grade,
    what: &'static str,
    value: impl Into<String>,
    meaning: impl Into<String>,
) -> Finding {
    Finding { grade, what, value: value.into(), meaning: meaning.into() }
}

fn cores() -> Finding {
    let usable = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    finding(
        Grade::Good,
        "cores",
        format!("{usable} in this cpuset (online: {})", online.trim()),
        format!("up to {usable} ranks spin while they wait; with more, waiting ranks give their core away"),
    )
}

fn quota() -> Finding {
    let usable = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
    let allowed = launch::usable_cores();
    if allowed < usable {
        finding(
            Grade::Fair,
            "CPU quota",
            format!("{allowed} cores' worth of time"),
            "the control group stops ranks that use more: run no more ranks than that if time matters",
        )
    } else {
        finding(Grade::Good, "CPU quota", "none below the cpuset", "ranks may use their cores all the time")
    }
}

fn huge_pages() -> Finding {
    let mode = |name: &str| {
        let text =
            fs::read_to_string(format!("/sys/kernel/mm/transparent_hugepage/{name}")).unwrap_or_default();
        text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word.to_string())
    };
    match mode("shmem_enabled") {
        Some(word) if word != "never" && word != "deny" => finding(
            Grade::Good,
            "huge pages",
            format!("shared memory: {word}"),
            "the ranks' shared memory may use 2 MiB pages: fewer TLB misses",
        ),
        _ => finding(
            Grade::Fair,
            "huge pages",
            format!("private: {}, shared memory: never", mode("enabled").unwrap_or_else(|| "unknown".into())),
            "large shared buffers use 4 KiB pages (echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled)",
        ),
    }
}

fn shared_memory() -> Finding {
    match rustix::fs::statvfs("/dev/shm") {
        Ok(stat) => finding(
            Grade::Good,
            "/dev/shm",
            format!("{} MiB", stat.f_blocks * stat.f_frsize / (1 << 20)),
            "not used: its size does not matter",
        ),
        Err(error) => finding(Grade::Good, "/dev/shm", format!("{error}"), "not used: it need not exist"),
    }
}

fn compilers() -> Vec<Finding> {
    let mut findings = Vec::new();
    for (what, variable, default, needed) in [
        ("C compiler", "CC", "cc", "mpicc and `mpirun prog.c`"),
        ("C++ compiler", "CXX", "c++", "mpicxx and `mpirun prog.cc`"),
        ("Fortran compiler", "FC", "gfortran", "mpifort and `mpirun prog.f90`"),
    ] {
        let value = std::env::var(variable)
            .ok()
            .filter(|value| !value.trim().is_empty())
            .unwrap_or_else(|| default.into());
        let mut words = value.split_whitespace();
        let output = words.next().map(|program| Command::new(program).args(words).arg("--version").output());
        findings.push(match output {
            Some(Ok(output)) if output.status.success() => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let version = text.lines().next().unwrap_or_default().to_string();
                finding(Grade::Good, what, format!("{value}: {version}"), format!("{needed} work"))
            }
            _ => finding(
                Grade::Fair,
                what,
                format!("{value}: not found"),
                format!("{needed} do not work; programs that are built already do (set {variable})"),
            ),
        });
    }
    findings
}

fn installation() -> Finding {
    match prefix::locate() {
        Ok(prefix) => finding(
            Grade::Good,
            "installation",
            prefix.library().display().to_string(),
            "programs built by mpicc find the MPI library here",
        ),
        Err(error) => {
            finding(Grade::Bad, "installation", "incomplete", error.lines().next().unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_one_sentence_that_names_what_is_not_well() {
        let graded = |grades: &[(Grade, &'static str)]| {
            grades.iter().map(|(grade, what)| finding(*grade, what, "", "")).collect::<Vec<_>>()
        };
        let (good, fair) = ((Grade::Good, "cores"), (Grade::Fair, "huge pages"));
        let said = |grades: &[(Grade, &'static str)]| verdict(&graded(grades), false);
        assert_eq!(said(&[good]), "MPI programs run on this machine, and there is nothing to improve.");
        assert_eq!(
            said(&[good, fair]),
            "MPI programs run on this machine; a note says what could be better: huge pages."
        );
        assert_eq!(said(&[good, fair, (Grade::Bad, "pidfd")]), "Something will not work: pidfd.");
        assert_eq!(
            said(&[(Grade::Bad, "memfd"), (Grade::Bad, "pidfd")]),
            "2 things will not work: memfd, pidfd."
        );
        assert!(verdict(&graded(&[good]), true).contains("no job was tried"));
    }
}
