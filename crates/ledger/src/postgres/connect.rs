//! Connecting to a server: verified TLS, or a server of this machine.

use std::collections::HashMap;
use std::time::Duration;

use postgres::config::SslMode;
use postgres::error::SqlState;
use postgres::{Config, NoTls};

use super::tls::VerifiedTls;
use super::{Link, told};
use crate::fault::{FaultKind, StoreFault};
use crate::place::{ServerAddress, ServerPlace};
use crate::tls::PrepareTlsError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A question that the server's machine does not acknowledge in this time is lost: the slots of a worker share a connection, and
/// their leases go on only if it is made anew before they lapse.
const SILENCE_LIMIT: Duration = Duration::from_secs(10);
const KEEPALIVE: Duration = Duration::from_secs(5);
/// A server that restarts is back by then; one that is not is reported.
const RECONNECT_LIMIT: Duration = Duration::from_secs(10);
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// A lock is waited for so long, as in a file. A commit is in the log of the server, and of its synchronous standby where it has one,
/// before it is reported as done, whatever the server's own setting.
///
/// No question is worth compiling: each is a range of an index, whatever the planner expects of a large table.
///
/// The server disconnects a client that holds the change lock and is silent for a while, since it was stopped or cut off: the
/// others go on. The same client finds out when it asks again.
const SESSION: &str = "SET lock_timeout = '30s'; SET jit = off; SET client_encoding = 'UTF8'; SET bytea_output = 'hex'; \
     SET idle_in_transaction_session_timeout = '5s'; SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; \
     SET tcp_keepalives_count = 3; SET tcp_user_timeout = 10000; \
     SELECT set_config('synchronous_commit', 'on', FALSE) WHERE current_setting('synchronous_commit') IN ('off', 'local')";

const READ_ONLY: &str = "SET default_transaction_read_only = on";

/// Failure to reach a server.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectServerError {
    #[error("it is on another machine, and `ca` names no certificate authorities")]
    Unprotected,
    #[error(transparent)]
    Tls(#[from] PrepareTlsError),
    #[error("{0}")]
    Server(String),
    #[error("{0}")]
    Starting(String),
}

impl ConnectServerError {
    /// Fault without a more precise kind.
    pub(super) fn into_fault(self) -> StoreFault {
        StoreFault { kind: FaultKind::Other, cause: self.into() }
    }
}

impl From<postgres::Error> for ConnectServerError {
    fn from(error: postgres::Error) -> Self {
        match error.code() {
            Some(&SqlState::CANNOT_CONNECT_NOW) => Self::Starting(told(&error)),
            _ => Self::Server(told(&error)),
        }
    }
}

/// Connects. A server of another machine needs TLS with a verified certificate.
pub(super) fn connect_server(place: &ServerPlace, may_write: bool) -> Result<Link, ConnectServerError> {
    let ServerPlace { address, password, authorities } = place;
    let mut config = plain_config(address);
    if let Some(password) = password {
        config.password(password.as_str());
    }
    let mut client = match authorities {
        Some(file) => config.ssl_mode(SslMode::Require).connect(VerifiedTls::trusting_authorities(file)?)?,
        None if address.is_loopback() => config.ssl_mode(SslMode::Disable).connect(NoTls)?,
        None => return Err(ConnectServerError::Unprotected),
    };
    client.batch_execute(SESSION)?;
    if !may_write {
        client.batch_execute(READ_ONLY)?;
    }
    Ok(Link { client, statements: HashMap::new(), is_listening: false, is_lost: false })
}

/// Connects to a server that may be starting: it says so, and is there in a moment.
pub(super) fn connect_started(place: &ServerPlace, may_write: bool) -> Result<Link, ConnectServerError> {
    match connect_server(place, may_write) {
        Err(ConnectServerError::Starting(_)) => reconnect(place, may_write),
        done => done,
    }
}

/// Connects again to a server that may be restarting.
pub(super) fn reconnect(place: &ServerPlace, may_write: bool) -> Result<Link, ConnectServerError> {
    let mut tries = RECONNECT_LIMIT.as_millis() / RECONNECT_PAUSE.as_millis();
    loop {
        match connect_server(place, may_write) {
            Err(ConnectServerError::Server(_) | ConnectServerError::Starting(_)) if tries > 0 => {
                tries -= 1;
                std::thread::sleep(RECONNECT_PAUSE);
            }
            done => return done,
        }
    }
}

fn plain_config(address: &ServerAddress) -> Config {
    let mut config = Config::new();
    config
        .host(&address.host)
        .port(address.port)
        .user(&address.user)
        .dbname(&address.database)
        .application_name("cto")
        .connect_timeout(CONNECT_TIMEOUT)
        .keepalives_idle(KEEPALIVE)
        .keepalives_interval(KEEPALIVE)
        .keepalives_retries(3)
        .tcp_user_timeout(SILENCE_LIMIT);
    config
}
