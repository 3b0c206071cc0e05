//! Path between this machine and the endpoint: certificate authorities of the operator, a
//! proxy.

use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use bridge::{Endpoint, Proxy, Secret, TrustedRoots, check_reach};
use contract::Stamp;
use untrusted_fs::own_files;

use crate::home::model_settings::{ModelSetting, ProxySetting};

/// Time limit of one connection.
const LONGEST_CONNECT: Duration = Duration::from_secs(10);
/// Far more than a bundle of authorities takes.
const LARGEST: u64 = 4 << 20;

/// Trust and proxy for the upstream.
#[derive(Debug, Default)]
pub(super) struct Reach {
    pub(super) trust: TrustedRoots,
    pub(super) proxy: Option<Proxy>,
    /// Login of the proxy: a credential like any other.
    pub(super) login: Option<Secret>,
}

impl Reach {
    /// Reads it anew for each run. Says neither a path nor a value of what cannot be had.
    pub(super) fn read_setting(setting: &ModelSetting, now: Stamp) -> Result<Self, String> {
        let unreadable = |error: io::Error| format!("the file of `custom_ca` cannot be read: {}", error.kind());
        let extra_ca = setting.custom_ca.as_deref().map(read).transpose().map_err(unreadable)?;
        let Some(ProxySetting { address, login }) = &setting.proxy else {
            return Ok(Self { trust: TrustedRoots { extra_ca }, ..Self::default() });
        };
        let login = login.fetch_value(now).map_err(|error| format!("the login of the proxy: {error}"))?;
        let proxy = Proxy::parse_proxy(address, login.clone()).map_err(|error| format!("the proxy: {error}"))?;
        Ok(Self { trust: TrustedRoots { extra_ca }, proxy: Some(proxy), login })
    }

    /// Makes a connection and closes it; nothing is asked. The error names no address.
    pub(super) fn check_connect(self, endpoint: Endpoint) -> Result<(), String> {
        check_reach(endpoint, &self.trust, self.proxy, LONGEST_CONNECT).map_err(|error| error.to_string())
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    own_files::open_file(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}
