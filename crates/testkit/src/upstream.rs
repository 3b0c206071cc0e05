//! Servers between a bridge and its model: TLS, and a proxy that tunnels.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use fixtures::scripted::{Script, Stage, converse};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A scripted model that speaks TLS, with a certificate that only a client with its authority trusts.
#[derive(Debug, Clone)]
pub struct TlsModel {
    pub address: SocketAddr,
    /// In PEM.
    pub authority: Vec<u8>,
    stage: Arc<Stage>,
}

impl TlsModel {
    /// Serves until the test ends; the certificate is for `name`.
    pub fn start(name: &str, script: Script) -> Self {
        let (config, authority) = certified(name);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let stage = Arc::new(Stage::new(script));
        let shared = Arc::clone(&stage);
        thread::spawn(move || serve(&listener, &config, &shared));
        Self { address, authority, stage }
    }

    /// Number of requests.
    pub fn asked(&self) -> usize {
        self.stage.asked().len()
    }
}

fn certified(name: &str) -> (Arc<ServerConfig>, Vec<u8>) {
    let ca_key = rcgen::KeyPair::generate().expect("a key");
    let mut ca = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = ca.self_signed(&ca_key).expect("an authority").pem().into_bytes();
    let issuer = rcgen::Issuer::new(ca, ca_key);
    let key = rcgen::KeyPair::generate().expect("a key");
    let wanted = rcgen::CertificateParams::new(vec![name.to_owned()]).expect("parameters");
    let certificate = wanted.signed_by(&key, &issuer).expect("a certificate");
    let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = versions.expect("versions").with_no_client_auth();
    let config = config.with_single_cert(vec![certificate.der().clone()], secret).expect("a configuration");
    (Arc::new(config), authority)
}

fn serve(listener: &TcpListener, config: &Arc<ServerConfig>, stage: &Arc<Stage>) {
    for stream in listener.incoming().flatten() {
        let (config, stage) = (Arc::clone(config), Arc::clone(stage));
        thread::spawn(move || {
            let connection = ServerConnection::new(config).expect("a connection");
            let _ = converse(&mut StreamOwned::new(connection, stream), &stage);
        });
    }
}

/// A proxy that answers `CONNECT` with what it is given, tunnels when that is a yes, and keeps what it was asked.
#[derive(Debug, Clone)]
pub struct ConnectProxy {
    pub address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl ConnectProxy {
    /// Tunnels to `to`, whatever it is asked for.
    pub fn start(answer: &'static str, to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heads);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                thread::spawn(move || tunnel(client, answer, to, &kept));
            }
        });
        Self { address, heads }
    }

    /// Heads of the requests, one for each connection.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("nobody panicked").clone()
    }
}

fn tunnel(mut client: TcpStream, answer: &str, to: SocketAddr, kept: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte)? == 1 {
        head.push(byte[0]);
    }
    kept.lock().expect("nobody panicked").push(String::from_utf8_lossy(&head).into_owned());
    client.write_all(answer.as_bytes())?;
    if answer.contains(" 200 ") {
        let upstream = TcpStream::connect(to)?;
        let (mut down, mut up) = (client.try_clone()?, upstream.try_clone()?);
        let back = thread::spawn(move || io::copy(&mut up, &mut down));
        let _ = io::copy(&mut client, &mut &upstream);
        upstream.shutdown(Shutdown::Both)?;
        let _ = back.join();
    }
    Ok(())
}
