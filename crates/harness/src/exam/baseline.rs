//! The same commands on the baseline: which tests there were before. Kept by tree, command and environment.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use contract::decision::Profile;
use contract::sandbox::MountDigest;
use contract::task::{Command, Environment};
use contract::{Digest, canonical_bytes, canonical_digest};
use serde::{Deserialize, Serialize};
use testimony::results::TestResults;
use tree::Listing;
use untrusted_fs::own_files;

use super::Examiner;
use super::conduct::sort_of;
use super::room::Room;
use crate::run::Stopped;

/// Version of what is kept, and of how output is read: another one is another result.
const KEPT_VERSION: &str = "3";

/// What the result depends on.
#[derive(Serialize)]
struct Key<'a> {
    version: &'static str,
    harness: &'a str,
    tree: String,
    command: &'a Command,
    environment: &'a Environment,
    profile: Profile,
    mounts: &'a [MountDigest],
    path: Vec<PathBuf>,
    /// Where the program lies, and what the file system says of it.
    program: Option<(PathBuf, String)>,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    version: String,
    tests: Option<TestResults>,
    /// What its tests tried that a sandbox refuses.
    tried: Vec<String>,
}

impl Examiner<'_> {
    /// The tests of each command on the baseline with the operator's files on top; None where it names none or cannot run.
    pub(super) fn baselines(&mut self) -> Result<Vec<Option<TestResults>>, Stopped> {
        let listing = self.with_operator_files(self.trees.baseline.clone())?;
        let tree = listing.tree_id().to_string();
        let mut room = None;
        let mut all = Vec::new();
        for (index, command) in self.setting.contract.verification_commands.iter().enumerate() {
            let file = self.kept_file(&tree, command)?;
            let tests = match kept(&file) {
                Some(kept) => {
                    self.say(&format!("== baseline {}: {:?}: known from an earlier run", index + 1, command.argv));
                    self.tried_before.push(kept.tried);
                    self.baseline_ends.push(true);
                    kept.tests
                }
                None => self.baseline(&listing, &mut room, index, command, &file)?,
            };
            all.push(tests);
        }
        Ok(all)
    }

    fn baseline(
        &mut self,
        listing: &Listing,
        room: &mut Option<Room>,
        index: usize,
        command: &Command,
        file: &Path,
    ) -> Result<Option<TestResults>, Stopped> {
        let room = match room {
            Some(room) => room,
            None => room.insert(self.room(listing, "baseline")?),
        };
        let late = self.found.late.len();
        let ran = self.command(room, command, None, &format!("baseline {}", index + 1))?;
        // That the baseline is slow or cannot be run is nothing the patch did.
        self.found.late.truncate(late);
        let tried: Vec<String> = room.attempts.iter().chain(&self.tried()).map(sort_of).collect();
        self.tried_before.push(tried.clone());
        self.baseline_ends.push(!ran.timed_out && ran.exit.is_some());
        if ran.timed_out || ran.exit.is_none() {
            return Ok(None);
        }
        keep(file, &Kept { version: KEPT_VERSION.to_owned(), tests: ran.tests.clone(), tried });
        Ok(ran.tests)
    }

    fn kept_file(&self, tree: &str, command: &Command) -> Result<PathBuf, Stopped> {
        let path = self.setting.path();
        let program = command.argv.first().and_then(|name| sandbox::find_program(name, &path, Path::new("/")));
        let key = Key {
            version: KEPT_VERSION,
            harness: &self.setting.harness.host.harness_version,
            tree: tree.to_owned(),
            command,
            environment: &self.setting.contract.environment,
            profile: self.setting.profile,
            mounts: &self.furnished.mounts,
            program: program.map(|program| (program.clone(), identity(&program))),
            path,
        };
        let digest: Digest = canonical_digest(&key)?;
        Ok(self.setting.harness.home.cache().join("baselines").join(format!("{digest}.json")))
    }
}

fn identity(program: &Path) -> String {
    own_files::metadata(program)
        .map(|stat| format!("{} {} {}", stat.ino(), stat.size(), stat.mtime()))
        .unwrap_or_default()
}

/// What cannot be read is found out again.
fn kept(file: &Path) -> Option<Kept> {
    let kept: Kept = serde_json::from_slice(&own_files::read(file).ok()?).ok()?;
    crate::gc::touch(file);
    (kept.version == KEPT_VERSION).then_some(kept)
}

/// A cache that cannot be written costs time, nothing else.
fn keep(file: &Path, kept: &Kept) {
    let (Ok(bytes), Some(folder)) = (canonical_bytes(kept), file.parent()) else { return };
    if fs::create_dir_all(folder).is_ok() {
        crate::host::write_aside(file, &bytes);
    }
}
