//! `plan`: numbers, and the grid.

use nczchunk::{Description, ElementType};

use super::{Temporary, run, run_at, stored};

/// The line that begins with this word.
fn line<'t>(text: &'t str, what: &str) -> &'t str {
    let line = text.lines().find(|line| line.trim_start().starts_with(what));
    line.unwrap_or_else(|| panic!("no {what} in {text}")).trim_start()[what.len()..].trim_start()
}

#[test]
fn what_is_touched_is_counted() {
    let text = run(&["plan", "data/coads_sst.zarr", "--slab", "0,10:70,::3"]).text();
    assert!(text.starts_with("data/coads_sst.zarr [0, 10:70, 0:178:3]\n"), "{text}");
    assert_eq!(line(&text, "selected"), "1 x 60 x 60: 3600 elements, 14.1 KiB");
    let chunks = "8 of 36 touched, 0 covered, 312.5 KiB decoded, read amplification 22.2";
    assert_eq!(line(&text, "chunks"), chunks);
    let names = (0..2).flat_map(|j| (0..4).map(move |k| format!("../data/coads_sst.zarr/0.{j}.{k}")));
    let stored: u64 = names.map(|name| std::fs::metadata(name).unwrap().len()).sum();
    let stored = format!("{:.1} KiB in 8 chunks, ", stored as f64 / 1024.0);
    assert!(line(&text, "stored").starts_with(&stored), "{text}");
    assert!(line(&text, "requests").starts_with("8, "), "{text}");
    assert_eq!(line(&text, "requests")[3..], *line(&text, "stored").split(" in ").next().unwrap());
    assert_eq!(line(&text, "down:"), "COADSY, length 90: 2 of 3 chunks of 40 touched");
    let across = "COADSX, length 180, every 3rd element: 4 of 4 chunks of 50 touched";
    assert_eq!(line(&text, "across:"), across);
    let text = run(&["plan", "data/coads_sst.zarr", "-s", "0,80:,40:150"]).text();
    assert!(line(&text, "stored").contains("in 2 chunks (1 absent)"), "{text}");
}

#[test]
fn the_hyperslab_is_drawn_on_its_grid() {
    let rows: Vec<i16> = (0..30).collect();
    let array = stored(&Description::new(&[5, 6], ElementType::Short).with_chunk_shape(&[2, 3]), &rows);
    let text = run_at(&array, &["plan", "@", "-s", "1:4,:2"]).text();
    let drawn: Vec<&str> = text.lines().skip_while(|line| *line != "  dim_0").take(13).collect();
    assert_eq!(
        drawn,
        [
            "  dim_0",
            "  0 ┌───┬───┐",
            "    │░░░│   │",
            "    │██░│   │",
            "  2 ├───┼───┤",
            "    │██░│   │",
            "    │██░│   │",
            "  4 ├───┼───┤",
            "    │   │   │",
            "    │   │   │",
            "  5 └───┴───┘",
            "    0   3   6",
            "    dim_1",
        ]
    );
    let coloured = run_at(&array, &["plan", "@", "-s", "1:4,:2", "--color", "always"]).text();
    assert!(coloured.contains("│\x1b[32m██\x1b[0m\x1b[33m░\x1b[0m│   │"), "{coloured}");
}

#[test]
fn other_dimensions_can_be_drawn() {
    let text = run(&["plan", "data/coads_sst.zarr", "-s", "3:5", "--dims", "COADSX,TIME"]).text();
    assert_eq!(line(&text, "down:"), "COADSX, length 180: 4 of 4 chunks of 50 touched");
    assert_eq!(line(&text, "across:"), "TIME, length 12: 1 of 3 chunks of 5 touched");
    let text = run(&["plan", "data/coads_sst.zarr", "--dims", "0"]).text();
    assert!(!text.contains("down:"));
    let message = run(&["plan", "data/coads_sst.zarr", "--dims", "TIME,LAT"]).message(2);
    assert_eq!(message, "nczchunk: --dims: no such dimension LAT; the array has: TIME, COADSY, COADSX\n");
    assert!(run(&["plan", "data/coads_sst.zarr", "--dims", "1,1"]).message(2).contains("must be different"));
}

#[test]
fn a_picture_is_drawn() {
    let directory = Temporary::new();
    let svg = ["plan", "data/coads_sst.zarr", "-s", "0,10:70,::60", "--svg", "@/x.svg"];
    assert!(line(&run_at(&directory, &svg).text(), "drawn").ends_with("/x.svg"));
    let text = std::fs::read_to_string(directory.join("x.svg")).unwrap();
    assert!(text.starts_with("<svg xmlns") && text.ends_with("</svg>\n"));
    let group = |colour: &str| {
        let begin = text.find(&format!("<g fill=\"{colour}\">")).unwrap();
        let group = &text[begin..begin + text[begin..].find("</g>").unwrap()];
        group.matches("<rect").count()
    };
    // Three columns; they are in three of the four chunks, of which two are side by side.
    assert_eq!((group("#1f6f8b"), group("#f6c26b")), (3, 1));
    assert_eq!(text.matches("<g").count(), text.matches("</g>").count());
    // It says what the terminal says, and has names, ticks and a legend.
    let shown = run(&["plan", "data/coads_sst.zarr", "-s", "0,10:70,::60"]).text();
    for what in ["down:", "across:"] {
        assert!(text.contains(&format!(">{what} {}</text>", line(&shown, what))), "{text}");
    }
    for label in [">0<", ">50<", ">180<", ">40<", ">COADSX<", ">COADSY<", ">selected<", ">touched<", ">chunks<"] {
        assert!(text.contains(label), "{label} {text}");
    }
    assert!(!text.contains(">shards<"));
    let shards = Description::new(&[8, 8], ElementType::Short).with_chunk_shape(&[2, 2]).with_shard_shape(&[4, 4]);
    let array = stored(&shards, &[1i16; 64]);
    run_at(&array, &["plan", "@", "--svg", "@/x.svg"]).text();
    let text = std::fs::read_to_string(array.join("x.svg")).unwrap();
    assert!(text.contains(">shards<") && text.contains("stroke-width=\"2.4\" d=\"M0.00 0V"), "{text}");
}

/// A picture that cannot be written leaves the one that is there: a new file takes its place when it is complete.
#[test]
fn a_picture_that_is_there_is_replaced() {
    for arguments in [&["plan", "data/coads_sst.zarr"][..], &["advise", "data/coads_sst.zarr", "-p", "map"]] {
        let directory = Temporary::new();
        std::fs::write(directory.join("x.svg"), "old").unwrap();
        std::fs::hard_link(directory.join("x.svg"), directory.join("old")).unwrap();
        run_at(&directory, &[arguments, &["--svg", "@/x.svg"]].concat()).text();
        assert_eq!(std::fs::read_to_string(directory.join("old")).unwrap(), "old", "{arguments:?}");
        let text = std::fs::read_to_string(directory.join("x.svg")).unwrap();
        assert_eq!((text.ends_with("</svg>\n"), &*directory.names()), (true, &["old", "x.svg"].map(str::to_owned)[..]));
        let text = run_at(&directory, &[arguments, &["--svg", "-"]].concat()).text();
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"), "{text}");
    }
}

#[test]
fn reading_is_measured() {
    let text = run(&["plan", "data/coads_sst.zarr", "-s", "0,80:,40:150", "--run", "--threads", "1"]).text();
    assert!(line(&text, "measured").starts_with("3 requests, "), "{text}");
    // What is not encoded is read in ranges.
    let text = run(&["plan", "data/coads_sst.nc", "SST", "-s", "::4,45", "--run"]).text();
    assert!(line(&text, "measured").starts_with("3 requests, 2.1 KiB, "), "{text}");
    let shards = Description::new(&[8, 8], ElementType::Short).with_chunk_shape(&[2, 2]).with_shard_shape(&[4, 4]);
    let array = stored(&shards, &[1i16; 64]);
    let text = run_at(&array, &["plan", "@", "-s", "3:5,0:3", "--run"]).text();
    assert!(line(&text, "requests").contains(", of which 2 for indices, "), "{text}");
    // Two chunks of each shard are read by one request; and the index once more, after them, for what counts requests
    // does not keep files open, and files that have just been written have no version yet.
    assert!(line(&text, "measured").starts_with("6 requests, "), "{text}");
}

#[test]
fn the_numbers_are_one_document() {
    let text = run(&["plan", "data/coads_sst.zarr", "-s", "0,80:,40:150", "--json", "--run", "--threads", "2"]).text();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let expected = serde_json::json!({
        "path": "data/coads_sst.zarr", "name": "", "start": [0, 80, 40], "count": [1, 10, 110], "stride": [1, 1, 1],
        "elements": 1100, "bytes": 4400, "chunks": 36, "touched": 3, "covered": 0, "touched_shards": null,
        "decoded_bytes": 120_000, "stored": {"bytes": 1067, "present": 2, "absent": 1},
        "cost": {"requests": 3, "bytes": 1067, "index_requests": 0, "index_bytes": 0},
        "measured": document["measured"],
    });
    assert_eq!(document, expected);
    assert_eq!((&document["measured"]["requests"], &document["measured"]["threads"]), (&3.into(), &2.into()));
    let text = run(&["plan", "data/coads_sst.zarr", "--json"]).text();
    assert!(text.contains("\"measured\": null"), "{text}");
}

#[test]
fn a_scalar_has_no_grid() {
    let scalar = stored(&Description::new(&[], ElementType::Short), &[7i16]);
    let text = run_at(&scalar, &["plan", "@"]).text();
    assert!(text.contains("1 of 1 touched, 1 covered") && !text.contains('┌'), "{text}");
}
