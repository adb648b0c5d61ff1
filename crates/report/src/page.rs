//! The page: one HTML file with its style, its scripts and its data inside, which needs no network.
//!
//! Small things are JSON; what grows with the trace are arrays of numbers in base64, so that the browser has them without
//! parsing. Levels of detail are computed here. A page stays under 20 MB: of more calls, messages or waits than the
//! limits below allow, the longest are kept, and the page says so.

mod levels;
mod pack;

use serde_json::{Value, json};
use trace::{AccessKind, EpochKind, Protocol};

use crate::analysis::{Analysis, STEPS, Shares};
use crate::run::{Run, Side, State};
use crate::text;
use pack::{Blobs, Clock, NONE, longest};

const CALLS_MAX: usize = 180_000;
const MESSAGES_MAX: usize = 140_000;
const WAITS_MAX: usize = 140_000;
const PHASES_MAX: usize = 100_000;
const ACCESSES_MAX: usize = 100_000;
const EPOCHS_MAX: usize = 80_000;
const REGIONS_MAX: usize = 80_000;
const PIECES_MAX: usize = 40_000;
const CELLS_MAX: usize = 60_000;
const WAIT_ROWS: usize = 500;
const PROFILE_ROWS: usize = 2_000;
/// Call sites that are named of each pattern of waiting.
const PATTERN_SITES: usize = 3;

const HTML: &str = include_str!("../page/page.html");
const STYLE: &str = include_str!("../page/style.css");
/// In the order in which they build on each other.
const SCRIPTS: [&str; 10] = [
    include_str!("../page/data.js"),
    include_str!("../page/tables.js"),
    include_str!("../page/pick.js"),
    include_str!("../page/paint.js"),
    include_str!("../page/windows.js"),
    include_str!("../page/regions.js"),
    include_str!("../page/timeline.js"),
    include_str!("../page/panels.js"),
    include_str!("../page/filter.js"),
    include_str!("../page/chip.js"),
];

/// The page of a run.
pub fn page(run: &Run, analysis: &Analysis) -> String {
    let mut blobs = Blobs::default();
    let clock = Clock::of(run.duration);
    let levels = levels::add(&mut blobs, run);
    let merged_below = levels::add_segments(&mut blobs, run, clock);
    let calls = add_calls(&mut blobs, run, clock);
    let messages = add_messages(&mut blobs, run, clock);
    add_waits(&mut blobs, run, clock, &messages);
    add_phases(&mut blobs, run, clock);
    let accesses = add_accesses(&mut blobs, run, clock);
    add_epochs(&mut blobs, run, clock);
    add_regions(&mut blobs, run, clock);
    add_critical(&mut blobs, analysis, clock);
    add_matrix(&mut blobs, analysis);
    let data = json!({
        "title": text::title(run),
        "command": run.job.command,
        "mode": run.job.mode,
        "started": run.job.started,
        "ranks": run.ranks.len(),
        "events": run.events,
        "dropped": run.dropped,
        "secondsPerUnit": run.seconds(1) * clock.unit as f64,
        "duration": clock.units(run.duration),
        "sentences": crate::sentences(run, analysis),
        "names": run.names,
        "communicators": run.communicators.iter().collect::<Vec<_>>(),
        "protocols": Protocol::ALL.map(Protocol::label),
        "accessKinds": AccessKind::ALL.map(AccessKind::label),
        "epochKinds": EpochKind::ALL.map(EpochKind::label),
        "accesses": accesses,
        "accessTable": text::accesses(analysis).json(),
        "regionTable": text::regions(run).json(),
        "epochTable": text::epochs(run).json(),
        "totals": totals(&analysis.shares),
        "shares": analysis.shares.iter().map(|rank| [rank.compute, rank.transfer, rank.wait]).collect::<Vec<_>>(),
        "rankTable": text::ranks(run, analysis).json(),
        "waitTable": text::waits(run, analysis, WAIT_ROWS).json(),
        "profileTable": text::profile(run, analysis, PROFILE_ROWS).json(),
        "patternTable": text::patterns(run, analysis, PATTERN_SITES).json(),
        "advice": analysis.patterns.iter().map(|sum| sum.pattern.advice(run)).collect::<Vec<_>>(),
        "crowded": run.crowded().is_some(),
        "protocolTable": text::protocols(analysis).json(),
        "linkTable": text::links(run, analysis).json(),
        "serverTable": text::servers(run, analysis).json(),
        "sizes": analysis.traffic.sizes.iter().map(|class| json!([class.up_to, class.messages])).collect::<Vec<_>>(),
        "levels": levels,
        "mergedBelow": merged_below.map(|ticks| run.seconds(ticks)),
        "calls": calls,
        "messages": [messages.len(), run.messages.len()],
        "places": run.job.places,
        "chip": chip(&mut blobs, run, analysis),
    });
    assemble(HTML, &SCRIPTS.concat(), &text::title(run), &data, blobs.html())
}

/// Fills the slots of an HTML file.
pub(crate) fn assemble(html: &str, script: &str, title: &str, data: &Value, blobs: &str) -> String {
    // "</script" in a string would end the element, and "<!--<script" would hide its end (HTML
    // section 13.2.5, "script data double escaped state").
    let data = data.to_string().replace('<', "\\u003c");
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    let mut page = String::with_capacity(blobs.len() + data.len() + (1 << 18));
    let mut rest = html;
    for (slot, content) in [
        ("{{title}}", title.as_str()),
        ("{{style}}", STYLE),
        ("{{data}}", &data),
        ("{{blobs}}", blobs),
        ("{{script}}", script),
    ] {
        let (before, after) = rest.split_once(slot).expect("the HTML file has all slots, in this order");
        page.push_str(before);
        page.push_str(content);
        rest = after;
    }
    page + rest
}

fn totals(shares: &[Shares]) -> [u64; 3] {
    let sum = Shares::sum(shares);
    [sum.compute, sum.transfer, sum.wait]
}

/// The calls that are kept; how many, and how many there are.
fn add_calls(blobs: &mut Blobs, run: &Run, clock: Clock) -> [usize; 2] {
    let lengths = run.ranks.iter().flat_map(|rank| rank.calls.iter().map(|call| call.end - call.begin));
    let mut kept = longest(lengths, CALLS_MAX).into_iter();
    let mut offsets = vec![0u32];
    let (mut begins, mut ends, mut functions, mut sites, mut depths) =
        (vec![], vec![], vec![], vec![], vec![]);
    for rank in &run.ranks {
        for call in rank.calls.iter().filter(|_| kept.next() == Some(true)) {
            begins.push(clock.units(call.begin));
            ends.push(clock.units(call.end));
            functions.push(call.function.min(u32::from(u16::MAX)) as u16);
            sites.push(call.site.min(u32::from(u16::MAX)) as u16);
            depths.push(call.depth.min(u16::from(u8::MAX)) as u8);
        }
        offsets.push(begins.len() as u32);
    }
    let count = begins.len();
    blobs.u32("callOffset", &offsets);
    blobs.u32("callBegin", &begins);
    blobs.u32("callEnd", &ends);
    blobs.u16("callFunction", &functions);
    blobs.u16("callSite", &sites);
    blobs.u8("callDepth", &depths);
    [count, run.ranks.iter().map(|rank| rank.calls.len()).sum()]
}

/// Adds the messages that are kept, by the start of their send; their indices in the run.
fn add_messages(blobs: &mut Blobs, run: &Run, clock: Clock) -> Vec<u32> {
    let took = |index: usize| {
        let message = &run.messages[index];
        let begin = message.send_start.or(message.matched);
        message.arrived.or(message.send_end).zip(begin).map_or(0, |(end, begin)| end.saturating_sub(begin))
    };
    let chosen = longest((0..run.messages.len()).map(took), MESSAGES_MAX);
    let mut indices: Vec<u32> =
        (0..run.messages.len() as u32).filter(|&index| chosen[index as usize]).collect();
    indices.sort_by_key(|&index| run.messages[index as usize].send_start);
    let kept = || indices.iter().map(|&index| &run.messages[index as usize]);
    let time = |time: Option<u64>| time.map_or(NONE, |time| clock.units(time));
    blobs.u32("messageFrom", &kept().map(|message| message.from).collect::<Vec<_>>());
    blobs.u32("messageTo", &kept().map(|message| message.to).collect::<Vec<_>>());
    blobs.u32("messageTag", &kept().map(|message| message.tag as u32).collect::<Vec<_>>());
    blobs.u32("messageComm", &kept().map(|message| message.comm).collect::<Vec<_>>());
    blobs.f32("messageBytes", &kept().map(|message| message.bytes as f32).collect::<Vec<_>>());
    blobs.u8("messageProtocol", &kept().map(|message| message.protocol as u8).collect::<Vec<_>>());
    blobs.u32("messageSent", &kept().map(|message| time(message.send_start)).collect::<Vec<_>>());
    blobs.u32("messagePosted", &kept().map(|message| time(message.posted)).collect::<Vec<_>>());
    blobs.u32(
        "messageArrived",
        &kept().map(|message| time(message.arrived.or(message.matched))).collect::<Vec<_>>(),
    );
    indices
}

fn add_waits(blobs: &mut Blobs, run: &Run, clock: Clock, messages: &[u32]) {
    let mut place = vec![NONE; run.messages.len()];
    messages.iter().enumerate().for_each(|(index, &message)| place[message as usize] = index as u32);
    let lengths = run.ranks.iter().flat_map(|rank| rank.waits.iter().map(|wait| wait.ticks()));
    let mut kept = longest(lengths, WAITS_MAX).into_iter();
    let mut offsets = vec![0u32];
    let (mut begins, mut ended_by, mut senders, mut last) = (vec![], vec![], vec![], vec![]);
    let (mut held, mut how) = (vec![], vec![]);
    for rank in &run.ranks {
        for wait in rank.waits.iter().filter(|_| kept.next() == Some(true)) {
            begins.push(clock.units(wait.begin));
            held.push(wait.held.map_or(NONE, |held| held.by));
            how.push(wait.held.map_or(0, |held| held.how as u8));
            last.push(wait.last_to_arrive.map_or(NONE, |(rank, _)| rank));
            ended_by.push(wait.ended_by.map_or(NONE, |(message, _)| place[message as usize]));
            senders.push(u8::from(matches!(wait.ended_by, Some((_, Side::Sender)))));
        }
        offsets.push(begins.len() as u32);
    }
    blobs.u32("waitHeld", &held);
    blobs.u8("waitHow", &how);
    blobs.u32("waitLast", &last);
    blobs.u32("waitOffset", &offsets);
    blobs.u32("waitBegin", &begins);
    blobs.u32("waitMessage", &ended_by);
    blobs.u8("waitAsSender", &senders);
}

fn add_phases(blobs: &mut Blobs, run: &Run, clock: Clock) {
    let all: usize = run.ranks.iter().map(|rank| rank.phases.len()).sum();
    let mut kept = longest(std::iter::repeat_n(0, all), PHASES_MAX).into_iter();
    let mut offsets = vec![0u32];
    let (mut times, mut names, mut rounds) = (vec![], vec![], vec![]);
    for rank in &run.ranks {
        for phase in rank.phases.iter().filter(|_| kept.next() == Some(true)) {
            times.push(clock.units(phase.time));
            names.push(phase.collective.min(u32::from(u16::MAX)) as u16);
            rounds.push(phase.round.min(u32::from(u16::MAX)) as u16);
        }
        offsets.push(times.len() as u32);
    }
    blobs.u32("phaseOffset", &offsets);
    blobs.u32("phaseTime", &times);
    blobs.u16("phaseName", &names);
    blobs.u16("phaseRound", &rounds);
}

/// The one-sided operations that are kept, by their beginnings; how many, and how many there are.
fn add_accesses(blobs: &mut Blobs, run: &Run, clock: Clock) -> [usize; 2] {
    let all = &run.accesses;
    let kept = longest(all.iter().map(|access| access.end - access.begin), ACCESSES_MAX);
    let accesses = || all.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(access, _)| access);
    blobs.u32("accessFrom", &accesses().map(|access| access.from).collect::<Vec<_>>());
    blobs.u32("accessTo", &accesses().map(|access| access.to).collect::<Vec<_>>());
    blobs.u32("accessBegin", &accesses().map(|access| clock.units(access.begin)).collect::<Vec<_>>());
    blobs.u32("accessEnd", &accesses().map(|access| clock.units(access.end)).collect::<Vec<_>>());
    blobs.f32("accessBytes", &accesses().map(|access| access.bytes as f32).collect::<Vec<_>>());
    blobs.u8("accessKind", &accesses().map(|access| access.kind as u8).collect::<Vec<_>>());
    [accesses().count(), all.len()]
}

fn add_epochs(blobs: &mut Blobs, run: &Run, clock: Clock) {
    let lengths = run.ranks.iter().flat_map(|rank| rank.epochs.iter().map(|epoch| epoch.end - epoch.begin));
    let mut kept = longest(lengths, EPOCHS_MAX).into_iter();
    let mut offsets = vec![0u32];
    let (mut begins, mut ends, mut kinds, mut peers) = (vec![], vec![], vec![], vec![]);
    for rank in &run.ranks {
        for epoch in rank.epochs.iter().filter(|_| kept.next() == Some(true)) {
            begins.push(clock.units(epoch.begin));
            ends.push(clock.units(epoch.end));
            kinds.push(epoch.kind as u8);
            peers.push(epoch.peer.unwrap_or(NONE));
        }
        offsets.push(begins.len() as u32);
    }
    blobs.u32("epochOffset", &offsets);
    blobs.u32("epochBegin", &begins);
    blobs.u32("epochEnd", &ends);
    blobs.u8("epochKind", &kinds);
    blobs.u32("epochPeer", &peers);
}

fn add_regions(blobs: &mut Blobs, run: &Run, clock: Clock) {
    let lengths =
        run.ranks.iter().flat_map(|rank| rank.regions.iter().map(|region| region.end - region.begin));
    let mut kept = longest(lengths, REGIONS_MAX).into_iter();
    let mut offsets = vec![0u32];
    let (mut begins, mut ends, mut numbers, mut depths) = (vec![], vec![], vec![], vec![]);
    for rank in &run.ranks {
        for region in rank.regions.iter().filter(|_| kept.next() == Some(true)) {
            begins.push(clock.units(region.begin));
            ends.push(clock.units(region.end));
            numbers.push(region.number);
            depths.push(region.depth.min(u16::from(u8::MAX)) as u8);
        }
        offsets.push(begins.len() as u32);
    }
    blobs.u32("regionOffset", &offsets);
    blobs.u32("regionBegin", &begins);
    blobs.u32("regionEnd", &ends);
    blobs.u32("regionNumber", &numbers);
    blobs.u8("regionDepth", &depths);
}

fn add_critical(blobs: &mut Blobs, analysis: &Analysis, clock: Clock) {
    const ON_ITS_WAY: u8 = 3;
    let all = &analysis.critical.pieces;
    let kept = longest(all.iter().map(|piece| piece.end - piece.begin), PIECES_MAX);
    let pieces = || all.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(piece, _)| piece);
    blobs.u32("pathRank", &pieces().map(|piece| piece.rank).collect::<Vec<_>>());
    blobs.u32("pathBegin", &pieces().map(|piece| clock.units(piece.begin)).collect::<Vec<_>>());
    blobs.u32("pathEnd", &pieces().map(|piece| clock.units(piece.end)).collect::<Vec<_>>());
    let state = |state: Option<State>| state.map_or(ON_ITS_WAY, |state| state as u8);
    blobs.u8("pathState", &pieces().map(|piece| state(piece.state)).collect::<Vec<_>>());
}

/// The cells of the communication matrix that are not empty.
fn add_matrix(blobs: &mut Blobs, analysis: &Analysis) {
    let mut cells: Vec<_> = analysis.traffic.pairs.iter().collect();
    cells.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
    cells.truncate(CELLS_MAX);
    blobs.u32("cellFrom", &cells.iter().map(|((from, _), _)| *from).collect::<Vec<_>>());
    blobs.u32("cellTo", &cells.iter().map(|((_, to), _)| *to).collect::<Vec<_>>());
    blobs.u32("cellMessages", &cells.iter().map(|(_, (messages, _))| *messages as u32).collect::<Vec<_>>());
    blobs.f32("cellBytes", &cells.iter().map(|(_, (_, bytes))| *bytes as f32).collect::<Vec<_>>());
}

fn chip(blobs: &mut Blobs, run: &Run, analysis: &Analysis) -> Value {
    let (Some(chip), Some(used)) = (&run.chip, &analysis.chip) else { return Value::Null };
    // Shares of the largest load, so that the heat map of a quiet network is not all cold.
    let mut heat = |name, load: &[f32]| {
        let most = load.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        blobs.u8(name, &load.iter().map(|load| (load / most * 255.0).round() as u8).collect::<Vec<_>>());
        most
    };
    let (most, most_control) = (heat("linkLoad", &used.load), heat("controlLoad", &used.control_load));
    let percents: Vec<u8> = used.server_load.iter().map(|load| (load * 100.0).round() as u8).collect();
    blobs.u8("serverLoad", &percents);
    blobs.f32("memory", &used.memory.iter().map(|bytes| *bytes as f32).collect::<Vec<_>>());
    blobs.f32("watts", &used.watts.iter().map(|watts| *watts as f32).collect::<Vec<_>>());
    blobs.u32("dma", &used.dma);
    json!({
        "name": chip.plan.name,
        "places": chip.plan.places.iter().map(|place| json!({
            "name": place.name, "kind": place.kind.word(), "x": place.x, "y": place.y, "memory": place.memory_bytes,
        })).collect::<Vec<_>>(),
        "links": chip.plan.links.iter().map(|link| [link.from, link.to]).collect::<Vec<_>>(),
        "steps": STEPS,
        "busiest": used.busiest_step(),
        "mostLoad": most,
        "controlLinks": chip.plan.control_links.iter().map(|link| [link.from, link.to]).collect::<Vec<_>>(),
        "mostControlLoad": most_control,
        "servers": used.servers.iter().map(|load| json!([load.server.label(), load.place])).collect::<Vec<_>>(),
        "hottest": used.links.first().filter(|link| link.flits > 0).map(|link| link.link),
    })
}
