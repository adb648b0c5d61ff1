//! A chip as words of text, for the process that runs it: what was read and checked once need not be read by every copy of a library.
//!
//! One walk over the fields serves both directions, so that what is written is what is read. Facts, free divisions, sources and the line for people stay behind.

use std::fmt::Write;

use super::{
    Adapter, Buffers, Chip, Cluster, Code, CopyLaw, Core, Ddr, Dma, Io, Ipc, IpcCosts, Kind, Link, Long,
    Memories, Multicast, Network, Plane, Position, Power, Rows, Shape, Team, shape,
};
use crate::Rate;

/// Goes past the fields of a chip: writes them, or fills them in. `None` if that is not possible.
///
/// Its steps are called and never inlined: there are more than a hundred of them, in every copy of the library.
trait Walk {
    fn word(&mut self, value: &mut u64) -> Option<()>;
    fn text(&mut self, value: &mut String) -> Option<()>;

    #[inline(never)]
    fn number<T: Copy + Into<u64> + TryFrom<u64>>(&mut self, value: &mut T) -> Option<()> {
        let mut word = (*value).into();
        self.word(&mut word)?;
        *value = T::try_from(word).ok()?;
        Some(())
    }

    #[inline(never)]
    fn rate(&mut self, value: &mut Rate) -> Option<()> {
        let mut steps = value.steps();
        self.word(&mut steps)?;
        *value = Rate::from_steps(steps);
        Some(())
    }

    /// A number that may be missing, which is none that is in use: one more than it, or 0.
    #[inline(never)]
    fn maybe<T: Copy + Into<u64> + TryFrom<u64>>(&mut self, value: &mut Option<T>) -> Option<()> {
        let mut word = value.map_or(0, |value| value.into().wrapping_add(1));
        self.word(&mut word)?;
        *value = match word.checked_sub(1) {
            Some(number) => Some(T::try_from(number).ok()?),
            None => None,
        };
        Some(())
    }

    /// Something that may be missing.
    fn option<T: Copy>(
        &mut self,
        value: &mut Option<T>,
        blank: T,
        mut each: impl FnMut(&mut Self, &mut T) -> Option<()>,
    ) -> Option<()> {
        let mut there = value.is_some();
        self.is(&mut there, false, true)?;
        let mut inside = value.unwrap_or(blank);
        if there {
            each(self, &mut inside)?;
        }
        *value = there.then_some(inside);
        Some(())
    }

    fn is<T: Copy + PartialEq>(&mut self, value: &mut T, no: T, yes: T) -> Option<()> {
        let mut word = u64::from(*value == yes);
        self.word(&mut word)?;
        *value = match word {
            0 => no,
            1 => yes,
            _ => return None,
        };
        Some(())
    }

    fn list<T: Clone>(
        &mut self,
        list: &mut Vec<T>,
        blank: T,
        mut each: impl FnMut(&mut Self, &mut T) -> Option<()>,
    ) -> Option<()> {
        let mut length = list.len() as u64;
        self.word(&mut length)?;
        // More than there are places on any chip; and a length that is a lie must not take memory.
        if length > u64::from(u16::MAX) {
            return None;
        }
        list.resize(length as usize, blank);
        list.iter_mut().try_for_each(|item| each(self, item))
    }
}

struct Writer(String);

impl Walk for Writer {
    fn word(&mut self, value: &mut u64) -> Option<()> {
        write!(self.0, "{value} ").ok()
    }

    fn text(&mut self, value: &mut String) -> Option<()> {
        write!(self.0, "{} {value} ", value.len()).ok()
    }
}

struct Reader<'t>(&'t str);

impl Walk for Reader<'_> {
    #[inline(never)]
    fn word(&mut self, value: &mut u64) -> Option<()> {
        let (word, rest) = self.0.split_once(' ')?;
        *value = word.parse().ok()?;
        self.0 = rest;
        Some(())
    }

    fn text(&mut self, value: &mut String) -> Option<()> {
        let mut length = 0;
        self.word(&mut length)?;
        let length = usize::try_from(length).ok()?;
        *value = self.0.get(..length)?.to_owned();
        self.0 = self.0.get(length..)?.strip_prefix(' ')?;
        Some(())
    }
}

fn walk(form: &mut impl Walk, chip: &mut Chip) -> Option<()> {
    form.text(&mut chip.name)?;
    form.number(&mut chip.clock_hz)?;
    form.text(&mut chip.cluster_name)?;
    let Cluster { cores, system_cores, ranks_max, scratchpad, usable, stack, code, receive_per_byte, team } =
        &mut chip.cluster;
    for number in [cores, system_cores, ranks_max] {
        form.number(number)?;
    }
    for number in [scratchpad, usable, stack] {
        form.number(number)?;
    }
    form.rate(receive_per_byte)?;
    form.is(code, Code::Scratchpad, Code::External)?;
    form.option(team, Team::default(), |form, Team { fork, join }| {
        form.number(fork)?;
        form.number(join)
    })?;
    form.list(&mut chip.positions, Position { x: 0, y: 0 }, position)?;
    let blank = Io {
        name: String::new(),
        ports: Vec::new(),
        cores: 0,
        scratchpad: 0,
        receive_per_byte: Rate::default(),
        ddr: None,
    };
    form.list(&mut chip.io, blank, io)?;
    let blank = Kind {
        name: String::new(),
        ports: Vec::new(),
        cores: 0,
        ranks_max: 0,
        memory: 0,
        receive_per_byte: Rate::default(),
    };
    form.list(&mut chip.kinds, blank, kind)?;
    form.list(&mut chip.runs_on, 0, |form, index| form.number(index))?;
    let Network { shape, columns, rows, data, control, packet_payload, credits, buffers } = &mut chip.network;
    shape_of(form, shape)?;
    for number in [columns, rows, packet_payload, credits] {
        form.number(number)?;
    }
    plane(form, data)?;
    plane(form, control)?;
    // Without buffers there are no channels either.
    let mut described = buffers.unwrap_or(Buffers { flits: 0, channels: 0 });
    form.number(&mut described.flits)?;
    form.number(&mut described.channels)?;
    *buffers = (described.channels > 0).then_some(described);
    form.list(&mut chip.links, NO_LINK, link)?;
    let Dma { channels, piece } = &mut chip.dma;
    form.number(channels)?;
    form.number(piece)?;
    let blank = Memories { global: CopyLaw::default(), local: CopyLaw::default() };
    form.option(&mut chip.memory, blank, |form, Memories { global, local }| {
        copy_law(form, global)?;
        copy_law(form, local)
    })?;
    form.maybe(&mut chip.barrier)?;
    form.option(&mut chip.core, Core::default(), |form, core| {
        core.costs.iter_mut().try_for_each(|cost| form.number(cost))
    })?;
    let Power { idle_microwatts, core_cycle, flit_hop, dma_byte, ddr_byte } = &mut chip.power;
    for number in [idle_microwatts, core_cycle, flit_hop, dma_byte, ddr_byte] {
        form.number(number)?;
    }
    let blank = (String::new(), Ipc { cluster: FREE, io: FREE, kinds: Vec::new() });
    form.list(&mut chip.ipc, blank, |form, (name, Ipc { cluster, io, kinds })| {
        form.text(name)?;
        costs(form, cluster)?;
        costs(form, io)?;
        form.list(kinds, FREE, costs)
    })?;
    form.text(&mut chip.default_ipc)
}

fn position(form: &mut impl Walk, Position { x, y }: &mut Position) -> Option<()> {
    form.number(x)?;
    form.number(y)
}

fn io(form: &mut impl Walk, io: &mut Io) -> Option<()> {
    let Io { name, ports, cores, scratchpad, receive_per_byte, ddr } = io;
    form.text(name)?;
    form.list(ports, Position { x: 0, y: 0 }, position)?;
    form.number(cores)?;
    form.number(scratchpad)?;
    form.rate(receive_per_byte)?;
    let blank = Ddr {
        size: 0,
        read_per_byte: Rate::default(),
        write_per_byte: Rate::default(),
        piece: 0,
        rows: None,
    };
    form.option(ddr, blank, |form, Ddr { size, read_per_byte, write_per_byte, piece, rows: of }| {
        form.number(size)?;
        form.rate(read_per_byte)?;
        form.rate(write_per_byte)?;
        form.number(piece)?;
        form.option(of, Rows::default(), rows)
    })
}

fn kind(form: &mut impl Walk, kind: &mut Kind) -> Option<()> {
    let Kind { name, ports, cores, ranks_max, memory, receive_per_byte } = kind;
    form.text(name)?;
    form.list(ports, Position { x: 0, y: 0 }, position)?;
    form.number(cores)?;
    form.number(ranks_max)?;
    form.number(memory)?;
    form.rate(receive_per_byte)
}

fn rows(form: &mut impl Walk, rows: &mut Rows) -> Option<()> {
    let Rows { bytes, banks, burst, activate, turn, latency, asked } = rows;
    for number in [bytes, banks, burst, asked] {
        form.number(number)?;
    }
    [activate, turn, latency].into_iter().try_for_each(|time| form.number(time))
}

fn shape_of(form: &mut impl Walk, shape: &mut Shape) -> Option<()> {
    let (mut number, mut arity): (u16, u16) = match shape {
        Shape::Mesh => (0, 0),
        Shape::Torus => (1, 0),
        Shape::Crossbar => (2, 0),
        Shape::FatTree { arity } => (3, *arity),
        Shape::Graph => (4, 0),
    };
    form.number(&mut number)?;
    form.number(&mut arity)?;
    *shape = match number {
        0 => Shape::Mesh,
        1 => Shape::Torus,
        2 => Shape::Crossbar,
        3 => Shape::FatTree { arity },
        4 => Shape::Graph,
        _ => return None,
    };
    Some(())
}

fn link(form: &mut impl Walk, Link { from, to, per_byte, latency }: &mut Link) -> Option<()> {
    form.number(from)?;
    form.number(to)?;
    form.option(per_byte, Rate::default(), |form, rate| form.rate(rate))?;
    form.maybe(latency)
}

fn plane(form: &mut impl Walk, plane: &mut Plane) -> Option<()> {
    let Plane { flit_bytes, flit_time, header_bytes, router, wire, multicast } = plane;
    form.number(flit_bytes)?;
    form.number(header_bytes)?;
    form.rate(flit_time)?;
    form.number(router)?;
    form.number(wire)?;
    form.option(multicast, Multicast::default(), |form, Multicast { setup, copy, destinations }| {
        form.number(setup)?;
        form.number(copy)?;
        form.number(destinations)
    })
}

fn costs(form: &mut impl Walk, costs: &mut IpcCosts) -> Option<()> {
    let IpcCosts {
        post,
        agent,
        take,
        expose,
        put_core,
        put_dma,
        put_per_byte,
        complete_dma,
        copy_call,
        copy_per_byte,
        kernel,
        page_call,
        page_copy,
        local_call,
        page,
        letter_slots,
        letter_payload,
        letter_spare,
        letter_write,
        letter_read,
        reach,
        eager_max,
        long,
        get_dma,
        slots,
        accumulate,
        adapter,
    } = costs;
    let times = [
        post,
        agent,
        take,
        expose,
        put_core,
        put_dma,
        complete_dma,
        copy_call,
        kernel,
        page_call,
        local_call,
    ];
    [put_per_byte, copy_per_byte, page_copy, letter_write, letter_read]
        .into_iter()
        .try_for_each(|rate| form.rate(rate))?;
    times.into_iter().try_for_each(|number| form.number(number))?;
    form.number(page)?;
    form.number(letter_slots)?;
    form.number(letter_payload)?;
    form.number(letter_spare)?;
    form.number(reach)?;
    form.maybe(eager_max)?;
    long_way(form, long)?;
    form.maybe(get_dma)?;
    form.maybe(slots)?;
    form.option(accumulate, CopyLaw::default(), copy_law)?;
    form.option(adapter, Adapter::default(), |form, adapter| {
        let Adapter { delegate, register, register_page, page, regions, shadow } = adapter;
        form.maybe(delegate)?;
        form.number(register)?;
        form.number(register_page)?;
        form.number(page)?;
        form.number(regions)?;
        long_way(form, shadow)
    })
}

fn copy_law(form: &mut impl Walk, CopyLaw { call, per_byte, long }: &mut CopyLaw) -> Option<()> {
    form.number(call)?;
    form.rate(per_byte)?;
    long_way(form, long)
}

fn long_way(form: &mut impl Walk, long: &mut Option<Long>) -> Option<()> {
    let (mut min, mut call) = (long.map(|long| long.min), long.map_or(0, |long| long.call));
    form.maybe(&mut min)?;
    form.number(&mut call)?;
    *long = min.map(|min| Long { min, call });
    Some(())
}

/// Nothing costs anything, until it is filled in.
const FREE: IpcCosts = IpcCosts {
    post: 0,
    agent: 0,
    take: 0,
    expose: 0,
    put_core: 0,
    put_dma: 0,
    put_per_byte: Rate::ticks(0),
    complete_dma: 0,
    copy_call: 0,
    copy_per_byte: Rate::ticks(0),
    kernel: 0,
    page_call: 0,
    page_copy: Rate::ticks(0),
    local_call: 0,
    page: 0,
    letter_slots: 0,
    letter_payload: 0,
    letter_spare: 0,
    letter_write: Rate::ticks(0),
    letter_read: Rate::ticks(0),
    reach: 0,
    eager_max: None,
    long: None,
    get_dma: None,
    slots: None,
    accumulate: None,
    adapter: None,
};

const NO_PLANE: Plane =
    Plane { flit_bytes: 0, flit_time: Rate::ticks(0), header_bytes: 0, router: 0, wire: 0, multicast: None };

const NO_LINK: Link = Link { from: 0, to: 0, per_byte: None, latency: None };

impl Chip {
    /// What the model computes with, as words.
    pub fn to_words(&self) -> String {
        let (mut writer, mut chip) = (Writer(String::new()), self.clone());
        walk(&mut writer, &mut chip).expect("a chip can be written");
        writer.0
    }

    /// The chip that [`to_words`](Chip::to_words) has written, without facts, free divisions and sources; `None` if it has not.
    pub fn from_words(words: &str) -> Option<Chip> {
        let mut chip = Chip {
            name: String::new(),
            description: String::new(),
            sources: Vec::new(),
            clock_hz: 0,
            cluster_name: String::new(),
            cluster: Cluster {
                cores: 0,
                system_cores: 0,
                ranks_max: 0,
                scratchpad: 0,
                usable: 0,
                stack: 0,
                code: Code::Scratchpad,
                receive_per_byte: Rate::default(),
                team: None,
            },
            positions: Vec::new(),
            io: Vec::new(),
            kinds: Vec::new(),
            runs_on: Vec::new(),
            network: Network {
                shape: Shape::Mesh,
                columns: 0,
                rows: 0,
                data: NO_PLANE,
                control: NO_PLANE,
                packet_payload: 0,
                credits: 0,
                buffers: None,
            },
            links: Vec::new(),
            dma: Dma { channels: 0, piece: 0 },
            memory: None,
            barrier: None,
            core: None,
            power: Power { idle_microwatts: 0, core_cycle: 0, flit_hop: 0, dma_byte: 0, ddr_byte: 0 },
            ipc: Vec::new(),
            default_ipc: String::new(),
            free: Vec::new(),
            facts: Vec::new(),
        };
        let mut reader = Reader(words);
        walk(&mut reader, &mut chip)?;
        (reader.0.is_empty() && chip.holds_together()).then_some(chip)
    }

    /// What the model relies on: everything is attached to a router that is there, and nothing that is divided by is zero.
    fn holds_together(&self) -> bool {
        let Network { columns, rows, packet_payload, credits, data, control, .. } = self.network;
        let there = |at: &Position| at.x < columns && at.y < rows;
        let positive = [
            self.clock_hz,
            packet_payload.into(),
            credits.into(),
            data.flit_bytes.into(),
            data.flit_time.steps(),
            control.flit_bytes.into(),
            control.flit_time.steps(),
            self.cluster.ranks_max.into(),
        ];
        let further: usize = self.kinds.iter().map(|kind| kind.ports.len()).sum();
        let places = self.positions.len() + self.io.len() + further;
        places <= usize::from(u16::MAX / 4)
            && !self.positions.is_empty()
            && self.positions.iter().all(there)
            && self.io.iter().all(|io| !io.ports.is_empty() && io.ports.iter().all(there))
            && self.kinds.iter().all(|kind| kind.ports.iter().all(there))
            && self.runs_on.iter().all(|kind| usize::from(*kind) <= self.kinds.len())
            && self.homes().iter().all(|home| home.ranks() > 0)
            && self.io.iter().filter_map(|io| io.ddr?.rows).all(|rows| rows.holds_together())
            && positive.iter().all(|number| *number > 0)
            && self.network.buffers_suffice()
            && self.network.multicasts_rightly()
            && shape::holds_together(&self.network, self.places(), &self.links)
            && self.ipc(&self.default_ipc).is_some()
            && self.ipc.iter().all(|(_, ipc)| {
                ipc.kinds.len() == self.kinds.len()
                    && [ipc.cluster, ipc.io]
                        .iter()
                        .chain(&ipc.kinds)
                        .all(|costs| costs.page > 0 && costs.letter_slots > 0 && costs.letter_payload > 0)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::super::BUILTIN;
    use super::*;

    #[test]
    fn every_chip_survives_being_written_as_words() {
        for (name, _) in BUILTIN {
            let chip = Chip::builtin(name).unwrap();
            let words = chip.to_words();
            let read = Chip::from_words(&words).unwrap_or_else(|| panic!("{name}: {words}"));
            let bare = Chip {
                description: String::new(),
                sources: Vec::new(),
                free: Vec::new(),
                facts: Vec::new(),
                ..chip
            };
            assert_eq!(format!("{read:?}"), format!("{bare:?}"));
        }
    }

    #[test]
    fn words_that_were_cut_or_changed_are_refused_or_make_a_chip_without_a_panic() {
        let words = Chip::builtin("mppa256-bostan").unwrap().to_words();
        for length in (0..words.len()).filter(|length| words.is_char_boundary(*length)) {
            assert!(Chip::from_words(&words[..length]).is_none(), "the first {length} bytes");
        }
        for at in 0..words.len() {
            for other in [b'0', b'9', b' ', b'x'] {
                let mut changed = words.clone().into_bytes();
                changed[at] = other;
                let _ = String::from_utf8(changed).map(|text| Chip::from_words(&text).is_some());
            }
        }
        assert!(Chip::from_words(&format!("{words}0 ")).is_none());
    }
}
