//! Beyond loopback: only with TLS and a login, and then the cookie is sent over TLS alone.

use serde_json::json;
use testkit::program;

use crate::{Browser, Look, Served, world};

/// A handshake that never begins, or stops in its middle, ends its connection.
fn drop_silent_handshakes(host: &str) {
    use std::io::{Read as _, Write as _};
    let hello = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01];
    let mut held: Vec<std::net::TcpStream> = (0..20).map(|_| std::net::TcpStream::connect(host).unwrap()).collect();
    for stream in held.iter_mut().step_by(2) {
        stream.write_all(&hello).unwrap();
    }
    for (number, mut stream) in held.into_iter().enumerate() {
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        let mut rest = Vec::new();
        let ended = stream.read_to_end(&mut rest);
        let is_patience = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
        assert!(!ended.as_ref().is_err_and(is_patience), "connection {number} is held: {ended:?}");
    }
}

#[test]
fn beyond_loopback_the_console_speaks_tls_and_wants_a_login() {
    let Some(browser) = Browser::start("beyond_loopback_the_console_speaks_tls_and_wants_a_login") else { return };
    let world = world();
    world.make_home();
    let made = program("openssl", &world.here())
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
        ])
        .args(["-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "cert.pem"])
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        testkit::skip(
            "beyond_loopback_the_console_speaks_tls_and_wants_a_login",
            "there is no openssl that makes a certificate",
        );
        return;
    }
    let refused = world.cto(["serve", "--listen", "0.0.0.0:0", "--json"]).expect(2).json();
    assert!(
        refused["errors"][0]["message"].as_str().unwrap().contains("beyond loopback the console needs TLS"),
        "the control"
    );
    let words = ["serve", "--listen", "0.0.0.0:0", "--json", "--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let served = Served::spawn(world.command(words));
    let port = served.host.rsplit_once(':').unwrap().1;
    let origin = format!("https://localhost:{port}");
    let page = browser.open(Look::at(&origin, ""));
    page.visit("/runs");
    assert_eq!(page.path(), "/login");
    page.visit(&served.login);
    page.click("main button[type=submit]");
    assert_eq!(page.path(), "/");
    let cookies = page.cookies();
    assert_eq!((&cookies[0]["secure"], &cookies[0]["httpOnly"]), (&json!(true), &json!(true)));
    assert!(page.faults().is_empty());
    let plain = served.send(format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").as_bytes());
    assert!(plain.is_none(), "nothing is said without TLS");
    drop_silent_handshakes(&served.host.replace("0.0.0.0", "127.0.0.1"));
    std::fs::create_dir_all(world.user().join(".config/cto")).unwrap();
    std::fs::write(world.user().join(".config/cto/config.yaml"), "hermes:\n  open_read_only: true\n").unwrap();
    let refused = world.cto(words).expect(2).json();
    assert!(refused["errors"][0]["message"].as_str().unwrap().contains("every reader needs a login"), "{refused}");
}
