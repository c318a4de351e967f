//! What a JSON text says.

use std::fmt::Display;
use std::ops::Deref;

use crate::alloc::{self, Failed};
use crate::error::Result;

/// A text, or a member's name.
///
/// JSON can escape a surrogate that is no half of a pair. That is no character: it is read as U+FFFD, and written again
/// as it was.
#[derive(Debug, PartialEq)]
pub(crate) struct Text {
    text: String,
    /// What stands between the quotation marks, where U+FFFD does not say what it was.
    escaped: Option<String>,
}

impl Text {
    pub(super) fn read(text: String, escaped: Option<String>) -> Text {
        Text { text, escaped }
    }

    pub(super) fn escaped(&self) -> Option<&str> {
        self.escaped.as_deref()
    }

    /// Whether it has no surrogate that is no half of a pair.
    pub(crate) fn is_unicode(&self) -> bool {
        self.escaped.is_none()
    }

    /// Whether this is the name, and not one that is only read like it.
    fn is(&self, name: &str) -> bool {
        self.text == name && self.escaped.is_none()
    }

    fn copied(&self) -> Result<Text> {
        let escaped = self.escaped.as_deref().map(alloc::text).transpose()?;
        Ok(Text { text: alloc::text(&self.text)?, escaped })
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text { text, escaped: None }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.text == other
    }
}

/// A member of an object: its name and its value.
pub(crate) type Member = (Text, Value);

/// A JSON value.
#[derive(Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// The number's text as it stands, for what it has to fit is not known yet. It may be `NaN`, `Infinity` or
    /// `-Infinity`.
    Number(String),
    Text(Text),
    List(Vec<Value>),
    /// The members in their order. Of several with one name the last counts.
    Object(Vec<Member>),
}

impl Value {
    /// A text.
    pub(crate) fn text(text: &str) -> Result<Value> {
        Ok(Value::Text(alloc::text(text)?.into()))
    }

    /// What is displayed, as a text.
    pub(crate) fn text_of(what: impl Display) -> Result<Value> {
        Ok(Value::Text(displayed(&what)?.into()))
    }

    /// A number that is written like this.
    pub(crate) fn number(number: impl Display) -> Result<Value> {
        Ok(Value::Number(displayed(&number)?))
    }

    /// A list of what comes, unless one of it is an error.
    pub(crate) fn list(values: impl IntoIterator<Item = Result<Value>>) -> Result<Value> {
        alloc::try_collected(values).map(Value::List)
    }

    /// A list of numbers.
    pub(crate) fn numbers(numbers: &[usize]) -> Result<Value> {
        Value::list(numbers.iter().map(Value::number))
    }

    /// An object with these members.
    pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Result<Value> {
        alloc::try_collected(members.map(|(name, value)| Ok((alloc::text(name)?.into(), value)))).map(Value::Object)
    }

    /// Adds a member to an object; any other value stays as it is.
    pub(crate) fn push(&mut self, name: &str, value: Value) -> Result<()> {
        if let Value::Object(members) = self {
            alloc::push(members, (alloc::text(name)?.into(), value))?;
        }
        Ok(())
    }

    /// Adds the members of another object to an object; any other value stays as it is.
    pub(crate) fn append(&mut self, other: Value) -> Result<()> {
        if let (Value::Object(members), Value::Object(others)) = (self, other) {
            members.try_reserve(others.len()).map_err(|_| Failed)?;
            members.extend(others);
        }
        Ok(())
    }

    /// A copy of an object with those of its members whose names are wanted; of any other value an empty object.
    pub(crate) fn copied_members(&self, is_wanted: impl Fn(&str) -> bool) -> Result<Value> {
        let wanted = self.members().iter().filter(|(name, _)| is_wanted(name));
        alloc::try_collected(wanted.map(|(name, value)| Ok((name.copied()?, value.copied()?)))).map(Value::Object)
    }

    /// A copy.
    pub(crate) fn copied(&self) -> Result<Value> {
        Ok(match self {
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(*value),
            Value::Number(text) => Value::Number(alloc::text(text)?),
            Value::Text(text) => Value::Text(text.copied()?),
            Value::List(items) => Value::list(items.iter().map(Value::copied))?,
            Value::Object(_) => self.copied_members(|_| true)?,
        })
    }

    /// The last member of this name, if the value is an object that has one.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.members().iter().rev().find(|(member, _)| *member == *name).map(|(_, value)| value)
    }

    /// As [`get`](Self::get), to be changed; not a member whose name is only read like this one.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let Value::Object(members) = self else { return None };
        members.iter_mut().rev().find(|(member, _)| member.is(name)).map(|(_, value)| value)
    }

    /// Gives the member of this name another value, or adds one to an object; any other value stays as it is.
    pub(crate) fn set(&mut self, name: &str, value: Value) -> Result<()> {
        match self.get_mut(name) {
            Some(member) => *member = value,
            None => self.push(name, value)?,
        }
        Ok(())
    }

    /// Gives the members of an object the values that they have in another, and adds those that it lacks; any other
    /// value stays as it is. The names of the other's members [are Unicode](Text::is_unicode).
    pub(crate) fn update(&mut self, other: &Value) -> Result<()> {
        let Value::Object(members) = self else { return Ok(()) };
        let others = ByName::new(other.members())?;
        for (name, value) in members.iter_mut().filter(|(name, _)| name.is_unicode()) {
            if let Some(new) = others.get(name) {
                *value = new.copied()?;
            }
        }
        let mut before = ByName::new(members)?;
        before.order.retain(|&place| members[place].0.is_unicode());
        let added = others.distinct().filter(|(name, _)| before.get(name).is_none());
        let added = alloc::try_collected(added.map(|(name, value)| Ok((alloc::text(name)?.into(), value.copied()?))))?;
        self.append(Value::Object(added))
    }

    /// As [`get_mut`](Self::get_mut), taken out of the object; the members before it stay where they are.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        let Value::Object(members) = self else { return None };
        let at = members.iter().rposition(|(member, _)| member.is(name))?;
        Some(members.remove(at).1)
    }

    /// The members of an object; none of any other value.
    pub(crate) fn members(&self) -> &[Member] {
        if let Value::Object(members) = self { members } else { &[] }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn as_list(&self) -> Option<&[Value]> {
        if let Value::List(items) = self { Some(items) } else { None }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self { Some(*value) } else { None }
    }

    /// A number's text.
    pub(crate) fn as_number(&self) -> Option<&str> {
        if let Value::Number(text) = self { Some(text) } else { None }
    }

    /// A number that is written as an integer and fits. `3.0` is none, as for zarr-python.
    pub(crate) fn as_usize(&self) -> Option<usize> {
        self.as_number()?.parse().ok()
    }

    /// As [`as_usize`](Self::as_usize).
    pub(crate) fn as_i64(&self) -> Option<i64> {
        self.as_number()?.parse().ok()
    }

    /// As [`as_usize`](Self::as_usize).
    pub(crate) fn as_u64(&self) -> Option<u64> {
        self.as_number()?.parse().ok()
    }

    /// The nearest double of a number; one that is too large is infinite.
    pub(crate) fn as_f64(&self) -> Option<f64> {
        self.as_number()?.parse().ok()
    }
}

/// The members of an object in the order of their names, so that many of them are looked up quickly.
pub(crate) struct ByName<'v> {
    members: &'v [Member],
    /// Their places, by name and, of several with one name, as they come.
    order: Vec<usize>,
}

impl<'v> ByName<'v> {
    /// Those of an object; none of any other value.
    pub(crate) fn new(members: &'v [Member]) -> Result<Self> {
        let mut order = alloc::collected(0..members.len())?;
        order.sort_unstable_by_key(|&place| (&*members[place].0, place));
        Ok(ByName { members, order })
    }

    /// Where the first and the last member of this name are.
    fn places(&self, name: &str) -> Option<(usize, usize)> {
        let name_of = |place: &usize| &*self.members[*place].0;
        let begin = self.order.partition_point(|place| name_of(place) < name);
        let end = self.order.partition_point(|place| name_of(place) <= name);
        let of_name = self.order.get(begin..end)?;
        Some((*of_name.first()?, *of_name.last()?))
    }

    /// The last member of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&'v Value> {
        self.places(name).map(|(_, last)| &self.members[last].1)
    }

    /// All names in the order of the first members that have them, and the last of these members.
    pub(crate) fn distinct(&self) -> impl Iterator<Item = (&'v str, &'v Value)> {
        self.members.iter().enumerate().filter_map(|(place, (name, _))| {
            let (first, last) = self.places(name)?;
            (first == place).then(|| (&**name, &self.members[last].1))
        })
    }
}

/// What is displayed, as a text.
fn displayed(what: &dyn Display) -> Result<String> {
    /// A text that grows, and says when it cannot.
    struct Growing(String);

    impl std::fmt::Write for Growing {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            alloc::push_text(&mut self.0, text).map_err(|_| std::fmt::Error)
        }
    }
    let mut growing = Growing(String::new());
    std::fmt::Write::write_fmt(&mut growing, format_args!("{what}")).map_err(|_| Failed)?;
    Ok(growing.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_integers_that_fit_are_integers() {
        let number = |text: &str| Value::Number(text.to_owned());
        assert_eq!(number("18446744073709551615").as_u64(), Some(u64::MAX));
        assert_eq!(number("18446744073709551615").as_i64(), None);
        assert_eq!(number("-5").as_i64(), Some(-5));
        for text in ["3.0", "1e3", "NaN", "-1", "18446744073709551616"] {
            assert_eq!(number(text).as_usize(), None, "{text}");
        }
        assert_eq!(Value::text("3").unwrap().as_usize(), None);
        assert_eq!((number("0.1").as_f64(), number("-Infinity").as_f64()), (Some(0.1), Some(f64::NEG_INFINITY)));
    }

    #[test]
    fn the_last_of_several_members_counts() {
        let object = Value::object([("a", Value::Null), ("b", Value::Bool(true)), ("a", Value::Bool(false))]).unwrap();
        assert_eq!(object.get("a"), Some(&Value::Bool(false)));
        assert_eq!((object.get("c"), Value::Null.get("a")), (None, None));
        assert_eq!(object.copied().unwrap(), object);
        let mut changed = object.copied().unwrap();
        changed.set("a", Value::Null).unwrap();
        changed.set("c", Value::Null).unwrap();
        let null = Some(&Value::Null);
        assert_eq!((changed.get("a"), changed.get("c"), changed.members().len()), (null, null, 4));
    }

    #[test]
    fn members_are_found_by_name() {
        let number = |number: u32| Value::number(number).unwrap();
        let members =
            ["b", "a", "c", "a", "b", "a"].into_iter().zip(0..).map(|(name, i)| (name.to_owned().into(), number(i)));
        let members: Vec<Member> = members.collect();
        let by_name = ByName::new(&members).unwrap();
        let found: Vec<_> = ["a", "b", "c", "d", ""].into_iter().map(|name| by_name.get(name)).collect();
        assert_eq!(found, [Some(&number(5)), Some(&number(4)), Some(&number(2)), None, None]);
        let distinct: Vec<_> = by_name.distinct().collect();
        assert_eq!(distinct, [("b", &number(4)), ("a", &number(5)), ("c", &number(2))]);
        assert_eq!(ByName::new(&[]).unwrap().get("a"), None);
    }

    #[test]
    fn a_member_is_added_to_an_object_only() {
        let mut object = Value::object([]).unwrap();
        object.push("a", Value::Null).unwrap();
        assert_eq!(object.members().len(), 1);
        for mut other in [Value::Null, Value::List(Vec::new()), Value::text("{}").unwrap()] {
            let before = other.copied().unwrap();
            other.push("a", Value::Null).unwrap();
            assert_eq!(other, before);
        }
    }
}
