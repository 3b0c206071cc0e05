//! Reads arguments from the memory of a process that waits for an answer. Bounded, and
//! never trusted: the process can change them before the kernel reads them again.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::FileExt;

use untrusted_fs::own_files;

const TEXT_MAX: usize = 256;
/// The longest path that the kernel takes.
const PATH_MAX: usize = 4096;
const ARGS_MAX: usize = 128;
const ADDRESS_MAX: usize = 128;
const WORD: usize = 8;

/// Memory of a process that waits for an answer.
#[derive(Debug)]
pub(super) struct ProcessMemory {
    file: File,
}

impl ProcessMemory {
    /// Opens the memory of a process; none if it is gone or may not be read.
    pub(super) fn open_memory(pid: u32) -> Option<Self> {
        own_files::open_file(format!("/proc/{pid}/mem")).ok().map(|file| Self { file })
    }

    /// Text up to its end, cut.
    pub(super) fn read_text(&self, at: u64) -> Option<String> {
        let mut bytes = [0; TEXT_MAX];
        let length = self.file.read_at(&mut bytes, at).ok()?;
        let read = bytes.get(..length)?;
        let end = read.iter().position(|byte| *byte == 0).unwrap_or(length);
        Some(String::from_utf8_lossy(read.get(..end)?).into_owned())
    }

    /// A path, whole.
    pub(super) fn read_path(&self, at: u64) -> Option<String> {
        let mut bytes = [0; PATH_MAX];
        let length = self.file.read_at(&mut bytes, at).ok()?;
        let read = bytes.get(..length)?;
        let end = read.iter().position(|byte| *byte == 0).unwrap_or(length);
        Some(String::from_utf8_lossy(read.get(..end)?).into_owned())
    }

    /// The first texts of a list that a null pointer ends.
    pub(super) fn texts(&self, at: u64) -> Vec<String> {
        let mut bytes = [0; WORD * ARGS_MAX];
        let length = self.file.read_at(&mut bytes, at).unwrap_or(0);
        let words = bytes.get(..length).unwrap_or_default().chunks_exact(WORD);
        let pointers = words.map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
        pointers.take_while(|pointer| *pointer != 0).map_while(|pointer| self.read_text(pointer)).collect()
    }

    /// A socket address as text; `None` for one of this host inside, which is no attempt to
    /// leave.
    pub(super) fn address(&self, at: u64, length: u64) -> Option<String> {
        let mut bytes = [0; ADDRESS_MAX];
        let wanted = usize::try_from(length).ok()?.min(ADDRESS_MAX);
        let read = self.file.read_at(bytes.get_mut(..wanted)?, at).ok()?;
        address(bytes.get(..read)?)
    }
}

/// Text cut to the length that is kept.
pub(super) fn cut_text(text: &str) -> String {
    let ends = text.char_indices().map(|(at, letter)| at + letter.len_utf8());
    text.get(..ends.take_while(|end| *end <= TEXT_MAX).last().unwrap_or(0)).unwrap_or_default().to_owned()
}

fn address(bytes: &[u8]) -> Option<String> {
    let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
    let rest = bytes.get(2..)?;
    match i32::from(family) {
        libc::AF_UNIX => Some(unix(rest)),
        libc::AF_INET => internet(rest, Ipv4Addr::from(<[u8; 4]>::try_from(rest.get(2..6)?).ok()?).into()),
        libc::AF_INET6 => internet(rest, Ipv6Addr::from(<[u8; 16]>::try_from(rest.get(6..22)?).ok()?).into()),
        // Ends an earlier connection.
        libc::AF_UNSPEC => None,
        other => Some(format!("family {other}")),
    }
}

fn unix(name: &[u8]) -> String {
    match name.split_first() {
        Some((0, name)) => format!("unix:@{}", String::from_utf8_lossy(name)),
        _ => {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            format!("unix:{}", String::from_utf8_lossy(name.get(..end).unwrap_or_default()))
        }
    }
}

fn internet(rest: &[u8], address: IpAddr) -> Option<String> {
    let port = u16::from_be_bytes(rest.get(..2)?.try_into().ok()?);
    let address = address.to_canonical();
    if address.is_loopback() || address.is_unspecified() {
        return None;
    }
    Some(std::net::SocketAddr::new(address, port).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_whatever_they_hold() {
        let v4 = |address: [u8; 4]| [&[2, 0, 0, 53], address.as_slice(), &[0; 8]].concat();
        let v6 = |address: Ipv6Addr| [&[10, 0, 1, 187, 0, 0, 0, 0], address.octets().as_slice(), &[0; 4]].concat();
        let cases: [(Vec<u8>, Option<&str>); 11] = [
            (v4([8, 8, 8, 8]), Some("8.8.8.8:53")),
            (v4([127, 0, 0, 1]), None),
            (v4([0, 0, 0, 0]), None),
            (v6("2001:db8::1".parse().unwrap()), Some("[2001:db8::1]:443")),
            (v6("::1".parse().unwrap()), None),
            (v6("::ffff:127.0.0.1".parse().unwrap()), None),
            (b"\x01\0/run/docker.sock\0junk".to_vec(), Some("unix:/run/docker.sock")),
            (b"\x01\0\0name".to_vec(), Some("unix:@name")),
            (b"\x28\0".to_vec(), Some("family 40")),
            (b"\x02\0\0".to_vec(), None),
            (Vec::new(), None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(address(&bytes).as_deref(), expected, "{bytes:?}");
        }
    }

    #[test]
    fn texts_of_the_own_memory_are_read_and_cut() {
        let memory = ProcessMemory::open_memory(std::process::id()).unwrap();
        let long = [b'x'; 2 * TEXT_MAX];
        assert_eq!(memory.read_text(c"short".as_ptr() as u64).as_deref(), Some("short"));
        assert_eq!(memory.read_text(long.as_ptr() as u64).unwrap().len(), TEXT_MAX);
        assert_eq!(memory.read_text(0), None);
        let path = [long.as_slice(), &[0]].concat();
        assert_eq!(memory.read_path(path.as_ptr() as u64).unwrap().len(), 2 * TEXT_MAX);
        for (text, kept) in [("short", 5), (&"x".repeat(TEXT_MAX + 1), TEXT_MAX), (&"é".repeat(TEXT_MAX), TEXT_MAX)] {
            assert_eq!(cut_text(text).len(), kept);
        }
        assert_eq!(cut_text(&format!("x{}", "é".repeat(TEXT_MAX))).len(), TEXT_MAX - 1);
        let list = [c"a".as_ptr() as u64, c"b".as_ptr() as u64, 0, c"c".as_ptr() as u64];
        assert_eq!(memory.texts(list.as_ptr() as u64), ["a", "b"]);
    }
}
