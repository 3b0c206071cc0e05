//! Table of the permitted content of a request to `/v1/chat/completions`.

use super::{Kinds, Shape, Tag};
use crate::policy::admission::Feature;

/// Fields of a request for chat completions.
pub(super) static REQUEST: Shape = Shape::Object(&[
    ("model", Shape::Text),
    ("messages", Shape::Each(&MESSAGE)),
    ("tools", Shape::Each(&TOOL)),
    ("tool_choice", Shape::Opaque),
    ("functions", Shape::Opaque),
    ("function_call", Shape::Opaque),
    ("parallel_tool_calls", Shape::Opaque),
    ("max_tokens", Shape::Opaque),
    ("max_completion_tokens", Shape::Opaque),
    ("temperature", Shape::Opaque),
    ("top_p", Shape::Opaque),
    ("top_k", Shape::Opaque),
    ("min_p", Shape::Opaque),
    ("n", Shape::Opaque),
    ("seed", Shape::Opaque),
    ("stop", Shape::Opaque),
    ("presence_penalty", Shape::Opaque),
    ("frequency_penalty", Shape::Opaque),
    ("repetition_penalty", Shape::Opaque),
    ("repeat_penalty", Shape::Opaque),
    ("logit_bias", Shape::Opaque),
    ("logprobs", Shape::Opaque),
    ("top_logprobs", Shape::Opaque),
    ("response_format", Shape::Opaque),
    ("reasoning_effort", Shape::Opaque),
    ("reasoning", Shape::Opaque),
    ("reasoning_format", Shape::Opaque),
    ("include_reasoning", Shape::Opaque),
    ("thinking", Shape::Opaque),
    ("enable_thinking", Shape::Opaque),
    ("chat_template_kwargs", Shape::Opaque),
    ("verbosity", Shape::Opaque),
    ("modalities", Shape::Opaque),
    ("prediction", Shape::Opaque),
    ("prompt_cache_key", Shape::Opaque),
    ("prompt_cache_retention", Shape::Opaque),
    ("cache_prompt", Shape::Opaque),
    ("service_tier", Shape::Opaque),
    ("store", Shape::Opaque),
    ("stream", Shape::Opaque),
    ("stream_options", Shape::Opaque),
    ("metadata", Shape::Opaque),
    ("user", Shape::Opaque),
    ("safety_identifier", Shape::Opaque),
    ("web_search_options", Shape::Refused(Feature::HostedTool)),
    ("search_parameters", Shape::Refused(Feature::HostedTool)),
    ("plugins", Shape::Refused(Feature::HostedTool)),
    ("mcp_servers", Shape::Refused(Feature::McpServer)),
    ("background", Shape::Refused(Feature::Background)),
    ("models", Shape::Refused(Feature::ModelFallback)),
    ("route", Shape::Refused(Feature::ModelFallback)),
    ("fallbacks", Shape::Refused(Feature::ModelFallback)),
]);

static MESSAGE: Shape = Shape::Object(&[
    ("role", Shape::Text),
    ("content", Shape::TextOr(&Shape::Each(&PART))),
    ("name", Shape::Opaque),
    ("tool_calls", Shape::Opaque),
    ("tool_call_id", Shape::Opaque),
    ("function_call", Shape::Opaque),
    ("refusal", Shape::Opaque),
    ("reasoning", Shape::Opaque),
    ("reasoning_content", Shape::Opaque),
    ("reasoning_details", Shape::Opaque),
    ("reasoning_text", Shape::Opaque),
    ("annotations", Shape::Opaque),
    ("cache_control", Shape::Opaque),
    ("prefix", Shape::Opaque),
    ("audio", Shape::Refused(Feature::StoredFile)),
]);

static URL: Shape = Shape::Object(&[("url", Shape::DataUrl), ("detail", Shape::Opaque), ("format", Shape::Opaque)]);
static URL_PART: Shape = Shape::Object(&[
    ("type", Shape::Text),
    ("image_url", Shape::Kinds(&BARE_URL)),
    ("video_url", Shape::Kinds(&BARE_URL)),
    ("audio_url", Shape::Kinds(&BARE_URL)),
    ("cache_control", Shape::Opaque),
]);
/// URL in its object form only: a URL as plain text is a fetch.
static BARE_URL: Kinds = Kinds { untyped: Some(&URL), kinds: &[], otherwise: Feature::ProviderFetch };

static PART: Shape = Shape::Kinds(&Kinds {
    untyped: None,
    kinds: &[
        (Tag::Is("text"), Shape::Opaque),
        (Tag::Is("refusal"), Shape::Opaque),
        (Tag::Is("thinking"), Shape::Opaque),
        (Tag::Is("image_url"), Shape::As(&URL_PART)),
        (Tag::Is("video_url"), Shape::As(&URL_PART)),
        (Tag::Is("audio_url"), Shape::As(&URL_PART)),
        (Tag::Is("input_audio"), Shape::Object(&[("type", Shape::Text), ("input_audio", Shape::As(&INLINE_AUDIO))])),
        (
            Tag::Is("file"),
            Shape::Object(&[("type", Shape::Text), ("file", Shape::As(&FILE)), ("cache_control", Shape::Opaque)]),
        ),
    ],
    otherwise: Feature::Unknown,
});

static INLINE_AUDIO: Shape = Shape::Object(&[("data", Shape::Text), ("format", Shape::Text)]);

static FILE: Shape = Shape::Object(&[
    ("filename", Shape::Text),
    ("file_data", Shape::DataUrl),
    ("file_id", Shape::Refused(Feature::StoredFile)),
]);

static TOOL: Shape = Shape::Kinds(&Kinds {
    untyped: None,
    kinds: &[
        (Tag::Is("function"), Shape::Opaque),
        (Tag::Is("custom"), Shape::Opaque),
        (Tag::Is("mcp"), Shape::As(&MCP)),
    ],
    otherwise: Feature::HostedTool,
});

static MCP: Shape = Shape::Refused(Feature::McpServer);
