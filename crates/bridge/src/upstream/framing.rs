//! Framing of an answer's body: by length, by chunks, or by the end of the connection.
//! Strict, and bounded everywhere.

use httparse::Header;

/// Extensions and trailers carry nothing for us; more than this is not an answer.
const MAX_EXTENSION: u32 = 256;
const MAX_TRAILERS: u32 = 8 * 1024;

/// A body that does not follow its framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FramingError {
    #[error("a content-length that is no length")]
    Length,
    #[error("a transfer-encoding other than chunked")]
    Encoding,
    #[error("both a content-length and a transfer-encoding")]
    Both,
    #[error("a malformed chunk")]
    Chunk,
    #[error("malformed or endless trailers")]
    Trailers,
}

/// Progress in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked(Chunk),
    /// Until the connection ends.
    Close,
    Done,
}

/// The place inside a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chunk {
    Size { size: u32, digits: u8 },
    Extension { size: u32, seen: u32 },
    SizeEnd { size: u32 },
    Data { left: u32 },
    DataCr,
    DataLf,
    Trailer { seen: u32, in_line: u32 },
    TrailerEnd { seen: u32, in_line: u32 },
}

impl Framing {
    /// The framing an answer's head announces.
    pub(crate) fn of_answer(status: u16, headers: &[Header<'_>]) -> Result<Self, FramingError> {
        let named =
            |wanted: &'static str| headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(wanted));
        let (mut encodings, mut lengths) = (named("transfer-encoding"), named("content-length"));
        let (encoding, length) = (encodings.next(), lengths.next());
        if encodings.next().is_some() {
            return Err(FramingError::Encoding);
        }
        if lengths.next().is_some() {
            return Err(FramingError::Length);
        }
        match (encoding, length) {
            (Some(_), Some(_)) => Err(FramingError::Both),
            _ if status == 204 || status == 304 => Ok(Self::Done),
            (Some(encoding), None) if encoding.value.eq_ignore_ascii_case(b"chunked") => {
                Ok(Self::Chunked(Chunk::Size { size: 0, digits: 0 }))
            }
            (Some(_), None) => Err(FramingError::Encoding),
            (None, Some(length)) => parse_length(length.value),
            (None, None) => Ok(Self::Close),
        }
    }

    /// True if the whole body was read.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self, Self::Done | Self::Length(0))
    }

    /// True if the end of the connection is a valid end of the body.
    pub(crate) fn may_end(&self) -> bool {
        matches!(self, Self::Close) || self.is_done()
    }

    /// Takes body bytes out of `input` into `out`; gives how much of the input it used.
    pub(crate) fn take_body(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, FramingError> {
        match self {
            Self::Done => Ok(0),
            Self::Close => {
                out.extend_from_slice(input);
                Ok(input.len())
            }
            Self::Length(left) => {
                let count = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                out.extend_from_slice(&input[..count]);
                *left -= count as u64;
                Ok(count)
            }
            Self::Chunked(_) => self.take_chunks(input, out),
        }
    }

    fn take_chunks(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, FramingError> {
        let mut at = 0;
        while let Self::Chunked(state) = self {
            let Some(&byte) = input.get(at) else { break };
            if let Chunk::Data { left } = state {
                let count = (*left as usize).min(input.len() - at);
                out.extend_from_slice(&input[at..at + count]);
                at += count;
                *left -= count as u32;
                if *left == 0 {
                    *state = Chunk::DataCr;
                }
                continue;
            }
            at += 1;
            *self = state.step(byte)?;
        }
        Ok(at)
    }
}

impl Chunk {
    fn step(self, byte: u8) -> Result<Framing, FramingError> {
        let next = match (self, byte) {
            (Self::Size { size, digits }, _) if byte.is_ascii_hexdigit() && digits < 7 => {
                let digit = char::from(byte).to_digit(16).ok_or(FramingError::Chunk)?;
                Self::Size { size: size << 4 | digit, digits: digits + 1 }
            }
            (Self::Size { size, digits: 1.. }, b'\r') => Self::SizeEnd { size },
            (Self::Size { size, digits: 1.. }, b';') => Self::Extension { size, seen: 0 },
            (Self::Extension { size, .. }, b'\r') => Self::SizeEnd { size },
            (Self::Extension { size, seen }, b'\t' | b' '..) if seen < MAX_EXTENSION => {
                Self::Extension { size, seen: seen + 1 }
            }
            (Self::SizeEnd { size: 0 }, b'\n') => Self::Trailer { seen: 0, in_line: 0 },
            (Self::SizeEnd { size }, b'\n') => Self::Data { left: size },
            (Self::DataCr, b'\r') => Self::DataLf,
            (Self::DataLf, b'\n') => Self::Size { size: 0, digits: 0 },
            (Self::Trailer { seen, .. }, _) if seen >= MAX_TRAILERS => return Err(FramingError::Trailers),
            (Self::Trailer { seen, in_line }, b'\r') => Self::TrailerEnd { seen, in_line },
            (Self::Trailer { seen, in_line }, b'\t' | b' '..) => Self::Trailer { seen: seen + 1, in_line: in_line + 1 },
            (Self::TrailerEnd { in_line: 0, .. }, b'\n') => return Ok(Framing::Done),
            (Self::TrailerEnd { seen, .. }, b'\n') => Self::Trailer { seen, in_line: 0 },
            (Self::Trailer { .. } | Self::TrailerEnd { .. }, _) => return Err(FramingError::Trailers),
            _ => return Err(FramingError::Chunk),
        };
        Ok(Framing::Chunked(next))
    }
}

fn parse_length(text: &[u8]) -> Result<Framing, FramingError> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return Err(FramingError::Length);
    }
    let length = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(FramingError::Length)?;
    Ok(Framing::Length(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(rows: &[(&'static str, &'static str)]) -> Result<Framing, FramingError> {
        let header = |(name, value): &(&'static str, &'static str)| Header { name, value: value.as_bytes() };
        Framing::of_answer(200, &rows.iter().map(header).collect::<Vec<_>>())
    }

    #[test]
    fn an_ambiguous_head_is_refused() {
        let (te, cl) = ("Transfer-Encoding", "content-length");
        assert_eq!(announced(&[(cl, "12")]), Ok(Framing::Length(12)));
        assert!(matches!(announced(&[(te, "Chunked")]), Ok(Framing::Chunked(_))));
        assert_eq!(announced(&[]), Ok(Framing::Close));
        assert_eq!(announced(&[(te, "chunked"), (cl, "1")]), Err(FramingError::Both));
        assert_eq!(announced(&[(te, "gzip, chunked")]), Err(FramingError::Encoding));
        assert_eq!(announced(&[(te, "chunked"), ("transfer-encoding", "chunked")]), Err(FramingError::Encoding));
        assert_eq!(announced(&[(cl, "1"), ("Content-Length", "1")]), Err(FramingError::Length));
        for bad in ["+1", "-1", "0x1", "1,1", "", "99999999999999999999"] {
            assert_eq!(announced(&[(cl, bad)]), Err(FramingError::Length), "{bad}");
        }
    }

    fn chunked(input: &[u8], size: usize) -> Result<(String, bool), FramingError> {
        let mut framing = Framing::Chunked(Chunk::Size { size: 0, digits: 0 });
        let mut out = Vec::new();
        for piece in input.chunks(size) {
            framing.take_body(piece, &mut out)?;
        }
        Ok((String::from_utf8_lossy(&out).into_owned(), framing.is_done()))
    }

    #[test]
    fn chunks_are_joined_however_they_are_split() {
        let input = b"4\r\nabcd\r\n0a;ext=\"1\"\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n";
        for size in 1..=input.len() {
            assert_eq!(chunked(input, size), Ok(("abcd0123456789".to_owned(), true)), "pieces of {size}");
        }
    }

    #[test]
    fn malformed_chunks_are_refused() {
        for bad in [
            "g\r\n",
            "\r\n",
            ";x\r\n",
            "4 \r\nabcd\r\n",
            "4\nabcd",
            "4\r\nabcdX",
            "-4\r\n",
            "0x4\r\n",
            "ffffffff\r\n",
            "4\r\r",
        ] {
            assert_eq!(chunked(bad.as_bytes(), 1), Err(FramingError::Chunk), "{bad:?}");
        }
        let endless = format!("0\r\n{}", "x".repeat(9000));
        assert_eq!(chunked(endless.as_bytes(), 64), Err(FramingError::Trailers));
        let extension = format!("1;{}", "x".repeat(300));
        assert_eq!(chunked(extension.as_bytes(), 64), Err(FramingError::Chunk));
        assert_eq!(chunked(b"4\r\nab", 64), Ok(("ab".to_owned(), false)));
    }
}
