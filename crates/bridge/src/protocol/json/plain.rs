//! Search for the end of plain text. Most of a body is text, so it is read in blocks.

/// Looked at together: the compiler makes a few wide comparisons of it.
const BLOCK: usize = 32;
const WORD: usize = 8;

/// True for a quote, a backslash and control characters. Written without branches, so that
/// the compiler vectorises it.
fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Number of bytes before the first special one.
pub(super) fn plain_prefix(bytes: &[u8]) -> usize {
    // Most texts are names and short words; blocks pay only for long ones.
    let short = words(bytes.get(..BLOCK).unwrap_or(bytes));
    if short < BLOCK {
        return short;
    }
    let mut at = BLOCK;
    while let Some(block) = bytes[at..].first_chunk::<BLOCK>() {
        if block.iter().fold(0, |any, byte| any | u8::from(is_special(*byte))) != 0 {
            break;
        }
        at += BLOCK;
    }
    at + words(&bytes[at..])
}

/// The same, a word at a time.
fn words(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = bytes[at..].first_chunk::<WORD>() {
        let marks = special_marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += WORD;
    }
    at + bytes[at..].iter().take_while(|byte| !is_special(**byte)).count()
}

/// The lowest bit set is the highest of the first special byte. Borrowing can mark bytes
/// behind that one wrongly, never one before it.
fn special_marks(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGH;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    below(word, 0x20) | equal(b'"') | equal(b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_told_at_every_place() {
        for byte in 0..=u8::MAX {
            for at in 0..80 {
                // What follows is special too, and must not hide what comes first.
                let bytes = [&b"a\xff".repeat(40)[..at], &[byte], b"\"\x00\\ \x1f\x7f\x80"].concat();
                let first = bytes.iter().position(|byte| is_special(*byte)).unwrap_or(bytes.len());
                assert_eq!(plain_prefix(&bytes), first, "{byte:#x} at {at}");
            }
        }
        assert_eq!((plain_prefix(b""), plain_prefix(b"abc"), plain_prefix(&[b'a'; 100])), (0, 3, 100));
    }

    proptest::proptest! {
        #[test]
        fn agrees_with_looking_at_each_byte(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let first = bytes.iter().position(|byte| is_special(*byte)).unwrap_or(bytes.len());
            proptest::prop_assert_eq!(plain_prefix(&bytes), first);
        }
    }
}
