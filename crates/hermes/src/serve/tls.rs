//! Certificate and key of a server beyond loopback.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::ServeConsoleError;

/// Files of a certificate chain and its key, in PEM.
#[derive(Debug, Clone)]
pub struct ServerTls {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl ServerTls {
    /// Loads certificate and key from their PEM files.
    pub(super) fn acceptor(&self) -> Result<TlsAcceptor, ServeConsoleError> {
        let wrong = |error: &dyn std::fmt::Display| ServeConsoleError::Tls(error.to_string());
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&self.certificate)
            .map_err(|error| wrong(&error))?
            .collect::<Result<_, _>>()
            .map_err(|error| wrong(&error))?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| wrong(&error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&error))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| wrong(&error))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
