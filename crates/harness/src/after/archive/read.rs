//! Reading an archive from somebody we do not know: one pass, a block at a time, everything
//! checked before it is used.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use contract::text::show_controls;
use evidence::tarball::{TAR_BLOCK as BLOCK, padding};
use rustix::fs::OFlags;
use tar::{EntryType, Header};
use untrusted_fs::own_files::OwnOptions as _;
use zstd::stream::read::Decoder;

use super::entry;
use super::names::{ArchiveNames, LONGEST};
use super::{FRAME, ImportArchiveError, MANIFEST, WINDOW_LOG, allowance, refused};

/// Name of the file as a whole in errors.
const WHOLE: &str = "the archive";

/// The files of an archive, one after the other.
pub(super) struct ArchiveReader {
    path: PathBuf,
    source: Decoder<'static, BufReader<File>>,
    allowed: u64,
    names: ArchiveNames,
}

/// A file whose content comes next.
#[derive(Debug)]
pub(super) struct ArchiveEntry {
    pub(super) name: String,
    size: u64,
}

impl ArchiveReader {
    /// Opens a file that looks like an archive.
    pub(super) fn open_archive(path: &Path) -> Result<Self, ImportArchiveError> {
        let not = |why: &str| ImportArchiveError::NotAnArchive(path.to_owned(), why.to_owned());
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => not("there is no such file"),
            _ => ImportArchiveError::Read(path.to_owned(), error),
        };
        // A pipe must not keep us waiting before it is known to be one.
        let nonblocking = OFlags::NONBLOCK.bits() as i32;
        let file = File::options().read(true).custom_flags(nonblocking).own_open(path).map_err(failed)?;
        let stat = file.metadata().map_err(failed)?;
        if !stat.is_file() {
            return Err(not("it is not a regular file"));
        }
        let mut source = BufReader::new(file);
        let head = source.fill_buf().map_err(failed)?;
        if !head.starts_with(&FRAME[..4]) {
            return Err(not("it is not compressed with zstd"));
        }
        if head.len() > 4 && !head.starts_with(&FRAME) {
            return Err(refused(WHOLE, "has a zstd header that `cto export` does not write"));
        }
        let mut source = Decoder::with_buffer(source).map_err(failed)?.single_frame();
        source.window_log_max(WINDOW_LOG).map_err(failed)?;
        Ok(Self { path: path.to_owned(), source, allowed: allowance(stat.len()), names: ArchiveNames::default() })
    }

    /// The next file; None after the last, when the archive has ended as it must.
    pub(super) fn next_entry(&mut self) -> Result<Option<ArchiveEntry>, ImportArchiveError> {
        let mut raw = vec![0; BLOCK];
        self.fill(&mut raw, WHOLE)?;
        if raw.iter().all(|byte| *byte == 0) {
            return self.end().map(|()| None);
        }
        let (name, size) = self.header(&mut raw)?;
        if self.names.is_empty() && name != MANIFEST {
            return Err(self.odd(&name, &format!("is its first file, where {MANIFEST} must be")));
        }
        self.names.add_name(&name, size).map_err(|why| refused(&name, why))?;
        if self.names.bytes() > self.allowed {
            return Err(refused(&name, "is far larger than what was compressed: a bomb"));
        }
        if entry::header_blocks(&name, size).ok() != Some(raw) {
            return Err(refused(&name, "has a header that `cto export` does not write"));
        }
        Ok(Some(ArchiveEntry { name, size }))
    }

    /// Name and size of the entry that begins with `raw`; adds the further blocks that
    /// belong to its beginning.
    fn header(&mut self, raw: &mut Vec<u8>) -> Result<(String, u64), ImportArchiveError> {
        let header = Header::from_byte_slice(raw);
        let name = String::from_utf8_lossy(&header.path_bytes()).into_owned();
        if header.as_ustar().is_none() && header.as_gnu().is_none() {
            return Err(self.odd(&name, "has a header that is not one of a tar"));
        }
        let size = header.entry_size().map_err(|_| self.odd(&name, "has no size"))?;
        match header.entry_type() {
            EntryType::Regular => Ok((name, size)),
            EntryType::GNULongName if size <= LONGEST as u64 + 1 => self.long_name(raw, size),
            _ => Err(refused(&name, entry::kind(header))),
        }
    }

    /// Error of an unexpected header. At the beginning the file is no archive at all; later
    /// it is a bad one.
    fn odd(&self, name: &str, why: &str) -> ImportArchiveError {
        match self.names.is_empty() {
            true => ImportArchiveError::NotAnArchive(self.path.clone(), format!("`{}` {why}", show_controls(name))),
            false => refused(name, why),
        }
    }

    fn long_name(&mut self, raw: &mut Vec<u8>, size: u64) -> Result<(String, u64), ImportArchiveError> {
        let length = usize::try_from(size).unwrap_or(LONGEST);
        raw.resize(BLOCK + length + padding(size) + BLOCK, 0);
        self.fill(&mut raw[BLOCK..], WHOLE)?;
        let name = raw[BLOCK..BLOCK + length].strip_suffix(&[0]).unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        let header = Header::from_byte_slice(&raw[raw.len() - BLOCK..]);
        let size = header.entry_size().map_err(|_| refused(&name, "has no size"))?;
        match header.entry_type() {
            EntryType::Regular => Ok((name, size)),
            _ => Err(refused(&name, entry::kind(header))),
        }
    }

    /// Writes the content of a file and checks what follows it.
    pub(super) fn copy_entry(
        &mut self,
        entry: &ArchiveEntry,
        to: &mut impl Write,
        place: &Path,
    ) -> Result<(), ImportArchiveError> {
        let mut buffer = vec![0; 1 << 16];
        let mut left = entry.size;
        while left > 0 {
            let part = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
            self.fill(&mut buffer[..part], &entry.name)?;
            to.write_all(&buffer[..part]).map_err(|error| ImportArchiveError::Write(place.to_owned(), error))?;
            left -= part as u64;
        }
        let mut rest = vec![0; padding(entry.size)];
        self.fill(&mut rest, &entry.name)?;
        if rest.iter().any(|byte| *byte != 0) {
            return Err(refused(&entry.name, "is followed by bytes that belong to nothing"));
        }
        Ok(())
    }

    /// After one block of zeros: another one, and then nothing, neither in the tar nor
    /// behind the compressed data.
    fn end(&mut self) -> Result<(), ImportArchiveError> {
        let mut last = vec![0; BLOCK];
        self.fill(&mut last, WHOLE)?;
        let mut more = [0];
        let ended = last.iter().all(|byte| *byte == 0) && self.read(&mut more, WHOLE)? == 0;
        let behind = self.source.get_mut().fill_buf();
        let behind = behind.map_err(|error| ImportArchiveError::Read(self.path.clone(), error))?;
        match ended && behind.is_empty() {
            true => Ok(()),
            false => Err(refused(WHOLE, "has bytes after its end")),
        }
    }

    fn fill(&mut self, buffer: &mut [u8], name: &str) -> Result<(), ImportArchiveError> {
        let mut at = 0;
        while at < buffer.len() {
            match self.read(&mut buffer[at..], name)? {
                0 => return Err(refused(name, "ends early")),
                count => at += count,
            }
        }
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8], name: &str) -> Result<usize, ImportArchiveError> {
        use io::ErrorKind::{Interrupted, UnexpectedEof};
        loop {
            return match self.source.read(buffer) {
                Ok(count) => Ok(count),
                Err(error) if error.kind() == Interrupted => continue,
                Err(error) if error.kind() == UnexpectedEof => Err(refused(name, "ends early")),
                Err(error) if error.raw_os_error().is_some() => Err(ImportArchiveError::Read(self.path.clone(), error)),
                Err(error) => Err(refused(name, format!("cannot be decompressed: {error}"))),
            };
        }
    }
}

#[cfg(test)]
mod tests;
