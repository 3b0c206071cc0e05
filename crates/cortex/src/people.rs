//! Keys of people: the list of those that may sign, and the list of compromised ones.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use contract::Stamp;
use contract::signer::SignerStanding;
use evidence::signer_key::SignerKey;
use evidence::signers::AllowedSigners;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::read_bounded;
use crate::places::RecordPlaces;

/// Keys that may sign, each judged at a time: that of the ledger entry that recorded the
/// signature.
#[derive(Debug, Clone, Default)]
pub struct PersonSigners {
    allowed: AllowedSigners,
    compromised: CompromisedKeys,
    /// Both lists were read from these bytes, and from nothing else.
    files: ListFiles,
}

/// Bytes of the two lists; none of a list that is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ListFiles {
    allowed: Option<Vec<u8>>,
    compromised: Option<Vec<u8>>,
}

impl ListFiles {
    fn read_files(places: &RecordPlaces) -> io::Result<Self> {
        Ok(Self { allowed: read_list(places.allowed_signers())?, compromised: read_list(places.compromised_keys())? })
    }
}

/// `trust/compromised.json`: keys that another person has had, by fingerprint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Compromised keys")]
pub struct CompromisedKeys {
    pub schema_version: CompromisedVersion,
    /// Keys by fingerprint, `SHA256:...`.
    pub keys: BTreeMap<String, CompromisedKey>,
}

/// Shape of the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CompromisedVersion {
    #[default]
    #[serde(rename = "1")]
    V1,
}

/// A key that counts for nothing from a time on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompromisedKey {
    /// Signatures that the ledger recorded at this time or later do not count.
    pub since: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl CompromisedKeys {
    /// Reads the list of compromised keys. An unreadable list is an error, never an empty
    /// list.
    pub fn parse_list(bytes: &[u8]) -> io::Result<Self> {
        serde_json::from_slice(bytes).map_err(|error| io::Error::other(format!("compromised.json: {error}")))
    }

    /// True if another person had the key at that time.
    pub fn had_by_others(&self, fingerprint: &str, at: Stamp) -> bool {
        self.keys.get(fingerprint).is_some_and(|key| at >= key.since)
    }
}

impl PersonSigners {
    /// Reads both lists. One that exists and cannot be read is an error: a compromised key
    /// must not pass for a good one.
    pub fn read_lists(places: &RecordPlaces) -> Result<Self, io::Error> {
        Self::parse_files(ListFiles::read_files(places)?)
    }

    /// Reads both lists again; none where the files hold the very bytes that these were read
    /// from. A key that these lists judge for a time is then judged the same by them still.
    pub fn read_changed(&self, places: &RecordPlaces) -> Result<Option<Self>, io::Error> {
        let files = ListFiles::read_files(places)?;
        if files == self.files {
            return Ok(None);
        }
        Self::parse_files(files).map(Some)
    }

    fn parse_files(files: ListFiles) -> io::Result<Self> {
        let allowed = files.allowed.as_deref().map(|bytes| AllowedSigners::parse_file(&String::from_utf8_lossy(bytes)));
        let compromised = files.compromised.as_deref().map(CompromisedKeys::parse_list).transpose()?;
        Ok(Self { allowed: allowed.unwrap_or_default(), compromised: compromised.unwrap_or_default(), files })
    }

    /// Judges a key for a namespace at a time.
    pub fn judge_key(&self, key: &SignerKey, namespace: &str, at: Stamp) -> SignerStanding {
        match self.allowed.judge_key(key, namespace, at) {
            SignerStanding::Allowed if self.compromised.had_by_others(&key.fingerprint(), at) => {
                SignerStanding::Compromised
            }
            standing => standing,
        }
    }

    /// Judges a key for a signature made now, or one that no ledger entry dates. A
    /// compromised key never counts then, whatever the clock says.
    pub fn judge_undated(&self, key: &SignerKey, namespace: &str, now: Stamp) -> SignerStanding {
        match self.judge_key(key, namespace, now) {
            SignerStanding::Allowed if self.compromised.keys.contains_key(&key.fingerprint()) => {
                SignerStanding::Compromised
            }
            standing => standing,
        }
    }

    /// Name to show for a key. People are identified by key, never by name.
    pub fn name_of(&self, key: &SignerKey) -> Option<String> {
        self.allowed.principals_of(key).map(str::to_owned)
    }

    /// Keys that may sign, with the purposes and periods of each.
    pub fn allowed(&self) -> &AllowedSigners {
        &self.allowed
    }

    /// Keys that another person has had, with the time from which their signatures no
    /// longer count.
    pub fn compromised(&self) -> &CompromisedKeys {
        &self.compromised
    }
}

fn read_list(file: Option<PathBuf>) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = file else { return Ok(None) };
    match read_bounded(&file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
            Err(io::Error::new(error.kind(), format!("{name}: {error}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use untrusted_fs::own_files;

    use super::*;

    const KEY: &str = include_str!("../../evidence/tests/sshsig/signer.pub");

    fn at(seconds: u64) -> Stamp {
        Stamp::from_unix(Duration::from_secs(1_772_359_200 + seconds)).unwrap()
    }

    fn read(allowed: &str, compromised: &str) -> io::Result<PersonSigners> {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("trust")).unwrap();
        for (name, text) in [("allowed_signers", allowed), ("compromised.json", compromised)] {
            if !text.is_empty() {
                own_files::write_file(home.path().join("trust").join(name), text).unwrap();
            }
        }
        PersonSigners::read_lists(&RecordPlaces::new(home.path(), None))
    }

    #[test]
    fn a_compromised_key_is_good_until_it_was_and_not_from_then_on() {
        let key = SignerKey::parse_line(KEY).unwrap();
        let listed = format!("me namespaces=\"cto-*\" {KEY}");
        let since = at(10);
        let print = key.fingerprint();
        let list = format!(r#"{{"schema_version":"1","keys":{{"{print}":{{"since":"{since}","reason":"lost"}}}}}}"#);
        let judge = |allowed: &str, compromised: &str, time| {
            read(allowed, compromised).unwrap().judge_key(&key, "cto-approval@v1", time)
        };
        assert_eq!(judge(&listed, "", at(10)), SignerStanding::Allowed, "the control");
        assert_eq!(judge(&listed, &list, at(9)), SignerStanding::Allowed);
        let undated = |list: &str| read(&listed, list).unwrap().judge_undated(&key, "cto-approval@v1", at(9));
        assert_eq!((undated(""), undated(&list)), (SignerStanding::Allowed, SignerStanding::Compromised));
        assert_eq!(judge(&listed, &list, at(10)), SignerStanding::Compromised);
        assert_eq!(judge("", &list, at(10)), SignerStanding::NotListed);
        assert_eq!(judge(&listed, r#"{"schema_version":"1","keys":{}}"#, at(10)), SignerStanding::Allowed);
        assert_eq!(read(&listed, "").unwrap().name_of(&key).as_deref(), Some("me"));
    }

    #[test]
    fn lists_are_read_again_where_any_byte_is_new() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("trust")).unwrap();
        let places = RecordPlaces::new(home.path(), None);
        let write = |name: &str, text: &str| own_files::write_file(home.path().join("trust").join(name), text).unwrap();
        let nobody = PersonSigners::read_lists(&places).unwrap();
        assert!(nobody.read_changed(&places).unwrap().is_none(), "the control");
        write("allowed_signers", &format!("me namespaces=\"cto-*\" {KEY}"));
        let one = nobody.read_changed(&places).unwrap().expect("a key came");
        let key = SignerKey::parse_line(KEY).unwrap();
        assert_eq!(one.judge_key(&key, "cto-approval@v1", at(10)), SignerStanding::Allowed);
        assert!(one.read_changed(&places).unwrap().is_none(), "the control");
        let since = at(10);
        let print = key.fingerprint();
        write("compromised.json", &format!(r#"{{"schema_version":"1","keys":{{"{print}":{{"since":"{since}"}}}}}}"#));
        let lost = one.read_changed(&places).unwrap().expect("the key was lost");
        assert_eq!(lost.judge_key(&key, "cto-approval@v1", at(10)), SignerStanding::Compromised);
        write("compromised.json", "{");
        assert!(lost.read_changed(&places).is_err(), "a list that cannot be read is never the one that was");
    }

    #[test]
    fn a_list_that_cannot_be_read_is_an_error() {
        for text in ["{", "[]", r#"{"schema_version":"2","keys":{}}"#, r#"{"keys":{}}"#] {
            assert!(read("", text).unwrap_err().to_string().contains("compromised.json"), "{text}");
        }
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("trust/allowed_signers")).unwrap();
        let refused = PersonSigners::read_lists(&RecordPlaces::new(home.path(), None)).unwrap_err();
        assert!(refused.to_string().contains("allowed_signers"), "{refused}");
    }
}
