//! Levels of detail: for each rank the shares of computing, moving and waiting in bins of time, coarse and fine. Zoomed
//! out, the page draws a level as an image, so a frame costs the same for a thousand events and for a hundred million.

use super::pack::{Blobs, Clock};
use crate::run::{Run, Segment};

/// Cells of the finest level: three bytes each.
const CELLS_MAX: usize = 400_000;
const BINS_MIN: usize = 16;
const BINS_MAX: usize = 8192;
/// Bins of a level for one of the next coarser.
const STEP: usize = 4;
/// No level is coarser, unless the finest is.
const COARSEST: usize = 64;
const SEGMENTS_MAX: usize = 400_000;

/// Adds the levels, finest first; their bins.
pub(super) fn add(blobs: &mut Blobs, run: &Run) -> Vec<usize> {
    let ranks = run.ranks.len().max(1);
    let mut bins = BINS_MAX;
    while bins > BINS_MIN && bins * ranks > CELLS_MAX {
        bins /= 2;
    }
    let mut counts = Vec::new();
    while bins >= COARSEST || counts.is_empty() {
        blobs.u8(&format!("level{}", counts.len()), &level(run, bins));
        counts.push(bins);
        bins /= STEP;
    }
    counts
}

/// For each rank and bin the shares of the three states, as parts of 255.
fn level(run: &Run, bins: usize) -> Vec<u8> {
    let width = run.duration.max(1) as f64 / bins as f64;
    let mut cells = vec![0u8; run.ranks.len() * bins * 3];
    let mut row = vec![[0.0f64; 3]; bins];
    for (rank, cells) in run.ranks.iter().zip(cells.chunks_mut(bins * 3)) {
        row.fill([0.0; 3]);
        for segment in &rank.segments {
            let (begin, end) = (segment.begin as f64 / width, segment.end as f64 / width);
            let first = begin as usize;
            for (index, shares) in row.iter_mut().enumerate().skip(first).take(end as usize + 1 - first) {
                let inside = end.min((index + 1) as f64) - begin.max(index as f64);
                shares[segment.state as usize] += inside.max(0.0);
            }
        }
        for (shares, cell) in row.iter().zip(cells.chunks_mut(3)) {
            for (share, part) in shares.iter().zip(cell) {
                *part = (share * 255.0).round().min(255.0) as u8;
            }
        }
    }
    cells
}

/// Adds the stretches themselves. If there are too many, those shorter than what is returned belong to the one before.
pub(super) fn add_segments(blobs: &mut Blobs, run: &Run, clock: Clock) -> Option<u64> {
    let total: usize = run.ranks.iter().map(|rank| rank.segments.len()).sum();
    let mut threshold = 0;
    if total > SEGMENTS_MAX {
        threshold = run.duration / SEGMENTS_MAX as u64 + 1;
        while run.ranks.iter().map(|rank| merged(&rank.segments, threshold).count()).sum::<usize>()
            > SEGMENTS_MAX
        {
            threshold *= 2;
        }
    }
    let (mut offsets, mut begins, mut states, mut ends) = (vec![0u32], vec![], vec![], vec![]);
    for rank in &run.ranks {
        for segment in merged(&rank.segments, threshold) {
            begins.push(clock.units(segment.begin));
            states.push(segment.state as u8);
        }
        offsets.push(begins.len() as u32);
        ends.push(clock.units(rank.end));
    }
    blobs.u32("segmentOffset", &offsets);
    blobs.u32("segmentBegin", &begins);
    blobs.u8("segmentState", &states);
    blobs.u32("rankEnd", &ends);
    (threshold > 0).then_some(threshold)
}

/// The stretches without those that are too short, but with the first.
fn merged(segments: &[Segment], threshold: u64) -> impl Iterator<Item = &Segment> {
    segments
        .iter()
        .enumerate()
        .filter(move |(index, segment)| *index == 0 || segment.ticks() >= threshold)
        .map(|(_, segment)| segment)
}
