//! What some writers put where a list or a text belongs: nothing at all, or an object.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{LOST, Pair};

/// Integers below this are themselves as floating-point numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A list; `null` is an empty one, and an object holds its elements, or lists of them, as members.
pub(super) fn list<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    from.deserialize_any(Elements(PhantomData, |_, member| match member {
        Member::Many(elements) => elements,
        Member::One(element) => vec![element],
        Member::Text(_) | Member::Nothing => Vec::new(),
    }))
}

/// A list of pairs; of an object also members whose values are texts.
pub(super) fn pairs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Pair>, D::Error> {
    from.deserialize_any(Elements(PhantomData, |name, member| match member {
        Member::Many(pairs) => pairs,
        Member::One(pair) => vec![pair],
        Member::Text(value) => vec![Pair { name, value }],
        Member::Nothing => Vec::new(),
    }))
}

/// A value; `null` is the usual one.
pub(super) fn or_usual<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

/// The value of a field: a text, or a number or a truth in the shortest letters of JSON (`12.50` is `12.5`);
/// `null` is empty, and anything else is [`LOST`], numbers of more digits than are kept among it.
pub(super) fn field<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Text(String),
        Integer(i64),
        Large(u64),
        Real(f64),
        Whether(bool),
        Nothing(()),
        Other(IgnoredAny),
    }
    Ok(match Written::deserialize(from)? {
        Written::Text(text) => text,
        Written::Integer(number) => number.to_string(),
        Written::Large(number) => number.to_string(),
        Written::Real(number) if number.abs() < EXACT => number.to_string(),
        Written::Whether(is_so) => is_so.to_string(),
        Written::Nothing(()) => String::new(),
        Written::Real(_) | Written::Other(_) => LOST.into(),
    })
}

/// True of `true` and of a text that says something; anything else says nothing.
pub(super) fn is_said<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Said {
        Whether(bool),
        What(String),
        Nothing(IgnoredAny),
    }
    Ok(match Said::deserialize(from)? {
        Said::Whether(is_said) => is_said,
        Said::What(text) => !text.is_empty(),
        Said::Nothing(_) => false,
    })
}

/// An integer; anything else is none.
pub(super) fn integer<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Told {
        Integer(i64),
        Nothing(IgnoredAny),
    }
    Ok(match Told::deserialize(from)? {
        Told::Integer(value) => Some(value),
        Told::Nothing(_) => None,
    })
}

/// A member of an object that stands for a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Member<T> {
    Many(Vec<T>),
    One(T),
    Text(String),
    Nothing,
}

struct Elements<T, F>(PhantomData<T>, F);

impl<'de, T, F> Visitor<'de> for Elements<T, F>
where
    T: DeserializeOwned,
    F: Fn(String, Member<T>) -> Vec<T>,
{
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(element) = from.next_element()? {
            all.push(element);
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some((name, member)) = from.next_entry::<String, Member<T>>()? {
            all.extend((self.1)(name, member));
        }
        Ok(all)
    }
}
