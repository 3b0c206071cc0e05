//! Stage 6 in random histories: comparisons, refreshes and runs as candidate default above passes of stage 5, beside a model that
//! reads them oldest first.

use std::collections::BTreeSet;

use contract::approval::OutcomeVerdict;
use contract::{CollectionKind, Purpose, Stage, Status};

use super::super::RungStatus;
use super::model::{model_status, speaks_against};
use super::{Dice, PINS, Past, STAGES, Told};

const CASES: [&str; 3] = ["one", "two", "three"];
const COMMITS: [&str; 3] = ["c1", "c2", "c3"];
const KINDS: [Option<CollectionKind>; 3] = [Some(CollectionKind::Comparison), None, Some(CollectionKind::Refresh)];

/// A run of stage 5 or 6, mostly an accepted pass of one pin: few histories would have two of them otherwise.
fn roll(dice: &mut Dice, number: usize) -> Past {
    let mut past = Past::roll(dice, number);
    let pin = if dice.roll(5) == 0 { past.pin } else { PINS[0] };
    if dice.roll(4) != 0 {
        (past.status, past.reason, past.is_negative, past.is_break_glass) = (Status::Pass, None, false, false);
        (past.is_from_commit, past.is_continued, past.is_unverified) = (false, false, false);
        past.outcome = (dice.roll(4) != 0).then_some(OutcomeVerdict::Accepted);
    }
    let past = Past { pin, case: dice.pick(&CASES), commit: Some(dice.pick(&COMMITS)), ..past };
    if dice.roll(2) == 0 {
        return Past { stage: Stage::OWNED_REPOSITORY, ..past };
    }
    let kind = dice.pick(&KINDS);
    let purpose = if kind == Some(CollectionKind::Refresh) { Purpose::Validation } else { past.purpose };
    Past { stage: Stage::CANDIDATE_DEFAULT, kind, purpose, ..past }
}

/// Passes of stage 5 that count since the rung was last lost, newest first, each of a case and a commit that no newer one has.
fn count_distinct(history: &[Past]) -> usize {
    let counts = |past: &&Past| past.stage == Stage::OWNED_REPOSITORY && past.purpose == Purpose::Governed;
    let (mut cases, mut commits) = (BTreeSet::new(), BTreeSet::new());
    for past in history.iter().rev().filter(counts).filter(|past| past.is_sealed && past.pin == PINS[0]) {
        if falls(past) {
            break;
        }
        if counts_for(past) && !cases.contains(past.case) && !commits.contains(&past.commit) {
            cases.insert(past.case);
            commits.insert(past.commit);
        }
    }
    cases.len()
}

fn is_readable(past: &Past) -> bool {
    !past.is_deleted && !past.is_damaged && !past.is_collected
}

fn earns_nothing(past: &Past) -> bool {
    is_readable(past) && past.earns_nothing()
}

fn falls(past: &Past) -> bool {
    let is_rejected = past.outcome == Some(OutcomeVerdict::Rejected);
    match past.status {
        _ if past.is_deleted => true,
        Status::Pass if past.is_collected => false,
        Status::Pass => past.is_damaged || is_rejected && !earns_nothing(past),
        _ => speaks_against(past) && !(is_readable(past) && past.is_exempt()),
    }
}

fn counts_for(past: &Past) -> bool {
    let is_pass = past.status == Status::Pass && is_readable(past) && !earns_nothing(past);
    is_pass && past.outcome == Some(OutcomeVerdict::Accepted)
}

/// The rung of the first pin at stage 6: what runs and comparisons did to it, one after the other.
fn model_candidate(history: &[Past], required: usize) -> RungStatus {
    let owned = model_status(history, PINS[0], Stage::OWNED_REPOSITORY, required);
    if owned != RungStatus::Validated {
        return RungStatus::NotStarted;
    }
    if count_distinct(history) < 2 {
        return RungStatus::Blocked;
    }
    let at_six = |past: &&Past| past.stage == Stage::CANDIDATE_DEFAULT && past.purpose == Purpose::Governed;
    let (mut is_earned, mut is_known, mut waits) = (false, false, false);
    for past in history.iter().filter(at_six).filter(|past| past.is_sealed && past.pin == PINS[0]) {
        let is_comparison = past.kind == Some(CollectionKind::Comparison) && is_readable(past);
        let is_pass = past.status == Status::Pass && is_readable(past) && !earns_nothing(past);
        if falls(past) {
            (is_earned, is_known, waits) = (false, true, false);
        } else if is_pass && past.outcome.is_none() {
            waits = true;
        } else if is_pass && is_comparison {
            (is_earned, waits) = (true, false);
        }
    }
    match (waits, is_earned) {
        (true, _) => RungStatus::Blocked,
        (false, true) => RungStatus::Validated,
        (false, false) if is_known => RungStatus::Blocked,
        (false, false) if is_proven_for_others(history) => RungStatus::Stale,
        // Two passes are there: what is missing is the comparison.
        (false, false) => RungStatus::Blocked,
    }
}

/// True if a pass of stage 6 can be read under another pin, and no newer one of that pin is gone or damaged.
fn is_proven_for_others(history: &[Past]) -> bool {
    let at_six = |past: &&Past| past.stage == Stage::CANDIDATE_DEFAULT && past.purpose == Purpose::Governed;
    let passes = |past: &&Past| past.is_sealed && past.status == Status::Pass;
    PINS.into_iter().skip(1).any(|pin| {
        let own = history.iter().filter(at_six).filter(passes).filter(|past| past.pin == pin);
        own.fold(false, |proven, past| match past {
            past if past.is_collected || earns_nothing(past) => proven,
            past => is_readable(past),
        })
    })
}

#[test]
fn stage_6_of_random_histories_is_that_of_the_model() {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for seed in 500..530 {
        let (mut dice, told) = (Dice(seed), Told::new(true, 1));
        for step in 0..60 {
            match dice.roll(12) {
                0 => told.collect(&mut dice),
                1..6 => told.happen(&mut dice, seed % 3 == 0),
                _ => told.add(roll(&mut dice, step)),
            }
            let history: Vec<Past> = told.runs.borrow().values().cloned().collect();
            let rung = told.rung(PINS[0], Stage::CANDIDATE_DEFAULT, usize::MAX);
            let expected = model_candidate(&history, 1);
            assert_eq!(rung.status, expected, "seed {seed}, {:?} of {history:#?}", rung.gap);
            let short = told.rung(PINS[0], Stage::CANDIDATE_DEFAULT, 1);
            assert_eq!((short.status, &short.gap), (rung.status, &rung.gap), "however much is listed");
            told.check_short_search(PINS[0], Stage::CANDIDATE_DEFAULT, &rung);
            seen.insert(expected.as_str());
        }
        told.check_projection();
    }
    assert!(seen.contains("validated") && seen.contains("blocked") && seen.contains("not_started"), "{seen:?}");
    assert_eq!(STAGES[1], Stage::OWNED_REPOSITORY, "the rung below");
}

/// A run as candidate default takes a rung away and never earns it; a comparison does.
#[test]
fn a_comparison_earns_stage_6_and_a_run_does_not() {
    for (kind, expected) in [
        (Some(CollectionKind::Comparison), RungStatus::Validated),
        (None, RungStatus::Blocked),
        (Some(CollectionKind::Refresh), RungStatus::Blocked),
    ] {
        let (told, accepted) = (Told::new(true, 1), Some(OutcomeVerdict::Accepted));
        let pass = |number: usize, stage: Stage| Past {
            stage,
            pin: PINS[0],
            purpose: Purpose::Governed,
            status: Status::Pass,
            reason: None,
            is_negative: false,
            is_break_glass: false,
            is_from_commit: false,
            is_continued: false,
            is_unverified: false,
            is_sealed: true,
            outcome: accepted,
            case: CASES[number % 3],
            commit: Some(COMMITS[number % 3]),
            ..Past::roll(&mut Dice(1), number)
        };
        told.add(pass(0, Stage::OWNED_REPOSITORY));
        told.add(pass(1, Stage::OWNED_REPOSITORY));
        told.add(Past { kind, ..pass(2, Stage::CANDIDATE_DEFAULT) });
        assert_eq!(told.rung(PINS[0], Stage::CANDIDATE_DEFAULT, 1).status, expected, "{kind:?}");
    }
}

/// Nothing that is newer hides proof, however much of it there is.
#[test]
fn thousands_of_newer_runs_hide_no_proof() {
    let told = Told::new(true, 1);
    let roll = |number: usize| Past { is_sealed: true, purpose: Purpose::Governed, ..Past::roll(&mut Dice(1), number) };
    let proof = Past { stage: STAGES[0], pin: PINS[0], status: Status::Pass, reason: None, ..roll(0) };
    let run_id = proof.run_id.clone();
    let counts = Past {
        is_negative: false,
        is_break_glass: false,
        is_from_commit: false,
        is_continued: false,
        is_unverified: false,
        ..proof
    };
    told.add(counts);
    let outage = (Status::Blocked, Some(contract::Reason::ProviderUnavailable));
    for number in 1..1400 {
        let (status, reason) = outage;
        let past = Past { stage: STAGES[0], pin: PINS[0], status, reason, ..roll(number) };
        told.add(past);
    }
    for number in 1400..2800 {
        let past = Past { stage: STAGES[0], pin: PINS[1], status: Status::Pass, reason: None, ..roll(number) };
        told.add(past);
    }
    let rung = told.rung(PINS[0], STAGES[0], 1);
    assert_eq!((rung.status, &rung.bundles[0].run_id), (RungStatus::Validated, &run_id));
}
