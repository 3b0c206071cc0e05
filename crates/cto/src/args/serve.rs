//! Arguments of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// Arguments of `cto serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Prints an address with a link that logs in once. Looking changes nothing, and no page starts a run.

Examples:
  cto serve
  cto serve --open
  cto serve --read-only --listen 127.0.0.1:0

Exit codes: 0 ended by a signal, 2 wrong usage, 3 it cannot listen.")]
pub(crate) struct ServeArgs {
    /// Address and port; beyond loopback only with TLS and a login
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4170")]
    pub(crate) listen: SocketAddr,
    /// Open the login link in a browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Print a link for a session that can only read
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Another host name that it answers to; may be given several times
    #[arg(long, value_name = "HOST")]
    pub(crate) name: Vec<String>,
    /// Also listen for the panel in another host, on this loopback address (see cto hermes install)
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) sidecar: Option<SocketAddr>,
    /// Certificate chain in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Key of the certificate in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
}

impl ServeArgs {
    /// A console on a loopback address and nothing more.
    pub(crate) fn on_loopback(listen: SocketAddr, open: bool) -> Self {
        Self { listen, open, read_only: false, name: Vec::new(), sidecar: None, tls_cert: None, tls_key: None }
    }
}
