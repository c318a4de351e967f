//! Handles that take turns, compared with a model: what one reads after the others have written, resized, set
//! attributes, or put another array in its place.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use fastrand::Rng;
use nczchunk::object::Storage;
use nczchunk::{Access, Array, Hyperslab};

use crate::model::{FILL, Layout, Model, Pair, Slab, View};
use crate::storages::{Kind, Temporary};
use crate::{seconds, seed};

const CHUNK: Pair = [3, 20];
const HANDLES: usize = 3;

/// An array, its handles, and what is known of both.
struct Case {
    what: String,
    storage: Storage,
    _temporary: Temporary,
    model: Model,
    handles: Vec<(Array, View)>,
    rng: Rng,
    value: i32,
    log: Vec<String>,
}

/// The attributes of an array, as JSON tells them.
fn attributes(array: &Array) -> HashMap<String, i32> {
    let json: serde_json::Value = serde_json::from_str(array.attributes_json()).unwrap();
    let number = |value: &serde_json::Value| value.as_i64().and_then(|value| i32::try_from(value).ok()).unwrap();
    json.as_object().unwrap().iter().map(|(name, value)| (name.clone(), number(value))).collect()
}

fn shape(array: &Array) -> Pair {
    [0, 1].map(|d| array.variable().dimensions()[d].len())
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let kind = rng.choice(Kind::all()).unwrap();
        Case::of(kind, rng, seed)
    }

    fn of(kind: Kind, mut rng: Rng, seed: u64) -> Self {
        let layout = rng.choice(Layout::all(CHUNK)).unwrap();
        let (storage, _temporary) = kind.storage(seed);
        let first = Case::random_shape(&mut rng);
        layout.described(first, |description| Array::create_in(&storage, "x", &description)).unwrap();
        let what = format!("NCZCHUNK_SEED={seed} {kind:?}");
        let (model, log) = (Model::new(layout, first), vec![format!("{layout:?} {first:?}")]);
        let mut case = Case { what, storage, _temporary, model, handles: Vec::new(), rng, value: 0, log };
        (0..HANDLES).for_each(|_| case.open());
        case
    }

    fn random_shape(rng: &mut Rng) -> Pair {
        [rng.usize(1..16), rng.usize(1..100)]
    }

    fn opened(&mut self) -> (Array, View) {
        let mut array = Array::open_in(&self.storage, "x", Access::Write).unwrap();
        let has_cache = self.rng.bool();
        if !has_cache {
            array.set_cache(None);
        }
        self.checked(array, has_cache)
    }

    fn checked(&self, array: Array, has_cache: bool) -> (Array, View) {
        let view = self.model.view(has_cache);
        assert_eq!((shape(&array), attributes(&array)), (view.shape, view.attributes.clone()), "{}", self.told());
        (array, view)
    }

    fn open(&mut self) {
        let opened = self.opened();
        self.handles.push(opened);
    }

    fn told(&self) -> String {
        let last = self.log.len().saturating_sub(25);
        format!("{}\n{}\n...\n{}", self.what, self.log[0], self.log[last..].join("\n"))
    }

    fn note(&mut self, what: String) {
        self.log.push(what);
    }

    /// One operation by one of the handles.
    fn step(&mut self) {
        let who = self.rng.usize(..self.handles.len());
        match self.rng.u8(0..40) {
            0 => {
                self.note(format!("{who} is opened"));
                self.handles[who] = self.opened();
            }
            1..=3 => {
                self.note(format!("{who} is refreshed"));
                let (array, view) = &mut self.handles[who];
                array.refresh().unwrap_or_else(|error| panic!("{error} {}", self.what));
                *view = self.model.view(view.has_cache);
                let is = (shape(&self.handles[who].0), attributes(&self.handles[who].0));
                assert_eq!(is, (self.model.shape, self.model.attributes.clone()), "{}", self.told());
            }
            4..=20 => {
                let slab = Slab::random(&mut self.rng, self.handles[who].1.shape);
                self.read(who, &slab);
            }
            21..=31 => {
                let mut slab = Slab::random(&mut self.rng, self.handles[who].1.shape);
                if self.rng.bool() {
                    slab = self.chunk(self.handles[who].1.shape);
                }
                let values = self.values(&slab);
                self.write(who, &slab, &values);
            }
            32 => self.copy(who),
            33..=34 => {
                let shape = Case::random_shape(&mut self.rng);
                self.note(format!("{who} resizes to {shape:?}"));
                self.model.resize(shape);
                let (array, view) = &mut self.handles[who];
                array.resize(&shape).unwrap_or_else(|error| panic!("{error} {}", self.what));
                *view = self.model.view(view.has_cache);
            }
            35..=36 => self.set_attribute(who),
            37 if self.rng.u8(0..4) == 0 => self.overwrite(who),
            _ => self.look(),
        }
    }

    /// One chunk, as far as it lies inside. If it becomes fill values, its shard has others.
    fn chunk(&mut self, shape: Pair) -> Slab {
        let chunk = self.model.layout.chunk;
        let start = [0, 1].map(|d| self.rng.usize(..shape[d].div_ceil(chunk[d])) * chunk[d]);
        Slab { start, count: [0, 1].map(|d| chunk[d].min(shape[d] - start[d])), stride: [1, 1] }
    }

    fn values(&mut self, slab: &Slab) -> Vec<i32> {
        // Some chunks become fill values, so that shards have others, and some cannot be compressed.
        let kind = self.rng.u8(0..4);
        let rng = &mut self.rng;
        self.value += 1;
        let (value, num) = (self.value, slab.count[0] * slab.count[1]);
        (0..num)
            .map(|_| match kind {
                0 => FILL,
                1 => value * 1000 + rng.i32(0..1000),
                _ => value * 1000,
            })
            .collect()
    }

    fn read(&mut self, who: usize, slab: &Slab) -> Vec<i32> {
        self.note(format!("{who} reads {slab:?}, cache: {}", self.handles[who].1.has_cache));
        let (array, view) = &self.handles[who];
        let values: Vec<i32> = array
            .read(&Hyperslab::new(&slab.start, &slab.count).with_stride(&slab.strides()))
            .unwrap_or_else(|error| panic!("{error}: {}", self.told()));
        if let Err(wrong) = self.model.check(view, slab, &values) {
            panic!("{wrong}\n{}", self.told());
        }
        values
    }

    fn write(&mut self, who: usize, slab: &Slab, values: &[i32]) {
        self.note(format!("{who} writes {} to {slab:?}", values[0]));
        let (array, view) = &mut self.handles[who];
        self.model.write(view, slab, values);
        let hyperslab = Hyperslab::new(&slab.start, &slab.count);
        array.write(&hyperslab.with_stride(&slab.strides()), values).unwrap();
    }

    /// One handle copies a part to another place by another handle.
    fn copy(&mut self, who: usize) {
        let slab = Slab::random(&mut self.rng, self.handles[who].1.shape);
        let values = self.read(who, &slab);
        let to = self.rng.usize(..self.handles.len());
        let shape = self.handles[to].1.shape;
        let fits = (0..2).all(|d| (slab.count[d] - 1) * slab.stride[d] < shape[d]);
        if fits {
            let start = [0, 1].map(|d| self.rng.usize(..shape[d] - (slab.count[d] - 1) * slab.stride[d]));
            self.write(to, &Slab { start, ..slab }, &values);
        }
    }

    fn set_attribute(&mut self, who: usize) {
        let name = format!("a{}", self.rng.u8(0..4));
        let (array, _) = &mut self.handles[who];
        if self.rng.bool() {
            self.value += 1;
            array.set_attribute(&name, &[self.value]).unwrap();
            self.model.attributes.insert(name, self.value);
        } else {
            let removed = array.remove_attribute(&name);
            assert_eq!(removed.is_ok(), self.model.attributes.remove(&name).is_some(), "{}", self.told());
            if removed.is_err() {
                return;
            }
        }
        self.note(format!("{who} changes an attribute"));
        // Who changes an attribute knows all of them from then on.
        self.handles[who].1.attributes = self.model.attributes.clone();
        assert_eq!(attributes(&self.handles[who].0), self.model.attributes, "{}", self.told());
    }

    /// A new array takes the place of this one. If it has other chunks, handles cannot be refreshed, and say so.
    fn overwrite(&mut self, who: usize) {
        let (mut layout, shape) = (self.model.layout, Case::random_shape(&mut self.rng));
        if self.rng.bool() {
            layout.chunk[0] = if layout.chunk[0] == CHUNK[0] { 4 } else { CHUNK[0] };
        }
        self.note(format!("{who} overwrites: {layout:?} {shape:?}"));
        let create = |storage: &Storage| {
            layout.described(shape, |description| {
                Array::create_in(storage, "x", &description.with_overwrite(true)).unwrap()
            })
        };
        let array = create(&self.storage);
        let is_another = layout != self.model.layout;
        self.model.overwrite(layout, shape);
        self.handles[who] = self.checked(array, true);
        if is_another {
            for other in (0..self.handles.len()).filter(|&other| other != who) {
                let refused = self.handles[other].0.refresh();
                assert!(refused.unwrap_err().to_string().contains("open it again"), "{}", self.told());
                self.handles[other] = self.opened();
            }
        }
    }

    /// What is stored, as a new handle finds it.
    fn look(&mut self) {
        let mut array = Array::open_in(&self.storage, "x", Access::Read).unwrap();
        array.set_cache(None);
        let opened = self.checked(array, false);
        self.handles.push(opened);
        let (who, shape) = (self.handles.len() - 1, self.model.shape);
        self.read(who, &Slab { start: [0, 0], count: shape, stride: [1, 1] });
        self.handles.pop();
    }
}

/// Three handles, of which some have a cache, over every storage and layout.
#[test]
fn handles_that_take_turns_agree_with_a_model() {
    const STEPS: usize = 300;
    let (first, until) = (seed(), Instant::now() + seconds(3));
    let mut steps = 0;
    // Files whose last change lies some seconds back have versions, which younger ones have not: cases that rest.
    let mut resting: Vec<(Instant, Case)> = Vec::new();
    for seed in first.. {
        if Instant::now() > until {
            break;
        }
        if resting.len() < 6 && seconds(0) > Duration::ZERO {
            let mut case =
                Case::of(Kind::Directory(resting.len() % crate::storages::parents().len()), Rng::with_seed(seed), seed);
            (0..STEPS).for_each(|_| case.step());
            resting.push((Instant::now(), case));
        }
        let mut case = Case::new(seed);
        (0..STEPS).for_each(|_| case.step());
        case.look();
        steps += STEPS;
        for (last, case) in resting.iter_mut().filter(|(last, _)| last.elapsed() > Duration::from_millis(4200)) {
            (0..8).for_each(|_| case.step());
            steps += 8;
            *last = Instant::now();
        }
    }
    println!("{steps} operations by handles that take turns");
}
