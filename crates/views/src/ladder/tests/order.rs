//! The order of runs: that of the ledger, whatever the clocks said; and the index that leaves out outages.

use contract::{Purpose, Reason, Status};
use ledger::{EngineIdentity, RunStatus, RungPart, RungRuns};

use super::super::candidate::compute_rung;
use super::super::count::counts_against;
use super::super::listed::LOOKED_FOR;
use super::super::rung::Terms;
use super::super::{RungGap, RungIdentity, RungStatus};
use super::{Dice, ENGINE, PINS, Past, STAGES, Told, run_id_of};

/// A pass that was made while a clock was ahead, or on a faster machine, stays older than the failures that the ledger has after it.
#[test]
fn a_clock_that_was_wrong_moves_no_run() {
    let roll = |number: usize, day: u64| {
        let counts = Past { is_negative: false, is_break_glass: false, ..Past::roll(&mut Dice(1), number) };
        let counts = Past { is_from_commit: false, is_unverified: false, is_sealed: true, day, ..counts };
        Past { stage: STAGES[0], pin: PINS[0], purpose: Purpose::Governed, ..counts }
    };
    let pass = |number, day| Past { status: Status::Pass, reason: None, ..roll(number, day) };
    let failure = |number, day| Past { status: Status::Fail, reason: Some(Reason::NoDiff), ..roll(number, day) };
    for (day, what) in
        [(17, "a clock that was ahead"), (16, "control: the same clock"), (15, "a clock that was behind")]
    {
        for knows_identities in [true, false] {
            let told = Told::new(knows_identities, 1);
            told.add(pass(0, day));
            assert_eq!(told.rung(PINS[0], STAGES[0], 1).status, RungStatus::Validated, "{what}");
            told.add(failure(1, 16));
            assert_eq!(told.rung(PINS[0], STAGES[0], 1).status, RungStatus::Blocked, "{what}");
            told.add(pass(2, 15));
            assert_eq!(told.rung(PINS[0], STAGES[0], 1).status, RungStatus::Validated, "{what}");
        }
    }
}

/// The index of runs that decide a rung leaves out no run that counts.
#[test]
fn every_run_that_counts_is_in_the_index_of_deciding_runs() {
    let told = Told::new(true, 1);
    let roll = |number| Past { is_sealed: true, purpose: Purpose::Governed, ..Past::roll(&mut Dice(1), number) };
    let mut number = 0;
    let mut add = |status, reason| {
        told.add(Past { stage: STAGES[0], pin: PINS[0], status, reason, ..roll(number) });
        number += 1;
    };
    add(Status::Pass, None);
    for reason in Reason::ALL {
        add(Status::Fail, Some(*reason));
        add(Status::Blocked, Some(*reason));
    }
    let identity = PINS[0].identity();
    let list = |of| {
        let (engine, purpose, stage) = (ENGINE, Purpose::Governed, STAGES[0]);
        let runs = RungRuns { engine, purpose, stage, identity: Some(&identity), of };
        told.ledger.rung_runs(&runs, None, usize::MAX).unwrap()
    };
    let (all, deciding) = (list(RungPart::All), list(RungPart::Deciding));
    for row in &all {
        let counts = row.status == RunStatus::Pass || counts_against(row);
        assert!(!counts || deciding.contains(row), "{row:?}");
    }
    assert!(deciding.len() < all.len(), "control: outages are not in it");
}

/// Runs below the outages of the next test.
const DEEP: usize = 600;

/// Old outages are passed over where no older run would earn the rung. Where one would, the bundle of each is asked for, by one
/// list of them all.
#[test]
fn outages_cost_one_list_of_bundles_at_most() {
    let plain = |number: usize| {
        let roll = Past::roll(&mut Dice(1), number);
        let counts = Past { is_negative: false, is_break_glass: false, is_from_commit: false, ..roll };
        let counts = Past { is_continued: false, is_unverified: false, is_sealed: true, ..counts };
        Past { stage: STAGES[0], pin: PINS[0], purpose: Purpose::Governed, ..counts }
    };
    let oldest = [
        ("an outage", Status::Blocked, Some(Reason::ProviderUnavailable), RungStatus::NotStarted, 0..=100),
        ("a failure", Status::Fail, Some(Reason::NoDiff), RungStatus::Blocked, 0..=100),
        ("a pass", Status::Pass, None, RungStatus::Validated, LOOKED_FOR..=LOOKED_FOR + 10),
    ];
    for (what, status, reason, expected, looks) in oldest {
        let told = Told::new(true, 1);
        told.add(Past { status, reason, ..plain(0) });
        for number in 1..DEEP {
            told.add(Past { status: Status::Blocked, reason: Some(Reason::ProviderUnavailable), ..plain(number) });
        }
        let look = |terms| {
            told.looks.set(0);
            let EngineIdentity { source_id, model } = PINS[0].identity();
            let identity = RungIdentity { engine: ENGINE, source_id: &source_id, pair: model.as_ref() };
            (compute_rung(&told.ledger, &told, identity, STAGES[0], terms).unwrap(), told.looks.get())
        };
        let (rung, looked) = look(Terms::bounded(1, 20));
        assert_eq!((rung.status, rung.runs.len(), rung.older_runs), (expected, 20, true), "{what}");
        assert!(looks.contains(&looked), "{what}: {looked} bundles were looked for");
        let (rung, looked) = look(Terms::whole(1));
        assert_eq!((rung.status, rung.runs.len()), (expected, DEEP), "{what}: the control");
        assert!((LOOKED_FOR..=LOOKED_FOR + 10).contains(&looked), "{what}: the control: {looked}");
        // The bundle of one outage among those that are listed is gone.
        told.runs.borrow_mut().get_mut(&run_id_of(DEEP / 4)).unwrap().is_deleted = true;
        let (rung, _) = look(Terms::whole(1));
        assert_eq!(rung.gap.as_ref().map(RungGap::code), Some("bundle_missing"), "{what}");
        let (rung, _) = look(Terms::bounded(1, 20));
        assert_ne!(rung.status, RungStatus::Validated, "{what}");
    }
}
