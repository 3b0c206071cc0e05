//! Arguments of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
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
    /// Another host name under which it may be asked; may be given several times
    #[arg(long, value_name = "HOST")]
    pub(crate) name: Vec<String>,
    /// Certificate chain in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Key of the certificate in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
}
