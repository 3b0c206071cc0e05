//! The one address a bridge sends to.

use std::fmt;

/// A provider's address: scheme, host, port and the path before a route's own.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub(crate) tls: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    prefix: String,
    /// The `host` header.
    authority: String,
}

/// An endpoint's value appears in no artifact, and so in no message either.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Endpoint")
    }
}

/// Text that is no address of a provider. Does not repeat the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseEndpointError {
    #[error("the upstream address must begin with http:// or https://")]
    Scheme,
    /// A name or a password in the address would end up where addresses go.
    #[error("the upstream address must not hold a user or a password")]
    UserInfo,
    #[error("the upstream address has no good host")]
    Host,
    #[error("the upstream address has no good port")]
    Port,
    #[error("the path of the upstream address is invalid (no query and no fragment)")]
    Path,
}

impl Endpoint {
    /// Host, for comparison with the network class.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// True if the connection uses TLS, and certificates are checked.
    pub fn uses_tls(&self) -> bool {
        self.tls
    }

    /// `http[s]://HOST[:PORT][/PREFIX]`. Without a prefix it is `/v1`.
    pub fn parse_endpoint(text: &str) -> Result<Self, ParseEndpointError> {
        let (scheme, rest) = text.split_once("://").ok_or(ParseEndpointError::Scheme)?;
        let tls = match scheme {
            "https" => true,
            "http" => false,
            _ => return Err(ParseEndpointError::Scheme),
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let (host, port) = parse_authority(authority, if tls { 443 } else { 80 })?;
        let prefix = path.trim_end_matches('/');
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%".contains(&byte);
        if !prefix.bytes().all(plain) || prefix.contains("..") || prefix.contains("//") {
            return Err(ParseEndpointError::Path);
        }
        let prefix = if prefix.is_empty() { "/v1" } else { prefix };
        let authority = match (tls, port) {
            (true, 443) | (false, 80) => bracketed(&host),
            (_, port) => format!("{}:{port}", bracketed(&host)),
        };
        Ok(Self { tls, host, port, prefix: prefix.to_owned(), authority })
    }

    /// Texts that would reveal the endpoint: the whole address, and host with port. The
    /// host alone may be a common word.
    pub fn values(&self) -> [String; 2] {
        let scheme = if self.tls { "https" } else { "http" };
        let dialled = format!("{}:{}", bracketed(&self.host), self.port);
        [format!("{scheme}://{}{}", self.authority, self.prefix), dialled]
    }

    /// The request line and the `host` header.
    pub(crate) fn push_start(&self, route: &str, head: &mut Vec<u8>) {
        for part in ["POST ", &self.prefix, route, " HTTP/1.1\r\nhost: ", &self.authority, "\r\n"] {
            head.extend_from_slice(part.as_bytes());
        }
    }
}

/// Host as written before a port, with brackets around an IPv6 address.
pub(crate) fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// Host and port of an address; `usual` is the default port.
pub(crate) fn parse_authority(authority: &str, usual: u16) -> Result<(String, u16), ParseEndpointError> {
    if authority.contains('@') {
        return Err(ParseEndpointError::UserInfo);
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, behind) = rest.split_once(']').ok_or(ParseEndpointError::Host)?;
            host.parse::<std::net::Ipv6Addr>().map_err(|_| ParseEndpointError::Host)?;
            (host, behind.strip_prefix(':').or(behind.is_empty().then_some("")).ok_or(ParseEndpointError::Port)?)
        }
        None => {
            let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            if host.is_empty() || host.len() > 253 || !host.bytes().all(plain) {
                return Err(ParseEndpointError::Host);
            }
            (host, port)
        }
    };
    let port = match port {
        "" if !authority.ends_with(':') => usual,
        text if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().map_err(|_| ParseEndpointError::Port)?,
        _ => return Err(ParseEndpointError::Port),
    };
    if port == 0 { Err(ParseEndpointError::Port) } else { Ok((host.to_ascii_lowercase(), port)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gives_an_endpoint_away() {
        let rows = [
            ("https://API.example.com", ["https://api.example.com/v1", "api.example.com:443"]),
            ("http://gpu:8000/v1/", ["http://gpu:8000/v1", "gpu:8000"]),
            ("https://[::1]:9/x", ["https://[::1]:9/x", "[::1]:9"]),
        ];
        for (text, expected) in rows {
            assert_eq!(Endpoint::parse_endpoint(text).unwrap().values(), expected, "{text}");
        }
    }

    fn check(text: &str) -> Result<String, ParseEndpointError> {
        Endpoint::parse_endpoint(text).map(|endpoint| format!("{} {}/x", endpoint.authority, endpoint.prefix))
    }

    #[test]
    fn addresses_are_read_strictly() {
        let rows: &[(&str, Result<&str, ParseEndpointError>)] = &[
            ("https://api.example.com", Ok("api.example.com /v1/x")),
            ("https://api.example.com/v1/", Ok("api.example.com /v1/x")),
            ("http://Host:8080/backend-api/codex", Ok("host:8080 /backend-api/codex/x")),
            ("http://[::1]:9/v1", Ok("[::1]:9 /v1/x")),
            ("ftp://x", Err(ParseEndpointError::Scheme)),
            ("api.example.com", Err(ParseEndpointError::Scheme)),
            ("https://user:key@x/", Err(ParseEndpointError::UserInfo)),
            ("https://", Err(ParseEndpointError::Host)),
            ("https://a b", Err(ParseEndpointError::Host)),
            ("https://x\r\nh: 1", Err(ParseEndpointError::Host)),
            ("https://x:", Err(ParseEndpointError::Port)),
            ("https://x:99999", Err(ParseEndpointError::Port)),
            ("https://x:0", Err(ParseEndpointError::Port)),
            ("https://x/?key=1", Err(ParseEndpointError::Path)),
            ("https://x/a/../b", Err(ParseEndpointError::Path)),
        ];
        for (text, expected) in rows {
            assert_eq!(check(text), expected.map(str::to_owned), "{text}");
        }
    }
}
