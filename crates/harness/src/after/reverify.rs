//! Repeats the verification of a sealed run: the same trees, built anew from the bundle
//! alone, the same exam or a stricter one. The old bundle is only read; the result is a signed
//! statement of its own and a ledger entry.

mod trees;

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use contract::decision::{Profile, Shortfall};
use contract::report::{Blocker, PoisonedFile, Report, Verification, VerificationPass, sort_blockers};
use contract::reverification::{
    COUNTERSIGNATURE_TYPE, Countersignature, CountersignatureStatement, PREDICATE_TYPE, Reverification,
    ReverificationStatement,
};
use contract::statement::{STATEMENT_TYPE, SignedHarness, Subject, SubjectDigest};
use contract::{BUNDLE_VERSION, Coverage, Decision, RULES_VERSION, Reason, Status, TaskContract};
use evidence::names;
use evidence::verify::VerifiedBundle;
use ledger::EntryKind;
use serde_json::json;

use crate::home::baseline::CarryBaselineError;
use crate::home::cause::ErrorCause;
use crate::home::clock::RunClock;
use crate::home::scratch::Work;
use crate::home::token::{canary, random_suffix};
use crate::home::watch::Watch;
use crate::judge::exam::{Examined, Examiner, Furnished, Trees};
use crate::run::availability;
use crate::run::file::Stopped;
use crate::run::harness::Harness;
use crate::run::stated::{self, Stated};
use crate::run::supervise::SupervisionTerms;
use crate::seal::verification::altered_files;
use trees::Rebuilt;
use untrusted_fs::own_files::OwnOptions as _;

/// Reasons that holding the exam again finds out again; all others are what was seen while
/// the engine ran.
const FOUND_AGAIN: &[Reason] = &[
    Reason::ForbiddenPathChange,
    Reason::ProtectedFileChanged,
    Reason::DisallowedFileChange,
    Reason::BuildProductInPatch,
    Reason::VerificationFailed,
    Reason::VerificationWeakened,
];

/// Reason why a verification cannot be repeated.
#[derive(Debug, thiserror::Error)]
pub enum ReverifyError {
    /// The run has no result that could be verified.
    #[error("the run has no result, so there is nothing to verify again")]
    NoResult,
    /// The bundle cannot give the baseline and neither can the repository it came from.
    #[error("the baseline is not to be had: {0}")]
    NoBaseline(#[source] FindBaselineError),
    /// The trees are not those that the bundle names.
    #[error("the {what} cannot be built again: expected tree {expected}, found {found}")]
    AnotherTree { what: &'static str, expected: String, found: String },
    /// The contract is for another task.
    #[error("the contract is for task `{found}`, the run was for `{expected}`")]
    AnotherTask { expected: String, found: String },
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, #[source] ErrorCause),
    #[error(transparent)]
    Clock(crate::home::clock::ReadClockError),
    /// The sandbox it is to be held in cannot be had.
    #[error("{} ({})", .0.text, .0.remedy)]
    Sandbox(Shortfall),
    #[error("interrupted by a signal")]
    Interrupted,
    /// A secret was taken out of the patch.
    #[error("its patch is redacted: without the secret, it does not give the verified result")]
    Redacted,
    #[error("cannot make a folder to work in: {0}")]
    Work(#[source] io::Error),
    #[error("{0}")]
    Failed(#[source] ErrorCause),
}

impl From<Stopped> for ReverifyError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Cancelled => Self::Interrupted,
            other => Self::Failed(other.into()),
        }
    }
}

impl From<tree::TreeError> for ReverifyError {
    fn from(error: tree::TreeError) -> Self {
        Self::Failed(error.into())
    }
}

fn keep_cause(error: impl Into<ErrorCause>) -> ReverifyError {
    ReverifyError::Failed(error.into())
}

/// Reason why a baseline is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum FindBaselineError {
    #[error("it cannot be carried: {0}")]
    Carry(#[source] ErrorCause),
    #[error("the bundle holds none and the contract names no repository")]
    NoRepository,
    #[error("the report names no commit")]
    NoCommit,
    #[error("{repository} does not give commit {commit}: {error}")]
    NoSuchCommit {
        repository: String,
        commit: tree::Oid,
        #[source]
        error: ErrorCause,
    },
}

/// A re-verification and where its statement lies.
#[derive(Debug)]
pub struct Reverified {
    pub reverification: Reverification,
    pub statement: PathBuf,
    /// Everything that was run and what it printed, without secrets.
    pub log: Vec<u8>,
}

/// Holds the verification of a bundle again, under its own contract or under `contract`.
pub fn reverify_bundle(
    harness: &Harness,
    bundle: &VerifiedBundle,
    contract: Option<&TaskContract>,
    profile: Profile,
    watch: Watch<'_>,
) -> Result<Reverified, ReverifyError> {
    let own: TaskContract = read(bundle, names::CONTRACT)?;
    let decision: Decision = read(bundle, names::DECISION)?;
    let report = bundle.report();
    let contract = contract.unwrap_or(&own);
    if report.coverage.contains(&Coverage::PatchRedacted) {
        return Err(ReverifyError::Redacted);
    }
    if contract.task_id != report.task_id {
        let (expected, found) = (report.task_id.to_string(), contract.task_id.to_string());
        return Err(ReverifyError::AnotherTask { expected, found });
    }
    let clock = RunClock::start_clock().map_err(ReverifyError::Clock)?;
    let work = work(harness)?;
    let rebuilt = trees::rebuild(harness, bundle.dir(), report, &own, work.path())?;
    let rules = decision.path_rules(contract).map_err(keep_cause)?;
    let Rebuilt { store, baseline, result } = &rebuilt;
    let changes = tree::changes(baseline, result);
    if let (_, Some(shortfall)) = availability::profiles(harness, profile) {
        return Err(ReverifyError::Sandbox(shortfall));
    }
    let canary = canary().map_err(keep_cause)?;
    let setting =
        SupervisionTerms { harness, contract, run_id: &report.run_id, work: work.path(), profile, canary: &canary };
    let mut examined = Examined::default();
    if contract.verification_commands.is_empty() {
        examined.coverage.insert(Coverage::NoVerification);
    } else {
        let mounts = crate::judge::environment::digests(harness, &contract.environment.mounts)?;
        let furnished = Furnished { mounts, layer: None, baseline: None };
        let trees = Trees { store, baseline, result, rules: &rules };
        examined = Examiner::new(setting, watch, trees, None, furnished).examine_all()?;
        let failed = |error: io::Error| ReverifyError::Read(bundle.dir().join(names::PATCH), error.into());
        let patch = bundle.read_file(names::PATCH).map_err(failed)?;
        examined.note_altered(&altered_files(&patch, &rules));
    }
    let found =
        crate::work::result::judged(&rules, &changes).into_iter().map(|(reason, text)| (reason, text, names::PATCH));
    let mut blocks: Vec<(Reason, String, &str)> = found.collect();
    let products = crate::judge::products::judge_products(store, &rules, &changes)?;
    blocks.extend(products.blocker().map(|(reason, text)| (reason, text, names::PATCH)));
    if !products.carried.is_empty() && !examined.products_rebuilt {
        examined.coverage.insert(Coverage::ProductNotRebuilt);
    }
    blocks.extend(examined.blocks.drain(..).map(|(reason, text)| (reason, text, names::TEST_LOG)));
    let another_contract = *contract != own;
    let blockers = blockers(report, blocks, another_contract);
    let Examined { passes, poisoned, coverage, log, .. } = examined;
    let held = Held { contract, another_contract, blockers, passes, poisoned, coverage };
    let reverification = held.compose(harness, report, clock)?;
    // What the exam's programs said goes into both.
    let mut censor = crate::run::scan::censor(&canary);
    let clean = censor.censor_document(EntryKind::EvidenceReverified.name(), &reverification);
    let clean = clean.map_err(keep_cause)?;
    let reverification = clean.unwrap_or(reverification);
    let log = censor.bytes(names::TEST_LOG, &log).into_owned();
    let statement = record(harness, bundle, &reverification)?;
    Ok(Reverified { reverification, statement, log })
}

/// The baseline of a run as one file, gone with the value.
pub(crate) struct CarriedBaseline {
    pub(crate) path: PathBuf,
    _work: Work,
}

/// The baseline of a run whose bundle does not hold it, from wherever it is to be had.
pub(crate) fn carry_baseline(harness: &Harness, bundle: &VerifiedBundle) -> Result<CarriedBaseline, ReverifyError> {
    let own: TaskContract = read(bundle, names::CONTRACT)?;
    let work = work(harness)?;
    let (store, listing) = trees::rebuild_baseline(harness, bundle.dir(), bundle.report(), &own, work.path())?;
    let failed = |error: CarryBaselineError| ReverifyError::NoBaseline(FindBaselineError::Carry(error.into()));
    let path = work.path().join(names::BASELINE);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).own_open(&path);
    let mut file = io::BufWriter::new(file.map_err(|error| failed(error.into()))?);
    crate::home::baseline::write_tar(&listing, &mut store.reader(), &mut file).map_err(failed)?;
    file.flush().map_err(|error| failed(error.into()))?;
    let found = crate::home::baseline::tree_id(&path).map_err(failed)?;
    trees::check_same("baseline", &listing.tree_id().to_string(), found)?;
    Ok(CarriedBaseline { path, _work: work })
}

fn work(harness: &Harness) -> Result<Work, ReverifyError> {
    Work::make_area(&harness.home, "reverify").map_err(ReverifyError::Work)
}

fn read<T: serde::de::DeserializeOwned>(bundle: &VerifiedBundle, name: &str) -> Result<T, ReverifyError> {
    let bytes = bundle.read_file(name).map_err(ErrorCause::from);
    let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).map_err(ErrorCause::from));
    read.map_err(|why| ReverifyError::Read(bundle.dir().join(name), why))
}

/// Blockers after the re-verification: those found again, and those of the original run
/// that cannot be determined again. Under another contract all original blockers stay: a
/// re-verification may take a verdict away, never give a better one.
fn blockers(report: &Report, found: Vec<(Reason, String, &str)>, another_contract: bool) -> Vec<Blocker> {
    let still = report.blockers.iter().filter(|old| another_contract || !FOUND_AGAIN.contains(&old.reason));
    let mut blockers: Vec<Blocker> = still.cloned().collect();
    for (reason, text, evidence) in found {
        match blockers.iter_mut().find(|known| known.reason == reason) {
            Some(known) if known.text.contains(&text) => {}
            Some(known) => known.text = format!("{}; {text}", known.text),
            None => {
                let (remedy, evidence) = (reason.remedy().to_owned(), evidence.to_owned());
                blockers.push(Blocker { reason, text, remedy, evidence });
            }
        }
    }
    sort_blockers(&mut blockers, report.engine.process_started);
    blockers
}

/// A repeated exam.
struct Held<'a> {
    contract: &'a TaskContract,
    another_contract: bool,
    blockers: Vec<Blocker>,
    passes: Vec<VerificationPass>,
    poisoned: Vec<PoisonedFile>,
    coverage: BTreeSet<Coverage>,
}

impl Held<'_> {
    fn compose(self, harness: &Harness, report: &Report, clock: RunClock) -> Result<Reverification, ReverifyError> {
        let Self { contract, another_contract, blockers, passes, poisoned, coverage } = self;
        let reasons = blockers.iter().map(|blocker| blocker.reason);
        let verdict_now: Status = contract::reason::verdict(reasons, report.engine.process_started);
        Ok(Reverification {
            schema_version: BUNDLE_VERSION.to_owned(),
            rules_version: RULES_VERSION.to_owned(),
            run_id: report.run_id.clone(),
            task_id: report.task_id.clone(),
            contract_digest: contract.digest().map_err(keep_cause)?,
            another_contract,
            baseline_tree: report.baseline_tree.clone().unwrap_or_default(),
            result_tree: report.result_tree.clone().unwrap_or_default(),
            verdict_then: report.status,
            verdict_now,
            holds: verdict_now == report.status,
            blockers,
            verification: Verification::of_passes(passes, poisoned),
            coverage: coverage.into_iter().collect(),
            harness: SignedHarness::of_host(&harness.host),
            key: harness.key.public().key_id(),
            reverified_at: clock.now(),
        })
    }
}

/// Writes the signed statement beside the bundles and tells the ledger.
fn record(
    harness: &Harness,
    bundle: &VerifiedBundle,
    reverification: &Reverification,
) -> Result<PathBuf, ReverifyError> {
    let end = random_suffix().map_err(keep_cause)?;
    let name = format!("reverified-{}-{end}", reverification.reverified_at.compact());
    let stated =
        stated::state(harness, bundle.dir(), &reverification.run_id, &name, |subject| ReverificationStatement {
            kind: STATEMENT_TYPE.to_owned(),
            subject,
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: reverification.clone(),
        });
    let stated = stated.map_err(keep_cause)?;
    let mut body = json!({
        "attestation_sha256": stated.attestation_sha256,
        "contract_digest": reverification.contract_digest,
        "holds": reverification.holds,
        "statement": stated.name,
        "statement_sha256": stated.statement_sha256,
        "verdict_now": reverification.verdict_now,
        "verdict_then": reverification.verdict_then,
    });
    if is_second_machine(harness, bundle) && !reverification.another_contract {
        body["countersignature"] = json!(countersign(harness, &stated, reverification)?);
    }
    let (kind, time) = (EntryKind::EvidenceReverified, reverification.reverified_at);
    let appended = harness.ledger().append(kind, Some(&reverification.run_id), time, &body);
    appended.map_err(keep_cause)?;
    Ok(stated.path)
}

/// True where other homes read the ledger, and another machine sealed the bundle.
fn is_second_machine(harness: &Harness, bundle: &VerifiedBundle) -> bool {
    harness.home.shares_ledger() && bundle.signer() != harness.key.public().key_id()
}

/// Signs the result in a form that every home on the ledger can check.
fn countersign(harness: &Harness, stated: &Stated, done: &Reverification) -> Result<String, ReverifyError> {
    let sha256 = stated.attestation_sha256;
    let statement = CountersignatureStatement {
        kind: STATEMENT_TYPE.to_owned(),
        subject: vec![Subject { name: names::ATTESTATION.to_owned(), digest: SubjectDigest { sha256 } }],
        predicate_type: COUNTERSIGNATURE_TYPE.to_owned(),
        predicate: Countersignature {
            ledger_id: harness.ledger().ledger_id().to_owned(),
            run_id: done.run_id.clone(),
            contract_digest: done.contract_digest,
            verdict_now: done.verdict_now,
            holds: done.holds,
            statement_sha256: stated.statement_sha256,
            key: done.key.clone(),
            reverified_at: done.reverified_at,
        },
    };
    let envelope = evidence::dsse::sign_statement(&statement, &harness.key).map_err(keep_cause)?;
    String::from_utf8(envelope).map_err(keep_cause)
}
