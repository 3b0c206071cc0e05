//! A home with runs in every state.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use contract::{Digest, Purpose, Report, RunId, Stage, Stamp};
use evidence::{Draft, PublicKey, names};
use ledger::{
    Bundles, Collection, EntryKind, IMPORT_SIGNER_FILE, Ledger, RunCollected, RunIntent, RunSeal, RunSealed, RunStarted,
};
use serde_json::json;
use views::{RungTerms, ViewedHome, Views, WorkerKeys};

pub(crate) fn at(text: &str) -> Stamp {
    text.parse().unwrap()
}

/// A moment after everything in a world.
pub(crate) fn now() -> Stamp {
    at("2026-12-01T00:00:00Z")
}

pub(crate) fn run(suffix: &str) -> RunId {
    format!("20261116T070000Z-r1-{suffix}").try_into().unwrap()
}

pub(crate) fn owner(pair: &str) -> Digest {
    pair.repeat(32).parse().unwrap()
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cto/tests/golden/v1.1-rules-1.1")
}

pub(crate) fn golden_key() -> PublicKey {
    PublicKey::read_file(&golden().join("harness.pub")).unwrap()
}

/// The report of a golden bundle: `pass`, `fail` or `blocked`.
pub(crate) fn golden_report(kind: &str) -> Report {
    serde_json::from_slice(&fs::read(golden().join(kind).join(names::REPORT)).unwrap()).unwrap()
}

/// One pass earns a rung, and nobody may sign an outcome.
pub(crate) fn terms() -> RungTerms<'static> {
    static NO_FLEET: std::sync::LazyLock<WorkerKeys> = std::sync::LazyLock::new(WorkerKeys::default);
    let standing = &|_: &_, _: &str, _| contract::signer::SignerStanding::NotListed;
    RungTerms { passes_required: 1, standing, workers: &NO_FLEET }
}

pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) bundles: Bundles,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["active", "harness-runs"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let world = Self { bundles: Bundles::in_home(folder.path()), folder };
        drop(world.ledger());
        world
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Opened anew, so that nobody has it open while somebody looks.
    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::open_file(&self.root().join("ledger.db")).unwrap()
    }

    pub(crate) fn views(&self) -> Views {
        self.shared_views(None)
    }

    /// Views of a home that shares its ledger as this instance.
    pub(crate) fn shared_views(&self, shared_as: Option<Digest>) -> Views {
        let ledger = Some(Ledger::open_existing_read_only(&self.root().join("ledger.db")).unwrap());
        let (bundles, active) = (self.bundles.clone(), self.root().join("active"));
        Views::new(ViewedHome { ledger, bundles, active, shared_as }).trusting_keys(vec![golden_key()])
    }

    pub(crate) fn start(&self, run_id: &RunId, time: Stamp, owner: Option<Digest>, lease_until: Option<Stamp>) {
        self.start_with("fake", run_id, time, owner, lease_until);
    }

    fn start_with(&self, engine: &str, run_id: &RunId, time: Stamp, owner: Option<Digest>, lease_until: Option<Stamp>) {
        let intent = RunIntent {
            task_id: "r1".to_owned().try_into().unwrap(),
            engine: engine.to_owned(),
            stage: Stage::ARTIFICIAL_FIXTURE,
            purpose: Purpose::Governed,
            owner,
            epoch: None,
            detail: serde_json::Value::Null,
        };
        self.ledger().run_started(&RunStarted { run_id: run_id.clone(), time, lease_until, intent }).unwrap();
    }

    /// A run of an engine.
    pub(crate) fn start_engine(&self, engine: &str, run_id: &RunId, time: Stamp) {
        self.start_with(engine, run_id, time, None, None);
    }

    /// Seals a run that has no bundle and took this long.
    pub(crate) fn seal_bare(&self, run_id: &RunId, duration_ms: u64) {
        let report = Report { run_id: run_id.clone(), duration_ms, ..golden_report("pass") };
        self.tell_sealed(&report, Digest::of_bytes(run_id.as_str().as_bytes()));
    }

    /// A golden run, sealed in this home; gives its id.
    pub(crate) fn seal(&self, kind: &str) -> RunId {
        let report = self.publish(kind);
        self.tell_sealed(&report, attestation(kind));
        report.run_id
    }

    /// A golden run whose bundle is in its place and not yet sealed by the ledger.
    pub(crate) fn publish(&self, kind: &str) -> Report {
        let report = golden_report(kind);
        testkit::copy_bundle(&golden().join(kind), &self.bundles.bundle_dir(&report.run_id));
        self.start(&report.run_id, report.run_started_at, None, None);
        report
    }

    pub(crate) fn tell_sealed(&self, report: &Report, attestation_sha256: Digest) {
        let seal = RunSeal {
            status: report.status,
            finished_at: report.run_finished_at,
            duration_ms: report.duration_ms,
            reasons: report.blocker_reasons.iter().copied().map(Into::into).collect(),
            tests_passed: None,
            tests_executed: None,
            attestation_sha256,
            bundle: Bundles::bundle_name(&report.run_id),
            owner: None,
            identity: None,
        };
        let sealed = RunSealed { run_id: report.run_id.clone(), time: report.run_finished_at, epoch: None, seal };
        self.ledger().run_sealed(&sealed).unwrap();
    }

    /// A golden run that was sealed here and whose bundle was collected; gives its id.
    pub(crate) fn collect(&self, kind: &str) -> RunId {
        let run_id = self.seal(kind);
        let collection = Collection { attestation_sha256: attestation(kind), reason: "old".to_owned(), bytes: 7 };
        self.ledger().runs_collected(&[RunCollected { run_id: run_id.clone(), time: now(), collection }]).unwrap();
        fs::remove_dir_all(self.bundles.bundle_dir(&run_id)).unwrap();
        run_id
    }

    /// A golden run of another home, taken in; gives its id.
    pub(crate) fn import(&self, kind: &str) -> RunId {
        let run_id = golden_report(kind).run_id;
        let place = self.bundles.imported_dir(&run_id);
        let folder = place.parent().unwrap();
        fs::create_dir_all(folder).unwrap();
        testkit::copy_bundle(&golden().join(kind), &place);
        fs::write(folder.join(IMPORT_SIGNER_FILE), golden_key().openssh("test")).unwrap();
        let body = json!({"attestation_sha256": attestation(kind)});
        self.ledger().append(EntryKind::EvidenceImported, Some(&run_id), now(), &body).unwrap();
        run_id
    }

    /// The folder of a run that works, locked as long as the file lives, with the first events of a real one.
    pub(crate) fn draft(&self, run_id: &RunId, events: usize) -> File {
        let dir = self.root().join("active").join(run_id.as_str());
        let lock = Draft::claim_folder(&dir).unwrap();
        let text = fs::read_to_string(golden().join("pass").join(names::EVENTS)).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').take(events).collect();
        fs::write(dir.join(names::EVENTS), lines.concat()).unwrap();
        lock
    }
}

pub(crate) fn attestation(kind: &str) -> Digest {
    Digest::of_bytes(&fs::read(golden().join(kind).join(names::ATTESTATION)).unwrap())
}
