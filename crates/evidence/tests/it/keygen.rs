//! The real ssh-keygen.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use evidence::signer_key::SignerKey;
use tempfile::TempDir;
use testkit::program;

pub(crate) const NAMESPACE: &str = "cto-approval@v1";
pub(crate) const MESSAGE: &[u8] = b"{\"schema\":\"1\"}";

/// True if there is one; otherwise the test is counted as skipped.
pub(crate) fn has_keygen(test: &str) -> bool {
    let found = program("ssh-keygen", Path::new("/")).arg("-?").output().is_ok();
    if !found {
        testkit::skip(test, "there is no ssh-keygen");
    }
    found
}

/// A folder with keys and signatures.
pub(crate) struct KeyRing {
    dir: TempDir,
    /// Time zone of the machine.
    zone: &'static str,
}

impl KeyRing {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), zone: "UTC" }
    }

    /// Takes the machine to another time zone.
    pub(crate) fn move_to(&mut self, zone: &'static str) {
        self.zone = zone;
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn keygen(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = program("ssh-keygen", self.dir.path());
        command.env("TZ", self.zone).args(arguments);
        command
    }

    /// Makes a key and reads its public half.
    pub(crate) fn make_key(&self, name: &str, kind: &[&str]) -> String {
        let ran = self.keygen(&["-q", "-N", "", "-C", "somebody", "-f", name]).args(kind).output().unwrap();
        assert!(ran.status.success(), "{kind:?}: {}", String::from_utf8_lossy(&ran.stderr));
        fs::read_to_string(self.path(&format!("{name}.pub"))).unwrap()
    }

    /// Makes a certificate of a key for `me` and reads it.
    pub(crate) fn certify(&self, authority: &str, key: &str) -> String {
        let ran =
            self.keygen(&["-q", "-s", authority, "-I", "id", "-n", "me", &format!("{key}.pub")]).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        fs::read_to_string(self.path(&format!("{key}-cert.pub"))).unwrap()
    }

    pub(crate) fn sign(&self, key: &str, options: &[&str], message: &[u8]) -> String {
        fs::write(self.path("signed"), message).unwrap();
        let _ = fs::remove_file(self.path("signed.sig"));
        let ran = self.keygen(&["-q", "-Y", "sign", "-n", NAMESPACE, "-f", key]).args(options).arg("signed").output();
        let ran = ran.unwrap();
        assert!(ran.status.success(), "{key}: {}", String::from_utf8_lossy(&ran.stderr));
        fs::read_to_string(self.path("signed.sig")).unwrap()
    }

    /// Verdict of `ssh-keygen -Y verify` at a moment, with an `allowed_signers` of one line.
    pub(crate) fn accepts_line(&self, line: &str, signature: &str, message: &[u8], at: &str) -> bool {
        fs::write(self.path("allowed"), line).unwrap();
        fs::write(self.path("the.sig"), signature).unwrap();
        fs::write(self.path("the"), message).unwrap();
        let arguments = ["-Y", "verify", "-f", "allowed", "-I", "me", "-n", NAMESPACE, "-s", "the.sig", "-O", at];
        let mut command = self.keygen(&arguments);
        command.stdin(File::open(self.path("the")).unwrap()).output().unwrap().status.success()
    }

    /// Verdict of `ssh-keygen -Y verify` where the key may sign.
    pub(crate) fn accepts(&self, key: &SignerKey, signature: &str, message: &[u8]) -> bool {
        let line = format!("me {}\n", key.openssh_line().unwrap());
        self.accepts_line(&line, signature, message, "verify-time=20260301100000Z")
    }
}
