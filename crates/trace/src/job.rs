//! What a trace says about its job besides events: lines of text in the merged file, each a keyword and its value. Keywords that a
//! later version adds are ignored, what is missing takes its default.
//!
//! ```text
//! ranks 2
//! command mpirun -n 2 ring
//! place cluster 0 1 2097152 C0
//! ```

use std::fmt::{self, Display, Write};
use std::str::FromStr;

/// The job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// Ranks of `MPI_COMM_WORLD`.
    pub ranks: u32,
    /// The command line.
    pub command: String,
    /// How ranks ran: `process`, `thread`, `fiber` or `chip`.
    pub mode: String,
    /// Seconds since 1970 when the job was started.
    pub started: u64,
    /// The clock of all times.
    pub ticks_per_second: u64,
    /// The place of each rank: an index into `Chip::places` on a chip, the number of a group of ranks elsewhere.
    pub places: Vec<u32>,
    /// Cores that the ranks share; 0 if not known, as in traces of chips and of older versions.
    pub cores: u32,
    /// How the job ended, if not well: "rank 3 was killed by SIGSEGV".
    pub failure: Option<String>,
    /// The chip that was simulated.
    pub chip: Option<Chip>,
}

/// A simulated chip's floor plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chip {
    /// Its name.
    pub name: String,
    /// Clusters and I/O subsystems.
    pub places: Vec<Place>,
    /// Directed links of the data network.
    pub links: Vec<Link>,
    /// Bytes of a flit.
    pub flit_bytes: u32,
    /// Flits that a link moves in a thousand ticks of the clock.
    pub flits_per_kilotick: u32,
    /// Directed links of the control network; empty in traces that do not show it.
    pub control_links: Vec<Link>,
    /// Flits that one of these moves in a thousand ticks.
    pub control_flits_per_kilotick: u32,
}

/// A place of the floor plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// What people call it: `C0`, `IO-N`.
    pub name: String,
    /// What it is.
    pub kind: PlaceKind,
    /// Its column, in units of the distance between neighbours.
    pub x: f32,
    /// Its row.
    pub y: f32,
    /// Bytes of its memory; 0 if without bound.
    pub memory_bytes: u64,
}

/// What stands at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlaceKind {
    /// Cores with a memory of their own.
    #[default]
    Cluster,
    /// An I/O subsystem, usually with DDR.
    Io,
    /// A router without cores.
    Router,
}

/// A directed link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Index of the place it leaves.
    pub from: u32,
    /// Index of the place it enters.
    pub to: u32,
}

impl PlaceKind {
    const ALL: [PlaceKind; 3] = [PlaceKind::Cluster, PlaceKind::Io, PlaceKind::Router];

    /// Its word in a trace.
    pub const fn word(self) -> &'static str {
        match self {
            PlaceKind::Cluster => "cluster",
            PlaceKind::Io => "io",
            PlaceKind::Router => "router",
        }
    }
}

impl Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Job { ranks, command, mode, started, ticks_per_second, places, cores, failure, chip } = self;
        writeln!(f, "ranks {ranks}\ncommand {}\nmode {}", OneLine(command), OneLine(mode))?;
        writeln!(f, "started {started}\nticks_per_second {ticks_per_second}")?;
        f.write_str("places")?;
        places.iter().try_for_each(|place| write!(f, " {place}"))?;
        if *cores > 0 {
            write!(f, "\ncores {cores}")?;
        }
        if let Some(failure) = failure {
            write!(f, "\nfailure {}", OneLine(failure))?;
        }
        f.write_char('\n')?;
        chip.as_ref().map_or(Ok(()), |chip| chip.fmt(f))
    }
}

impl Chip {
    /// What people call a place.
    pub fn place_name(&self, place: u32) -> &str {
        self.places.get(place as usize).map_or("?", |place| place.name.as_str())
    }
}

impl Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Chip { name, places, links, flit_bytes, flits_per_kilotick, .. } = self;
        let Chip { control_links, control_flits_per_kilotick, .. } = self;
        writeln!(f, "chip {}", OneLine(name))?;
        writeln!(f, "flit_bytes {flit_bytes}\nflits_per_kilotick {flits_per_kilotick}")?;
        for Place { name, kind, x, y, memory_bytes } in places {
            writeln!(f, "place {} {x} {y} {memory_bytes} {}", kind.word(), OneLine(name))?;
        }
        links.iter().try_for_each(|Link { from, to }| writeln!(f, "link {from} {to}"))?;
        if !control_links.is_empty() {
            writeln!(f, "control_flits_per_kilotick {control_flits_per_kilotick}")?;
        }
        control_links.iter().try_for_each(|Link { from, to }| writeln!(f, "control_link {from} {to}"))
    }
}

/// A text whose line breaks are written as `\n`, and its backslashes as `\\`.
struct OneLine<'a>(&'a str);

impl Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| match letter {
            '\n' => f.write_str("\\n"),
            '\\' => f.write_str("\\\\"),
            letter => f.write_char(letter),
        })
    }
}

/// The text that was written as [`OneLine`].
fn text(line: &str) -> String {
    let mut letters = line.chars();
    let mut text = String::with_capacity(line.len());
    while let Some(letter) = letters.next() {
        text.push(match letter {
            '\\' => match letters.next() {
                Some('n') => '\n',
                _ => '\\',
            },
            letter => letter,
        });
    }
    text
}

impl FromStr for Job {
    type Err = String;

    /// Reads the lines. The error says which line is wrong.
    fn from_str(lines: &str) -> Result<Job, String> {
        let mut job = Job::default();
        for line in lines.split('\n') {
            let (keyword, value) = line.split_once(' ').unwrap_or((line, ""));
            job.take(keyword, value).ok_or_else(|| format!("a value of {keyword} instead of \"{value}\""))?;
        }
        Ok(job)
    }
}

impl Job {
    /// Takes the value of a keyword; `None` if it has no such values.
    fn take(&mut self, keyword: &str, value: &str) -> Option<()> {
        let chip = &mut self.chip;
        match keyword {
            "ranks" => self.ranks = value.parse().ok()?,
            "command" => self.command = text(value),
            "mode" => self.mode = text(value),
            "started" => self.started = value.parse().ok()?,
            "ticks_per_second" => self.ticks_per_second = value.parse().ok()?,
            "places" => {
                self.places = value.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?
            }
            "cores" => self.cores = value.parse().ok()?,
            "failure" => self.failure = Some(text(value)),
            "chip" => chip.get_or_insert_default().name = text(value),
            "flit_bytes" => chip.get_or_insert_default().flit_bytes = value.parse().ok()?,
            "flits_per_kilotick" => chip.get_or_insert_default().flits_per_kilotick = value.parse().ok()?,
            "place" => chip.get_or_insert_default().places.push(Place::of(value)?),
            "control_flits_per_kilotick" => {
                chip.get_or_insert_default().control_flits_per_kilotick = value.parse().ok()?;
            }
            "link" => chip.get_or_insert_default().links.push(Link::of(value)?),
            "control_link" => chip.get_or_insert_default().control_links.push(Link::of(value)?),
            _ => {}
        }
        Some(())
    }
}

impl Link {
    fn of(value: &str) -> Option<Link> {
        let (from, to) = value.split_once(' ')?;
        Some(Link { from: from.parse().ok()?, to: to.parse().ok()? })
    }
}

impl Place {
    fn of(value: &str) -> Option<Place> {
        let mut words = value.splitn(5, ' ');
        let mut word = || words.next();
        let kind = word()?;
        let kind = PlaceKind::ALL.into_iter().find(|known| known.word() == kind)?;
        let (x, y) = (word()?.parse().ok()?, word()?.parse().ok()?);
        let memory_bytes = word()?.parse().ok()?;
        Some(Place { name: text(word()?), kind, x, y, memory_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            ranks: 3,
            command: "mpirun -n 3 ./a \\ \"two\nlines\" é".into(),
            mode: "chip".into(),
            started: 1_767_225_600,
            ticks_per_second: 400_000_000,
            places: vec![0, 0, 1],
            cores: 2,
            failure: Some("rank 1 was killed by SIGSEGV\n\r".into()),
            chip: Some(Chip {
                name: "my chip".into(),
                places: vec![
                    Place {
                        name: "C 0".into(),
                        kind: PlaceKind::Cluster,
                        x: 0.5,
                        y: -1.0,
                        memory_bytes: 2 << 20,
                    },
                    Place { name: String::new(), kind: PlaceKind::Io, ..Place::default() },
                ],
                links: vec![Link { from: 0, to: 1 }, Link { from: 1, to: 0 }],
                flit_bytes: 4,
                flits_per_kilotick: 1000,
                control_links: vec![Link { from: 1, to: 0 }],
                control_flits_per_kilotick: 500,
            }),
        }
    }

    #[test]
    fn a_job_survives_being_written_and_read() {
        for job in [job(), Job { chip: None, failure: None, ..job() }, Job::default()] {
            assert_eq!(job.to_string().parse(), Ok(job));
        }
    }

    #[test]
    fn unknown_keywords_are_ignored_and_wrong_values_named() {
        assert_eq!("ranks 2\ncolour blue\n\n\n".parse(), Ok(Job { ranks: 2, ..Job::default() }));
        let wrong = |line: &str| line.parse::<Job>().unwrap_err();
        assert_eq!(wrong("ranks two"), "a value of ranks instead of \"two\"");
        assert_eq!(
            wrong("mode fiber\nplace tower 0 0 0 C0"),
            "a value of place instead of \"tower 0 0 0 C0\""
        );
        assert_eq!(wrong("link 3"), "a value of link instead of \"3\"");
    }
}
