//! A recording answers what was asked, in order, and nothing else; there is no way out behind it.

use std::io::Write;
use std::sync::{Arc, Mutex};

use bridge::{
    AdmittedPair, AnswerSource, BridgeConfig, NetworkClass, Outcome, Recorder, Redact, RefusalCode, ReplaySource,
    RunToken, Secret, Served,
};
use fixtures::scripted::Reply;

use crate::world::{TOKEN, World, always, on, records_of, request, send, start, started};

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn redact() -> Redact {
    Arc::new(|bytes| String::from_utf8_lossy(bytes).replace("hunter2-secret", "[redacted]").into_bytes())
}

const FIRST: &str = r#"{"model":"m","input":"one hunter2-secret","prompt_cache_key":"run-1","stream":true}"#;
const SECOND: &str = r#"{"model":"m","messages":[{"role":"user","content":"two"}],"metadata":{"user_id":"u1"}}"#;

fn recording() -> (Vec<u8>, Vec<String>) {
    let shared = Shared::default();
    let sink = shared.clone();
    let script = fixtures::scripted::Script {
        steps: vec![on("two", Reply::error(400, "not two")), on("one", Reply::text("first hunter2-secret"))],
        otherwise: Reply::default(),
    };
    let mut world = World::with(script, |config| config.recorder = Some(Recorder::new(Box::new(sink), redact())));
    let answers = vec![world.post("/v1/responses", FIRST).text(), world.post("/v1/messages", SECOND).text()];
    assert!(!world.stop().recording_incomplete);
    let bytes = shared.0.lock().unwrap().clone();
    (bytes, answers)
}

fn replaying(bytes: &[u8]) -> (bridge::Bridge, std::net::SocketAddr, crate::world::Events) {
    let source = AnswerSource::Replay(ReplaySource::read_recording(bytes, redact()).unwrap());
    let token = RunToken::new(&Secret::new(TOKEN));
    start(BridgeConfig::new(AdmittedPair::new("prov", "m"), NetworkClass::default(), source, token, started()))
}

#[test]
fn a_recording_holds_no_secret_and_answers_the_same() {
    let (bytes, answers) = recording();
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(
        !text.contains("hunter2") && !text.contains(TOKEN) && !text.contains(crate::world::KEY) && !text.contains("u1")
    );
    let (bridge, address, events) = replaying(&bytes);
    // Another run has other ids of its own.
    let first = send(address, &request("POST", "/v1/responses", &FIRST.replace("run-1", "run-2")));
    assert_eq!(first.status, 200);
    assert_eq!(first.text(), answers[0].replace("hunter2-secret", "[redacted]"));
    let second = send(address, &request("POST", "/v1/messages", &SECOND.replace("u1", "u2")));
    assert_eq!((second.status, second.text()), (400, answers[1].clone()));
    bridge.stop_serving();
    let records = records_of(&events);
    assert!(records.iter().all(|record| record.replayed));
    assert_eq!((records[0].served, records[0].outcome), (Served::Exact, Outcome::Answered));
}

/// A listener that must not be reached stands where the recording was made.
#[test]
fn a_changed_prompt_is_a_miss_and_never_a_call() {
    let trap = World::new(always(Reply::text("caught")));
    let (bytes, _) = recording();
    let (bridge, address, events) = replaying(&bytes);
    for body in [
        FIRST.replace("one", "One"),
        FIRST.replace("true", "false"),
        FIRST.replace("\"input\"", "\"max_output_tokens\":5,\"input\""),
    ] {
        let got = send(address, &request("POST", "/v1/responses", &body));
        assert_eq!((got.status, got.code().as_str()), (400, "not_in_recording"), "{body}");
    }
    assert_eq!(send(address, &request("POST", "/v1/responses", FIRST)).status, 200);
    let again = send(address, &request("POST", "/v1/responses", FIRST));
    assert_eq!(again.code(), "not_in_recording", "each recorded answer is given once");
    bridge.stop_serving();
    assert!(records_of(&events).iter().filter(|record| record.refusal == Some(RefusalCode::NotRecorded)).count() == 4);
    assert!(trap.asked().is_empty());
}

#[test]
fn a_cut_answer_leaves_a_hole_that_is_told() {
    let mut world = World::with(always(Reply { cut_after: Some(2), ..Reply::text("abc") }), |config| {
        config.recorder = Some(Recorder::new(Box::new(std::io::sink()), redact()));
    });
    world.post("/v1/responses", r#"{"model":"m","input":"x","stream":true}"#);
    assert!(world.stop().recording_incomplete);
}
