//! Random names and values: suffixes of folders and run ids, decoys, tokens.

use std::io;

/// Four letters and digits that are not mistaken for each other.
pub(crate) fn random_suffix() -> io::Result<String> {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut random = [0; 4];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(random.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect())
}

/// Random decoy value; seeing it in output proves that a program read a decoy file.
pub(crate) fn canary() -> io::Result<String> {
    let mut random = [0; 20];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Random token that cannot be guessed.
pub fn random_token() -> io::Result<String> {
    canary()
}
