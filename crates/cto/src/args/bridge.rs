//! Arguments of `cto bridge`.

use std::net::SocketAddr;

use clap::Args;
use contract::ModelPair;

use crate::credential_source::CredentialName;

/// Arguments of `cto bridge`.
#[derive(Debug, Args)]
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
