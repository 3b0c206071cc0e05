//! The state of an admission, as decisions and reports say it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! admission_statuses {
    ($($variant:ident $code:literal $sentence:literal,)*) => {
        /// State of the admission of a requested pair.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum AdmissionStatus {
            $(#[doc = $sentence] $variant,)*
        }

        impl AdmissionStatus {
            /// Every value, in order.
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
    fn the_written_code_is_the_serde_name() {
        for status in AdmissionStatus::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.code());
        }
    }
}
