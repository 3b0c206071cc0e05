//! End of an engine with a result protocol by its own account, which can only speak against
//! the run. Judged when it has ended, and again from the evidence when the report is made,
//! so that a finding missed once is not lost.

use contract::claim::Speech;
use contract::task::ForbiddenAction;
use contract::{Reason, Stage};
use sandbox::Ended;
use testimony::ending::{EndedHow, Ending};
use untrusted_fs::own_files;

use super::{EngineRun, log};
use crate::gather::engine::equip::Equipped;
use crate::run::file::{RunFile, Stopped};

/// Lies in `backend/` when the protocol was not kept.
const MARKER: &str = "provider-agent-protocol.txt";

/// Actions that close out a change. Without a push there is no pull request either.
const CLOSE_OUT: &[ForbiddenAction] = &[ForbiddenAction::PrOpen, ForbiddenAction::Push];

/// True if the engine ends by a protocol and keeps an event log.
pub(super) fn has_protocol(equipped: Option<&Equipped>) -> bool {
    equipped.is_some_and(|equipped| equipped.engine.definition.events == Speech::Case)
}

/// True if the contract forbids what a closer is for, or the target's admission, which
/// always does.
pub(super) fn is_close_out_forbidden(run: &RunFile<'_>) -> bool {
    forbids_close_out(&run.task().contract.forbidden_actions, run.ask().stage)
}

fn forbids_close_out(forbidden: &[ForbiddenAction], stage: Stage) -> bool {
    stage >= Stage::OWNED_REPOSITORY || CLOSE_OUT.iter().any(|action| forbidden.contains(action))
}

fn ended_how(run: &RunFile<'_>, engine: &EngineRun) -> EndedHow {
    EndedHow { by_itself: engine.end.ended_itself, is_close_out_forbidden: is_close_out_forbidden(run) }
}

/// Judges what was printed and logged, however the engine ended. True where the end is
/// explained, also with an exit code that is a failure by itself.
pub(super) fn judge_output(
    run: &mut RunFile<'_>,
    engine: &mut EngineRun,
    equipped: Option<&Equipped>,
    ended: &Ended,
    log: &[u8],
) -> Result<bool, Stopped> {
    if !has_protocol(equipped) {
        return Ok(false);
    }
    let ending = Ending::read(&ended.stdout.text_bytes(), &ended.stderr.text_bytes(), log);
    let how = ended_how(run, engine);
    engine.end.notes = ending.notes(how);
    hold_against(run, &ending, how, engine.end.exit.unwrap_or(-1))
}

fn hold_against(run: &mut RunFile<'_>, ending: &Ending, how: EndedHow, code: i32) -> Result<bool, Stopped> {
    let Some((reason, text)) = judge_ending(ending, how, &run.ask().engine, code) else { return Ok(false) };
    match reason {
        Reason::AgentProtocol => break_protocol(run, &text)?,
        Reason::ReviewerRejected => run.standing.block_run(reason, text, log::KEPT),
        _ => run.standing.block_run(reason, text, "backend/stderr.log"),
    }
    Ok(is_explained(reason, code))
}

/// A rejected change does not explain a program that failed.
fn is_explained(reason: Reason, code: i32) -> bool {
    reason != Reason::ReviewerRejected || code == 0
}

/// Worst finding in the engine's own account; none if nothing speaks against the run.
fn judge_ending(ending: &Ending, how: EndedHow, name: &str, code: i32) -> Option<(Reason, String)> {
    if let Some(why) = ending.broken_protocol(how) {
        return Some((Reason::AgentProtocol, why.to_owned()));
    }
    if let Some(text) = ending.rejected() {
        return Some((Reason::ReviewerRejected, text));
    }
    let why = ending.failed(how)?;
    Some((Reason::EngineFailed, format!("{name} engine failed with exit code {code}: {why}")))
}

fn break_protocol(run: &mut RunFile<'_>, why: &str) -> Result<(), Stopped> {
    run.standing.block_run(Reason::AgentProtocol, why, &format!("backend/{MARKER}"));
    Ok(run.marker(MARKER, why)?)
}

/// Judges again from what lies in the bundle, the event log included.
pub(crate) fn judge_again(
    run: &mut RunFile<'_>,
    engine: &EngineRun,
    equipped: Option<&Equipped>,
) -> Result<(), Stopped> {
    let told = [Reason::AgentProtocol, Reason::EngineFailed, Reason::ReviewerRejected];
    if !has_protocol(equipped) || !engine.end.ended_itself || told.iter().any(|reason| run.standing.has_reason(*reason))
    {
        return Ok(());
    }
    let how = ended_how(run, engine);
    let ending =
        Ending::read(&kept(run, "backend/stdout.log"), &kept(run, "backend/stderr.log"), &kept(run, log::KEPT));
    judge_kept(&ending, how).map_or(Ok(()), |why| break_protocol(run, &why))
}

/// Finding in the kept output against a run that had none when its engine ended.
fn judge_kept(ending: &Ending, how: EndedHow) -> Option<String> {
    let why = ending.broken_protocol(how).map(str::to_owned);
    why.or_else(|| ending.failed(how).map(|why| format!("its kept output says that {why}")))
}

fn kept(run: &RunFile<'_>, name: &str) -> Vec<u8> {
    own_files::read_file(run.harness().home.active_run(run.id()).join(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::two_sided;

    const BY_ITSELF: EndedHow = EndedHow { by_itself: true, is_close_out_forbidden: false };
    const ENDED: EndedHow = EndedHow { by_itself: false, ..BY_ITSELF };

    fn envelope(json: &str) -> Vec<u8> {
        format!("<<<AGENT_RESULT\n{json}\nAGENT_RESULT>>>\n").into_bytes()
    }

    fn judge(stdout: &[u8], how: EndedHow) -> Option<(Reason, String)> {
        judge_ending(&Ending::read(stdout, b"", b""), how, "case", 3)
    }

    #[test]
    fn an_engine_that_does_not_keep_its_protocol_is_told() {
        let text = "there is no AGENT_RESULT block, and nothing says that the pipeline ended";
        assert_eq!(judge(b"done\n", BY_ITSELF), Some((Reason::AgentProtocol, text.to_owned())));
        assert_eq!(judge(b"done\n", ENDED), None, "control: of an engine that was ended nothing is missed");
        let kept = judge(&envelope("{\"status\":\"completed\"}"), BY_ITSELF);
        assert_eq!(kept, None, "control: it kept it");
        two_sided(Reason::AgentProtocol, judge(b"done\n", BY_ITSELF), kept);
    }

    #[test]
    fn a_close_out_is_forbidden_by_the_contract_or_by_the_stage() {
        for (forbidden, stage, expected) in [
            (&[][..], Stage::DISPOSABLE_REPOSITORY, false),
            (&[ForbiddenAction::Merge][..], Stage::DISPOSABLE_REPOSITORY, false),
            (&[ForbiddenAction::Push][..], Stage::DISPOSABLE_REPOSITORY, true),
            (&[][..], Stage::OWNED_REPOSITORY, true),
        ] {
            assert_eq!(forbids_close_out(forbidden, stage), expected, "{forbidden:?} {stage:?}");
        }
    }

    #[test]
    fn a_review_with_a_critical_finding_rejects() {
        let found = |critical: u64| {
            let json = format!(
                "{{\"status\":\"completed\",\"findings\":{{\"critical\":{critical},\"warnings\":0,\"info\":0}}}}"
            );
            judge(&envelope(&json), BY_ITSELF)
        };
        assert_eq!(found(1).map(|(reason, _)| reason), Some(Reason::ReviewerRejected));
        assert_eq!(found(0), None, "control");
    }

    #[test]
    fn an_engine_that_says_that_it_failed_has_failed() {
        let (reason, text) = judge(&envelope("{\"status\":\"failed\"}"), BY_ITSELF).unwrap();
        assert_eq!(reason, Reason::EngineFailed);
        assert!(text.starts_with("case engine failed with exit code 3: "), "{text}");
    }

    #[test]
    fn a_rejected_change_does_not_explain_a_failed_program() {
        for (reason, code, expected) in [
            (Reason::ReviewerRejected, 0, true),
            (Reason::ReviewerRejected, 3, false),
            (Reason::AgentProtocol, 3, true),
            (Reason::EngineFailed, 3, true),
        ] {
            assert_eq!(is_explained(reason, code), expected, "{reason:?} {code}");
        }
    }

    #[test]
    fn what_is_kept_speaks_against_a_run_that_nothing_was_held_against() {
        let kept = |stdout: &[u8]| judge_kept(&Ending::read(stdout, b"", b""), BY_ITSELF);
        assert!(kept(b"done\n").is_some_and(|why| why.starts_with("there is no AGENT_RESULT")));
        let failed = kept(&envelope("{\"status\":\"failed\"}")).unwrap();
        assert!(failed.starts_with("its kept output says that "), "{failed}");
        assert_eq!(kept(&envelope("{\"status\":\"completed\"}")), None, "control");
    }
}
