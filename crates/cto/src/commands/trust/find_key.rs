//! Keys as people name them: by fingerprint, by name, by file.

use std::path::Path;

use contract::text::show_controls;
use evidence::signer_file::SignerKeyFile;
use evidence::signer_key::{ReadSignerKeyError, SignerKey};
use evidence::signers::AllowedSigners;

use crate::error::CommandError;
use crate::nearest::did_you_mean;
use crate::signing::{read_key_file, refuse_key};

/// Shorter beginnings of a fingerprint are mistyped rather than meant.
const SHORTEST_PREFIX: usize = 4;
const PREFIX: &str = "SHA256:";

/// Finds the one key that a person means: listed by that name or fingerprint, else that of
/// a file, which need not be listed.
pub(super) fn find_key(list: &AllowedSigners, named: &str) -> Result<SignerKey, CommandError> {
    let digits = named.strip_prefix(PREFIX).unwrap_or(named);
    let mut found: Vec<&SignerKey> = Vec::new();
    for line in list.lines() {
        let print = line.key().fingerprint();
        let by_print = digits.len() >= SHORTEST_PREFIX && print[PREFIX.len()..].starts_with(digits);
        if (by_print || line.principals() == named) && !found.contains(&line.key()) {
            found.push(line.key());
        }
    }
    match found.as_slice() {
        [key] => Ok((*key).clone()),
        [] => match read_named_file(named)? {
            Some((key, _)) => Ok(key),
            None => Err(unknown_key(list, named)),
        },
        many => {
            let prints: Vec<String> = many.iter().map(|key| key.fingerprint()).collect();
            let text = format!("{} keys are called {}: {}", many.len(), show_controls(named), prints.join(", "));
            Err(CommandError::usage(text).hint("use more of the fingerprint"))
        }
    }
}

/// Error for a key that is not listed, with the name that was likely meant.
pub(super) fn unknown_key(list: &AllowedSigners, named: &str) -> CommandError {
    let meant = did_you_mean(named, list.lines().iter().map(|line| line.principals()));
    CommandError::usage(format!("no key here is called {}{meant}", show_controls(named))).hint("cto trust key list")
}

/// Reads a key from a file or from the line of its public half, with its comment.
pub(super) fn read_key(named: &str) -> Result<(SignerKey, String), CommandError> {
    if let Some(found) = read_named_file(named)? {
        return Ok(found);
    }
    if named.contains(' ') {
        return public_half(named, "the line");
    }
    let text = format!("there is no file {}, and it is no line of a public key", show_controls(named));
    Err(CommandError::usage(text).hint("ssh-keygen -t ed25519     makes a key; add its .pub file"))
}

/// Key of an existing file; for a private key its public half.
fn read_named_file(named: &str) -> Result<Option<(SignerKey, String)>, CommandError> {
    if !Path::new(named).is_file() {
        return Ok(None);
    }
    let Some(text) = read_key_file(Path::new(named))? else { return Ok(None) };
    let name = show_controls(named);
    let parsed = SignerKeyFile::parse_file(&text).map_err(|error| refuse_key(&name, error))?;
    let beside = read_key_file(Path::new(&format!("{named}.pub")))?;
    match (parsed, beside) {
        (SignerKeyFile::Public { key, comment }, _) => Ok(Some((key, comment))),
        (_, Some(public)) => public_half(&public, &format!("{name}.pub")).map(Some),
        (SignerKeyFile::Private { key, .. }, None) => Ok(Some((key, String::new()))),
        (SignerKeyFile::OlderPrivate { .. }, None) => Err(refuse_key(&name, ReadSignerKeyError::Shape)),
    }
}

fn public_half(text: &str, name: &str) -> Result<(SignerKey, String), CommandError> {
    match SignerKeyFile::parse_file(text).map_err(|error| refuse_key(name, error))? {
        SignerKeyFile::Public { key, comment } => Ok((key, comment)),
        _ => Err(refuse_key(name, ReadSignerKeyError::Shape)),
    }
}
