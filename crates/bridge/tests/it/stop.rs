//! The token opens nothing after the run, and everything was reported.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use bridge::Outcome;
use fixtures::scripted::{Raw, Reply};

use crate::world::{World, always, connect, request};

#[test]
fn the_token_is_worthless_afterwards() {
    let mut world = World::new(always(Reply::text("x")));
    let body = r#"{"model":"m","messages":[]}"#;
    let kept_alive =
        String::from_utf8(request("POST", "/v1/chat/completions", body)).unwrap().replace("connection: close\r\n", "");
    let mut open = connect(world.address);
    open.write_all(kept_alive.as_bytes()).unwrap();
    let mut first = [0; 12];
    open.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    world.stop();
    assert!(TcpStream::connect(world.address).is_err(), "the listener is closed");
    let _ = open.write_all(kept_alive.as_bytes());
    let mut rest = Vec::new();
    let _ = open.read_to_end(&mut rest);
    assert_eq!(String::from_utf8_lossy(&rest).matches("HTTP/1.1").count(), 0, "an open connection is closed too");
    assert_eq!(world.asked().len(), 1);
}

#[test]
fn a_listener_somebody_else_holds_is_closed_as_well() {
    let listener = crate::world::listener();
    let address = listener.local_addr().unwrap();
    let other = listener.try_clone().unwrap();
    let config = crate::world::config(crate::world::live("http://127.0.0.1:9/v1"));
    let mut bridge = bridge::Bridge::start_bridge(config, Box::new(drop)).unwrap();
    bridge.serve_listener(listener).unwrap();
    bridge.stop_serving();
    assert!(TcpStream::connect(address).is_err());
    drop(other);
}

#[test]
fn stopping_does_not_wait_for_an_upstream_and_records_what_was_open() {
    let mut world = World::with(always(Reply::raw(vec![Raw::Hang])), |config| {
        config.deadlines.first_byte = Duration::from_secs(60);
    });
    let mut open = connect(world.address);
    open.write_all(&request("POST", "/v1/chat/completions", r#"{"model":"m","messages":[]}"#)).unwrap();
    testkit::wait_for("the request arrives", || (!world.asked().is_empty()).then_some(()));
    let began = Instant::now();
    let record = world.record();
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!((record.outcome, record.status), (Outcome::Disconnected, None));
}

#[test]
fn a_slow_observer_loses_nothing() {
    let server = fixtures::scripted::ScriptedServer::start(crate::world::listener(), always(Reply::text("x"))).unwrap();
    let config = crate::world::config(crate::world::live(&format!("http://{}/v1", server.address())));
    let events: crate::world::Events = std::sync::Arc::default();
    let sink = std::sync::Arc::clone(&events);
    let observer = Box::new(move |event| {
        std::thread::sleep(Duration::from_millis(5));
        sink.lock().unwrap().push(event);
    });
    let mut bridge = bridge::Bridge::start_bridge(config, observer).unwrap();
    let address = bridge.serve_listener(crate::world::listener()).unwrap();
    for _ in 0..20 {
        let got = crate::world::send(address, &request("POST", "/v1/responses", r#"{"model":"m","input":"x"}"#));
        assert_eq!(got.status, 200);
    }
    bridge.stop_serving();
    assert_eq!(events.lock().unwrap().len(), 40);
}
