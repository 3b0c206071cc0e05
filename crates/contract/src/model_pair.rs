//! A requested model: its provider and its name.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A provider and one of its models.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelPair {
    pub provider: String,
    pub model: String,
}

/// Text that is no `PROVIDER/MODEL`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a model is named PROVIDER/MODEL, in printable characters without spaces")]
pub struct ParsePairError;

impl ModelPair {
    /// Longer than any name in use.
    const LONGEST: usize = 200;

    /// Checks the names, which go into headers, file names and reports: printable, without
    /// spaces, bounded in length.
    pub fn new(provider: &str, model: &str) -> Result<Self, ParsePairError> {
        let named = |name: &str| {
            !name.is_empty() && name.len() <= Self::LONGEST && name.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if named(provider) && named(model) && !provider.contains('/') {
            Ok(Self { provider: provider.to_owned(), model: model.to_owned() })
        } else {
            Err(ParsePairError)
        }
    }
}

impl std::str::FromStr for ModelPair {
    type Err = ParsePairError;

    /// A model's own name may hold slashes, a provider's may not.
    fn from_str(text: &str) -> Result<Self, ParsePairError> {
        let (provider, model) = text.split_once('/').ok_or(ParsePairError)?;
        Self::new(provider, model)
    }
}

impl fmt::Display for ModelPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_strictly() {
        let rows = [
            ("p/m", Some("p/m")),
            ("openrouter/vendor/m:free", Some("openrouter/vendor/m:free")),
            ("p", None),
            ("/m", None),
            ("p/", None),
            ("p/m x", None),
            ("p/m\n", None),
            ("p/\u{1b}[31m", None),
        ];
        for (text, expected) in rows {
            let pair = text.parse::<ModelPair>().ok().map(|pair| pair.to_string());
            assert_eq!(pair.as_deref(), expected, "{text:?}");
        }
        assert!(format!("p/{}", "m".repeat(201)).parse::<ModelPair>().is_err());
    }
}
