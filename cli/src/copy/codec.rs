//! Codecs as the user writes them.

use std::str::FromStr;

/// A codec: its name and its configuration, which is a JSON object or empty; or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Codec {
    name: String,
    configuration: String,
}

impl Codec {
    /// Whether an error is about it.
    pub(super) fn is_meant(&self, error: &nczchunk::Error) -> bool {
        error.about().strip_prefix(self.name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    }

    /// The name and the configuration; `None` for no codec.
    pub(super) fn named(&self) -> Option<(String, String)> {
        (self.name != "none").then(|| (self.name.clone(), self.configuration.clone()))
    }
}

impl FromStr for Codec {
    type Err = String;

    /// `NAME`, `NAME:LEVEL`, `NAME:KEY=VALUE,...` or `NAME:{JSON}`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let id = name.strip_prefix("numcodecs.").unwrap_or(name);
        if id != "none" && !nczchunk::has_codec(id) {
            return Err(format!("codec {name} is unknown"));
        }
        let configuration = match settings {
            "" => String::new(),
            json if json.starts_with('{') => json.to_owned(),
            // The library knows what a number alone is of.
            level if level.parse::<i32>().is_ok() => level.to_owned(),
            pairs => object(pairs)?,
        };
        Ok(Codec { name: name.to_owned(), configuration })
    }
}

/// A JSON object of `KEY=VALUE` with commas between them.
fn object(pairs: &str) -> Result<String, String> {
    let member = |pair: &str| {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("expected an integer or KEY=VALUE after the codec's name, found '{pair}'"))?;
        let is_json = value.parse::<f64>().is_ok() || matches!(value, "true" | "false");
        if [key, value].iter().any(|text| text.contains(['"', '\\'])) {
            return Err(format!("'{pair}' contains a quote or backslash; give the settings as JSON"));
        }
        Ok(if is_json { format!("\"{key}\": {value}") } else { format!("\"{key}\": \"{value}\"") })
    };
    let members: Vec<String> = pairs.split(',').map(member).collect::<Result<_, String>>()?;
    Ok(format!("{{{}}}", members.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_have_settings() {
        for (text, name, configuration) in [
            ("zstd", "zstd", ""),
            ("zstd:-3", "zstd", "-3"),
            ("blosc:cname=zstd,clevel=5", "blosc", r#"{"cname": "zstd", "clevel": 5}"#),
            ("zstd:checksum=true", "zstd", r#"{"checksum": true}"#),
            (r#"gzip:{"level":1}"#, "gzip", r#"{"level":1}"#),
            ("numcodecs.zlib:9", "numcodecs.zlib", "9"),
        ] {
            let codec: Codec = text.parse().unwrap();
            assert_eq!(codec.named(), Some((name.to_owned(), configuration.to_owned())));
        }
        assert_eq!("none".parse::<Codec>().unwrap().named(), None);
        for wrong in ["brotli", "zstd:level", "zstd:a=\"", ""] {
            assert!(wrong.parse::<Codec>().is_err(), "{wrong}");
        }
    }
}
