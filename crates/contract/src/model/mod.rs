//! Models: the requested pair, the state of its admission, and its use in a report.

mod facts;
mod refusal;
mod report;
mod usage;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use facts::{AnswerFact, AuthBridgeFact, CredentialFact, EndpointFact, ModelFacts};
pub use refusal::RefusalCode;
pub use report::{ModelCost, ModelReport, ModelUse, ObservedPair, TokenSums};
pub use usage::{
    AnswerShape, Cost, Feature, LARGEST, RequestOutcome, RequestPurpose, Served, ShimApplied, Tokens, UsageRecord,
};

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

/// A protocol between an engine and a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    ChatCompletions,
    Responses,
    Messages,
}

impl Wire {
    pub const ALL: [Self; 3] = [Self::ChatCompletions, Self::Responses, Self::Messages];

    /// The path below the version prefix.
    pub const fn path(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/chat/completions",
            Self::Responses => "/responses",
            Self::Messages => "/messages",
        }
    }
}

macro_rules! admission_statuses {
    ($($variant:ident $code:literal $sentence:literal,)*) => {
        /// State of the admission of a requested pair.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum AdmissionStatus {
            $(#[doc = $sentence] $variant,)*
        }

        impl AdmissionStatus {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Stable code in reports and decisions.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// Explanation for people.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

admission_statuses! {
    Admitted "admitted" "The pair is admitted.",
    MissingAdmission "missing_admission" "No pair is requested, or there is no admission for it.",
    InvalidAdmission "invalid_admission" "The admission cannot be read, has another shape or holds something secret-shaped.",
    NotAdmitted "not_admitted" "The admission does not admit the pair now.",
    Mismatch "mismatch" "The admission is for another pair.",
}

impl fmt::Display for AdmissionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
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

    #[test]
    fn the_written_code_is_the_serde_name() {
        for status in AdmissionStatus::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.code());
        }
    }
}
