//! Servers that want more than they are to get: redirects, answers without an end, URLs in documents; and writers that
//! race.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use nczchunk::create_storage;

use super::stores::Variables;
use super::*;

/// The head of a request.
fn head(stream: &mut TcpStream) -> String {
    let (mut text, mut room) = (Vec::new(), [0; 4096]);
    while !text.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        match stream.read(&mut room) {
            Ok(len @ 1..) => text.extend_from_slice(&room[..len]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// A server that keeps what it was asked, and its address. It ends with the process.
pub(super) fn raw(answer: impl Fn(&str, &mut TcpStream) + Send + 'static) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = asked.clone();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let head = head(&mut stream);
            kept.lock().unwrap().push(head.clone());
            answer(&head, &mut stream);
        }
    });
    (address, asked)
}

/// One that has nothing.
fn nothing() -> (String, Arc<Mutex<Vec<String>>>) {
    raw(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    })
}

#[test]
fn object_stores_lead_nowhere_else() {
    let _alone = alone();
    let (other, asked) = nothing();
    for status in [301, 302, 303, 307] {
        let answer = format!("HTTP/1.1 {status} X\r\nLocation: http://{other}/\r\nContent-Length: 0\r\n\r\n");
        let (first, _) = raw(move |_, stream| {
            let _ = stream.write_all(answer.as_bytes());
        });
        let first = format!("http://{first}");
        let s3 = [
            ("AWS_ENDPOINT_URL", first.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_SESSION_TOKEN", "token"),
        ];
        let azure = [
            ("AZURE_STORAGE_ACCOUNT_NAME", "account"),
            ("AZURE_STORAGE_ENDPOINT", first.as_str()),
            ("AZURE_ALLOW_HTTP", "true"),
            ("AZURE_STORAGE_SAS_KEY", "sv=2020&sp=rwl&sig=secret"),
        ];
        for (url, variables) in [("s3://ocean/x", &s3[..]), ("az://ocean/x", &azure)] {
            let _variables = Variables::new(variables);
            let storage = create_storage(url.as_ref()).unwrap();
            storage.write("c", b"1").unwrap_err();
            storage.write_over("c", None, b"1").unwrap_err();
            read_whole(&*storage, "c", 10).unwrap_err();
        }
    }
    assert!(asked.lock().unwrap().is_empty(), "{asked:?}");
}

#[test]
fn the_server_of_a_url_is_the_one_that_is_asked() {
    let _alone = alone();
    let (named, other) = (Server::new(), Server::new());
    let address = format!("http://{}", other.address);
    let _variables = Variables::new(&[
        ("AWS_ENDPOINT_URL_S3", &address),
        ("AWS_ENDPOINT_URL", &address),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ]);
    let url = format!("http://{}/ocean/a.zarr#mode=zarr,s3", named.address);
    Array::create(&url, "", &Description::new(&[8], ElementType::Int)).unwrap();
    assert_eq!((named.names().len(), other.names().len()), (1, 0));
}

/// What references name gets no credentials, unless the environment names it, too.
#[test]
fn documents_do_not_choose_who_gets_credentials() {
    let _alone = alone();
    let (other, asked) = nothing();
    let directory = std::env::temp_dir().join(format!("nczchunk-documents-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let url = format!("http://{other}/ocean/x#mode=s3");
    let array = r#"{\"zarr_format\":2,\"shape\":[4],\"chunks\":[4],\"dtype\":\"<i4\",\"compressor\":null,
        \"filters\":null,\"fill_value\":0,\"order\":\"C\"}"#
        .replace('\n', "");
    let references = format!(r#"{{"version":1,"refs":{{".zarray":"{array}","0":["{url}",0,16]}}}}"#);
    let joined = format!(r#"{{"nczchunk_concat":{{"dimension":"t","paths":["{url}"]}}}}"#);
    let credentials = [
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "access"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", "session"),
    ];
    for (name, text) in [("references.json", references), ("joined.json", joined)] {
        std::fs::write(directory.join(name), text).unwrap();
        let read = || {
            let array = Array::open(directory.join(name), "", Access::Read)?;
            array.read::<i32>(&Hyperslab::all())
        };
        for is_named in [false, true] {
            let _variables = Variables::new(&credentials);
            let endpoint = format!("http://{other}/");
            let _endpoint = is_named.then(|| Variables::new(&[("AWS_ENDPOINT_URL", &endpoint)]));
            read().unwrap_err();
            let asked = std::mem::take(&mut *asked.lock().unwrap());
            assert!(!asked.is_empty(), "{name}");
            assert!(asked.iter().all(|head| head.contains("access") == is_named), "{name}: {asked:?}");
            assert!(asked.iter().all(|head| head.contains("session") == is_named), "{name}: {asked:?}");
        }
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn what_comes_with_an_error_is_read_in_part() {
    let _alone = alone();
    let sent = Arc::new(AtomicUsize::new(0));
    let (counted, part) = (sent.clone(), vec![0xe9; 1 << 20]);
    let (address, _) = raw(move |head, stream| {
        if head.starts_with("GET /a.zarr/zarr.json ") {
            let array = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int8","chunk_grid":{"name":
                "regular","configuration":{"chunk_shape":[4]}},"chunk_key_encoding":"default","fill_value":7,
                "codecs":["bytes"]}"#;
            let (len, last) = (array.len(), array.len() - 1);
            let header = format!("HTTP/1.1 206 X\r\nContent-Length: {len}\r\nContent-Range: bytes 0-{last}/{len}");
            let _ = write!(stream, "{header}\r\n\r\n{array}");
            return;
        }
        let _ = stream.write_all(b"HTTP/1.1 404 X\r\nTransfer-Encoding: chunked\r\n\r\n");
        for _ in 0..256 {
            let written = write!(stream, "{:x}\r\n", part.len()).and_then(|()| stream.write_all(&part));
            if written.and_then(|()| stream.write_all(b"\r\n")).is_err() {
                break;
            }
            counted.fetch_add(part.len(), Relaxed);
        }
    });
    // The text is no UTF-8 either, and the object is missing nevertheless.
    let array = Array::open(format!("http://{address}/a.zarr"), "", Access::Read).unwrap();
    assert_eq!(array.read::<i8>(&Hyperslab::all()).unwrap(), [7; 4]);
    drop(array);
    assert!(sent.load(Relaxed) < 64 << 20, "{sent:?}");
}

/// A server that sends the same bytes again and again, and how many it has sent.
fn endless() -> (String, Arc<AtomicUsize>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let (counted, part) = (sent.clone(), vec![b' '; 1 << 20]);
    let (address, _) = raw(move |_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n");
        for _ in 0..256 {
            let written = write!(stream, "{:x}\r\n", part.len()).and_then(|()| stream.write_all(&part));
            if written.and_then(|()| stream.write_all(b"\r\n")).is_err() {
                break;
            }
            counted.fetch_add(part.len(), Relaxed);
        }
    });
    (format!("http://{address}"), sent)
}

#[test]
fn what_is_said_of_a_removal_is_read_in_part() {
    let _alone = alone();
    let (address, sent) = endless();
    let _variables = Variables::new(&[
        ("AWS_ENDPOINT_URL", address.as_str()),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
    ]);
    let storage = create_storage("s3://ocean/x".as_ref()).unwrap();
    let error = storage.remove("c").unwrap_err();
    assert!(error.to_string().contains("without an end"), "{error}");
    drop(storage);
    assert!(sent.load(Relaxed) < 128 << 20, "{sent:?}");
}

#[test]
fn a_password_in_a_url_is_refused_and_not_repeated() {
    for scheme in ["https", "s3"] {
        let url = format!("{scheme}://me:hunter2@example.org/a.zarr");
        let error = Array::open(&url, "", Access::Read).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported("URLs with the name or the password of a user"));
        assert!(error.to_string().contains("example.org") && !error.to_string().contains("hunter2"), "{error}");
    }
}

/// Where two writers create one array or group, one has it, with its own attributes, and the other is told.
#[test]
fn whoever_is_first_has_the_array_with_its_attributes() {
    let _alone = alone();
    for round in 0..24 {
        let server = Server::new();
        let _variables = Variables::of("s3", &server);
        server.set_latency(Duration::from_millis(3));
        let is_group = round % 2 == 1;
        let create = |number: u64| {
            thread::sleep(Duration::from_millis(number * (round / 2)));
            let attributes = format!(r#"{{"by":{number}}}"#);
            if is_group {
                let storage = create_storage("s3://ocean/b.zarr".as_ref()).unwrap();
                return nczchunk::create_group(&storage, "", ArrayFormat::ZarrV2, &attributes, &[]);
            }
            let description = Description::new(&[8], ElementType::Int).with_format(ArrayFormat::ZarrV2);
            Array::create("s3://ocean/b.zarr", "", &description.with_attributes_json(&attributes)).map(drop)
        };
        let ends = thread::scope(|scope| {
            let writers = [0, 1].map(|number| scope.spawn(move || create(number)));
            writers.map(|writer| writer.join().unwrap())
        });
        let winners: Vec<_> = (0..2).filter(|&number| ends[number].is_ok()).collect();
        assert_eq!(winners.len(), 1, "{round}: {ends:?}");
        let is_told = [ErrorKind::Conflict, ErrorKind::NotOverwritten, ErrorKind::Exists];
        assert!(ends.iter().all(|end| end.as_ref().is_err_and(|error| is_told.contains(&error.kind())) || end.is_ok()));
        let attributes = String::from_utf8(server.bytes("ocean/b.zarr/.zattrs")).unwrap();
        assert!(attributes.contains(&format!("\"by\": {}", winners[0])), "{round}: {ends:?} {attributes}");
    }
}

#[test]
fn removals_renew_credentials_that_have_expired() {
    let _alone = alone();
    let server = Server::new();
    let token = std::env::temp_dir().join(format!("nczchunk-token-of-removals-{}", std::process::id()));
    std::fs::write(&token, "pod").unwrap();
    let (address, credentials) = (server.url(""), server.url("credentials"));
    let _variables = Variables::new(&[
        ("AWS_ENDPOINT_URL", address.trim_end_matches('/')),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &credentials),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.to_str().unwrap()),
    ]);
    server.expire_credentials();
    let storage = create_storage("s3://bucket/x".as_ref()).unwrap();
    storage.write("a", b"1").unwrap();
    server.expire_credentials();
    storage.remove("a").unwrap();
    assert_eq!(storage.object_len("a").unwrap(), None);
    std::fs::remove_file(token).unwrap();
}
