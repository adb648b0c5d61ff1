//! What all ranks of a recorded run tell together: which messages have both sides, who the members of communicators are, which collectives all members came to, and
//! how large windows must be.

use std::collections::{HashMap, HashSet};

use trace::{Event, MessageId, Protocol, Stream};

/// Tags of messages; the player uses the one above them itself.
const TAGS: u32 = 32_767;

/// What is known of all ranks together.
#[derive(Default)]
pub struct Whole {
    pub messages: HashMap<MessageId, Message>,
    pub comms: Vec<Vec<u32>>,
    /// The number that the trace gives a communicator, which those without a common member may share, and its members.
    known: HashMap<(u32, Vec<u32>), u32>,
    windows: Vec<Window>,
    /// By the number that the trace gives a window, and its communicator.
    pub window_of: HashMap<(u32, u32), u32>,
    /// Collectives that are asked for again.
    pub again: HashSet<Meeting>,
    pub left_out: u64,
}

/// The communicators of a rank by the numbers that it gives them, which may be given again when one has gone.
pub type Comms = HashMap<u32, u32>;

pub struct Window {
    comm: u32,
    /// A bound of what is moved from and to it.
    bytes: u64,
}

/// A collective: its communicator, if the trace tells of that, and the tag of its messages.
pub type Meeting = (Option<u32>, i32);

#[derive(Clone, Copy)]
pub struct Message {
    pub to: u32,
    pub bytes: u64,
    pub tag: u32,
    /// It is one of a collective that is asked for again, or has no other side.
    pub skipped: bool,
    /// The number that the trace gives its communicator.
    comm: u32,
    /// It is one of a collective.
    pub in_rounds: bool,
    /// Which one.
    of: Meeting,
}

impl Whole {
    pub fn of(streams: &[&Stream]) -> Result<Whole, String> {
        let world = (0..streams.len() as u32).collect();
        let mut whole = Whole { comms: vec![world], ..Whole::default() };
        let mut arrived = HashSet::new();
        let mut meetings: HashMap<Meeting, usize> = HashMap::new();
        for stream in streams {
            whole.gather(stream, &mut arrived, &mut meetings)?;
        }
        let all_came = |(comm, number): &Meeting, count: &usize| {
            let members = comm.map(|comm| whole.comms[comm as usize].len());
            *number >= 0 && members.is_some_and(|members| count.is_multiple_of(members))
        };
        let met = meetings.iter().filter(|(meeting, count)| all_came(meeting, count));
        whole.again = met.map(|(meeting, _)| *meeting).collect();
        for (id, message) in &mut whole.messages {
            // Where memory is not shared, windows are reached by messages.
            let of_a_window =
                message.of.0.is_some_and(|comm| whole.window_of.contains_key(&(message.comm & !1, comm)));
            let inside = of_a_window || whole.again.contains(&message.of);
            message.skipped = inside || !arrived.contains(id);
            whole.left_out += u64::from(message.skipped && !inside);
        }
        whole.left_out += arrived.iter().filter(|id| !whole.messages.contains_key(id)).count() as u64;
        Ok(whole)
    }

    fn gather(
        &mut self,
        stream: &Stream,
        arrived: &mut HashSet<MessageId>,
        meetings: &mut HashMap<Meeting, usize>,
    ) -> Result<(), String> {
        let mut sent: HashMap<u32, u32> = HashMap::new();
        let (mut function, mut comms) = ("", Comms::new());
        for event in stream.events() {
            match event {
                Event::Enter { function: name, .. } => function = stream.name(name),
                Event::SendStart { message, to, tag, comm, bytes, protocol, .. }
                    if protocol != Protocol::Raw =>
                {
                    let count = sent.entry(to).or_default();
                    let in_rounds = comm & 1 == 1;
                    let of = (comms.get(&comm).copied(), tag);
                    let tag = *count % TAGS;
                    self.messages
                        .insert(message, Message { to, bytes, tag, skipped: false, comm, in_rounds, of });
                    *count += 1;
                }
                Event::RecvMatch { message, .. } => _ = arrived.insert(message),
                Event::Members { comm, members, .. } => {
                    let members = members_of(stream.name(members), self.comms[0].len())?;
                    comms.insert(comm, self.place(comm, members));
                }
                Event::Collective { comm, number, .. } if !is_kept_for_later(function) => {
                    *meetings.entry((comms.get(&comm).copied(), number)).or_default() += 1;
                }
                Event::Access { window, bytes, .. } => self.window(&comms, window)?.bytes |= bytes,
                Event::EpochBegin { window, .. } | Event::EpochEnd { window, .. } => {
                    self.window(&comms, window)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The place of a communicator among all. The world keeps its own.
    fn place(&mut self, number: u32, members: Vec<u32>) -> u32 {
        if number <= 1 && members == self.comms[0] {
            return 0;
        }
        let comms = &mut self.comms;
        *self.known.entry((number, members)).or_insert_with_key(|(_, members)| {
            comms.push(members.clone());
            comms.len() as u32 - 1
        })
    }

    /// The place of one that was [placed](Whole::place).
    pub fn find(&self, number: u32, members: &str) -> Option<u32> {
        let members = members_of(members, self.comms[0].len()).ok()?;
        if number <= 1 && members == self.comms[0] {
            Some(0)
        } else {
            self.known.get(&(number, members)).copied()
        }
    }

    /// A window that a rank with these communicators uses.
    fn window(&mut self, comms: &Comms, number: u32) -> Result<&mut Window, String> {
        let comm = window_comm(comms, number).ok_or_else(|| {
            format!("the members of window {number} are not told, expected their event before its use")
        })?;
        let windows = &mut self.windows;
        let place = *self.window_of.entry((number, comm)).or_insert_with(|| {
            windows.push(Window { comm, bytes: 8 });
            windows.len() as u32 - 1
        });
        Ok(&mut windows[place as usize])
    }

    /// Windows as large as their longest access, rounded up.
    pub fn sized_windows(&self) -> Vec<(u32, u64)> {
        self.windows.iter().map(|window| (window.comm, window.bytes.next_power_of_two())).collect()
    }

    /// A world rank's number in a window.
    pub fn in_window(&self, window: u32, rank: u32) -> Option<u32> {
        let members = &self.comms[self.windows[window as usize].comm as usize];
        members.iter().position(|member| *member == rank).map(|place| place as u32)
    }
}

/// The communicator of a window: its collectives have the number after that of its accesses.
pub fn window_comm(comms: &Comms, number: u32) -> Option<u32> {
    comms.get(&(number | 1)).copied()
}

/// World ranks from `0-3,8`.
pub fn members_of(text: &str, world: usize) -> Result<Vec<u32>, String> {
    let wrong =
        || format!("the members \"{text}\" of a communicator, expected ranks below {world} as in 0-3,8");
    let number =
        |word: &str| word.parse::<u32>().ok().filter(|rank| (*rank as usize) < world).ok_or_else(wrong);
    let mut members = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        members.extend(number(first)?..=number(last)?);
    }
    Ok(members)
}

/// Its collective begins later, and perhaps again and again.
pub fn is_kept_for_later(function: &str) -> bool {
    function.ends_with("_init") || function.ends_with("_init_c")
}
