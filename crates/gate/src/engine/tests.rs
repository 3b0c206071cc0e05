use contract::Digest;
use contract::engine::{EngineSetting, GateSpeaker, ProgramFound, RungLack};
use contract::record::placeholder;

use super::*;

fn stage(number: u8) -> Stage {
    Stage::try_from(number).unwrap()
}

fn said(by: GateSpeaker, allowed: Option<bool>, opened: Option<u8>) -> GateSaid {
    GateSaid { by, allowed, stage: opened.map(stage) }
}

#[test]
fn a_gate_is_open_when_all_who_speak_open_it() {
    use GateSpeaker::{Environment, User, Workspace};
    let yes = Some(true);
    let rows: &[(&[GateSaid], u8, Option<&str>)] = &[
        (&[], 1, Some("is not enabled")),
        (&[said(Environment, yes, None)], 1, None),
        (&[said(Environment, yes, None)], 2, Some("stage 2 is not enabled")),
        (&[said(Environment, None, Some(2))], 2, Some("is not enabled")),
        (&[said(Environment, yes, Some(2))], 2, None),
        (&[said(Environment, yes, Some(2))], 1, Some("the environment opens stage 2")),
        (&[said(Environment, yes, Some(2))], 3, Some("the environment opens stage 2")),
        (&[said(Environment, yes, None), said(Workspace, None, Some(2))], 2, None),
        (&[said(Environment, yes, Some(2)), said(Workspace, yes, Some(2))], 2, None),
        (&[said(Environment, yes, Some(2)), said(Workspace, yes, Some(3))], 2, Some("harness.yaml opens stage 3")),
        (&[said(Environment, yes, Some(2)), said(User, Some(false), None)], 2, Some("the user's configuration shuts")),
    ];
    for (said, wanted, expected) in rows {
        let shut = shut("toy", said, stage(*wanted));
        match (expected, &shut) {
            (None, None) => {}
            (Some(text), Some(why)) => assert!(why.contains(text), "{said:?}: {why}"),
            _ => panic!("{said:?} at {wanted}: {shut:?}"),
        }
        assert_eq!(is_open("toy", said, stage(*wanted)), shut.is_none());
    }
}

const SHAPE: &str = "{task}";

fn record() -> SourceAdmission {
    let text = format!(
        r#"{{"engine":"toy","status":"admitted","source_id":"toy@1+0","version":"1","license_note":"MIT","license_status":"resolved",
        "retrieval_date":"2026-01-01","retrieval_command":"npm install toy@1","executable_path":"/opt/toy","executable":".",
        "executable_sha256":"{digest}","source_tree_sha256":"{digest}","identity_check":{{"argv":["-v"],"expect":"toy"}},
        "command_shape":["{SHAPE}"],"allowed_execution_modes":["copied-fixture"],"approval_source":"me",
        "approval_timestamp":"2026-01-01","review_trigger":"a new version"}}"#,
        digest = Digest::of_bytes(b"toy")
    );
    serde_json::from_str(&text).unwrap()
}

fn found() -> ProgramFound {
    ProgramFound {
        version: "1".to_owned(),
        source_id: "toy@1+0".to_owned(),
        executable: ".".to_owned(),
        executable_sha256: Digest::of_bytes(b"toy"),
        tree_sha256: Digest::of_bytes(b"toy"),
        interpreter_sha256: None,
        command_shape_sha256: canonical_digest(&[SHAPE]).unwrap(),
    }
}

fn setting(admission: FoundRecord<SourceAdmission>, found: ProgramFound) -> EngineSetting {
    EngineSetting { gate: Vec::new(), admission, program: ProgramFact::Found(found), below: None }
}

type Change = fn(&mut SourceAdmission, &mut ProgramFound);

#[test]
fn a_source_is_admitted_to_the_byte_or_not_at_all() {
    use Reason::{ExecutableDigestMismatch, LicenseUnresolved, SourceNotAdmitted};
    use SourceAdmissionStatus::{Admitted, NotAdmitted, Stale};
    let rows: &[(Change, u8, Option<Reason>, SourceAdmissionStatus)] = &[
        (|_, _| {}, 3, None, Admitted),
        (|_, it| it.tree_sha256 = Digest::ZERO, 3, Some(ExecutableDigestMismatch), Stale),
        (|_, it| it.tree_sha256 = Digest::ZERO, 1, Some(ExecutableDigestMismatch), Stale),
        (|_, it| it.interpreter_sha256 = Some(Digest::ZERO), 3, Some(ExecutableDigestMismatch), Admitted),
        (|_, it| it.command_shape_sha256 = Digest::ZERO, 3, Some(ExecutableDigestMismatch), Admitted),
        (|it, _| it.status = "draft".to_owned(), 3, Some(SourceNotAdmitted), NotAdmitted),
        (|it, _| it.status = "draft".to_owned(), 2, None, NotAdmitted),
        (|it, _| it.max_stage = Some(stage(2)), 3, Some(SourceNotAdmitted), NotAdmitted),
        (|it, _| it.allowed_execution_modes.clear(), 3, Some(SourceNotAdmitted), NotAdmitted),
        (|it, _| it.allowed_execution_modes.clear(), 1, None, Admitted),
        (|it, _| it.license_status = LicenseStatus::Unresolved, 3, Some(LicenseUnresolved), Admitted),
        (|it, _| it.license_status = LicenseStatus::Unresolved, 2, None, Admitted),
        (
            |it, _| {
                it.license_status = LicenseStatus::Unresolved;
                it.internal_use_note = Some("inside only".to_owned());
            },
            3,
            None,
            Admitted,
        ),
        (|it, _| it.engine = "other".to_owned(), 3, Some(SourceNotAdmitted), Admitted),
    ];
    for (at, (change, wanted, expected, status)) in rows.iter().enumerate() {
        let (mut record, mut found) = (record(), found());
        change(&mut record, &mut found);
        let mut inputs = crate::tests::inputs();
        inputs.engine = "toy".to_owned();
        inputs.stage = stage(*wanted);
        inputs.settings.engine =
            Some(setting(FoundRecord::Record { sha256: Digest::ZERO, record, signed_by: None }, found));
        let refusals = source_admission(&inputs).unwrap();
        assert_eq!(refusals.first().map(|refusal| refusal.reason), *expected, "row {at}: {refusals:?}");
        assert_eq!(source_status(inputs.settings.engine.as_ref(), inputs.stage, inputs.time), *status, "row {at}");
    }
}

#[test]
fn from_the_fifth_stage_on_notes_are_written_and_somebody_signed_them() {
    use Reason::{LicenseUnresolved, SourceNotAdmitted};
    type Row = (&'static str, fn(&mut SourceAdmission), Option<&'static str>, u8, &'static [Reason]);
    let rows: &[Row] = &[
        ("sound", |_| {}, Some("op1"), 5, &[]),
        ("unsigned", |_| {}, None, 5, &[SourceNotAdmitted]),
        ("unsigned, lower", |_| {}, None, 4, &[]),
        ("unresolved", |it| it.license_status = LicenseStatus::Unresolved, Some("op1"), 5, &[LicenseUnresolved]),
        ("unresolved, lower", |it| it.license_status = LicenseStatus::Unresolved, None, 4, &[]),
        ("no note on use", |it| it.internal_use_note = None, Some("op1"), 5, &[LicenseUnresolved]),
        ("no note on use, lower", |it| it.internal_use_note = None, None, 4, &[]),
        ("an empty note on use", |it| it.internal_use_note = Some(" ".into()), Some("op1"), 5, &[LicenseUnresolved]),
        ("an empty note", |it| it.license_note.clear(), Some("op1"), 5, &[LicenseUnresolved]),
        ("a draft's note", |it| it.license_note = placeholder("it"), Some("op1"), 5, &[LicenseUnresolved]),
        ("neither", |it| it.license_note.clear(), None, 5, &[LicenseUnresolved, SourceNotAdmitted]),
    ];
    for (name, change, signer, wanted, expected) in rows {
        let mut record = record();
        record.internal_use_note = Some("inside only".to_owned());
        record.allowed_execution_modes.push(stage(*wanted).mutation_mode());
        change(&mut record);
        let mut inputs = crate::tests::inputs();
        (inputs.engine, inputs.stage) = ("toy".to_owned(), stage(*wanted));
        let signed_by = signer.map(str::to_owned);
        inputs.settings.engine =
            Some(setting(FoundRecord::Record { sha256: Digest::ZERO, record, signed_by }, found()));
        let refusals = source_admission(&inputs).unwrap();
        let reasons: Vec<Reason> = refusals.iter().map(|refusal| refusal.reason).collect();
        assert_eq!(reasons, *expected, "{name}: {refusals:?}");
        let sign = refusals.iter().find(|refusal| refusal.reason == SourceNotAdmitted);
        assert!(sign.is_none_or(|it| it.remedy == "cto record sign admissions/source/toy.yaml"), "{name}");
    }
}

#[test]
fn from_the_fourth_stage_on_the_rung_below_is_the_very_one() {
    let validated = |number| Some(RungFact::Validated { stage: stage(number), run_id: "r".to_owned() });
    let not_started = Some(RungFact::NotStarted { stage: stage(4) });
    let climb = "cto engine enable toy --stage 4 && cto request TASK --engine toy --stage 4";
    let rows = [
        ("below", validated(3), 4, None),
        ("two below", validated(3), 5, Some("does not earn stage 5")),
        ("the same", validated(5), 5, Some("does not earn stage 5")),
        ("nobody looked", None, 5, Some("nobody looked")),
        ("nobody looked, lower", None, 3, None),
        ("two below, lower", validated(1), 3, None),
        ("no pass", not_started, 5, Some("no pass at stage 4")),
    ];
    for (name, below, wanted, expected) in rows {
        let mut inputs = crate::tests::inputs();
        (inputs.engine, inputs.stage) = ("toy".to_owned(), stage(wanted));
        inputs.settings.engine = Some(EngineSetting { below, ..setting(FoundRecord::Missing, found()) });
        let refusals = earned(&inputs);
        match (expected, refusals.as_slice()) {
            (None, []) => {}
            (Some(part), [refusal]) => {
                assert!(refusal.reason == Reason::StageNotEarned && refusal.text.contains(part), "{name}: {refusal:?}");
                assert!(
                    refusal.remedy == climb || name.starts_with("two") || name == "the same",
                    "{name}: {refusal:?}"
                );
            }
            _ => panic!("{name}: {refusals:?}"),
        }
    }
}

#[test]
fn a_blocked_rung_says_what_it_lacks() {
    let blocked = |lack| RungFact::Blocked { stage: stage(5), run_id: "r".to_owned(), lack };
    let climb = "cto engine enable toy --stage 5 && cto request TASK --engine toy --stage 5";
    let outcome = "cto outcome r accept --reason \"...\"";
    for (lack, part, remedy) in [
        (None, "the latest run at stage 5 did not pass: r", climb),
        (Some(RungLack::MissingOperatorOutcome), "operator outcome of run r", outcome),
        (Some(RungLack::OutcomeRejected), "rejected run r", climb),
        (Some(RungLack::BundleMissing), "is gone", climb),
        (Some(RungLack::BundleDamaged), "does not verify", climb),
        (Some(RungLack::MorePasses { passes: 1, required: 2 }), "1 of 2 passes", climb),
    ] {
        let mut inputs = crate::tests::inputs();
        (inputs.engine, inputs.stage) = ("toy".to_owned(), stage(6));
        inputs.settings.engine =
            Some(EngineSetting { below: Some(blocked(lack)), ..setting(FoundRecord::Missing, found()) });
        let refusals = earned(&inputs);
        let [refusal] = refusals.as_slice() else { panic!("{lack:?}: {refusals:?}") };
        assert!(refusal.text.contains(part) && refusal.remedy == remedy, "{lack:?}: {refusal:?}");
    }
    let plain = serde_json::to_value(blocked(None)).unwrap();
    assert_eq!(plain, serde_json::json!({"blocked": {"run_id": "r", "stage": 5}}), "as it always was");
}

#[test]
fn from_the_third_stage_on_there_is_a_record() {
    for (found_record, wanted, refused) in [
        (FoundRecord::Missing, 2, false),
        (FoundRecord::Missing, 3, true),
        (FoundRecord::Invalid { why: "x".to_owned() }, 1, true),
    ] {
        let mut inputs = crate::tests::inputs();
        inputs.stage = stage(wanted);
        inputs.settings.engine = Some(setting(found_record, found()));
        assert_eq!(!source_admission(&inputs).unwrap().is_empty(), refused, "stage {wanted}");
    }
    let mut inputs = crate::tests::inputs();
    inputs.settings.engine = None;
    assert!(source_admission(&inputs).is_none(), "what is part of the harness has no source of its own");
    assert_eq!(source_status(None, stage(3), inputs.time), SourceAdmissionStatus::BuiltIn);
}

#[test]
fn a_record_names_a_version_that_stays() {
    type Broken = fn(&mut SourceAdmission);
    let rows: &[(Broken, &str)] = &[
        (|it| it.version = None, "neither"),
        (|it| it.version = Some("main".to_owned()), "a branch"),
        (|it| it.pinned_commit = Some("abc".to_owned()), "whole commit id"),
        (|it| it.executable_path = "/tmp/toy".to_owned(), "temporary"),
        (|it| it.executable_path = "/dev/shm/toy".to_owned(), "temporary"),
        (|it| it.command_shape.clear(), "command_shape"),
        (|it| it.approval_source.clear(), "approval_source"),
    ];
    assert!(record().problems().is_empty());
    for (change, expected) in rows {
        let mut broken = record();
        change(&mut broken);
        assert!(
            broken.problems().iter().any(|problem| problem.contains(expected)),
            "{expected}: {:?}",
            broken.problems()
        );
    }
}
