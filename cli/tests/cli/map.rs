//! `map`: characters and colours.

use nczchunk::{Description, ElementType};

use super::{command, run, run_at, sst, stored};

#[test]
fn a_map_without_colours_is_characters() {
    let values: Vec<f64> = vec![0.0, 1.0, f64::NAN, 8.0, -1.0, 4.0, 4.4, 9.0, 0.0, 1.0, 2.0, 3.0];
    let array =
        stored(&Description::new(&[3, 4], ElementType::Double).with_attributes_json(r#"{"units":"m"}"#), &values);
    // Characters are twice as high as they are wide, so every other row is left out.
    let text = run_at(&array, &["map", "@"]).text();
    assert_eq!(text, ".: @\n.:-=\n0 .:-=+*#%@ 8 m\na[0:3:2, 0:4]\n");
    let text = run_at(&array, &["map", "@", "--flip", "--range", "-8:10"]).text();
    assert_eq!(text, "++**\n++ @\n-8 .:-=+*#%@ 10 m\na[0:3:2, 0:4]\n");
}

#[test]
fn what_the_width_has_no_room_for_is_left_out() {
    let output = command().args(["map", "data/coads_sst.zarr", "-s", "6"]).env("COLUMNS", "45").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.ends_with("\ncoads_sst[6, 0:89:8, 0:177:4]\n"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let all = sst();
    let shown: Vec<f32> =
        (0..12 * 45).map(|i| all[(6 * 90 + i / 45 * 8) * 180 + i % 45 * 4]).filter(|value| *value != -1e34).collect();
    let (low, high) = shown.iter().fold((f32::MAX, f32::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    let rounded = |value: f32| (f64::from(value) * 1e4).round() / 1e4;
    assert_eq!(lines[12], format!("{} .:-=+*#%@ {} Deg C", rounded(low), rounded(high)));
    for (j, line) in lines[..12].iter().enumerate() {
        for k in 0..45 {
            let is_blank = line.as_bytes().get(k).is_none_or(|byte| *byte == b' ');
            assert_eq!(is_blank, all[(6 * 90 + j * 8) * 180 + k * 4] == -1e34, "{j} {k}");
        }
    }
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
    assert!(text.starts_with(line), "{text:?}");
    assert!(shown("COLORTERM", "").starts_with("\x1b[0;38;5;53;48;5;220m▀"), "{:?}", shown("COLORTERM", ""));
    // It is not a terminal that is written to.
    assert!(!run_at(&array, &["map", "@"]).text().contains('\x1b'));
}

#[test]
fn a_map_has_two_dimensions_of_numbers() {
    let text = run(&["map", "data/coads_sst.zarr"]).text();
    assert!(text.ends_with("coads_sst[0, 0:85:6, 0:178:3]\n"), "{text}");
    let message = run(&["map", "data/coads_sst.zarr", "-s", "0:2"]).message(2);
    assert_eq!(message, "nczchunk: a map has two dimensions, and 2 x 90 x 180 has not; choose with --slab\n");
    assert!(run(&["map", "data/coads_sst.nc", "TIME"]).message(2).contains("12 has not"));
    assert!(run(&["map", "data/coads_sst.zarr", "-s", "0:1,:,3:4"]).message(2).contains("1 x 90 x 1 has not"));
    let texts = stored(&Description::new(&[1, 1], ElementType::Text { len: 2 }), &[*b"ab"]);
    assert!(run_at(&texts, &["map", "@"]).message(2).contains("elements of the type S2 are none"));
    let missing = stored(&Description::new(&[1, 2], ElementType::Float), &[f32::NAN; 2]);
    assert_eq!(run_at(&missing, &["map", "@"]).text(), "\nno values\na[0:1, 0:2]\n");
}
