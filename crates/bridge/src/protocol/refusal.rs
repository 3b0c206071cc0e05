//! A refusal of one request, in its wire's own shape.

pub use contract::model::RefusalCode;

use crate::protocol::wire::{Wire, error_body, error_event};

/// A refusal of one request. `outside` is for the engine and holds nothing it did not send
/// or may not know; `inside` goes to the record alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestRefusal {
    pub(crate) code: RefusalCode,
    /// Detail for the engine; must reveal nothing about the operator.
    pub(crate) outside: Option<String>,
    /// Detail for the record only.
    pub(crate) inside: Option<String>,
}

impl From<RefusalCode> for RequestRefusal {
    fn from(code: RefusalCode) -> Self {
        Self { code, outside: None, inside: None }
    }
}

impl RequestRefusal {
    /// Said to both.
    pub(crate) fn saying(code: RefusalCode, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { code, inside: Some(text.clone()), outside: Some(text) }
    }

    /// Said to the record alone.
    pub(crate) fn noting(code: RefusalCode, text: impl Into<String>) -> Self {
        Self { code, inside: Some(text.into()), outside: None }
    }

    /// Text for the engine. It never contains details that only the operator may see.
    pub(crate) fn message(&self) -> String {
        match &self.outside {
            Some(outside) => format!("cto bridge: {} {outside}", self.code.text()),
            None => format!("cto bridge: {}", self.code.text()),
        }
    }

    /// Error body in the shape of the wire.
    pub(crate) fn body(&self, wire: Wire) -> String {
        error_body(wire, self.code.status(), self.code.code(), &self.message())
    }

    /// Error event in the shape of the wire, for a stream that has begun.
    pub(crate) fn error_event(&self, wire: Wire) -> String {
        error_event(wire, self.code.status(), self.code.code(), &self.message())
    }
}
