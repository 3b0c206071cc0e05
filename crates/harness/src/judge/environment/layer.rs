//! Setup layers: the files that the contract's `setup` writes over its view of a tree.
//! Engine and verification see them with the tree.
//!
//! The baseline's layer is made once and kept under the digest of its inputs. A layer made
//! from bytes of a patch lies in the run's own work area and is removed with it, so that no
//! effect of a patch reaches another run.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::sandbox::{Attempt, MountDigest, SetupRecord};
use contract::task::Command;
use contract::{Digest, canonical_bytes, canonical_digest};
use serde::{Deserialize, Serialize};
use tree::{FileAge, Listing, ObjectDatabase};
use untrusted_fs::own_files::{self, OwnPath as _};

use super::inputs::SetupView;
use super::settle::{ShownFiles, discard_layer, settle_layer};
use super::steps::SetupNetwork;
use super::withdraw::{ExamFiles, withdraw_exam_files};
use crate::home::host::FileSighting;
use crate::home::lock::{hold_for_use, touch};
use crate::home::watch::Watch;
use crate::judge::exam::sort_of;
use crate::run::file::Stopped;
use crate::run::sandboxes::SandboxRecords;
use crate::run::supervise::SupervisionTerms;

/// Version of what is kept and of how it is made.
const VERSION: &str = "4";
const RECORD: &str = "layer.json";

/// A layer that is ready to be put under a workspace.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    /// Folder with the files that setup wrote.
    pub(crate) files: PathBuf,
    pub(crate) record: SetupRecord,
    /// Sorts of what its setup tried and a sandbox refuses.
    pub(crate) tried: Vec<String>,
    /// Keeps it from being collected while it is used; none where it lies in the run's own
    /// work area.
    _held: Option<Arc<File>>,
}

#[cfg(test)]
impl Layer {
    /// A layer that some setup made, for tests that run none.
    pub(crate) fn of_files(files: PathBuf) -> Self {
        let record = SetupRecord {
            key: Digest::ZERO,
            tree: String::new(),
            seen_tree: None,
            on: None,
            cached: true,
            commands: Vec::new(),
            network: Vec::new(),
        };
        Self { files, record, tried: Vec::new(), _held: None }
    }
}

/// Result of making a layer.
#[derive(Debug)]
pub(crate) enum MadeLayer {
    Layer(Layer),
    Failed(FailedSetup),
}

/// A setup that did not end well, with what was done up to there.
#[derive(Debug)]
pub(crate) struct FailedSetup {
    /// Cause of the failure, in words.
    pub(super) why: String,
    pub(crate) record: SetupRecord,
}

impl fmt::Display for FailedSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// Inputs that decide a layer. Equal keys mean that a kept layer can be used.
#[derive(Serialize)]
struct Key<'a> {
    version: &'static str,
    /// Tree that setup sees.
    tree: &'a str,
    on: Option<Digest>,
    setup: &'a [Command],
    network: &'a [String],
    variables: &'a BTreeMap<String, String>,
    path: Vec<PathBuf>,
    mounts: &'a [MountDigest],
    /// The programs of setup, as the file system has them.
    toolchain: Vec<(PathBuf, Option<FileSighting>)>,
}

/// Record beside the files of a layer, written last, so that a layer that has it is whole.
#[derive(Serialize, Deserialize)]
struct KeptLayer {
    record: SetupRecord,
    tried: Vec<String>,
}

impl KeptLayer {
    fn read(place: &Path, key: Digest) -> Option<Self> {
        let kept: Self = serde_json::from_slice(&own_files::read_file(place.join(RECORD)).ok()?).ok()?;
        (kept.record.key == key && place.join("upper").own_is_dir()).then_some(kept)
    }

    fn into_layer(self, place: &Path, held: Option<File>) -> Layer {
        let Self { record, tried } = self;
        Layer { files: place.join("upper"), record, tried, _held: held.map(Arc::new) }
    }
}

/// A tree that is judged, and how setup runs again for it.
pub(crate) struct JudgedTree<'a> {
    pub(crate) listing: &'a Listing,
    /// The baseline's layer.
    pub(crate) base: &'a Layer,
    /// Age of each file, so that build tools see the patch's files as new.
    pub(crate) age_of: &'a dyn Fn(&[u8]) -> FileAge,
    pub(crate) exam: ExamFiles<'a>,
}

/// Makes layers, or finds them.
pub(crate) struct LayerMaker<'a> {
    pub(crate) setting: SupervisionTerms<'a>,
    pub(crate) watch: Watch<'a>,
    pub(crate) mounts: &'a [MountDigest],
    pub(crate) store: &'a ObjectDatabase,
    pub(crate) cells: SandboxRecords,
    /// Output of the commands.
    pub(crate) log: Vec<u8>,
    /// Attempts while they ran.
    pub(crate) attempts: Vec<Attempt>,
}

impl<'a> LayerMaker<'a> {
    /// Setup of one run; nothing has run yet.
    pub(crate) fn new(
        setting: SupervisionTerms<'a>,
        watch: Watch<'a>,
        mounts: &'a [MountDigest],
        store: &'a ObjectDatabase,
    ) -> Self {
        Self { setting, watch, mounts, store, cells: SandboxRecords::default(), log: Vec::new(), attempts: Vec::new() }
    }

    /// Layer of the baseline, from the cache if it is there.
    pub(crate) fn baseline_layer(&mut self, listing: &Listing) -> Result<MadeLayer, Stopped> {
        let view = SetupView::of_environment(&self.setting.contract.environment, self.store, listing)?;
        let network = SetupNetwork::of_baseline(&self.setting.contract.environment);
        let key = self.key(&view, None, network)?;
        let folder = self.setting.harness.home.cache().join("layers");
        let place = folder.join(key.to_string());
        if let Some((mut kept, held)) = find_kept(&place, key) {
            kept.record.cached = true;
            kept.record.tree = listing.tree_id().to_string();
            self.say(&format!("== setup: known from an earlier run as {key}"));
            return Ok(MadeLayer::Layer(kept.into_layer(&place, Some(held))));
        }
        let root = self.materialised(&view, key, &|_| FileAge::Unchanged)?;
        fs::create_dir_all(&folder).map_err(|error| Stopped::Io(folder.clone(), error))?;
        let suffix = crate::home::token::random_suffix().map_err(|error| Stopped::Io(folder.clone(), error))?;
        let part = folder.join(format!("{key}.part-{}-{suffix}", std::process::id()));
        let record = new_record(key, listing, &view, None);
        let made = self.make_layer(vec![root.clone()], &part, network, record);
        let made = made.and_then(|made| self.finish(made, &part, &root, ShownFiles::Nothing));
        discard_layer(&root);
        match made {
            Ok(Ok(kept)) => {
                let held = put(&part, &place)?;
                Ok(MadeLayer::Layer(kept.into_layer(&place, Some(held))))
            }
            Ok(Err(failed)) => {
                discard_layer(&part);
                Ok(MadeLayer::Failed(failed))
            }
            Err(stopped) => {
                discard_layer(&part);
                Err(stopped)
            }
        }
    }

    /// The layer of a judged tree; `None` where setup sees the same as on the baseline.
    pub(crate) fn judged_layer(&mut self, judged: &JudgedTree<'_>) -> Result<Option<MadeLayer>, Stopped> {
        let view = SetupView::of_environment(&self.setting.contract.environment, self.store, judged.listing)?;
        let seen_before = judged.base.record.seen_tree.as_ref().unwrap_or(&judged.base.record.tree);
        if view.tree == *seen_before {
            return Ok(None);
        }
        // Lock files that changed make another layer; a setup that sees the whole tree adds
        // to the baseline's.
        let on = (!view.is_part).then_some(judged.base);
        let mut made = self.judged_layer_on(judged, &view, on)?;
        if let (MadeLayer::Failed(failed), Some(_)) = (&made, on) {
            let sentence = format!("setup fails on the baseline's layer, and runs again without it: {failed}");
            self.say(&sentence);
            made = self.judged_layer_on(judged, &view, None)?;
        }
        Ok(Some(made))
    }

    /// Runs setup on a judged tree, over the baseline's layer where one is given.
    fn judged_layer_on(
        &mut self,
        judged: &JudgedTree<'_>,
        view: &SetupView,
        on: Option<&Layer>,
    ) -> Result<MadeLayer, Stopped> {
        let network = SetupNetwork::of_patch(&self.setting.contract.environment);
        let key = self.key(view, on.map(|layer| layer.record.key), network)?;
        let part = self.setting.work.join("setup-layers").join(key.to_string());
        if let Some(kept) = KeptLayer::read(&part, key) {
            return Ok(MadeLayer::Layer(kept.into_layer(&part, None)));
        }
        let root = self.materialised(view, key, if view.is_part { &|_| FileAge::Unchanged } else { judged.age_of })?;
        let record = new_record(key, judged.listing, view, on.map(|layer| layer.record.key));
        let lower = [root.clone()].into_iter().chain(on.map(|layer| layer.files.clone())).collect();
        let beneath = if on.is_some() { ShownFiles::Layer } else { ShownFiles::Nothing };
        let made = self.make_layer(lower, &part, network, record)?;
        let made = self.finish(made, &part, &root, beneath)?;
        discard_layer(&root);
        let layer = match made {
            Ok(kept) => kept.into_layer(&part, None),
            Err(failed) => {
                discard_layer(&part);
                return Ok(MadeLayer::Failed(failed));
            }
        };
        let withdrawn = withdraw_exam_files(&layer.files, &judged.base.files, &judged.exam);
        for path in withdrawn.map_err(|error| Stopped::Io(layer.files.clone(), error))? {
            self.say(&format!("setup made `{path}`, which belongs to the exam set and is ignored"));
        }
        Ok(MadeLayer::Layer(layer))
    }

    /// Lays out what setup sees, in the run's work area.
    fn materialised(
        &self,
        view: &SetupView,
        key: Digest,
        age_of: &dyn Fn(&[u8]) -> FileAge,
    ) -> Result<PathBuf, Stopped> {
        let root = self.setting.dir(&format!("setup-trees/{key}"))?;
        tree::materialise_aged(self.store, &view.listing, &root, age_of)?;
        Ok(root)
    }

    /// Makes a layer of what setup wrote.
    fn finish(
        &self,
        made: Result<SetupRecord, FailedSetup>,
        part: &Path,
        root: &Path,
        beneath: ShownFiles,
    ) -> Result<Result<KeptLayer, FailedSetup>, Stopped> {
        let record = match made {
            Ok(record) => record,
            Err(failed) => return Ok(Err(failed)),
        };
        if let Err(error) = settle_layer(&part.join("upper"), root, beneath) {
            return Ok(Err(FailedSetup { why: format!("what it wrote cannot be kept: {error}"), record }));
        }
        let kept = KeptLayer { record, tried: self.attempts.iter().map(sort_of).collect() };
        own_files::write_file(part.join(RECORD), canonical_bytes(&kept)?)
            .map_err(|error| Stopped::Io(part.join(RECORD), error))?;
        Ok(Ok(kept))
    }

    fn key(&self, view: &SetupView, on: Option<Digest>, network: SetupNetwork) -> Result<Digest, Stopped> {
        let environment = &self.setting.contract.environment;
        // Programs of the tree itself are part of the tree's digest.
        let program_view = self.setting.make_mounts("setup", self.setting.work.join("setup-trees"))?;
        let path = self.setting.path();
        let programs = environment.setup.iter().filter_map(|command| {
            let seen = program_view.find_program(command.argv.first()?, &path, program_view.tree())?;
            Some((seen.clone(), program_view.of_host(&seen).iter().find_map(|host| FileSighting::of_file(host).ok())))
        });
        Ok(canonical_digest(&Key {
            version: VERSION,
            tree: &view.tree,
            on,
            setup: &environment.setup,
            network: network.hosts(environment),
            variables: &environment.variables,
            mounts: self.mounts,
            toolchain: programs.collect(),
            path,
        })?)
    }

    /// Appends a line to the log.
    pub(super) fn say(&mut self, sentence: &str) {
        self.log.extend_from_slice(sentence.as_bytes());
        self.log.push(b'\n');
    }
}

fn new_record(key: Digest, listing: &Listing, view: &SetupView, on: Option<Digest>) -> SetupRecord {
    SetupRecord {
        key,
        tree: listing.tree_id().to_string(),
        seen_tree: view.is_part.then(|| view.tree.clone()),
        on,
        cached: false,
        commands: Vec::new(),
        network: Vec::new(),
    }
}

/// Moves a finished layer to its place, locked before it can be found. If another run was
/// faster, its layer is used; that one may be collected before it is locked, so this is
/// retried a few times.
fn put(part: &Path, place: &Path) -> Result<File, Stopped> {
    let mut failed = std::io::Error::from(std::io::ErrorKind::NotFound);
    for _ in 0..3 {
        let Some(held) = hold_for_use(part) else { break };
        match fs::rename(part, place) {
            Ok(()) => return Ok(held),
            Err(error) => failed = error,
        }
        if let Some(held) = hold_for_use(place).filter(|_| place.join(RECORD).own_is_file()) {
            discard_layer(part);
            return Ok(held);
        }
    }
    Err(Stopped::Io(place.to_owned(), failed))
}

fn find_kept(place: &Path, key: Digest) -> Option<(KeptLayer, File)> {
    let held = hold_for_use(place)?;
    let kept = KeptLayer::read(place, key)?;
    touch(&place.join(RECORD));
    Some((kept, held))
}
