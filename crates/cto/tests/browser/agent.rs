//! Agents that hold an operator's key: the real `ssh-agent`, and one that plays a security key, whose signatures are to the byte those of
//! a token that was touched.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use sha2::{Digest as _, Sha256};
use testkit::{program, wait_for};

const KIND: &[u8] = b"sk-ssh-ed25519@openssh.com";
const APPLICATION: &[u8] = b"ssh:";
/// Messages of the agent's protocol.
const LIST: u8 = 11;
const LISTED: u8 = 12;
const SIGN: u8 = 13;
const SIGNED: u8 = 14;
const FAILED: u8 = 5;

/// The real agent with one software key, ended with the test.
pub(crate) struct SoftwareAgent(Child);

impl Drop for SoftwareAgent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl SoftwareAgent {
    /// Makes a key whose private half is in the agent alone; gives the file of its public half.
    pub(crate) fn start(folder: &Path, socket: &Path) -> (Self, PathBuf) {
        let key = folder.join("software");
        let made = program("ssh-keygen", folder).args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).output();
        assert!(made.unwrap().status.success());
        let agent = Self(program("ssh-agent", folder).args(["-D", "-a"]).arg(socket).spawn().unwrap());
        wait_for("the agent", || UnixStream::connect(socket).ok());
        let added = program("ssh-add", folder).env("SSH_AUTH_SOCK", socket).arg(&key).output().unwrap();
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        std::fs::remove_file(&key).unwrap();
        (agent, key.with_extension("pub"))
    }
}

/// Plays a security key at a socket; gives the file of its public half.
pub(crate) fn play_security_key(folder: &Path, socket: &Path) -> PathBuf {
    let key = SigningKey::from_bytes(&[9; 32]);
    let file = folder.join("token.pub");
    let line = format!("{} {} token\n", std::str::from_utf8(KIND).unwrap(), STANDARD.encode(public(&key)));
    std::fs::write(&file, line).unwrap();
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(stream, &key);
        }
    });
    file
}

fn field(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}

fn public(key: &SigningKey) -> Vec<u8> {
    [field(KIND), field(key.verifying_key().as_bytes()), field(APPLICATION)].concat()
}

/// Signs what `ssh-keygen` asks for, as its user touches the token.
fn sign_touched(key: &SigningKey, message: &[u8]) -> Vec<u8> {
    let trailer = [1_u8, 0, 0, 0, 7];
    let data = [&Sha256::digest(APPLICATION)[..], &trailer, &Sha256::digest(message)[..]].concat();
    [field(KIND), field(&key.sign(&data).to_bytes()), trailer.to_vec()].concat()
}

fn answer(mut stream: UnixStream, key: &SigningKey) -> std::io::Result<()> {
    loop {
        let mut size = [0; 4];
        stream.read_exact(&mut size)?;
        let mut message = vec![0; u32::from_be_bytes(size) as usize];
        stream.read_exact(&mut message)?;
        let reply = match message.first() {
            Some(&LIST) => [vec![LISTED, 0, 0, 0, 1], field(&public(key)), field(b"token")].concat(),
            Some(&SIGN) => {
                let (_, rest) = take_field(&message[1..]);
                let (data, _) = take_field(rest);
                [vec![SIGNED], field(&sign_touched(key, data))].concat()
            }
            _ => vec![FAILED],
        };
        stream.write_all(&field(&reply))?;
    }
}

fn take_field(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (size, rest) = bytes.split_at(4);
    rest.split_at(u32::from_be_bytes(size.try_into().unwrap()) as usize)
}
