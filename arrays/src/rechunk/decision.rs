//! What is done for the arguments of a call: the passes, their boxes and threads, and the memory that they take.

use super::journal::Record;
use super::memory::{Needs, Team};
use super::pass::{self, Side};
use super::place::Place;
use super::plan::{self, Axis, Boxes, Choice, Fits};
use super::{RechunkOptions, RechunkPass, RechunkPlan};
use crate::array::{Array, Description};
use crate::chunk_list::ChunkRun;
use crate::element::ElementType;
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Access;
use crate::object::{Memory, Storage};

/// A plan that is better by less than this is not better.
const TIE: f64 = 1.05;

/// By how much the budget shrinks, if a temporary array turns out to need more memory than was expected.
const SHRINK: [f64; 7] = [1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.15];

/// The boxes that have been decided on.
pub(super) struct Decision {
    pub plan: RechunkPlan,
    /// For each pass, how many chunks a box has along each dimension: of the source in the first pass of two, and else
    /// of the new array.
    pub chunks: Vec<Vec<usize>>,
    pub cuts: Vec<Vec<Vec<usize>>>,
    pub teams: Vec<Team>,
}

impl Decision {
    /// The best boxes within the limit.
    pub(super) fn new(
        source: &Side<'_>,
        target: &Side<'_>,
        place: &Place<'_>,
        options: &RechunkOptions<'_>,
    ) -> Result<Self> {
        let axes = axes(source, target)?;
        let teams = Team::all(options.transfer.threads().most().min(MOST_THREADS));
        let least = least(source, target, &axes, options.memory);
        if source.shape().contains(&0) {
            let plan = RechunkPlan { passes: Vec::new(), num_bytes: 0, least_memory: least };
            return Ok(Decision { plan, chunks: Vec::new(), cuts: Vec::new(), teams: Vec::new() });
        }
        let needs = |team: Team| Needs { source: Some(source), target: Some(target), team, limit: options.memory };
        let one = best(&teams, |team| {
            let needs = needs(team);
            plan::one_pass(&axes, source.chunk_bytes(Access::Read), &|lens| needs.bytes(lens) <= options.memory)
        });
        // Where one pass is as good as two can be, these are not looked for.
        let sizes = sizes(source, target);
        let is_enough = one.as_ref().is_some_and(|(_, one)| plan::least_of_two_passes(&axes, sizes) * TIE >= one.cost);
        let two = match place.temporary.filter(|_| !is_enough) {
            Some(storage) => two_passes(source, target, &axes, (storage, place), &teams, options.memory)?,
            None => None,
        };
        let chunks = |choices: &[Choice]| choices.iter().map(|choice| choice.chunks).collect::<Vec<_>>();
        let (chunks, teams) = match (one, two) {
            (Some((_, one)), Some((first, second, teams))) if second.cost * TIE < one.cost => {
                (vec![chunks(&first.choices), chunks(&second.choices)], teams)
            }
            (Some((team, one)), _) => (vec![chunks(&one.choices)], [team, team]),
            (None, _) => {
                return Err(ErrorKind::RechunkMemory { needed: least, limit: options.memory }.into());
            }
        };
        Decision::of(source, target, &axes, (place, options.memory), chunks, &teams[..])
    }

    /// The boxes of a call that is continued, if they fit.
    pub(super) fn resumed(
        source: &Side<'_>,
        target: &Side<'_>,
        place: &Place<'_>,
        record: &Record,
        options: &RechunkOptions<'_>,
    ) -> Result<Self> {
        let axes = axes(source, target)?;
        let rank = axes.len();
        let num_passes = record.passes.len();
        let is_none = source.shape().contains(&0);
        let are_boxes = |chunks: &Vec<usize>| chunks.len() == rank && !chunks.contains(&0);
        // Without boxes, or beyond the last pass, nothing would be left to do.
        let are_passes = num_passes <= 2 && (num_passes == 0) == is_none && record.pass < num_passes.max(1);
        if !(are_passes && record.passes.iter().all(are_boxes)) {
            return Err(Error::from(ErrorKind::Metadata("no such boxes")).in_object(&*place.journal_name));
        }
        let mut least = usize::MAX;
        for team in Team::all(options.transfer.threads().most().min(MOST_THREADS)) {
            let chunks = record.passes.clone();
            let decision = Decision::of(source, target, &axes, (place, options.memory), chunks, &[team; 2])?;
            let memory = decision.plan.passes.iter().map(|pass| pass.memory).max().unwrap_or(0);
            if memory <= options.memory {
                return Ok(decision);
            }
            least = least.min(memory);
        }
        Err(ErrorKind::RechunkMemory { needed: least, limit: options.memory }.into())
    }

    fn of(
        source: &Side<'_>,
        target: &Side<'_>,
        axes: &[Axis],
        (place, limit): (&Place<'_>, usize),
        chunks: Vec<Vec<usize>>,
        teams: &[Team],
    ) -> Result<Self> {
        let is_last = |pass: usize| pass + 1 == chunks.len();
        let of_pass = |pass: usize| -> Vec<Vec<usize>> {
            let bounds = |axis: &'_ Axis| if is_last(pass) { axis.target.clone() } else { axis.source.clone() };
            axes.iter().zip(&chunks[pass]).map(|(axis, chunks)| plan::cuts(&bounds(axis), *chunks)).collect()
        };
        let cuts: Vec<Vec<Vec<usize>>> = (0..chunks.len()).map(of_pass).collect();
        let temporary = match &cuts[..] {
            [one, two] => {
                let storage = place.temporary.ok_or(ErrorKind::Internal)?;
                Some(temporary((storage, place), target, one, two)?)
            }
            _ => None,
        };
        let between = temporary.as_ref().map(|array| Side::all(array.variable(), array.store(), Access::Write));
        let mut passes = Vec::new();
        for (pass, cuts) in cuts.iter().enumerate() {
            let from = if pass == 0 { source } else { between.as_ref().ok_or(ErrorKind::Internal)? };
            let to = if is_last(pass) { target } else { between.as_ref().ok_or(ErrorKind::Internal)? };
            passes.push(pass_of(from, to, cuts, teams[pass], limit)?);
        }
        let size = target.variable.element_size() as u64;
        let elements = target.shape().iter().fold(1u64, |product, len| product.saturating_mul(*len as u64));
        let least_memory = least(source, target, axes, limit);
        let plan = RechunkPlan { passes, num_bytes: elements.saturating_mul(size), least_memory };
        let teams = teams[..chunks.len()].to_vec();
        Ok(Decision { plan, chunks, cuts, teams })
    }
}

/// No call uses more threads.
const MOST_THREADS: usize = 256;

/// The best of what is found for each team: more threads are better, but not if they read much more.
fn best(teams: &[Team], find: impl Fn(Team) -> Option<Boxes>) -> Option<(Team, Boxes)> {
    let mut best: Option<(Team, Boxes, f64)> = None;
    for &team in teams {
        let Some(boxes) = find(team) else { continue };
        let num_boxes = boxes.choices.iter().map(|choice| choice.boxes).fold(1, usize::saturating_mul);
        let cost = boxes.cost / (team.lanes.min(num_boxes) * team.threads) as f64;
        if best.as_ref().is_none_or(|(_, _, least)| cost * TIE < *least) {
            best = Some((team, boxes, cost));
        }
    }
    best.map(|(team, boxes, _)| (team, boxes))
}

/// The bytes of all elements, and of a chunk of the source.
fn sizes(source: &Side<'_>, target: &Side<'_>) -> (usize, usize) {
    let bytes = target.shape().iter().fold(target.variable.element_size(), |bytes, len| bytes.saturating_mul(*len));
    (bytes, source.chunk_bytes(Access::Read))
}

/// Two passes that fit, with the teams of both.
fn two_passes(
    source: &Side<'_>,
    target: &Side<'_>,
    axes: &[Axis],
    place: (&Storage, &Place<'_>),
    teams: &[Team],
    limit: usize,
) -> Result<Option<(Boxes, Boxes, [Team; 2])>> {
    let sizes = sizes(source, target);
    let cuts = |bounds: fn(&Axis) -> &Vec<usize>, boxes: &Boxes| -> Vec<Vec<usize>> {
        axes.iter().zip(&boxes.choices).map(|(axis, choice)| plan::cuts(bounds(axis), choice.chunks)).collect()
    };
    let mut best: Option<(Boxes, Boxes, [Team; 2], f64)> = None;
    for &team in teams {
        let first = Needs { source: Some(source), target: None, team, limit };
        let second = Needs { source: None, target: Some(target), team, limit };
        for shrink in SHRINK {
            let nothing = vec![0; axes.len()];
            let within = |needs: &Needs<'_>, lens: &[usize]| {
                let least = needs.bytes(&nothing);
                needs.bytes(lens) <= least.saturating_add((limit.saturating_sub(least) as f64 * shrink) as usize)
            };
            let fits: [Fits<'_>; 2] = [&|lens| within(&first, lens), &|lens| within(&second, lens)];
            let Some((one, two)) = plan::two_passes(axes, sizes, fits) else { break };
            let (cuts_one, cuts_two) = (cuts(|axis| &axis.source, &one), cuts(|axis| &axis.target, &two));
            let array = temporary(place, target, &cuts_one, &cuts_two)?;
            let between = Side::all(array.variable(), array.store(), Access::Write);
            let passes = [
                pass_of(source, &between, &cuts_one, team, limit)?,
                pass_of(&between, target, &cuts_two, team, limit)?,
            ];
            if passes.iter().all(|pass| pass.memory <= limit) {
                let fewest = passes.iter().map(|pass| pass.num_boxes).min().unwrap_or(1);
                let cost = two.cost / (team.lanes.min(fewest) * team.threads) as f64;
                if best.as_ref().is_none_or(|(.., least)| cost * TIE < *least) {
                    best = Some((one, two, [team; 2], cost));
                }
                break;
            }
        }
    }
    Ok(best.map(|(one, two, teams, _)| (one, two, teams)))
}

/// What a pass is like with these boxes.
fn pass_of(from: &Side<'_>, to: &Side<'_>, cuts: &[Vec<usize>], team: Team, limit: usize) -> Result<RechunkPass> {
    let longest = |cuts: &Vec<usize>| cuts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let box_shape: Vec<usize> = cuts.iter().map(longest).collect();
    let touched = |bounds: &[Vec<usize>]| -> usize {
        let of = |(bounds, cuts): (&Vec<usize>, &Vec<usize>)| plan::touched(cuts, bounds);
        bounds.iter().zip(cuts).map(of).fold(1, usize::saturating_mul)
    };
    let chunks_read = touched(&from.bounds(Access::Read)?);
    let needs = Needs { source: Some(from), target: Some(to), team, limit };
    Ok(RechunkPass {
        num_boxes: pass::num_boxes(cuts),
        boxes_at_once: team.lanes,
        chunks_read,
        chunks_written: touched(&to.bounds(Access::Write)?),
        bytes_read: (chunks_read as u64).saturating_mul(from.chunk_bytes(Access::Read) as u64),
        memory: needs.bytes(&box_shape),
        box_shape,
    })
}

/// The least memory that is enough: one thread, and boxes of one chunk of the new array.
fn least(source: &Side<'_>, target: &Side<'_>, axes: &[Axis], limit: usize) -> usize {
    let longest = |axis: &Axis| axis.target.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let lens: Vec<usize> = axes.iter().map(longest).collect();
    let team = Team { lanes: 1, threads: 1 };
    Needs { source: Some(source), target: Some(target), team, limit }.bytes(&lens)
}

fn axes(source: &Side<'_>, target: &Side<'_>) -> Result<Vec<Axis>> {
    let (sources, targets) = (source.bounds(Access::Read)?, target.bounds(Access::Write)?);
    Ok(sources.into_iter().zip(targets).map(|(source, target)| Axis { source, target }).collect())
}

/// The temporary array between two passes: its chunks are the parts between the cuts of both. Nothing is written.
pub(super) fn temporary(
    (storage, place): (&Storage, &Place<'_>),
    target: &Side<'_>,
    one: &[Vec<usize>],
    two: &[Vec<usize>],
) -> Result<Array> {
    let shape = target.shape();
    let element = ElementType::Opaque { len: target.variable.element_size() };
    let cuts: Vec<Vec<usize>> = one.iter().zip(two).map(|(one, two)| plan::union(one, two)).collect();
    let runs: Vec<Vec<ChunkRun>> = cuts.iter().map(|cuts| runs(cuts)).collect();
    let lists: Vec<&[ChunkRun]> = runs.iter().map(Vec::as_slice).collect();
    let longest = |cuts: &Vec<usize>| cuts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(1);
    let chunk_shape: Vec<usize> = cuts.iter().map(longest).collect();
    let mut description =
        Description::new(&shape, element).with_chunk_shape(&chunk_shape).with_chunk_runs(&lists).with_codecs(&[]);
    if let Some(fill_value) = target.variable.fill_value() {
        description = description.with_fill_value(fill_value);
    }
    let nowhere = Storage::new(Memory::new())?;
    let name = format!("{}/chunks", &*place.temporary_name()?);
    let document = Array::unwritten(&nowhere, &name, &description)?.document().to_owned();
    let mut array = Array::open_document(storage, &name, &document, Access::Write)?;
    array.set_cache(None);
    Ok(array)
}

/// Chunks with these cuts.
fn runs(cuts: &[usize]) -> Vec<ChunkRun> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for pair in cuts.windows(2) {
        let len = pair[1] - pair[0];
        match runs.last_mut() {
            Some((num, last)) if *last == len => *num += 1,
            _ => runs.push((1, len)),
        }
    }
    runs.into_iter().map(|(num, len)| ChunkRun::new(num, len)).collect()
}
