//! Connections to the provider: TCP, through a proxy if one is set, with TLS if the address
//! says so.
//!
//! Certificates are checked against the system's own bundle and against nothing from the
//! environment, so that the record of what was trusted is complete.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use zeroize::Zeroizing;

use super::endpoint::{Endpoint, ParseEndpointError, bracketed, parse_authority};
use crate::upstream::secret::Secret;

/// Usual paths of the system's bundle of certificate authorities.
const BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Whom to trust beside the system's authorities. A bundle that used this says `custom_ca`.
#[derive(Debug, Clone, Default)]
pub struct TrustedRoots {
    /// PEM text of further authorities.
    pub extra_ca: Option<Vec<u8>>,
}

/// A proxy that tunnels with `CONNECT`.
#[derive(Debug, Clone)]
pub struct Proxy {
    host: String,
    port: u16,
    login: Option<Secret>,
}

impl Proxy {
    /// `http://HOST:PORT`; the login, `user:password`, is given apart.
    pub fn parse_proxy(text: &str, login: Option<Secret>) -> Result<Self, ParseEndpointError> {
        let rest = text.strip_prefix("http://").ok_or(ParseEndpointError::Scheme)?;
        let (host, port) = parse_authority(rest.trim_end_matches('/'), 80)?;
        Ok(Self { host, port, login })
    }

    /// Host with port: the text that would reveal the proxy.
    pub fn value(&self) -> String {
        format!("{}:{}", bracketed(&self.host), self.port)
    }
}

/// TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum PrepareProxyTlsError {
    /// The extra authorities are not PEM certificates.
    #[error("the extra certificate authorities cannot be read")]
    ExtraCa,
    /// The system has no bundle and none was given.
    #[error("the system has no certificate authorities")]
    NoAuthorities,
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[source] rustls::Error),
}

/// The client side of TLS: HTTP/1.1 only, certificates always checked.
pub(crate) fn tls(trust: &TrustedRoots) -> Result<Arc<ClientConfig>, PrepareProxyTlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in BUNDLES.iter().find_map(|path| std::fs::read(path).ok()).iter().flat_map(|pem| certificates(pem))
    {
        // A bundle may hold what rustls does not take; the others still count.
        let _ = certificate.map(|certificate| roots.add(certificate));
    }
    if let Some(pem) = &trust.extra_ca {
        let before = roots.len();
        for certificate in certificates(pem) {
            let certificate = certificate.map_err(|_| PrepareProxyTlsError::ExtraCa)?;
            roots.add(certificate).map_err(|_| PrepareProxyTlsError::ExtraCa)?;
        }
        if roots.len() == before {
            return Err(PrepareProxyTlsError::ExtraCa);
        }
    }
    if roots.is_empty() {
        return Err(PrepareProxyTlsError::NoAuthorities);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config =
        versions.map_err(PrepareProxyTlsError::Rustls)?.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn certificates(pem: &[u8]) -> impl Iterator<Item = Result<CertificateDer<'static>, rustls::pki_types::pem::Error>> {
    CertificateDer::pem_slice_iter(pem)
}

/// A connection that cannot be made. Names no address.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectUpstreamError {
    #[error("no connection: {0}")]
    Tcp(io::ErrorKind),
    #[error("no way through the proxy: {0}")]
    Proxy(&'static str),
    #[error("the host has no name TLS could check")]
    Name,
    #[error("no TLS: {0}")]
    Tls(String),
}

/// Recipe for connections to one endpoint.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    pub(crate) endpoint: Endpoint,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

impl Connector {
    /// Opens a connection, with proxy and TLS as configured.
    pub(crate) async fn connect(&self) -> Result<UpstreamStream, ConnectUpstreamError> {
        let mut tcp = match &self.proxy {
            None => dial(&self.endpoint.host, self.endpoint.port).await?,
            Some(proxy) => dial(&proxy.host, proxy.port).await?,
        };
        if let Some(proxy) = &self.proxy {
            self.tunnel(&mut tcp, proxy).await?;
        }
        let Some(config) = &self.tls else { return Ok(UpstreamStream::Plain(tcp)) };
        let name = ServerName::try_from(self.endpoint.host.clone()).map_err(|_| ConnectUpstreamError::Name)?;
        let tls = TlsConnector::from(Arc::clone(config)).connect(name, tcp).await;
        tls.map(|tls| UpstreamStream::Tls(Box::new(tls))).map_err(|error| ConnectUpstreamError::Tls(tls_fault(&error)))
    }

    async fn tunnel(&self, tcp: &mut TcpStream, proxy: &Proxy) -> Result<(), ConnectUpstreamError> {
        let broken = |_| ConnectUpstreamError::Proxy("the connection broke");
        let authority = format!("{}:{}", bracketed(&self.endpoint.host), self.endpoint.port);
        let mut head = Zeroizing::new(format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n"));
        if let Some(login) = &proxy.login {
            let encoded = Zeroizing::new(STANDARD.encode(login.bytes()));
            head.push_str(&format!("Proxy-Authorization: Basic {}\r\n", &**encoded));
        }
        head.push_str("\r\n");
        tcp.write_all(head.as_bytes()).await.map_err(broken)?;
        // Byte by byte: what follows the head belongs to the tunnel.
        let mut answer = Vec::with_capacity(256);
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() > 8 * 1024 {
                return Err(ConnectUpstreamError::Proxy("its answer is too long"));
            }
            answer.push(tcp.read_u8().await.map_err(broken)?);
        }
        let agreed = answer.starts_with(b"HTTP/1.1 200") || answer.starts_with(b"HTTP/1.0 200");
        if agreed { Ok(()) } else { Err(ConnectUpstreamError::Proxy("it refused")) }
    }
}

/// Cause of a failed handshake, without the name of the host, which is confidential.
fn tls_fault(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(rustls::CertificateError::NotValidForName))
        | Some(rustls::Error::InvalidCertificate(rustls::CertificateError::NotValidForNameContext { .. })) => {
            "the certificate is for another name".to_owned()
        }
        Some(rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer)) => {
            "nobody trusted issued the certificate".to_owned()
        }
        Some(rustls::Error::InvalidCertificate(_)) => "the certificate is not valid".to_owned(),
        Some(_) => "the handshake failed".to_owned(),
        None => error.kind().to_string(),
    }
}

async fn dial(host: &str, port: u16) -> Result<TcpStream, ConnectUpstreamError> {
    let tcp = TcpStream::connect((host, port)).await.map_err(|error| ConnectUpstreamError::Tcp(error.kind()))?;
    // Without it small writes wait for acknowledgements; a socket that cannot say so still
    // works.
    let _ = tcp.set_nodelay(true);
    Ok(tcp)
}

/// A connection, with or without TLS.
#[derive(Debug)]
pub(crate) enum UpstreamStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl UpstreamStream {
    /// Underlying socket.
    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Self::Plain(stream) => stream.as_fd(),
            Self::Tls(stream) => stream.get_ref().0.as_fd(),
        }
    }
}

impl AsyncRead for UpstreamStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for UpstreamStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
