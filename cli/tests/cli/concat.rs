//! `concat`, and the other commands on what it writes.

use nczchunk::{Array, Description, ElementType, Hyperslab};

use super::{Temporary, run_at};

#[test]
fn every_command_opens_what_is_joined() {
    let directory = Temporary::new();
    for (name, first, steps) in [("one", 0i16, 5usize), ("two", 5, 3)] {
        let shape = [steps];
        let description = Description::new(&shape, ElementType::Short)
            .with_chunk_shape(&[2])
            .with_dimension_names(&["time"])
            .with_attributes_json(r#"{"units":"K"}"#);
        let array = Array::create(directory.0.join(name), "v", &description).unwrap();
        let values: Vec<i16> = (first..).take(steps).collect();
        array.write(&Hyperslab::all(), &values).unwrap();
    }
    let run = |arguments: &[&str]| run_at(&directory.0, arguments);
    assert_eq!(run(&["concat", "time", "@/one", "@/two", "-o", "@/all.json"]).text(), "");
    assert!(run(&["list", "@/all.json"]).text().contains("v  int16  time=8 "));
    assert_eq!(run(&["dump", "@/all.json", "v", "--slab", "3:6", "--format", "csv"]).text(), "time,v\n3,3\n4,4\n5,5\n");
    let located = run(&["locate", "@/all.json", "v", "--slab", "4:6"]).text();
    assert!(located.contains("/one/v/c/2") && located.contains("/two/v/c/0"), "{located}");
    for command in ["info", "plan", "check"] {
        assert!(run(&[command, "@/all.json", "v"]).text().contains('v'));
    }
    run(&["copy", "@/all.json", "v", "@/copy", "--chunks", "8"]).text();
    assert_eq!(
        Array::open(directory.0.join("copy"), "", nczchunk::Access::Read)
            .unwrap()
            .read::<i16>(&Hyperslab::all())
            .unwrap(),
        [0, 1, 2, 3, 4, 5, 6, 7]
    );
    let refused = run(&["references", "@/all.json", "-o", "@/refs.json"]).message(1);
    assert!(refused.contains("differ in length"), "{refused}");

    assert!(run(&["concat", "depth", "@/one", "@/two", "-o", "@/no.json"]).message(2).contains("dimension depth"));
    assert!(run(&["concat", "time", "@/one", "@/three", "-o", "@/no.json"]).message(1).contains("three"));
    assert!(!directory.0.join("no.json").exists());
}

#[test]
fn what_leads_to_files_does_not_replace_them() {
    let directory = Temporary::new();
    let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/coads_sst.nc")).unwrap();
    for name in ["a.nc", "b.nc"] {
        std::fs::write(directory.join(name), &bytes).unwrap();
    }
    run_at(&directory, &["concat", "TIME", "@/a.nc", "@/b.nc", "-o", "@/j.json"]).text();
    for (arguments, words) in [
        (&["concat", "TIME", "@/a.nc", "@/b.nc", "-o", "@/a.nc"][..], "one of the files that it would lead to"),
        (&["concat", "TIME", "@/b.nc", "-o", "@/a.nc"], "this exists, and is no JSON"),
        (&["concat", "TIME", "@/j.json", "@/b.nc", "-o", "@/j.json"], "one of the files that it would lead to"),
        (&["references", "@/a.nc", "-o", "@/a.nc"], "one of the files that it would lead to"),
        (&["references", "@/a.nc", "-o", "@/b.nc"], "this exists, and is no JSON"),
    ] {
        let message = run_at(&directory, arguments).message(1);
        assert!(message.contains(words) && message.contains("choose another name"), "{message}");
    }
    assert!(["a.nc", "b.nc"].iter().all(|name| std::fs::read(directory.join(name)).unwrap() == bytes));
    // Their own kind is replaced.
    run_at(&directory, &["concat", "TIME", "@/b.nc", "@/a.nc", "-o", "@/j.json"]).text();
    run_at(&directory, &["references", "@/a.nc", "-o", "@/j.json"]).text();
    let storage = nczchunk::open_storage(&directory.join("a.nc")).unwrap();
    let to = nczchunk::create_storage(&directory.0).unwrap();
    let refused = nczchunk::write_references(&storage, "", "a.nc", &to, "b.nc").unwrap_err();
    assert_eq!(refused.kind(), nczchunk::ErrorKind::Exists);
}

#[test]
fn whole_files_that_are_joined_are_copied() {
    let directory = Temporary::new();
    run_at(&directory, &["concat", "TIME", "data/coads_sst.nc", "data/coads_sst.nc", "-o", "@/all.json"]).text();
    for format in ["zarr3", "nczarr"] {
        let copy = format!("@/{format}");
        let text = run_at(&directory, &["copy", "@/all.json", &copy, "--format", format]).text();
        assert_eq!(text.contains("not kept: unlimited dimension TIME"), format == "zarr3", "{text}");
        let array = Array::open(directory.join(format), "SST", nczchunk::Access::Read).unwrap();
        assert!(array.variable().dimensions().iter().map(|d| d.len()).eq([24, 90, 180]));
        assert_eq!(array.is_unlimited(0), format == "nczarr");
    }
    let joined = nczchunk::open_storage(&directory.join("all.json")).unwrap();
    let dimensions = nczchunk::group_dimensions(&joined, "").unwrap();
    assert!(dimensions.iter().any(|one| (&*one.name, one.len, one.is_unlimited) == ("TIME", 24, true)));
    assert_eq!(dimensions.len(), 3);
    assert!(nczchunk::group_dimensions(&joined, "g").is_err());
}
