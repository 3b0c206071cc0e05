//! Settings of TLS to a server whose certificate is always checked: issuer and name.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use untrusted_fs::own_files;

/// TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrepareTlsError {
    #[error("cannot read the certificate authorities {}: {error}", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("{} holds no certificate authority in PEM", .path.display())]
    NoAuthority { path: PathBuf },
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[from] rustls::Error),
}

/// Settings for servers for which one of the authorities in a PEM file vouches.
pub(crate) fn trusting_authorities(authorities: &Path) -> Result<ClientConfig, PrepareTlsError> {
    let path = || authorities.to_owned();
    let pem = own_files::read_file(authorities).map_err(|error| PrepareTlsError::Read { path: path(), error })?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let added = certificate.ok().map(|certificate| roots.add(certificate));
        added.and_then(Result::ok).ok_or_else(|| PrepareTlsError::NoAuthority { path: path() })?;
    }
    if roots.is_empty() {
        return Err(PrepareTlsError::NoAuthority { path: path() });
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
