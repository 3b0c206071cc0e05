use super::*;
use crate::protocol::json::{JsonSpans, Strictness};

fn check(wire: Wire, body: &str, class: &NetworkClass) -> Result<BTreeSet<Feature>, String> {
    let mut spans = JsonSpans::default();
    let node = spans.read_document(body.as_bytes(), Strictness::Request).expect(body);
    judge_body(wire, node, class, &|id| id == "resp_ours")
        .map_err(|found| format!("{:?} at {}", found.feature, found.place))
}

fn refused(wire: Wire, rows: &[(&str, &str)]) {
    for (body, expected) in rows {
        let found = check(wire, body, &NetworkClass::default());
        assert_eq!(found, Err((*expected).to_owned()), "{body}");
    }
}

fn passes(wire: Wire, rows: &[&str]) {
    for body in rows {
        assert_eq!(check(wire, body, &NetworkClass::default()), Ok(BTreeSet::new()), "{body}");
    }
}

#[test]
fn chat_requests() {
    let wire = Wire::ChatCompletions;
    passes(
        wire,
        &[
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"tools":null}"#,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}]}"#,
            r#"{"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"file_id":{},"url":{}}}}},{"type":"custom","custom":{}}]}"#,
            r#"{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}]}"#,
            r#"{"background":false,"mcp_servers":[],"models":null}"#,
        ],
    );
    refused(
        wire,
        &[
            (r#"{"tools":[{"type":"function"},{"type":"web_search"}]}"#, "HostedTool at tools[1] of type web_search"),
            (r#"{"tools":[{"function":{}}]}"#, "HostedTool at tools[0]"),
            (r#"{"tools":{"type":"web_search"}}"#, "Unknown at tools"),
            (r#"{"tools":[{"type":"mcp","server_url":"x"}]}"#, "McpServer at tools[0]"),
            (r#"{"web_search_options":{}}"#, "HostedTool at web_search_options"),
            (r#"{"models":["a","b"]}"#, "ModelFallback at models"),
            (r#"{"Model":"other"}"#, "Unknown at Model"),
            (r#"{"new_feature":1}"#, "Unknown at new_feature"),
            (r#"{"background":true}"#, "Background at background"),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/?canary"}}]}]}"#,
                "ProviderFetch at messages[0].content[0].image_url.url",
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":" data:"}}]}]}"#,
                "ProviderFetch at messages[0].content[0].image_url.url",
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":"http://x"}]}]}"#,
                "ProviderFetch at messages[0].content[0].image_url",
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]}"#,
                "StoredFile at messages[0].content[0].file.file_id",
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"hologram"}]}]}"#,
                "Unknown at messages[0].content[0] of type hologram",
            ),
            (r#"{"messages":[{"role":"assistant","audio":{"id":"a"}}]}"#, "StoredFile at messages[0].audio"),
            (r#"{"messages":[null]}"#, "Unknown at messages[0]"),
        ],
    );
}

#[test]
fn responses_requests() {
    let wire = Wire::Responses;
    passes(
        wire,
        &[
            r#"{"model":"m","input":"hi","background":false,"previous_response_id":null}"#,
            r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"x"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}]}"#,
            r#"{"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"f"},{"type":"namespace","name":"n","tools":[{"type":"custom","name":"g"}]}]}]}"#,
            r#"{"input":[{"type":"tool_search_output","execution":"client","tools":[]}]}"#,
            r#"{"tools":[{"type":"local_shell"},{"type":"apply_patch"},{"type":"shell","environment":{"type":"local"}}]}"#,
            r#"{"previous_response_id":"resp_ours","input":[{"type":"item_reference","id":"resp_ours"}]}"#,
        ],
    );
    refused(
        wire,
        &[
            (r#"{"tools":[{"type":"web_search"}]}"#, "HostedTool at tools[0] of type web_search"),
            (
                r#"{"tools":[{"type":"shell","environment":{"type":"container_auto"}}]}"#,
                "HostedTool at tools[0].environment of type container_auto",
            ),
            (r#"{"input":[{"type":"tool_search_output","execution":"server"}]}"#, "HostedTool at input[0].execution"),
            (r#"{"tools":[{"type":"tool_search"}]}"#, "HostedTool at tools[0] of type tool_search"),
            (
                r#"{"input":[{"type":"additional_tools","tools":[{"type":"code_interpreter"}]}]}"#,
                "HostedTool at input[0].tools[0] of type code_interpreter",
            ),
            (
                r#"{"input":[{"type":"additional_tools","tools":[{"type":"namespace","name":"n","tools":[{"type":"mcp"}]}]}]}"#,
                "McpServer at input[0].tools[0].tools[0]",
            ),
            (r#"{"background":true}"#, "Background at background"),
            (r#"{"conversation":"c"}"#, "ForeignConversation at conversation"),
            (r#"{"previous_response_id":"resp_theirs"}"#, "ForeignConversation at previous_response_id"),
            (r#"{"previous_response_id":7}"#, "ForeignConversation at previous_response_id"),
            (r#"{"input":[{"type":"item_reference","id":"x"}]}"#, "ForeignConversation at input[0].id"),
            (r#"{"prompt":{"id":"p"}}"#, "StoredPrompt at prompt"),
            (r#"{"input":[{"type":"mcp_call"}]}"#, "McpServer at input[0]"),
            (r#"{"input":[{"type":"web_search_call"}]}"#, "HostedTool at input[0]"),
            (
                r#"{"input":[{"role":"user","content":[{"type":"input_image","file_id":"f"}]}]}"#,
                "StoredFile at input[0].content[0].file_id",
            ),
            (
                r#"{"input":[{"role":"user","content":[{"type":"input_file","file_url":"http://x"}]}]}"#,
                "ProviderFetch at input[0].content[0].file_url",
            ),
            (
                r#"{"input":[{"type":"function_call_output","output":[{"type":"input_image","image_url":"https://x"}]}]}"#,
                "ProviderFetch at input[0].output[0].image_url",
            ),
        ],
    );
}

#[test]
fn messages_requests() {
    let wire = Wire::Messages;
    passes(
        wire,
        &[
            r#"{"model":"m","max_tokens":5,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"hi"}],"mcp_servers":[]}"#,
            r#"{"tools":[{"name":"f","input_schema":{}},{"type":"custom","name":"g"},{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728"}]}"#,
            r#"{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"AA"}},{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}]}]}]}"#,
        ],
    );
    refused(
        wire,
        &[
            (r#"{"tools":[{"type":"web_search_20250305"}]}"#, "HostedTool at tools[0] of type web_search_20250305"),
            (r#"{"tools":[{"type":"bash_code_execution"}]}"#, "HostedTool at tools[0] of type bash_code_execution"),
            (r#"{"mcp_servers":[{"url":"x"}]}"#, "McpServer at mcp_servers"),
            (r#"{"container":"c"}"#, "StoredFile at container"),
            (r#"{"fallbacks":[{"model":"x"}]}"#, "ModelFallback at fallbacks"),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"http://x"}}]}]}"#,
                "ProviderFetch at messages[0].content[0].source",
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]}"#,
                "StoredFile at messages[0].content[0].source",
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"url"}}]}]}]}"#,
                "ProviderFetch at messages[0].content[0].content[0].source",
            ),
            (r#"{"system":[{"type":"server_tool_use"}]}"#, "HostedTool at system[0]"),
        ],
    );
}

#[test]
fn a_class_allows_by_name_and_what_was_used_is_told() {
    let class = NetworkClass { allow: BTreeSet::from([Feature::HostedTool, Feature::Unknown]), ..Default::default() };
    let body = r#"{"model":"m","tools":[{"type":"web_search"}],"new_feature":1}"#;
    assert_eq!(check(Wire::Responses, body, &class), Ok(BTreeSet::from([Feature::HostedTool, Feature::Unknown])));
    // A second spelling of a field we judge stays refused, and so does a fallback.
    for body in [r#"{"MODEL":"x"}"#, "{\"to\u{17f}ls\":[]}", r#"{"models":["x"]}"#] {
        assert!(check(Wire::Responses, body, &class).is_err(), "{body}");
    }
}
