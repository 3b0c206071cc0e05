//! Places where a ledger can lie: a file of this machine, or a database on a server.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

/// The place of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerPlace {
    File(PathBuf),
    Server(Box<ServerPlace>),
}

/// A database on a server and what it takes to get in.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerPlace {
    pub address: ServerAddress,
    /// Password, sent to the server and to nobody else.
    pub password: Option<Zeroizing<String>>,
    /// Certificate authorities that may vouch for the server. Without them only a server of this
    /// machine is used, unencrypted.
    pub authorities: Option<PathBuf>,
}

/// A database on a server, without a credential: this may be printed and recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub database: String,
}

const SCHEME: &str = "postgres://";
const DEFAULT_PORT: u16 = 5432;

/// Text that names no database on a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseAddressError {
    #[error("an address is postgres://USER@HOST:PORT/DATABASE")]
    Form,
    #[error("an address holds no password: name the variable that has it")]
    Password,
}

impl LedgerPlace {
    /// The file, where it is one.
    pub fn as_file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Server(_) => None,
        }
    }
}

impl fmt::Display for LedgerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Server(server) => server.address.fmt(f),
        }
    }
}

impl fmt::Debug for ServerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerPlace").field("address", &self.address).finish_non_exhaustive()
    }
}

impl ServerAddress {
    /// True for a text that is meant to name a server.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// True if the server is on this machine, by its address: no name is looked up.
    pub fn is_loopback(&self) -> bool {
        self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()) || self.host == "localhost"
    }
}

impl std::str::FromStr for ServerAddress {
    type Err = ParseAddressError;

    fn from_str(text: &str) -> Result<Self, ParseAddressError> {
        let rest = text.strip_prefix(SCHEME).ok_or(ParseAddressError::Form)?;
        let (user, rest) = rest.rsplit_once('@').ok_or(ParseAddressError::Form)?;
        if user.contains(':') {
            return Err(ParseAddressError::Password);
        }
        let (server, database) = rest.split_once('/').ok_or(ParseAddressError::Form)?;
        let (host, port) = split_port(server)?;
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        let is_host = is_name(&host) || host.parse::<IpAddr>().is_ok();
        match is_name(user) && is_name(database) && is_host {
            true => Ok(Self { host, port, user: user.to_owned(), database: database.to_owned() }),
            false => Err(ParseAddressError::Form),
        }
    }
}

/// Host and port; an IPv6 address is in brackets.
fn split_port(server: &str) -> Result<(String, u16), ParseAddressError> {
    let (host, port) = match server.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => server.rsplit_once(':').map_or((server, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Ok(DEFAULT_PORT), str::parse).map_err(|_| ParseAddressError::Form)?;
    Ok((host.to_owned(), port))
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, user, database } = self;
        match host.contains(':') {
            true => write!(f, "{SCHEME}{user}@[{host}]:{port}/{database}"),
            false => write!(f, "{SCHEME}{user}@{host}:{port}/{database}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_shown_again() {
        for (text, shown) in [
            ("postgres://cto@127.0.0.1:5433/ledger", "postgres://cto@127.0.0.1:5433/ledger"),
            ("postgres://cto@db.example/ledger", "postgres://cto@db.example:5432/ledger"),
            ("postgres://cto@[::1]:7/ledger", "postgres://cto@[::1]:7/ledger"),
        ] {
            assert_eq!(text.parse::<ServerAddress>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        use ParseAddressError::{Form, Password};
        for (text, why) in [
            ("postgres://cto:secret@db/ledger", Password),
            ("postgres://db/ledger", Form),
            ("postgres://cto@db", Form),
            ("postgres://cto@db/", Form),
            ("postgres://cto@/ledger", Form),
            ("postgres://cto@db:99999/ledger", Form),
            ("postgres://cto@db/ledger?sslmode=disable", Form),
            ("postgres://cto@db host=evil/ledger", Form),
            ("mysql://cto@db/ledger", Form),
        ] {
            assert_eq!(text.parse::<ServerAddress>(), Err(why), "{text}");
        }
    }

    #[test]
    fn only_an_address_of_this_machine_is_this_machine() {
        for (host, local) in [
            ("127.0.0.1", true),
            ("[::1]", true),
            ("localhost", true),
            ("127.0.0.1.example", false),
            ("10.0.0.1", false),
        ] {
            let address: ServerAddress = format!("postgres://cto@{host}/ledger").parse().unwrap();
            assert_eq!(address.is_loopback(), local, "{host}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let address = "postgres://cto@db/ledger".parse().unwrap();
        let place = ServerPlace { address, password: Some("hunter2".to_owned().into()), authorities: None };
        let place = LedgerPlace::Server(Box::new(place));
        assert!(!format!("{place:?} {place}").contains("hunter2"));
    }
}
