//! A bridge, what stands behind it and a client that sends exactly the bytes it is told to.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bridge::{
    AdmittedPair, AnswerSource, Bridge, BridgeConfig, BridgeTotals, Credential, Deadlines, Endpoint, ModelEvent,
    NetworkClass, RunToken, Secret, Upstream, UsageRecord,
};
use contract::Stamp;
use fixtures::scripted::{Asked, Reply, Script, ScriptedServer, Step, When};
use serde_json::Value;

pub(crate) const TOKEN: &str = "run-token-0123456789";
pub(crate) const KEY: &str = "sk-credential-0123456789abcdef";

pub(crate) type Events = Arc<Mutex<Vec<ModelEvent>>>;

pub(crate) struct World {
    pub(crate) server: ScriptedServer,
    pub(crate) bridge: Option<Bridge>,
    pub(crate) address: SocketAddr,
    pub(crate) events: Events,
}

pub(crate) fn started() -> Stamp {
    Stamp::from_unix(Duration::from_secs(1_800_000_000)).unwrap()
}

pub(crate) fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// A script that always replies the same.
pub(crate) fn always(reply: Reply) -> Script {
    Script { steps: Vec::new(), otherwise: reply }
}

/// A reply to requests that hold a text.
pub(crate) fn on(contains: &str, reply: Reply) -> Step {
    Step { when: When { contains: Some(contains.to_owned()), ..When::default() }, times: None, reply }
}

pub(crate) fn live(endpoint: &str) -> Upstream {
    Upstream::new(Endpoint::parse_endpoint(endpoint).unwrap(), Credential::Held(Secret::new(KEY)))
}

pub(crate) fn config(upstream: Upstream) -> BridgeConfig {
    let network =
        NetworkClass { hosts: vec!["127.0.0.1".to_owned(), "localhost".to_owned()], ..NetworkClass::default() };
    let token = RunToken::new(&Secret::new(TOKEN));
    let source = AnswerSource::Live(Box::new(upstream));
    let mut config = BridgeConfig::new(AdmittedPair::new("prov", "m"), network, source, token, started());
    config.deadlines = Deadlines {
        receive: Duration::from_millis(700),
        stall: Duration::from_secs(2),
        connect: Duration::from_secs(2),
        first_byte: Duration::from_secs(2),
        idle: Duration::from_millis(700),
        total: Duration::from_secs(4),
    };
    config
}

pub(crate) fn start(config: BridgeConfig) -> (Bridge, SocketAddr, Events) {
    let events: Events = Arc::default();
    let sink = Arc::clone(&events);
    let observer = Box::new(move |event| sink.lock().unwrap().push(event));
    let mut bridge = Bridge::start_bridge(config, observer).unwrap();
    let address = bridge.serve_listener(listener()).unwrap();
    (bridge, address, events)
}

impl World {
    pub(crate) fn new(script: Script) -> Self {
        Self::with(script, |_| ())
    }

    pub(crate) fn with(script: Script, change: impl FnOnce(&mut BridgeConfig)) -> Self {
        let server = ScriptedServer::start(listener(), script).unwrap();
        let mut config = config(live(&format!("http://{}/v1", server.address())));
        change(&mut config);
        let (bridge, address, events) = start(config);
        Self { server, bridge: Some(bridge), address, events }
    }

    pub(crate) fn bridge(&self) -> &Bridge {
        self.bridge.as_ref().unwrap()
    }

    pub(crate) fn stop(&mut self) -> BridgeTotals {
        self.bridge.take().unwrap().stop_serving()
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.server.asked()
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Got {
        send(self.address, &request("POST", path, body))
    }

    /// The record of the one request there was, after the bridge has stopped.
    pub(crate) fn record(&mut self) -> UsageRecord {
        let mut records = self.records();
        assert_eq!(records.len(), 1, "{records:#?}");
        records.remove(0)
    }

    pub(crate) fn records(&mut self) -> Vec<UsageRecord> {
        if self.bridge.is_some() {
            self.stop();
        }
        records_of(&self.events)
    }
}

pub(crate) fn records_of(events: &Events) -> Vec<UsageRecord> {
    let ended = |event: &ModelEvent| match event {
        ModelEvent::Ended(record) => Some((**record).clone()),
        ModelEvent::Requested(_) => None,
    };
    events.lock().unwrap().iter().filter_map(ended).collect()
}

/// A request with the token that asks for the connection to be closed.
pub(crate) fn request(method: &str, path: &str, body: &str) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: bridge\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Response that a client got.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    pub(crate) took: Duration,
}

impl Got {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The code of an error in the shape of the wires that have one.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    stream
}

/// Sends bytes and reads until the connection ends.
pub(crate) fn send(address: SocketAddr, bytes: &[u8]) -> Got {
    let began = Instant::now();
    let mut stream = connect(address);
    // A server that has read enough may answer and close before all is written.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    parse(&answer, began.elapsed())
}

pub(crate) fn parse(answer: &[u8], took: Duration) -> Got {
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Got { status: 0, head: String::from_utf8_lossy(answer).into_owned(), body: Vec::new(), took };
    };
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let rest = &answer[end + 4..];
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { unchunked(rest) } else { rest.to_vec() };
    Got { status, head, body, took }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        let data = &rest[end + 2..];
        out.extend_from_slice(&data[..size.min(data.len())]);
        if size == 0 || data.len() < size + 2 {
            break;
        }
        rest = &data[size + 2..];
    }
    out
}
