//! The name of a home on its machine, by which leases and ledger rows tell it from every other home and from its own copies.
//!
//! Most machines have an id of their own. Many containers have none: then the home keeps a random one, with the facts of the machine that
//! it was made for. A copy on another machine finds other facts, and makes an id of its own.

use std::io;
use std::os::unix::fs::MetadataExt as _;

use contract::Digest;
use evidence::stop;
use serde::{Deserialize, Serialize};
use untrusted_fs::own_files;

use crate::home::host::write_aside;
use crate::home::layout::{Home, KEPT_IDENTITY, OpenHomeError};
use crate::home::token::random_suffix;

/// An id, and the digest of the facts for which it was made.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KeptIdentity {
    facts: Digest,
    id: String,
}

/// Id of the machine; none if it has none, or only a placeholder of its image.
fn read_machine_id() -> Option<String> {
    let text = own_files::read_to_string("/etc/machine-id").ok()?;
    let id = text.trim();
    let is_own =
        id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) && id.bytes().any(|byte| byte != b'0');
    is_own.then(|| id.to_owned())
}

impl Home {
    /// This home on this machine: the digest of the machine's id, the file system's and the folder's number. Another for a copy.
    pub fn instance(&self) -> Result<Digest, OpenHomeError> {
        if stop::has_defect("one_instance") {
            return Ok(Digest::of_bytes(b"one instance"));
        }
        self.instance_on(read_machine_id())
    }

    /// Keeps an id where the machine has none. For commands that may write.
    pub(crate) fn keep_identity(&self) -> Result<(), OpenHomeError> {
        match read_machine_id() {
            Some(_) => Ok(()),
            None => self.keep_random_identity(),
        }
    }

    fn instance_on(&self, machine_id: Option<String>) -> Result<Digest, OpenHomeError> {
        let machine = match machine_id {
            Some(id) => id,
            // A home that has kept none owns nothing yet: a reader gets a name that no run has.
            None => self.read_identity()?.unwrap_or_else(|| "no identity".to_owned()),
        };
        Ok(Digest::of_bytes(format!("{machine}\n{}", self.describe_place()?).as_bytes()))
    }

    /// Numbers of the file system and of the folder.
    fn describe_place(&self) -> Result<String, OpenHomeError> {
        let failed = |error: io::Error| OpenHomeError::Io(self.root().to_owned(), error);
        let folder = own_files::metadata(self.root()).map_err(failed)?;
        let system = rustix::fs::statvfs(self.root()).map_err(|error| failed(error.into()))?.f_fsid;
        Ok(format!("{system:x}\n{:x}\n", folder.ino()))
    }

    /// Digest of what tells this machine and folder from others: a clone of an image has another host name.
    fn digest_facts(&self) -> Result<Digest, OpenHomeError> {
        let machine = rustix::system::uname();
        let text = format!("{}\n{}", machine.nodename().to_string_lossy(), self.describe_place()?);
        Ok(Digest::of_bytes(text.as_bytes()))
    }

    /// The kept id; none where it was made for another machine or folder.
    fn read_identity(&self) -> Result<Option<String>, OpenHomeError> {
        let facts = self.digest_facts()?;
        let read = own_files::read_file(self.root().join(KEPT_IDENTITY)).ok();
        let kept = read.and_then(|bytes| serde_json::from_slice::<KeptIdentity>(&bytes).ok());
        Ok(kept.filter(|kept| kept.facts == facts).map(|kept| kept.id))
    }

    fn keep_random_identity(&self) -> Result<(), OpenHomeError> {
        let path = self.root().join(KEPT_IDENTITY);
        let failed = |error: io::Error| OpenHomeError::Io(path.clone(), error);
        // Two first commands at once must not work under two names.
        let folder = own_files::open_folder(self.root().join("trust")).map_err(failed)?;
        folder.lock().map_err(failed)?;
        if self.read_identity()?.is_some() {
            return Ok(());
        }
        let id = (0..4).map(|_| random_suffix()).collect::<io::Result<String>>().map_err(failed)?;
        let kept = KeptIdentity { facts: self.digest_facts()?, id };
        write_aside(&path, &serde_json::to_vec(&kept).map_err(|error| failed(error.into()))?);
        match self.read_identity()? {
            Some(_) => Ok(()),
            None => Err(failed(io::Error::other("the identity of the home could not be written"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use untrusted_fs::own_files::{read_file, write_file};

    use super::*;
    use crate::home::layout::HomePlace;

    fn home_in(folder: &std::path::Path) -> Home {
        Home::create_folders(&HomePlace::from(folder.join("home"))).unwrap()
    }

    #[test]
    fn a_home_on_a_machine_without_an_id_keeps_a_random_one() {
        let folder = tempfile::tempdir().unwrap();
        let home = home_in(folder.path());
        let nameless = home.instance_on(None).unwrap();
        home.keep_random_identity().unwrap();
        let own = home.instance_on(None).unwrap();
        assert_ne!(own, nameless, "nothing is owned before there is an id");
        home.keep_random_identity().unwrap();
        assert_eq!(home.instance_on(None).unwrap(), own, "kept");
        // The file of a clone: the same random id with the facts of another machine.
        let path = home.root().join(KEPT_IDENTITY);
        let mut kept: KeptIdentity = serde_json::from_slice(&read_file(&path).unwrap()).unwrap();
        let id = kept.id.clone();
        kept.facts = Digest::of_bytes(b"another machine");
        write_file(&path, serde_json::to_vec(&kept).unwrap()).unwrap();
        assert_eq!(home.instance_on(None).unwrap(), nameless, "an id of another machine names nothing here");
        home.keep_random_identity().unwrap();
        let renamed: KeptIdentity = serde_json::from_slice(&read_file(&path).unwrap()).unwrap();
        assert_ne!(renamed.id, id);
        assert_ne!(home.instance_on(None).unwrap(), own);
    }

    #[test]
    fn a_machines_own_id_needs_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let home = home_in(folder.path());
        let of = |id: &str| home.instance_on(Some(id.to_owned())).unwrap();
        assert_eq!(of("a"), of("a"));
        assert_ne!(of("a"), of("b"));
        assert_ne!(
            of("a"),
            home_in(&folder.path().join("home")).instance_on(Some("a".to_owned())).unwrap(),
            "another folder"
        );
    }
}
