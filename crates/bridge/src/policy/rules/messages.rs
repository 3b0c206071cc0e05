//! Table of the permitted content of a request to `/v1/messages`.

use super::{Kinds, Shape, Tag};
use crate::policy::admission::Feature;

/// Fields of a request of the messages API.
pub(super) static REQUEST: Shape = Shape::Object(&[
    ("model", Shape::Text),
    ("messages", Shape::Each(&MESSAGE)),
    ("system", Shape::TextOr(&Shape::Each(&PART))),
    ("tools", Shape::Each(&TOOL)),
    ("tool_choice", Shape::Opaque),
    ("max_tokens", Shape::Opaque),
    ("stop_sequences", Shape::Opaque),
    ("temperature", Shape::Opaque),
    ("top_k", Shape::Opaque),
    ("top_p", Shape::Opaque),
    ("thinking", Shape::Opaque),
    ("output_config", Shape::Opaque),
    ("output_format", Shape::Opaque),
    ("context_management", Shape::Opaque),
    ("cache_control", Shape::Opaque),
    ("service_tier", Shape::Opaque),
    ("speed", Shape::Opaque),
    ("stream", Shape::Opaque),
    ("metadata", Shape::Opaque),
    ("mcp_servers", Shape::Refused(Feature::McpServer)),
    ("container", Shape::Refused(Feature::StoredFile)),
    ("background", Shape::Refused(Feature::Background)),
    ("models", Shape::Refused(Feature::ModelFallback)),
    ("fallbacks", Shape::Refused(Feature::ModelFallback)),
    ("fallback_model", Shape::Refused(Feature::ModelFallback)),
]);

static MESSAGE: Shape =
    Shape::Object(&[("role", Shape::Text), ("content", Shape::TextOr(&Shape::Each(&PART))), ("id", Shape::Opaque)]);

static PART: Shape = Shape::Kinds(&Kinds {
    untyped: None,
    kinds: &[
        (Tag::Is("text"), Shape::Opaque),
        (Tag::Is("thinking"), Shape::Opaque),
        (Tag::Is("redacted_thinking"), Shape::Opaque),
        (Tag::Is("tool_use"), Shape::Opaque),
        (Tag::Is("search_result"), Shape::Opaque),
        (Tag::Is("compaction"), Shape::Opaque),
        (Tag::Is("image"), Shape::As(&SOURCED)),
        (Tag::Is("document"), Shape::As(&SOURCED)),
        (Tag::Is("tool_result"), Shape::As(&TOOL_RESULT)),
        (Tag::Is("container_upload"), Shape::Refused(Feature::StoredFile)),
        (Tag::Is("server_tool_use"), Shape::Refused(Feature::HostedTool)),
        (Tag::Starts("mcp_"), Shape::Refused(Feature::McpServer)),
        (Tag::Starts("web_"), Shape::Refused(Feature::HostedTool)),
        (Tag::Starts("code_execution"), Shape::Refused(Feature::HostedTool)),
        (Tag::Starts("bash_code_execution"), Shape::Refused(Feature::HostedTool)),
        (Tag::Starts("text_editor_code_execution"), Shape::Refused(Feature::HostedTool)),
    ],
    otherwise: Feature::Unknown,
});

static SOURCED: Shape = Shape::Object(&[
    ("type", Shape::Text),
    ("source", Shape::Kinds(&SOURCE)),
    ("title", Shape::Opaque),
    ("context", Shape::Opaque),
    ("citations", Shape::Opaque),
    ("cache_control", Shape::Opaque),
]);

static TOOL_RESULT: Shape = Shape::Object(&[
    ("type", Shape::Text),
    ("tool_use_id", Shape::Text),
    ("content", Shape::TextOr(&Shape::Each(&PART))),
    ("is_error", Shape::Opaque),
    ("cache_control", Shape::Opaque),
]);

static SOURCE: Kinds = Kinds {
    untyped: None,
    kinds: &[
        (Tag::Is("base64"), Shape::Opaque),
        (Tag::Is("text"), Shape::Opaque),
        (Tag::Is("content"), Shape::As(&CONTENT_SOURCE)),
        (Tag::Is("url"), Shape::Refused(Feature::ProviderFetch)),
        (Tag::Is("file"), Shape::Refused(Feature::StoredFile)),
    ],
    otherwise: Feature::Unknown,
};

static CONTENT_SOURCE: Shape = Shape::Object(&[("type", Shape::Text), ("content", Shape::TextOr(&Shape::Each(&PART)))]);

/// Tools of the engine itself: without a type, `custom`, or the dated shell and editor
/// types.
static TOOL: Shape = Shape::Kinds(&Kinds {
    untyped: Some(&Shape::Opaque),
    kinds: &[
        (Tag::Is("custom"), Shape::Opaque),
        (Tag::Dated("bash"), Shape::Opaque),
        (Tag::Dated("text_editor"), Shape::Opaque),
        (Tag::Dated("memory"), Shape::Opaque),
        (Tag::Is("mcp_toolset"), Shape::Refused(Feature::McpServer)),
    ],
    otherwise: Feature::HostedTool,
});
