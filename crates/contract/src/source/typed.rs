//! From a checked tree to a type: a serde deserializer whose errors have positions, for
//! rules that only the type knows.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::node::{MapKey, Node, Span, ValueKind};
use super::problem::{Fatal, Problem, SourceRule, clipped};

const MESSAGE_CHARS: usize = 240;

/// Builds the type from a checked tree. An error here is a rule that only the type knows;
/// it is reported at the position of the value.
pub(super) fn build_typed<T: DeserializeOwned>(root: &Node) -> Result<T, Fatal> {
    T::deserialize(At(root)).map_err(|error| {
        let message = clipped(&error.message, MESSAGE_CHARS);
        Problem::new(error.span.unwrap_or(root.span), SourceRule::Invalid, message).into()
    })
}

#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Misfit {
    span: Option<Span>,
    message: String,
}

impl Misfit {
    /// The innermost place wins.
    fn within(self, span: Span) -> Misfit {
        Misfit { span: self.span.or(Some(span)), ..self }
    }
}

impl de::Error for Misfit {
    fn custom<M: fmt::Display>(message: M) -> Misfit {
        Misfit { span: None, message: message.to_string() }
    }
}

struct At<'n>(&'n Node);

impl<'de> Deserializer<'de> for At<'_> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match &self.0.kind {
            ValueKind::Null => visitor.visit_unit(),
            ValueKind::Bool(yes) => visitor.visit_bool(*yes),
            ValueKind::Int(number) => visitor.visit_i64(*number),
            ValueKind::Float(text) | ValueKind::Text(text) => visitor.visit_str(text),
            ValueKind::Seq(items) => visitor.visit_seq(Items(items)),
            ValueKind::Map(entries) => visitor.visit_map(Entries(entries)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if self.0.kind == ValueKind::Null { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match &self.0.kind {
            ValueKind::Text(text) => visitor.visit_enum(StrDeserializer::new(text)),
            ValueKind::Map(entries) => visitor.visit_enum(MapAccessDeserializer::new(Entries(entries))),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Items<'n>(&'n [Node]);

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Misfit;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Misfit> {
        let Some((item, rest)) = self.0.split_first() else {
            return Ok(None);
        };
        self.0 = rest;
        seed.deserialize(At(item)).map(Some).map_err(|error| error.within(item.span))
    }
}

/// Entries of a map that are left; the key of the first may already have been taken.
struct Entries<'n>(&'n [(MapKey, Node)]);

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Misfit;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Misfit> {
        let Some((MapKey { text, span }, _)) = self.0.first() else {
            return Ok(None);
        };
        let key = Node { kind: ValueKind::Text(text.clone()), span: *span };
        seed.deserialize(At(&key)).map(Some).map_err(|error| error.within(*span))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Misfit> {
        let Some(((_, value), rest)) = self.0.split_first() else {
            return Err(de::Error::custom("a key without a value"));
        };
        self.0 = rest;
        seed.deserialize(At(value)).map_err(|error| error.within(value.span))
    }
}
