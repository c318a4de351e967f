//! Arrays at URLs, read from a server that can be asked to do everything wrong: what is read is right, or an error that
//! names the object and the cause, in a bounded time, and no request and no thread is left.

// Variables of the environment, and forks.
#![allow(unsafe_code)]

#[path = "network/answers.rs"]
mod answers;
#[path = "network/archives.rs"]
mod archives;
#[path = "network/hostile.rs"]
mod hostile;
#[path = "network/server.rs"]
mod server;
#[path = "network/stores.rs"]
mod stores;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nczchunk::object::{ByteRange, Entry, Memory, Storage, read_whole};
use nczchunk::{
    Access, Array, ArrayFormat, Cache, ChunkState, Description, ElementType, ErrorKind, Hyperslab, Options, Plan,
    Progress, concat, list, open_storage, status,
};
use server::{Fault, Server};

/// The tests look at the threads of the process, so one runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many threads there are that ask for objects, or look up names for those.
fn threads() -> usize {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0 };
    let name = |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.unwrap().path().join("comm"));
    let is_ours = |name: &String| name.starts_with("nczchunk-networ") || name.starts_with("tokio");
    tasks.filter_map(|task| name(task).ok()).filter(is_ours).count()
}

/// How many of them are left. The system lists a thread that was joined until it has cleaned up after it.
fn threads_left() -> usize {
    let patience = Instant::now() + Duration::from_millis(100);
    while threads() > 0 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(1));
    }
    threads()
}

/// How many seconds there are, as long as this lives.
struct Seconds;

impl Seconds {
    fn new(value: &str) -> Self {
        // SAFETY: no other thread of the tests reads or writes the environment meanwhile.
        unsafe { std::env::set_var("NCZCHUNK_NETWORK_TIMEOUT", value) };
        Seconds
    }
}

impl Drop for Seconds {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { std::env::remove_var("NCZCHUNK_NETWORK_TIMEOUT") };
    }
}

/// Puts what is in a place on a server.
fn publish(server: &Server, place: &Storage, prefix: &str, to: &str) {
    let mut found = Vec::new();
    let one = &mut |name: &str, entry| {
        found.push((if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") }, entry));
        Ok(())
    };
    place.list(prefix, one).unwrap();
    for (name, entry) in found {
        match entry {
            Entry::Object => {
                server.put(&format!("{to}/{name}"), &read_whole(&**place, &name, 1 << 24).unwrap().unwrap())
            }
            Entry::Prefix => publish(server, place, &name, to),
        }
    }
}

const SHAPE: [usize; 2] = [64, 64];

fn values() -> Vec<i32> {
    (0..64 * 64).map(|i| i * 7919 % 10007).collect()
}

/// A server with an array of 64 chunks, `a.zarr`, and the same values in 4 shards of 64 chunks each, `s.zarr`.
fn server() -> Server {
    let server = Server::new();
    for (name, shards) in [("a.zarr", None), ("s.zarr", Some([32, 32]))] {
        let chunks = if shards.is_some() { [4, 4] } else { [8, 8] };
        let mut description = Description::new(&SHAPE, ElementType::Int).with_chunk_shape(&chunks);
        if let Some(shards) = &shards {
            description = description.with_shard_shape(shards);
        }
        let place = Storage::new(Memory::new()).unwrap();
        Array::create_in(&place, "", &description).unwrap().write(&Hyperslab::all(), &values()).unwrap();
        publish(&server, &place, "", name);
    }
    server
}

fn open(server: &Server, path: &str) -> nczchunk::Result<Array> {
    Array::open(server.url(path), "", Access::Read)
}

fn read(server: &Server, path: &str) -> nczchunk::Result<Vec<i32>> {
    open(server, path)?.read::<i32>(&Hyperslab::all())
}

#[test]
fn many_requests_are_in_flight() {
    let _alone = alone();
    let server = server();
    let array = open(&server, "a.zarr").unwrap();
    // Neither a file nor a list is looked for where the name says what there is.
    assert_eq!(server.log(), [("/a.zarr/zarr.json".to_owned(), Some((0, (512 << 10) - 1)))]);
    server.set_latency(Duration::from_millis(50));
    assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), values());
    assert_eq!(server.log().len(), 64);
    let most = server.most();
    assert!(most >= 32, "{most}");
    // So are those for lengths, of which the chunks are told in order.
    server.remove("a.zarr/c/0/3");
    let mut found = Vec::new();
    array
        .locate(&Hyperslab::all(), &mut |chunk| {
            found.push((chunk.indices.to_vec(), chunk.state != ChunkState::Absent));
            Ok(())
        })
        .unwrap();
    let most = server.most();
    assert!(most >= 32, "{most}");
    let expected = (0..64).map(|i| (vec![i / 8, i % 8], i != 3));
    assert_eq!(found, expected.collect::<Vec<_>>());
    assert_eq!((server.log().len(), server.requests_in_flight()), (64, 0));
}

#[test]
fn threads_share_a_storage() {
    let _alone = alone();
    let server = server();
    server.set_latency(Duration::from_millis(2));
    for path in ["a.zarr", "s.zarr"] {
        let mut array = open(&server, path).unwrap();
        array.set_cache(None::<&Cache>);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let read = || array.read::<i32>(&Hyperslab::all()).unwrap();
                scope.spawn(move || (0..3).for_each(|_| assert_eq!(read(), values())));
            }
        });
        assert_eq!(server.requests_in_flight(), 0);
    }
}

/// As long as one is open, storages share its connections.
#[test]
fn storages_share_connections() {
    let _alone = alone();
    let server = server();
    let _first = open(&server, "a.zarr").unwrap();
    let one = Hyperslab::new(&[9, 9], &[1, 1]);
    for _ in 0..8 {
        for path in ["a.zarr", "s.zarr"] {
            assert_eq!(open(&server, path).unwrap().read::<i32>(&one).unwrap(), [values()[9 * 64 + 9]]);
        }
    }
    assert_eq!(server.connections(), 1);
}

/// All of a shard is read at once by one thread of several.
#[test]
fn threads_do_not_divide_shards() {
    let _alone = alone();
    let server = server();
    let array = open(&server, "s.zarr").unwrap();
    server.log();
    let plan = Plan::new(array.variable(), &Hyperslab::all(), Access::Read).unwrap();
    let mut out = vec![0; plan.selected_bytes()];
    let options = Options::default().with_threads(4);
    plan.read_chunks(array.store(), 0..plan.num_chunks(), &mut out, options).unwrap();
    assert!(out == values().iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>());
    assert_eq!(server.log().len(), 4);
    // A part of one.
    let plan = Plan::new(array.variable(), &Hyperslab::new(&[1, 1], &[30, 30]), Access::Read).unwrap();
    plan.read_chunks(array.store(), 0..plan.num_chunks(), &mut out[..plan.selected_bytes()], options).unwrap();
    assert!(server.log().len() <= 2);
}

/// Each thread reads its share of the shards, with its share of the requests.
#[test]
fn threads_share_what_may_be_in_flight() {
    let _alone = alone();
    let server = Server::new();
    // 4 shards of 24 x 2 chunks of 4 KiB, of which every other one is needed: 22 requests for each shard.
    let place = Storage::new(Memory::new()).unwrap();
    let description = Description::new(&[768, 256], ElementType::Int).with_chunk_shape(&[32, 32]).with_codecs(&[]);
    let array = Array::create_in(&place, "", &description.with_shard_shape(&[768, 64])).unwrap();
    array.write(&Hyperslab::all(), &(0..768 * 256).collect::<Vec<i32>>()).unwrap();
    publish(&server, &place, "", "s.zarr");
    let array = open(&server, "s.zarr").unwrap();
    server.set_latency(Duration::from_millis(50));
    let slab = Hyperslab::new(&[0, 0], &[768, 4]).with_stride(&[1, 64]);
    let plan = Plan::new(array.variable(), &slab, Access::Read).unwrap();
    let mut out = vec![0; plan.selected_bytes()];
    server.log();
    server.most();
    let options = Options::default().with_threads(2);
    plan.read_chunks(array.store(), 0..plan.num_chunks(), &mut out, options).unwrap();
    let expected = (0..768 * 4).flat_map(|i: i32| (i / 4 * 256 + i % 4 * 64).to_ne_bytes());
    assert!(out.into_iter().eq(expected));
    assert_eq!(server.log().len(), 4 + 4 * 22);
    // One thread has up to 32.
    let most = server.most();
    assert!((33..=64).contains(&most), "{most}");
}

/// What lies between chunks is read as long as it is a tenth of what is needed, or as far as the environment says.
#[test]
fn what_is_read_in_vain_is_bounded() {
    let _alone = alone();
    let server = Server::new();
    // A shard of 4 x 4 chunks of 64 KiB, of which 3 in each row are needed.
    let place = Storage::new(Memory::new()).unwrap();
    let description = Description::new(&[512, 512], ElementType::Int).with_chunk_shape(&[128, 128]).with_codecs(&[]);
    let array = Array::create_in(&place, "", &description.with_shard_shape(&[512, 512])).unwrap();
    array.write(&Hyperslab::all(), &(0..512 * 512).collect::<Vec<i32>>()).unwrap();
    publish(&server, &place, "", "s.zarr");
    let slab = Hyperslab::new(&[0, 0], &[512, 300]);
    let expected: Vec<i32> = (0..512 * 300).map(|i| i / 300 * 512 + i % 300).collect();
    for (gap, requests, chunks) in [(None, 3, 13), (Some("200000"), 1, 15)] {
        // SAFETY: no other thread of the tests reads or writes the environment meanwhile.
        unsafe { gap.map_or_else(|| (), |gap| std::env::set_var("NCZCHUNK_NETWORK_GAP", gap)) };
        let array = open(&server, "s.zarr").unwrap();
        // SAFETY: as above.
        unsafe { std::env::remove_var("NCZCHUNK_NETWORK_GAP") };
        let cost = array.read_cost(&slab).unwrap();
        assert_eq!((cost.requests, cost.bytes - cost.index_bytes), (1 + requests, chunks << 16), "{gap:?}");
        server.log();
        assert_eq!(array.read::<i32>(&slab).unwrap(), expected);
        assert_eq!(server.log().len() as u64, requests);
    }
}

/// A shard of which all is needed is read at once; of another its index, and then all chunks that are near each other.
#[test]
fn chunks_of_a_shard_are_read_at_once() {
    let _alone = alone();
    let server = server();
    let array = open(&server, "s.zarr").unwrap();
    server.log();
    assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), values());
    assert_eq!(server.log().len(), 4);
    // The index is known.
    let some = Hyperslab::new(&[0, 0], &[32, 4]);
    open(&server, "s.zarr").unwrap().read::<i32>(&some).unwrap();
    let log = server.log();
    assert_eq!((log.len(), &*log[1].0, &*log[2].0), (3, "/s.zarr/c/0/0", "/s.zarr/c/0/0"));
}

/// What a read costs is known before, to the request and to the byte.
#[test]
fn costs_are_those_of_the_read() {
    let _alone = alone();
    let server = server();
    server.remove("a.zarr/c/0/0");
    let place = Storage::new(Memory::new()).unwrap();
    let plain = Description::new(&SHAPE, ElementType::Int).with_chunk_shape(&[64, 32]).with_codecs(&[]);
    Array::create_in(&place, "", &plain).unwrap().write(&Hyperslab::all(), &values()).unwrap();
    publish(&server, &place, "", "plain.zarr");
    // 4 MiB in shards of 1 MiB, whose chunks are farther apart than what is read for nothing.
    let wide = Description::new(&[1024, 1024], ElementType::Int).with_chunk_shape(&[128, 128]).with_codecs(&[]);
    let place = Storage::new(Memory::new()).unwrap();
    let array = Array::create_in(&place, "", &wide.with_shard_shape(&[512, 512])).unwrap();
    array.write(&Hyperslab::all(), &(0..1 << 20).collect::<Vec<i32>>()).unwrap();
    publish(&server, &place, "", "wide.zarr");
    let file = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/data/coads_sst.nc")).unwrap();
    server.put("sst.nc", &file);
    let all = Hyperslab::all();
    let (some, strided) = (Hyperslab::new(&[3, 5], &[40, 9]), Hyperslab::new(&[1, 0], &[7, 20]).with_stride(&[9, 3]));
    let (row, column) = (Hyperslab::new(&[7, 0], &[1, 1024]), Hyperslab::new(&[0, 700], &[1024, 1]));
    let window = Hyperslab::new(&[0, 0], &[600, 300]);
    let sea = Hyperslab::new(&[0, 20, 30], &[1, 50, 7]);
    for (path, name, slabs) in [
        ("a.zarr", "", &[&all, &some, &strided][..]),
        ("s.zarr", "", &[&all, &some, &strided]),
        ("plain.zarr", "", &[&all, &some, &strided]),
        ("wide.zarr", "", &[&all, &row, &column, &window]),
        ("sst.nc", "SST", &[&all, &sea]),
    ] {
        for slab in slabs {
            let open = || {
                let array = Array::open(server.url(path), name, Access::Read).unwrap();
                (server.log(), server.sent(), array).2
            };
            let array = open();
            let cost = array.read_cost(slab).unwrap();
            // What is asked for it: indices, and the lengths of objects that are chunks, without a byte of them.
            assert_eq!(server.sent() as u64, cost.index_bytes, "{path} {slab:?}");
            drop(array);
            let array = open();
            let plan = Plan::new(array.variable(), slab, Access::Read).unwrap();
            plan.read(array.store(), &mut vec![0; plan.selected_bytes()]).unwrap();
            let found = (server.log().len() as u64, server.sent() as u64);
            assert_eq!((cost.requests, cost.bytes), found, "{path} {slab:?}");
            // The indices are known now.
            let again = array.read_cost(slab).unwrap();
            assert_eq!(again.requests, cost.requests - cost.index_requests, "{path} {slab:?}");
        }
    }
}

#[test]
fn what_is_not_there_is_absent() {
    let _alone = alone();
    let server = server();
    server.remove("a.zarr/c/0/0");
    let mut expected = values();
    (0..8).for_each(|row| expected[64 * row..][..8].fill(0));
    assert_eq!(read(&server, "a.zarr").unwrap(), expected);
    let error = open(&server, "no.zarr").err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::NotFound(_)), "{error}");
    assert!(error.about().starts_with(&server.url("no.zarr")));
    // A server that says something else has not said that.
    for status in [400, 401, 403, 410, 500] {
        server.fail_always("a.zarr/c/1/1", Fault::Status(status, ""));
        if status == 500 {
            continue;
        }
        let error = read(&server, "a.zarr").unwrap_err();
        let words = error.to_string();
        assert!(words.contains("c/1/1") && words.contains(&status.to_string()), "{words}");
        let is_refused = [401, 403].contains(&status);
        assert_eq!(error.kind() == ErrorKind::Refused, is_refused, "{error}");
    }
}

/// Each fault once, for the metadata and for a chunk: all is read in the end.
#[test]
fn faults_that_pass_are_not_noticed() {
    let _alone = alone();
    for fault in [
        Fault::Closed,
        Fault::BrokenOff,
        Fault::Short,
        Fault::OtherRange,
        Fault::Status(429, "Retry-After: 1\r\n"),
        Fault::Status(503, "Retry-After: 1\r\n"),
        Fault::Status(500, ""),
    ] {
        let server = server();
        for path in ["a.zarr", "s.zarr"] {
            for object in ["zarr.json", "c/0/0", "c/1/1"] {
                server.fail(&format!("{path}/{object}"), &[fault.clone(), fault.clone()]);
            }
            assert_eq!(read(&server, path).map_err(|error| format!("{fault:?}: {error}")), Ok(values()));
            assert_eq!(server.requests_in_flight(), 0);
        }
    }
}

/// Each fault always: the error names the object and says what has happened, and it comes in time.
#[test]
fn faults_that_stay_are_errors() {
    let _alone = alone();
    let _seconds = Seconds::new("4");
    for (fault, cause) in [
        (Fault::Closed, "the request to the server failed"),
        (Fault::BrokenOff, "cut off"),
        (Fault::Short, "a number of bytes other than announced"),
        (Fault::Status(503, "Retry-After: 1\r\n"), "503"),
        (Fault::Status(429, ""), "429"),
        (Fault::Silent, "timed out"),
    ] {
        let server = server();
        server.fail_always("a.zarr/c/3/4", fault.clone());
        let array = open(&server, "a.zarr").unwrap();
        let begin = Instant::now();
        let error = array.read::<i32>(&Hyperslab::all()).unwrap_err().to_string();
        assert!(begin.elapsed() < Duration::from_secs(6), "{fault:?}: {:?}", begin.elapsed());
        // The time may be over before the last attempt is.
        let is_named = error.contains(cause) || error.contains("did not respond in time");
        assert!(error.contains("c/3/4") && is_named, "{fault:?}: {error}");
        drop(array);
        assert_eq!(threads_left(), 0, "{fault:?}");
    }
}

/// A wrong answer to a request for a range is not taken for the right one.
#[test]
fn another_range_is_not_taken() {
    let _alone = alone();
    let server = server();
    for path in ["a.zarr/c/3/4", "s.zarr/c/0/0"] {
        server.fail_always(path, Fault::OtherRange);
    }
    for path in ["a.zarr", "s.zarr"] {
        match read(&server, path) {
            Ok(found) => assert_eq!(found, values(), "{path}"),
            Err(error) => assert!(error.to_string().contains("c/"), "{error}"),
        }
    }
}

#[test]
fn redirects_are_followed() {
    let _alone = alone();
    let server = server();
    server.fail("a.zarr/zarr.json", &[Fault::Status(302, "Location: /s.zarr/zarr.json\r\n")]);
    let array = open(&server, "a.zarr").unwrap();
    assert_eq!(array.variable().dimensions()[0].chunklen(), 4);
    server.fail_always("a.zarr/zarr.json", Fault::Status(302, "Location: /a.zarr/zarr.json\r\n"));
    let error = open(&server, "a.zarr").err().unwrap().to_string();
    assert!(error.contains("redirect"), "{error}");
}

/// A shard that is replaced between its index and its chunks is read as it is then.
#[test]
fn an_object_that_changes_is_read_in_one_version() {
    let _alone = alone();
    let server = server();
    let place = Storage::new(Memory::new()).unwrap();
    let others: Vec<i32> = (0..32 * 32).map(|i| -i).collect();
    let description =
        Description::new(&[32, 32], ElementType::Int).with_chunk_shape(&[4, 4]).with_shard_shape(&[32, 32]);
    Array::create_in(&place, "", &description).unwrap().write(&Hyperslab::all(), &others).unwrap();
    let shard = read_whole(&*place, "c/0/0", 1 << 20).unwrap().unwrap();
    server.fail("s.zarr/c/0/0", &[Fault::ThenChanged(shard)]);
    let found = open(&server, "s.zarr").unwrap().read::<i32>(&Hyperslab::new(&[0, 0], &[24, 32])).unwrap();
    assert_eq!(found, others[..24 * 32]);
}

#[test]
fn servers_without_ranges_or_versions_do() {
    let _alone = alone();
    let server = server();
    server.set_no_ranges();
    for path in ["a.zarr", "s.zarr"] {
        assert_eq!(read(&server, path).unwrap(), values());
    }
    let server = self::server();
    server.set_weak_etags();
    for path in ["a.zarr", "s.zarr"] {
        assert_eq!(read(&server, path).unwrap(), values());
    }
}

/// How long a shard is, is not known before it is read. Of one that has less than it might have, no more is sent than
/// there is, also by a server that refuses a range which is longer than the object.
#[test]
fn a_sparse_shard_is_read_at_once() {
    let _alone = alone();
    let server = Server::new();
    let place = Storage::new(Memory::new()).unwrap();
    let description = Description::new(&[64, 64], ElementType::Int).with_chunk_shape(&[8, 8]).with_codecs(&[]);
    let array = Array::create_in(&place, "", &description.with_shard_shape(&[32, 32])).unwrap();
    array.write(&Hyperslab::new(&[0, 0], &[8, 64]), &(1..=512).collect::<Vec<i32>>()).unwrap();
    publish(&server, &place, "", "sparse.zarr");
    for refuses in [false, true] {
        if refuses {
            server.refuse_long_suffixes();
        }
        let array = open(&server, "sparse.zarr").unwrap();
        server.log();
        server.sent();
        let found = array.read::<i32>(&Hyperslab::all()).unwrap();
        assert!(found[..512].iter().copied().eq(1..=512) && found[512..].iter().all(|value| *value == 0));
        // Two shards of 4 x 4 chunks with the first 4, and two that are not there.
        let shard = 4 * 256 + 16 * 16 + 4;
        assert_eq!((server.log().len(), server.sent()), (if refuses { 2 * 3 + 2 } else { 4 }, 2 * shard));
    }
}

#[test]
fn a_file_is_read_by_ranges() {
    let _alone = alone();
    let server = Server::new();
    let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/data/coads_sst.nc")).unwrap();
    server.put("data/sst.nc", &bytes);
    let local = Array::open(concat!(env!("CARGO_MANIFEST_DIR"), "/data/coads_sst.nc"), "SST", Access::Read).unwrap();
    // To a server `If-Match` is not true of any weak ETag.
    for is_weak in [false, true] {
        if is_weak {
            server.set_weak_etags();
        }
        for fragment in ["", "#mode=bytes", "#bytes"] {
            let array = Array::open(server.url(&format!("data/sst.nc{fragment}")), "SST", Access::Read).unwrap();
            let all = Hyperslab::all();
            let bits =
                |array: &Array| array.read::<f32>(&all).unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>();
            assert_eq!(bits(&array), bits(&local));
        }
        // Another file of that name is not the one that was opened.
        let array = Array::open(server.url("data/sst.nc"), "SST", Access::Read).unwrap();
        server.put("data/sst.nc", &bytes);
        let error = array.read::<f32>(&Hyperslab::all()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
        // Nor if it is one of joined files.
        server.put("data/more.nc", &bytes);
        let joined = concat(&[server.url("data/sst.nc"), server.url("data/more.nc")], "TIME").unwrap();
        let array = Array::open_in(&joined, "SST", Access::Read).unwrap();
        server.put("data/more.nc", &bytes);
        let read = array.read::<f32>(&Hyperslab::all());
        assert_eq!(read.err().map(|error| error.kind()), Some(ErrorKind::Changed));
        let (start, mut count) = ([0; 3], [0, 1, 1]);
        count[0] = local.variable().dimensions()[0].len();
        assert!(array.read::<f32>(&Hyperslab::new(&start, &count)).is_ok());
    }
    // What is no file there is a group or an array, and says that it is not.
    assert!(Array::open(server.url("data"), "SST", Access::Read).is_err());
    let error = open_storage(server.url("data/sst.grib#mode=bytes").as_ref()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound("file"));
}

/// HTTP has no request for what there is: consolidated metadata tell, or nothing does.
#[test]
fn groups_are_listed_by_consolidated_metadata() {
    let _alone = alone();
    let server = Server::new();
    let place = Storage::new(Memory::new()).unwrap();
    let description = Description::new(&[3], ElementType::Int).with_format(ArrayFormat::ZarrV2);
    Array::create_in(&place, "g/x", &description).unwrap().write(&Hyperslab::all(), &[1i32, 2, 3]).unwrap();
    publish(&server, &place, "", "two%20words.zarr");
    let group = open_storage(server.url("two%20words.zarr").as_ref()).unwrap();
    let error = list(&group, "g", true).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
    let array = read_whole(&*place, "g/x/.zarray", 1000).unwrap().unwrap();
    let array = String::from_utf8(array).unwrap();
    let text = format!(
        r#"{{"zarr_consolidated_format":1,"metadata":{{".zgroup":{{"zarr_format":2}},"g/.zgroup":{{"zarr_format":2}},
        "g/x/.zarray":{array}}}}}"#
    );
    server.put("two%20words.zarr/.zmetadata", text.as_bytes());
    let names: Vec<_> = list(&group, "", true).unwrap().iter().map(|node| node.name().to_owned()).collect();
    assert_eq!(names, ["", "g", "g/x"]);
    assert_eq!(Array::open_in(&group, "g/x", Access::Read).unwrap().read::<i32>(&Hyperslab::all()).unwrap(), [1, 2, 3]);
}

#[test]
fn http_is_only_read() {
    let _alone = alone();
    let server = server();
    let error = Array::open(server.url("a.zarr"), "", Access::Write).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
    let error = Array::create(server.url("new.zarr"), "", &Description::new(&[4], ElementType::Int)).err().unwrap();
    assert!(error.to_string().contains("HTTP is read-only"), "{error}");
}

/// The thread that asks is started for the first storage, and has ended with the last.
#[test]
#[cfg(target_os = "linux")]
fn no_thread_is_left() {
    let _alone = alone();
    let server = server();
    assert_eq!(threads_left(), 0);
    let first = open(&server, "a.zarr").unwrap();
    assert_eq!(threads(), 1);
    let second = Array::open(format!("http://localhost:{}/s.zarr", server.address.port()), "", Access::Read).unwrap();
    assert_eq!(second.read::<i32>(&Hyperslab::all()).unwrap(), values());
    drop(first);
    assert!(threads() >= 1);
    drop(second);
    assert_eq!(threads_left(), 0);
    assert_eq!(read(&server, "a.zarr").unwrap(), values());
    assert_eq!(threads_left(), 0);
}

/// A program that opens no URL has no other threads than before, and one whose URL cannot be opened has none either.
#[test]
#[cfg(target_os = "linux")]
fn no_thread_is_started_before_a_url_is_opened() {
    // All threads are counted, in a process of its own: elsewhere the harness begins those of other tests meanwhile.
    if std::env::var_os("NCZCHUNK_TEST_ALONE").is_none() {
        let mut own = std::process::Command::new(std::env::current_exe().unwrap());
        own.args(["--exact", "no_thread_is_started_before_a_url_is_opened"]).env("NCZCHUNK_TEST_ALONE", "1");
        let output = own.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains(" 1 passed;"), "{said}");
        return;
    }
    let all = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = all();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/coads_sst.zarr");
    let array = Array::open(path, "", Access::Read).unwrap();
    array.read::<f32>(&Hyperslab::all()).unwrap();
    assert!(open_storage("s3://bucket/a#mode=what".as_ref()).is_err());
    assert_eq!((threads(), all()), (0, before));
    let _seconds = Seconds::new("1");
    assert!(Array::open("http://127.0.0.1:1/a.nc", "x", Access::Read).is_err());
    assert_eq!(threads_left(), 0);
}

/// What a transfer does not need any more is cancelled: its requests do not go on without it.
#[test]
fn a_transfer_that_ends_early_cancels_its_requests() {
    let _alone = alone();
    let server = server();
    for i in 1..64 {
        server.fail_always(&format!("a.zarr/c/{}/{}", i / 8, i % 8), Fault::Silent);
    }
    server.fail("a.zarr/c/0/0", &[Fault::Status(403, "")]);
    let array = open(&server, "a.zarr").unwrap();
    let begin = Instant::now();
    let error = array.read::<i32>(&Hyperslab::all()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    nothing_is_left(&server);
    // The program ends the call, too, once one chunk has come.
    let stop = |at: Progress| if at.chunks_done == 0 { 0 } else { 125 };
    let plan = Plan::new(array.variable(), &Hyperslab::all(), Access::Read).unwrap();
    let mut out = vec![0; plan.selected_bytes()];
    let options = Options::default().with_progress(&stop).with_bytes_in_flight(4096);
    let error = plan.read_chunks(array.store(), 0..plan.num_chunks(), &mut out, options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stopped(125));
    assert!(server.log().len() > 8);
    nothing_is_left(&server);
}

/// The server learns soon that its answers are not needed any more.
fn nothing_is_left(server: &Server) {
    let patience = Instant::now() + Duration::from_secs(5);
    while server.requests_in_flight() > 0 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(server.requests_in_flight(), 0);
}

/// A child does not wait for the thread that only its parent has.
#[test]
#[cfg(unix)]
fn a_forked_child_is_refused() {
    let _alone = alone();
    let server = server();
    let array = open(&server, "a.zarr").unwrap();
    // SAFETY: the child only reads, allocates, as it may with glibc, and ends.
    match unsafe { libc::fork() } {
        0 => {
            let words = |error: nczchunk::Error| error.to_string().contains("a forked process");
            let is_refused = array.read::<i32>(&Hyperslab::all()).is_err_and(words)
                && Array::open(server.url("a.zarr"), "", Access::Read).err().is_some_and(words);
            drop(array);
            // SAFETY: nothing of the parent's is run at the end.
            unsafe { libc::_exit(if is_refused { 0 } else { 1 }) }
        }
        child => {
            let mut status = -1;
            let patience = Instant::now() + Duration::from_secs(20);
            // SAFETY: the status is a place for one.
            while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
                if Instant::now() > patience {
                    // SAFETY: the child is ours.
                    unsafe { libc::kill(child, libc::SIGKILL) };
                    panic!("the child hangs");
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            assert_eq!(status, 0);
        }
    }
    assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), values());
}

#[test]
fn what_the_environment_says_is_checked() {
    let _alone = alone();
    for value in ["", "0", "-1", "x", "NaN", "1e9"] {
        let _seconds = Seconds::new(value);
        let error = open_storage("http://127.0.0.1:1/a.zarr".as_ref()).err().unwrap().to_string();
        assert!(error.contains("NCZCHUNK_NETWORK_TIMEOUT must be a number"), "{error}");
    }
    // SAFETY: no other thread of the tests reads or writes the environment meanwhile.
    unsafe { std::env::set_var("NCZCHUNK_NETWORK_GAP", "64k") };
    let error = open_storage("http://127.0.0.1:1/a.zarr".as_ref()).err().unwrap().to_string();
    // SAFETY: as above.
    unsafe { std::env::remove_var("NCZCHUNK_NETWORK_GAP") };
    assert!(error.contains("NCZCHUNK_NETWORK_GAP must be a number of bytes"), "{error}");
    let _seconds = Seconds::new("1.5");
    // Nobody listens there.
    let error = Array::open("http://127.0.0.1:1/a.zarr", "", Access::Read).err().unwrap();
    assert!(error.to_string().contains("http://127.0.0.1:1/a.zarr"), "{error}");
    assert_eq!(error.status(), libc::EIO);
    // What is asked for cannot be, and so nobody is asked.
    let error = Array::open("http://127.0.0.1:1/%ff.zarr", "", Access::Read).err().unwrap();
    assert_eq!(error.status(), status::EINVAL, "{error}");
    assert!(error.to_string().contains("the URL is malformed: "), "{error}");
}
