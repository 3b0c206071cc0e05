//! Booleans that a document always says the same of.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// A key whose value is part of the format: a document with another value cannot be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Always<const VALUE: bool>;

impl<const VALUE: bool> Serialize for Always<VALUE> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(VALUE)
    }
}

impl<'de, const VALUE: bool> Deserialize<'de> for Always<VALUE> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match bool::deserialize(deserializer)? {
            found if found == VALUE => Ok(Self),
            _ => Err(D::Error::custom(format_args!("it is always {VALUE}"))),
        }
    }
}

impl<const VALUE: bool> JsonSchema for Always<VALUE> {
    fn schema_name() -> Cow<'static, str> {
        if VALUE { "AlwaysTrue".into() } else { "AlwaysFalse".into() }
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"const": VALUE})
    }
}
