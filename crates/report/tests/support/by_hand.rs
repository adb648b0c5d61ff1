//! Traces written event by event.

use std::path::PathBuf;

use corelace_report::Run;
use trace::{Event, Job, MessageId, Name, Protocol, Recording, Trace};

/// Events of ranks, to be put in order of time.
pub struct ByHand {
    ranks: Vec<Vec<Step>>,
    cores: u32,
}

enum Step {
    Enter(u64, String, String),
    Members(u32, String),
    Event(Event),
}

impl ByHand {
    pub fn new(ranks: u32) -> ByHand {
        ByHand { ranks: (0..ranks).map(|_| Vec::new()).collect(), cores: 0 }
    }

    /// The ranks share these cores.
    pub fn on_cores(&mut self, cores: u32) -> &mut ByHand {
        self.cores = cores;
        self
    }

    pub fn event(&mut self, rank: u32, event: Event) -> &mut ByHand {
        self.ranks[rank as usize].push(Step::Event(event));
        self
    }

    pub fn enter(&mut self, rank: u32, function: &str, site: &str, time: u64) -> &mut ByHand {
        self.ranks[rank as usize].push(Step::Enter(time, function.into(), site.into()));
        self
    }

    /// The rank tells of a communicator, by the number of its collectives.
    pub fn members(&mut self, rank: u32, comm: u32, members: &str) -> &mut ByHand {
        self.ranks[rank as usize].push(Step::Members(comm, members.into()));
        self
    }

    pub fn compute(&mut self, rank: u32, begin: u64, end: u64) -> &mut ByHand {
        self.event(rank, Event::Compute { begin, end })
    }

    /// A call, and what happens in it.
    pub fn call(
        &mut self,
        rank: u32,
        function: &str,
        site: &str,
        begin: u64,
        end: u64,
        inside: impl FnOnce(&mut InCall),
    ) -> &mut ByHand {
        self.enter(rank, function, site, begin);
        let mut events = InCall { rank, events: Vec::new() };
        inside(&mut events);
        events.events.into_iter().for_each(|event| _ = self.event(rank, event));
        self.event(rank, Event::Leave { time: end })
    }

    pub fn run(&self) -> Run {
        self.run_under(1 << 20)
    }

    /// The run as recorded under a limit of bytes a rank.
    pub fn run_under(&self, limit: u64) -> Run {
        let directory = tempfile::tempdir().expect("a directory");
        let mut paths: Vec<PathBuf> = Vec::new();
        for (rank, steps) in self.ranks.iter().enumerate() {
            let path = directory.path().join(rank.to_string());
            let mut recording =
                Recording::create(&path, rank as u32, limit, 1_000_000_000).expect("a recording");
            for step in steps {
                let event = match step {
                    Step::Event(event) => *event,
                    Step::Members(comm, members) => {
                        Event::Members { time: 0, comm: *comm, members: recording.intern(members) }
                    }
                    Step::Enter(time, function, site) => Event::Enter {
                        time: *time,
                        function: recording.intern(function),
                        site: if site.is_empty() { Name::NONE } else { recording.intern(site) },
                    },
                };
                recording.record(event);
            }
            paths.push(path);
        }
        let file = directory.path().join("trace");
        let job = Job {
            ranks: paths.len() as u32,
            command: "by hand".into(),
            cores: self.cores,
            ticks_per_second: 1_000_000_000,
            ..Job::default()
        };
        trace::merge(&paths, &job, &file, &mut str::to_owned).expect("a trace");
        Run::of(&Trace::open(&file).expect("what was just written"))
    }
}

/// What happens inside a call.
pub struct InCall {
    rank: u32,
    events: Vec<Event>,
}

impl InCall {
    pub fn push(&mut self, event: Event) -> &mut InCall {
        self.events.push(event);
        self
    }

    pub fn send(
        &mut self,
        time: u64,
        number: u64,
        to: u32,
        tag: i32,
        bytes: u64,
        protocol: Protocol,
    ) -> &mut InCall {
        let message = MessageId::new(self.rank, number);
        self.push(Event::SendStart { time, message, to, tag, comm: 0, bytes, protocol, done: false })
    }

    pub fn sent(&mut self, time: u64, number: u64) -> &mut InCall {
        let message = MessageId::new(self.rank, number);
        self.push(Event::SendEnd { time, message })
    }

    /// A receive posted and, later, matched.
    pub fn receive(
        &mut self,
        posted: u64,
        time: u64,
        from: u32,
        number: u64,
        tag: i32,
        bytes: u64,
    ) -> &mut InCall {
        let message = MessageId::new(from, number);
        self.push(Event::RecvPost { time: posted, request: number + 1, from, tag, comm: 0, bytes });
        let protocol = Protocol::Unknown;
        self.push(Event::RecvMatch {
            time,
            message,
            request: number + 1,
            from,
            tag,
            bytes,
            protocol,
            done: false,
            waited: 0,
        })
    }

    pub fn arrived(&mut self, time: u64, from: u32, number: u64) -> &mut InCall {
        let message = MessageId::new(from, number);
        self.push(Event::RecvEnd { time, message })
    }

    pub fn wait(&mut self, begin: u64, end: u64) -> &mut InCall {
        self.push(Event::Wait { begin, end })
    }
}
