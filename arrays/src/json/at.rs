//! A value together with its place in the document, so that what is wrong with it can be told.

use std::fmt;

use super::value::Value;
use crate::alloc;
use crate::error::{Error, ErrorKind, Result};

/// A value and its place. Displayed it is the place as a JSON path, such as `$.codecs[1].configuration.level`.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    value: &'a Value,
    parent: Option<&'a At<'a>>,
    step: Step<'a>,
}

/// How a value is reached from the one that it is in.
#[derive(Clone, Copy)]
enum Step<'a> {
    Member(&'a str),
    Item(usize),
}

impl<'a> At<'a> {
    /// The whole document.
    pub(crate) fn root(value: &'a Value) -> Self {
        At { value, parent: None, step: Step::Item(0) }
    }

    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    /// The last member of this name, if there is one. `null` counts as a member.
    pub(crate) fn get<'b>(&'b self, name: &'b str) -> Option<At<'b>> {
        Some(At { value: self.value.get(name)?, parent: Some(self), step: Step::Member(name) })
    }

    /// The last member of this name, unless it is missing or `null`.
    pub(crate) fn given<'b>(&'b self, name: &'b str) -> Option<At<'b>> {
        self.get(name).filter(|member| *member.value != Value::Null)
    }

    /// The last member of this name.
    pub(crate) fn require<'b>(&'b self, name: &'b str) -> Result<At<'b>> {
        self.get(name).ok_or_else(|| {
            let missing = At { value: &Value::Null, parent: Some(self), step: Step::Member(name) };
            missing.malformed("it is missing")
        })
    }

    /// Refuses what is no object.
    pub(crate) fn check_object(&self) -> Result<()> {
        self.members().map(drop)
    }

    /// The members of an object.
    pub(crate) fn members(&self) -> Result<impl Iterator<Item = (&str, At<'_>)>> {
        match self.value {
            Value::Object(members) => Ok(members
                .iter()
                .map(|(name, value)| (&**name, At { value, parent: Some(self), step: Step::Member(name) }))),
            _ => Err(self.malformed("expected an object")),
        }
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> Result<impl ExactSizeIterator<Item = At<'_>>> {
        match self.value {
            Value::List(items) => {
                let item = |(i, value)| At { value, parent: Some(self), step: Step::Item(i) };
                Ok(items.iter().enumerate().map(item))
            }
            _ => Err(self.malformed("expected a list")),
        }
    }

    pub(crate) fn text(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.malformed("expected a string"))
    }

    pub(crate) fn usize(&self) -> Result<usize> {
        self.value.as_usize().ok_or_else(|| self.malformed("expected a non-negative integer"))
    }

    /// A list of integers of 0 or more.
    pub(crate) fn usizes(&self) -> Result<Vec<usize>> {
        alloc::try_collected(self.items()?.map(|item| item.usize()))
    }

    /// The error that the value breaks this rule.
    #[cold]
    pub(crate) fn malformed(&self, rule: &'static str) -> Error {
        self.error(ErrorKind::Metadata(rule))
    }

    /// The error that the value asks for this, which the library does not have.
    #[cold]
    pub(crate) fn unsupported(&self, what: &'static str) -> Error {
        self.error(ErrorKind::Unsupported(what))
    }

    /// An error of the value's.
    #[cold]
    pub(crate) fn error(&self, error: impl Into<Error>) -> Error {
        error.into().in_object(self)
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parent) = self.parent else { return f.write_str("$") };
        parent.fmt(f)?;
        match self.step {
            Step::Item(index) => write!(f, "[{index}]"),
            Step::Member(name) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => write!(f, ".{name}"),
            Step::Member(name) => write!(f, "[{name:?}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_place() {
        let value = crate::json::read(br#"{"codecs": [1, {"a b": {"level": "x"}}]}"#).unwrap();
        let root = At::root(&value);
        let codecs = root.require("codecs").unwrap();
        let codec = codecs.items().unwrap().nth(1).unwrap();
        let configuration = codec.require("a b").unwrap();
        let error = configuration.require("level").unwrap().usize().unwrap_err();
        assert_eq!(error.about(), r#"$.codecs[1]["a b"].level"#);
        assert_eq!(configuration.require("size").err().unwrap().about(), r#"$.codecs[1]["a b"].size"#);
        assert_eq!(error.kind(), ErrorKind::Metadata("expected a non-negative integer"));
    }
}
