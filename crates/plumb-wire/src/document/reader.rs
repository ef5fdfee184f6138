//! How a parsed document becomes a value. The reader of the crate `toml` has a type of its own for each way in
//! which serde is shown a table; here there is one for all, so that what is derived for a type is compiled once.

use std::fmt;
use std::ops::Range;
use std::vec;

use serde::de::value::{BorrowedStrDeserializer, U64Deserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer as _,
    MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};
use toml::map::IntoIter;

use super::words::{wrong_kind, wrong_value};

/// The name under which a [`Spanned`] asks for its place beside its value.
const SPANNED: &str = "$__serde_spanned_private_Spanned";

/// What is wrong, and where as far as it is known.
#[derive(Debug)]
pub(super) struct Misfit {
    pub(super) message: String,
    pub(super) at: Option<Range<usize>>,
}

impl Misfit {
    /// The same at `at`, unless its place is known already.
    fn within(self, at: &Range<usize>) -> Self {
        Self { at: self.at.or_else(|| Some(at.clone())), ..self }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.message)
    }
}

impl std::error::Error for Misfit {}

impl serde::de::Error for Misfit {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { message: message.to_string(), at: None }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(wrong_kind(found, expected))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(wrong_value(found, expected))
    }
}

/// A value of the document that is to be read.
#[derive(Debug)]
pub(super) struct Reader<'de> {
    value: DeValue<'de>,
    at: Range<usize>,
}

impl<'de> Reader<'de> {
    pub(super) fn of_document(table: Spanned<DeTable<'de>>) -> Self {
        Self { at: table.span(), value: DeValue::Table(table.into_inner()) }
    }

    fn of(value: Spanned<DeValue<'de>>) -> Self {
        Self { at: value.span(), value: value.into_inner() }
    }

    fn of_key(key: Spanned<DeString<'de>>) -> Self {
        Self { at: key.span(), value: DeValue::String(key.into_inner()) }
    }

    /// Shows `visitor` what is no table and no array.
    fn scalar<V: Visitor<'de>>(value: DeValue<'de>, visitor: V) -> Result<V::Value, Misfit> {
        match value {
            DeValue::String(DeString::Owned(text)) => visitor.visit_string(text),
            DeValue::String(DeString::Borrowed(text)) => visitor.visit_borrowed_str(text),
            DeValue::Integer(number) => {
                let (digits, radix) = (number.as_str(), number.radix());
                match (i64::from_str_radix(digits, radix), u64::from_str_radix(digits, radix)) {
                    (Ok(number), _) => visitor.visit_i64(number),
                    (Err(_), Ok(number)) => visitor.visit_u64(number),
                    (Err(_), Err(_)) => Err(Misfit::custom("integer number overflowed")),
                }
            }
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(read) if read.is_finite() || number.as_str().contains("inf") => {
                    visitor.visit_f64(read)
                }
                Ok(read) if read.is_nan() => visitor.visit_f64(read),
                _ => Err(Misfit::custom("floating-point number overflowed")),
            },
            DeValue::Boolean(is) => visitor.visit_bool(is),
            DeValue::Datetime(_) => {
                Err(Misfit::invalid_type(Unexpected::Other("date or time"), &visitor))
            }
            DeValue::Array(_) => Err(Misfit::invalid_type(Unexpected::Seq, &visitor)),
            DeValue::Table(_) => Err(Misfit::invalid_type(Unexpected::Map, &visitor)),
        }
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let Self { value, at } = self;
        let read = match value {
            DeValue::Array(values) => visitor.visit_seq(Elements(values.into_iter())),
            DeValue::Table(table) => visitor.visit_map(Entries::of(table)),
            scalar => Self::scalar(scalar, visitor),
        };
        read.map_err(|misfit| misfit.within(&at))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let at = self.at.clone();
        let read = match self.value {
            _ if name == SPANNED => visitor.visit_map(Entries::Spanned {
                names: fields.iter(),
                place: [at.start, at.end].into_iter(),
                value: Some(self),
            }),
            DeValue::Table(table) => visitor.visit_map(Entries::of(table)),
            other => Self::scalar(other, visitor),
        };
        read.map_err(|misfit| misfit.within(&at))
    }

    // what is absent is not in the table
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let at = self.at.clone();
        visitor.visit_some(self).map_err(|misfit| misfit.within(&at))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let at = self.at.clone();
        visitor.visit_newtype_struct(self).map_err(|misfit| misfit.within(&at))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let at = self.at.clone();
        let is_variant = match &self.value {
            DeValue::String(_) => Ok(()),
            DeValue::Table(table) if table.len() == 1 => Ok(()),
            DeValue::Table(table) if table.is_empty() => {
                Err("wanted exactly 1 element, found 0 elements")
            }
            DeValue::Table(_) => Err("wanted exactly 1 element, more than 1 element"),
            _ => Err("wanted string or table"),
        };
        let read = is_variant.map_err(Misfit::custom).and_then(|()| visitor.visit_enum(self));
        read.map_err(|misfit| misfit.within(&at))
    }

    forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string seq
        bytes byte_buf map unit ignored_any unit_struct tuple_struct tuple identifier
    }
}

/// The elements of an array.
struct Elements<'de>(vec::IntoIter<Spanned<DeValue<'de>>>);

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Misfit> {
        self.0.next().map(|value| seed.deserialize(Reader::of(value))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// The entries of a table, or a value and its place, which serde is shown as one.
enum Entries<'de> {
    Table {
        entries: IntoIter<Spanned<DeString<'de>>, Spanned<DeValue<'de>>>,
        value: Option<Reader<'de>>,
    },
    Spanned {
        /// Of beginning, end and value.
        names: std::slice::Iter<'static, &'static str>,
        place: std::array::IntoIter<usize, 2>,
        value: Option<Reader<'de>>,
    },
}

impl<'de> Entries<'de> {
    fn of(table: DeTable<'de>) -> Self {
        Self::Table { entries: table.into_iter(), value: None }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Misfit> {
        match self {
            Self::Table { entries, value } => {
                let Some((key, of_key)) = entries.next() else { return Ok(None) };
                *value = Some(Reader::of(of_key));
                let at = key.span();
                let read = seed.deserialize(Reader::of_key(key));
                read.map(Some).map_err(|misfit| misfit.within(&at))
            }
            Self::Spanned { names, .. } => {
                let name = names.next();
                name.map(|name| seed.deserialize(BorrowedStrDeserializer::new(name))).transpose()
            }
        }
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Misfit> {
        let value = match self {
            Self::Spanned { place, value, .. } => match place.next() {
                Some(byte) => return seed.deserialize(byte_place(byte)),
                None => value.take(),
            },
            Self::Table { value, .. } => value.take(),
        };
        let Some(value) = value else { return Err(Misfit::custom("a value without a key")) };
        let at = value.at.clone();
        seed.deserialize(value).map_err(|misfit| misfit.within(&at))
    }
}

/// A byte of the document, for serde.
fn byte_place(byte: usize) -> U64Deserializer<Misfit> {
    (byte as u64).into_deserializer()
}

impl<'de> EnumAccess<'de> for Reader<'de> {
    type Error = Misfit;
    type Variant = Variant<'de>;

    fn variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<(T::Value, Variant<'de>), Misfit> {
        let (name, content) = match self.value {
            DeValue::Table(table) => match table.into_iter().next() {
                Some((name, content)) => (Reader::of_key(name), Some(Reader::of(content))),
                None => return Err(Misfit::custom("wanted exactly 1 element, found 0 elements")),
            },
            value => (Self { value, at: self.at }, None),
        };
        let at = name.at.clone();
        let variant = seed.deserialize(name).map_err(|misfit| misfit.within(&at))?;
        Ok((variant, Variant(content)))
    }
}

/// What a variant holds; `None`: only its name was written.
#[derive(Debug)]
pub(super) struct Variant<'de>(Option<Reader<'de>>);

impl<'de> Variant<'de> {
    fn content(self, expected: &'static str) -> Result<Reader<'de>, Misfit> {
        self.0.ok_or_else(|| Misfit::invalid_type(Unexpected::UnitVariant, &expected))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Misfit;

    fn unit_variant(self) -> Result<(), Misfit> {
        let Some(Reader { value, at }) = self.0 else { return Ok(()) };
        let problem = match value {
            DeValue::Array(values) if values.is_empty() => return Ok(()),
            DeValue::Table(table) if table.is_empty() => return Ok(()),
            DeValue::Array(_) => "expected empty array",
            DeValue::Table(_) => "expected empty table",
            _ => "expected table",
        };
        Err(Misfit::custom(problem).within(&at))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Misfit> {
        seed.deserialize(self.content("newtype variant")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Misfit> {
        self.content("tuple variant")?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.content("struct variant")?.deserialize_struct("", fields, visitor)
    }
}
