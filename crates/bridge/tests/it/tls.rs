//! HTTPS to the provider: the name and the issuer are checked, an extra authority counts, and a proxy sees only a
//! tunnel.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use bridge::{Proxy, RefusalCode, Secret, Trust};
use fixtures::scripted::{Reply, Stage, converse};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::world::{config, listener, live, records_of, request, send, start};

const BODY: &str = r#"{"model":"m","messages":[]}"#;

/// A TLS server whose certificate is for `name`; gives its address and the authority that issued it.
fn server(name: &str) -> (SocketAddr, Vec<u8>) {
    let ca_key = rcgen::KeyPair::generate().unwrap();
    let mut ca = rcgen::CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = ca.self_signed(&ca_key).unwrap();
    let issuer = rcgen::Issuer::new(ca, ca_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
        )
        .unwrap();
    let listener = listener();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || serve(&listener, &Arc::new(config)));
    (address, authority.pem().into_bytes())
}

fn serve(listener: &TcpListener, config: &Arc<rustls::ServerConfig>) {
    let script = fixtures::scripted::Script { otherwise: Reply::text("over TLS"), ..Default::default() };
    let stage = Arc::new(Stage::new(script));
    for stream in listener.incoming() {
        let (config, stage) = (Arc::clone(config), Arc::clone(&stage));
        thread::spawn(move || {
            let connection = rustls::ServerConnection::new(config).unwrap();
            let _ = converse(&mut rustls::StreamOwned::new(connection, stream.unwrap()), &stage);
        });
    }
}

fn ask(
    address: SocketAddr,
    host: &str,
    trust: Trust,
    proxy: Option<Proxy>,
) -> (u16, Option<RefusalCode>, Option<String>) {
    let mut upstream = live(&format!("https://{host}:{}/v1", address.port()));
    upstream.trust = trust;
    upstream.proxy = proxy;
    let mut config = config(upstream);
    config.deadlines.connect = std::time::Duration::from_secs(5);
    let (bridge, address, events) = start(config);
    let got = send(address, &request("POST", "/v1/chat/completions", BODY));
    bridge.stop();
    let record = records_of(&events).remove(0);
    (got.status, record.refusal, record.detail)
}

#[test]
fn certificates_are_checked() {
    let unreachable = Some(RefusalCode::UpstreamUnreachable);
    let (address, authority) = server("localhost");
    let trusted = || Trust { extra_ca: Some(authority.clone()) };
    assert_eq!(ask(address, "localhost", trusted(), None), (200, None, None));
    let (status, code, detail) = ask(address, "localhost", Trust::default(), None);
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
    let (status, code, _) = ask(address, "localhost", Trust::default(), None);
    assert_eq!((status, code), (502, Some(RefusalCode::UpstreamUnreachable)));
}

#[test]
fn an_extra_authority_that_is_none_stops_the_start() {
    let mut upstream = live("https://localhost:1/v1");
    upstream.trust = Trust { extra_ca: Some(b"not a certificate".to_vec()) };
    let error = bridge::Bridge::start(config(upstream), Box::new(drop)).unwrap_err();
    assert_eq!(error.to_string(), "the extra certificate authorities cannot be read");
}

/// A proxy that tunnels when it is asked politely.
fn proxy(answer: &'static str, to: SocketAddr) -> (SocketAddr, thread::JoinHandle<String>) {
    let listener = listener();
    let address = listener.local_addr().unwrap();
    let thread = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap() == 1 {
            head.push(byte[0]);
        }
        client.write_all(answer.as_bytes()).unwrap();
        if answer.contains("200") {
            let upstream = TcpStream::connect(to).unwrap();
            let (mut down, mut up) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
            let back = thread::spawn(move || std::io::copy(&mut up, &mut down));
            let _ = std::io::copy(&mut client, &mut &upstream);
            let _ = upstream.shutdown(std::net::Shutdown::Both);
            let _ = back.join();
        }
        String::from_utf8_lossy(&head).into_owned()
    });
    (address, thread)
}

#[test]
fn a_proxy_tunnels_and_learns_no_credential() {
    let (address, authority) = server("localhost");
    let (through, seen) = proxy("HTTP/1.1 200 Connection established\r\n\r\n", address);
    let login = Some(Secret::new("user:password"));
    let proxy_setting = Proxy::parse(&format!("http://{through}"), login).unwrap();
    let trust = Trust { extra_ca: Some(authority) };
    assert_eq!(ask(address, "localhost", trust, Some(proxy_setting)), (200, None, None));
    let head = seen.join().unwrap();
    assert!(head.starts_with(&format!("CONNECT localhost:{} HTTP/1.1\r\n", address.port())), "{head}");
    assert!(head.contains("Proxy-Authorization: Basic dXNlcjpwYXNzd29yZA=="));
    assert!(!head.contains(crate::world::KEY));

    let (through, _) = proxy("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", address);
    let proxy_setting = Proxy::parse(&format!("http://{through}"), None).unwrap();
    let (status, _, detail) = ask(address, "localhost", Trust::default(), Some(proxy_setting));
    assert_eq!((status, detail.as_deref()), (502, Some("no way through the proxy: it refused")));
}
