//! Each requirement with what it rests on, taken away alone.

use super::*;

fn whole() -> AuditFacts {
    let rung = |number: u8| RungAuditFact {
        stage: Stage::try_from(number).unwrap(),
        is_validated: true,
        bundles: vec![format!("run-{number}")],
        missing: None,
        remedy: None,
    };
    let pass = OwnedPassFact {
        run_id: "r".to_owned(),
        approval_digest: Some("d".to_owned()),
        target_commit: Some("c".to_owned()),
        changed_files: 1,
        is_bounded: true,
        target_kept: true,
    };
    let refresh = RefreshFact {
        run_id: "f".to_owned(),
        has_passed: true,
        repeatability_count: 2,
        repeatability_required: 2,
        is_eligible: true,
        targets_unchanged: true,
    };
    AuditFacts {
        engine: "case".to_owned(),
        workspace_errors: 0,
        source_admissions: vec!["s".to_owned()],
        target_admissions: vec!["t".to_owned()],
        rungs: (1..=6).map(rung).collect(),
        owned_passes: vec![pass],
        refresh: Some(refresh),
        transport: TransportFacts::default(),
    }
}

/// Requirements that are not proven after something was taken away: each with the type of its draft item and its gap.
fn unproven(take: fn(&mut AuditFacts)) -> Vec<(AuditRequirement, &'static str, String)> {
    let mut facts = whole();
    take(&mut facts);
    let audit = judge_endgoal(&facts);
    let missing = audit.requirements.into_iter().filter(|one| one.status == AuditStatus::NotProven);
    let missing: Vec<_> = missing
        .map(|one| {
            let gap = one.gap.unwrap();
            let quoted = gap.text.replace('"', "'");
            assert!(gap.draft_item.contains(&format!("what_to_build: \"{quoted}\"\n")), "{}", gap.draft_item);
            let kind = if gap.draft_item.contains("  type: HITL\n") { "HITL" } else { "AFK" };
            (one.requirement, kind, format!("{} | {}", gap.text, gap.remedy))
        })
        .collect();
    assert_eq!(audit.completion_status == CompletionStatus::Complete, missing.is_empty());
    missing
}

/// Each row takes one thing away: the requirements that fall, the type of their draft items, and the gap.
#[test]
fn each_requirement_falls_with_its_own_evidence_and_no_other() {
    use AuditRequirement as R;
    assert_eq!(unproven(|_| {}), []);
    type Row = (fn(&mut AuditFacts), &'static [R], &'static str, &'static str);
    let rows: [Row; 15] = [
        (
            |facts| facts.workspace_errors = 2,
            &[R::CortexGoverns],
            "AFK",
            "the workspace has 2 errors | cto validate workspace",
        ),
        (
            |facts| facts.source_admissions.clear(),
            &[R::CortexGoverns],
            "HITL",
            "no admission of an engine's source is usable and signed | cto admit source ENGINE",
        ),
        (|facts| facts.owned_passes[0].approval_digest = None, &[R::HermesControls], "HITL", APPROVAL_GAP),
        (
            |facts| facts.rungs[0].is_validated = false,
            &[R::CtoRoutes, R::HarnessProves, R::CaseExecutesOnlyAfterProof, R::DefaultStatusIsEarnedNotAssumed],
            "AFK",
            "stage 1 is not validated: no bundle proves it | cto ladder explain 1",
        ),
        (
            |facts| facts.rungs[0].bundles.clear(),
            &[R::CtoRoutes, R::HarnessProves, R::CaseExecutesOnlyAfterProof, R::DefaultStatusIsEarnedNotAssumed],
            "AFK",
            "stage 1 is not validated: no bundle proves it | cto ladder explain 1",
        ),
        (
            |facts| drop(facts.rungs.remove(3)),
            &[R::HarnessProves, R::CaseExecutesOnlyAfterProof, R::DefaultStatusIsEarnedNotAssumed],
            "HITL",
            "stage 4 is not known | cto ladder",
        ),
        (
            |facts| {
                facts.rungs[4].is_validated = false;
                facts.rungs[4].missing = Some("two passes".to_owned());
                facts.rungs[4].remedy = Some("cto run".to_owned());
            },
            &[R::CaseExecutesOnlyAfterProof, R::DefaultStatusIsEarnedNotAssumed],
            "HITL",
            "stage 5 is not validated: two passes | cto run",
        ),
        (
            |facts| facts.rungs[5].is_validated = false,
            &[R::DefaultStatusIsEarnedNotAssumed],
            "HITL",
            "stage 6 is not validated: no bundle proves it | cto ladder explain 6",
        ),
        (|facts| facts.owned_passes[0].is_bounded = false, &[R::BoundedCodeChangesWithEvidence], "HITL", BOUNDED_GAP),
        (|facts| facts.owned_passes[0].changed_files = 0, &[R::BoundedCodeChangesWithEvidence], "HITL", BOUNDED_GAP),
        (|facts| facts.owned_passes[0].target_commit = None, &[R::BoundedCodeChangesWithEvidence], "HITL", BOUNDED_GAP),
        (
            |facts| facts.owned_passes[0].target_kept = false,
            &[R::TargetReposStayOwnedAndProtected],
            "HITL",
            "no pass of stage 5 shows that its target stayed clean and protected trees unchanged | cto run TASK --stage 5",
        ),
        (
            |facts| facts.target_admissions.clear(),
            &[R::TargetReposStayOwnedAndProtected],
            "HITL",
            "no admission of a target is usable and signed | cto admit target REPO",
        ),
        (
            |facts| facts.refresh = None,
            &[R::CandidateDefaultEvidence],
            "AFK",
            "there is no sealed refresh that verifies | cto refresh",
        ),
        (
            |facts| facts.transport.problems.push("dirty".to_owned()),
            &[R::TransportableStack],
            "AFK",
            "dirty | commit and push the workspace, then cto pack",
        ),
    ];
    for (take, requirements, kind, gap) in rows {
        let expected: Vec<_> = requirements.iter().map(|one| (*one, kind, gap.to_owned())).collect();
        assert_eq!(unproven(take), expected, "{gap}");
    }
}

const APPROVAL_GAP: &str =
    "no pass of stage 5 used up a signed approval | cto request TASK --stage 5, then cto approve REQUEST";
const BOUNDED_GAP: &str =
    "no pass of stage 5 shows a commit inside of its allowed paths, or one does not | cto run TASK --stage 5";

#[test]
fn the_newest_refresh_has_to_pass_in_every_part() {
    let parts: [fn(&mut RefreshFact); 3] = [
        |refresh| refresh.has_passed = false,
        |refresh| refresh.is_eligible = false,
        |refresh| refresh.targets_unchanged = false,
    ];
    for part in parts {
        let mut facts = whole();
        facts.refresh.iter_mut().for_each(part);
        let audit = judge_endgoal(&facts);
        let fallen: Vec<_> = audit
            .requirements
            .iter()
            .filter_map(|one| Some((one.requirement, one.gap.as_ref()?.text.as_str())))
            .collect();
        assert_eq!(fallen, [(AuditRequirement::CandidateDefaultEvidence, "the newest refresh does not pass")]);
    }
}
