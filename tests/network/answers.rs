//! Answers that are lost, and answers that say too little: what was written is known, and what is read is of one
//! version, or it is an error.

use std::net::TcpListener;

use nczchunk::create_storage;

use super::hostile::raw;
use super::stores::Variables;
use super::*;

const SCHEMES: [&str; 3] = ["s3", "gs", "az"];

/// The path of an object of the bucket `ocean` on the server.
fn path(scheme: &str, key: &str) -> String {
    format!("{}ocean/{key}", if scheme == "az" { "devstoreaccount1/" } else { "" })
}

/// The state of an object, as a writer knows it that is going to replace it.
fn state(storage: &Storage, name: &str) -> Option<(u64, Option<u128>)> {
    storage.read_version(name, ByteRange::At(0), &mut nczchunk::Buffer::new(&mut [])).unwrap()
}

/// The store has carried out the write, and its answer is an error or is lost: the request that follows is in conflict
/// with what the first one has stored. A conflict with another writer is one all the same, even if it has written the
/// same bytes.
#[test]
fn a_write_whose_answer_is_lost_is_no_conflict_with_itself() {
    let _alone = alone();
    for scheme in SCHEMES {
        let server = Server::new();
        let _variables = Variables::of(scheme, &server);
        let storage = create_storage(format!("{scheme}://ocean/x").as_ref()).unwrap();
        let object = path(scheme, "x/a");
        for lost in [500, 503, 0] {
            storage.remove("a").unwrap();
            server.fail(&object, &[Fault::Done(lost)]);
            storage.write_over("a", None, b"first").unwrap();
            let before = state(&storage, "a");
            server.fail(&object, &[Fault::Done(lost)]);
            storage.write_over("a", before, b"second").unwrap();
            assert_eq!(server.bytes(&object), b"second", "{scheme}");
        }
        // What there is is another's.
        server.put(&object, b"second");
        server.fail(&object, &[Fault::Status(503, "")]);
        let error = storage.write_over("a", None, b"second").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{scheme}: {error}");
        // An array is created, with its attributes.
        for format in [ArrayFormat::ZarrV2, ArrayFormat::ZarrV3] {
            let name = if format == ArrayFormat::ZarrV2 { ".zarray" } else { "zarr.json" };
            server.fail(&path(scheme, &format!("{format:?}.zarr/{name}")), &[Fault::Done(500)]);
            let description = Description::new(&[8], ElementType::Int).with_format(format);
            let description = description.with_attributes_json(r#"{"by":"us"}"#);
            let url = format!("{scheme}://ocean/{format:?}.zarr");
            Array::create(&url, "", &description).map_err(|error| format!("{scheme} {format:?}: {error}")).unwrap();
            assert!(Array::open(&url, "", Access::Read).unwrap().attributes_json().contains("us"));
        }
    }
}

/// So is the request that ends an upload in parts.
#[test]
fn an_upload_whose_end_is_not_answered_has_ended() {
    let _alone = alone();
    let bytes = vec![7; 66 << 20];
    for scheme in SCHEMES {
        let server = Server::new();
        let _variables = Variables::of(scheme, &server);
        let storage = create_storage(format!("{scheme}://ocean/large").as_ref()).unwrap();
        // Azure is not told that an upload begins.
        let mut faults = vec![Fault::None; if scheme == "az" { 5 } else { 6 }];
        faults.push(Fault::Done(500));
        server.fail(&path(scheme, "large/x"), &faults);
        storage.write("x", &bytes).map_err(|error| format!("{scheme}: {error}")).unwrap();
        assert!(server.bytes(&path(scheme, "large/x")) == bytes);
        assert_eq!(server.uploads(), 0, "{scheme}");
        // One that fails leaves nothing.
        if scheme != "az" {
            server.fail(&path(scheme, "large/y"), &[Fault::None, Fault::None, Fault::Status(403, "")]);
            let error = storage.write("y", &bytes).unwrap_err();
            assert_eq!((error.kind(), server.uploads()), (ErrorKind::Refused, 0), "{scheme}: {error}");
        }
    }
}

/// ETags that other bytes have, too: weak ones, and those of files that have changed in the second in which they are
/// sent. None of the bytes of two versions are put together.
const SAME: [&str; 3] = [
    "ETag: W/\"1\"\r\nLast-Modified: Thu, 26 Nov 2026 10:00:00 GMT\r\n",
    "ETag: \"1\"\r\nLast-Modified: Thu, 26 Nov 2026 10:00:00 GMT\r\nDate: Thu, 26 Nov 2026 10:00:00 GMT\r\n",
    "ETag: \"\"\r\n",
];

#[test]
fn an_answer_goes_on_with_the_same_version_or_not_at_all() {
    let _alone = alone();
    for lines in SAME {
        let server = Server::new();
        server.send_versions(lines);
        let (old, new) = (vec![1; 256 << 10], vec![2; 256 << 10]);
        server.put("x.zarr/c", &old);
        server.fail("x.zarr/c", &[Fault::BrokenOffThenChanged(new.clone())]);
        let storage = open_storage(server.url("x.zarr").as_ref()).unwrap();
        let found = read_whole(&*storage, "c", 1 << 24).unwrap().unwrap();
        assert!(found == new, "{lines}");
    }
}

#[test]
fn an_index_is_not_that_of_another_shard_with_the_same_etag() {
    let _alone = alone();
    // Shards of the same length, with two of four chunks each.
    let shard = |first: usize| {
        let place = Storage::new(Memory::new()).unwrap();
        let description = Description::new(&[64], ElementType::Int).with_chunk_shape(&[16]).with_codecs(&[]);
        let array = Array::create_in(&place, "", &description.with_shard_shape(&[64])).unwrap();
        let values: Vec<i32> = (0..32).map(|i| (100 * first + i + 1) as i32).collect();
        array.write(&Hyperslab::new(&[16 * first], &[32]), &values).unwrap();
        place
    };
    let (old, new) = (shard(0), shard(1));
    for lines in SAME {
        let server = Server::new();
        server.send_versions(lines);
        publish(&server, &old, "", "s.zarr");
        let mut array = open(&server, "s.zarr").unwrap();
        array.set_cache(None::<&Cache>);
        let second = |array: &Array| array.read::<i32>(&Hyperslab::new(&[16], &[16])).unwrap();
        assert_eq!(second(&array), (17..33).collect::<Vec<_>>(), "{lines}");
        publish(&server, &new, "", "s.zarr");
        assert_eq!(second(&array), (101..117).collect::<Vec<_>>(), "{lines}");
        // Between the index and the chunk.
        publish(&server, &old, "", "s.zarr");
        let shard = read_whole(&*new, "c/0", 1 << 16).unwrap().unwrap();
        server.fail("s.zarr/c/0", &[Fault::ThenChanged(shard)]);
        assert_eq!(second(&array), (101..117).collect::<Vec<_>>(), "{lines}");
    }
}

/// A change is compared with what was read, which a weak ETag does not allow.
#[test]
fn what_has_no_version_is_not_changed() {
    let _alone = alone();
    let server = Server::new();
    let _variables = Variables::of("s3", &server);
    let storage = create_storage("s3://ocean/x".as_ref()).unwrap();
    storage.write("a", b"old").unwrap();
    server.send_versions(SAME[0]);
    let before = state(&storage, "a");
    assert_eq!(before, Some((3, None)));
    server.put("ocean/x/a", b"new");
    let error = storage.write_over("a", before, b"own").unwrap_err();
    assert!(error.to_string().contains("strong ETags"), "{error}");
    assert_eq!(server.bytes("ocean/x/a"), b"new");
}

/// That a server refuses a method does not say that there is no object.
#[test]
fn an_object_is_not_missing_because_the_method_is_refused() {
    let _alone = alone();
    let _seconds = Seconds::new("4");
    let server = server();
    server.fail_always("a.zarr/c/1/1", Fault::Status(405, "Allow: POST\r\n"));
    let error = read(&server, "a.zarr").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    assert!(error.to_string().contains("c/1/1") && error.to_string().contains("405"), "{error}");
    for status in [405, 501, 200] {
        let server = self::server();
        server.remove("a.zarr/c/0/1");
        server.put("a.zarr/c/0/2", b"");
        let lens = || {
            let mut lens = Vec::new();
            let array = open(&server, "a.zarr").unwrap();
            array.locate(&Hyperslab::all(), &mut |chunk| {
                lens.push(chunk.state);
                Ok(())
            })?;
            Ok::<_, nczchunk::Error>(lens)
        };
        let expected = lens().unwrap();
        assert_eq!((expected[1], expected[2]), (ChunkState::Absent, ChunkState::Stored { offset: 0, len: 0 }));
        server.refuse_heads(status);
        assert_eq!(lens().map_err(|error| format!("{status}: {error}")).unwrap(), expected);
        // Also where there are no ranges.
        server.set_no_ranges();
        assert_eq!(lens().map_err(|error| format!("{status}: {error}")).unwrap(), expected);
    }
}

/// What comes in pieces, of which the sum is not known before, is read in another way, or is an error.
#[test]
fn answers_without_a_length_are_not_guessed() {
    let _alone = alone();
    let _seconds = Seconds::new("4");
    let server = server();
    for path in ["a.zarr", "s.zarr"] {
        server.fail(&format!("{path}/c/0/0"), &[Fault::Pieces]);
        assert_eq!(read(&server, path).unwrap(), values());
    }
    server.fail_always("a.zarr/c/3/4", Fault::Pieces);
    let error = read(&server, "a.zarr").unwrap_err().to_string();
    assert!(error.contains("c/3/4"), "{error}");
}

/// Servers need not send what is stored as it is, unless they are asked to.
#[test]
fn no_encoding_of_what_is_stored_is_asked_for() {
    let _alone = alone();
    let (address, asked) = raw(|_, stream| {
        let _ = std::io::Write::write_all(stream, b"HTTP/1.1 404 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    let _ = Array::open(format!("http://{address}/a.zarr"), "", Access::Read).err().unwrap();
    let asked = asked.lock().unwrap();
    assert!(asked.iter().all(|head| head.to_lowercase().contains("\r\naccept-encoding: identity\r\n")), "{asked:?}");
}

/// S3 repeats the token that it refuses.
#[test]
fn a_session_token_is_not_repeated() {
    let _alone = alone();
    let (address, _) = raw(|_, stream| {
        let body = "<Error><Code>InvalidToken</Code><Token-0>session-token</Token-0><RequestId>1</RequestId></Error>";
        let len = body.len();
        let answer = format!("HTTP/1.1 400 X\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n{body}");
        let _ = std::io::Write::write_all(stream, answer.as_bytes());
    });
    let address = format!("http://{address}");
    let _variables = Variables::new(&[
        ("AWS_ENDPOINT_URL", address.as_str()),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", "session-token"),
    ]);
    let error = Array::open("s3://ocean/a.zarr", "", Access::Read).err().unwrap().to_string();
    assert!(error.contains("InvalidToken") && !error.contains("session-token"), "{error}");
}

/// Azure's signature is in the URL of each request, and the proxy's password in the environment.
#[test]
fn signatures_are_not_repeated() {
    let _alone = alone();
    let _seconds = Seconds::new("1");
    for answer in ["HTTP/1.1 403 X\r\nContent-Length: 5\r\n\r\nsorry", "HTTP/1.1 302 X\r\nLocation: /\r\n\r\n", ""] {
        let (address, _) = raw(move |_, stream| {
            let _ = std::io::Write::write_all(stream, answer.as_bytes());
        });
        for address in [format!("http://{address}"), "http://127.0.0.1:1".to_owned()] {
            let _variables = Variables::new(&[
                ("AZURE_STORAGE_ACCOUNT_NAME", "account"),
                ("AZURE_STORAGE_ENDPOINT", address.as_str()),
                ("AZURE_ALLOW_HTTP", "true"),
                ("AZURE_STORAGE_SAS_KEY", "sv=2020&sp=rwl&sig=hunter2"),
            ]);
            let storage = create_storage("az://ocean/x".as_ref()).unwrap();
            let list = storage.list("", &mut |_, _| Ok(())).unwrap_err();
            let read = read_whole(&*storage, "c", 10).map(drop).unwrap_err();
            let errors = [list, read, storage.write("c", b"1").unwrap_err(), storage.remove("c").unwrap_err()];
            for error in errors {
                assert!(!format!("{error} {error:?}").contains("hunter2"), "{error} {error:?}");
            }
        }
    }
}

/// Names are those of the objects, whatever their characters are to URLs and XML.
#[test]
fn names_of_all_characters_are_the_objects_own() {
    let _alone = alone();
    let names = [
        "a b",
        "a%20b",
        "a+b",
        "a%2Fb",
        "%",
        "a#b",
        "a?b=c",
        "a&b",
        "a;b",
        "a:b",
        "a=b",
        "a*~'()!@$,",
        "a[0]{1}^|`",
        "a<b>\"c\"",
        "\u{e4}\u{1f30a}",
        "a..b",
        "...",
        "-",
        "a.",
        " a ",
    ];
    for scheme in SCHEMES {
        let server = Server::new();
        let _variables = Variables::of(scheme, &server);
        let storage = create_storage(format!("{scheme}://ocean/x").as_ref()).unwrap();
        for (i, name) in names.iter().enumerate() {
            storage.write(&format!("{name}/{name}"), &[i as u8]).unwrap();
        }
        for (i, name) in names.iter().enumerate() {
            let found = read_whole(&*storage, &format!("{name}/{name}"), 10).unwrap();
            assert_eq!(found, Some(vec![i as u8]), "{scheme} {name}");
            let mut listed = Vec::new();
            storage
                .list(name, &mut |name, _| {
                    listed.push(name.to_owned());
                    Ok(())
                })
                .map_err(|error| format!("{scheme} {name}: {error}"))
                .unwrap();
            assert_eq!(listed, [*name], "{scheme}");
        }
        let mut stored: Vec<_> =
            names.iter().map(|name| format!("/{}", path(scheme, &format!("x/{name}/{name}")))).collect();
        stored.sort();
        assert_eq!(server.names(), stored, "{scheme}");
        for name in names {
            storage.remove(&format!("{name}/{name}")).unwrap();
        }
        assert_eq!(server.names(), [""; 0], "{scheme}");
        for name in ["a\tb", "a\nb", "\u{7f}"] {
            assert!(storage.write(name, b"1").is_err() && read_whole(&*storage, name, 10).is_err(), "{name:?}");
        }
    }
    let server = Server::new();
    let storage = open_storage(server.url("x.zarr").as_ref()).unwrap();
    for (i, name) in names.iter().enumerate() {
        let encoded: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
        server.put(&format!("x.zarr/{encoded}"), &[i as u8]);
        assert_eq!(read_whole(&*storage, name, 10).unwrap(), Some(vec![i as u8]), "{name}");
    }
}

#[test]
fn servers_have_addresses_of_version_6() {
    let _alone = alone();
    let Ok(listener) = TcpListener::bind("[::1]:0") else { return };
    let server = Server::of(listener);
    let place = Storage::new(Memory::new()).unwrap();
    let description = Description::new(&[4], ElementType::Int);
    Array::create_in(&place, "", &description).unwrap().write(&Hyperslab::all(), &[1, 2, 3, 4]).unwrap();
    publish(&server, &place, "", "ocean/a.zarr");
    for url in [server.url("ocean/a.zarr"), server.url("ocean/a.zarr/"), server.url("ocean/a.zarr#mode=zarr,s3")] {
        let _variables = Variables::new(&[("AWS_REGION", "us-east-1")]);
        let array = Array::open(&url, "", Access::Read).map_err(|error| error.to_string()).unwrap();
        assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), [1, 2, 3, 4]);
    }
}

/// What is asked for is behind the first 4 GiB of an object of 8 GiB, and behind what there is.
#[test]
fn objects_may_be_longer_than_4_gib() {
    let _alone = alone();
    const LEN: u64 = 8 << 30;
    let (address, _) = raw(|head, stream| {
        let range =
            head.to_lowercase().split("range: bytes=").nth(1).map(|rest| rest.lines().next().unwrap().to_owned());
        let (first, last) = match range.as_deref().and_then(|range| range.split_once('-')) {
            Some(("", last)) => (LEN - last.parse::<u64>().unwrap(), LEN - 1),
            Some((first, last)) => (first.parse().unwrap(), last.parse::<u64>().unwrap().min(LEN - 1)),
            None => (0, LEN - 1),
        };
        let answer = if first >= LEN {
            format!("HTTP/1.1 416 X\r\nContent-Range: bytes */{LEN}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        } else {
            let len = last - first + 1;
            let range = format!("Content-Range: bytes {first}-{last}/{LEN}\r\nConnection: close");
            format!("HTTP/1.1 206 X\r\nContent-Length: {len}\r\n{range}\r\n\r\n")
        };
        let answer = if head.starts_with("HEAD") {
            format!("HTTP/1.1 200 X\r\nContent-Length: {LEN}\r\nConnection: close\r\n\r\n")
        } else {
            answer
        };
        let bytes: Vec<u8> = (first..(last + 1).min(first + 4096)).map(|at| (at >> 30) as u8).collect();
        let _ = std::io::Write::write_all(stream, answer.as_bytes());
        let _ = std::io::Write::write_all(stream, &bytes);
    });
    let storage = open_storage(format!("http://{address}/x.zarr").as_ref()).unwrap();
    for (begin, expected) in [
        (ByteRange::At(5 << 30), vec![5; 16]),
        (ByteRange::At((5 << 30) - 2), [vec![4; 2], vec![5; 14]].concat()),
        (ByteRange::BeforeEnd(2 << 30), vec![6; 16]),
        (ByteRange::At(LEN - 3), vec![7; 3]),
        (ByteRange::At(LEN), vec![]),
        (ByteRange::At(u64::MAX), vec![]),
    ] {
        let mut room = [std::mem::MaybeUninit::uninit(); 16];
        let mut buffer = nczchunk::Buffer::new(&mut room);
        let found = storage.read("big", begin, &mut buffer).map_err(|error| format!("{begin:?}: {error}")).unwrap();
        assert_eq!((found, buffer.filled()), (Some(LEN), &*expected), "{begin:?}");
    }
}

/// The pauses between attempts are shorter where there is less time.
#[test]
fn however_little_time_there_is_the_cause_is_told() {
    let _alone = alone();
    for seconds in ["0.4", "0.01", "1e-9"] {
        let _seconds = Seconds::new(seconds);
        let error = Array::open("http://127.0.0.1:1/a.zarr", "", Access::Read).err().unwrap().to_string();
        assert!(!error.contains("did not answer the request"), "{seconds}: {error}");
    }
    let server = server();
    server.fail("a.zarr/zarr.json", &[Fault::Status(503, ""), Fault::Status(503, "")]);
    let _seconds = Seconds::new("0.4");
    let _ = open(&server, "a.zarr").unwrap();
}

#[test]
fn an_endpoint_is_the_url_of_a_server() {
    let _alone = alone();
    let _seconds = Seconds::new("1");
    let (s3, google) = ("AWS_ENDPOINT_URL", "GOOGLE_BASE_URL");
    for (url, name, value, is_refused) in [
        ("s3://ocean/a.zarr", s3, "http://me:hunter2@[bad", true),
        ("s3://ocean/a.zarr", "AWS_ENDPOINT_URL_S3", "localhost", true),
        ("gs://ocean/a.zarr", google, "http://me:hunter2@[bad", true),
        ("http://[bad/ocean/a.zarr#mode=zarr,s3", "AWS_REGION", "us-east-1", true),
        ("s3://ocean/a.zarr", s3, "http://me:hunter2@127.0.0.1:1", false),
        ("gs://ocean/a.zarr", google, "http://me:hunter2@127.0.0.1:1", false),
    ] {
        let _variables = Variables::new(&[("AWS_ALLOW_HTTP", "true"), ("GOOGLE_ALLOW_HTTP", "true"), (name, value)]);
        let error = Array::open(url, "", Access::Read).err().unwrap();
        assert_eq!(error.status() == status::EINVAL, is_refused, "{error}");
        assert_eq!(error.to_string().contains("is not the URL of a server"), is_refused, "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
