//! Places where evidence of several machines can lie: a folder, or a bucket of an object store.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use zeroize::Zeroizing;

/// The place of an object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvidencePlace {
    /// A folder of this machine.
    Folder(PathBuf),
    Bucket(Box<BucketPlace>),
}

/// A part of a bucket and what it takes to get in.
#[derive(Clone, PartialEq, Eq)]
pub struct BucketPlace {
    pub address: BucketAddress,
    pub endpoint: BucketEndpoint,
    /// Part of every signature.
    pub region: String,
    /// Without it requests are not signed.
    pub access: Option<BucketAccess>,
    /// Certificate authorities that may vouch for the store. Without them only a store of this machine is used, unencrypted.
    pub authorities: Option<PathBuf>,
    /// The longest time that one object is waited for, all tries together.
    pub patience: Duration,
}

/// A credential: shown to the store by its signatures alone.
#[derive(Clone, PartialEq, Eq)]
pub struct BucketAccess {
    pub key_id: String,
    pub secret: Zeroizing<String>,
}

/// A bucket and the beginning of the names in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketAddress {
    pub bucket: String,
    /// Without a slash at either end; may be empty.
    pub prefix: String,
}

/// The server that has the bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketEndpoint {
    pub host: String,
    pub port: u16,
    pub is_encrypted: bool,
}

/// Text that names no place of evidence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParsePlaceError {
    #[error("a place of evidence is s3://BUCKET/PREFIX or file:///PATH")]
    Place,
    #[error("an endpoint is https://HOST:PORT, without a path and without a credential")]
    Endpoint,
}

const FILE: &str = "file://";
const BUCKET: &str = "s3://";

impl EvidencePlace {
    /// The folder that a text names; `None` where it names something else.
    pub fn parse_folder(text: &str) -> Option<PathBuf> {
        text.strip_prefix(FILE).filter(|path| path.starts_with('/')).map(PathBuf::from)
    }

    /// Name by which a ledger remembers the store of its witnesses: buckets of two servers may have one name.
    pub fn witness_place(&self) -> String {
        match self {
            Self::Folder(_) => self.to_string(),
            Self::Bucket(bucket) => format!("{} at {}", bucket.address, bucket.endpoint),
        }
    }
}

impl fmt::Display for EvidencePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{FILE}{}", path.display()),
            Self::Bucket(bucket) => bucket.address.fmt(f),
        }
    }
}

impl fmt::Debug for BucketPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketPlace").field("address", &self.address).finish_non_exhaustive()
    }
}

impl fmt::Debug for BucketAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketAccess").finish_non_exhaustive()
    }
}

/// True for names that stand in a path and in a signature as they are.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && name != "." && name != ".." && name.bytes().all(is_plain)
}

impl FromStr for BucketAddress {
    type Err = ParsePlaceError;

    fn from_str(text: &str) -> Result<Self, ParsePlaceError> {
        let rest = text.strip_prefix(BUCKET).ok_or(ParsePlaceError::Place)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let is_prefix = prefix.is_empty() || prefix.split('/').all(is_plain_name);
        match is_plain_name(bucket) && is_prefix {
            true => Ok(Self { bucket: bucket.to_owned(), prefix: prefix.to_owned() }),
            false => Err(ParsePlaceError::Place),
        }
    }
}

impl fmt::Display for BucketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{BUCKET}{}/{}", self.bucket, self.prefix)
    }
}

impl BucketEndpoint {
    /// True if the server is on this machine, by its address: no name is looked up.
    pub fn is_loopback(&self) -> bool {
        self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()) || self.host == "localhost"
    }

    fn default_port(&self) -> u16 {
        if self.is_encrypted { 443 } else { 80 }
    }

    /// Host and port as requests name them: without a port that goes without saying.
    #[cfg(feature = "fleet")]
    pub(super) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == self.default_port() { host } else { format!("{host}:{}", self.port) }
    }
}

impl fmt::Display for BucketEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

impl FromStr for BucketEndpoint {
    type Err = ParsePlaceError;

    fn from_str(text: &str) -> Result<Self, ParsePlaceError> {
        let (is_encrypted, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err(ParsePlaceError::Endpoint),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => rest.rsplit_once(':').map_or((rest, None), |(host, port)| (host, Some(port))),
        };
        if !is_plain_name(host) && host.parse::<IpAddr>().is_err() {
            return Err(ParsePlaceError::Endpoint);
        }
        let mut endpoint = Self { host: host.to_owned(), port: 0, is_encrypted };
        let default = endpoint.default_port();
        endpoint.port = port.map_or(Ok(default), str::parse).map_err(|_| ParsePlaceError::Endpoint)?;
        Ok(endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_and_shown_again() {
        for (text, shown) in [
            ("s3://cto-evidence/fleet/one", "s3://cto-evidence/fleet/one"),
            ("s3://cto-evidence/fleet/", "s3://cto-evidence/fleet"),
            ("s3://cto-evidence", "s3://cto-evidence/"),
        ] {
            assert_eq!(text.parse::<BucketAddress>().unwrap().to_string(), shown);
        }
        assert_eq!(EvidencePlace::parse_folder("file:///srv/evidence"), Some("/srv/evidence".into()));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in
            ["s3://", "s3:///p", "s3://b/../c", "s3://b//c", "s3://b/a b", "s3://k:s@b/c", "gs://b/c", "s3://b/%2e"]
        {
            assert_eq!(text.parse::<BucketAddress>(), Err(ParsePlaceError::Place), "{text}");
        }
        for text in ["file://srv", "file:srv", "/srv"] {
            assert_eq!(EvidencePlace::parse_folder(text), None, "{text}");
        }
        for text in ["h", "ftp://h", "https://k:s@h", "https://h/path", "https://h:99999", "https://", "http://h?x=1"] {
            assert_eq!(text.parse::<BucketEndpoint>(), Err(ParsePlaceError::Endpoint), "{text}");
        }
    }

    #[test]
    fn only_an_endpoint_of_this_machine_is_this_machine() {
        for (text, port, local) in [
            ("http://127.0.0.1:8333", 8333, true),
            ("https://localhost", 443, true),
            ("http://[::1]", 80, true),
            ("http://127.0.0.1.example", 80, false),
            ("https://s3.example:9000/", 9000, false),
        ] {
            let endpoint: BucketEndpoint = text.parse().unwrap();
            assert_eq!((endpoint.port, endpoint.is_loopback()), (port, local), "{text}");
        }
    }

    #[test]
    fn a_credential_is_not_shown() {
        let access = BucketAccess { key_id: "hunter1".to_owned(), secret: "hunter2".to_owned().into() };
        let place = BucketPlace {
            address: "s3://bucket/p".parse().unwrap(),
            endpoint: "https://h".parse().unwrap(),
            region: String::new(),
            access: Some(access.clone()),
            authorities: None,
            patience: Duration::ZERO,
        };
        let place = EvidencePlace::Bucket(Box::new(place));
        assert!(!format!("{place:?} {place} {access:?}").contains("hunter"));
    }
}
