//! One line of `model-usage.jsonl`: request, use and end of one model request, as the
//! bridge saw it.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{RefusalCode, Wire};
use crate::digest::Digest;
use crate::time::Stamp;

/// The largest number our documents hold.
pub const LARGEST: u64 = (1 << 53) - 1;

/// Tokens as the upstream reported them. What it did not report is unknown, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    /// All of the prompt, cached parts included.
    pub prompt: Option<u64>,
    pub completion: Option<u64>,
    /// The part of the prompt that was read from the provider's cache.
    pub cached: Option<u64>,
    /// The part of the prompt that was written to the provider's cache.
    pub cache_written: Option<u64>,
    /// The part of the completion that was reasoning.
    pub reasoning: Option<u64>,
}

impl Tokens {
    /// Prompt and completion together, when both are known.
    pub fn total(&self) -> Option<u64> {
        Some(self.prompt?.saturating_add(self.completion?))
    }
}

/// Cost of a request: micro-units of the price table's currency, rounded up, or a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    Micros(u64),
    /// The model has no price.
    Unpriced,
    /// The model has a price, and the upstream did not say what was used.
    Unknown,
    /// Nothing was sent.
    Nothing,
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Micros(micros) => serializer.serialize_u64((*micros).min(LARGEST)),
            Self::Unpriced => serializer.serialize_str("unpriced"),
            Self::Unknown => serializer.serialize_str("unknown"),
            Self::Nothing => serializer.serialize_u64(0),
        }
    }
}

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Word(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(0) => Ok(Self::Nothing),
            Written::Number(micros) => Ok(Self::Micros(micros)),
            Written::Word(word) if word == "unpriced" => Ok(Self::Unpriced),
            Written::Word(word) if word == "unknown" => Ok(Self::Unknown),
            Written::Word(_) => Err(de::Error::custom("a cost is a number, `unpriced` or `unknown`")),
        }
    }
}

impl JsonSchema for Cost {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Cost".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Micro-units of the price table's currency, rounded up; 0 where nothing was sent.",
            "anyOf": [{"type": "integer", "minimum": 0}, {"enum": ["unpriced", "unknown"]}],
        })
    }
}

/// Sender of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestPurpose {
    Engine,
    Probe,
}

/// End of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestOutcome {
    /// The model's answer was passed on up to the last event of its wire, or as a whole
    /// document. A hang-up afterwards changes nothing.
    Answered,
    /// The upstream's own error was passed on, or its word that the response failed or is
    /// incomplete.
    UpstreamError,
    /// Answered by the bridge itself: the list of models, a greeting.
    Local,
    /// Refused before anything was sent.
    Refused,
    /// Sent, and ended by a fault of the upstream.
    Failed,
    /// The engine went away before its socket had taken all of the answer, or the harness
    /// was killed before the request ended.
    Disconnected,
}

/// Comparison of the model name in the upstream's answer with the admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Served {
    Exact,
    DeclaredAlias,
    /// A fault: the answer is not passed on.
    OtherFamily,
    /// The answer names no model, or there was none.
    Unknown,
}

/// Service of a provider beyond a plain answer. Refused unless the network class names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// A tool the provider runs, or one of a type the bridge does not know.
    HostedTool,
    McpServer,
    /// A URL for the provider to fetch.
    ProviderFetch,
    /// Something that lies with the provider, by its id: a file, a container, an audio clip.
    StoredFile,
    /// A prompt that lies with the provider.
    StoredPrompt,
    Background,
    /// A conversation, a response or an item that was not made in this run.
    ForeignConversation,
    /// Other models to use when the asked one is not there. Nothing can allow it.
    ModelFallback,
    /// A field, a content part or an item the bridge does not know.
    Unknown,
}

impl Feature {
    /// Description for people, with its article.
    pub const fn text(self) -> &'static str {
        match self {
            Self::HostedTool => "a tool the provider would run",
            Self::McpServer => "an MCP server",
            Self::ProviderFetch => "a URL for the provider to fetch",
            Self::StoredFile => "something stored with the provider",
            Self::StoredPrompt => "a prompt stored with the provider",
            Self::Background => "work in the background",
            Self::ForeignConversation => "a conversation that is not of this run",
            Self::ModelFallback => "models to fall back to",
            Self::Unknown => "something the bridge does not know",
        }
    }
}

/// Change that the declared shape shim made to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShimApplied {
    RaisedBudget,
    AskedForContent,
}

/// Kinds of content in an answer. Kinds only: the text itself is recorded elsewhere or not
/// at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AnswerShape {
    pub content: bool,
    pub reasoning: bool,
    pub tool_calls: bool,
}

impl AnswerShape {
    /// Reasoning and nothing a person or a tool could use.
    pub fn is_reasoning_only(&self) -> bool {
        self.reasoning && !self.content && !self.tool_calls
    }
}

/// One line of `model-usage.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Model usage")]
pub struct UsageRecord {
    pub seq: u64,
    pub time: Stamp,
    pub purpose: RequestPurpose,
    pub route: String,
    pub wire: Option<Wire>,
    pub provider: String,
    pub model_asked: Option<String>,
    pub model_answered: Option<String>,
    pub served: Served,
    pub outcome: RequestOutcome,
    pub refused: bool,
    pub refusal: Option<RefusalCode>,
    /// Cause of the refusal or fault, bounded in length and printable.
    pub detail: Option<String>,
    /// HTTP status that the engine got; null if the engine had hung up before.
    pub status: Option<u16>,
    pub streamed: bool,
    /// Answered from a recording, nothing was sent.
    pub replayed: bool,
    /// The provider speaks another wire.
    pub translated: bool,
    /// Fields that a translation dropped, by their names in the table of translations.
    pub left_out: Vec<String>,
    pub shim: Vec<ShimApplied>,
    pub allowed_features: Vec<Feature>,
    pub stripped_headers: u32,
    pub stripped_fields: u32,
    pub tokens: Tokens,
    pub cost_micros: Cost,
    pub finish_reason: Option<String>,
    pub answer: AnswerShape,
    pub first_byte_ms: Option<u64>,
    pub total_ms: u64,
    pub request_bytes: u64,
    pub response_bytes: u64,
    pub request_sha256: Option<Digest>,
    pub response_sha256: Option<Digest>,
}

impl UsageRecord {
    /// Record of a request about which nothing is known yet.
    pub fn blank(seq: u64, time: Stamp, purpose: RequestPurpose) -> Self {
        Self {
            seq,
            time,
            purpose,
            route: String::new(),
            wire: None,
            provider: String::new(),
            model_asked: None,
            model_answered: None,
            served: Served::Unknown,
            // Default until another end is reported: the client is gone.
            outcome: RequestOutcome::Disconnected,
            refused: false,
            refusal: None,
            detail: None,
            status: None,
            streamed: false,
            replayed: false,
            translated: false,
            left_out: Vec::new(),
            shim: Vec::new(),
            allowed_features: Vec::new(),
            stripped_headers: 0,
            stripped_fields: 0,
            tokens: Tokens::default(),
            cost_micros: Cost::Nothing,
            finish_reason: None,
            answer: AnswerShape::default(),
            first_byte_ms: None,
            total_ms: 0,
            request_bytes: 0,
            response_bytes: 0,
            request_sha256: None,
            response_sha256: None,
        }
    }

    /// True if the admitted model answered the engine. A model-backed run needs at least
    /// one such record.
    pub fn is_evidence(&self) -> bool {
        self.outcome == RequestOutcome::Answered
            && self.purpose == RequestPurpose::Engine
            && matches!(self.served, Served::Exact | Served::DeclaredAlias)
    }

    /// True if bytes went to the upstream, or to the recording that replaces it.
    pub fn was_sent(&self) -> bool {
        !matches!(self.outcome, RequestOutcome::Local | RequestOutcome::Refused)
    }
}
