//! Object ids: the SHA-1 names git gives to content.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::str::FromStr;

use sha1::{Digest, Sha1};

/// A git object id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(pub [u8; 20]);

/// A string that is not forty lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not forty lower-case hexadecimal digits")]
pub struct ParseOidError;

impl Oid {
    /// The id git gives an object of `kind` ("blob", "tree", "commit") with these bytes.
    pub fn of_object(kind: &str, body: &[u8]) -> Oid {
        let mut hash = Sha1::new();
        hash.update(format!("{kind} {}\0", body.len()));
        hash.update(body);
        Oid(hash.finalize().into())
    }

    /// The id of a blob of `size` bytes, without holding them all; a file that has grown or
    /// shrunk since gets no blob's id.
    pub(crate) fn of_file(mut file: File, size: u64) -> io::Result<Oid> {
        let mut hash = Sha1::new();
        hash.update(format!("blob {size}\0"));
        let mut buffer = vec![0; 64 << 10];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(Oid(hash.finalize().into())),
                n => hash.update(&buffer[..n]),
            }
        }
    }

    /// Id of exactly 20 raw bytes.
    pub(crate) fn from_slice(bytes: &[u8]) -> Option<Oid> {
        bytes.try_into().ok().map(Oid)
    }

    /// Id of 40 hexadecimal digits.
    pub(crate) fn from_hex(hex: &[u8]) -> Option<Oid> {
        std::str::from_utf8(hex).ok()?.parse().ok()
    }
}

fn nibble(digit: u8) -> Result<u8, ParseOidError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(ParseOidError),
    }
}

impl FromStr for Oid {
    type Err = ParseOidError;

    fn from_str(text: &str) -> Result<Oid, ParseOidError> {
        let digits: &[u8; 40] = text.as_bytes().try_into().map_err(|_| ParseOidError)?;
        let mut id = [0; 20];
        for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(Oid(id))
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Oid({self})")
    }
}
