//! Object stores, written and read in the dialects of S3, Google and Azure. The server is this test's own: see
//! `store.rs`. `scripts/test-network` asks moto the same, and has Azure's own client for Python use this server.

use std::io::Read;

use nczchunk::create_storage;

use super::*;

/// Variables of the environment, as long as this lives.
pub(super) struct Variables(Vec<&'static str>);

impl Variables {
    pub(super) fn new(variables: &[(&'static str, &str)]) -> Self {
        for (name, value) in variables {
            // SAFETY: the tests run one at a time, and no other thread reads or writes the environment meanwhile.
            unsafe { std::env::set_var(name, value) };
        }
        Variables(variables.iter().map(|(name, _)| *name).collect())
    }

    /// Those with which a server is the store of a scheme.
    pub(super) fn of(scheme: &str, server: &Server) -> Self {
        let address = server.url("");
        let address = address.trim_end_matches('/');
        let google = format!(
            r#"{{"gcs_base_url": "{address}", "disable_oauth": true, "client_email": "", "private_key": "",
            "private_key_id": ""}}"#
        );
        match scheme {
            "s3" => Variables::new(&[
                ("AWS_ENDPOINT_URL", address),
                ("AWS_ALLOW_HTTP", "true"),
                ("AWS_REGION", "us-east-1"),
                ("AWS_ACCESS_KEY_ID", "key"),
                ("AWS_SECRET_ACCESS_KEY", "secret"),
            ]),
            "gs" => Variables::new(&[("GOOGLE_SERVICE_ACCOUNT_KEY", &google), ("GOOGLE_ALLOW_HTTP", "true")]),
            _ => Variables::new(&[("AZURE_STORAGE_USE_EMULATOR", "true"), ("AZURITE_BLOB_STORAGE_URL", address)]),
        }
    }
}

impl Drop for Variables {
    fn drop(&mut self) {
        // SAFETY: as above.
        self.0.iter().for_each(|name| unsafe { std::env::remove_var(name) });
    }
}

/// Serves other programs until the input ends, and tells them the address.
#[test]
#[ignore = "scripts/test-network starts it"]
fn serve_others() {
    let server = Server::new();
    println!("\n{}", server.url(""));
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

const SCHEMES: [&str; 3] = ["s3", "gs", "az"];

#[test]
fn arrays_are_written_and_read_in_every_store() {
    let _alone = alone();
    for scheme in SCHEMES {
        let server = Server::new();
        let _variables = Variables::of(scheme, &server);
        let url = format!("{scheme}://ocean/group.zarr");
        for (name, shards) in [("plain", None), ("sharded", Some([32, 32]))] {
            let mut description = Description::new(&SHAPE, ElementType::Int).with_chunk_shape(&[8, 8]);
            if let Some(shards) = &shards {
                description = description.with_shard_shape(shards);
            }
            let mut array = Array::create(&url, name, &description).unwrap();
            array.write(&Hyperslab::all(), &values()).unwrap();
            array.set_attribute("units", "K").unwrap();
            let error = Array::create(&url, name, &description).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::NotOverwritten, "{scheme}: {error}");
        }
        let group = open_storage(url.as_ref()).unwrap();
        let names: Vec<_> = list(&group, "", true).unwrap().iter().map(|node| node.name().to_owned()).collect();
        assert_eq!(names, ["", "plain", "sharded"], "{scheme}");
        for name in ["plain", "sharded"] {
            let mut array = Array::open(&url, name, Access::Write).unwrap();
            assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), values(), "{scheme}");
            let slab = Hyperslab::new(&[3, 5], &[7, 50]).with_stride(&[5, 1]);
            let expected = |row: usize, column: usize| values()[(3 + 5 * row) * 64 + 5 + column];
            let found = array.read::<i32>(&slab).unwrap();
            assert!((0..7).all(|row| (0..50).all(|column| found[50 * row + column] == expected(row, column))));
            // What is changed in part is read, changed and written; what is cut off is removed.
            array.write(&Hyperslab::new(&[1, 1], &[1, 2]), &[-1, -2]).unwrap();
            assert_eq!(array.read::<i32>(&Hyperslab::new(&[1, 0], &[1, 3])).unwrap()[1..], [-1, -2]);
            let before = server.names().len();
            array.resize(&[32, 64]).unwrap();
            assert!(server.names().len() < before, "{scheme}");
        }
        drop(group);
        assert_eq!((threads_left(), server.requests_in_flight()), (0, 0));
    }
}

/// Of two handles that change the same metadata one is told, and nothing of the other's is lost.
#[test]
fn a_writer_is_told_of_another_one() {
    let _alone = alone();
    for scheme in SCHEMES {
        let server = Server::new();
        let _variables = Variables::of(scheme, &server);
        let url = format!("{scheme}://ocean/a.zarr");
        let mut one = Array::create(&url, "", &Description::new(&[8], ElementType::Int)).unwrap();
        let mut other = Array::open(&url, "", Access::Write).unwrap();
        let path = if scheme == "az" { "devstoreaccount1/ocean/a.zarr" } else { "ocean/a.zarr" };
        let object = format!("{path}/zarr.json");
        let before = server.bytes(&object);
        one.set_attribute("one", "1").unwrap();
        // The other one changes it after it was read, and after it was compared: only the store knows of that.
        for fine in 0..2 {
            let mut faults = vec![Fault::None; fine];
            faults.push(Fault::ThenChanged(before.clone()));
            server.fail(&object, &faults);
            let error = other.set_attribute("other", "2").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{scheme}: {error}");
            assert_eq!(server.bytes(&object), before, "{scheme}");
            one.set_attribute("one", "1").unwrap();
        }
        other.set_attribute("other", "2").unwrap();
        let last = Array::open(&url, "", Access::Read).unwrap();
        assert!(last.attributes_json().contains("one") && last.attributes_json().contains("other"));
        // Who creates it at the same time: the object is there when the request arrives, not when it was looked for.
        let names = || server.names().len();
        let before = names();
        std::thread::scope(|scope| {
            let create =
                || Array::create(format!("{scheme}://ocean/b.zarr"), "", &Description::new(&[8], ElementType::Int));
            let racers: Vec<_> = (0..4).map(|_| scope.spawn(create)).collect();
            let ends: Vec<_> = racers.into_iter().map(|racer| racer.join().unwrap()).collect();
            assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 1, "{scheme}");
            let is_told = |kind| matches!(kind, ErrorKind::Conflict | ErrorKind::NotOverwritten);
            assert!(ends.iter().flat_map(|end| end.as_ref().err()).all(|error| is_told(error.kind())), "{scheme}");
        });
        assert_eq!(names(), before + 1);
    }
}

/// A large object goes in parts, of which nothing is seen before the last has arrived, nor if one of them fails.
#[test]
fn large_objects_are_written_in_parts() {
    let _alone = alone();
    let _seconds = Seconds::new("60");
    let bytes: Vec<u8> = (0..(66usize << 20) / 4).flat_map(|i| (i as u32).to_le_bytes()).collect();
    for scheme in SCHEMES {
        let server = Server::new();
        let _variables = Variables::of(scheme, &server);
        let storage = create_storage(format!("{scheme}://ocean/large").as_ref()).unwrap();
        storage.write("x", &bytes).unwrap();
        assert!(read_whole(&*storage, "x", 1 << 30).unwrap().unwrap() == bytes, "{scheme}");
        let parts = server.log().iter().filter(|(_, range)| range.is_none()).count();
        assert!(parts >= 5, "{scheme}: {parts}");
        assert_eq!(server.uploads(), 0, "{scheme}");
        storage.remove("x").unwrap();
        storage.remove("x").unwrap();
        assert_eq!(server.names(), [""; 0], "{scheme}");
        let path = if scheme == "az" { "devstoreaccount1/ocean/large/x" } else { "ocean/large/x" };
        server.fail_always(path, Fault::Status(403, ""));
        let error = storage.write("x", &bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{scheme}: {error}");
        assert_eq!(server.names(), [""; 0], "{scheme}");
    }
}

/// What a store answers to a part is repeated at the upload's end, whatever it is.
#[test]
fn parts_may_have_weak_etags() {
    let _alone = alone();
    let bytes = vec![7; 66 << 20];
    for scheme in SCHEMES {
        let server = Server::new();
        server.set_weak_etags();
        let _variables = Variables::of(scheme, &server);
        let storage = create_storage(format!("{scheme}://ocean/large").as_ref()).unwrap();
        storage.write("x", &bytes).map_err(|error| format!("{scheme}: {error}")).unwrap();
        assert!(read_whole(&*storage, "x", 1 << 30).unwrap().unwrap() == bytes, "{scheme}");
    }
}

/// While an object is sent the server says nothing: a slow connection is not taken for one that is lost.
#[test]
fn an_object_that_takes_long_to_send_is_sent_once() {
    let _alone = alone();
    // A server may be silent for a quarter of it.
    let _seconds = Seconds::new("4");
    for scheme in SCHEMES {
        let server = Server::new();
        let _variables = Variables::of(scheme, &server);
        let storage = create_storage(format!("{scheme}://ocean/slow").as_ref()).unwrap();
        server.set_latency(Duration::from_millis(1500));
        storage.write("x", &[7; 1 << 20]).unwrap();
        assert_eq!(server.log().len(), 1, "{scheme}");
    }
    // A connection that is lost is, before the time is over.
    let _seconds = Seconds::new("2");
    for scheme in SCHEMES {
        let server = Server::new();
        let _variables = Variables::of(scheme, &server);
        let storage = create_storage(format!("{scheme}://ocean/lost").as_ref()).unwrap();
        let path = if scheme == "az" { "devstoreaccount1/ocean/lost/x" } else { "ocean/lost/x" };
        server.fail(path, &[Fault::Silent]);
        storage.write("x", &[7; 300 << 10]).unwrap();
        assert_eq!(server.log().len(), 2, "{scheme}");
    }
}

/// Credentials that the server does not take any more are renewed, if the environment says where there are others.
#[test]
fn credentials_that_expire_are_renewed() {
    let _alone = alone();
    let server = server();
    let places = ["zarr.json", "c/0/0"];
    assert!(places.iter().all(|name| server.names().contains(&format!("/s.zarr/{name}"))));
    let token = std::env::temp_dir().join(format!("nczchunk-token-{}", std::process::id()));
    std::fs::write(&token, "pod").unwrap();
    let (address, credentials) = (server.url(""), server.url("credentials"));
    let common =
        [("AWS_ENDPOINT_URL", address.trim_end_matches('/')), ("AWS_ALLOW_HTTP", "true"), ("AWS_REGION", "us-east-1")];
    let _common = Variables::new(&common);
    {
        let _source = Variables::new(&[
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &credentials),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.to_str().unwrap()),
        ]);
        server.expire_credentials();
        // The bucket is `a.zarr`, the array the bucket itself.
        let array = Array::open("s3://a.zarr", "", Access::Write).unwrap();
        let asked = |server: &Server| server.log().iter().filter(|(path, _)| path == "/credentials").count();
        assert_eq!(asked(&server), 1);
        assert_eq!(array.read::<i32>(&Hyperslab::new(&[0, 0], &[8, 8])).unwrap()[..8], values()[..8]);
        assert_eq!(asked(&server), 0);
        for round in 0..3 {
            // In the middle of a read, of which 64 requests are in flight.
            server.set_latency(Duration::from_millis(5));
            std::thread::scope(|scope| {
                let read = scope.spawn(|| array.read::<i32>(&Hyperslab::all()));
                std::thread::sleep(Duration::from_millis(2 * round));
                server.expire_credentials();
                assert_eq!(read.join().unwrap().unwrap(), values());
            });
            // And before a write.
            server.expire_credentials();
            array.write(&Hyperslab::new(&[0, 0], &[1, 1]), &[values()[0]]).unwrap();
            assert!((1..=4).contains(&asked(&server)));
            // A request for a length is answered without words.
            server.expire_credentials();
            assert!(array.stored_chunk_len(&[0, 0]).unwrap().is_some());
        }
        drop(array);
    }
    // Those that do not change are refused, with the server's reason.
    let keys = [("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_SESSION_TOKEN", "token0")];
    let _keys = Variables::new(&keys);
    let error = Array::open("s3://a.zarr", "", Access::Read).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    assert!(error.to_string().contains("ExpiredToken"), "{error}");
    std::fs::remove_file(&token).unwrap();
}
