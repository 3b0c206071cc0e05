//! Names under which this server answers. Every other Host is refused, so that a foreign
//! DNS name that points here gets nothing.

use std::net::SocketAddr;

use super::session::SESSION_COOKIE;

/// Hosts and origins of this server.
#[derive(Debug, Clone)]
pub(crate) struct ServerNames {
    hosts: Vec<String>,
    scheme: &'static str,
    cookie: String,
}

impl ServerNames {
    /// Names of a listener; loopback addresses also answer to `localhost`.
    pub(crate) fn new(address: SocketAddr, more: &[String], is_tls: bool) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        if address.ip().is_loopback() || address.ip().is_unspecified() {
            hosts.extend([format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")]);
        }
        hosts.extend(more.iter().flat_map(|name| [format!("{name}:{port}"), name.clone()]));
        let cookie = format!("{SESSION_COOKIE}_{port}");
        Self { hosts, scheme: if is_tls { "https" } else { "http" }, cookie }
    }

    /// Name of the session's cookie. Browsers share cookies between the ports of a host, so
    /// that two consoles with one name would log each other out.
    pub(crate) fn cookie(&self) -> &str {
        &self.cookie
    }

    /// True if the Host header names this server.
    pub(crate) fn is_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
    }

    /// True if the Origin header names this server under its own scheme.
    pub(crate) fn is_origin(&self, origin: &str) -> bool {
        let host = origin.strip_prefix(self.scheme).and_then(|rest| rest.strip_prefix("://"));
        host.is_some_and(|host| self.is_host(host))
    }

    /// True if the server speaks TLS, so that cookies must be marked `Secure`.
    pub(crate) fn is_tls(&self) -> bool {
        self.scheme == "https"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_consoles_of_a_host_have_cookies_of_their_own() {
        let cookie = |port: u16| ServerNames::new(([127, 0, 0, 1], port).into(), &[], false).cookie().to_owned();
        assert_eq!([cookie(4170), cookie(4180)], ["hermes_session_4170", "hermes_session_4180"]);
    }

    #[test]
    fn only_own_names_count() {
        let names = ServerNames::new("127.0.0.1:4170".parse().unwrap(), &["desk.example".to_owned()], false);
        for (host, is_own) in [
            ("127.0.0.1:4170", true),
            ("localhost:4170", true),
            ("LOCALHOST:4170", true),
            ("[::1]:4170", true),
            ("desk.example", true),
            ("127.0.0.1", false),
            ("127.0.0.1:4171", false),
            ("evil.example:4170", false),
            ("", false),
        ] {
            assert_eq!(names.is_host(host), is_own, "{host}");
            assert_eq!(names.is_origin(&format!("http://{host}")), is_own, "{host}");
            assert!(!names.is_origin(&format!("https://{host}")), "{host}: another scheme is another origin");
        }
        assert!(!names.is_origin("null"));
    }
}
