//! Arguments of `cto bridge`.

use std::net::SocketAddr;

use clap::Args;
use contract::ModelPair;

use crate::credential_source::CredentialName;

/// Arguments of `cto bridge`.
#[derive(Debug, Args)]
#[command(after_help = "\
Shows each request as it happens: one line on a pipe, one JSON object a line with --json. Clients present the token \
as their key. Without one, the bridge makes and prints it.

Examples:
  cto bridge --upstream http://127.0.0.1:8000/v1 --admit qwen-local/qwen3
  cto bridge --upstream https://api.openai.com/v1 \\
      --admit openai/gpt-5.5 --credential env:KEY")]
pub(crate) struct BridgeArgs {
    /// Where to listen; loopback only
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Server that gets the requests
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: String,
    /// The only model that may be requested
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) admit: ModelPair,
    /// Another name of the same model
    #[arg(long, value_name = "NAME")]
    pub(crate) alias: Vec<String>,
    /// Where the upstream's key comes from: env:NAME, file:PATH, oauth-file:PATH or none
    #[arg(long, value_name = "SOURCE", default_value = "none")]
    pub(crate) credential: CredentialName,
    /// What clients present as their key [env: CTO_BRIDGE_TOKEN]
    #[arg(long, value_name = "T")]
    pub(crate) token: Option<String>,
    /// Translate the responses wire to chat completions
    #[arg(long)]
    pub(crate) over_chat: bool,
}
