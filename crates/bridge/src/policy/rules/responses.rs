//! Table of the permitted content of a request to `/v1/responses`.

use super::{Kinds, Shape, Tag};
use crate::policy::admission::Feature;

/// Fields of a request of the responses API.
pub(super) static REQUEST: Shape = Shape::Object(&[
    ("model", Shape::Text),
    ("input", Shape::TextOr(&Shape::Each(&ITEM))),
    ("instructions", Shape::Text),
    ("tools", Shape::Each(&TOOL)),
    ("tool_choice", Shape::Opaque),
    ("parallel_tool_calls", Shape::Opaque),
    ("max_tool_calls", Shape::Opaque),
    ("max_output_tokens", Shape::Opaque),
    ("temperature", Shape::Opaque),
    ("top_p", Shape::Opaque),
    ("top_logprobs", Shape::Opaque),
    ("reasoning", Shape::Opaque),
    ("text", Shape::Opaque),
    ("truncation", Shape::Opaque),
    ("context_management", Shape::Opaque),
    ("include", Shape::Opaque),
    ("service_tier", Shape::Opaque),
    ("store", Shape::Opaque),
    ("stream", Shape::Opaque),
    ("stream_options", Shape::Opaque),
    ("prompt_cache_key", Shape::Opaque),
    ("prompt_cache_retention", Shape::Opaque),
    ("metadata", Shape::Opaque),
    ("client_metadata", Shape::Opaque),
    ("user", Shape::Opaque),
    ("safety_identifier", Shape::Opaque),
    ("background", Shape::Refused(Feature::Background)),
    ("conversation", Shape::Refused(Feature::ForeignConversation)),
    ("previous_response_id", Shape::Issued),
    ("prompt", Shape::Refused(Feature::StoredPrompt)),
    ("mcp_servers", Shape::Refused(Feature::McpServer)),
    ("models", Shape::Refused(Feature::ModelFallback)),
    ("fallbacks", Shape::Refused(Feature::ModelFallback)),
]);

static ITEM: Shape = Shape::Kinds(&Kinds {
    untyped: Some(&MESSAGE),
    kinds: &[
        (Tag::Is("message"), Shape::As(&MESSAGE)),
        (Tag::Is("function_call"), Shape::Opaque),
        (Tag::Is("custom_tool_call"), Shape::Opaque),
        (Tag::Is("local_shell_call"), Shape::Opaque),
        (Tag::Is("shell_call"), Shape::As(&LOCAL_CALL)),
        (Tag::Is("apply_patch_call"), Shape::Opaque),
        (Tag::Is("function_call_output"), Shape::As(&OUTPUT)),
        (Tag::Is("custom_tool_call_output"), Shape::As(&OUTPUT)),
        (Tag::Is("local_shell_call_output"), Shape::As(&OUTPUT)),
        (Tag::Is("shell_call_output"), Shape::Opaque),
        (Tag::Is("apply_patch_call_output"), Shape::As(&OUTPUT)),
        (Tag::Is("reasoning"), Shape::Opaque),
        (Tag::Is("compaction"), Shape::Opaque),
        (Tag::Is("compaction_summary"), Shape::Opaque),
        (Tag::Is("additional_tools"), Shape::As(&ADDITIONAL_TOOLS)),
        (Tag::Is("tool_search_call"), Shape::Opaque),
        (Tag::Is("tool_search_output"), Shape::As(&ADDITIONAL_TOOLS)),
        (Tag::Is("item_reference"), Shape::Object(&[("type", Shape::Text), ("id", Shape::Issued)])),
        (Tag::Starts("mcp_"), Shape::Refused(Feature::McpServer)),
        (Tag::Starts("web_search"), Shape::Refused(Feature::HostedTool)),
        (Tag::Starts("file_search"), Shape::Refused(Feature::HostedTool)),
        (Tag::Starts("code_interpreter"), Shape::Refused(Feature::HostedTool)),
        (Tag::Starts("image_generation"), Shape::Refused(Feature::HostedTool)),
        (Tag::Starts("computer_"), Shape::Refused(Feature::HostedTool)),
    ],
    otherwise: Feature::Unknown,
});

static MESSAGE: Shape = Shape::Object(&[
    ("type", Shape::Text),
    ("role", Shape::Text),
    ("content", Shape::TextOr(&Shape::Each(&PART))),
    ("id", Shape::Opaque),
    ("status", Shape::Opaque),
    ("phase", Shape::Opaque),
    ("end_turn", Shape::Opaque),
]);

static OUTPUT: Shape = Shape::Object(&[
    ("type", Shape::Text),
    ("id", Shape::Opaque),
    ("call_id", Shape::Opaque),
    ("name", Shape::Opaque),
    ("status", Shape::Opaque),
    ("success", Shape::Opaque),
    ("output", Shape::TextOr(&Shape::Each(&PART))),
]);

static ADDITIONAL_TOOLS: Shape = Shape::Object(&[
    ("type", Shape::Text),
    ("id", Shape::Opaque),
    ("role", Shape::Text),
    ("status", Shape::Opaque),
    ("call_id", Shape::Opaque),
    ("execution", Shape::Only("client")),
    ("tools", Shape::Each(&TOOL)),
]);

static PART: Shape = Shape::Kinds(&Kinds {
    untyped: None,
    kinds: &[
        (Tag::Is("input_text"), Shape::Opaque),
        (Tag::Is("output_text"), Shape::Opaque),
        (Tag::Is("text"), Shape::Opaque),
        (Tag::Is("summary_text"), Shape::Opaque),
        (Tag::Is("reasoning_text"), Shape::Opaque),
        (Tag::Is("refusal"), Shape::Opaque),
        (Tag::Is("input_image"), Shape::As(&INPUT_IMAGE)),
        (Tag::Is("input_file"), Shape::As(&INPUT_FILE)),
        (Tag::Is("input_audio"), Shape::Opaque),
    ],
    otherwise: Feature::Unknown,
});

static INPUT_IMAGE: Shape = Shape::Object(&[
    ("type", Shape::Text),
    ("detail", Shape::Opaque),
    ("image_url", Shape::DataUrl),
    ("file_id", Shape::Refused(Feature::StoredFile)),
]);

static INPUT_FILE: Shape = Shape::Object(&[
    ("type", Shape::Text),
    ("filename", Shape::Opaque),
    ("detail", Shape::Opaque),
    ("file_data", Shape::DataUrl),
    ("file_url", Shape::DataUrl),
    ("file_id", Shape::Refused(Feature::StoredFile)),
]);

/// `environment` says who runs a tool; only the engine itself may.
static LOCAL: Shape =
    Shape::Kinds(&Kinds { untyped: None, kinds: &[(Tag::Is("local"), Shape::Opaque)], otherwise: Feature::HostedTool });
static LOCAL_CALL: Shape = Shape::Object(&[
    ("type", Shape::Text),
    ("id", Shape::Opaque),
    ("call_id", Shape::Opaque),
    ("action", Shape::Opaque),
    ("status", Shape::Opaque),
    ("environment", Shape::As(&LOCAL)),
]);

static TOOL: Shape = Shape::Kinds(&Kinds {
    untyped: None,
    kinds: &[
        (Tag::Is("function"), Shape::Opaque),
        (Tag::Is("custom"), Shape::Opaque),
        (Tag::Is("local_shell"), Shape::Opaque),
        (Tag::Is("apply_patch"), Shape::Opaque),
        (Tag::Is("shell"), Shape::Object(&[("type", Shape::Text), ("environment", Shape::As(&LOCAL))])),
        (Tag::Is("namespace"), Shape::As(&NAMESPACE)),
        (Tag::Is("mcp"), Shape::Refused(Feature::McpServer)),
    ],
    otherwise: Feature::HostedTool,
});

static NAMESPACE: Shape = Shape::Object(&[
    ("type", Shape::Text),
    ("name", Shape::Text),
    ("description", Shape::Opaque),
    ("tools", Shape::Each(&TOOL)),
]);
