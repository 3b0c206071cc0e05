//! Key files of people: a public line, or a private key, of which only the public half and
//! the protection are read.

use ssh_key::encoding::Decode as _;
use ssh_key::public::KeyData;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::signer_key::{ReadSignerKeyError, SignerKey};

const BEGIN: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";
const END: &str = "-----END OPENSSH PRIVATE KEY-----";
/// Begins the bytes of a private key in OpenSSH's own format.
const MAGIC: &[u8] = b"openssh-key-v1\0";
const NO_CIPHER: &str = "none";

/// Content of a key file. The private half of a key is never decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignerKeyFile {
    /// `TYPE BASE64 [COMMENT]`, as a `.pub` file has it.
    Public { key: SignerKey, comment: String },
    /// Private key in OpenSSH's own format, which holds its public half in the clear.
    Private { key: SignerKey, has_passphrase: bool },
    /// Private key in PEM, as OpenSSH wrote it before 7.8. Its public half lies in the
    /// `.pub` file beside it.
    OlderPrivate { has_passphrase: bool },
}

impl SignerKeyFile {
    /// Reads a key file. Of a private key only the public half and its protection are kept.
    pub fn parse_file(text: &str) -> Result<Self, ReadSignerKeyError> {
        let text = text.trim();
        if let Some(body) = text.strip_prefix(BEGIN) {
            let body = body.strip_suffix(END).ok_or(ReadSignerKeyError::Shape)?;
            return parse_private(body);
        }
        if text.starts_with("-----BEGIN ") && text.lines().next().is_some_and(|line| line.contains("PRIVATE KEY")) {
            return Ok(Self::OlderPrivate { has_passphrase: text.contains("ENCRYPTED") });
        }
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let (Some(line), None) = (lines.next(), lines.next()) else { return Err(ReadSignerKeyError::Shape) };
        let comment = line.splitn(3, |byte: char| byte.is_ascii_whitespace()).nth(2).unwrap_or_default().trim();
        Ok(Self::Public { key: SignerKey::parse_line(line)?, comment: comment.to_owned() })
    }
}

/// Reads cipher and public half: `MAGIC cipher kdf options count public-key ...`.
fn parse_private(body: &str) -> Result<SignerKeyFile, ReadSignerKeyError> {
    let base64: String = body.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(base64).map_err(|_| ReadSignerKeyError::Shape)?;
    let mut rest = bytes.strip_prefix(MAGIC).ok_or(ReadSignerKeyError::Shape)?;
    let cipher = read_field(&mut rest)?;
    for _ in ["kdf", "options"] {
        read_field(&mut rest)?;
    }
    let mut public = match u32::decode(&mut rest) {
        Ok(1) => read_field(&mut rest)?,
        _ => return Err(ReadSignerKeyError::Shape),
    };
    let data = KeyData::decode(&mut public).map_err(|_| ReadSignerKeyError::Shape)?;
    let has_passphrase = cipher != NO_CIPHER.as_bytes();
    Ok(SignerKeyFile::Private { key: SignerKey::from_key_data(data)?, has_passphrase })
}

fn read_field<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], ReadSignerKeyError> {
    let shape = |_| ReadSignerKeyError::Shape;
    let length = usize::try_from(u32::decode(rest).map_err(|_| ReadSignerKeyError::Shape)?).map_err(shape)?;
    let (field, behind) = rest.split_at_checked(length).ok_or(ReadSignerKeyError::Shape)?;
    *rest = behind;
    Ok(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: &str = include_str!("../tests/sshsig/signer.pub");

    fn private(cipher: &str, cut: usize) -> String {
        let field = |bytes: &[u8]| [&u32::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat();
        let blob = STANDARD.decode(PUBLIC.split_ascii_whitespace().nth(1).unwrap()).unwrap();
        let fields = [field(cipher.as_bytes()), field(b"kdf"), field(b""), vec![0, 0, 0, 1], field(&blob)].concat();
        let bytes = [MAGIC, &fields, &field(b"the private half")].concat();
        format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(&bytes[..bytes.len() - cut]))
    }

    #[test]
    fn files_tell_their_public_half_and_their_protection() {
        let key = SignerKey::parse_line(PUBLIC).unwrap();
        let read = |cipher: &str| SignerKeyFile::parse_file(&private(cipher, 0));
        assert_eq!(read("none"), Ok(SignerKeyFile::Private { key: key.clone(), has_passphrase: false }));
        assert_eq!(read("aes256-ctr"), Ok(SignerKeyFile::Private { key: key.clone(), has_passphrase: true }));
        let line = format!("# mine\n{} me at home\n", key.openssh_line().unwrap());
        assert_eq!(
            SignerKeyFile::parse_file(&line),
            Ok(SignerKeyFile::Public { key, comment: "me at home".to_owned() })
        );
        for (text, has_passphrase) in [
            ("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n", false),
            ("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n", true),
            ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n", true),
        ] {
            assert_eq!(SignerKeyFile::parse_file(text), Ok(SignerKeyFile::OlderPrivate { has_passphrase }), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let two = format!("{PUBLIC}{PUBLIC}");
        let rows = ["", "ssh-ed25519", "a key", &two, &private("none", 40), &private("none", 70), BEGIN];
        for text in rows {
            assert_eq!(SignerKeyFile::parse_file(text), Err(ReadSignerKeyError::Shape), "{text}");
        }
    }
}
