use super::*;

fn turned(body: &str) -> (Value, TranslationPlan) {
    let (bytes, plan) = translate_request(body.as_bytes()).unwrap();
    (serde_json::from_slice(&bytes).unwrap(), plan)
}

#[test]
fn a_request_is_turned_over() {
    let (chat, plan) = turned(
        r#"{"model":"m","instructions":"Be brief.","stream":true,"max_output_tokens":50,"store":false,
        "reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"],"parallel_tool_calls":false,
        "tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":false},
                 {"type":"custom","name":"patch","description":"Edit.","format":{"type":"grammar","syntax":"lark","definition":"start: x"}}],
        "tool_choice":{"type":"function","name":"f"},
        "input":[{"role":"developer","content":[{"type":"input_text","text":"Rules."}]},
                 {"role":"user","content":[{"type":"input_text","text":"hi"}]},
                 {"type":"reasoning","summary":[],"encrypted_content":null},
                 {"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"},
                 {"type":"custom_tool_call","call_id":"c2","name":"patch","input":"*** Begin"},
                 {"type":"function_call_output","call_id":"c1","output":"one"},
                 {"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"two"}]}]}"#,
    );
    insta::assert_snapshot!(serde_json::to_string(&chat["messages"]).unwrap(), @r#"[{"role":"system","content":"Be brief.\n\nRules."},{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"c2","type":"function","function":{"name":"patch","arguments":"{\"input\":\"*** Begin\"}"}}]},{"role":"tool","tool_call_id":"c1","content":"one"},{"role":"tool","tool_call_id":"c2","content":"two"}]"#);
    assert_eq!(chat["max_tokens"], 50);
    assert_eq!(chat["reasoning_effort"], "low");
    assert_eq!(chat["stream_options"]["include_usage"], true);
    assert_eq!(chat["tool_choice"]["function"]["name"], "f");
    assert_eq!(chat["tools"][0]["function"]["name"], "f");
    let description = chat["tools"][1]["function"]["description"].as_str().unwrap();
    assert!(description.contains("lark") && description.contains("start: x"));
    assert_eq!(plan.left_out, ["reasoning.summary", "include", "tools.custom.format", "input.reasoning"]);
    for name in &plan.left_out {
        assert!(LEFT_OUT.iter().any(|(listed, _)| listed == name), "{name}");
    }
}

#[test]
fn what_cannot_be_carried_is_said() {
    let rows = [
        (r#"{"input":[{"type":"local_shell_call"}]}"#, "an item of type local_shell_call"),
        (r#"{"input":[{"type":"item_reference","id":"x"}]}"#, "an item of type item_reference"),
        (r#"{"input":[{"type":"reasoning","encrypted_content":"x"}]}"#, "encrypted reasoning"),
        (
            r#"{"input":[{"role":"user","content":[{"type":"input_file"},{"type":"input_text","text":"x"}]}]}"#,
            "input_file in a message",
        ),
        (r#"{"tools":[{"type":"local_shell"}]}"#, "a tool of type local_shell"),
        (r#"{"tools":[{"type":"namespace","name":"n","tools":[]}]}"#, "a tool of type namespace"),
        (r#"{"tool_choice":{"type":"allowed_tools"}}"#, "this tool_choice"),
        (r#"{"previous_response_id":"resp_1"}"#, "the field previous_response_id"),
        (r#"{"truncation":"auto"}"#, "the field truncation"),
        (r#"{"max_tool_calls":3}"#, "the field max_tool_calls"),
        (r#"{"include":["file_search_call.results"]}"#, "file_search_call.results in include"),
        (r#"{"reasoning":{"context":"x"}}"#, "the field reasoning.context"),
    ];
    for (body, expected) in rows {
        assert_eq!(
            translate_request(body.as_bytes()).unwrap_err().to_string(),
            format!("It cannot carry {expected}."),
            "{body}"
        );
    }
}

fn plan() -> TranslationPlan {
    turned(r#"{"model":"m","input":"x","tools":[{"type":"custom","name":"patch"},{"type":"function","name":"f"}]}"#).1
}

const STREAM: &str = "data: {\"model\":\"m\",\"created\":7,\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n\
    data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n\
    data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"He\"}}]}\n\n\
    data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"llo\"}}]}\n\n\
    data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\n\
    data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{}\"}}]}}]}\n\n\
    data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"c2\",\"function\":{\"name\":\"patch\",\"arguments\":\"{\\\"input\\\":\\\"*** x\\\"}\"}}]}}]}\n\n\
    data: {\"model\":\"m\",\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n\
    data: {\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":9}}\n\ndata: [DONE]\n\n";

fn stream(text: &str, size: usize) -> Vec<Value> {
    let mut translator = Translator::new(plan());
    let mut out = Vec::new();
    for piece in text.as_bytes().chunks(size) {
        out.extend(translator.piece(piece).unwrap());
    }
    out.extend(translator.end_stream());
    let text = String::from_utf8(out).unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

#[test]
fn a_stream_is_turned_over() {
    let events = stream(STREAM, 4096);
    let kinds: Vec<_> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    insta::assert_snapshot!(kinds.join("\n"), @r"
    response.created
    response.in_progress
    response.output_item.added
    response.reasoning_text.delta
    response.reasoning_text.done
    response.output_item.done
    response.output_item.added
    response.content_part.added
    response.output_text.delta
    response.output_text.delta
    response.output_text.done
    response.content_part.done
    response.output_item.done
    response.output_item.added
    response.function_call_arguments.delta
    response.output_item.added
    response.function_call_arguments.done
    response.output_item.done
    response.custom_tool_call_input.delta
    response.custom_tool_call_input.done
    response.output_item.done
    response.completed
    ");
    let numbers: Vec<_> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    let response = &events.last().unwrap()["response"];
    assert_eq!(response["output"][1]["content"][0]["text"], "Hello");
    assert_eq!(response["output"][2]["arguments"], "{}");
    assert_eq!(response["output"][3]["input"], "*** x");
    assert_eq!(response["usage"]["total_tokens"], 12);
    for size in 1..200 {
        assert_eq!(stream(STREAM, size), events, "pieces of {size}");
    }
}

#[test]
fn a_stream_that_ends_early_is_failed_and_one_cut_by_length_incomplete() {
    let cut = stream("data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"He\"}}]}\n\n", 64);
    assert_eq!(cut.last().unwrap()["type"], "response.failed");
    let long =
        "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"He\"},\"finish_reason\":\"length\"}]}\n\n";
    let long = stream(long, 64);
    assert_eq!(long.last().unwrap()["response"]["incomplete_details"]["reason"], "max_output_tokens");
    assert!(long.last().unwrap()["response"]["usage"].is_null());
    assert!(Translator::new(plan()).piece(b"data: {\"error\":{\"message\":\"boom\"}}\n\n").is_err());
}

#[test]
fn a_whole_answer_is_turned_over() {
    let chat = r#"{"model":"m","created":3,"choices":[{"finish_reason":"stop","message":{"role":"assistant","reasoning":"hm","content":"Hi","tool_calls":[{"id":"c","type":"function","function":{"name":"patch","arguments":"not json"}}]}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let response: Value = serde_json::from_slice(&translate_document(&plan(), chat.as_bytes()).unwrap()).unwrap();
    assert_eq!(response["status"], "completed");
    let kinds: Vec<_> =
        response["output"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["reasoning", "message", "custom_tool_call"]);
    assert_eq!(response["output"][2]["input"], "not json");
    assert!(translate_document(&plan(), b"{}").is_err());
}
