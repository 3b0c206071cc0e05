//! SHA-256 digests and the canonical JSON (RFC 8785) they are taken over.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::canonical::write_canonical;
use crate::unkept::read_text;

/// A SHA-256 digest, written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String", extend("pattern" = "^[0-9a-f]{64}$"))]
pub struct Digest([u8; 32]);

const HEX: &[u8; 16] = b"0123456789abcdef";

impl Digest {
    /// First link of every hash chain.
    pub const ZERO: Self = Self([0; 32]);

    /// SHA-256 of the bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Wraps a digest that was computed elsewhere.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 raw bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// `d28a7a80…0539`, for people.
    pub fn short(&self) -> String {
        let hex = self.to_string();
        format!("{}…{}", &hex[..8], &hex[60..])
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// Text that is not 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 lower-case hex digits")]
pub struct ParseDigestError;

impl FromStr for Digest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(ParseDigestError);
        }
        let (mut bytes, mut seen) = ([0; 32], 0);
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let (high, low) = (HEX_VALUES[usize::from(pair[0])], HEX_VALUES[usize::from(pair[1])]);
            seen |= high | low;
            *byte = (high << 4) | low;
        }
        if seen < 16 { Ok(Self(bytes)) } else { Err(ParseDigestError) }
    }
}

/// Value of each byte as a hexadecimal digit; above 15 for a byte that is none.
const HEX_VALUES: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut value = 0;
    while value < 16 {
        values[HEX[value] as usize] = value as u8;
        value += 1;
    }
    values
};

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer)
    }
}

/// The RFC 8785 bytes of a value. No document of ours holds a float or a key that is not
/// text, so this fails only for a value that was never one of ours.
pub fn canonical_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    match write_canonical(value) {
        Some(bytes) => Ok(bytes),
        None => serde_json_canonicalizer::to_vec(&serde_json::to_value(value)?),
    }
}

/// The same as text.
pub fn canonical_text<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    String::from_utf8(canonical_bytes(value)?).map_err(serde::ser::Error::custom)
}

/// The digest of a value's canonical bytes.
pub fn canonical_digest<T: Serialize>(value: &T) -> Result<Digest, serde_json::Error> {
    canonical_bytes(value).map(|bytes| Digest::of_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_digest_survives_its_text() {
        let digest = Digest::of_bytes(b"cto");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!("A".repeat(64).parse::<Digest>(), Err(ParseDigestError));
        assert_eq!("0".repeat(63).parse::<Digest>(), Err(ParseDigestError));
        assert_eq!("0".repeat(64).parse(), Ok(Digest::ZERO));
        for digit in (0..128_u8).map(char::from) {
            for at in [0, 1, 62, 63] {
                let text = format!("{}{digit}{}", "0".repeat(at), "0".repeat(63 - at));
                let is_digit = matches!(digit, '0'..='9' | 'a'..='f');
                let read = text.parse::<Digest>();
                assert_eq!(read.map(|digest| digest.to_string()), is_digit.then_some(text).ok_or(ParseDigestError));
            }
        }
    }

    #[test]
    fn canonical_bytes_are_those_of_the_standard() {
        let texts = [
            r#"{"b":[{"z":1,"a":{}},[],"\u0000\u001f\b\f\n\r\t\"\\/\u007f\u2028\ud83d\ude00"],"a":-9007199254740991,"":null}"#,
            r#"{"\ud83d\ude00":1,"\ue000":2,"é":3,"e":4,"€":5}"#,
            r#"[1.5,1e21,-0.0,9007199254740993,18446744073709551615,1e-7,100.0]"#,
            r#"{"x":{"10":1,"9":2,"A":3,"a":4,"_":5}}"#,
        ];
        for text in texts {
            let value: Value = serde_json::from_str(text).unwrap();
            let expected = serde_json_canonicalizer::to_string(&value).unwrap();
            assert_eq!(String::from_utf8(canonical_bytes(&value).unwrap()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn canonical_bytes_sort_keys_and_drop_spaces() {
        let value = serde_json::json!({"b": 1, "a": {"z": "é", "y": null}});
        assert_eq!(canonical_bytes(&value).unwrap(), r#"{"a":{"y":null,"z":"é"},"b":1}"#.as_bytes());
    }
}
