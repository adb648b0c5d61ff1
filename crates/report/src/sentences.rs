//! The analysis in sentences: what a colleague who has looked at the trace would say first.

use crate::analysis::{Analysis, Cause, Shares, WaitGroup};
use crate::run::{ChipRun, Run, State};
use crate::units::{bytes, count, percent, plural, seconds};

/// Below this share of the run nothing is worth a sentence about what went wrong.
const WORTH_SAYING: f64 = 0.01;
/// A rank that computes this many times the mean is an imbalance.
const UNBALANCED: f64 = 1.1;
/// A link with this share of load in its busiest step is hot.
const HOT_LINK: f64 = 0.5;
/// So is one with this share, if it has this many times the mean load.
const WARM_LINK: f64 = 0.1;
/// See above.
const HOT_LINK_FACTOR: f64 = 3.0;

/// Where the time went, most important first.
pub fn sentences(run: &Run, analysis: &Analysis) -> Vec<String> {
    let mut all = vec![overview(run)];
    all.extend(crowded(run));
    all.push(shares(run, analysis));
    all.extend(pattern(run, analysis));
    all.extend(waits(run, analysis));
    all.extend(most_waited_for(run, analysis));
    all.extend(imbalance(run, analysis));
    all.extend(critical_path(run, analysis));
    all.extend(traffic(analysis));
    all.extend(accesses(analysis));
    all.extend(chip(run, analysis));
    all.extend(reservations(run));
    all
}

fn overview(run: &Run) -> String {
    let whom = plural(run.ranks.len() as u64, "rank");
    let where_ = match &run.job.chip {
        Some(chip) => format!(" on a simulated {}", chip.name),
        None => String::new(),
    };
    format!("{whom} ran{where_} for {}.", seconds(run.seconds(run.duration)))
}

/// That ranks had to share cores, before anything is said of waiting.
fn crowded(run: &Run) -> Option<String> {
    let (ranks, cores) = run.crowded()?;
    Some(format!(
        "{} shared {}: at most {cores} ran at a time, and the others waited for a core. No event tells of that, so computing, \
         moving and waiting include it. To learn who waits for whom, run with at most {}.",
        plural(ranks, "rank"),
        plural(cores, "core"),
        plural(cores, "rank"),
    ))
}

fn shares(run: &Run, analysis: &Analysis) -> String {
    let sum = Shares::sum(&analysis.shares);
    let share = |ticks: u64| percent(ticks as f64, sum.total() as f64);
    let whom = if run.crowded().is_some() { " for others or for a core" } else { "" };
    format!(
        "Of the ranks' time {} was computing, {} moving messages and {} waiting{whom}.",
        share(sum.compute),
        share(sum.transfer),
        share(sum.wait)
    )
}

/// The pattern that costs most.
fn pattern(run: &Run, analysis: &Analysis) -> Option<String> {
    let worst = analysis.patterns.first()?;
    let all = Shares::sum(&analysis.shares).total() as f64;
    if (worst.ticks as f64) < WORTH_SAYING * all || run.crowded().is_some() {
        return None;
    }
    Some(format!(
        "Most waiting is of one pattern, {}: {} of all time. {}",
        worst.pattern.title(run),
        percent(worst.ticks as f64, all),
        worst.pattern.advice(run)
    ))
}

fn waits(run: &Run, analysis: &Analysis) -> Vec<String> {
    let worth = |group: &&WaitGroup| group.ticks as f64 >= WORTH_SAYING * run.duration as f64;
    // Only those with someone to blame.
    analysis.waits.worst().filter(worth).take(3).map(|group| wait(run, group)).collect()
}

fn wait(run: &Run, group: &WaitGroup) -> String {
    let peer = group.peer.map_or("someone".to_owned(), |peer| format!("rank {peer}"));
    let how = match group.cause {
        Cause::LateSender => "sent late",
        Cause::LateReceiver => "was late to receive",
        Cause::LateToArrive => "came last",
        Cause::Locked => "had the lock",
        Cause::LateToPost => "was late to post",
        Cause::LateToComplete => "was late to complete",
        Cause::OnItsWay | Cause::Unknown => "is not to blame",
    };
    let crowded = if run.crowded().is_some() { " or had no core" } else { "" };
    let share = |ticks: u64| percent(ticks as f64, group.ticks as f64);
    let meanwhile = if group.peer_computing * 2 > group.ticks {
        format!(": {peer} was computing{crowded} {} of that time", share(group.peer_computing))
    } else if group.peer_waiting * 2 > group.ticks {
        format!(": {peer} was itself waiting {} of that time", share(group.peer_waiting))
    } else {
        String::new()
    };
    let times = if group.times == 1 { String::new() } else { format!(" in {} waits", count(group.times)) };
    format!(
        "Rank {} waited {}{times} in {}{} for {peer}, which {how}{crowded}{meanwhile}.",
        group.rank,
        seconds(run.seconds(group.ticks)),
        run.name(group.function),
        site(run, group.site),
    )
}

fn site(run: &Run, site: u32) -> String {
    match site {
        0 => String::new(),
        _ => format!(" ({})", run.name(site)),
    }
}

fn most_waited_for(run: &Run, analysis: &Analysis) -> Option<String> {
    let (rank, ticks) = analysis.waits.most_waited_for()?;
    let waited: f64 = analysis.waits.caused.iter().map(|ticks| *ticks as f64).sum();
    if (ticks as f64) < WORTH_SAYING * run.duration as f64 || run.ranks.len() < 3 {
        return None;
    }
    Some(format!(
        "Rank {rank} made others wait longest: {} altogether, {} of all waiting for late ranks.",
        seconds(run.seconds(ticks)),
        percent(ticks as f64, waited)
    ))
}

fn imbalance(run: &Run, analysis: &Analysis) -> Option<String> {
    let imbalance = analysis.imbalance.filter(|_| run.ranks.len() > 1)?;
    let avoidable = imbalance.avoidable();
    if avoidable < WORTH_SAYING * run.duration as f64 || imbalance.factor() < UNBALANCED {
        return Some(format!(
            "The work is balanced: the busiest rank, {}, computed {:.2} times the mean.",
            imbalance.busiest,
            imbalance.factor()
        ));
    }
    Some(format!(
        "The work is unbalanced: rank {} computed {}, {:.2} times the mean; spread evenly, the run could be up to {} ({}) shorter.",
        imbalance.busiest,
        seconds(run.seconds(imbalance.most)),
        imbalance.factor(),
        seconds(run.seconds(avoidable as u64)),
        percent(avoidable, run.duration as f64)
    ))
}

fn critical_path(run: &Run, analysis: &Analysis) -> Option<String> {
    let path = &analysis.critical;
    let total = path.total() as f64;
    let (rank, ticks) = path.longest_on(run.ranks.len())?;
    let share = |state| percent(path.ticks(state) as f64, total);
    let way = if run.crowded().is_some() {
        "waiting for a core or for messages on their way"
    } else {
        "messages on their way"
    };
    Some(format!(
        "The critical path is {} computing, {} moving messages, {} {way} and {} waiting; it stays longest on rank {rank} ({}).",
        share(Some(State::Compute)),
        share(Some(State::Transfer)),
        share(None),
        share(Some(State::Wait)),
        percent(ticks as f64, total)
    ))
}

fn traffic(analysis: &Analysis) -> Option<String> {
    let traffic = &analysis.traffic;
    let total = traffic.total_messages();
    if total == 0 && analysis.accesses.total().0 > 0 {
        return None;
    }
    if total == 0 {
        return Some("No messages were recorded.".to_owned());
    }
    let (protocol, (messages, _)) =
        trace::Protocol::ALL.iter().zip(traffic.protocols).max_by_key(|(_, (messages, _))| *messages)?;
    let pair = traffic.busiest_pair().map_or(String::new(), |(from, to, messages, sent)| {
        format!(
            " Most bytes went from rank {from} to rank {to}: {} in {}.",
            bytes(sent),
            plural(messages, "message")
        )
    });
    Some(format!(
        "{} carried {}; the most common protocol was {} ({}).{pair}",
        plural(total, "message"),
        bytes(traffic.total_bytes()),
        protocol.label(),
        percent(messages as f64, total as f64)
    ))
}

fn accesses(analysis: &Analysis) -> Option<String> {
    let (times, moved) = analysis.accesses.total();
    let (from, to, most, most_bytes) = analysis.accesses.busiest_pair()?;
    Some(format!(
        "{} moved {}; most of it rank {from} at rank {to}: {} in {}.",
        plural(times, "one-sided operation"),
        bytes(moved),
        bytes(most_bytes),
        plural(most, "operation")
    ))
}

fn chip(run: &Run, analysis: &Analysis) -> Vec<String> {
    let (Some(chip), Some(used)) = (&run.chip, &analysis.chip) else { return Vec::new() };
    let mut all = Vec::new();
    if let Some(link) = used.links.first().filter(|link| link.flits > 0) {
        let ends = chip.plan.links[link.link as usize];
        let hot = link.peak >= HOT_LINK
            || (link.peak >= WARM_LINK && link.mean >= HOT_LINK_FACTOR * used.mean_load());
        all.push(format!(
            "{} link {} → {} carried most: {} flits, {} of what it could over the run (the mean link {}), {} from {} to {}.",
            if hot { "The hot" } else { "The busiest" },
            chip.plan.place_name(ends.from),
            chip.plan.place_name(ends.to),
            count(link.flits),
            percent(link.mean, 1.0),
            percent(used.mean_load(), 1.0),
            percent(link.peak, 1.0),
            seconds(run.seconds(link.peak_at.0)),
            seconds(run.seconds(link.peak_at.1)),
        ));
    }
    if let Some(link) = used.control.first().filter(|link| link.flits > 0) {
        let ends = chip.plan.control_links[link.link as usize];
        all.push(format!(
            "Of the control network, link {} → {} carried most: {} flits, {} of what it could over the run, {} at the most.",
            chip.plan.place_name(ends.from),
            chip.plan.place_name(ends.to),
            count(link.flits),
            percent(link.mean, 1.0),
            percent(link.peak, 1.0),
        ));
    }
    if let Some(server) = used.servers.first() {
        all.push(format!(
            "The {} of {} worked most of all servers: {} of the run, {} from {} to {}.",
            server.server.label(),
            chip.plan.place_name(server.place),
            percent(server.mean, 1.0),
            percent(server.peak, 1.0),
            seconds(run.seconds(server.peak_at.0)),
            seconds(run.seconds(server.peak_at.1)),
        ));
    }
    let fullest = chip.plan.places.iter().zip(used.memory.chunks(crate::analysis::STEPS));
    let fullest = fullest
        .map(|(place, held)| (place, held.iter().copied().max().unwrap_or(0)))
        .max_by_key(|(_, held)| *held)
        .filter(|(_, held)| *held > 0);
    if let Some((place, held)) = fullest {
        let of = match place.memory_bytes {
            0 => String::new(),
            all => format!(", {} of its {}", percent(held as f64, all as f64), bytes(all)),
        };
        all.push(format!("{} held most memory: {}{of}.", place.name, bytes(held)));
    }
    all.extend(queues(chip));
    if let Some(joules) = used.joules(run.seconds(run.duration)) {
        let watts = joules / run.seconds(run.duration).max(f64::MIN_POSITIVE);
        all.push(format!("The chip drew {watts:.2} W on average, {joules:.3} J altogether."));
    }
    all
}

fn queues(chip: &ChipRun) -> Option<String> {
    let deepest = |queues: &[(u64, u32, u32)]| {
        queues.iter().map(|&(_, place, depth)| (depth, place)).max().filter(|(depth, _)| *depth > 1)
    };
    let dma = deepest(&chip.dma).map(|(depth, place)| {
        format!("{depth} transfers at the DMA engines of {}", chip.plan.places[place as usize].name)
    });
    let ddr = deepest(&chip.ddr)
        .map(|(depth, controller)| format!("{depth} transfers at DDR controller {controller}"));
    let both: Vec<String> = dma.into_iter().chain(ddr).collect();
    (!both.is_empty()).then(|| format!("The longest queues were {}.", both.join(" and ")))
}

/// What the reader must know to trust the rest.
fn reservations(run: &Run) -> Vec<String> {
    let mut all = Vec::new();
    if run.dropped > 0 {
        all.push(format!(
            "The trace is not whole: {} were overwritten by newer ones (a higher --trace-limit keeps them).",
            plural(run.dropped, "old event")
        ));
    }
    let silent: Vec<String> = (0..run.ranks.len())
        .filter(|&rank| run.ranks[rank].segments.is_empty())
        .map(|rank| rank.to_string())
        .collect();
    if !silent.is_empty() && silent.len() <= 8 {
        all.push(format!("Nothing was recorded of rank {}.", silent.join(", ")));
    } else if !silent.is_empty() {
        all.push(format!("Nothing was recorded of {}.", plural(silent.len() as u64, "rank")));
    }
    if let Some(failure) = &run.job.failure {
        all.push(format!("The job did not end well: {failure}."));
    }
    all
}
