//! What an object store answers that no HTTP server does: writing with conditions and in parts, removing, listing, and
//! credentials. It is the least that the clients for S3, Google (its XML interface, which is S3's with other headers)
//! and Azure ask for; it does not check signatures, and is no judge of anything but these requests.

use std::sync::atomic::Ordering::SeqCst;

use super::{Object, Request, State};

/// The status, lines of the header, and the body.
type Answer = (u16, String, String);

const DATE: &str = "Thu, 26 Nov 2026 10:00:00 GMT";

/// What is said of an object. Google's number for a version is in the ETag as well.
pub(super) fn lines(etag: &str) -> String {
    let number = etag.trim_start_matches("W/").trim_matches('"');
    format!("ETag: {etag}\r\nLast-Modified: {DATE}\r\nx-goog-generation: {number}\r\n")
}

fn error(status: u16, code: &str) -> Answer {
    (
        status,
        format!("Content-Type: application/xml\r\nx-ms-error-code: {code}\r\n"),
        format!("<Error><Code>{code}</Code><Message>no</Message></Error>"),
    )
}

fn is_azure(request: &Request) -> bool {
    request.headers.contains_key("x-ms-version")
}

fn done(status: u16) -> Answer {
    (status, String::new(), String::new())
}

/// The lines of the header of a request that are kept with the object.
fn metadata(request: &Request) -> String {
    let is_kept =
        |name: &str| ["x-amz-meta-", "x-goog-meta-", "x-ms-meta-"].iter().any(|begin| name.starts_with(begin));
    let kept = request.headers.iter().filter(|(name, _)| is_kept(name));
    kept.map(|(name, value)| format!("{name}: {value}\r\n")).collect()
}

/// Answers what is not a read of an object.
pub(super) fn answer(state: &State, request: &Request) -> Option<Answer> {
    let Request { method, path, query, headers, body } = request;
    let valid = state.credentials.load(SeqCst);
    if path == "/credentials" {
        let keys = r#""AccessKeyId": "key", "SecretAccessKey": "secret", "Expiration": "2999-01-01T00:00:00Z""#;
        return Some((200, String::new(), format!(r#"{{{keys}, "Token": "token{valid}"}}"#)));
    }
    if valid > 0 && headers.get("x-amz-security-token") != Some(&format!("token{valid}")) {
        return Some(error(403, "ExpiredToken"));
    }
    let asked = |name: &str| query.get(name).map(String::as_str);
    match &**method {
        "GET" if asked("list-type") == Some("2") || asked("comp") == Some("list") => Some(list(state, request)),
        "GET" | "HEAD" => None,
        "PUT" => Some(put(state, request)),
        // Parts of an upload.
        "POST" if query.contains_key("uploads") => {
            state.parts.lock().unwrap().insert(path.clone(), Default::default());
            state.metadata.lock().unwrap().insert(path.clone(), metadata(request));
            let body = "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>";
            Some((200, String::new(), body.to_owned()))
        }
        "POST" if query.contains_key("uploadId") => {
            let text = unescaped(&String::from_utf8_lossy(body));
            let mut etags = text.split("<ETag>").skip(1).filter_map(|rest| rest.split("</ETag>").next());
            if !etags.all(|etag| etag == part_etag(state)) {
                return Some(error(400, "InvalidPart"));
            }
            let Some(parts) = state.parts.lock().unwrap().remove(path) else { return Some(error(404, "NoSuchUpload")) };
            let kept = state.metadata.lock().unwrap().remove(path).unwrap_or_default();
            let etag = store(state, path, parts.into_values().collect::<Vec<_>>().concat(), kept);
            let body = format!("<CompleteMultipartUploadResult><ETag>{etag}</ETag></CompleteMultipartUploadResult>");
            Some((200, lines(&etag), body))
        }
        // Several objects.
        "POST" if query.contains_key("delete") => {
            let text = String::from_utf8_lossy(body);
            let mut objects = state.objects.lock().unwrap();
            let mut removed = String::new();
            for key in text.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next()) {
                objects.remove(&format!("{path}/{}", unescaped(key)));
                removed += &format!("<Deleted><Key>{key}</Key></Deleted>");
            }
            Some((200, String::new(), format!("<DeleteResult>{removed}</DeleteResult>")))
        }
        "POST" if asked("comp") == Some("batch") => {
            let text = String::from_utf8_lossy(body);
            let mut parts = String::new();
            for (i, line) in text.lines().filter_map(|line| line.strip_prefix("DELETE ")).enumerate() {
                let name = super::decoded(line.split([' ', '?']).next().unwrap());
                let status = state.objects.lock().unwrap().remove(&name).map_or(404, |_| 202);
                parts += &format!("--b\r\nContent-ID: {i}\r\n\r\nHTTP/1.1 {status} X\r\n\r\n");
            }
            Some((202, "Content-Type: multipart/mixed; boundary=b\r\n".to_owned(), parts + "--b--\r\n"))
        }
        "DELETE" if query.contains_key("uploadId") => {
            state.parts.lock().unwrap().remove(path);
            Some(done(204))
        }
        "DELETE" => Some(match (state.objects.lock().unwrap().remove(path), is_azure(request)) {
            (Some(_), false) => done(204),
            (Some(_), true) => done(202),
            (None, false) => error(404, "NoSuchKey"),
            (None, true) => error(404, "BlobNotFound"),
        }),
        _ => Some(error(501, "NotImplemented")),
    }
}

/// Stores an object, and tells its ETag.
fn store(state: &State, path: &str, bytes: Vec<u8>, metadata: String) -> String {
    let version = state.versions.fetch_add(1, SeqCst) + 1;
    state.objects.lock().unwrap().insert(path.to_owned(), Object { bytes, version, metadata });
    format!("\"{version}\"")
}

/// The ETag of all parts of uploads.
fn part_etag(state: &State) -> &'static str {
    if state.has_weak_etags.load(SeqCst) { "W/\"part\"" } else { "\"part\"" }
}

fn put(state: &State, request: &Request) -> Answer {
    let Request { path, query, headers, body, .. } = request;
    let number =
        query.get("partNumber").map(|number| format!("{number:0>5}")).or_else(|| query.get("blockid").cloned());
    if let Some(number) = number {
        let mut parts = state.parts.lock().unwrap();
        // Azure does not say before that an upload begins.
        if query.contains_key("blockid") {
            parts.entry(path.clone()).or_default();
        }
        let Some(upload) = parts.get_mut(path) else { return error(404, "NoSuchUpload") };
        upload.insert(number, body.clone());
        return (201, lines(part_etag(state)), String::new());
    }
    // What compares and what stores is one step.
    let mut objects = state.objects.lock().unwrap();
    let now = objects.get(path).map(|object| object.version);
    if headers.contains_key("if-none-match") && now.is_some() {
        return if is_azure(request) { error(409, "BlobAlreadyExists") } else { error(412, "PreconditionFailed") };
    }
    let is_other = |wanted: &String| now.map(|now| format!("\"{now}\"")) != Some(wanted.clone());
    let is_other_generation = |wanted: &String| now.unwrap_or(0).to_string() != *wanted;
    if headers.get("if-match").is_some_and(is_other)
        || headers.get("x-goog-if-generation-match").is_some_and(is_other_generation)
    {
        return error(412, if is_azure(request) { "ConditionNotMet" } else { "PreconditionFailed" });
    }
    let bytes = match query.get("comp").map(String::as_str) {
        Some("blocklist") => {
            let mut parts = state.parts.lock().unwrap().remove(path).unwrap_or_default();
            let text = String::from_utf8_lossy(body).replace("Latest>", "Uncommitted>");
            let names = text.split("<Uncommitted>").skip(1).map(|rest| rest.split("</Uncommitted>").next());
            let blocks: Option<Vec<_>> = names.map(|name| parts.remove(name?)).collect();
            let Some(blocks) = blocks else { return error(400, "InvalidBlockList") };
            blocks.concat()
        }
        _ => body.clone(),
    };
    let version = state.versions.fetch_add(1, SeqCst) + 1;
    objects.insert(path.clone(), Object { bytes, version, metadata: metadata(request) });
    (201, lines(&format!("\"{version}\"")), String::new())
}

/// The characters that XML does not have in texts.
const ESCAPES: [(&str, &str); 5] = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&apos;")];

fn escaped(text: &str) -> String {
    ESCAPES.iter().fold(text.to_owned(), |text, (plain, escape)| text.replace(plain, escape))
}

fn unescaped(text: &str) -> String {
    ESCAPES.iter().rev().fold(text.to_owned(), |text, (plain, escape)| text.replace(escape, plain))
}

/// What is below a prefix of a bucket or container.
fn list(state: &State, request: &Request) -> Answer {
    let Request { path, query, .. } = request;
    let bucket = format!("{}/", path.trim_end_matches('/'));
    let prefix = query.get("prefix").map_or("", String::as_str);
    let objects = state.objects.lock().unwrap();
    let (mut files, mut prefixes) = (Vec::new(), std::collections::BTreeSet::new());
    for (name, Object { bytes, version, .. }) in objects.iter() {
        let Some(key) = name.strip_prefix(&bucket) else { continue };
        let Some(rest) = key.strip_prefix(prefix) else { continue };
        match rest.find('/').filter(|_| query.contains_key("delimiter")) {
            Some(end) => {
                prefixes.insert(format!("{prefix}{}", &rest[..=end]));
            }
            None => files.push((key, bytes.len(), version)),
        }
    }
    files.sort_unstable();
    let files = files.into_iter().map(|(key, len, version)| (escaped(key), len, version));
    let prefixes: Vec<_> = prefixes.iter().map(|name| escaped(name)).collect();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>");
    if query.contains_key("comp") {
        xml += "<EnumerationResults><Blobs>";
        for (key, len, version) in files {
            xml += &format!(
                "<Blob><Name>{key}</Name><Properties><Last-Modified>{DATE}</Last-Modified><Etag>{version}</Etag>\
                 <Content-Length>{len}</Content-Length><Content-Type>x</Content-Type>\
                 <BlobType>BlockBlob</BlobType></Properties></Blob>"
            );
        }
        prefixes.iter().for_each(|name| xml += &format!("<BlobPrefix><Name>{name}</Name></BlobPrefix>"));
        xml += "</Blobs><NextMarker/></EnumerationResults>";
    } else {
        xml += "<ListBucketResult>";
        for (key, len, version) in files {
            xml += &format!(
                "<Contents><Key>{key}</Key><LastModified>2026-11-26T10:00:00.000Z</LastModified>\
                 <ETag>\"{version}\"</ETag><Size>{len}</Size></Contents>"
            );
        }
        prefixes.iter().for_each(|name| {
            xml += &format!("<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>");
        });
        xml += "</ListBucketResult>";
    }
    (200, "Content-Type: application/xml\r\n".to_owned(), xml)
}
