//! netCDF classic files of all formats, read by name: every value, what is listed, how many reads it takes, and files
//! that end too early or that nobody should write.

#![cfg(feature = "arrays")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use nczchunk::MemoryLimits;
use nczchunk::object::{
    AsyncRequests, AsyncStore, ByteRange, Entry, Flight, Memory, ObjectStore, ReadRequest, Storage,
};
use nczchunk::{
    Access, Array, AttributeValues, Buffer, Element, ElementType, Error, ErrorKind, Hyperslab, Node, Result, list,
};

/// The system's allocator; counts the bytes that a thread has in use.
struct Counting;

thread_local! {
    static IN_USE: std::cell::Cell<(isize, isize)> = const { std::cell::Cell::new((0, 0)) };
}

fn count(bytes: isize) {
    let _ = IN_USE.try_with(|cell| {
        let (in_use, most) = cell.get();
        cell.set((in_use + bytes, most.max(in_use + bytes)));
    });
}

// SAFETY: what the system's allocator promises is passed on.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that were in use at the same time while something was done, beyond those before.
fn most_in_use(body: impl FnOnce()) -> isize {
    let before = IN_USE.get().0;
    IN_USE.set((before, before));
    body();
    IN_USE.get().1 - before
}

// --- Files.

/// The types' numbers and sizes: those of all formats, then those of CDF-5.
const SIZES: [(u32, usize); 11] =
    [(1, 1), (2, 1), (3, 2), (4, 4), (5, 4), (6, 8), (7, 1), (8, 2), (9, 4), (10, 8), (11, 8)];

fn size(kind: u32) -> usize {
    SIZES.iter().find(|(number, _)| *number == kind).unwrap().1
}

/// The lengths of the dimensions t (0, the record dimension), y and x.
#[derive(Clone, Copy)]
struct Shape {
    num_records: usize,
    y: usize,
    x: usize,
}

/// A variable: its name, its dimensions by their numbers, and its type.
type Var = (&'static str, &'static [usize], u32);

/// What is written as how many records there are.
const STREAMING: u64 = u64::MAX;

struct Made {
    bytes: Vec<u8>,
    begins: Vec<usize>,
    /// Where each of the `begins` stands in the header.
    begin_fields: Vec<usize>,
    record_size: usize,
}

/// The bytes of the value `i` of variable `v`, in native order.
fn value(v: usize, i: usize, size: usize) -> Vec<u8> {
    let big: Vec<u8> = (0..size).map(|b| (v * 31 + i * 7 + i / 251 + b * 3) as u8).collect();
    if cfg!(target_endian = "little") { big.into_iter().rev().collect() } else { big }
}

/// Numbers of a header, each of as many bits as the format has for it.
struct Header {
    version: u8,
    bytes: Vec<u8>,
}

impl Header {
    fn u32(&mut self, number: u32) {
        self.bytes.extend(number.to_be_bytes());
    }

    fn count(&mut self, number: u64) {
        if self.version == 5 { self.bytes.extend(number.to_be_bytes()) } else { self.u32(number as u32) }
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn name(&mut self, name: &str) {
        self.count(name.len() as u64);
        self.padded(name.as_bytes());
    }

    fn text(&mut self, name: &str, text: &[u8]) {
        self.name(name);
        self.u32(2);
        self.count(text.len() as u64);
        self.padded(text);
    }
}

/// A file with these variables. Each has an attribute, and shorts have a fill value.
fn make(version: u8, shape: Shape, vars: &[Var], num_records: u64) -> Made {
    let Shape { y, x, .. } = shape;
    let mut header = Header { version, bytes: vec![b'C', b'D', b'F', version] };
    header.count(num_records);
    header.u32(10);
    header.count(3);
    for (name, len) in [("t", 0), ("y", y), ("longer x", x)] {
        header.name(name);
        header.count(len as u64);
    }
    header.u32(12);
    header.count(2);
    header.text("title", b"a file");
    header.name("numbers");
    header.u32(3);
    header.count(3);
    header.padded(&[0, 1, 255, 254, 0, 3]);
    header.u32(11);
    header.count(vars.len() as u64);
    let (mut begin_fields, mut sizes) = (Vec::new(), Vec::new());
    for (name, dimensions, kind) in vars {
        header.name(name);
        header.count(dimensions.len() as u64);
        dimensions.iter().for_each(|d| header.count(*d as u64));
        header.u32(12);
        header.count(if *kind == 3 { 2 } else { 1 });
        header.text("units", b"K\xe4");
        if *kind == 3 {
            header.name("_FillValue");
            header.u32(3);
            header.count(1);
            header.padded(&[255, 254]);
        }
        header.u32(*kind);
        let one = dimensions.iter().map(|d| [1, y, x][*d]).product::<usize>() * size(*kind);
        header.count(one.next_multiple_of(4) as u64);
        sizes.push((dimensions.first() == Some(&0), one));
        begin_fields.push(header.bytes.len());
        header.bytes.extend(if version == 1 { vec![0; 4] } else { vec![0; 8] });
    }
    let num_of_records = sizes.iter().filter(|(is_record, _)| *is_record).count();
    let padded = |one: usize| if num_of_records == 1 { one } else { one.next_multiple_of(4) };
    let mut bytes = header.bytes;
    let mut begins = vec![0; vars.len()];
    for (v, (_, one)) in sizes.iter().enumerate().filter(|(_, (is_record, _))| !is_record) {
        begins[v] = bytes.len();
        (0..one / size(vars[v].2)).for_each(|i| put(&mut bytes, v, i, vars[v].2));
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    let mut record_size = 0;
    for (v, (_, one)) in sizes.iter().enumerate().filter(|(_, (is_record, _))| *is_record) {
        begins[v] = bytes.len() + record_size;
        record_size += padded(*one);
    }
    for record in 0..shape.num_records {
        for (v, (_, one)) in sizes.iter().enumerate().filter(|(_, (is_record, _))| *is_record) {
            let num = one / size(vars[v].2);
            (record * num..(record + 1) * num).for_each(|i| put(&mut bytes, v, i, vars[v].2));
            bytes.resize(bytes.len() + padded(*one) - one, 0xaa);
        }
    }
    for (field, begin) in begin_fields.iter().zip(&begins) {
        set_begin(&mut bytes, version, *field, *begin);
    }
    Made { bytes, begins, begin_fields, record_size }
}

fn put(bytes: &mut Vec<u8>, v: usize, i: usize, kind: u32) {
    let native = value(v, i, size(kind));
    if cfg!(target_endian = "little") { bytes.extend(native.into_iter().rev()) } else { bytes.extend(native) }
}

fn set_begin(bytes: &mut [u8], version: u8, at: usize, begin: usize) {
    let begin = (begin as u64).to_be_bytes();
    if version == 1 {
        bytes[at..at + 4].copy_from_slice(&begin[4..]);
    } else {
        bytes[at..at + 8].copy_from_slice(&begin);
    }
}

/// Variables of all types of a format, fixed and with records.
fn all_vars(version: u8) -> Vec<Var> {
    const NAMES: [[&str; 3]; 11] = [
        ["f1", "r1", "v1"],
        ["f2", "r2", "v2"],
        ["f3", "r3", "v3"],
        ["f4", "r4", "v4"],
        ["f5", "r5", "v5"],
        ["f6", "r6", "v6"],
        ["f7", "r7", "v7"],
        ["f8", "r8", "v8"],
        ["f9", "r9", "v9"],
        ["f10", "r10", "v10"],
        ["f11", "r11", "v11"],
    ];
    let kinds = if version == 5 { 11 } else { 6 };
    let of = |kind: u32| {
        let [fixed, records, series] = NAMES[kind as usize - 1];
        [(fixed, &[1usize, 2][..], kind), (records, &[0, 1, 2], kind), (series, &[0], kind)]
    };
    let mut vars: Vec<Var> = (1..=kinds).flat_map(of).collect();
    vars.extend([("scalar", &[][..], 6), ("line", &[2][..], 1)]);
    vars
}

fn storage_of(bytes: &[u8]) -> Storage {
    let storage = Storage::new(Memory::new()).unwrap();
    storage.write("some/file.nc", bytes).unwrap();
    storage.file("some/file.nc").unwrap()
}

/// All values of an array as bytes.
fn all_bytes(array: &Array, hyperslab: &Hyperslab<'_>) -> Result<Vec<u8>> {
    fn bytes<const N: usize>(array: &Array, hyperslab: &Hyperslab<'_>) -> Result<Vec<u8>>
    where
        [u8; N]: Element,
    {
        Ok(array.read::<[u8; N]>(hyperslab)?.concat())
    }
    match array.variable().element_size() {
        1 => bytes::<1>(array, hyperslab),
        2 => bytes::<2>(array, hyperslab),
        4 => bytes::<4>(array, hyperslab),
        _ => bytes::<8>(array, hyperslab),
    }
}

fn shape_of(array: &Array) -> Vec<usize> {
    array.variable().dimensions().iter().map(|dimension| dimension.len()).collect()
}

// --- What is read.

#[test]
fn every_value_of_every_type_and_format() {
    let shape = Shape { num_records: 5, y: 3, x: 7 };
    for version in [1, 2, 5] {
        let vars = all_vars(version);
        let storage = storage_of(&make(version, shape, &vars, 5).bytes);
        for (v, (name, dimensions, kind)) in vars.iter().enumerate() {
            let array = Array::open_in(&storage, name, Access::Read).unwrap();
            let lens: Vec<usize> = dimensions.iter().map(|d| [5, 3, 7][*d]).collect();
            assert_eq!(shape_of(&array), lens, "{name}");
            assert_eq!(array.element_type().netcdf_type(), *kind as i32);
            let expected: Vec<u8> = (0..lens.iter().product()).flat_map(|i| value(v, i, size(*kind))).collect();
            assert_eq!(all_bytes(&array, &Hyperslab::all()).unwrap(), expected, "CDF-{version} {name}");
            if *kind == 3 {
                assert_eq!(array.variable().fill_value(), Some(&(-2i16).to_ne_bytes()[..]));
            }
            if *kind == 5 {
                assert_eq!(array.variable().fill_value(), Some(&9.969_21e36f32.to_ne_bytes()[..]));
            }
        }
    }
}

#[test]
fn one_record_variable_is_not_padded() {
    for (version, kind) in [(1, 1), (2, 3), (5, 2), (5, 8)] {
        let vars: [Var; 2] = [("fixed", &[2], 4), ("records", &[0, 2], kind)];
        let made = make(version, Shape { num_records: 9, y: 1, x: 3 }, &vars, 9);
        assert_eq!(made.record_size, 3 * size(kind));
        let array = Array::open_in(&storage_of(&made.bytes), "records", Access::Read).unwrap();
        let expected: Vec<u8> = (0..27).flat_map(|i| value(1, i, size(kind))).collect();
        assert_eq!(all_bytes(&array, &Hyperslab::all()).unwrap(), expected);
    }
}

/// Random hyperslabs of a variable with these lengths, which was made as number `v`.
fn check_hyperslabs(array: &Array, (v, lens): (usize, &[usize]), number: usize) {
    let mut rng = fastrand::Rng::with_seed(v as u64);
    for _ in 0..number {
        let (mut start, mut count, mut stride) = (Vec::new(), Vec::new(), Vec::new());
        for &len in lens {
            let first = rng.usize(0..len);
            let step = rng.usize(1..if len > 20 { 3000 } else { 3 });
            let most = (len - 1 - first) / step + 1;
            start.push(first);
            stride.push(step as isize);
            count.push(rng.usize(1..=most.min(700)));
        }
        let mut expected = Vec::new();
        let mut indices = vec![0; lens.len()];
        for _ in 0..count.iter().product() {
            let at = |d: usize| start[d] + indices[d] * stride[d] as usize;
            let i = (0..lens.len()).fold(0, |i, d| i * lens[d] + at(d));
            expected.extend(value(v, i, array.variable().element_size()));
            for d in (0..lens.len()).rev() {
                indices[d] += 1;
                if indices[d] < count[d] {
                    break;
                }
                indices[d] = 0;
            }
        }
        let hyperslab = Hyperslab::new(&start, &count).with_stride(&stride);
        assert_eq!(all_bytes(array, &hyperslab).unwrap(), expected, "{} {start:?} {count:?} {stride:?}", array.name());
    }
}

/// Records that are taken together in several chunks, at once and by many requests in flight.
#[test]
fn hyperslabs_of_many_records() {
    let shape = Shape { num_records: 100_000, y: 2, x: 3 };
    let vars: [Var; 4] = [("a", &[0, 2], 3), ("b", &[0, 1, 2], 6), ("c", &[0], 1), ("d", &[1, 2], 5)];
    let made = make(2, shape, &vars, 100_000);
    for storage in [storage_of(&made.bytes), Storage::new(Far::of(&made.bytes)).unwrap().file("f").unwrap()] {
        for (v, (name, dimensions, _)) in vars.iter().enumerate() {
            let array = Array::open_in(&storage, name, Access::Read).unwrap();
            let lens: Vec<usize> = dimensions.iter().map(|d| [100_000, 2, 3][*d]).collect();
            check_hyperslabs(&array, (v, &lens), 60);
        }
    }
}

/// Records and fixed variables that are too long to be one chunk.
#[test]
fn hyperslabs_of_long_records() {
    let vars: [Var; 3] = [("a", &[0, 1, 2], 6), ("b", &[0, 2], 3), ("c", &[1, 2], 6)];
    let made = make(5, Shape { num_records: 2, y: 11, x: 200_000 }, &vars, 2);
    for storage in [storage_of(&made.bytes), Storage::new(Far::of(&made.bytes)).unwrap().file("f").unwrap()] {
        for (v, (name, dimensions, _)) in vars.iter().enumerate() {
            let array = Array::open_in(&storage, name, Access::Read).unwrap();
            let lens: Vec<usize> = dimensions.iter().map(|d| [2, 11, 200_000][*d]).collect();
            check_hyperslabs(&array, (v, &lens), 60);
        }
    }
    let nodes = list(&storage_of(&made.bytes), "", true).unwrap();
    assert_eq!((nodes[1].chunk_shape(), nodes[3].chunk_shape()), (&[1, 1, 200_000][..], &[1, 200_000][..]));
}

#[test]
fn a_file_without_records() {
    let vars: [Var; 3] = [("a", &[0, 2], 3), ("b", &[0], 6), ("c", &[2], 1)];
    for num_records in [0, STREAMING] {
        let storage = storage_of(&make(1, Shape { num_records: 0, y: 1, x: 3 }, &vars, num_records).bytes);
        let array = Array::open_in(&storage, "a", Access::Read).unwrap();
        assert_eq!((shape_of(&array), all_bytes(&array, &Hyperslab::all())), (vec![0, 3], Ok(vec![])));
        let array = Array::open_in(&storage, "c", Access::Read).unwrap();
        assert_eq!(
            all_bytes(&array, &Hyperslab::all()).unwrap(),
            (0..3).flat_map(|i| value(2, i, 1)).collect::<Vec<u8>>()
        );
    }
}

#[test]
fn what_is_in_a_file_is_listed() {
    let vars: [Var; 3] = [("a/b", &[0, 2], 3), ("text", &[1, 2], 2), ("scalar", &[], 6)];
    let storage = storage_of(&make(5, Shape { num_records: 4, y: 2, x: 3 }, &vars, 4).bytes);
    let nodes = list(&storage, "", true).unwrap();
    let names: Vec<&str> = nodes.iter().map(Node::name).collect();
    assert_eq!(names, ["", "a/b", "text", "scalar"]);
    assert!(nodes[0].is_group() && !nodes[1].is_group());
    assert_eq!(nodes[0].attributes_json(), r#"{"title":"a file","numbers":[1,-2,3]}"#);
    assert_eq!(
        nodes[0].attributes()[1].values(),
        AttributeValues::Bytes(&[1i16, -2, 3].map(i16::to_ne_bytes).concat())
    );
    assert_eq!((nodes[1].shape(), nodes[1].chunk_shape()), (&[4, 3][..], &[4, 3][..]));
    assert_eq!((nodes[1].dimension_name(0), nodes[1].dimension_name(1)), (Some("t"), Some("longer x")));
    assert_eq!((nodes[1].is_unlimited(0), nodes[1].is_unlimited(1)), (true, false));
    assert_eq!(nodes[1].attributes_json(), "{\"units\":\"K\u{fffd}\",\"_FillValue\":-2}");
    assert_eq!(nodes[2].element_type(), Some(ElementType::Char));
    assert_eq!(nodes[3].shape(), [0usize; 0]);
    let array = Array::open_in(&storage, "a/b", Access::Read).unwrap();
    assert_eq!(array.attributes()[0].values(), AttributeValues::Bytes(b"K\xe4"));
    assert!(array.is_unlimited(0) && !array.is_unlimited(1));
    let alone = list(&storage, "text", false).unwrap();
    assert_eq!((alone.len(), alone[0].name(), alone[0].chunk_shape()), (1, "text", &[2, 3][..]));
    let error = |name: &str, access| Array::open_in(&storage, name, access).err().unwrap();
    assert_eq!(error("no", Access::Read).kind(), ErrorKind::NotFound("variable"));
    assert_eq!(error("", Access::Read).kind(), ErrorKind::NotAnArray);
    assert_eq!(error("text", Access::Write).kind(), ErrorKind::ReadOnly);
    assert_eq!(list(&storage, "no", true).err().unwrap().kind(), ErrorKind::NotFound("variable"));
}

#[test]
fn a_file_by_its_path() {
    let path = std::env::temp_dir().join(format!("nczchunk-netcdf-{}.nc", std::process::id()));
    std::fs::write(&path, make(1, Shape { num_records: 2, y: 1, x: 2 }, &[("v", &[0, 2], 1)], 2).bytes).unwrap();
    let mut array = Array::open(&path, "v", Access::Read).unwrap();
    assert_eq!(array.read::<i8>(&Hyperslab::all()).unwrap().len(), 4);
    assert_eq!(array.resize(&[3, 2]).unwrap_err().kind(), ErrorKind::OpenedToRead);
    assert_eq!(array.set_attribute("a", "x").unwrap_err().kind(), ErrorKind::OpenedToRead);
    assert_eq!(array.write(&Hyperslab::all(), &[0i8; 4]).unwrap_err().kind(), ErrorKind::OpenedToRead);
    let description = nczchunk::Description::new(&[2], ElementType::Int);
    assert_eq!(Array::create(&path, "w", &description).err().unwrap().kind(), ErrorKind::ReadOnly);
    let error = Array::open(&path, "w", Access::Read).err().unwrap();
    assert!(error.about().ends_with(".nc: w"), "{error}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
#[cfg(unix)]
fn a_file_that_was_replaced_is_read_once_it_is_refreshed() {
    let path = std::env::temp_dir().join(format!("nczchunk-replaced-{}.nc", std::process::id()));
    let other = path.with_extension("other");
    let old = make(1, Shape { num_records: 2, y: 1, x: 2 }, &[("v", &[0, 2], 1)], 2);
    let mut new = old.bytes.clone();
    new[old.begins[0]] = 99;
    std::fs::write(&path, &old.bytes).unwrap();
    let mut array = Array::open(&path, "v", Access::Read).unwrap();
    let read = |array: &Array| array.read::<i8>(&Hyperslab::all()).unwrap();
    let before = read(&array);
    std::fs::write(&other, &new).unwrap();
    std::fs::rename(&other, &path).unwrap();
    assert_eq!(read(&array), before);
    array.refresh().unwrap();
    assert_eq!(read(&array), [&[99], &before[1..]].concat());
    // A file that is not there any more, or was changed in place, is still the one that is open.
    std::fs::write(&path, &old.bytes).unwrap();
    array.refresh().unwrap();
    assert_eq!(read(&array), before);
    std::fs::remove_file(&path).unwrap();
    array.refresh().unwrap();
    assert_eq!(read(&array), before);
}

/// As a model writes it, record by record.
#[test]
fn records_that_were_added_are_read_once_it_is_refreshed() {
    let path = std::env::temp_dir().join(format!("nczchunk-growing-{}.nc", std::process::id()));
    let of = |num_records| {
        let shape = Shape { num_records, y: 2, x: 3 };
        make(2, shape, &[("v", &[0, 1, 2], 4), ("w", &[0], 1)], num_records as u64).bytes
    };
    std::fs::write(&path, of(0)).unwrap();
    let mut array = Array::open(&path, "v", Access::Read).unwrap();
    for num_records in [0, 1, 2, 50, 100_000, 7] {
        std::fs::write(&path, of(num_records)).unwrap();
        array.refresh().unwrap();
        let found: Vec<i32> = array.read(&Hyperslab::all()).unwrap();
        assert_eq!(found.len(), num_records * 6);
        assert_eq!(found, Array::open(&path, "v", Access::Read).unwrap().read::<i32>(&Hyperslab::all()).unwrap());
    }
    std::fs::remove_file(&path).unwrap();
}

// --- Files that end too early, and others that are not as they should be.

fn is_truncated(error: &Error, name: &str) -> bool {
    error.kind() == ErrorKind::Truncated && error.about() == name
}

#[test]
fn a_truncated_file_is_read_up_to_its_end() {
    let shape = Shape { num_records: 6, y: 2, x: 5 };
    let vars: [Var; 3] = [("a", &[0, 2], 3), ("b", &[0, 1], 4), ("c", &[0], 1)];
    let made = make(2, shape, &vars, 6);
    for end in made.begins[0]..made.bytes.len() {
        for storage in
            [storage_of(&made.bytes[..end]), Storage::new(Far::of(&made.bytes[..end])).unwrap().file("f").unwrap()]
        {
            for (v, (name, dimensions, kind)) in vars.iter().enumerate() {
                let array = Array::open_in(&storage, name, Access::Read).unwrap();
                let num: usize = dimensions.iter().map(|d| [1, 2, 5][*d]).product();
                let count: Vec<usize> = dimensions.iter().map(|d| [1, 2, 5][*d]).collect();
                for record in 0..6 {
                    let mut start = vec![0; count.len()];
                    start[0] = record;
                    let read = all_bytes(&array, &Hyperslab::new(&start, &count));
                    let last = made.begins[v] + record * made.record_size + num * size(*kind);
                    if last <= end {
                        let expected = (record * num..(record + 1) * num).flat_map(|i| value(v, i, size(*kind)));
                        assert_eq!(read.unwrap(), expected.collect::<Vec<u8>>());
                    } else {
                        assert!(is_truncated(&read.unwrap_err(), name));
                    }
                }
            }
        }
    }
}

#[test]
fn a_stream_has_as_many_records_as_there_is_room_for() {
    let shape = Shape { num_records: 6, y: 2, x: 5 };
    for (version, vars) in [
        (1, vec![("a", &[0usize, 2][..], 3), ("c", &[0], 1)]),
        (2, vec![("a", &[0, 2], 3)]),
        (5, vec![("c", &[0], 1), ("a", &[0, 2], 3), ("f", &[1], 6)]),
    ] {
        let made = make(version, shape, &vars, STREAMING);
        let name = vars.iter().find(|(name, ..)| *name == "a").unwrap().0;
        for end in made.begins.iter().max().copied().unwrap()..=made.bytes.len() {
            let array = Array::open_in(&storage_of(&made.bytes[..end]), name, Access::Read).unwrap();
            let ends = |record: usize| {
                let of = |(v, var): (usize, &Var)| match var.1.first() {
                    Some(0) => made.begins[v] + record * made.record_size + if var.0 == "a" { 10 } else { 1 },
                    _ => 0,
                };
                vars.iter().enumerate().map(of).max().unwrap()
            };
            assert_eq!(shape_of(&array)[0], (0..6).take_while(|record| ends(*record) <= end).count());
            all_bytes(&array, &Hyperslab::all()).unwrap();
        }
    }
}

#[test]
fn values_that_share_bytes_are_refused_and_any_order_is_read() {
    let shape = Shape { num_records: 3, y: 2, x: 4 };
    let vars: [Var; 4] = [("f", &[1, 2], 5), ("g", &[2], 5), ("r", &[0, 2], 4), ("s", &[0], 4)];
    for version in [1, 2, 5] {
        let made = make(version, shape, &vars, 3);
        let unreadable = |changes: &[(usize, usize)]| {
            let mut bytes = made.bytes.clone();
            changes.iter().for_each(|(v, begin)| set_begin(&mut bytes, version, made.begin_fields[*v], *begin));
            bytes.resize(bytes.len() + 200, 0);
            let storage = storage_of(&bytes);
            let nodes = list(&storage, "", true).unwrap();
            let wrong: Vec<&str> = nodes.iter().filter(|node| node.error().is_some()).map(Node::name).collect();
            for (name, ..) in vars {
                let opened = Array::open_in(&storage, name, Access::Read);
                assert_eq!(opened.is_err(), wrong.contains(&name));
                assert!(
                    opened.is_ok_and(|array| all_bytes(&array, &Hyperslab::all()).is_ok()) != wrong.contains(&name)
                );
            }
            wrong.join(" ")
        };
        let [f, g, r, s] = made.begins[..] else { panic!() };
        assert_eq!(unreadable(&[]), "");
        assert_eq!(unreadable(&[(0, f + 16), (1, f)]), "");
        assert_eq!(unreadable(&[(2, r + 4), (3, r)]), "");
        assert_eq!(unreadable(&[(1, g - 4)]), "f g");
        assert_eq!(unreadable(&[(3, s - 4)]), "r s");
        assert_eq!(unreadable(&[(0, 8)]), "f");
        assert_eq!(unreadable(&[(1, s + 1)]), "g r s");
        assert_eq!(unreadable(&[(1, r + made.record_size * 2)]), "g r s");
        assert_eq!(unreadable(&[(3, r + made.record_size)]), "r s");
        assert_eq!(unreadable(&[(0, made.bytes.len()), (1, made.bytes.len() + 64)]), "");
    }
}

/// With one record there is nothing for it to be apart from.
#[test]
fn a_single_record_lies_anywhere() {
    let vars: [Var; 2] = [("r", &[0, 2], 4), ("s", &[0], 4)];
    for (num_records, is_readable) in [(1, true), (2, false)] {
        let made = make(2, Shape { num_records, y: 1, x: 2 }, &vars, num_records as u64);
        let mut bytes = made.bytes.clone();
        let behind = bytes.len() + 100;
        bytes.resize(behind, 0);
        bytes.extend([&made.bytes[made.begins[1]..][..4], &[0; 100]].concat());
        set_begin(&mut bytes, 2, made.begin_fields[1], behind);
        let opened = Array::open_in(&storage_of(&bytes), "s", Access::Read);
        assert_eq!(opened.is_ok(), is_readable);
        if let Ok(array) = opened {
            assert_eq!(all_bytes(&array, &Hyperslab::all()).unwrap(), value(1, 0, 4));
        }
    }
}

#[test]
fn a_header_takes_no_more_memory_than_the_limit_for_metadata() {
    let mut header = Header { version: 1, bytes: b"CDF\x01".to_vec() };
    [0, 0, 0, 12, 1].into_iter().for_each(|number| header.u32(number));
    header.text("a", &vec![b'x'; 65 << 20]);
    [0, 0].into_iter().for_each(|number| header.u32(number));
    let mut storage = storage_of(&header.bytes);
    storage.set_memory_limits(MemoryLimits::default().with_metadata_bytes(64 << 20));
    let error = list(&storage, "", true).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
}

// --- How much is read.

/// A storage with one file; counts the reads. Several reads may be in flight, if it has latency.
struct Far {
    file: AsyncRequests<OneFile>,
    has_latency: bool,
}

struct OneFile {
    bytes: Vec<u8>,
    reads: AtomicUsize,
}

impl Far {
    fn of(bytes: &[u8]) -> Self {
        let file = OneFile { bytes: bytes.to_vec(), reads: AtomicUsize::new(0) };
        Far { file: AsyncRequests::new(file).unwrap(), has_latency: true }
    }

    fn num_reads(&self) -> usize {
        self.file.store().reads.load(Relaxed)
    }
}

impl OneFile {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Option<u64> {
        self.reads.fetch_add(1, Relaxed);
        (name == "f").then(|| begin.copy(&self.bytes, buffer))
    }
}

impl ObjectStore for Far {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        Ok(self.file.store().read(name, begin, buffer))
    }

    fn list(&self, _: &str, _: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        Ok(())
    }

    fn flight(&self) -> Option<&dyn Flight> {
        self.has_latency.then_some(&self.file)
    }
}

impl AsyncStore for OneFile {
    fn start_read(&self, mut read: ReadRequest) {
        let (name, begin) = (read.name().to_owned(), read.begin());
        let found = read.fill(|buffer| self.read(&name, begin, buffer));
        read.answer(Ok(found.map(|len| (len, None))));
    }
}

#[test]
fn what_is_near_is_read_at_once() {
    let reads = |shape: Shape, vars: &[Var], name: &str, start: &[usize], count: &[usize]| {
        let far = Far { has_latency: false, ..Far::of(&make(5, shape, vars, shape.num_records as u64).bytes) };
        let storage = std::sync::Arc::new(far);
        let array =
            Array::open_in(&Storage::new(storage.clone()).unwrap().file("f").unwrap(), name, Access::Read).unwrap();
        let before = storage.num_reads();
        all_bytes(&array, &Hyperslab::new(start, count)).unwrap();
        (before, storage.num_reads() - before)
    };
    let vars: [Var; 3] = [("a", &[0, 1, 2], 5), ("b", &[0, 1, 2], 5), ("f", &[1, 2], 5)];
    // What the file is and its header are one read; so are a map, a series and a fixed variable.
    let small = Shape { num_records: 1000, y: 5, x: 10 };
    assert_eq!(reads(small, &vars, "a", &[7, 0, 0], &[1, 5, 10]), (1, 1));
    assert_eq!(reads(small, &vars, "a", &[0, 2, 3], &[1000, 1, 1]), (1, 1));
    assert_eq!(reads(small, &vars, "f", &[0, 0], &[5, 10]), (1, 1));
    // Records of 20000 bytes, of which others are 16384 or more between: each is read by itself.
    let large = Shape { num_records: 30, y: 50, x: 100 };
    assert_eq!(reads(large, &vars, "a", &[0, 2, 3], &[30, 1, 1]), (1, 30));
    assert_eq!(reads(large, &vars, "b", &[3, 0, 0], &[2, 50, 100]), (1, 2));
    // What lands in memory and is to be swapped is read by 128 KiB.
    let long = Shape { num_records: 1, y: 1, x: 1 << 18 };
    let in_parts = if cfg!(target_endian = "little") { 8 } else { 1 };
    assert_eq!(reads(long, &vars, "f", &[0, 0], &[1, 1 << 18]), (1, in_parts));
}

#[test]
fn a_long_header_is_read_in_parts() {
    let names: Vec<String> = (0..2000).map(|i| format!("variable {i}")).collect();
    let vars: Vec<Var> = names.iter().map(|name| (&*name.clone().leak(), &[2usize][..], 4)).collect();
    let made = make(2, Shape { num_records: 0, y: 1, x: 2 }, &vars, 0);
    let far = std::sync::Arc::new(Far { has_latency: false, ..Far::of(&made.bytes) });
    let storage = Storage::new(far.clone()).unwrap().file("f").unwrap();
    let array = Array::open_in(&storage, "variable 1999", Access::Read).unwrap();
    let expected: Vec<u8> = (0..2).flat_map(|i| value(1999, i, 4)).collect();
    assert_eq!(all_bytes(&array, &Hyperslab::all()).unwrap(), expected);
    // 16, 16, 32, 64, 128 KiB.
    assert!(made.begins[0] > 128 << 10 && made.begins[0] < 256 << 10);
    assert_eq!(far.num_reads(), 5 + 1);
}

// --- Files that nobody should write.

/// Opens and reads all that is in a file: an error, or the same answer in all ways, in bounded memory.
fn read_all(bytes: &[u8]) {
    let storage = storage_of(bytes);
    let most = most_in_use(|| {
        let Ok(nodes) = list(&storage, "", true) else { return };
        for (i, node) in nodes.iter().enumerate().skip(1) {
            // Of several variables with one name the first is opened.
            let is_first = nodes[1..i].iter().all(|other| other.name() != node.name());
            match Array::open_in(&storage, node.name(), Access::Read) {
                Ok(array) if is_first => read_array(&array, node),
                Ok(_) => {}
                Err(_) => assert!(node.error().is_some() || !is_first || node.name().is_empty()),
            }
        }
    });
    assert!(most < 1 << 20, "{most} bytes");
}

fn read_array(array: &Array, node: &Node) {
    assert!(node.error().is_none());
    let shape = shape_of(array);
    assert_eq!((node.shape(), node.element_type()), (&shape[..], Some(*array.element_type())));
    let num = shape.iter().try_fold(1usize, |num, &len| num.checked_mul(len)).unwrap_or(usize::MAX);
    let last: Vec<usize> = shape.iter().map(|len| len.saturating_sub(1)).collect();
    let ones = vec![1; shape.len()];
    if num > 10_000 {
        let zeros = vec![0; shape.len()];
        let _ = (all_bytes(array, &Hyperslab::new(&zeros, &ones)), all_bytes(array, &Hyperslab::new(&last, &ones)));
        return;
    }
    let Ok(all) = all_bytes(array, &Hyperslab::all()) else { return };
    assert_eq!(all.len(), num * array.variable().element_size());
    if num > 0 {
        let bytes = all_bytes(array, &Hyperslab::new(&last, &ones)).unwrap();
        assert!(all.ends_with(&bytes));
    }
}

fn hostile() -> impl Iterator<Item = Made> {
    let shape = Shape { num_records: 3, y: 2, x: 3 };
    let several: &[Var] = &[("f", &[1, 2], 5), ("t", &[2], 2), ("r", &[0, 2], 3), ("s", &[0, 1], 6)];
    let one: &[Var] = &[("r", &[0, 2], 3), ("x", &[], 4)];
    [1, 2, 5].into_iter().flat_map(move |version| {
        [(several, 3), (several, STREAMING), (one, 3)].map(|(vars, num)| make(version, shape, vars, num))
    })
}

#[test]
fn files_that_end_anywhere() {
    for made in hostile() {
        for end in 0..=made.bytes.len() {
            read_all(&made.bytes[..end]);
        }
    }
}

#[test]
fn files_with_any_byte_changed() {
    for made in hostile() {
        let header_len = made.begins.iter().min().copied().unwrap();
        let mut bytes = made.bytes;
        for at in 0..bytes.len() {
            let kept = bytes[at];
            for byte in 0..=255 {
                bytes[at] = byte;
                // Behind the header all that is there is a value.
                if at < header_len || byte == !kept {
                    read_all(&bytes);
                }
            }
            bytes[at] = kept;
        }
    }
}

#[test]
fn huge_numbers_anywhere() {
    for made in hostile() {
        for at in (4..made.bytes.len() - 8).step_by(4) {
            for number in [u64::MAX, i64::MAX as u64, 1 << 62, 1 << 32, (1 << 40) - 1] {
                let mut bytes = made.bytes.clone();
                bytes[at..at + 8].copy_from_slice(&number.to_be_bytes());
                read_all(&bytes);
                bytes[at..at + 4].copy_from_slice(&(number as u32).to_be_bytes());
                read_all(&bytes);
            }
        }
    }
}
