//! Packs written in process: many objects cost two files, where loose ones would cost a
//! file and often a directory each.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use sha1::{Digest, Sha1};

use untrusted_fs::own_files;

use crate::error::{Doing, TreeError, malformed};
use crate::object::loose::ObjectKind;
use crate::oid::Oid;

const COUNT_AT: usize = 8;

/// A pack in the making; objects are whole, never deltas.
#[derive(Debug)]
pub(crate) struct Pack {
    bytes: Vec<u8>,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    oid: Oid,
    crc: u32,
    offset: u32,
}

impl Default for Pack {
    fn default() -> Pack {
        // The count of objects is filled in at the end.
        Pack { bytes: b"PACK\0\0\0\x02\0\0\0\0".to_vec(), rows: Vec::new() }
    }
}

impl Pack {
    /// True if no object was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Size in bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds an object that is not in this pack yet.
    pub(crate) fn add_object(&mut self, oid: Oid, kind: ObjectKind, body: &[u8]) -> Result<(), TreeError> {
        let start = self.bytes.len();
        let offset = u32::try_from(start).ok().filter(|offset| *offset < 1 << 31);
        let offset = offset.ok_or_else(|| malformed("pack", "too large"))?;
        self.push_head(kind, body.len());
        match u16::try_from(body.len()) {
            Ok(size) => self.push_stored(size, body),
            Err(_) => {
                let mut encoder = ZlibEncoder::new(&mut self.bytes, Compression::fast());
                encoder.write_all(body).and_then(|()| encoder.finish()).doing("compressing", "an object".as_ref())?;
            }
        }
        let mut crc = Crc::new();
        crc.update(&self.bytes[start..]);
        self.rows.push(Row { oid, crc: crc.sum(), offset });
        Ok(())
    }

    /// A zlib stream of one stored block. Setting a compressor up costs more than a small
    /// object is worth: these packs are scratch and are read once.
    fn push_stored(&mut self, size: u16, body: &[u8]) {
        self.bytes.extend_from_slice(&[0x78, 0x01, 0x01]);
        self.bytes.extend_from_slice(&size.to_le_bytes());
        self.bytes.extend_from_slice(&(!size).to_le_bytes());
        self.bytes.extend_from_slice(body);
        self.bytes.extend_from_slice(&adler32(body).to_be_bytes());
    }

    fn push_head(&mut self, kind: ObjectKind, size: usize) {
        let number: u8 = match kind {
            ObjectKind::Commit => 1,
            ObjectKind::Tree => 2,
            ObjectKind::Blob => 3,
            ObjectKind::Tag => 4,
        };
        let mut byte = number << 4 | (size & 15) as u8;
        let mut left = size >> 4;
        while left > 0 {
            self.bytes.push(byte | 0x80);
            byte = (left & 0x7f) as u8;
            left >>= 7;
        }
        self.bytes.push(byte);
    }

    /// Writes the pack and its index into `dir`; an empty one writes nothing.
    pub(crate) fn write_pack(mut self, dir: &Path) -> Result<(), TreeError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let count = u32::try_from(self.rows.len()).map_err(|_| malformed("pack", "too many objects"))?;
        self.bytes[COUNT_AT..COUNT_AT + 4].copy_from_slice(&count.to_be_bytes());
        let sum: [u8; 20] = Sha1::digest(&self.bytes).into();
        self.bytes.extend_from_slice(&sum);
        let index = self.index(&sum);
        // Git looks for index files, so the pack comes first and the index comes by rename.
        let stem = dir.join(format!("pack-{}", Oid(sum)));
        let (pack, index_file, young) =
            (stem.with_extension("pack"), stem.with_extension("idx"), stem.with_extension("tmp"));
        own_files::write_file(&pack, &self.bytes).doing("writing pack", &pack)?;
        own_files::write_file(&young, index).doing("writing pack index", &young)?;
        fs::rename(&young, &index_file).doing("placing pack index", &index_file)
    }

    fn index(&mut self, pack_sum: &[u8; 20]) -> Vec<u8> {
        self.rows.sort_unstable_by_key(|row| row.oid);
        let mut out = b"\xfftOc\0\0\0\x02".to_vec();
        for first in 0..=u8::MAX {
            let up_to = self.rows.partition_point(|row| row.oid.0[0] <= first) as u32;
            out.extend_from_slice(&up_to.to_be_bytes());
        }
        self.rows.iter().for_each(|row| out.extend_from_slice(&row.oid.0));
        self.rows.iter().for_each(|row| out.extend_from_slice(&row.crc.to_be_bytes()));
        self.rows.iter().for_each(|row| out.extend_from_slice(&row.offset.to_be_bytes()));
        out.extend_from_slice(pack_sum);
        let sum: [u8; 20] = Sha1::digest(&out).into();
        out.extend_from_slice(&sum);
        out
    }
}

/// The checksum that ends a zlib stream; of at most 65,535 bytes, so that the sums cannot
/// overflow.
fn adler32(body: &[u8]) -> u32 {
    const MODULUS: u64 = 65_521;
    let (mut a, mut b) = (1_u64, 0_u64);
    for byte in body {
        a += u64::from(*byte);
        b += a;
    }
    let sum = |value: u64| u32::try_from(value % MODULUS).unwrap_or(0);
    (sum(b) << 16) | sum(a)
}
