//! Looking whether the server of a provider is there, without asking it anything.

use std::fmt;
use std::io;
use std::time::Duration;

use crate::upstream::{ConnectUpstreamError, Connector, Endpoint, PrepareTlsError, Proxy, Trust, tls};

/// An endpoint to which no connection can be made. Names no address.
#[derive(Debug)]
pub enum ReachEndpointError {
    Tls(PrepareTlsError),
    Runtime(io::Error),
    Late,
    Connect(ConnectFault),
}

/// The fault of a connection, as the bridge tells it.
#[derive(Debug)]
pub struct ConnectFault(ConnectUpstreamError);

impl fmt::Display for ReachEndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tls(error) => error.fmt(f),
            Self::Runtime(error) => write!(f, "no connection can be tried: {error}"),
            Self::Late => f.write_str("no connection: it takes too long"),
            Self::Connect(ConnectFault(error)) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReachEndpointError {}

/// Connects as the bridge would, through the proxy and with TLS where they are set, and hangs up.
pub fn check_reach(
    endpoint: Endpoint,
    trust: &Trust,
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
