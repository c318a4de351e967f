//! The JSON reader.

use super::value::{Text, Value};
use crate::alloc;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limit;

/// The most lists and objects that may be within each other. It also bounds the recursion of all that walks a value.
const DEEPEST: usize = 128;
/// About how many bytes of memory a value takes, which may be written with a byte or two.
const VALUE: usize = 100;

/// Reads a JSON text of the caller's own: see [`read_within`].
pub(crate) fn read(text: &[u8]) -> Result<Value> {
    read_within(text, Limit::NONE)
}

/// Reads a JSON text, with which it takes so much memory at most. A byte order mark before it is skipped; a lone
/// surrogate is read as U+FFFD, and kept as [`Text`] says.
///
/// # Errors
/// `Metadata` about the line and column, which count from 1, the column in bytes; `Limit`; `OutOfMemory`.
pub(crate) fn read_within(text: &[u8], limit: Limit) -> Result<Value> {
    let of_text = text.len().saturating_mul(2);
    limit.check(of_text)?;
    let most = (limit.bytes - of_text.min(limit.bytes)) / VALUE;
    let bytes = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Reader { text: "", at: 0, values: 0, most, limit }.error_at("the text is not UTF-8", bytes, error.valid_up_to())
    })?;
    let mut reader = Reader { text, at: 0, values: 0, most, limit };
    reader.space();
    let value = reader.value(0)?;
    reader.space();
    if reader.at < text.len() { Err(reader.error("text follows the JSON value")) } else { Ok(value) }
}

struct Reader<'a> {
    text: &'a str,
    /// The next byte, at a character's beginning or the text's end.
    at: usize,
    /// How many values have been read, how many may be, and by which limit.
    values: usize,
    most: usize,
    limit: Limit,
}

impl<'a> Reader<'a> {
    #[cold]
    fn error(&self, rule: &'static str) -> Error {
        self.error_at(rule, self.text.as_bytes(), self.at)
    }

    #[cold]
    fn error_at(&self, rule: &'static str, text: &[u8], at: usize) -> Error {
        let before = text.get(..at).unwrap_or(text);
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
        ErrorKind::Metadata(rule).in_object(format_args!("line {line}, column {column}"))
    }

    /// What is left.
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips this byte, which is ASCII, if it is the next.
    fn skip(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips bytes of ASCII.
    fn skip_while(&mut self, is_one: impl Fn(u8) -> bool) -> usize {
        let begin = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii() && is_one(byte)) {
            self.at += 1;
        }
        self.at - begin
    }

    /// The value that begins here, within `depth` lists and objects.
    fn value(&mut self, depth: usize) -> Result<Value> {
        self.values += 1;
        if self.values > self.most {
            return Err(self.limit.exceeded(None));
        }
        match self.peek() {
            None => Err(self.error("the JSON text is truncated")),
            Some(b'{' | b'[') if depth == DEEPEST => Err(self.error("lists and objects are nested more than 128 deep")),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => Ok(Value::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
        }
    }

    fn word(&mut self) -> Result<Value> {
        let begin = self.at;
        self.skip_while(|byte| byte.is_ascii_alphanumeric());
        Ok(match self.text.get(begin..self.at).unwrap_or_default() {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            number @ ("NaN" | "Infinity") => Value::Number(alloc::text(number)?),
            _ => {
                self.at = begin;
                return Err(self.error("expected a JSON value"));
            }
        })
    }

    fn number(&mut self) -> Result<Value> {
        const INFINITE: &str = "-Infinity";
        let begin = self.at;
        if self.rest().starts_with(INFINITE) {
            self.at += INFINITE.len();
            return Ok(Value::Number(alloc::text(INFINITE)?));
        }
        self.skip(b'-');
        let has_zero = self.peek() == Some(b'0');
        let mut is_number = match self.skip_while(|byte| byte.is_ascii_digit()) {
            0 => false,
            digits => digits == 1 || !has_zero,
        };
        if self.skip(b'.') {
            is_number &= self.skip_while(|byte| byte.is_ascii_digit()) > 0;
        }
        if self.skip(b'e') || self.skip(b'E') {
            let _ = self.skip(b'+') || self.skip(b'-');
            is_number &= self.skip_while(|byte| byte.is_ascii_digit()) > 0;
        }
        if !is_number {
            self.at = begin;
            return Err(self.error("the number is not valid JSON"));
        }
        Ok(Value::Number(alloc::text(self.text.get(begin..self.at).unwrap_or_default())?))
    }

    fn list(&mut self, depth: usize) -> Result<Value> {
        let mut items = Vec::new();
        self.at += 1;
        self.space();
        if self.skip(b']') {
            return Ok(Value::List(items));
        }
        loop {
            self.space();
            alloc::push(&mut items, self.value(depth + 1)?)?;
            self.space();
            if self.skip(b']') {
                return Ok(Value::List(items));
            }
            if !self.skip(b',') {
                return Err(self.error("expected ',' or ']'"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value> {
        let mut members = Vec::new();
        self.at += 1;
        self.space();
        if self.skip(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a member's name"));
            }
            let name = self.string()?;
            self.space();
            if !self.skip(b':') {
                return Err(self.error("expected ':'"));
            }
            self.space();
            alloc::push(&mut members, (name, self.value(depth + 1)?))?;
            self.space();
            if self.skip(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.skip(b',') {
                return Err(self.error("expected ',' or '}'"));
            }
        }
    }

    /// The text whose quotation mark is next.
    fn string(&mut self) -> Result<Text> {
        let mut text = String::new();
        self.at += 1;
        let begin = self.at;
        let mut is_exact = true;
        loop {
            let rest = self.rest();
            let plain = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(rest.len());
            alloc::push_text(&mut text, rest.get(..plain).unwrap_or_default())?;
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    let escaped = self.text.get(begin..self.at).filter(|_| !is_exact).map(alloc::text).transpose()?;
                    self.at += 1;
                    return Ok(Text::read(text, escaped));
                }
                Some(b'\\') => {
                    let escaped = self.escape()?;
                    is_exact &= escaped.is_some();
                    let character = escaped.unwrap_or(char::REPLACEMENT_CHARACTER);
                    alloc::push_text(&mut text, character.encode_utf8(&mut [0; 4]))?;
                }
                Some(_) => return Err(self.error("a control character in a string must be escaped")),
                None => return Err(self.error("the JSON text is truncated")),
            }
        }
    }

    /// The character whose escape's backslash is next; `None` for a lone surrogate, which is none.
    fn escape(&mut self) -> Result<Option<char>> {
        let begin = self.at;
        self.at += 1;
        let letter = self.peek();
        self.at += 1;
        Ok(Some(match letter {
            Some(letter @ (b'"' | b'\\' | b'/')) => letter.into(),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => match self.unit() {
                Some(high @ 0xd800..=0xdbff) => return Ok(self.low(high)),
                Some(unit) => return Ok(char::from_u32(unit)),
                None => return Err(self.bad_escape(begin)),
            },
            _ => return Err(self.bad_escape(begin)),
        }))
    }

    #[cold]
    fn bad_escape(&mut self, begin: usize) -> Error {
        self.at = begin;
        self.error("unknown escape sequence")
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at.checked_add(4)?)?;
        let mut unit = 0;
        for &digit in digits {
            unit = unit * 16 + char::from(digit).to_digit(16)?;
        }
        self.at += 4;
        Some(unit)
    }

    /// The character of a pair of surrogates, the first of which has been read. Without the second nothing is skipped.
    fn low(&mut self, high: u32) -> Option<char> {
        let begin = self.at;
        let low = if self.skip(b'\\') && self.skip(b'u') { self.unit() } else { None };
        match low {
            Some(low @ 0xdc00..=0xdfff) => char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)),
            _ => {
                self.at = begin;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::compact;

    fn about(text: &[u8]) -> String {
        read(text).unwrap_err().about().to_owned()
    }

    #[test]
    fn values_are_read_and_written_as_they_stand() {
        for text in [
            "null",
            "true",
            "[]",
            "{}",
            "[[],{}]",
            "-0",
            "1.5E+10",
            "0.1",
            "NaN",
            "[Infinity,-Infinity]",
            r#"{"a":{"b":[1,"x",null,false]},"a":18446744073709551616}"#,
            r#""\"\\\n\t\r\u0001/""#,
            "\"\u{e4}\u{1f600}\"",
            // Surrogates alone are no characters, and stay.
            r#"["\ud800","\ud800\u0041\/","\ude00\ud83d"]"#,
            r#"{"\ud800":{"\uDC00\n":1},"a":2}"#,
        ] {
            assert_eq!(compact(&read(text.as_bytes()).unwrap()).unwrap(), text);
        }
        assert_eq!(read(b"\xef\xbb\xbf \t\r\n[ 1 , 2 ] ").unwrap(), read(b"[1,2]").unwrap());
    }

    #[test]
    fn escapes_are_characters() {
        let text = |escaped: &str| match read(format!("\"{escaped}\"").as_bytes()).unwrap() {
            Value::Text(text) => text.to_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(text(r"\u00e4\/\b\f\r\n\t"), "\u{e4}/\u{8}\u{c}\r\n\t");
        assert_eq!(text(r"\ud83d\ude00"), "\u{1f600}");
        assert_eq!(text(r"\ud83d\u0041 \ud83d \ude00\ud83d"), "\u{fffd}A \u{fffd} \u{fffd}\u{fffd}");
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for text in [
            "",
            " ",
            "nul",
            "truex",
            "01",
            "1.",
            ".5",
            "+1",
            "-",
            "1e",
            "[1,]",
            "[1 2]",
            "{\"a\"}",
            "{a:1}",
            "{\"a\":1,}",
            "\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\u123",
            "\"\n\"",
            "1 2",
            "[",
            "{\"a\":",
            "'a'",
            "-NaN",
            "\"\\",
            "\\",
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(about(b"{\n  \"a\": 1,\n  \"b\": x}"), "line 3, column 8");
        assert_eq!(about(b"[1,\n\"\xff\"]"), "line 2, column 2");
    }

    #[test]
    fn depth_is_limited() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert!(read(&nested(128)).is_ok());
        assert_eq!(about(&nested(129)), "line 1, column 129");
        assert!(read(&nested(100_000)).is_err());
        assert!(read("{\"a\":".repeat(100_000).as_bytes()).is_err());
    }

    #[test]
    fn a_number_may_have_any_length() {
        let digits = "9".repeat(100_000);
        assert_eq!(read(digits.as_bytes()).unwrap().as_f64(), Some(f64::INFINITY));
    }

    #[test]
    fn memory_is_limited() {
        use crate::limits::MemoryLimits;
        let within =
            |bytes, text: &[u8]| read_within(text, MemoryLimits::default().with_metadata_bytes(bytes).metadata());
        let text = b"[[], 0]";
        assert!(within(2 * text.len() + 3 * VALUE, text).is_ok());
        for (bytes, needed) in [(2 * text.len() + 3 * VALUE - 1, None), (13, Some(14))] {
            let kind = ErrorKind::Limit { name: "metadata_bytes", needed, limit: bytes };
            assert_eq!(within(bytes, text).unwrap_err().kind(), kind);
        }
    }
}
