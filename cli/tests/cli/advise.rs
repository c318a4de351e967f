//! `advise`: chunk shapes for ways of reading.

use nczchunk::{Array, Description, ElementType};

use super::{Temporary, run, run_at, shown};

#[test]
fn a_shape_gets_advice() {
    let arguments = ["advise", "--shape", "8760x721x1440", "--pattern", "map=0.7,series=0.3", "--decoding", "1G"];
    let text = run(&arguments).text();
    let shape = "8760 x 721 x 1440 in chunks of ";
    for row in [shape, "map (1 x 721 x 1440), 70 % of the reads", "  netCDF-C ", "  h5py ", "  rechunkit "] {
        assert!(text.contains(row), "{row}: {text}");
    }
    let slow = [&arguments[..], &["--latency", "50ms", "--bandwidth", "100M", "--shard", "256M", "--json"]].concat();
    let json = run(&slow).text();
    for key in ["latency", "per_request", "per_chunk", "copying", "step_bytes", "shard_shape"] {
        assert!(json.contains(&format!("\"{key}\":")), "{key}: {json}");
    }
}

/// How often a pattern is read is a ratio, so that weights of any size do.
#[test]
fn weights_count_as_they_compare() {
    let advice = |patterns: &str| {
        let costs = ["--latency", "1ms", "--bandwidth", "100M", "--decoding", "1G"];
        let arguments = ["advise", "--shape", "100x100x100", "--pattern", patterns];
        run(&[&arguments[..], &costs].concat()).text()
    };
    assert_eq!(advice("map=1.5e308,series=0.5e308"), advice("map=3,series=1"));
}

#[test]
fn the_page_shows_what_is_printed() {
    let (arguments, printed) = shown("advice.md", "advise");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    assert_eq!(run(&arguments).text(), printed);
}

#[test]
fn an_array_and_a_trace_get_advice() {
    let directory = Temporary::new();
    let text = run(&["advise", "data/coads_sst.zarr", "-p", "map", "-p", "series=2"]).text();
    let present = text.lines().filter(|line| line.starts_with("  present ") && line.contains(" 5 x 40 x 50 "));
    assert_eq!(present.count(), 3, "{text}");
    let at = std::fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/coads_sst.zarr")).unwrap();
    let line = format!("{}\t\t1,90,180\t1,1,1\n", at.display());
    let others = b"/elsewhere\t\t12,1,1\t1,1,1\n/\xff\t\t12,1,1\t1,1,1\n";
    std::fs::write(directory.join("trace"), [line.repeat(3).as_bytes(), others].concat()).unwrap();
    let text = run_at(&directory, &["advise", "data/coads_sst.zarr", "--trace", "@/trace"]).text();
    assert!(text.contains("1 x 90 x 180 (1 x 90 x 180), 100 % of the reads"), "{text}");
    std::fs::write(directory.join("trace"), "").unwrap();
    let message = run_at(&directory, &["advise", "data/coads_sst.zarr", "--trace", "@/trace"]).message(1);
    assert!(message.contains("this has no reads of the array"), "{message}");
}

/// The program that was traced has opened the group, and the user names the array in the storage.
#[test]
fn a_trace_names_the_array_by_any_path() {
    let directory = Temporary::new();
    let description = Description::new(&[20, 30], ElementType::Short);
    Array::create(&*directory, "ocean/sst", &description).unwrap();
    let line = format!("{}\tsst\t1,30\t1,1\n", directory.join("ocean").display());
    std::fs::write(directory.join("trace"), line).unwrap();
    for array in [&["@", "ocean/sst"][..], &["@"], &["@/ocean", "sst"], &["@/ocean/sst"]] {
        let text = run_at(&directory, &[&["advise"], array, &["--trace", "@/trace"]].concat()).text();
        assert!(text.contains("1 x 30 (1 x 30), 100 % of the reads"), "{text}");
    }
}

#[test]
fn costs_are_drawn() {
    let directory = Temporary::new();
    run_at(&directory, &["advise", "data/coads_sst.zarr", "-p", "map,series", "--svg", "@/x.svg"]).text();
    let text = std::fs::read_to_string(directory.join("x.svg")).unwrap();
    assert!(text.starts_with("<svg xmlns") && text.ends_with("</svg>\n"));
    for words in
        ["advised: ", "present: 5 x 40 x 50, ", "netCDF-C: ", "h5py: ", "rechunkit: ", "to 1.1 times the least"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let message = run_at(&directory, &["advise", "data/coads_sst.zarr", "-p", "map", "--svg", "@/none/x"]).message(1);
    assert!(message.contains("none/x"), "{message}");
}

#[test]
fn what_is_no_pattern_is_refused() {
    for (arguments, words) in [
        (&["--shape", "10x10", "--pattern", "maps"][..], "expected map, series, row, all or 2 lengths"),
        (&["--shape", "10x10", "--pattern", "map=0"], "expected PATTERN=WEIGHT"),
        (&["--shape", "10x10", "--pattern", "map", "--latency", "soon"], "expected a time"),
        (&["--shape", "10x10"], "--pattern"),
        (&["--pattern", "map"], "<PATH>"),
    ] {
        let message = run(&[&["advise"], arguments].concat()).message(2);
        assert!(message.contains(words), "{message}");
    }
}
