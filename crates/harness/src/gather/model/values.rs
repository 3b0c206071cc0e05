//! Values of a run's model that no kept file may contain: the run token, the credential,
//! the endpoint.
//!
//! There is one list, for artifacts and for recordings. The bridge fetches the credential
//! again for each request, and it may have changed by then: a new one is on the list before
//! it is sent.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bridge::Secret;
use secrets::{Known, KnownClass, RuleSet, Scanner};

use super::link::PLACE;

/// Credentials of one run. Each costs time wherever something is written, so a source that
/// gives another one each time is refused in the end.
const MOST_CREDENTIALS: usize = 64;

/// List of secret values, shared between the run and its bridge.
#[derive(Debug)]
pub(super) struct SecretValues {
    list: Mutex<List>,
}

#[derive(Debug)]
struct List {
    known: Vec<Known>,
    /// Number of values that the run has already taken over.
    told: usize,
    credentials: Vec<Secret>,
    scanner: Scanner,
}

impl SecretValues {
    /// `places` are addresses on the way to the model.
    pub(super) fn new(token: &str, places: &[String]) -> Self {
        let mut known = vec![Known::new("run-token", KnownClass::Token, token.as_bytes())];
        let inside = [PLACE, PLACE.trim_start_matches("http://")];
        // Values that every engine gets are no secret, even if the model happens to be served at
        // the same address outside.
        let kept = places.iter().filter(|value| !inside.iter().any(|place| value.trim_end_matches("/v1") == *place));
        known.extend(kept.map(|value| Known::new("endpoint", KnownClass::Endpoint, value.as_bytes())));
        let scanner = Scanner::new(&known, RuleSet::standard());
        Self { list: Mutex::new(List { known, told: 0, credentials: Vec::new(), scanner }) }
    }

    fn list(&self) -> MutexGuard<'_, List> {
        // Nothing inside panics; a poisoned list would still be a whole one.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a credential on the list. False when there is no room for another one.
    pub(super) fn learn(&self, credential: &Secret) -> bool {
        let mut list = self.list();
        if list.credentials.iter().any(|known| known.expose() == credential.expose()) {
            return true;
        }
        if list.credentials.len() == MOST_CREDENTIALS {
            return false;
        }
        list.credentials.push(credential.clone());
        list.known.push(Known::new("credential", KnownClass::Credential, credential.expose()));
        list.scanner = Scanner::new(&list.known, RuleSet::standard());
        true
    }

    /// Values that were added since the last call.
    pub(super) fn take_new(&self) -> Vec<Known> {
        let mut list = self.list();
        let new = list.known[list.told..].to_vec();
        list.told = list.known.len();
        new
    }

    /// A body without these values and without anything secret-shaped.
    pub(super) fn redact(&self, bytes: &[u8]) -> Vec<u8> {
        self.list().scanner.redact(bytes).0
    }
}

#[cfg(test)]
mod tests {
    use bridge::Endpoint;

    use super::*;

    const TOKEN: &str = "token-0123456789";

    fn values(endpoint: &str) -> SecretValues {
        SecretValues::new(TOKEN, &Endpoint::parse_endpoint(endpoint).unwrap().values())
    }

    fn redacted(values: &SecretValues, text: &str) -> String {
        String::from_utf8(values.redact(text.as_bytes())).unwrap()
    }

    #[test]
    fn a_changed_credential_is_new_once() {
        let values = values("http://models.example:8000/v1");
        assert_eq!(values.take_new().len(), 3, "token, base URL, authority");
        for (credential, new) in [("first-credential", 1), ("first-credential", 0), ("second-credential", 1)] {
            assert!(values.learn(&Secret::new(credential)));
            assert_eq!(values.take_new().len(), new, "{credential}");
            assert_eq!(redacted(&values, &format!("a {credential} b")), "a [redacted:credential] b");
        }
        assert_eq!(redacted(&values, "a third-credential b"), "a third-credential b");
    }

    #[test]
    fn a_source_that_never_repeats_itself_is_refused_in_the_end() {
        let values = values("http://models.example:8000/v1");
        let learned = (0..200).filter(|number| values.learn(&Secret::new(format!("credential-number-{number}"))));
        assert_eq!(learned.count(), MOST_CREDENTIALS);
        assert!(values.learn(&Secret::new("credential-number-0")), "a known one still serves");
    }

    #[test]
    fn endpoints_are_known_by_address_and_by_authority() {
        let values = values("http://Models.example:8000/secret/path/");
        assert_eq!(redacted(&values, "at http://models.example:8000/secret/path/chat"), "at [redacted:endpoint]/chat");
        assert_eq!(redacted(&values, "dial models.example:8000"), "dial [redacted:endpoint]");
        assert_eq!(redacted(&values, "ask models.example"), "ask models.example");
        assert_eq!(redacted(&self::values(PLACE), PLACE), PLACE);
        assert!(PLACE.ends_with(&format!(":{}", crate::gather::model::PORT)));
    }
}
