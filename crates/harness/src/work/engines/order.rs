//! Order for the engine's process: its command line, its environment, its limits, and the
//! paths it is shown.

use std::path::{Path, PathBuf};

use contract::proof::LookedAt;
use contract::{Decision, TaskBounds, canonical_digest};
use sandbox::{Spec, Upper, WorkspaceFrom};

use super::engine_call::EngineCall;
use super::given::{EngineInput, SearchedPlaces, repository_paths};
use super::{Blocked, EngineRun, case, engine_call, fake};
use crate::gather::decide::Preparation;
use crate::gather::engine::equip::Equipped;
use crate::gather::model::{ModelLink, PORT};
use crate::home::engines::CASE;
use crate::home::placement::GIVEN;
use crate::judge::copy::Copy;
use crate::run::file::{RunFile, Stopped};
use crate::run::program_view::ProgramView;
use crate::run::supervise::{space, wall_limit};

/// Order for the engine's process, and the paths that it will see.
pub(super) fn order(
    run: &mut RunFile<'_>,
    engine: &mut EngineRun,
    preparation: &Preparation,
    decision: &Decision,
    copy: &Copy,
    layers: &[PathBuf],
    state: &Path,
) -> Result<Result<Spec, Blocked>, Stopped> {
    let mut program_view = run.setting().make_mounts("engine", copy.root.clone())?;
    let is_layered = copy.manifest.is_none() || !layers.is_empty();
    let equipped = preparation.equipped();
    let prepared = prepare(run, equipped, copy, is_layered)?;
    if is_layered {
        let lower = prepared.iter().chain(layers).chain([&copy.root]).cloned().collect();
        let space = space(&run.task().contract.limits);
        program_view =
            program_view.with_layers(layers.to_vec(), WorkspaceFrom::Layers { lower, upper: Upper::Memory(space) });
    }
    let facts = decision.inputs.settings.model.as_ref();
    let link = preparation.model().link();
    let bounds = TaskBounds::of_contract(&run.task().contract, decision);
    let engine_call = match equipped {
        Some(equipped) => {
            match engine_call::fill_definition(run, equipped, &bounds, link.zip(facts), &mut program_view, state)? {
                Ok(engine_call) => engine_call,
                Err(unfit) => return Ok(Err(unfit)),
            }
        }
        None => fake::prepare_fake(run, &mut program_view, state)?,
    };
    engine.end.argv_sha256 = Some(canonical_digest(&engine_call.argv)?);
    let mut spec = run
        .setting()
        .spec(&engine_call.argv, None, &program_view, wall_limit(run))
        .ok_or_else(|| missing(&engine_call.argv))?;
    engine.writable = spec.watched.as_ref().map(|watched| watched.roots.clone()).unwrap_or_default();
    spec.env.retain(|(known, _)| !engine_call.variables.iter().any(|(name, _)| name == known));
    spec.env.extend(engine_call.variables.iter().cloned());
    if equipped.is_some()
        && let Some(unfit) = named_target(run, engine, decision, link, &program_view, &engine_call, &spec.env)?
    {
        return Ok(Err(unfit));
    }
    spec.stdin = engine_call.stdin;
    spec.cwd = engine_call.cwd.unwrap_or(spec.cwd);
    let above = program_view.tree().parent().unwrap_or(Path::new("/"));
    spec.env.push(("GIT_CEILING_DIRECTORIES".to_owned(), above.display().to_string()));
    if let (Some(link), Some(facts)) = (link, facts)
        && let (Some(pair), Some(confinement)) = (&facts.requested, &mut spec.confinement)
    {
        if equipped.is_none() {
            spec.env.extend(link.client_variables(facts.wire, pair));
        }
        confinement.listener = Some(PORT);
    }
    Ok(Ok(spec))
}

/// Prepares the workspace of an engine that needs more than its files; the layer that is to
/// lie on top, where there are layers.
fn prepare(
    run: &RunFile<'_>,
    equipped: Option<&Equipped>,
    copy: &Copy,
    is_layered: bool,
) -> Result<Option<PathBuf>, Stopped> {
    if equipped.is_none_or(|equipped| equipped.engine.id != CASE) {
        return Ok(None);
    }
    let layer = is_layered.then(|| run.work_dir("engine/prepared")).transpose()?;
    case::prepare_workspace(copy, &case::task_id(run), layer.as_deref())
}

/// Searches everything that the engine is given for repositories of the operator, and keeps
/// a record of the search.
fn named_target(
    run: &RunFile<'_>,
    engine: &mut EngineRun,
    decision: &Decision,
    link: Option<&ModelLink>,
    program_view: &ProgramView,
    engine_call: &EngineCall,
    environment: &[(String, String)],
) -> Result<Option<Blocked>, Stopped> {
    let token = link.map(ModelLink::token);
    let named = |(_, value): &&(String, String)| token.is_none_or(|token| !value.contains(token));
    let handed = EngineInput {
        argv: &engine_call.argv,
        input: engine_call.brief.as_bytes(),
        environment: environment.iter().filter(named).cloned().collect(),
        configuration: engine_call.configuration.as_bytes(),
        writable: vec![
            program_view.tree().display().to_string(),
            program_view.home.display().to_string(),
            program_view.tmp.display().to_string(),
            format!("{GIVEN}/state"),
        ],
    };
    let target = decision.inputs.settings.target_admission.as_ref().map(|target| Path::new(&target.path));
    let paths = match repository_paths(run, target) {
        Ok(paths) => paths,
        Err(unread) => return Ok(Some(Blocked::of_target(unread.to_string()))),
    };
    let (given, found) = SearchedPlaces::search(run, &handed, &paths)?;
    engine.given = Some(given);
    Ok(judge_named(found))
}

/// The reason to start nothing where a place of the order names a repository of the operator's.
fn judge_named(found: Option<LookedAt>) -> Option<Blocked> {
    let why = |place: LookedAt| {
        format!("{} names a repository of the operator's, and an engine is told of none", place.as_str())
    };
    found.map(|place| Blocked::of_target(why(place)))
}

fn missing(argv: &[String]) -> Stopped {
    let program = argv.first().cloned().unwrap_or_default();
    Stopped::Io(program.into(), std::io::Error::from(std::io::ErrorKind::NotFound))
}

#[cfg(test)]
mod tests {
    use contract::{Gate, Reason};

    use super::*;
    use crate::tests::two_sided;

    #[test]
    fn an_order_that_names_a_repository_of_the_operators_starts_nothing() {
        let blocked = judge_named(Some(LookedAt::Argv)).unwrap();
        assert_eq!((blocked.gate, blocked.reason), (Gate::TargetAdmission, Reason::TargetNotAdmitted));
        assert_eq!(blocked.why, "the command line names a repository of the operator's, and an engine is told of none");
        let unnamed = judge_named(None);
        assert!(unnamed.is_none(), "control");
        two_sided(Reason::TargetNotAdmitted, blocked.reason, unnamed.map(|blocked| blocked.reason));
    }
}
