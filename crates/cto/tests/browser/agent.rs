//! The real `ssh-agent` with an operator's key: one of software, or the key of a token. The token is a stand-in in C, which OpenSSH
//! loads as it loads the program of a real one; everything else is OpenSSH's own.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use testkit::{program, wait_for};

/// The real agent with one key, ended with the test.
pub(crate) struct HeldKey(Child);

impl Drop for HeldKey {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl HeldKey {
    /// Makes a key whose private half is in the agent alone; gives the file of its public half.
    pub(crate) fn of_software(folder: &Path, socket: &Path) -> (Self, PathBuf) {
        let key = folder.join("software");
        run(program("ssh-keygen", folder).args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key));
        Self::hold(folder, socket, &key, None)
    }

    /// Enrols a key at a token, and gives it to an agent that may use this token alone.
    pub(crate) fn of_token(folder: &Path, socket: &Path) -> (Self, PathBuf) {
        let (key, token) = (folder.join("token"), folder.join("sk_stand_in.so"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/sk_stand_in.c");
        let build = ["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"];
        run(program("gcc", folder).args(build).arg(&token).arg(source).arg("-l:libcrypto.so.3"));
        let enrol = ["-q", "-t", "ed25519-sk", "-N", "", "-C", "token", "-f"];
        run(program("ssh-keygen", folder).args(enrol).arg(&key).arg("-w").arg(&token));
        Self::hold(folder, socket, &key, Some(&token))
    }

    fn hold(folder: &Path, socket: &Path, key: &Path, token: Option<&Path>) -> (Self, PathBuf) {
        let mut agent = program("ssh-agent", folder);
        agent.args(["-D", "-a"]).arg(socket);
        let mut add = program("ssh-add", folder);
        add.env("SSH_AUTH_SOCK", socket);
        if let Some(token) = token {
            agent.arg("-P").arg(token);
            add.arg("-S").arg(token);
        }
        let agent = Self(agent.spawn().unwrap());
        wait_for("the agent", || UnixStream::connect(socket).ok());
        run(add.arg(key));
        std::fs::remove_file(key).unwrap();
        (agent, key.with_extension("pub"))
    }
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
