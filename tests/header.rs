//! The header is generated from the code: `include/nczchunk.h` must be what is generated now.
//!
//! `NCZCHUNK_UPDATE_HEADER=1 cargo test --test header` writes it anew.

use std::fmt::Write;
use std::path::Path;

use cbindgen::{Builder, Config, DocumentationStyle, Language, SortKey, Style};
use nczchunk::status::TABLE;

/// The sections of the header in their order: the file that declares one and, where it uses a record that is defined
/// elsewhere, the file with the record.
const SECTIONS: &[&[&str]] = &[
    &["ffi/version"],
    &["ffi/status"],
    &["ffi/context"],
    &["ffi/var"],
    &["ffi/store"],
    &["ffi/read"],
    &["ffi/write"],
    &["ffi/layout"],
    &["ffi/projection", "projection"],
    &["ffi/plan"],
    &["ffi/odometer"],
    &["ffi/key"],
    &["ffi/chunkshape"],
    &["ffi/classic"],
];

#[test]
fn the_header_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("include/nczchunk.h");
    let fresh = header(&root.join("src"));
    if std::env::var_os("NCZCHUNK_UPDATE_HEADER").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    if let Some((line, (old, new))) =
        committed.lines().zip(fresh.lines()).enumerate().find(|(_, (old, new))| old != new)
    {
        panic!("include/nczchunk.h is out of date at line {}:\n  there: {old}\n  fresh: {new}", line + 1);
    }
    assert_eq!(committed.len(), fresh.len(), "include/nczchunk.h is out of date at its end");
}

fn header(src: &Path) -> String {
    let mut sections = String::new();
    for files in SECTIONS {
        let text = std::fs::read_to_string(src.join(files[0]).with_extension("rs")).unwrap();
        let prose = text.lines().map_while(|line| line.strip_prefix("//!")).collect::<Vec<_>>();
        sections += &comment(&prose);
        match files[0] {
            "ffi/status" => sections += &statuses(),
            "ffi/version" => sections += &version_macros(),
            _ => {}
        }
        sections += "\n";
        sections += declarations(src, files).trim();
        sections += "\n\n";
    }
    let template = include_str!("header.h.in");
    template.replace("@SECTIONS@", sections.trim_end())
}

/// A section's opening: its title, then its prose; code is indented instead of fenced.
fn comment(prose: &[&str]) -> String {
    let mut text = format!("/* {}", "-".repeat(117));
    let mut indent = "";
    for line in prose {
        if let Some(title) = line.strip_prefix(" # ") {
            write!(text, "\n * {}", title.to_uppercase()).unwrap();
        } else if line.starts_with(" ```") {
            indent = if indent.is_empty() { "    " } else { "" };
        } else {
            write!(text, "\n *{}", format!("{indent}{line}").trim_end()).unwrap();
        }
    }
    text + "\n */\n"
}

fn version_macros() -> String {
    let [major, minor, patch] =
        [env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"), env!("CARGO_PKG_VERSION_PATCH")];
    format!(
        "\n#define NCZCHUNK_VERSION_MAJOR {major}\n#define NCZCHUNK_VERSION_MINOR {minor}\n#define NCZCHUNK_VERSION_PATCH {patch}\n\
         #define NCZCHUNK_VERSION \"{major}.{minor}.{patch}\"\n\
         #define NCZCHUNK_VERSION_NUMBER \\\n    (NCZCHUNK_VERSION_MAJOR * 1000000 + NCZCHUNK_VERSION_MINOR * 1000 + NCZCHUNK_VERSION_PATCH)\n"
    )
}

fn statuses() -> String {
    let mut text = String::from("\n");
    for row in TABLE {
        let value = if row.value < 0 { format!("({})", row.value) } else { row.value.to_string() };
        writeln!(text, "#define NCZCHUNK_{:<12} {value:<6} /**< {} */", row.name, row.meaning).unwrap();
    }
    text
}

/// What cbindgen makes of a section's files.
fn declarations(src: &Path, files: &[&str]) -> String {
    let mut config = Config {
        language: Language::C,
        style: Style::Both,
        no_includes: true,
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::Doxy,
        line_length: 120,
        tab_width: 4,
        ..Config::default()
    };
    config.function.sort_by = Some(SortKey::None);
    config.export.rename.insert("Projection".into(), "nczchunk_projection".into());
    let builder = files.iter().fold(Builder::new().with_config(config), |builder, file| {
        builder.with_src(src.join(file).with_extension("rs"))
    });
    let mut declarations = Vec::new();
    builder.generate().unwrap().write(&mut declarations);
    // The types are typedefs, so their tags are wanted only where they are declared.
    let declarations = String::from_utf8(declarations).unwrap();
    declarations
        .lines()
        .map(|line| {
            if line.starts_with("typedef") {
                format!("{line}\n")
            } else {
                line.replace("struct nczchunk_", "nczchunk_") + "\n"
            }
        })
        .collect()
}
