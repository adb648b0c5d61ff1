//! From a trace to the script of the same run: which messages, collectives and one-sided operations every rank did, what it waited for, and how long it computed in
//! between.
//!
//! - What a call began and what had ended when it returned is waited for there. A call that waits for requests (`MPI_Wait` and its kin) takes those that had ended when it
//!   returned: the one that ended inside of it, else the oldest, where it takes one; all of them where it takes several.
//! - A receive asks for the message that it got, also where the program would have taken any: every message has a tag that none of the tens of thousands around it between its two ranks has.
//! - A collective is asked for again, and goes the way of the other machine. Those that traces tell only the messages of are played message by message, each round after the
//!   one before.
//! - A run is what lies between `MPI_Init` and `MPI_Finalize`.

use trace::{Stream, Trace};

use super::reader::{Reader, Tally, Times};
use super::script::Script;
use super::whole::Whole;

/// A run that can be played.
pub struct Recorded {
    pub script: Script,
    /// By rank, in ticks.
    pub times: Vec<Times>,
    pub tally: Tally,
}

impl Recorded {
    /// Reads the trace.
    pub fn of(trace: &Trace) -> Result<Recorded, String> {
        let streams = ranks(trace)?;
        let whole = Whole::of(&streams)?;
        let windows = whole.sized_windows();
        if let Some((_, bytes)) = windows.iter().find(|(_, bytes)| *bytes > u64::from(u32::MAX)) {
            return Err(format!("an access of a window that needs {bytes} bytes, expected less than 4 GiB"));
        }
        let mut recorded = Recorded {
            script: Script { comms: whole.comms.clone(), windows, ..Script::default() },
            times: Vec::new(),
            tally: Tally { left_out: whole.left_out, ..Tally::default() },
        };
        for stream in streams {
            let mut reader = Reader::new(&whole, stream, &mut recorded.tally);
            stream.events().for_each(|event| reader.read(&event));
            let (part, times) = reader.end()?;
            recorded.script.parts.push(part);
            recorded.times.push(times);
        }
        Ok(recorded)
    }
}

/// The streams of all ranks, in order and whole.
fn ranks(trace: &Trace) -> Result<Vec<&Stream>, String> {
    let mut streams: Vec<&Stream> = trace.streams.iter().filter(|stream| !stream.is_chip()).collect();
    streams.sort_by_key(|stream| stream.rank);
    if streams.is_empty() || !streams.iter().zip(0..).all(|(stream, rank)| stream.rank == rank) {
        return Err("the trace does not hold the events of every rank, expected one of mpirun --trace".into());
    }
    if streams.len() != trace.job.ranks as usize {
        return Err(format!(
            "the trace has {} ranks in its world and {} in all: a run with an I/O rank cannot be replayed",
            trace.job.ranks,
            streams.len()
        ));
    }
    match streams.iter().find(|stream| stream.dropped > 0) {
        Some(stream) => Err(format!(
            "rank {} has recorded {} events more than there was room for: record again with a larger --trace-limit",
            stream.rank, stream.dropped
        )),
        None => Ok(streams),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::reader::Habit;
    use crate::replay::script::{NO_REQUEST, Part, What};
    use crate::replay::whole::members_of;
    use trace::{ANY_SOURCE, ANY_TAG, Event, Job, MessageId, Protocol, Recording};

    /// The script of what two ranks record.
    fn script_of(record: [&dyn Fn(&mut Recording); 2]) -> Recorded {
        let directory = tempfile::tempdir().unwrap();
        let paths = [0, 1].map(|rank: u32| {
            let path = directory.path().join(rank.to_string());
            let mut recording = Recording::create(&path, rank, 1 << 20, 1_000_000_000).unwrap();
            record[rank as usize](&mut recording);
            path
        });
        let job = Job { ranks: 2, ticks_per_second: 1_000_000_000, ..Job::default() };
        let file = directory.path().join("job.trace");
        trace::merge(&paths, &job, &file, &mut str::to_owned).unwrap();
        Recorded::of(&Trace::open(&file).unwrap()).unwrap()
    }

    fn call(recording: &mut Recording, times: [u64; 2], function: &str, inside: &[Event]) {
        let function = recording.intern(function);
        recording.record(Event::Enter { time: times[0], function, site: trace::Name::NONE });
        inside.iter().for_each(|event| recording.record(*event));
        recording.record(Event::Leave { time: times[1] });
    }

    fn sends(time: u64, message: u64, bytes: u64) -> Event {
        let message = MessageId::new(1, message);
        Event::SendStart {
            time,
            message,
            to: 0,
            tag: 5,
            comm: 0,
            bytes,
            protocol: Protocol::Eager,
            done: true,
        }
    }

    fn posts(time: u64, request: u64) -> Event {
        Event::RecvPost { time, request, from: ANY_SOURCE, tag: ANY_TAG, comm: 0, bytes: 100 }
    }

    fn matches(time: u64, message: u64, request: u64) -> Event {
        let (message, protocol) = (MessageId::new(1, message), Protocol::Eager);
        Event::RecvMatch {
            time,
            message,
            request,
            from: 1,
            tag: 5,
            bytes: 0,
            protocol,
            done: true,
            waited: 0,
        }
    }

    fn kinds(part: &Part) -> Vec<(What, u32, u64)> {
        part.steps.iter().map(|step| (step.what, step.tag, step.amount)).collect()
    }

    #[test]
    fn receives_ask_for_what_they_got_and_waits_take_what_ended_in_them() {
        let recorded = script_of([
            &|recording| {
                call(recording, [10, 11], "MPI_Irecv", &[posts(10, 1)]);
                call(recording, [15, 16], "MPI_Irecv", &[posts(15, 2)]);
                // The second request is complete first, and is waited for first.
                call(recording, [40, 60], "MPI_Wait", &[matches(50, 7, 2)]);
                call(recording, [60, 90], "MPI_Wait", &[matches(80, 8, 1)]);
            },
            &|recording| {
                call(recording, [10, 20], "MPI_Send", &[sends(10, 7, 30)]);
                call(recording, [25, 40], "MPI_Send", &[sends(25, 8, 40)]);
            },
        ]);
        let (receive, wait) = (What::Receive, What::Wait);
        let receiver = &recorded.script.parts[0];
        assert_eq!(
            kinds(receiver),
            [
                (receive, 1, 40),
                (What::Compute, 0, 4),
                (receive, 0, 30),
                (What::Compute, 0, 24),
                (wait, 0, 0),
                (wait, 0, 0)
            ]
        );
        assert_eq!(receiver.steps[4].request, receiver.steps[2].request);
        assert_eq!(receiver.requests, 2);
        let sender = &recorded.script.parts[1];
        assert_eq!(kinds(sender), [(What::Send, 0, 30), (What::Compute, 0, 5), (What::Send, 1, 40)]);
        assert!(sender.steps.iter().all(|step| step.request == NO_REQUEST), "blocking sends stay so");
        assert_eq!(recorded.times[1], Times { all: 30, computing: 5 });
        assert_eq!(recorded.tally, Tally { messages: 2, bytes: 70, ..Tally::default() });
    }

    #[test]
    fn a_message_without_its_other_side_is_left_out_and_counted() {
        let recorded =
            script_of([&|recording| call(recording, [10, 11], "MPI_Barrier", &[]), &|recording| {
                call(recording, [10, 20], "MPI_Send", &[sends(10, 7, 30)])
            }]);
        assert_eq!(recorded.tally, Tally { left_out: 1, ..Tally::default() });
        assert_eq!(recorded.script.parts[1].steps, []);
    }

    #[test]
    fn members_are_ranges_and_single_ranks_below_the_size_of_the_world() {
        assert_eq!(members_of("0-2,5,4", 6), Ok(vec![0, 1, 2, 5, 4]));
        assert!(members_of("0-6", 6).unwrap_err().contains("below 6"));
        assert!(members_of("", 6).is_err());
    }

    #[test]
    fn calls_are_known_by_what_they_do_with_requests() {
        let is = |habit: Habit, names: &[&str]| names.iter().all(|name| Habit::of(name) == habit);
        assert!(is(
            Habit::Starts,
            &["MPI_Isend", "MPI_Irecv_c", "MPI_Ialltoall", "MPI_Start", "MPI_Pready_list"]
        ));
        assert!(is(Habit::TakesOne, &["MPI_Wait", "MPI_Testany", "wait_any"]));
        assert!(is(Habit::TakesAll, &["MPI_Waitall", "MPI_Testsome"]));
        assert!(is(
            Habit::Ends,
            &["MPI_Send", "MPI_Intercomm_create", "MPI_Info_create", "MPI_Sendrecv_c", "recv"]
        ));
    }
}
