//! `map`: characters and colours.

use nczchunk::{Array, Description, ElementType, Hyperslab};

use super::{Ran, Temporary, command, run, run_at, sst, stored};

#[test]
fn a_map_without_colours_is_characters() {
    let values: Vec<f64> = vec![0.0, 1.0, f64::NAN, 8.0, -1.0, 4.0, 4.4, 9.0, 0.0, 1.0, 2.0, 3.0];
    let array =
        stored(&Description::new(&[3, 4], ElementType::Double).with_attributes_json(r#"{"units":"m"}"#), &values);
    // Few rows are all shown.
    let text = run_at(&array, &["map", "@", "--range", "0:9"]).text();
    let frame = [" └┬───", "  0", "  dim_1", "0 .:-=+*#%@ 9 m", "a[0:3, 0:4]", ""].join("\n");
    assert_eq!(text, format!("dim_0\n0┤.: @\n1┤.++@\n2┤.:-=\n{frame}"));
    let text = run_at(&array, &["map", "@", "--flip", "--range", "0:9"]).text();
    assert_eq!(text, format!("dim_0\n2┤.:-=\n1┤.++@\n0┤.: @\n{frame}"));
    let text = run_at(&array, &["map", "@"]).text();
    assert!(text.contains("\n-1 .:-=+*#%@ 9 m\n"), "{text}");
}

#[test]
fn what_the_width_has_no_room_for_is_left_out() {
    let output = command().args(["map", "data/coads_sst.zarr", "-s", "6"]).env("COLUMNS", "48").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.ends_with("\ncoads_sst[6, 0:85:7, 0:177:4]\n"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let all = sst();
    let at = |j: usize, k: usize| all[(6 * 90 + j * 7) * 180 + k * 4];
    let shown = (0..13 * 45).map(|i| at(i / 45, i % 45)).filter(|value| *value != -1e34);
    let (low, high) = shown.fold((f32::MAX, f32::MIN), |(low, high), value| (low.min(value), high.max(value)));
    let rounded = |value: f32| (f64::from(value) * 1e4).round() / 1e4;
    assert_eq!(lines[17], format!("{} .:-=+*#%@ {} Deg C", rounded(low), rounded(high)));
    assert_eq!((lines[0], lines[1].chars().nth(2), lines[16]), ("COADSY", Some('┤'), "   COADSX"));
    for (j, line) in lines[1..14].iter().enumerate() {
        let characters: Vec<char> = line.chars().skip(3).collect();
        for k in 0..45 {
            assert_eq!(characters.get(k).is_none_or(|shown| *shown == ' '), at(j, k) == -1e34, "{j} {k}");
        }
    }
}

#[test]
fn each_axis_is_made_shorter_by_itself() {
    // A Hovmöller diagram: months downwards, all of them, and longitudes.
    let text = run(&["map", "data/coads_sst.nc", "SST", "-s", "::,45"]).text();
    assert!(text.ends_with("\nSST[0:12, 45, 0:178:3]\n"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines.len()), ("TIME", 18));
    assert!(lines[1].trim_start().starts_with("0000-01-16T06:00┤") && lines[12].contains('│'), "{text}");
    // Longitudes are those of the array COADSX.
    let [numbers, name] = [14, 15].map(|i| lines[i].trim_start());
    assert!(numbers.starts_with("21  ") && name.starts_with("COADSX (degrees_east)"), "{text}");
}

#[test]
fn values_are_those_that_attributes_say() {
    let attributes = r#"{"scale_factor":0.5,"add_offset":10,"missing_value":-9}"#;
    let description = Description::new(&[2, 2], ElementType::Short).with_attributes_json(attributes);
    let array = stored(&description, &[0i16, 2, -9, 4]);
    assert!(run_at(&array, &["map", "@"]).text().contains("\n10 .:-=+*#%@ 12\n"));
    assert!(run_at(&array, &["map", "@", "--raw"]).text().contains("\n-9 .:-=+*#%@ 4\n"));
}

#[test]
fn times_along_an_axis_are_dates() {
    let directory = Temporary::new();
    let names = ["time", "x"];
    let description = Description::new(&[2, 3], ElementType::Float).with_dimension_names(&names);
    Array::create(&*directory, "g/v", &description).unwrap().write(&Hyperslab::all(), &[1f32; 6]).unwrap();
    let time = Description::new(&[2], ElementType::Double).with_attributes_json(r#"{"units":"days since 2000-01-01"}"#);
    Array::create(&*directory, "g/time", &time).unwrap().write(&Hyperslab::all(), &[31f64, 60.5]).unwrap();
    let text = run_at(&directory, &["map", "@", "g/v"]).text();
    assert!(text.starts_with("time\n      2000-02-01┤+++\n2000-03-01T12:00┤+++\n"), "{text}");
}

#[test]
fn unsigned_integers_are_drawn_as_what_they_are() {
    let attributes = r#"{"_Unsigned":"true","missing_value":254}"#;
    let description = Description::new(&[2, 2], ElementType::Byte).with_attributes_json(attributes);
    let array = stored(&description, &[0i8, -2, 127, -1]);
    let text = run_at(&array, &["map", "@"]).text();
    assert!(text.starts_with("dim_0\n0┤.\n1┤+@\n") && text.contains("\n0 .:-=+*#%@ 255\n"), "{text}");
    let text = run_at(&array, &["map", "@", "--range", "200:300"]).text();
    assert!(text.starts_with("dim_0\n0┤.\n1┤.+\n"), "{text}");
}

#[test]
fn a_map_is_drawn_into_a_file() {
    let directory = Temporary::new();
    let arguments = ["map", "data/coads_sst.nc", "SST", "-s", "6", "--flip", "--png", "@/x.png"];
    let text = run_at(&directory, &arguments).text();
    assert!(text.starts_with("SST[6, 0:90, 0:180] drawn to ") && text.ends_with("/x.png\n"), "{text}");
    let file = std::fs::File::open(directory.join("x.png")).unwrap();
    let mut reader = png::Decoder::new(std::io::BufReader::new(file)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    let pixels: Vec<[u8; 3]> = pixels.chunks_exact(3).map(|pixel| pixel.try_into().unwrap()).collect();
    // Every element is 4 x 4 pixels, in a black frame; land is grey.
    let first = pixels.iter().position(|pixel| *pixel != [255; 3] && *pixel != [0; 3]).unwrap();
    let (left, top) = (first % info.width as usize, first / info.width as usize);
    let at = |j: usize, k: usize| pixels[(top + j * 4 + 3) * info.width as usize + left + k * 4 + 3];
    let all = sst();
    for j in 0..90 {
        for k in 0..180 {
            let is_missing = all[(6 * 90 + 89 - j) * 180 + k] == -1e34;
            assert_eq!(at(j, k) == [225; 3], is_missing, "{j} {k}");
        }
    }
    assert_eq!(directory.names(), ["x.png"]);
    let missing = stored(&Description::new(&[1, 2], ElementType::Float), &[f32::NAN; 2]);
    run_at(&missing, &["map", "@", "--png", "@/x.png"]).text();
}

#[cfg(unix)]
#[test]
fn nothing_is_left_of_a_file_that_is_interrupted() {
    use std::process::{Command, Stdio};
    let directory = Temporary::new();
    let path = directory.join("a");
    let array = Array::create(&path, "", &Description::new(&[1200, 1600], ElementType::UInt).with_codecs(&[])).unwrap();
    let values: Vec<u32> = (0..1200 * 1600u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    array.write(&Hyperslab::all(), &values).unwrap();
    let mut num_interrupted = 0;
    for _ in 0..100 {
        if num_interrupted == 3 {
            break;
        }
        let mut map = command();
        map.arg("map").arg(&path).arg("--png").arg(directory.join("x.png"));
        let mut map = map.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let partial = directory.join(format!(".x.png.{}.0.partial", map.id()));
        while !partial.exists() && map.try_wait().unwrap().is_none() {}
        if map.try_wait().unwrap().is_none() {
            assert!(Command::new("kill").args(["-TERM", &map.id().to_string()]).status().unwrap().success());
        }
        let Ran { err, code, .. } = Ran::of(map.wait_with_output().unwrap());
        if code == Some(130) {
            assert_eq!((&*err, directory.names()), ("nczchunk: interrupted\n", vec!["a".to_owned()]));
            num_interrupted += 1;
        } else {
            // It was done before.
            assert_eq!((code, directory.names()), (Some(0), vec!["a".to_owned(), "x.png".to_owned()]), "{err}");
            std::fs::remove_file(directory.join("x.png")).unwrap();
        }
    }
    assert!(num_interrupted > 0);
}

#[test]
fn colours_are_24_bits_or_a_palette() {
    let array = stored(&Description::new(&[2, 2], ElementType::UByte), &[0u8, 255, 255, 0]);
    let shown = |name: &str, value: &str| {
        let mut command = command();
        command.args(["map", "--color=always"]).arg(&*array).env(name, value);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let text = shown("COLORTERM", "truecolor");
    let line = "\x1b[0;38;2;68;1;84;48;2;253;231;37m▀\x1b[0;38;2;253;231;37;48;2;68;1;84m▀\x1b[0m\n";
    assert!(text.starts_with(&format!("dim_0\n0┤{line}")), "{text:?}");
    let text = shown("COLORTERM", "");
    assert!(text.starts_with("dim_0\n0┤\x1b[0;38;5;53;48;5;220m▀"), "{text:?}");
    // It is not a terminal that is written to.
    assert!(!run_at(&array, &["map", "@"]).text().contains('\x1b'));
}

#[test]
fn a_map_has_two_dimensions_of_numbers() {
    let text = run(&["map", "data/coads_sst.zarr"]).text();
    assert!(text.ends_with("coads_sst[0, 0:85:6, 0:178:3]\n"), "{text}");
    let message = run(&["map", "data/coads_sst.zarr", "-s", "0:2"]).message(2);
    assert_eq!(message, "nczchunk: a map needs two dimensions, but this is 2 x 90 x 180; select two with --slab\n");
    assert!(run(&["map", "data/coads_sst.nc", "TIME"]).message(2).contains("this is 12;"));
    assert!(run(&["map", "data/coads_sst.zarr", "-s", "0:1,:,3:4"]).message(2).contains("this is 1 x 90 x 1;"));
    let texts = stored(&Description::new(&[1, 1], ElementType::Text { len: 2 }), &[*b"ab"]);
    assert!(run_at(&texts, &["map", "@"]).message(2).contains("but the elements are S2"));
    let missing = stored(&Description::new(&[1, 2], ElementType::Float), &[f32::NAN; 2]);
    assert_eq!(run_at(&missing, &["map", "@"]).text(), "all missing\na[0:1, 0:2]\n");
}
