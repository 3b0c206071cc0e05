//! Patches in linear time: everything between the common beginning and the common end of
//! both sides is replaced. As exact as any other patch, only longer.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::error::{Doing, TreeError};
use crate::object::listing::{ListingEntry, PathChange};
use crate::oid::Oid;
use crate::patch::effort::{Sides, is_binary};

const CONTEXT: usize = 3;
/// Bytes in a line of encoded content, and git's letters for them.
const CHUNK: usize = 52;
const LETTERS: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
const NONE: Oid = Oid([0; 20]);

/// Writes the patch of one path.
pub(crate) fn write_whole(patch: &mut Vec<u8>, change: &PathChange, sides: &Sides) -> Result<(), TreeError> {
    let Sides { before, after } = sides;
    match (&change.before, &change.after) {
        (Some(old), Some(new)) if old.mode.is_regular() == new.mode.is_regular() => {
            write_side(patch, &change.path, (Some(old), before), (Some(new), after))
        }
        // What becomes a link, or was one, goes and comes anew.
        (old, new) => {
            if old.is_some() {
                write_side(patch, &change.path, (old.as_ref(), before), (None, b""))?;
            }
            if new.is_some() {
                write_side(patch, &change.path, (None, b""), (new.as_ref(), after))?;
            }
            Ok(())
        }
    }
}

type Side<'a> = (Option<&'a ListingEntry>, &'a [u8]);

fn write_side(
    patch: &mut Vec<u8>,
    path: &[u8],
    (old, before): Side<'_>,
    (new, after): Side<'_>,
) -> Result<(), TreeError> {
    let (from, to) = (quoted(b"a/", path), quoted(b"b/", path));
    for part in [b"diff --git ", from.as_slice(), b" ", &to, b"\n"] {
        patch.extend_from_slice(part);
    }
    let bits = |entry: &ListingEntry| format!("{:06o}", entry.mode.bits());
    let same_mode = match (old, new) {
        (Some(old), Some(new)) if old.mode == new.mode => format!(" {}", bits(old)),
        (Some(old), Some(new)) => {
            (patch.extend(format!("old mode {}\nnew mode {}\n", bits(old), bits(new)).bytes()), String::new()).1
        }
        (Some(old), None) => (patch.extend(format!("deleted file mode {}\n", bits(old)).bytes()), String::new()).1,
        (None, Some(new)) => (patch.extend(format!("new file mode {}\n", bits(new)).bytes()), String::new()).1,
        (None, None) => return Ok(()),
    };
    let oid = |entry: Option<&ListingEntry>| entry.map_or(NONE, |entry| entry.oid);
    if oid(old) == oid(new) {
        return Ok(());
    }
    patch.extend(format!("index {}..{}{same_mode}\n", oid(old), oid(new)).bytes());
    if is_binary(before) || is_binary(after) {
        patch.extend_from_slice(b"GIT binary patch\n");
        write_literal(patch, after)?;
        return write_literal(patch, before);
    }
    if before == after {
        return Ok(());
    }
    // Git ends names that hold a space with a tab.
    let end: &[u8] = if path.contains(&b' ') { b"\t\n" } else { b"\n" };
    let name = |entry: Option<&ListingEntry>, name: Vec<u8>| if entry.is_some() { name } else { b"/dev/null".to_vec() };
    for part in [b"--- ", name(old, from).as_slice(), end, b"+++ ", &name(new, to), end] {
        patch.extend_from_slice(part);
    }
    write_block(patch, before, after);
    Ok(())
}

/// One hunk: a little of what is common, all that differs, a little of what is common.
fn write_block(patch: &mut Vec<u8>, before: &[u8], after: &[u8]) {
    let (old, new) = (lines(before), lines(after));
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let shortest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(shortest).take_while(|(old, new)| old == new).count();
    let from = head.saturating_sub(CONTEXT);
    let behind = tail.min(CONTEXT);
    let span = |length: usize| match length - tail + behind - from {
        0 => format!("{from},0"),
        count => format!("{},{count}", from + 1),
    };
    patch.extend(format!("@@ -{} +{} @@\n", span(old.len()), span(new.len())).bytes());
    write_lines(patch, b' ', &old[from..head]);
    write_lines(patch, b'-', &old[head..old.len() - tail]);
    write_lines(patch, b'+', &new[head..new.len() - tail]);
    write_lines(patch, b' ', &old[old.len() - tail..old.len() - tail + behind]);
}

fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

fn write_lines(patch: &mut Vec<u8>, sign: u8, lines: &[&[u8]]) {
    for line in lines {
        patch.push(sign);
        patch.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            patch.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// Content as git carries what is not text.
fn write_literal(patch: &mut Vec<u8>, content: &[u8]) -> Result<(), TreeError> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder.write_all(content).and_then(|()| encoder.finish());
    let packed = packed.doing("compressing", "a content".as_ref())?;
    patch.extend(format!("literal {}\n", content.len()).bytes());
    for chunk in packed.chunks(CHUNK) {
        let length = chunk.len() as u8;
        patch.push(if length <= 26 { b'A' + length - 1 } else { b'a' + length - 27 });
        for word in chunk.chunks(4) {
            let mut bytes = [0; 4];
            bytes[..word.len()].copy_from_slice(word);
            patch.extend_from_slice(&encode_word(u32::from_be_bytes(bytes)));
        }
        patch.push(b'\n');
    }
    patch.push(b'\n');
    Ok(())
}

fn encode_word(mut word: u32) -> [u8; 5] {
    let mut letters = [0; 5];
    for letter in letters.iter_mut().rev() {
        *letter = LETTERS[(word % 85) as usize];
        word /= 85;
    }
    letters
}

/// A name as git writes it: in quotes where it has more than plain ASCII.
fn quoted(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    let name = [prefix, path].concat();
    if name.iter().all(plain) {
        return name;
    }
    let mut out = vec![b'"'];
    for byte in name {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            byte if plain(&byte) => out.push(byte),
            byte => out.extend(format!("\\{byte:03o}").bytes()),
        }
    }
    out.push(b'"');
    out
}
