//! Cost of the bridge: CPU for each plain request and each stream of 200 frames, and memory for each open stream. It is compared with a
//! bare hyper pass-through and, where their paths are given, nginx and LiteLLM.
//!
//! ```console
//! $ cargo run --release -p bridge --example bench -- [--nginx PATH] [--litellm PATH] [--requests N] [--streams N] [--open N]
//! ```
//!
//! Each proxy is a process of its own, alone on one core; clients and upstream share another. Its CPU time is read from `/proc`. All are measured in turns, and the middle
//! round of each is given. Only loopback traffic.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that cannot be made must stop")]

mod load;
mod plain_hyper;
mod process;
mod upstream;

use std::net::SocketAddr;
use std::time::Duration;

use process::Proxy;

const KEY: &str = "sk-bench-0123456789";
/// Also the key of LiteLLM, which takes none that looks weak.
const TOKEN: &str = "sk-5c1f0e9ab27d48c3961f4be07ad2853cbd19e6f2074a8c35";
/// The middle one of so many counts.
const ROUNDS: usize = 9;

struct Options {
    nginx: Option<String>,
    litellm: Option<String>,
    requests: usize,
    streams: usize,
    open: usize,
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--role") {
        let (role, upstream) = (arguments.remove(1), arguments.remove(1));
        return act(&role, &upstream);
    }
    let options = parse(&arguments);
    // The clients stay off the core of the proxies: one that has to share it is charged for being interrupted.
    process::pin(None, process::OTHERS);
    let upstream = Proxy::own("upstream", "127.0.0.1:1");
    let mut proxies = vec![
        Measured::new("hyper", Proxy::own("hyper", &upstream.address.to_string()), &options),
        Measured::new("bridge", Proxy::own("bridge", &upstream.address.to_string()), &options),
    ];
    if let Some(path) = &options.nginx {
        proxies.push(Measured::new("nginx", Proxy::nginx(path, upstream.address), &options));
    }
    if let Some(path) = &options.litellm {
        // So much slower that fewer tell as much.
        let (requests, streams, open) = (options.requests / 20, options.streams / 20, options.open / 10);
        let fewer = Options { nginx: None, litellm: None, requests, streams, open };
        proxies.push(Measured::new("litellm", Proxy::litellm(path, upstream.address), &fewer));
    }
    // In turns, so that what else the machine does meets all of them.
    for _ in 0..ROUNDS {
        proxies.iter_mut().for_each(Measured::round);
    }
    for proxy in proxies {
        println!("{}", proxy.result());
    }
}

fn parse(arguments: &[String]) -> Options {
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let number = |name: &str, usual: usize| value(name).map_or(usual, |text| text.parse().unwrap());
    Options {
        nginx: value("--nginx"),
        litellm: value("--litellm"),
        requests: number("--requests", 20_000),
        streams: number("--streams", 2_000),
        open: number("--open", 1_000),
    }
}

/// A child of the measurement: serves until it is killed.
fn act(role: &str, upstream: &str) {
    let upstream: SocketAddr = upstream.parse().unwrap();
    match role {
        "upstream" => upstream::serve(),
        "hyper" => plain_hyper::serve(upstream),
        "bridge" => serve_bridge(upstream),
        // Plain requests to a proxy that runs already, for profilers.
        "load" => {
            process::pin(None, process::OTHERS);
            load::requests(upstream, 40_000);
        }
        other => panic_unknown(other),
    }
}

#[expect(clippy::panic, reason = "only this program starts itself with a role")]
fn panic_unknown(role: &str) {
    panic!("unknown role {role}");
}

/// Everything on: token, admission, rules, stripping, digests, prices, limits, records.
fn serve_bridge(upstream: SocketAddr) {
    use bridge::{
        AdmittedPair, AnswerSource, BridgeConfig, Credential, Endpoint, NetworkClass, PriceTable, RunToken, Secret,
        Upstream, UseLimits,
    };
    let listener = process::listen();
    let endpoint = Endpoint::parse_endpoint(&format!("http://{upstream}/v1")).unwrap();
    let source = AnswerSource::Live(Box::new(Upstream::new(endpoint, Credential::Held(Secret::new(KEY)))));
    let network = NetworkClass { hosts: vec!["127.0.0.1".to_owned()], ..NetworkClass::default() };
    let token = RunToken::new(&Secret::new(TOKEN));
    let started = contract::Stamp::from_unix(Duration::from_secs(1_800_000_000)).unwrap();
    let mut config = BridgeConfig::new(AdmittedPair::new("prov", "m"), network, source, token, started);
    config.prices = PriceTable::read_table(
        br#"{"prices":[{"provider":"prov","model":"m","prompt":1000000,"completion":1000000}]}"#,
    )
    .unwrap();
    config.limits = UseLimits { requests: Some(1 << 40), tokens: Some(1 << 50), money_micros: Some(1 << 50) };
    config.forbidden = vec![Secret::new("CANARY-0123456789")];
    let observer = Box::new(|event| {
        if let bridge::ModelEvent::Ended(record) = event {
            std::hint::black_box(serde_json::to_vec(&record).unwrap());
        }
    });
    let mut bridge = bridge::Bridge::start_bridge(config, observer).unwrap();
    bridge.serve_listener(listener).unwrap();
    loop {
        std::thread::park();
        std::hint::black_box(&bridge);
    }
}

/// A proxy, what it is given to do, and the microseconds each of it took, one number a round.
struct Measured {
    name: &'static str,
    proxy: Proxy,
    requests: usize,
    streams: usize,
    open: usize,
    request_us: Vec<f64>,
    stream_us: Vec<f64>,
}

impl Measured {
    fn new(name: &'static str, proxy: Proxy, options: &Options) -> Self {
        let (requests, streams) = ((options.requests / ROUNDS).max(1), (options.streams / ROUNDS).max(1));
        load::requests(proxy.address, requests);
        load::streams(proxy.address, streams);
        Self { name, proxy, requests, streams, open: options.open, request_us: Vec::new(), stream_us: Vec::new() }
    }

    fn round(&mut self) {
        let began = self.proxy.cpu();
        load::requests(self.proxy.address, self.requests);
        let between = self.proxy.cpu();
        load::streams(self.proxy.address, self.streams);
        self.request_us.push(micros(between - began) / self.requests as f64);
        self.stream_us.push(micros(self.proxy.cpu() - between) / self.streams as f64);
    }

    fn result(self) -> serde_json::Value {
        let before = self.proxy.memory_kb();
        let held = load::open(self.proxy.address, self.open);
        let memory = (self.proxy.memory_kb() - before) as f64 / self.open as f64;
        drop(held);
        let (request, stream) = (median(self.request_us), median(self.stream_us));
        serde_json::json!({"name": self.name, "request_us": request, "stream_us": stream, "open_kb": memory})
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
