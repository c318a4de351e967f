//! The headers are generated from the code: those in `include` must be what is generated now.
//!
//! `NCZCHUNK_UPDATE_HEADER=1 cargo test --test header` writes them anew, and what follows from the table of statuses in
//! C++ and Python.

use std::fmt::Write;
use std::path::Path;

use cbindgen::bindgen::ir::{Function, IntKind, PrimitiveType, Type};
use cbindgen::{Builder, Config, DocumentationStyle, Language, SortKey, Style};
use nczchunk::TYPES;
use nczchunk::status::{Status, TABLE};

/// A header: its file, the text that its sections are put into, and the sections in their order. Of each section, the
/// file that declares it and, where it uses a record that is defined elsewhere, the file with the record.
struct Header {
    path: &'static str,
    template: &'static str,
    sections: &'static [&'static [&'static str]],
}

const HEADERS: [Header; 2] = [
    Header {
        path: "include/nczchunk.h",
        template: include_str!("header.h.in"),
        sections: &[
            &["src/version"],
            &["src/status"],
            &["src/objects"],
            &["src/var"],
            &["src/read"],
            &["src/write"],
            &["src/points"],
            &["src/context", "src/progress"],
            &["src/plan", "engine/src/projection"],
            &["src/layout"],
            &["src/store", "engine/src/store/flight"],
            &["src/codec"],
            &["src/cache"],
            &["src/copy"],
            &["src/projection"],
            &["src/odometer"],
            &["src/key"],
            &["src/chunkshape"],
            &["src/classic"],
        ],
    },
    Header {
        path: "include/nczchunk_array.h",
        template: include_str!("array_header.h.in"),
        sections: &[
            &["src/array_objects"],
            &["src/types"],
            &["src/array"],
            &["src/array_points"],
            &["src/attribute"],
            &["src/create"],
            &["src/rechunk"],
            &["src/group"],
            &["src/list"],
            &["src/locate"],
            &["src/storage", "arrays/src/object/flight"],
        ],
    },
];

/// The opaque types that are declared before the functions which use them.
const OBJECTS: &[&str] = &[
    "nczchunk_context",
    "nczchunk_var",
    "nczchunk_chunk_store",
    "nczchunk_codec",
    "nczchunk_cache",
    "nczchunk_plan",
    "nczchunk_array",
    "nczchunk_storage",
];

/// The structures that callers fill in, or have filled in: they set struct_size, and what they do not use to 0.
const FILLED_BY_CALLERS: &[&str] = &[
    "nczchunk_totals",
    "nczchunk_zero_copy_callbacks",
    "nczchunk_reader_callbacks",
    "nczchunk_advise_costs",
    "nczchunk_zstd_options",
    "nczchunk_codec_callbacks",
    "nczchunk_cache_statistics",
    "nczchunk_attribute",
    "nczchunk_read_cost",
    "nczchunk_memory_limits",
    "nczchunk_storage_callbacks",
    "nczchunk_description",
    "nczchunk_rechunk_options",
    "nczchunk_rechunk_report",
];

#[test]
fn the_headers_are_up_to_date() {
    for header in &HEADERS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(header.path);
        let fresh = header.text();
        if std::env::var_os("NCZCHUNK_UPDATE_HEADER").is_some() {
            std::fs::write(&path, &fresh).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        if let Some((line, (old, new))) =
            committed.lines().zip(fresh.lines()).enumerate().find(|(_, (old, new))| old != new)
        {
            panic!("{} is out of date at line {}:\n  there: {old}\n  fresh: {new}", header.path, line + 1);
        }
        assert_eq!(committed.len(), fresh.len(), "{} is out of date at its end", header.path);
    }
}

/// Parts of files that are written by hand follow from the table of statuses.
#[test]
fn what_follows_from_the_statuses_is_up_to_date() {
    let rows = || TABLE.iter();
    let mut names = String::from("/// The library's own statuses by name; nczchunk.h says what each stands for.\n");
    let constants: Vec<String> = rows().map(|row| format!("    {} = NCZCHUNK_{}", row.cpp, row.name)).collect();
    write!(names, "enum class Status : int {{\n{}\n}};\n", constants.join(",\n")).unwrap();
    let condition = |row: &Status| {
        let errc = row.errc?;
        Some(format!("        case Status::{}: return std::errc::{errc};\n", row.cpp))
    };
    let raised = |row: &Status| format!("    {}: {},  # {}\n", row.value, row.python, row.name);
    for (file, what, indent, comment, part) in [
        ("include/nczchunk.hpp", "Statuses", "", "//", names),
        ("include/nczchunk.hpp", "Conditions", "        ", "//", rows().filter_map(condition).collect()),
        ("python/src/nczchunk/errors.py", "Statuses", "    ", "#", rows().map(raised).collect()),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        // The published crate is without Python.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let begin = format!("{indent}{comment} {what}: written by tests/header.rs.\n");
        let end = format!("{indent}{comment} End of {}.\n", what.to_lowercase());
        let (before, rest) = text.split_once(&begin).unwrap();
        let (there, after) = rest.split_once(&end).unwrap();
        if std::env::var_os("NCZCHUNK_UPDATE_HEADER").is_some() {
            std::fs::write(&path, [before, &begin, &part, &end, after].concat()).unwrap();
        } else {
            assert!(there == part, "{file}: {what} are out of date");
        }
    }
}

impl Header {
    fn text(&self) -> String {
        let root = &Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut sections = String::new();
        for files in self.sections {
            let text = std::fs::read_to_string(root.join(files[0]).with_extension("rs")).unwrap();
            let prose = text.lines().map_while(|line| line.strip_prefix("//!")).collect::<Vec<_>>();
            sections += &comment(&prose);
            match files[0] {
                "src/status" => sections += &statuses(),
                "src/types" => sections += &types(),
                "src/version" => sections += &version_macros(),
                "src/plan" => sections += &all_chunks(),
                _ => {}
            }
            sections += "\n";
            let declarations = declarations(root, files);
            if !declarations.trim().is_empty() {
                sections += declarations.trim();
                sections += "\n\n";
            }
            sections += &initialisers(&declarations);
        }
        self.template.replace("@SECTIONS@", sections.trim_end())
    }
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

/// Macros that initialise the structures of a section which callers fill in, in C and in C++11.
fn initialisers(declarations: &str) -> String {
    let mut text = String::new();
    for name in FILLED_BY_CALLERS {
        let Some((_, rest)) = declarations.split_once(&format!("typedef struct {name} {{")) else { continue };
        let (body, _) = rest.split_once(&format!("}} {name};")).unwrap();
        let is_code = |line: &&str| !line.trim_start().starts_with(['/', '*']);
        let code = body.lines().filter(is_code).collect::<Vec<_>>().join(" ");
        let fields: Vec<&str> = code.split(';').map(str::trim).filter(|field| !field.is_empty()).collect();
        let values = fields[1..].iter().map(|field| if field.contains('*') { ", NULL" } else { ", 0" });
        let upper = name.to_uppercase();
        let mut values: String = values.collect();
        writeln!(text, "/** Initialises a {name} that uses nothing yet. */").unwrap();
        // Where the line would be too long, half of them are on another.
        let half = values.match_indices(", ").nth(values.matches(", ").count() / 2).map_or(0, |(at, _)| at + 1);
        if values.len() > 80 {
            values.replace_range(half..=half, " \\\n     ");
        }
        writeln!(text, "#define {upper}_INIT \\\n    {{sizeof({name}){values}}}\n").unwrap();
    }
    text
}

fn version_macros() -> String {
    // A line that is continued here loses its indentation.
    const INDENT: &str = "    ";
    let [major, minor, patch] =
        [env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"), env!("CARGO_PKG_VERSION_PATCH")];
    format!(
        "\n#define NCZCHUNK_VERSION_MAJOR {major}\n\
         #define NCZCHUNK_VERSION_MINOR {minor}\n\
         #define NCZCHUNK_VERSION_PATCH {patch}\n\
         #define NCZCHUNK_VERSION \"{major}.{minor}.{patch}\"\n\
         #define NCZCHUNK_VERSION_NUMBER \\\n\
         {INDENT}(NCZCHUNK_VERSION_MAJOR * 1000000 + NCZCHUNK_VERSION_MINOR * 1000 + NCZCHUNK_VERSION_PATCH)\n"
    )
}

/// A constant whose value cbindgen cannot tell.
fn all_chunks() -> String {
    "\n/** As a number of chunks: all of the plan's that follow the first one. */\n#define NCZCHUNK_ALL SIZE_MAX\n"
        .into()
}

fn types() -> String {
    let mut text = String::new();
    let mut rows: Vec<_> = TYPES.iter().filter_map(|row| Some((row.netcdf?, row))).collect();
    rows.sort_by_key(|((number, _), _)| *number);
    for ((number, constant), row) in rows {
        write!(
            text,
            "\n/**\n * {}: \"{}\".\n */\n#define NCZCHUNK_{constant} {number}\n",
            row.meaning.trim(),
            row.name
        )
        .unwrap();
    }
    text
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
fn declarations(root: &Path, files: &[&str]) -> String {
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
    config.function.prefix = Some("NCZCHUNK_API".into());
    config.function.must_use = Some("NCZCHUNK_MUST_USE".into());
    // Types that no function of the section uses are left out unless they are asked for by name.
    config.export.include.extend(OBJECTS.iter().map(|name| name.to_string()));
    for (rust, c) in [
        ("Projection", "nczchunk_projection"),
        ("RawRequest", "nczchunk_request"),
        ("ObjectRequest", "nczchunk_object_request"),
    ] {
        config.export.rename.insert(rust.into(), c.into());
    }
    let builder = files.iter().fold(Builder::new().with_config(config), |builder, file| {
        builder.with_src(root.join(file).with_extension("rs"))
    });
    let mut bindings = builder.generate().unwrap();
    for function in &mut bindings.functions {
        function.annotations.must_use = returns_status(function);
    }
    let mut declarations = Vec::new();
    bindings.write(&mut declarations);
    // The types are typedefs, so their tags are wanted only where they are declared.
    let declarations = String::from_utf8(declarations).unwrap();
    // cbindgen gives each macro a line where the arguments have one each; one line for both is enough.
    let declarations = declarations.replace("NCZCHUNK_API\nNCZCHUNK_MUST_USE\n", "NCZCHUNK_API NCZCHUNK_MUST_USE\n");
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

/// Whether the int that a function returns is a status, which nobody should ignore. A function that has no pointer
/// through which it could give or change something can only be asked for its int, which then is an answer.
fn returns_status(function: &Function) -> bool {
    let returns_int = matches!(&function.ret, Type::Primitive(PrimitiveType::Integer { kind: IntKind::Int, .. }));
    returns_int && function.args.iter().any(|argument| matches!(&argument.ty, Type::Ptr { is_const: false, .. }))
}
