//! HTTPS to the provider: the name and the issuer are checked, an extra authority counts, and a proxy sees only a
//! tunnel.

use std::io::Write as _;
use std::net::SocketAddr;
use std::thread;

use bridge::{Proxy, RefusalCode, Secret, TrustedRoots};
use fixtures::scripted::Reply;
use testkit::{ConnectProxy, TlsModel};

use crate::world::{always, config, listener, live, records_of, request, send, start};

const BODY: &str = r#"{"model":"m","messages":[]}"#;

fn server(name: &str) -> (SocketAddr, Vec<u8>) {
    let TlsModel { address, authority, .. } = TlsModel::start(name, always(Reply::text("over TLS")));
    (address, authority)
}

fn ask(
    address: SocketAddr,
    host: &str,
    trust: TrustedRoots,
    proxy: Option<Proxy>,
) -> (u16, Option<RefusalCode>, Option<String>) {
    let mut upstream = live(&format!("https://{host}:{}/v1", address.port()));
    upstream.trust = trust;
    upstream.proxy = proxy;
    let mut config = config(upstream);
    config.deadlines.connect = std::time::Duration::from_secs(5);
    let (bridge, address, events) = start(config);
    let got = send(address, &request("POST", "/v1/chat/completions", BODY));
    bridge.stop_serving();
    let record = records_of(&events).remove(0);
    (got.status, record.refusal, record.detail)
}

#[test]
fn certificates_are_checked() {
    let unreachable = Some(RefusalCode::UpstreamUnreachable);
    let (address, authority) = server("localhost");
    let trusted = || TrustedRoots { extra_ca: Some(authority.clone()) };
    assert_eq!(ask(address, "localhost", trusted(), None), (200, None, None));
    let (status, code, detail) = ask(address, "localhost", TrustedRoots::default(), None);
    assert_eq!((status, code), (502, unreachable));
    assert_eq!(detail.as_deref(), Some("no TLS: nobody trusted issued the certificate"));
    let (status, code, detail) = ask(address, "127.0.0.1", trusted(), None);
    assert_eq!((status, code), (502, unreachable));
    assert_eq!(detail.as_deref(), Some("no TLS: the certificate is for another name"));
}

#[test]
fn a_plain_server_is_no_tls_server() {
    let plain = listener();
    let address = plain.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = plain.accept().unwrap();
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let (status, code, _) = ask(address, "localhost", TrustedRoots::default(), None);
    assert_eq!((status, code), (502, Some(RefusalCode::UpstreamUnreachable)));
}

#[test]
fn an_extra_authority_that_is_none_stops_the_start() {
    let mut upstream = live("https://localhost:1/v1");
    upstream.trust = TrustedRoots { extra_ca: Some(b"not a certificate".to_vec()) };
    let error = bridge::Bridge::start_bridge(config(upstream), Box::new(drop)).unwrap_err();
    assert_eq!(error.to_string(), "the extra certificate authorities cannot be read");
}

#[test]
fn a_proxy_tunnels_and_learns_no_credential() {
    let (address, authority) = server("localhost");
    let through = ConnectProxy::start("HTTP/1.1 200 Connection established\r\n\r\n", address);
    let login = Some(Secret::new("user:password"));
    let proxy_setting = Proxy::parse_proxy(&format!("http://{}", through.address), login).unwrap();
    let trust = TrustedRoots { extra_ca: Some(authority) };
    assert_eq!(ask(address, "localhost", trust, Some(proxy_setting)), (200, None, None));
    let head = through.heads().remove(0);
    assert!(head.starts_with(&format!("CONNECT localhost:{} HTTP/1.1\r\n", address.port())), "{head}");
    assert!(head.contains("Proxy-Authorization: Basic dXNlcjpwYXNzd29yZA=="));
    assert!(!head.contains(crate::world::KEY));

    let through = ConnectProxy::start("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", address);
    let proxy_setting = Proxy::parse_proxy(&format!("http://{}", through.address), None).unwrap();
    let (status, _, detail) = ask(address, "localhost", TrustedRoots::default(), Some(proxy_setting));
    assert_eq!((status, detail.as_deref()), (502, Some("no way through the proxy: it refused")));
}
