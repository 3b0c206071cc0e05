//! Arguments of `demo`.

use std::net::SocketAddr;

use clap::Args;

/// Arguments of `cto demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto demo
  cto demo --serve --open     a whole history in the console")]
pub(crate) struct DemoArgs {
    /// Make a team's history in a temporary home, and open the console on it
    #[arg(long)]
    pub(crate) serve: bool,
    /// Address and port of that console; loopback only
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4170", requires = "serve")]
    pub(crate) listen: SocketAddr,
    /// Open the login link in a browser
    #[arg(long, requires = "serve")]
    pub(crate) open: bool,
}
