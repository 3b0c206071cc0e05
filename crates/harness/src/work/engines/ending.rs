//! How an engine with a result protocol ended by its own account, which can only speak against the run. Judged when it has
//! ended, and again from the evidence when the report is made, so that what was missed once is not missed.

use contract::Reason;
use contract::claim::Speech;
use contract::task::ForbiddenAction;
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

/// True if the contract forbids what a closer is for.
pub(super) fn is_close_out_forbidden(forbidden: &[ForbiddenAction]) -> bool {
    CLOSE_OUT.iter().any(|action| forbidden.contains(action))
}

fn ended_how(run: &RunFile<'_>, engine: &EngineRun) -> EndedHow {
    EndedHow {
        by_itself: engine.end.ended_itself,
        is_close_out_forbidden: is_close_out_forbidden(&run.task.contract.forbidden_actions),
    }
}

/// Judges what was printed and logged, however the engine ended. True where the end is explained, also with an exit code that
/// is a failure by itself.
pub(super) fn judge(
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
    if let Some(why) = ending.broken_protocol(how) {
        break_protocol(run, why)?;
        return Ok(true);
    }
    if let Some(text) = ending.rejected() {
        run.standing.block(Reason::ReviewerRejected, text, log::KEPT);
        return Ok(code == 0);
    }
    if let Some(why) = ending.failed(how) {
        let text = format!("{} engine failed with exit code {code}: {why}", run.ask.engine);
        run.standing.block(Reason::EngineFailed, text, "backend/stderr.log");
        return Ok(true);
    }
    Ok(false)
}

fn break_protocol(run: &mut RunFile<'_>, why: &str) -> Result<(), Stopped> {
    run.standing.block(Reason::AgentProtocol, why, &format!("backend/{MARKER}"));
    Ok(run.marker(MARKER, why)?)
}

/// Judges again from what lies in the bundle, the event log included.
pub(crate) fn judge_again(
    run: &mut RunFile<'_>,
    engine: &EngineRun,
    equipped: Option<&Equipped>,
) -> Result<(), Stopped> {
    let told = [Reason::AgentProtocol, Reason::EngineFailed, Reason::ReviewerRejected];
    if !has_protocol(equipped) || !engine.end.ended_itself || told.iter().any(|reason| run.standing.has(*reason)) {
        return Ok(());
    }
    let how = ended_how(run, engine);
    let ending =
        Ending::read(&kept(run, "backend/stdout.log"), &kept(run, "backend/stderr.log"), &kept(run, log::KEPT));
    let why = ending.broken_protocol(how).map(str::to_owned);
    let why = why.or_else(|| ending.failed(how).map(|why| format!("what is kept of it says that {why}")));
    why.map_or(Ok(()), |why| break_protocol(run, &why))
}

fn kept(run: &RunFile<'_>, name: &str) -> Vec<u8> {
    own_files::read(run.harness.home.active_run(run.id()).join(name)).unwrap_or_default()
}
