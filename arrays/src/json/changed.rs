//! In what one object differs from another.

use super::value::{ByName, Value};
use super::{Member, read};
use crate::alloc;
use crate::error::Result;

/// A member of an object that another object does not have so.
#[derive(Debug, PartialEq)]
pub struct ChangedMember {
    /// What it is called.
    pub name: String,
    /// Whether the other object has no member of this name.
    pub is_missing: bool,
}

/// The members of one text of an object that another text does not have, or with another value. Numbers are the same
/// however they are written, and so are a list of one item and this item.
///
/// # Errors
/// `Metadata` for a text that is not JSON, and `OutOfMemory`.
pub fn changed_members(one: &str, other: &str) -> Result<Vec<ChangedMember>> {
    let (one, other) = (read(one.as_bytes())?, read(other.as_bytes())?);
    let (there, mut changed) = (ByName::new(other.members())?, Vec::new());
    for (name, value) in ByName::new(one.members())?.distinct() {
        let found = there.get(name);
        if found.is_none_or(|found| !is_same(only(value), only(found))) {
            alloc::push(&mut changed, ChangedMember { name: alloc::text(name)?, is_missing: found.is_none() })?;
        }
    }
    Ok(changed)
}

/// The only item of a list; anything else as it is.
fn only(value: &Value) -> &Value {
    if let Some([item]) = value.as_list() { item } else { value }
}

fn is_same(one: &Value, other: &Value) -> bool {
    let member = |(one, other): (&Member, &Member)| one.0 == other.0 && is_same(&one.1, &other.1);
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => is_same_number(one, other),
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => one.len() == other.len() && one.iter().zip(other).all(member),
        _ => one == other,
    }
}

fn is_same_number(one: &str, other: &str) -> bool {
    match (one.parse::<i128>(), other.parse::<i128>()) {
        _ if one == other => true,
        (Ok(one), Ok(other)) => one == other,
        _ => one.parse::<f64>().is_ok_and(|one| other.parse() == Ok(one)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_are_missing_or_differ_are_told() {
        let one = r#"{"a":1,"b":[2.0],"c":{"x":[1,"1"]},"d":true,"e":NaN,"f":123456789012345678901,"g\"h":"t"}"#;
        let same = r#"{ "g\"h": "t", "f": 123456789012345678901, "e": NaN, "d": true, "c": {"x": [1.0, "1"]},
            "b": 2, "a": [1e0], "more": null}"#;
        assert_eq!(changed_members(one, same).unwrap(), []);
        let other = r#"{"a":2,"b":[2,2],"c":{"x":[1,1]},"d":1,"e":null,"f":123456789012345678902,"g":"t"}"#;
        let changed = changed_members(one, other).unwrap();
        let told: Vec<_> = changed.iter().map(|changed| (changed.name.as_str(), changed.is_missing)).collect();
        let all = ["a", "b", "c", "d", "e", "f"].map(|name| (name, false));
        assert_eq!(told, [&all[..], &[("g\"h", true)]].concat());
        assert!(changed_members("{", "{}").is_err() && changed_members("{}", "[").is_err());
    }
}
