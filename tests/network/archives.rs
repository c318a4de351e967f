//! Zip files at URLs, and references to objects at URLs.

use nczchunk::object::{ObjectStore, ZipWriter};

use super::*;

/// The bytes of a zip file of an array, whose names begin with this.
fn zipped(place: &Storage, prefix: &str) -> Vec<u8> {
    let path = std::env::temp_dir().join(format!("nczchunk-network-{}.zip", std::process::id()));
    let zip = ZipWriter::create(&path).unwrap();
    copy(place, "", &zip, prefix);
    zip.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    bytes
}

fn copy(place: &Storage, below: &str, to: &ZipWriter, prefix: &str) {
    let one = &mut |name: &str, entry| {
        let name = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
        match entry {
            Entry::Object => {
                let bytes = read_whole(&**place, &name, 1 << 24)?.unwrap();
                to.write(&format!("{prefix}{name}"), &bytes)?;
            }
            Entry::Prefix => copy(place, &name, to, prefix),
        }
        Ok(())
    };
    place.list(below, one).unwrap();
}

#[test]
fn a_zip_file_is_read_by_ranges() {
    let _alone = alone();
    let server = Server::new();
    for (shards, prefix) in [(false, ""), (true, ""), (false, "top/")] {
        let chunks = if shards { [4, 4] } else { [8, 8] };
        let mut description = Description::new(&SHAPE, ElementType::Int).with_chunk_shape(&chunks);
        if shards {
            description = description.with_shard_shape(&[32, 32]);
        }
        let place = Storage::new(Memory::new()).unwrap();
        Array::create_in(&place, "", &description).unwrap().write(&Hyperslab::all(), &values()).unwrap();
        let bytes = zipped(&place, prefix);
        server.put("a.zip", &bytes);
        server.put("b", &bytes);
        for url in ["a.zip", "a.zip#mode=zarr,zip", "b#mode=zip", "b"] {
            server.log();
            let array = open(&server, url).unwrap();
            // The end of the file, and the metadata; of a name that says nothing, the beginning before.
            assert_eq!(server.log().len(), if url == "b" { 3 } else { 2 }, "{url}");
            assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), values(), "{url}");
            // An entry takes one request, with its header, and so does a shard of which all is needed.
            let log = server.log();
            assert_eq!(log.len(), if shards { 4 } else { 64 }, "{url}: {log:?}");
            assert!(log.iter().all(|(_, range)| range.is_some()));
            assert_eq!(array.read::<i32>(&Hyperslab::new(&[9, 9], &[1, 2])).unwrap(), values()[9 * 64 + 9..][..2]);
        }
    }
    server.set_latency(Duration::from_millis(50));
    let array = open(&server, "a.zip").unwrap();
    assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), values());
    let most = server.most();
    assert!(most >= 32, "{most}");
    drop(array);
    assert_eq!(threads_left(), 0);
}

/// What the file is, then its header and all that the metadata of a small file have.
#[test]
fn a_netcdf_file_is_opened_by_two_requests() {
    let _alone = alone();
    let server = Server::new();
    for (file, name) in [("data/coads_sst.nc", "SST"), ("tests/vectors/short_variables.nc", "numbers")] {
        server.put("a.nc", &std::fs::read(format!("{}/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap());
        server.log();
        Array::open(server.url("a.nc"), name, Access::Read).unwrap();
        let log = server.log();
        assert_eq!(log.len(), 2, "{file}: {log:?}");
    }
}

#[test]
fn deflated_entries_are_read_and_faults_are_named() {
    let _alone = alone();
    let _seconds = Seconds::new("4");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/deflated.zip");
    let bytes = std::fs::read(path).unwrap();
    let server = Server::new();
    server.put("d.zip", &bytes);
    let local = Array::open(path, "v", Access::Read).unwrap();
    let read = |array: &Array| {
        let mut out = vec![0u8; Plan::new(array.variable(), &Hyperslab::all(), Access::Read).unwrap().selected_bytes()];
        let plan = Plan::new(array.variable(), &Hyperslab::all(), Access::Read).unwrap();
        plan.read(array.store(), &mut out).map(|()| out)
    };
    let array = Array::open(server.url("d.zip"), "v", Access::Read).unwrap();
    assert_eq!(read(&array).unwrap(), read(&local).unwrap());
    // Faults that pass are not noticed; one that stays names the entry.
    server.fail("d.zip", &[Fault::BrokenOff, Fault::Short, Fault::Closed]);
    let array = Array::open(server.url("d.zip"), "v", Access::Read).unwrap();
    server.fail("d.zip", &[Fault::BrokenOff, Fault::Short, Fault::Closed]);
    assert_eq!(read(&array).unwrap(), read(&local).unwrap());
    let array = Array::open(server.url("d.zip"), "v", Access::Read).unwrap();
    server.fail_always("d.zip", Fault::Status(403, ""));
    let error = read(&array).unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains("v/0.0")), (ErrorKind::Refused, true), "{error}");
    drop(array);
    let server = Server::new();
    server.put("d.zip", &bytes);
    // A byte of the first chunk's data is another one: the checksum tells.
    let at = bytes.windows(5).rposition(|name| name == b"v/0.0").unwrap();
    let data = bytes.windows(5).position(|name| name == b"v/0.0").unwrap() + 5;
    assert!(data < at);
    let mut wrong = bytes.clone();
    wrong[data + 4] ^= 1;
    server.put("wrong.zip", &wrong);
    let error = read(&Array::open(server.url("wrong.zip"), "v", Access::Read).unwrap()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Corrupt { .. }) && error.to_string().contains("v/0.0"), "{error}");
    // Another file of that name is not read as this one.
    let array = Array::open(server.url("d.zip"), "v", Access::Read).unwrap();
    server.put("d.zip", &bytes);
    assert_eq!(read(&array).unwrap_err().kind(), ErrorKind::Changed);
    server.put("short.zip", &bytes[..100]);
    for name in ["no.zip", "short.zip"] {
        let error = Array::open(server.url(name), "", Access::Read).err().unwrap();
        assert!(matches!(error.kind(), ErrorKind::NotFound(_)), "{error}");
    }
}

/// What references lead to is read in flight, in whatever stores it is.
#[test]
fn references_to_urls_are_read_in_flight() {
    let _alone = alone();
    let _seconds = Seconds::new("20");
    let (server, other) = (server(), Server::new());
    let place = Storage::new(Memory::new()).unwrap();
    let description = Description::new(&SHAPE, ElementType::Int)
        .with_format(ArrayFormat::ZarrV2)
        .with_chunk_shape(&[8, 8])
        .with_codecs(&[]);
    Array::create_in(&place, "v", &description).unwrap().write(&Hyperslab::all(), &values()).unwrap();
    publish(&server, &place, "", "z.zarr");
    publish(&other, &place, "", "z.zarr");
    // Half of the chunks are on another server, one is in the text, and one in a local file.
    let directory = std::env::temp_dir().join(format!("nczchunk-references-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("local"), read_whole(&*place, "v/1.1", 1000).unwrap().unwrap()).unwrap();
    let metadata = String::from_utf8(read_whole(&*place, "v/.zarray", 4000).unwrap().unwrap()).unwrap();
    let mut refs = serde_json::Map::new();
    refs.insert("v/.zarray".into(), metadata.into());
    refs.insert(".zgroup".into(), r#"{"zarr_format":2}"#.into());
    for i in 0..8 {
        for j in 0..8 {
            let name = format!("v/{i}.{j}");
            let from = if j % 2 == 0 { &server } else { &other };
            let url = from.url(&format!("z.zarr/{name}"));
            let reference = match (i, j) {
                (1, 1) => serde_json::json!(["local"]),
                (_, 0..4) => serde_json::json!([url]),
                _ => serde_json::json!([url, 0, 256]),
            };
            refs.insert(name, reference);
        }
    }
    let path = directory.join("refs.json");
    std::fs::write(&path, serde_json::to_string(&refs).unwrap()).unwrap();
    let open = || Array::open(&path, "v", Access::Read).unwrap();
    for server in [&server, &other] {
        server.set_latency(Duration::from_millis(50));
    }
    let array = open();
    assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), values());
    assert_eq!((server.log().len(), other.log().len()), (32, 31));
    let most = (server.most(), other.most());
    assert!(most.0 >= 16 && most.1 >= 16, "{most:?}");
    // One chunk.
    let slab = Hyperslab::new(&[3, 33], &[1, 2]);
    assert_eq!(open().read::<i32>(&slab).unwrap(), values()[3 * 64 + 33..][..2]);
    let log: Vec<_> = server.log().into_iter().chain(other.log()).map(|(_, range)| range).collect();
    assert_eq!(log, [Some((0, 255))]);
    // Threads share the storage.
    for server in [&server, &other] {
        server.set_latency(Duration::from_millis(1));
    }
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(open().read::<i32>(&Hyperslab::all()).unwrap(), values()));
            scope.spawn(|| assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), values()));
        }
    });
    // What is not there, or shorter, is no absent chunk; what is refused says so.
    let failed = || open().read::<i32>(&Hyperslab::all()).unwrap_err();
    server.remove("z.zarr/v/2.2");
    let error = failed();
    assert_eq!(error.kind(), ErrorKind::NotFound("file that a reference leads to"), "{error}");
    assert!(error.to_string().contains("z.zarr/v/2.2"), "{error}");
    server.put("z.zarr/v/2.2", &[0; 256]);
    server.put("z.zarr/v/3.4", &[0; 100]);
    assert_eq!(failed().kind(), ErrorKind::Truncated);
    server.fail_always("z.zarr/v/1.0", Fault::Status(403, ""));
    assert_eq!(failed().kind(), ErrorKind::Refused);
    // What was cancelled the server learns when it answers.
    let patience = Instant::now() + Duration::from_secs(5);
    let in_flight = || server.requests_in_flight() + other.requests_in_flight();
    while in_flight() > 0 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(in_flight(), 0);
    drop(array);
    assert_eq!(threads_left(), 0);
    std::fs::remove_dir_all(&directory).unwrap();
}
