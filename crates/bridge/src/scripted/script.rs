//! The script, as data.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::talk::Asked;
use crate::wire::Wire;

/// What a server answers with.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Tried in order; the first that fits and is not used up answers.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// Answers when no step does.
    #[serde(default)]
    pub otherwise: Reply,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    #[serde(default)]
    pub when: When,
    /// How often it answers; without it, always.
    #[serde(default)]
    pub times: Option<u64>,
    pub reply: Reply,
}

/// Which requests a step is for; what is not said fits all.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    #[serde(default)]
    pub wire: Option<Wire>,
    /// Stands in the body.
    #[serde(default)]
    pub contains: Option<String>,
}

impl When {
    pub(super) fn fits(&self, asked: &Asked) -> bool {
        let body = String::from_utf8_lossy(&asked.body);
        self.wire.is_none_or(|wire| asked.wire == Some(wire))
            && self.contains.as_ref().is_none_or(|text| body.contains(text.as_str()))
    }
}

/// One reply. Its parts come in this order: reasoning, text, calls.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reply {
    pub reasoning: Option<String>,
    pub text: Option<String>,
    pub calls: Vec<Call>,
    /// An error instead of an answer.
    pub error: Option<ErrorReply>,
    /// Bytes as they are instead of anything else.
    pub raw: Option<Vec<Raw>>,
    /// The name it answers with; without one, the name it was asked by.
    pub model: Option<String>,
    /// Tokens it reports, prompt and completion; null reports none.
    pub usage: Option<(u64, u64)>,
    /// How many frames a text comes in.
    pub frames: usize,
    pub finish: Option<String>,
    pub delay_head_ms: u64,
    pub delay_frame_ms: u64,
    /// Breaks the connection after so many frames.
    pub cut_after: Option<usize>,
    /// Puts this in the place of the frame with that number.
    pub bad_frame: Option<(usize, String)>,
    /// Writes so many bytes at a time.
    pub split: Option<usize>,
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            reasoning: None,
            text: None,
            calls: Vec::new(),
            error: None,
            raw: None,
            model: None,
            usage: Some((11, 7)),
            frames: 3,
            finish: None,
            delay_head_ms: 0,
            delay_frame_ms: 0,
            cut_after: None,
            bad_frame: None,
            split: None,
        }
    }
}

impl Reply {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self { calls: vec![Call { name: name.into(), arguments }], ..Self::default() }
    }

    pub fn error(status: u16, message: impl Into<String>) -> Self {
        Self { error: Some(ErrorReply { status, message: message.into() }), ..Self::default() }
    }

    pub fn raw(pieces: Vec<Raw>) -> Self {
        Self { raw: Some(pieces), ..Self::default() }
    }
}

/// A call of a tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    pub name: String,
    pub arguments: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorReply {
    pub status: u16,
    pub message: String,
}

/// A step of a reply that is bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Raw {
    Send(String),
    Base64(String),
    /// The same text so many times.
    Repeat(String, u64),
    WaitMs(u64),
    /// Keeps the connection open and silent until the server stops.
    Hang,
}

impl Raw {
    pub(super) fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Send(text) => Cow::Borrowed(text.as_bytes()),
            Self::Base64(text) => Cow::Owned(STANDARD.decode(text).unwrap_or_default()),
            Self::Repeat(..) | Self::WaitMs(_) | Self::Hang => Cow::Borrowed(&[]),
        }
    }
}
