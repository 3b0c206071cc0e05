//! Checks that a provider's server accepts connections, without sending a request.

use std::io;
use std::time::Duration;

use crate::upstream::connect::{ConnectUpstreamError, Connector, PrepareProxyTlsError, Proxy, TrustedRoots, tls};
use crate::upstream::endpoint::Endpoint;

/// An endpoint to which no connection can be made. Names no address.
#[derive(Debug, thiserror::Error)]
pub enum ReachEndpointError {
    #[error(transparent)]
    Tls(PrepareProxyTlsError),
    #[error("no connection can be tried: {0}")]
    Runtime(#[source] io::Error),
    #[error("no connection: it takes too long")]
    Late,
    #[error(transparent)]
    Connect(ConnectFault),
}

/// The fault of a connection, as the bridge tells it.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ConnectFault(ConnectUpstreamError);

/// Connects as the bridge would, through the proxy and with TLS where they are set, and
/// hangs up.
pub fn check_reach(
    endpoint: Endpoint,
    trust: &TrustedRoots,
    proxy: Option<Proxy>,
    within: Duration,
) -> Result<(), ReachEndpointError> {
    let tls = endpoint.tls.then(|| tls(trust)).transpose().map_err(ReachEndpointError::Tls)?;
    let connector = Connector { endpoint, proxy, tls };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let connected = runtime
        .map_err(ReachEndpointError::Runtime)?
        .block_on(async { tokio::time::timeout(within, connector.connect()).await });
    match connected {
        Err(_) => Err(ReachEndpointError::Late),
        Ok(Err(error)) => Err(ReachEndpointError::Connect(ConnectFault(error))),
        Ok(Ok(_)) => Ok(()),
    }
}
