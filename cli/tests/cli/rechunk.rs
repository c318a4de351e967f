//! `rechunk`: other chunks, within a limit of memory that is measured from outside, and what is left when the program
//! is killed.

use std::path::Path;

use nczchunk::{Access, Array, Description, ElementType, Hyperslab, list, open_storage};

use super::{Temporary, run, run_at, shown, sst};

fn open(path: &Path, name: &str) -> Array {
    Array::open(path, name, Access::Read).unwrap()
}

fn chunk_shape(array: &Array) -> Vec<usize> {
    array.variable().dimensions().iter().map(nczchunk::Dimension::chunklen).collect()
}

#[test]
fn an_array_gets_other_chunks() {
    for (options, name, shape) in [
        (&["@/x", "--chunks", "12,9,9"][..], "", [12, 9, 9]),
        (&["@/x", "--chunks", "12x9x9", "--shards", "12x90x90", "--codec", "zstd:1"], "", [12, 9, 9]),
        (&["@/x", "--chunks", "COADSX=5", "--format", "zarr2"], "", [5, 40, 5]),
        (&["@/x", "--chunks", "12,9,9", "--format", "nczarr", "--name", "a/SST"], "a/SST", [12, 9, 9]),
        (&["@/x", "--chunks", "12,9,9", "--memory", "12M", "--temporary", "@/work"], "", [12, 9, 9]),
        (&["@/x.zip", "--chunks", "12,9,9", "--memory", "12M"], "", [12, 9, 9]),
    ] {
        let directory = Temporary::new();
        run(&["copy", "data/coads_sst.nc", "SST", directory.join("from").to_str().unwrap(), "--chunks", "5,40,50"]);
        let text = run_at(&directory, &[&["rechunk", "@/from"], options].concat()).text();
        assert!(text.starts_with("copied 194400 elements, 759.4 KiB, to ") && text.contains("\n1 pass\n"), "{text}");
        let array = open(&directory.join(&options[0][2..]), name);
        assert_eq!(chunk_shape(&array), shape, "{options:?}");
        assert!(array.read::<f32>(&Hyperslab::all()).unwrap() == sst(), "{options:?}");
        let mut names = vec!["from", &options[0][2..]];
        names.extend(options.contains(&"--temporary").then_some("work"));
        names.sort_unstable();
        assert_eq!(directory.names(), names);
    }
}

#[test]
fn what_is_not_done_leaves_nothing_behind() {
    let directory = Temporary::new();
    let rechunk = ["rechunk", "data/coads_sst.nc", "SST", "@/to", "--chunks", "12,9,9"];
    run_at(&directory, &[&rechunk[..], &["--dry-run", "--temporary", "@/work"]].concat()).text();
    let whole = ["rechunk", "data/coads_sst.nc", "@/to", "--chunks", "COADSX=9", "--memory", "8M"];
    assert!(run_at(&directory, &whole).message(1).contains("needs at least"));
    assert!(directory.names().is_empty());
}

/// Ended when all was done but to remove the mark: then netCDF-C's list of the arrays is written.
#[test]
fn a_group_for_netcdf_that_is_complete_is_continued() {
    let directory = Temporary::new();
    let (mark, kept) = (directory.join("to/.nczchunk-rechunk-group"), directory.join("mark"));
    let arguments = ["rechunk", "data/coads_sst.nc", "@/to", "--format", "nczarr", "--chunks", "TIME=4"];
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let is_over = &is_over;
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            while std::fs::hard_link(&mark, &kept).is_err() && !is_over.load(std::sync::atomic::Ordering::Relaxed) {}
        });
        run_at(&directory, &arguments).text();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        watch.join().unwrap();
    });
    std::fs::rename(&kept, &mark).unwrap();
    let text = run_at(&directory, &arguments).text();
    assert!(text.starts_with("copied 4 arrays, ") && !mark.exists(), "{text}");
    let array = open(&directory.join("to"), "SST");
    assert!(array.is_unlimited(0) && array.read::<f32>(&Hyperslab::all()).unwrap() == sst());
}

#[test]
fn a_dry_run_does_nothing() {
    let directory = Temporary::new();
    let text = run_at(
        &directory,
        &["rechunk", "data/coads_sst.zarr", "@/x", "--chunks", "12,9,9", "--dry-run", "--threads", "1"],
    )
    .text();
    assert!(text.starts_with("1 pass\n  1 box of 12 x 90 x 180: 36 chunks read, 200 written, at most "), "{text}");
    assert!(text.contains("\n  at least "), "{text}");
    assert!(directory.names().is_empty());
}

#[test]
fn the_page_shows_what_a_dry_run_prints() {
    let directory = Temporary::new();
    let maps = Description::new(&[365, 721, 1440], ElementType::Float).with_chunk_shape(&[1, 721, 1440]);
    Array::create(directory.join("maps.zarr"), "", &maps).unwrap();
    let (arguments, printed) = shown("rechunking.md", "rechunk");
    // Paths are those of the directory; the page is of a machine with two processors.
    let in_directory =
        |argument: &String| if argument.ends_with(".zarr") { format!("@/{argument}") } else { argument.clone() };
    let arguments: Vec<String> = arguments.iter().map(in_directory).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["--threads", "2"]).collect();
    assert_eq!(run_at(&directory, &arguments).text(), printed);
}

#[test]
fn a_whole_group_gets_other_chunks() {
    let directory = Temporary::new();
    let arguments = ["rechunk", "data/coads_sst.nc", "@/x", "--chunks", "TIME=12,COADSX=10,COADSY=10"];
    let text = run_at(&directory, &arguments).text();
    assert!(text.starts_with("copied 4 arrays, 194682 elements, 761.6 KiB, to "), "{text}");
    let nodes = list(&open_storage(&directory.join("x")).unwrap(), "", true).unwrap();
    assert_eq!(nodes.iter().map(nczchunk::Node::name).collect::<Vec<_>>(), ["", "COADSX", "COADSY", "SST", "TIME"]);
    assert_eq!(chunk_shape(&open(&directory.join("x"), "SST")), [12, 10, 10]);
    assert!(open(&directory.join("x"), "SST").read::<f32>(&Hyperslab::all()).unwrap() == sst());
    // It is complete, and so it is not made again.
    let message = run_at(&directory, &arguments).message(1);
    assert!(message.contains("this exists; a whole group can only be rechunked to a new directory"), "{message}");
    let message = run_at(&directory, &["rechunk", "data/coads_sst.nc", "@/y.zip", "--chunks", "TIME=12"]).message(2);
    assert!(message.contains("a whole group is rechunked to a directory"), "{message}");
}

#[test]
fn what_cannot_be_is_refused_and_leaves_nothing() {
    let directory = Temporary::new();
    for (options, code, words) in [
        (&["--chunks", "12,9,9", "--memory", "1M"][..], 1, "rechunking needs at least "),
        (&["--chunks", "12,9,9", "--memory", "much"], 2, "expected a number of bytes, such as 256M or 1.5G"),
        (&["--chunks", "12,9"], 2, "--chunks has 2 lengths, but the new array has rank 3"),
        (&["--chunks", "TIME=0"], 2, "expected NAME=LENGTH"),
        (&["--codec", "zstd:99"], 2, "--codec: "),
    ] {
        let message = run_at(&directory, &[&["rechunk", "data/coads_sst.zarr", "@/x"], options].concat()).message(code);
        assert!(message.contains(words), "{message}");
        assert!(directory.names().is_empty(), "{options:?}");
    }
    std::fs::create_dir(directory.join("x")).unwrap();
    std::fs::write(directory.join("x/thesis.txt"), "x").unwrap();
    let message = run_at(&directory, &["rechunk", "data/coads_sst.zarr", "@/x", "--chunks", "12,9,9"]).message(1);
    assert!(message.contains("this directory is not empty, and not an array or group"), "{message}");
    run_at(&directory, &["copy", "data/coads_sst.nc", "@/group"]).text();
    let destinations = [(None, "new"), (None, "SST/new"), (Some("SST"), "SST/c"), (Some("/SST"), "SST/new")];
    for (array, destination) in destinations {
        let destination = format!("@/group/{destination}");
        let mut arguments = vec!["rechunk", "@/group"];
        arguments.extend(array);
        arguments.extend([&*destination, "--chunks", "TIME=4"]);
        let message = run_at(&directory, &arguments).message(1);
        assert!(message.contains("this is within the source"), "{message}");
        assert!(!directory.join(&destination[2..]).join(".nczchunk-rechunk-group").exists());
        assert_eq!(directory.join(&destination[2..]).exists(), destination.ends_with("/c"));
    }
    // Beside an array in its own group it may be.
    run_at(&directory, &["rechunk", "@/group", "SST", "@/group", "--name", "series", "--chunks", "12,9,9"]).text();
    std::fs::remove_dir_all(directory.join("group")).unwrap();
    let message = run_at(&directory, &["rechunk", "data/coads_sst.zarr", "@/none/x", "--chunks", "12,9,9"]).message(1);
    assert!(message.contains("No such file or directory"), "{message}");
}

/// netCDF-C opens nothing of a group in which a dimension has two lengths.
#[test]
fn a_dimension_with_two_lengths_is_not_for_netcdf() {
    for (names, of) in [(["t", "u"], "b cannot be created: a"), (["t", "t"], "a cannot be created: a")] {
        let directory = Temporary::new();
        for (name, shape, names) in [("g/a", &[4, 3][..], &names[..]), ("g/b", &[3], &names[..1])] {
            let description = Description::new(shape, ElementType::Int).with_dimension_names(names);
            Array::create(&*directory, name, &description).unwrap();
        }
        for command in [&["copy", "@/g", "@/x"][..], &["rechunk", "@/g", "@/x", "--chunks", "t=2"]] {
            let message = run_at(&directory, &[command, &["--format", "nczarr"]].concat()).message(1);
            let words = "netCDF-C has one length for a dimension of a group, and this array has another";
            assert_eq!(message, format!("nczchunk: {of}: dimension 0: {words}\n"), "{command:?}");
            assert!(!directory.join("x").exists(), "{command:?}");
            run_at(&directory, &[command, &["--format", "zarr2"]].concat()).text();
            std::fs::remove_dir_all(directory.join("x")).unwrap();
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::process::{Child, Stdio};
    use std::time::Duration;

    use super::*;
    use crate::{Ran, command};

    const SHAPE: [usize; 3] = [400, 200, 200];

    /// Maps of 160 KB, 64 MB in all, with a different value in each element.
    fn maps(directory: &Path, codecs: &[(&str, &str)]) -> Vec<f32> {
        let description =
            Description::new(&SHAPE, ElementType::Float).with_chunk_shape(&[1, SHAPE[1], SHAPE[2]]).with_codecs(codecs);
        let array = Array::create(directory.join("maps"), "", &description).unwrap();
        let values: Vec<f32> = (0..SHAPE.iter().product::<usize>()).map(|i| (i + 1) as f32).collect();
        array.write(&Hyperslab::all(), &values).unwrap();
        values
    }

    fn begin(directory: &Path, options: &[&str]) -> Child {
        let (from, to) = (directory.join("maps"), directory.join("series"));
        let arguments = [&["rechunk", from.to_str().unwrap(), to.to_str().unwrap()], options].concat();
        command().args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The most memory that a process has had, in bytes, as the system counts it; `None` once it has ended.
    fn peak(child: &Child) -> Option<usize> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10)
    }

    /// The same at its end.
    fn peak_of(mut child: Child) -> (usize, Ran) {
        let mut most = 0;
        while child.try_wait().unwrap().is_none() {
            most = most.max(peak(&child).unwrap_or(0));
            std::thread::sleep(Duration::from_millis(1));
        }
        (most, Ran::of(child.wait_with_output().unwrap()))
    }

    #[test]
    fn the_limit_of_memory_holds() {
        let directory = Temporary::new();
        let values = maps(&directory, &[]);
        // So short a run may end before it is looked at once: of many, the most is what the program has at its start.
        let version = || command().arg("--version").stdout(Stdio::piped()).spawn().unwrap();
        let before = (0..20).map(|_| peak_of(version()).0).max().unwrap();
        assert_ne!(before, 0);
        for (memory, options) in [
            (14, &["--chunks", "400,10,10", "--threads", "1"][..]),
            (24, &["--chunks", "400,10,10", "--threads", "2"]),
            (24, &["--chunks", "400,10,10", "--threads", "4", "--codec", "zstd:1"]),
            (40, &["--chunks", "100,10,10", "--shards", "400,40,40", "--codec", "zstd:1", "--threads", "2"]),
            (24, &["--chunks", "7,33,200", "--threads", "2"]),
            (256, &["--chunks", "400,10,10", "--threads", "2"]),
        ] {
            let limit = format!("{memory}M");
            let (most, ran) = peak_of(begin(&directory, &[options, &["--memory", &limit]].concat()));
            let text = ran.text();
            let taken = most.saturating_sub(before);
            assert!(taken <= memory << 20, "{taken} bytes, {options:?}: {text}");
            let to = directory.join("series");
            assert!(open(&to, "").read::<f32>(&Hyperslab::all()).unwrap() == values, "{options:?}");
            std::fs::remove_dir_all(to).unwrap();
        }
    }

    /// Killed again and again, the program goes on where it was.
    #[test]
    fn what_is_killed_is_continued() {
        /// Milliseconds, in which no machine does all of it.
        const FIRST: u64 = 5;
        let directory = Temporary::new();
        let values = maps(&directory, &[]);
        let to = directory.join("series");
        let options = ["--chunks", "400,10,10", "--memory", "14M", "--threads", "2"];
        let (mut killed, mut pause) = (0, FIRST);
        let text = loop {
            let mut child = begin(&directory, &options);
            std::thread::sleep(Duration::from_millis(pause));
            if child.try_wait().unwrap().is_none() {
                child.kill().unwrap();
                killed += 1;
            }
            let ran = Ran::of(child.wait_with_output().unwrap());
            if ran.code == Some(0) {
                break ran.text();
            }
            assert_eq!((ran.code, &*ran.err), (None, ""));
            let work = to.join(".nczchunk-rechunk");
            if to.join("zarr.json").exists() && !work.join("journal.json").exists() {
                // It had nothing left to do but to remove an empty directory and to say so, and would not begin again.
                let _ = std::fs::remove_dir(work);
                assert_whole(&to, &values);
                std::fs::remove_dir_all(&to).unwrap();
                pause = FIRST;
            } else if to.join("zarr.json").exists() {
                // All that was left to do is to remove what is temporary.
                assert!(open(&to, "").read::<f32>(&Hyperslab::all()).unwrap() == values);
            } else {
                assert!(Array::open(&to, "", Access::Read).is_err());
            }
            pause += 5;
            assert!(killed < 500);
        };
        assert!(killed > 2, "{killed}");
        assert!(text.contains(" had been done before"), "{text}");
        assert_whole(&to, &values);
    }

    /// The array has these values, and neither the journal and the temporary array nor files that were half written are
    /// left.
    fn assert_whole(to: &Path, values: &[f32]) {
        assert!(open(to, "").read::<f32>(&Hyperslab::all()).unwrap() == values);
        let left = std::fs::read_dir(to).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
        assert_eq!(left.len(), 2, "{left:?}");
        let checked = run(&["check", to.to_str().unwrap()]).text();
        assert!(!checked.contains("unfinished"), "{checked}");
    }

    #[test]
    fn a_group_that_was_killed_is_continued() {
        let directory = Temporary::new();
        let values = maps(&directory, &[]);
        let description = Description::new(&[10], ElementType::Float).with_dimension_names(&["x"]);
        std::fs::create_dir(directory.join("group")).unwrap();
        std::fs::rename(directory.join("maps"), directory.join("group/maps")).unwrap();
        let other = Array::create(directory.join("group"), "z/other", &description).unwrap();
        other.write(&Hyperslab::all(), &[1.0f32; 10]).unwrap();
        let texts = Description::new(&[3], ElementType::String).with_dimension_names(&["s"]);
        let texts = Array::create(directory.join("group"), "z/texts", &texts).unwrap();
        texts.write_strings(&Hyperslab::all(), &["one", "two", "three"]).unwrap();
        std::fs::rename(directory.join("group"), directory.join("maps")).unwrap();
        let options = ["--chunks", "x=5", "--codec", "none", "--memory", "14M"];
        let mut child = begin(&directory, &options);
        let mark = directory.join("series/.nczchunk-rechunk-group");
        while !mark.exists() {
            assert!(child.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(30));
        child.kill().unwrap();
        child.wait().unwrap();
        let message = run_at(&directory, &["rechunk", "@/maps", "@/series", "--chunks", "x=2"]).message(1);
        assert!(message.contains("an unfinished rechunking of something else is here"), "{message}");
        Array::create(directory.join("maps"), "z/new", &description).unwrap();
        let message = Ran::of(begin(&directory, &options).wait_with_output().unwrap()).message(1);
        assert!(message.contains("the source has changed since the unfinished rechunking"), "{message}");
        std::fs::remove_dir_all(directory.join("maps/z/new")).unwrap();
        // A call that was killed has copied some strings, and has completed an array with what is temporary beside it.
        let few = Description::new(&[3], ElementType::String).with_dimension_names(&["s"]).with_overwrite(true);
        let few = Array::create(directory.join("series"), "z/texts", &few).unwrap();
        few.write_strings(&Hyperslab::new(&[0], &[1]), &["one"]).unwrap();
        std::fs::remove_file(directory.join("series/z/texts/zarr.json")).unwrap();
        let shorter = description.with_chunk_shape(&[5]).with_codecs(&[]).with_overwrite(true);
        let complete = Array::create(directory.join("series"), "z/other", &shorter).unwrap();
        complete.write(&Hyperslab::all(), &[1.0f32; 10]).unwrap();
        let left = directory.join("series/z/other/.nczchunk-rechunk");
        std::fs::create_dir_all(left.join("1.2.3")).unwrap();
        std::fs::write(left.join("1.2.3/begun"), b"").unwrap();
        let text = Ran::of(begin(&directory, &options).wait_with_output().unwrap()).text();
        assert!(text.starts_with("copied 3 arrays, "), "{text}");
        assert!(!mark.exists() && !left.exists());
        let copied = open(&directory.join("series"), "z/texts").read_strings(&Hyperslab::all()).unwrap();
        assert_eq!(copied.iter().collect::<Vec<_>>(), ["one", "two", "three"]);
        assert!(open(&directory.join("series"), "maps").read::<f32>(&Hyperslab::all()).unwrap() == values);
        assert_eq!(chunk_shape(&open(&directory.join("series"), "z/other")), [5]);
    }
}
