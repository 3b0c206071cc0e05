//! `cto hermes`: whether a console answers for its summary and for the panel, and the panel
//! in another host.

mod manifest;
mod panel;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract::text::show_controls;
use harness::Engines;
use hermes::{Console, ConsoleSettings, SessionPolicy};
use serde::Serialize;

use super::serve::HomeSource;
use super::stage_checks::{NamedCheck, StageCheck};
use crate::args::HermesCommand;
use crate::context::Context;
use crate::error::CommandError;

/// Routes that other hosts ask for.
const ROUTES: [&str; 3] =
    ["/api/cto/control-summary", "/plugins/svrnty/cto_control_panel.js", "/plugins/svrnty/cto_control_panel.css"];
/// A console without a login shows nothing and still answers.
const ACCEPTED: [u16; 3] = [200, 302, 401];
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Far more than the first line of an answer has.
const LARGEST_HEAD: u64 = 64 << 10;

/// One route and its answer.
#[derive(Debug, Serialize)]
struct SmokeRow {
    route: &'static str,
    /// HTTP status; none without an answer.
    status: Option<u16>,
    accepted: bool,
}

/// Output of `--json`.
#[derive(Debug, Serialize)]
struct Smoke {
    failed: usize,
    routes: Vec<SmokeRow>,
}

/// Probes a console, or manages the panel in another host.
pub(crate) fn run_hermes(context: &Context, command: &HermesCommand) -> Result<u8, CommandError> {
    match command {
        HermesCommand::Smoke { url } => smoke(context, url.as_deref()),
        HermesCommand::Install { place, sidecar } => panel::install_panel(context, place, sidecar),
        HermesCommand::Uninstall { place } => panel::uninstall(context, place),
        HermesCommand::Status { place } => panel::show_status(context, place),
    }
}

fn smoke(context: &Context, url: Option<&str>) -> Result<u8, CommandError> {
    let smoke = match url {
        Some(url) => ask_routes(&host_of(url)?),
        None => ask_temporary(context)?,
    };
    let output = context.output;
    if output.json {
        output.print_json(&smoke)?;
    } else {
        for row in &smoke.routes {
            let status = row.status.map_or_else(|| "none".to_owned(), |status| status.to_string());
            let word = if row.accepted { "accepted" } else { "refused" };
            output.print(&format!("{} {status} {word}\n", row.route));
        }
        output.print(&format!("failed {}\n", smoke.failed));
    }
    Ok(u8::from(smoke.failed > 0))
}

/// `HOST:PORT` of an address that begins with `http://`.
fn host_of(url: &str) -> Result<String, CommandError> {
    let host = url.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
    let host = host.filter(|host| host.contains(':') && !host.contains('/'));
    host.map(str::to_owned).ok_or_else(|| {
        CommandError::usage(format!("`{}` is not the address of a console", show_controls(url)))
            .hint("--url http://127.0.0.1:4170")
    })
}

/// Asks a console of a temporary home, which ends with the question.
fn ask_temporary(context: &Context) -> Result<Smoke, CommandError> {
    let home = tempfile::Builder::new().prefix("cto-smoke-").tempdir()?;
    let config = context.config.for_trial(home.path().join("home"), Engines::default());
    let trial = Context { output: context.output, config, cancel: Arc::clone(&context.cancel) };
    let settings = ConsoleSettings {
        listen: ([127, 0, 0, 1], 0).into(),
        names: Vec::new(),
        sessions: SessionPolicy::default(),
        tls: None,
    };
    let console = Console::bind_listener(&settings, Arc::new(HomeSource::new(trial)))?;
    let (host, stop) = (console.address().to_string(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let served = scope.spawn(|| console.serve_until(&stop));
        let smoke = ask_routes(&host);
        stop.store(true, Ordering::Relaxed);
        match served.join() {
            Ok(done) => done.map(|()| smoke).map_err(CommandError::from),
            Err(_) => Err(CommandError::fail("the console ended early")),
        }
    })
}

fn ask_routes(host: &str) -> Smoke {
    let row = |route| {
        let status = ask_status(host, route);
        SmokeRow { route, status, accepted: status.is_some_and(|status| ACCEPTED.contains(&status)) }
    };
    let routes: Vec<SmokeRow> = ROUTES.into_iter().map(row).collect();
    Smoke { failed: routes.iter().filter(|row| !row.accepted).count(), routes }
}

/// The status of an answer; none where there is no answer.
fn ask_status(host: &str, route: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(host).ok()?;
    stream.set_read_timeout(Some(ANSWER_WITHIN)).ok()?;
    let head = format!("GET {route} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.take(LARGEST_HEAD).read_to_end(&mut answer).ok()?;
    let text = String::from_utf8_lossy(&answer);
    text.strip_prefix("HTTP/1.1 ")?.split(' ').next()?.parse().ok()
}

/// The checks of `cto health`: each route of the panel answers.
pub(super) fn check_routes(context: &Context) -> Result<Vec<NamedCheck>, CommandError> {
    let smoke = ask_temporary(context)?;
    let check = |row: SmokeRow| {
        let wrong = (!row.accepted).then(|| format!("{} answered {:?}", row.route, row.status));
        let name = row.route.rsplit('/').next().unwrap_or(row.route);
        (format!("route_{name}"), StageCheck::fact(wrong))
    };
    Ok(smoke.routes.into_iter().map(check).collect())
}
