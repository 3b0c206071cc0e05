//! Rungs of random histories beside a model of the rules that is written another way: it keeps no index and reads the whole
//! history oldest first.

mod candidate;
mod model;
mod order;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use contract::approval::OutcomeVerdict;
use contract::{CollectionKind, Digest, ModelPair, Purpose, Reason, RunId, Stage, Stamp, Status};
use ledger::{
    Collection, EngineIdentity, EntryKind, Ledger, ReadLedgerError, RunCollected, RunIntent, RunRow, RunSeal,
    RunSealed, RunStarted,
};
use serde_json::json;

use super::candidate::compute_rung;
use super::evidence::{BundleState, ProvenRun, RunEvidence, WorkerLack};
use super::rest::find_resting;
use super::rung::Terms;
use super::{Rung, RungGap, RungIdentity, RungStatus};
use model::{AGAINST, model_status};

const ENGINE: &str = "pi";
const STAGES: [Stage; 2] = [Stage::ARTIFICIAL_FIXTURE, Stage::OWNED_REPOSITORY];

/// The pins and models that the engine was run with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pin {
    source: &'static str,
    model: Option<&'static str>,
}

const PINS: [Pin; 3] = [
    Pin { source: "pi@1", model: None },
    Pin { source: "pi@2", model: None },
    Pin { source: "pi@2", model: Some("local/small") },
];
/// The pin that the engine has next; nothing was run with it.
const NEXT_PIN: Pin = Pin { source: "pi@3", model: None };

impl Pin {
    fn identity(self) -> EngineIdentity {
        let model = self.model.map(|model| model.parse::<ModelPair>().unwrap());
        EngineIdentity { source_id: self.source.to_owned(), model }
    }
}

/// Numbers that are the same in every run of the test.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[usize::try_from(self.roll(values.len() as u64)).unwrap()]
    }
}

/// The name of a run: names are in the order of the ledger, whatever the clock showed.
fn run_id_of(number: usize) -> RunId {
    let (hour, minute, second) = (number / 3600, number / 60 % 60, number % 60);
    format!("20261116T{hour:02}{minute:02}{second:02}Z-r1-a{number:03}").try_into().unwrap()
}

/// A run of a history, with everything that happened to it since.
#[derive(Debug, Clone)]
struct Past {
    run_id: RunId,
    stage: Stage,
    purpose: Purpose,
    pin: Pin,
    status: Status,
    reason: Option<Reason>,
    is_negative: bool,
    is_break_glass: bool,
    is_from_commit: bool,
    is_continued: bool,
    is_unverified: bool,
    is_sealed: bool,
    is_deleted: bool,
    is_collected: bool,
    is_damaged: bool,
    outcome: Option<OutcomeVerdict>,
    /// The case, and the commit that a pass of stage 5 left.
    case: &'static str,
    commit: Option<&'static str>,
    /// Set of a document of stage 6.
    kind: Option<CollectionKind>,
    /// Day that the clock showed: it may have been set forwards or back.
    day: u64,
}

impl Past {
    fn roll(dice: &mut Dice, number: usize) -> Self {
        use Reason::{
            BudgetExceeded, GateMissing, HarnessInterrupted, LifecycleTimeoutAfterValidPatch, NoDiff,
            ProviderUnavailable, ReviewerRejected, Timeout,
        };
        let (status, reason) = dice.pick(&[
            (Status::Pass, None),
            (Status::Pass, None),
            (Status::Pass, None),
            (Status::Pass, None),
            (Status::Fail, Some(NoDiff)),
            (Status::Fail, Some(LifecycleTimeoutAfterValidPatch)),
            (Status::Fail, Some(HarnessInterrupted)),
            (Status::Blocked, Some(Timeout)),
            (Status::Blocked, Some(LifecycleTimeoutAfterValidPatch)),
            (Status::Blocked, Some(BudgetExceeded)),
            (Status::Blocked, Some(ReviewerRejected)),
            (Status::Blocked, Some(GateMissing)),
            (Status::Blocked, Some(ProviderUnavailable)),
        ]);
        Self {
            run_id: run_id_of(number),
            stage: dice.pick(&STAGES),
            purpose: if dice.roll(6) == 0 { Purpose::Validation } else { Purpose::Governed },
            pin: dice.pick(&PINS),
            status,
            reason,
            is_negative: dice.roll(8) == 0,
            is_break_glass: dice.roll(10) == 0,
            is_from_commit: dice.roll(12) == 0,
            is_continued: dice.roll(12) == 0,
            is_unverified: dice.roll(12) == 0,
            is_sealed: dice.roll(12) != 0,
            is_deleted: false,
            is_collected: false,
            is_damaged: false,
            outcome: None,
            case: "r1",
            commit: None,
            kind: None,
            day: 15 + dice.roll(3),
        }
    }

    /// True for a run that counts on neither side, if its bundle can be read.
    fn is_exempt(&self) -> bool {
        self.is_negative || self.is_break_glass || self.is_from_commit || self.is_continued
    }

    /// True for a pass that earns nothing, if its bundle can be read.
    fn earns_nothing(&self) -> bool {
        self.is_exempt() || self.is_unverified
    }

    fn started_at(&self) -> Stamp {
        let part = |from: usize| &self.run_id.as_str()[from..from + 2];
        format!("2026-11-{}T{}:{}:{}Z", self.day, part(9), part(11), part(13)).parse().unwrap()
    }

    fn attestation(&self) -> Digest {
        Digest::of_bytes(self.run_id.as_str().as_bytes())
    }

    /// Records it as this program does, or as one that knew no identities.
    fn record(&self, ledger: &Ledger, identity: bool) {
        let intent = RunIntent {
            task_id: "r1".to_owned().try_into().unwrap(),
            engine: ENGINE.to_owned(),
            stage: self.stage,
            purpose: self.purpose,
            owner: None,
            epoch: None,
            detail: serde_json::Value::Null,
        };
        let (run_id, time) = (self.run_id.clone(), self.started_at());
        ledger.run_started(&RunStarted { run_id: run_id.clone(), time, lease_until: None, intent }).unwrap();
        if !self.is_sealed {
            return;
        }
        let seal = RunSeal {
            status: self.status,
            finished_at: time,
            duration_ms: 1,
            reasons: self.reason.into_iter().map(Into::into).collect(),
            tests_passed: None,
            tests_executed: None,
            attestation_sha256: self.attestation(),
            bundle: String::new(),
            owner: None,
            identity: identity.then(|| self.pin.identity()),
        };
        ledger.run_sealed(&RunSealed { run_id, time, epoch: None, seal }).unwrap();
    }

    fn proven(&self) -> ProvenRun {
        ProvenRun {
            engine: ENGINE.to_owned(),
            identity: self.pin.identity(),
            schema: super::bundle_schema().to_owned(),
            fixture_set: contract::FIXTURE_SET.to_owned(),
            status: self.status,
            stage: self.stage,
            purpose: self.purpose,
            is_negative_fixture: self.is_negative,
            is_break_glass: self.is_break_glass,
            is_from_commit: self.is_from_commit,
            is_continued: self.is_continued,
            is_unverified: self.is_unverified,
            is_of_one_worker: false,
            signer: String::new(),
            case_id: self.case.to_owned().try_into().unwrap(),
            target_commit: self.commit.map(str::to_owned),
            kind: self.kind,
        }
    }
}

/// A history while it is made: its ledger entries, and bundles and outcomes without any file.
struct Told {
    ledger: Ledger,
    runs: RefCell<BTreeMap<RunId, Past>>,
    knows_identities: bool,
    required: u32,
    /// Folders of bundles that were looked for, and lists of them.
    looks: Cell<usize>,
    _folder: tempfile::TempDir,
}

impl RunEvidence for Told {
    fn has_bundle(&self, row: &RunRow) -> bool {
        self.looks.set(self.looks.get() + 1);
        let past = &self.runs.borrow()[&row.run_id];
        !past.is_deleted && !past.is_collected
    }

    fn list_bundles(&self) -> BTreeSet<String> {
        self.looks.set(self.looks.get() + 1);
        let runs = self.runs.borrow();
        let here = runs.values().filter(|past| !past.is_deleted && !past.is_collected);
        here.map(|past| past.run_id.to_string()).collect()
    }

    fn look_at_bundle(&self, row: &RunRow) -> Result<BundleState, ReadLedgerError> {
        match &self.runs.borrow()[&row.run_id] {
            _ if !self.has_bundle(row) => self.look_for_bundle(row),
            past if past.is_damaged => Ok(BundleState::Damaged),
            past => Ok(BundleState::Proven(Arc::new(past.proven()))),
        }
    }

    fn look_for_bundle(&self, row: &RunRow) -> Result<BundleState, ReadLedgerError> {
        let collected = self.ledger.run_collection(&row.run_id)?.is_some();
        assert_eq!(collected, row.collected_seq.is_some(), "the row and its entries say the same");
        Ok(if collected { BundleState::Collected } else { BundleState::Missing })
    }

    fn signed_outcome(&self, row: &RunRow) -> Result<Option<OutcomeVerdict>, ReadLedgerError> {
        Ok(self.runs.borrow()[&row.run_id].outcome)
    }

    fn find_worker_lack(&self, _: &RunRow, _: &ProvenRun) -> Result<Option<WorkerLack>, ReadLedgerError> {
        Ok(None)
    }
}

impl Told {
    fn new(knows_identities: bool, required: u32) -> Self {
        // Each entry is flushed, which costs nothing in memory.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let ledger = Ledger::open_file(&folder.path().join("ledger.db")).unwrap();
        Self { ledger, runs: RefCell::default(), knows_identities, required, looks: Cell::new(0), _folder: folder }
    }

    fn run(&self, dice: &mut Dice) {
        let number = self.runs.borrow().len();
        self.add(Past::roll(dice, number));
    }

    fn add(&self, past: Past) {
        past.record(&self.ledger, self.knows_identities);
        self.runs.borrow_mut().insert(past.run_id.clone(), past);
    }

    /// Something that happens to a run that is over.
    fn happen(&self, dice: &mut Dice, losses: bool) {
        let mut runs = self.runs.borrow_mut();
        let sealed: Vec<RunId> = runs.values().filter(|past| past.is_sealed).map(|past| past.run_id.clone()).collect();
        if sealed.is_empty() {
            return;
        }
        let run_id = &sealed[usize::try_from(dice.roll(sealed.len() as u64)).unwrap()];
        let past = runs.get_mut(run_id).unwrap();
        match dice.roll(8) {
            0 if losses => past.is_deleted = !past.is_collected,
            1 if losses => past.is_damaged = true,
            roll => {
                let verdict = if roll < 4 { OutcomeVerdict::Rejected } else { OutcomeVerdict::Accepted };
                past.outcome = Some(verdict);
                let body = json!({"operator_outcome": verdict.as_str(), "signature": "made up"});
                self.ledger.append(EntryKind::OutcomeRecorded, Some(run_id), past.started_at(), &body).unwrap();
            }
        }
    }

    /// Collects some of the bundles that no rung rests on; no rung changes.
    fn collect(&self, dice: &mut Dice) {
        let before = self.rungs();
        let resting = find_resting(&self.ledger, self, ENGINE, self.required).unwrap();
        let mut collected = Vec::new();
        for past in self.runs.borrow_mut().values_mut() {
            let is_whole = past.is_sealed && !past.is_deleted && !past.is_damaged && !past.is_collected;
            if is_whole && !resting.contains(&past.run_id) && dice.roll(3) != 0 {
                past.is_collected = true;
                let (attestation_sha256, reason) = (past.attestation(), "old".to_owned());
                let collection = Collection { attestation_sha256, reason, bytes: 1 };
                collected.push(RunCollected { run_id: past.run_id.clone(), time: past.started_at(), collection });
            }
        }
        self.ledger.runs_collected(&collected).unwrap();
        assert_eq!(self.rungs(), before, "{resting:?} of {:#?}", self.runs.borrow());
    }

    fn rung(&self, pin: Pin, stage: Stage, listed: usize) -> Rung {
        self.search_rung(pin, stage, listed, usize::MAX)
    }

    fn search_rung(&self, pin: Pin, stage: Stage, listed: usize, searched: usize) -> Rung {
        let EngineIdentity { source_id, model } = pin.identity();
        let identity = RungIdentity { engine: ENGINE, source_id: &source_id, pair: model.as_ref() };
        let terms = Terms { required: self.required, listed, searched };
        compute_rung(&self.ledger, self, identity, stage, terms).unwrap()
    }

    /// A search that ends early earns and loses the same; only a bundle of an outage that is gone may go unseen where
    /// nothing is earned.
    fn check_short_search(&self, pin: Pin, stage: Stage, whole: &Rung) {
        let short = self.search_rung(pin, stage, 1, 2);
        let said = || format!("{short:?} {whole:?} of {:#?}", self.runs.borrow());
        assert!(short.runs.len() <= 1, "{}", said());
        assert_eq!(short.status == RungStatus::Validated, whole.status == RungStatus::Validated, "{}", said());
        assert_eq!(short.bundles, whole.bundles[..short.bundles.len()], "{}", said());
        let is_lost = |gap: &RungGap| gap.code() == "bundle_missing";
        assert!(short.status == whole.status || whole.gap.as_ref().is_some_and(is_lost), "{}", said());
    }

    /// Every rung, without the runs that it lists.
    fn rungs(&self) -> Vec<Rung> {
        let pins = PINS.into_iter().chain([NEXT_PIN]);
        let stages = [STAGES[0], STAGES[1], Stage::CANDIDATE_DEFAULT];
        let all = pins.flat_map(|pin| stages.map(|stage| self.rung(pin, stage, 0)));
        all.map(|rung| Rung { runs: Vec::new(), older_runs: false, rests_on: Vec::new(), ..rung }).collect()
    }

    fn check(&self) {
        let history: Vec<Past> = self.runs.borrow().values().cloned().collect();
        for (pin, stage) in PINS.into_iter().chain([NEXT_PIN]).flat_map(|pin| STAGES.map(|stage| (pin, stage))) {
            let (short, whole) = (self.rung(pin, stage, 1), self.rung(pin, stage, usize::MAX));
            let expected = model_status(&history, pin, stage, self.required as usize);
            let said = format!("{pin:?} at stage {stage}, {} required, of {history:#?}", self.required);
            assert_eq!(short.status, expected, "{said}");
            assert_eq!((short.status, &short.gap), (whole.status, &whole.gap), "however much is listed: {said}");
            assert_eq!(short.status == RungStatus::Validated, !short.bundles.is_empty(), "{said}");
            assert!(short.runs.len() <= 1 && short.runs.len() <= whole.runs.len());
            self.check_short_search(pin, stage, &whole);
        }
    }

    /// Throws the rows of the ledger away and has them made again from its entries.
    fn check_projection(&self) {
        let before = self.rungs();
        let check = self.ledger.verify().unwrap();
        assert_eq!(check.problems, vec![]);
        let made = self.ledger.rebuild_rows().unwrap();
        assert_eq!(made.runs, self.runs.borrow().len() as u64);
        assert_eq!(self.ledger.verify().unwrap(), check);
        assert_eq!(self.rungs(), before, "nothing is stored in rows alone");
    }
}

/// Plays a history of about this many steps, and looks at its rungs ever again.
fn play(dice: &mut Dice, knows_identities: bool, losses: bool) {
    let told = Told::new(knows_identities, u32::try_from(1 + dice.roll(2)).unwrap());
    let steps = dice.roll(90);
    for _ in 0..steps {
        match dice.roll(16) {
            0 => told.collect(dice),
            1..6 => told.happen(dice, losses),
            6 => told.check(),
            _ => told.run(dice),
        }
    }
    told.check();
    told.collect(dice);
    told.check();
    told.check_projection();
}

#[test]
fn rungs_of_random_histories_are_those_of_the_model() {
    for seed in 0..24 {
        play(&mut Dice(seed), true, true);
    }
}

/// Every bundle still tells whose it is, so that an older ledger knows as much as this one.
#[test]
fn a_ledger_that_knows_no_identities_gives_the_same_rungs() {
    for seed in 100..106 {
        for knows_identities in [true, false] {
            play(&mut Dice(seed), knows_identities, false);
        }
    }
}

#[test]
fn proof_with_other_fixtures_or_of_another_format_is_for_another_identity() {
    let past = Past::roll(&mut Dice(1), 0);
    let (proven, wanted) = (past.proven(), past.pin.identity());
    assert_eq!(proven.other_identity(&wanted), None, "control");
    let other = ProvenRun { fixture_set: "r0".to_owned(), ..proven.clone() };
    assert_eq!(other.other_identity(&wanted).unwrap().0, "fixture set r0");
    let other = ProvenRun { schema: "0".to_owned(), ..proven };
    assert_eq!(other.other_identity(&wanted).unwrap().0, "bundles of format 0");
}

/// A change of a run that counts, and what its pass and its failure then make of the rung.
type NeverRow = (&'static str, fn(&mut Past), RungStatus, RungStatus);

/// A control for the model: a run that counts moves a rung, and the same run does not as validation, as a negative fixture, with its source
/// from a commit, from the patch of another run, or approved past the policy. Without a verification its pass does not, and its failure does.
#[test]
fn validation_runs_and_negative_fixtures_never_count() {
    use RungStatus::{Blocked, NotStarted, Validated};
    let rows: [NeverRow; 7] = [
        ("the control", |_| {}, Validated, Blocked),
        ("validation", |past| past.purpose = Purpose::Validation, NotStarted, NotStarted),
        ("a negative fixture", |past| past.is_negative = true, NotStarted, NotStarted),
        ("from a commit", |past| past.is_from_commit = true, NotStarted, NotStarted),
        ("from the patch of another run", |past| past.is_continued = true, NotStarted, NotStarted),
        ("past the policy", |past| past.is_break_glass = true, NotStarted, NotStarted),
        ("not verified", |past| past.is_unverified = true, NotStarted, Blocked),
    ];
    for (what, change, of_pass, of_failure) in rows {
        for (status, reason, expected) in
            [(Status::Pass, None, of_pass), (Status::Fail, Some(Reason::NoDiff), of_failure)]
        {
            let told = Told::new(true, 1);
            let mut past = Past {
                stage: STAGES[0],
                pin: PINS[0],
                purpose: Purpose::Governed,
                is_negative: false,
                is_break_glass: false,
                is_from_commit: false,
                is_continued: false,
                is_unverified: false,
                is_sealed: true,
                status,
                reason,
                ..Past::roll(&mut Dice(1), 0)
            };
            change(&mut past);
            told.add(past);
            assert_eq!(told.rung(PINS[0], STAGES[0], 1).status, expected, "{what}: {status}");
        }
    }
}

/// Every reason of a blocked run that the rules name ends its rung, and no other does.
#[test]
fn a_blocked_run_counts_against_its_rung_for_the_named_reasons_alone() {
    for reason in Reason::ALL.iter().copied() {
        let told = Told::new(true, 1);
        let counting = |number, status, reason| Past {
            stage: STAGES[0],
            pin: PINS[0],
            purpose: Purpose::Governed,
            is_negative: false,
            is_break_glass: false,
            is_from_commit: false,
            is_continued: false,
            is_unverified: false,
            is_sealed: true,
            status,
            reason,
            ..Past::roll(&mut Dice(1), number)
        };
        told.add(counting(0, Status::Pass, None));
        assert_eq!(told.rung(PINS[0], STAGES[0], 1).status, RungStatus::Validated, "control");
        told.add(counting(1, Status::Blocked, Some(reason)));
        let expected = if AGAINST.contains(&reason) { RungStatus::Blocked } else { RungStatus::Validated };
        assert_eq!(told.rung(PINS[0], STAGES[0], 1).status, expected, "{reason}");
    }
}
