//! Writing an archive: checked first, written aside, put in place whole.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use contract::{Digest, canonical_bytes};
use evidence::tarball::{TarForm, TarKind, TarWriter};
use evidence::verify::VerifiedBundle;
use evidence::{PublicKey, names as bundle_names, stop};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use sha2::{Digest as _, Sha256};
use untrusted_fs::own_files::{self, OwnOptions as _};
use zstd::stream::write::Encoder;

use super::names::ArchiveNames;
use super::{
    ArchiveManifest, BUNDLE, ExportRunError, FORMAT, LEVEL, MANIFEST, PUBLIC_KEY, STATEMENTS, VERSION, allowance,
    statement,
};
use crate::after::reverify::{CarriedBaseline, carry_baseline};
use crate::home::layout::Home;
use crate::run::harness::Harness;
use crate::run::stated::PART;

/// Content of an archive.
#[derive(Debug, Clone, Copy)]
pub struct ExportSource<'a> {
    pub home: &'a Home,
    pub bundle: &'a VerifiedBundle,
    /// Whom this home trusts to have signed the bundle and what was stated about it.
    pub keys: &'a [PublicKey],
    /// Harness that fetches the baseline from the run's origin, if it is to be handed over
    /// too.
    pub with_baseline: Option<&'a Harness>,
}

/// An archive that was written.
#[derive(Debug)]
pub struct Exported {
    pub path: PathBuf,
    pub files: usize,
    pub statements: usize,
    /// True if the baseline is in it, in the bundle or beside it.
    pub with_baseline: bool,
    /// Size of all files together.
    pub bytes: u64,
    pub archive_bytes: u64,
}

/// Content of one file.
enum Content {
    Made(Vec<u8>),
    File(PathBuf, u64),
    /// File of the bundle, which has to be the one that was verified.
    Verified(PathBuf, u64, Digest),
}

impl Content {
    fn size(&self) -> u64 {
        match self {
            Self::Made(bytes) => bytes.len() as u64,
            Self::File(_, size) | Self::Verified(_, size, _) => *size,
        }
    }
}

/// Writes the archive of a run. An existing file is not overwritten.
pub fn export_run(source: &ExportSource<'_>, to: &Path) -> Result<Exported, ExportRunError> {
    if own_files::symlink_metadata(to).is_ok() {
        return Err(ExportRunError::Exists(to.to_owned()));
    }
    let Gathered { files, statements, with_baseline, _baseline } = gather(source)?;
    let mut names = ArchiveNames::default();
    for (name, content) in &files {
        names.add_name(name, content.size()).map_err(|why| ExportRunError::Unfit { name: name.clone(), why })?;
    }
    let aside = aside(to);
    let written = write(&files, &aside, to).and_then(|archive_bytes| {
        stop::pass_place("export.written");
        if names.bytes() > allowance(archive_bytes) {
            let why = "it compresses so well that an import would refuse it as a bomb";
            return Err(ExportRunError::Unfit { name: BUNDLE.to_owned(), why });
        }
        let placed = renameat_with(CWD, &aside, CWD, to, RenameFlags::NOREPLACE).map_err(io::Error::from);
        placed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => ExportRunError::Exists(to.to_owned()),
            _ => ExportRunError::Place(to.to_owned(), error),
        })?;
        Ok(archive_bytes)
    });
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    let (path, bytes) = (to.to_owned(), names.bytes());
    Ok(Exported { path, files: files.len(), statements, with_baseline, bytes, archive_bytes: written? })
}

fn aside(to: &Path) -> PathBuf {
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    to.with_file_name(format!(".{name}.part-{}", std::process::id()))
}

/// Everything that goes in, by name.
struct Gathered {
    files: BTreeMap<String, Content>,
    statements: usize,
    with_baseline: bool,
    _baseline: Option<CarriedBaseline>,
}

/// Checked as an import will check it.
fn gather(source: &ExportSource<'_>) -> Result<Gathered, ExportRunError> {
    let ExportSource { bundle, keys, with_baseline, .. } = source;
    let run_id = &bundle.report().run_id;
    let signer = keys.iter().find(|key| key.key_id() == bundle.signer());
    let signer = signer.ok_or_else(|| ExportRunError::Verify(format!("{run_id} (signed by an unknown key)")))?;
    let manifest = ArchiveManifest {
        attestation_sha256: bundle.attestation_sha256(),
        format: FORMAT.to_owned(),
        run_id: run_id.clone(),
        schema_version: VERSION.to_owned(),
    };
    let mut files = BTreeMap::new();
    for (name, sha256) in bundle.file_digests() {
        let path = bundle.dir().join(name);
        let stat = own_files::symlink_metadata(&path).map_err(|error| ExportRunError::Read(path.clone(), error))?;
        files.insert(format!("{BUNDLE}/{name}"), Content::Verified(path, stat.len(), *sha256));
    }
    stop::pass_place("export.gathered");
    let statements = statements(source, manifest.attestation_sha256, &mut files)?;
    files.insert(PUBLIC_KEY.to_owned(), Content::Made(signer.openssh("cto-harness").into_bytes()));
    let manifest = canonical_bytes(&manifest).map_err(ExportRunError::Encode)?;
    files.insert(MANIFEST.to_owned(), Content::Made(manifest));
    let in_bundle = files.contains_key(&format!("{BUNDLE}/{}", bundle_names::BASELINE));
    let carried = with_baseline.filter(|_| !in_bundle).map(|harness| carry_baseline(harness, bundle));
    let baseline = carried.transpose().map_err(ExportRunError::Baseline)?;
    if let Some(CarriedBaseline { path, .. }) = &baseline {
        let stat = own_files::metadata(path).map_err(|error| ExportRunError::Read(path.clone(), error))?;
        files.insert(bundle_names::BASELINE.to_owned(), Content::File(path.clone(), stat.len()));
    }
    Ok(Gathered { files, statements, with_baseline: in_bundle || baseline.is_some(), _baseline: baseline })
}

/// Adds the statements about the run, made here and at its origin.
fn statements(
    source: &ExportSource<'_>,
    attestation: Digest,
    files: &mut BTreeMap<String, Content>,
) -> Result<usize, ExportRunError> {
    let run_id = &source.bundle.report().run_id;
    let bundles = source.home.bundles();
    let mut found = BTreeMap::new();
    for folder in [bundles.imported_statements_dir(run_id), bundles.statements_dir(run_id)] {
        let failed = |error| ExportRunError::Read(folder.clone(), error);
        let listed = match own_files::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            listed => listed.map_err(failed)?,
        };
        for entry in listed {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // A document that is not whole yet does not count.
            if !name.starts_with(PART) {
                found.insert(name, own_files::read_file(entry.path()).map_err(failed)?);
            }
        }
    }
    let count = statement::check_all(&found, attestation, source.keys)
        .map_err(|(name, why)| ExportRunError::Verify(format!("the statement {name} {why}; it")))?;
    files.extend(found.into_iter().map(|(name, bytes)| (format!("{STATEMENTS}/{name}"), Content::Made(bytes))));
    Ok(count)
}

/// Passes on what it reads, and digests it.
struct DigestingRead<R> {
    inner: R,
    hasher: Sha256,
}

impl<R: Read> Read for DigestingRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

/// Gives the size of what was written.
fn write(files: &BTreeMap<String, Content>, aside: &Path, to: &Path) -> Result<u64, ExportRunError> {
    let place = |error| ExportRunError::Place(to.to_owned(), error);
    let file = OpenOptions::new().write(true).create_new(true).own_open(aside).map_err(place)?;
    let mut out = Encoder::new(io::BufWriter::new(file), LEVEL).map_err(place)?;
    out.include_checksum(true).map_err(place)?;
    let mut tar = TarWriter::new(TarForm::Archive, out);
    for (name, content) in files {
        let (path, size, verified) = match content {
            Content::Made(bytes) => {
                tar.add_entry(name.as_bytes(), TarKind::File, bytes).map_err(place)?;
                continue;
            }
            Content::File(path, size) => (path, *size, None),
            Content::Verified(path, size, sha256) => (path, *size, Some(sha256)),
        };
        let failed = |error| ExportRunError::Read(path.clone(), error);
        let mut file = DigestingRead { inner: own_files::open_file(path).map_err(failed)?, hasher: Sha256::new() };
        let is_whole = tar.add_from(name.as_bytes(), TarKind::File, size, &mut file).map_err(place)?;
        let is_verified = verified.is_none_or(|sha256| sha256.as_bytes()[..] == file.hasher.finalize()[..]);
        if !is_whole || !is_verified {
            return Err(failed(io::Error::other("it changed while it was read")));
        }
    }
    let file = tar
        .write_end()
        .and_then(Encoder::finish)
        .and_then(|buffer| buffer.into_inner().map_err(io::Error::from))
        .map_err(place)?;
    file.sync_all().and_then(|()| file.metadata()).map(|stat| stat.len()).map_err(place)
}
