//! The connection to an object store: verified TLS, or a store of this machine; with one deadline for everything.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use crate::objects::fault::ObjectFault;
use crate::objects::place::BucketPlace;
use crate::tls::trusting_authorities;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Both directions of a connection.
pub(super) trait Duplex: Read + Write {}

impl<T: Read + Write> Duplex for T {}

/// A connection on which nothing is waited for beyond a moment.
struct TimedStream {
    stream: TcpStream,
    deadline: Instant,
}

impl TimedStream {
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            Some(left) => Ok(Some(left)),
            None => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Read for TimedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for TimedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Connects to the endpoint, with TLS unless it is on this machine.
pub(super) fn connect_endpoint(place: &BucketPlace, deadline: Instant) -> Result<Box<dyn Duplex>, ObjectFault> {
    let endpoint = &place.endpoint;
    match (endpoint.is_encrypted, &place.authorities) {
        (true, Some(authorities)) => {
            let config = trusting_authorities(authorities).map_err(|error| ObjectFault::Tls(error.to_string()))?;
            let name = ServerName::try_from(endpoint.host.clone());
            let name = name.map_err(|error| ObjectFault::Tls(error.to_string()))?;
            let session = ClientConnection::new(Arc::new(config), name);
            let session = session.map_err(|error| ObjectFault::Tls(error.to_string()))?;
            Ok(Box::new(StreamOwned::new(session, dial(place, deadline)?)))
        }
        (true, None) => Err(ObjectFault::Unprotected("no setting names certificate authorities for it")),
        (false, _) if endpoint.is_loopback() => Ok(Box::new(dial(place, deadline)?)),
        (false, _) => Err(ObjectFault::Unprotected("its endpoint is not https")),
    }
}

fn dial(place: &BucketPlace, deadline: Instant) -> Result<TimedStream, ObjectFault> {
    let endpoint = &place.endpoint;
    let mut failed = io::Error::other("its name has no address");
    for address in (endpoint.host.as_str(), endpoint.port).to_socket_addrs().map_err(ObjectFault::Io)? {
        let left = deadline.saturating_duration_since(Instant::now()).min(CONNECT_LIMIT);
        if left.is_zero() {
            return Err(ObjectFault::Slow);
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => {
                let _ = stream.set_nodelay(true);
                return Ok(TimedStream { stream, deadline });
            }
            Err(error) => failed = error,
        }
    }
    Err(to_fault(failed))
}

/// The fault that an error on the connection is.
pub(super) fn to_fault(error: io::Error) -> ObjectFault {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => ObjectFault::Slow,
        // A connection that was closed without the end that TLS demands.
        io::ErrorKind::UnexpectedEof => ObjectFault::Truncated,
        // What TLS refuses: a certificate of somebody else, no TLS at all.
        io::ErrorKind::InvalidData => ObjectFault::Tls(error.to_string()),
        _ => ObjectFault::Io(error),
    }
}
