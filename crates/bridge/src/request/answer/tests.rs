use super::*;

fn watcher(wire: Wire) -> AnswerWatcher {
    let mut admission = AdmittedPair::new("p", "m");
    admission.aliases.push("m-1".to_owned());
    AnswerWatcher::new(wire, Arc::new(admission), 4096)
}

fn watch(wire: Wire, stream: &str, size: usize) -> Result<Sightings, Fault> {
    let mut watcher = watcher(wire);
    for piece in stream.as_bytes().chunks(size) {
        watcher.see_piece(piece)?;
    }
    Ok(watcher.seen)
}

const CHAT: &str = "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n\
    data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n\
    data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n\
    data: {\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";

const RESPONSES: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"model\":\"m-1\",\"status\":\"in_progress\",\"output\":[]}}\n\n\
    data: {\"type\":\"response.output_item.added\",\"item\":{\"id\":\"fc_1\",\"type\":\"function_call\"}}\n\n\
    data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"model\":\"m-1\",\"status\":\"completed\",\"usage\":{\"input_tokens\":5,\"output_tokens\":7}}}\n\n";

const MESSAGES: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":4,\"output_tokens\":1}}}\n\n\
    data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n\
    data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{\"output_tokens\":9}}\n\n\
    data: {\"type\":\"message_stop\"}\n\n";

#[test]
fn streams_are_read_however_they_are_split() {
    for size in 1..600 {
        let chat = watch(Wire::ChatCompletions, CHAT, size).unwrap();
        assert_eq!((chat.served, chat.tokens.total(), chat.terminal), (Served::Exact, Some(5), true), "{size}");
        assert_eq!((chat.shape.content, chat.shape.reasoning, chat.finish.as_deref()), (true, true, Some("stop")));
        let responses = watch(Wire::Responses, RESPONSES, size).unwrap();
        assert_eq!((responses.served, responses.tokens.total()), (Served::DeclaredAlias, Some(12)), "{size}");
        assert_eq!(responses.issued, ["resp_1", "fc_1"]);
        assert_eq!((responses.shape.tool_calls, responses.finish.as_deref()), (true, Some("completed")));
        assert!(responses.terminal && !responses.error);
        let messages = watch(Wire::Messages, MESSAGES, size).unwrap();
        assert_eq!((messages.tokens.prompt, messages.tokens.completion), (Some(4), Some(9)), "{size}");
        assert!(messages.shape.is_reasoning_only() && messages.terminal);
    }
}

/// No byte less than the whole last event is the end of an answer.
#[test]
fn the_last_event_ends_an_answer_and_nothing_before_it_does() {
    for (wire, stream) in [(Wire::ChatCompletions, CHAT), (Wire::Responses, RESPONSES), (Wire::Messages, MESSAGES)] {
        for cut in 0..stream.len() {
            let seen = watch(wire, &stream[..cut], 4096).unwrap();
            assert!(!seen.terminal, "{wire:?}: {}", &stream[..cut]);
        }
    }
}

/// The ends that a provider itself calls no answer, and signs that are of another wire.
#[test]
fn an_end_without_an_answer_is_an_error() {
    let response = |kind: &str, status: &str| {
        format!("data: {{\"type\":\"response.{kind}\",\"response\":{{\"model\":\"m\",\"status\":\"{status}\"}}}}\n\n")
    };
    let error = "data: {\"type\":\"error\",\"error\":{\"message\":\"x\"}}\n\n".to_owned();
    let done = || "data: [DONE]\n\n".to_owned();
    let rows = [
        (Wire::Responses, response("completed", "completed"), (true, false)),
        (Wire::Responses, response("failed", "failed"), (true, true)),
        (Wire::Responses, response("incomplete", "incomplete"), (true, true)),
        (Wire::Responses, response("cancelled", "cancelled"), (true, true)),
        (Wire::Responses, response("in_progress", "in_progress"), (false, false)),
        (Wire::Responses, error.clone(), (true, true)),
        (Wire::Messages, error.clone(), (true, true)),
        (Wire::ChatCompletions, error, (true, true)),
        (Wire::ChatCompletions, done(), (true, false)),
        (Wire::Responses, done(), (false, false)),
        (Wire::Messages, done(), (false, false)),
    ];
    for (wire, stream, expected) in rows {
        let seen = watch(wire, &stream, 16).unwrap();
        assert_eq!((seen.terminal, seen.error), expected, "{wire:?}: {stream}");
    }
}

#[test]
fn another_model_is_seen_in_any_frame() {
    let late = "data: {\"model\":\"m\"}\n\ndata: {\"model\":\"m-mini\"}\n\n";
    assert_eq!(watch(Wire::ChatCompletions, late, 7).unwrap_err(), Fault::OtherModel("m-mini".to_owned()));
    let start = "data: {\"type\":\"message_start\",\"message\":{\"model\":\"other\"}}\n\n";
    assert_eq!(watch(Wire::Messages, start, 7).unwrap_err(), Fault::OtherModel("other".to_owned()));
    let created = "data: {\"type\":\"response.created\",\"response\":{\"model\":\"other\"}}\n\n";
    assert_eq!(watch(Wire::Responses, created, 7).unwrap_err(), Fault::OtherModel("other".to_owned()));
    let document = br#"{"model":"other","choices":[]}"#;
    assert_eq!(watcher(Wire::ChatCompletions).see_document(document), Err(Fault::OtherModel("other".to_owned())));
}

#[test]
fn malformed_answers_are_faults() {
    assert_eq!(watch(Wire::ChatCompletions, "data: {bad\n\n", 64).unwrap_err(), Fault::NotJson);
    assert_eq!(watch(Wire::ChatCompletions, &"x".repeat(5000), 64).unwrap_err(), Fault::TooLong);
    assert_eq!(watcher(Wire::Messages).see_document(b"<html>"), Err(Fault::NotJson));
    let error = watch(Wire::ChatCompletions, "data: {\"error\":{\"message\":\"x\"}}\n\n", 64).unwrap();
    assert!(error.error && !error.complete);
}
