//! TLS to a server, whose certificate is always checked: issuer and name.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use rustls::ClientConfig;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;

use crate::tls::{PrepareTlsError, trusting_authorities};

/// Makes connections to servers for which one of these authorities vouches.
#[derive(Clone)]
pub(super) struct VerifiedTls {
    config: Arc<ClientConfig>,
}

impl VerifiedTls {
    /// TLS that trusts the authorities of a PEM file and no others.
    pub(super) fn trusting_authorities(authorities: &Path) -> Result<Self, PrepareTlsError> {
        Ok(Self { config: Arc::new(trusting_authorities(authorities)?) })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for VerifiedTls {
    type Stream = ServerStream<S>;
    type TlsConnect = NamedTls;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<NamedTls, InvalidDnsNameError> {
        Ok(NamedTls { config: Arc::clone(&self.config), name: ServerName::try_from(host.to_owned())? })
    }
}

/// The same for one server, whose certificate has to name it.
pub(super) struct NamedTls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for NamedTls {
    type Stream = ServerStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<ServerStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connecting = TlsConnector::from(self.config).connect(self.name, stream);
        Box::pin(async { Ok(ServerStream(connecting.await?)) })
    }
}

/// An encrypted connection to a server.
pub(super) struct ServerStream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for ServerStream<S> {
    /// The certificate is checked by its authority, so that a password need not be bound to the channel.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for ServerStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ServerStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
