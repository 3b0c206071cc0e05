//! Pi, `--mode json`: whether the agent settled, why its last message stopped, the files
//! its `edit` and `write` tools got.

use super::said::FoundClaims;
use super::stream::{CappedList, Last, Touched, events, parse_event};

#[derive(serde::Deserialize)]
struct MessageEnd {
    message: Message,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    role: Option<String>,
    content: Option<CappedList<Block>>,
    stop_reason: Option<String>,
}

#[derive(serde::Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

/// Stop reason of a message, without its content.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stop {
    role: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgentEnd {
    messages: Option<Last<Stop>>,
    will_retry: Option<bool>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolStart {
    tool_call_id: String,
    tool_name: String,
    args: Args,
}

#[derive(serde::Deserialize)]
struct Args {
    path: String,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolEnd {
    tool_call_id: String,
    #[serde(default)]
    is_error: bool,
}

#[derive(Default)]
struct Heard {
    prose: String,
    touched: Touched,
    settled: Option<&'static str>,
    stopped: Option<String>,
}

/// Reads the claims in Pi's event stream.
pub(super) fn read_pi_claims(stdout: &[u8]) -> FoundClaims {
    let mut heard = Heard::default();
    for (kind, line) in events(stdout) {
        match &*kind {
            "agent_start" => heard.settled = None,
            "message_end" => heard.message(line),
            "tool_execution_start" => heard.tool_start(line),
            "tool_execution_end" => heard.tool_end(line),
            "agent_end" => heard.agent_end(parse_event(line).unwrap_or_default()),
            "agent_settled" => heard.settled = Some("agent_settled"),
            _ => {}
        }
    }
    let mut said = FoundClaims { prose: heard.prose, ..FoundClaims::default() };
    said.ended(match heard.stopped.as_deref() {
        Some("error" | "aborted") => Some(("stopReason", false)),
        _ => heard.settled.map(|event| (event, true)),
    });
    said.touched("tool_execution_start.args.path", heard.touched.files());
    said
}

impl Heard {
    fn message(&mut self, line: &[u8]) {
        let Some(MessageEnd { message }) = parse_event(line) else { return };
        if message.role.as_deref() != Some("assistant") {
            return;
        }
        let texts = message.content.unwrap_or_default().0.into_iter().filter(|block| block.kind == "text");
        self.prose = texts.filter_map(|block| block.text).collect::<Vec<_>>().join("\n");
        self.stopped = message.stop_reason;
    }

    fn tool_start(&mut self, line: &[u8]) {
        if let Some(start) = parse_event::<ToolStart>(line)
            && matches!(&*start.tool_name, "edit" | "write")
        {
            self.touched.call(start.tool_call_id, start.args.path);
        }
    }

    fn tool_end(&mut self, line: &[u8]) {
        if let Some(end) = parse_event::<ToolEnd>(line)
            && end.is_error
        {
            self.touched.failed(end.tool_call_id);
        }
    }

    fn agent_end(&mut self, end: AgentEnd) {
        if let Some(Last(Some(stop))) = end.messages
            && stop.role.as_deref() == Some("assistant")
        {
            self.stopped = stop.stop_reason;
        }
        self.settled = (end.will_retry != Some(true)).then_some("agent_end");
    }
}
