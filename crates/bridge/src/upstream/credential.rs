//! Sources of the provider's credential. It is fetched at the moment of use and kept
//! nowhere.
//!
//! Reading the environment and starting programs have their own doors outside this crate,
//! so those sources are [`Credential::Asked`] with a function of the caller.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract::Stamp;
use zeroize::Zeroizing;

use crate::protocol::json::{JsonNode, JsonSpans, Strictness};
use crate::upstream::secret::Secret;

/// A function that gives the credential; it may block.
pub type AskCredential = Arc<dyn Fn() -> Result<Secret, FetchCredentialError> + Send + Sync>;

/// Called with each credential before it is used; false refuses it.
pub type WatchCredential = Arc<dyn Fn(&Secret) -> bool + Send + Sync>;

/// A source of the provider's credential.
#[derive(Clone)]
pub enum Credential {
    /// The provider wants none.
    None,
    /// Held in memory by the caller for the whole run.
    Held(Secret),
    /// A file that holds the value.
    File(PathBuf),
    /// Token file of another program's login; only read, never refreshed.
    OauthFile(PathBuf),
    Asked(AskCredential),
    /// Wraps a source and reports each fetched value to a callback.
    Watched(Box<Credential>, WatchCredential),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "Credential::None",
            Self::Held(_) => "Credential::Held",
            Self::File(_) => "Credential::File",
            Self::OauthFile(_) => "Credential::OauthFile",
            Self::Asked(_) => "Credential::Asked",
            Self::Watched(..) => "Credential::Watched",
        })
    }
}

/// A credential that cannot be had. Says neither the value nor where it lies.
#[derive(Debug, thiserror::Error)]
pub enum FetchCredentialError {
    #[error("the credential cannot be read: {0}")]
    Unreadable(io::ErrorKind),
    /// Group or others can read its file, or it is another user's.
    #[error("other users can read the credential's file: chmod 600 FILE")]
    Exposed,
    #[error("the credential is empty")]
    Empty,
    /// The token file has no known shape.
    #[error("the token file has no access token")]
    Shape,
    /// The login has run out: log in again.
    #[error("the login has expired: log in again")]
    Expired,
    /// It contains a byte that is not allowed in a header.
    #[error("the credential holds a byte that no header can carry")]
    Unprintable,
    /// The caller's source failed.
    #[error("the credential source failed: {0}")]
    Source(String),
    /// The callback for fetched values refused another one.
    #[error("the credential source gave too many different values")]
    TooMany,
}

impl Credential {
    /// True if fetching it may block the thread.
    pub(crate) fn may_block(&self) -> bool {
        match self {
            Self::None | Self::Held(_) => false,
            Self::File(_) | Self::OauthFile(_) | Self::Asked(_) => true,
            Self::Watched(source, _) => source.may_block(),
        }
    }

    /// OAuth tokens go into `authorization` on every wire.
    pub(crate) fn is_oauth(&self) -> bool {
        match self {
            Self::OauthFile(_) => true,
            Self::Watched(source, _) => source.is_oauth(),
            Self::None | Self::Held(_) | Self::File(_) | Self::Asked(_) => false,
        }
    }

    /// Fetches and discards the credential, to find errors early.
    pub fn check_fetch(&self, now: Stamp) -> Result<(), FetchCredentialError> {
        self.fetch_value(now).map(drop)
    }

    /// The value, for putting it on a request or for keeping it out of what is written.
    pub fn fetch_value(&self, now: Stamp) -> Result<Option<Secret>, FetchCredentialError> {
        let secret = match self {
            Self::None => return Ok(None),
            Self::Held(secret) => secret.clone(),
            Self::File(path) => Secret::new(read(path)?.trim_ascii()),
            Self::OauthFile(path) => access_token(&read(path)?, now)?,
            Self::Asked(ask) => Secret::new(ask()?.bytes().trim_ascii()),
            Self::Watched(source, watch) => return watched(source.fetch_value(now)?, watch),
        };
        let value = secret.bytes();
        if value.is_empty() {
            return Err(FetchCredentialError::Empty);
        }
        if !value.iter().all(|byte| (0x21..0x7f).contains(byte)) {
            return Err(FetchCredentialError::Unprintable);
        }
        Ok(Some(secret))
    }
}

fn watched(fetched: Option<Secret>, watch: &WatchCredential) -> Result<Option<Secret>, FetchCredentialError> {
    let taken = fetched.as_ref().is_none_or(|secret| watch(secret));
    if taken { Ok(fetched) } else { Err(FetchCredentialError::TooMany) }
}

/// Longer than any token file; a credential is never a large file.
const MAX_FILE: u64 = 256 * 1024;
/// Permissions of group and others.
const OTHERS: u32 = 0o077;

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, FetchCredentialError> {
    let unreadable = |error: io::Error| FetchCredentialError::Unreadable(error.kind());
    let file = File::open(path).map_err(unreadable)?;
    let stat = file.metadata().map_err(unreadable)?;
    if !stat.is_file() {
        return Err(FetchCredentialError::Unreadable(io::ErrorKind::InvalidInput));
    }
    let own = [rustix::process::geteuid().as_raw(), 0].contains(&stat.uid());
    if !own || stat.mode() & OTHERS != 0 {
        return Err(FetchCredentialError::Exposed);
    }
    // Room for all of it, so that growing leaves no copy behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_FILE as usize));
    file.take(MAX_FILE).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// The places where known logins keep the access token, and its end in seconds or
/// milliseconds, if they write it.
const TOKEN_PLACES: &[(&[&str], &[&str])] = &[
    (&["tokens", "access_token"], &["tokens", "expires_at"]),
    (&["claudeAiOauth", "accessToken"], &["claudeAiOauth", "expiresAt"]),
    (&["access_token"], &["expires_at"]),
    (&["access"], &["expires"]),
];

fn access_token(bytes: &[u8], now: Stamp) -> Result<Secret, FetchCredentialError> {
    let mut spans = JsonSpans::default();
    let root = spans.read_document(bytes, Strictness::Request).map_err(|_| FetchCredentialError::Shape)?;
    let (token, written_end) = TOKEN_PLACES
        .iter()
        .find_map(|(token, end)| {
            Some((root.find_path(token)?.text()?, root.find_path(end).and_then(|end| end.integer())))
        })
        .ok_or(FetchCredentialError::Shape)?;
    let token = Zeroizing::new(token.into_owned());
    let end = written_end.map(in_seconds).or_else(|| jwt_end(&token));
    let now = u64::try_from(now.unix_seconds()).unwrap_or(0);
    match end {
        Some(end) if end <= now => Err(FetchCredentialError::Expired),
        _ => Ok(Secret::new(token.as_bytes())),
    }
}

/// No login lasts until the year 5000 in seconds: such a number counts milliseconds.
fn in_seconds(time: u64) -> u64 {
    if time > 100_000_000_000 { time / 1000 } else { time }
}

/// The `exp` claim of a JSON web token. The provider checks the signature; we only spare a
/// request that must fail.
fn jwt_end(token: &str) -> Option<u64> {
    let claims = Zeroizing::new(URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?);
    let mut spans = JsonSpans::default();
    let root: JsonNode<'_> = spans.read_document(&claims, Strictness::Answer).ok()?;
    root.get_member("exp")?.integer()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use super::*;

    fn now() -> Stamp {
        Stamp::from_unix(Duration::from_secs(1_800_000_000)).unwrap()
    }

    fn oauth(text: &str) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let fetched = Credential::OauthFile(file.path().to_owned()).fetch_value(now());
        fetched.map(|secret| String::from_utf8(secret.unwrap().bytes().to_vec()).unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn token_files_of_known_logins_are_read() {
        let jwt = |end: u64| {
            let claims = URL_SAFE_NO_PAD.encode(format!(r#"{{"exp":{end}}}"#));
            format!(r#"{{"tokens":{{"access_token":"h.{claims}.s","refresh_token":"r"}}}}"#)
        };
        assert!(oauth(&jwt(1_800_000_001)).is_ok());
        assert_eq!(oauth(&jwt(1_800_000_000)), Err("the login has expired: log in again".to_owned()));
        let claude = |end: u64| format!(r#"{{"claudeAiOauth":{{"accessToken":"tok","expiresAt":{end}}}}}"#);
        assert_eq!(oauth(&claude(1_800_000_001_000)), Ok("tok".to_owned()));
        assert!(oauth(&claude(1_799_999_999_000)).unwrap_err().contains("log in again"));
        assert_eq!(oauth(r#"{"access_token":"plain"}"#), Ok("plain".to_owned()));
        assert_eq!(oauth("{}"), Err("the token file has no access token".to_owned()));
        assert_eq!(oauth("not json"), Err("the token file has no access token".to_owned()));
        assert!(oauth(r#"{"access_token":"a\nb"}"#).unwrap_err().contains("no header"));
    }

    #[test]
    fn other_sources() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "value\n").unwrap();
        let fetched = Credential::File(file.path().to_owned()).fetch_value(now()).unwrap().unwrap();
        assert_eq!(fetched.bytes(), b"value");
        for (mode, taken) in [(0o400, true), (0o640, false), (0o604, false), (0o620, false), (0o600, true)] {
            std::fs::set_permissions(file.path(), PermissionsExt::from_mode(mode)).unwrap();
            let fetched = Credential::File(file.path().to_owned()).fetch_value(now());
            assert_eq!(fetched.is_ok(), taken, "{mode:o}: {fetched:?}");
        }
        assert!(matches!(
            Credential::File("/nonexistent/x".into()).fetch_value(now()),
            Err(FetchCredentialError::Unreadable(_))
        ));
        assert!(matches!(
            Credential::Held(Secret::new(" ")).fetch_value(now()),
            Err(FetchCredentialError::Unprintable)
        ));
        assert!(matches!(Credential::Held(Secret::new("")).fetch_value(now()), Err(FetchCredentialError::Empty)));
        assert!(Credential::None.fetch_value(now()).unwrap().is_none());
    }

    #[test]
    fn who_watches_sees_each_value_and_can_refuse_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        let told = Arc::clone(&seen);
        let watch: WatchCredential = Arc::new(move |secret| {
            told.lock().unwrap().push(secret.bytes().to_vec());
            secret.bytes() != b"third"
        });
        let credential = Credential::Watched(Box::new(Credential::File(file.path().to_owned())), watch);
        assert!(credential.may_block() && !credential.is_oauth());
        for (value, taken) in [("first", true), ("second", true), ("third", false)] {
            std::fs::write(file.path(), value).unwrap();
            assert_eq!(credential.fetch_value(now()).is_ok(), taken, "{value}");
        }
        assert_eq!(*seen.lock().unwrap(), [b"first".to_vec(), b"second".to_vec(), b"third".to_vec()]);
    }
}
