//! `cto bridge`: the model bridge on its own, for looking at an engine's traffic and for
//! measuring.

use std::io;
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use bridge::{
    AdmittedPair, AnswerSource, Bridge, BridgeConfig, BridgeTotals, Endpoint, ModelEvent, NetworkClass, ResponsesWire,
    RunToken, Secret, Upstream,
};
use harness::RunClock;
use serde_json::json;

use super::INTERRUPTED;
use crate::args::BridgeArgs;
use crate::bridge_view::{BridgeView, event_document, event_line};
use crate::config::bridge_token;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;

/// Interval at which the view is drawn and the signal checked.
const TICK: Duration = Duration::from_millis(250);

/// Serves a bridge on loopback until a signal.
pub(crate) fn bridge(context: &Context, arguments: &BridgeArgs) -> Result<u8, CommandError> {
    if !arguments.listen.ip().is_loopback() {
        return Err(
            CommandError::usage("a bridge holds a key, so it listens on loopback only").hint("--listen 127.0.0.1:PORT")
        );
    }
    let (token, made) = token(arguments)?;
    let config = config(arguments, &token)?;
    let listener = TcpListener::bind(arguments.listen)
        .map_err(|error| CommandError::usage(format!("cannot listen on {}: {error}", arguments.listen)))?;
    let (sender, events) = mpsc::channel();
    let observer = Box::new(move |event: ModelEvent| drop(sender.send(event)));
    let failed = |error: bridge::StartBridgeError| CommandError::usage(error.to_string());
    let mut bridge = Bridge::start_bridge(config, observer).map_err(failed)?;
    let address = bridge.serve_listener(listener).map_err(failed)?;
    let output = context.output;
    greet(output, arguments, &address.to_string(), made.then_some(token.as_str()))?;
    let mut view = BridgeView::new(output, format!("{}  http://{address}", arguments.admit));
    follow(context, &events, &mut view)?;
    let summary = bridge.stop_serving();
    for event in events.try_iter() {
        tell(output, &event, &mut view)?;
    }
    view.clear_summary();
    farewell(output, &summary)?;
    Ok(INTERRUPTED)
}

/// The flag, the environment, or one that is made here and shown once.
fn token(arguments: &BridgeArgs) -> Result<(String, bool), CommandError> {
    const SHORTEST: usize = 12;
    if let Some(token) = arguments.token.clone().or_else(bridge_token) {
        if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!("a token has {SHORTEST} or more printable characters and no space");
            return Err(CommandError::usage(message));
        }
        return Ok((token, false));
    }
    Ok((harness::random_token()?, true))
}

fn config(arguments: &BridgeArgs, token: &str) -> Result<BridgeConfig, CommandError> {
    let endpoint = Endpoint::parse_endpoint(&arguments.upstream)
        .map_err(|error| CommandError::usage(error.to_string()).hint("--upstream http://HOST:PORT/v1"))?;
    let mut admission = AdmittedPair::new(&arguments.admit.provider, &arguments.admit.model);
    admission.aliases = arguments.alias.clone();
    // Named by hand for this one use, the upstream is the class.
    let network = NetworkClass { hosts: vec![endpoint.host().to_owned()], ..NetworkClass::default() };
    let credential = arguments.credential.0.clone().into_credential();
    let now = RunClock::start_clock().map_err(|error| CommandError::fail(error.to_string()))?.started();
    credential.check_fetch(now).map_err(|error| CommandError::blocked_with(error.to_string()))?;
    let mut upstream = Upstream::new(endpoint, credential);
    if arguments.over_chat {
        upstream.responses = ResponsesWire::OverChat;
    }
    let token = RunToken::new(&Secret::new(token));
    Ok(BridgeConfig::new(admission, network, AnswerSource::Live(Box::new(upstream)), token, now))
}

fn greet(output: Output, arguments: &BridgeArgs, address: &str, token: Option<&str>) -> Result<(), CommandError> {
    let url = format!("http://{address}/v1");
    if output.json {
        let admit = arguments.admit.to_string();
        return output.print_json(&json!({"admit": admit, "listening": url, "token": token, "type": "listening"}));
    }
    output.print(&format!("listening {url}\n"));
    if let Some(token) = token {
        output.print(&format!("token {token}\n"));
    }
    Ok(())
}

/// Shows what happens until a signal comes.
fn follow(context: &Context, events: &Receiver<ModelEvent>, view: &mut BridgeView) -> Result<(), CommandError> {
    while !context.cancel.load(Ordering::Relaxed) {
        match events.recv_timeout(TICK) {
            Ok(event) => tell(context.output, &event, view)?,
            Err(RecvTimeoutError::Timeout) => view.draw_summary(),
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::from(io::ErrorKind::BrokenPipe).into()),
        }
    }
    Ok(())
}

fn tell(output: Output, event: &ModelEvent, view: &mut BridgeView) -> Result<(), CommandError> {
    view.note_event(event);
    if output.json {
        return event_document(event).map_or(Ok(()), |document| output.print_json(&document));
    }
    if let Some(line) = event_line(event) {
        view.print(&line);
    }
    Ok(())
}

fn farewell(output: Output, summary: &BridgeTotals) -> Result<(), CommandError> {
    let spent = summary.spent;
    if output.json {
        let summary = json!({"requests": spent.requests, "tokens": spent.tokens, "type": "stopped", "unrecorded": summary.unrecorded});
        return output.print_json(&summary);
    }
    output.print(&format!("stopped after {} requests, {} tokens\n", spent.requests, spent.tokens));
    Ok(())
}
