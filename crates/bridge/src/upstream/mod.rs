//! The provider's side: address, connections, the HTTP client, and the credential that goes
//! along.

pub(crate) mod client;
pub(crate) mod connect;
pub(crate) mod credential;
pub(crate) mod endpoint;
mod framing;
pub(crate) mod pool;
pub(crate) mod reach;
pub(crate) mod secret;
