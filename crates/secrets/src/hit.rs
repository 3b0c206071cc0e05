//! Hits: position and rule, never the value.

use std::fmt;
use std::sync::Arc;

/// Meaning of a found value for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A credential the harness injected.
    Credential,
    /// An endpoint value: a host, a base URL.
    Endpoint,
    /// The run token: redacted and counted, but worthless outside the run.
    Token,
    /// Decoy, which no program has a reason to touch.
    Canary,
    /// A well-known shape.
    Shape,
    /// Well-known shape whose value occurs in the baseline.
    Baseline,
    /// Well-known shape that the contract allows.
    Allowed,
}

impl Class {
    /// True if a hit of this class is a `secret_leak`. A touched canary is a finding of its
    /// own.
    pub fn is_leak(self) -> bool {
        match self {
            Class::Credential | Class::Endpoint | Class::Shape => true,
            Class::Token | Class::Canary | Class::Baseline | Class::Allowed => false,
        }
    }

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Class::Credential => "credential",
            Class::Endpoint => "endpoint",
            Class::Token => "token",
            Class::Canary => "canary",
            Class::Shape => "shape",
            Class::Baseline => "baseline",
            Class::Allowed => "allowed",
        }
    }
}

/// Encoding in which the value was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encoding {
    Plain,
    Base64,
    Hex,
    Url,
    Json,
}

impl Encoding {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Plain => "plain",
            Encoding::Base64 => "base64",
            Encoding::Hex => "hex",
            Encoding::Url => "url",
            Encoding::Json => "json",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One found secret, without its value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hit {
    /// Offset in the scanned bytes, before any redaction.
    pub offset: u64,
    /// Length in the scanned bytes, in the found encoding.
    pub len: u64,
    /// The id of a rule, or the name of a known value.
    pub rule: Arc<str>,
    pub class: Class,
    pub encoding: Encoding,
    /// The SHA-256 of a shape's value without its line breaks, by which it can be allowed.
    /// None for a known value.
    pub value_sha256: Option<[u8; 32]>,
}
