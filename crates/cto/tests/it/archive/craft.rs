//! Archives that `cto export` would not write.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use contract::{Digest, canonical_bytes};
use evidence::HarnessKey;
use serde_json::json;
use tar::{EntryType, Header};
use testkit::{World, copy_bundle, files_of, resign};

/// The files of an archive, by name.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

pub(super) fn unpack(archive: &Path) -> Files {
    let file = fs::File::open(archive).unwrap();
    let mut archive = tar::Archive::new(zstd::Decoder::new(file).unwrap());
    let read = |entry: std::io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (String::from_utf8(entry.path_bytes().into_owned()).unwrap(), bytes)
    };
    archive.entries().unwrap().map(read).collect()
}

/// A header as `cto export` writes it, but for what `edit` does to it before its checksum is made.
pub(crate) fn header(name: &str, size: u64, edit: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut header = Header::new_ustar();
    header.set_size(size);
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    edit(&mut header);
    header.set_cksum();
    header.as_bytes().to_vec()
}

/// One file: header, content, zeros.
pub(crate) fn entry(name: &str, bytes: &[u8]) -> Vec<u8> {
    with_content(header(name, bytes.len() as u64, |_| {}), bytes)
}

pub(crate) fn with_content(mut header: Vec<u8>, bytes: &[u8]) -> Vec<u8> {
    header.extend_from_slice(bytes);
    header.resize(header.len().next_multiple_of(512), 0);
    header
}

/// The tar of these files, in their order, with its end.
pub(super) fn tar_of(files: &Files) -> Vec<u8> {
    let mut all: Vec<u8> = files.iter().flat_map(|(name, bytes)| entry(name, bytes)).collect();
    all.resize(all.len() + 1024, 0);
    all
}

pub(super) fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut out = zstd::Encoder::new(Vec::new(), 9).unwrap();
    out.include_checksum(true).unwrap();
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// An archive by somebody else of a run that has the name of one of ours.
pub(super) struct Forged {
    pub(super) archive: PathBuf,
    pub(super) key: PathBuf,
}

pub(super) fn forged_twin(world: &World, bundle: &Path) -> Forged {
    let (dir, pem) = (world.path().join("twin"), world.path().join("forger.pem"));
    let forger = HarnessKey::open_or_create(&pem).unwrap();
    copy_bundle(bundle, &dir);
    resign(&dir, &forger, |_| {});
    let attestation = fs::read(dir.join("attestation.dsse.json")).unwrap();
    let run_id = bundle.file_name().unwrap().to_str().unwrap();
    let manifest = json!({"attestation_sha256": Digest::of_bytes(&attestation), "format": "cto-archive", "run_id": run_id, "schema_version": "1"});
    let bundled = files_of(&dir).into_iter().map(|name| {
        let bytes = fs::read(dir.join(&name)).unwrap();
        (format!("bundle/{}", name.to_str().unwrap()), bytes)
    });
    let mut files: Files = bundled.collect();
    files.insert("archive.json".to_owned(), canonical_bytes(&manifest).unwrap());
    let archive = world.path().join("twin.tar.zst");
    fs::write(&archive, compress(&tar_of(&files))).unwrap();
    Forged { archive, key: pem.with_extension("pub") }
}
