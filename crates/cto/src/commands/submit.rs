//! `cto submit`: puts runs into the queue, each with its resolved contract.

use std::fs;
use std::path::{Path, PathBuf};

use contract::decision::Profile;
use contract::task::SourceClassification;
use contract::{Digest, ModelPair, Purpose, RunId, Stage, Stamp, TaskContract};
use harness::{Ask, Home, RunClock, Task, TreeOrigin, accept_contract, name_queued_run};
use ledger::{AppendEntryError, Ledger, QueueOrder};
use serde::{Deserialize, Serialize};
use serde_json::json;
use views::QueueView;

use crate::args::{Asked, ProfileName, SubmitArgs};
use crate::context::Context;
use crate::error::CommandError;

/// Tries at an id that nobody has taken.
const TRIES: usize = 16;

/// The request for a queued run, as its entry has it: whatever a worker needs to ask for the same run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueuedAsk {
    /// A case id, or the absolute path of a case folder or a contract file.
    task: String,
    engine: String,
    stage: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sandbox: Option<Profile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repo: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) timeout: Option<u64>,
    /// Digest of the contract as it was loaded, before anything was filled in: what lies there must still be it.
    loaded_sha256: Digest,
    /// The resolved contract.
    contract: TaskContract,
}

impl QueuedAsk {
    /// The same request as `cto run` would have it.
    pub(super) fn asked(&self) -> Result<Asked, CommandError> {
        let name = |profile: Profile| match profile {
            Profile::Strict => ProfileName::Strict,
            Profile::Landlock => ProfileName::Landlock,
            Profile::None => ProfileName::None,
        };
        let model = self.model.as_ref().map(|text| text.parse::<ModelPair>()).transpose();
        Ok(Asked {
            task: Some(self.task.clone()),
            engine: Some(self.engine.clone()),
            stage: Some(self.stage),
            sandbox: self.sandbox.map(name),
            model: model.map_err(CommandError::usage)?,
            repo: self.repo.clone(),
            target: self.target.clone(),
            ..Asked::default()
        })
    }

    /// The task as it lies on this machine, which is all that is run. Refused where it is not the one that was submitted: anybody
    /// who can append to the ledger can write an order, and its contract holds commands.
    pub(super) fn load_task(&self, context: &Context, order: &QueueOrder) -> Result<Task, CommandError> {
        let mut task = context.load_task(&self.task, self.repo.as_deref())?;
        let refused = |why: &str| CommandError::usage(format!("contract_invalid: {why}")).hint("submit it again");
        if task.contract.digest()? != self.loaded_sha256 {
            return Err(refused("the accepted task changed before it ran"));
        }
        self.fill_owner(&mut task);
        let found = task.contract.digest()?;
        if found != self.contract.digest()? || found != order.contract_sha256 {
            return Err(refused("the order has another contract than its task"));
        }
        let row = (&order.task_id, order.engine.as_str(), order.stage.number(), &order.target_key);
        let said = (&task.contract.task_id, self.engine.as_str(), self.stage, &target_key(&task, order.stage));
        if row != said || order.retry != task.contract.retry {
            return Err(refused("the order has other words for the queue than for the run"));
        }
        Ok(task)
    }

    /// The owner of the sources, whom a person may leave out and the submitting machine then fills in. No other member of a contract
    /// comes from an order.
    fn fill_owner(&self, task: &mut Task) {
        let (loaded, ordered) = (&mut task.contract, &self.contract);
        let is_unsaid = loaded.source_owner.is_none() && loaded.source_classification.is_none();
        let is_filled = ordered.source_classification == Some(SourceClassification::OwnedLocal);
        if matches!(task.origin, TreeOrigin::Repository(_)) && is_unsaid && is_filled {
            loaded.source_owner.clone_from(&ordered.source_owner);
            loaded.source_classification = ordered.source_classification;
        }
    }
}

/// Resolves each task now and puts a run of it into the queue.
pub(crate) fn submit(context: &Context, arguments: &SubmitArgs) -> Result<u8, CommandError> {
    let home = Home::create_folders(&context.config.place())?;
    let ledger = home.ledger()?;
    let after = arguments.after.as_deref().map(|name| QueueView::of_ledger(&ledger).find_any_run(name)).transpose()?;
    // All of them are resolved before the first is queued.
    let tasks = arguments.tasks.iter().map(|name| resolve(context, arguments, name)).collect::<Result<Vec<_>, _>>()?;
    // Workers do not say where witnesses lie, so the machine that submits does.
    if let Some(store) = home.bundles().store()
        && tasks.iter().any(|resolved| resolved.ask.stage.mutation_mode().needs_approval())
    {
        ledger.bind_evidence(&store.place().witness_place(), false)?;
    }
    for resolved in tasks {
        let order = put(context, &ledger, arguments, after.as_ref(), &resolved)?;
        tell(context, &order)?;
    }
    Ok(0)
}

/// A task that was loaded, and what is asked of it.
struct ResolvedTask {
    task: Task,
    ask: Ask,
    queued: QueuedAsk,
}

fn resolve(context: &Context, arguments: &SubmitArgs, name: &str) -> Result<ResolvedTask, CommandError> {
    let absolute = |path: &Option<PathBuf>| path.as_ref().map(std::path::absolute).transpose();
    let (repo, target) = (absolute(&arguments.repo)?, absolute(&arguments.target)?);
    let named = absolute_task(context, name)?;
    let mut task = context.load_task(&named, repo.as_deref())?;
    let loaded_sha256 = task.contract.digest()?;
    context.fill_owner(&mut task)?;
    let mut queued = QueuedAsk {
        task: named,
        engine: arguments.engine.clone(),
        stage: arguments.stage.unwrap_or_else(|| task.default_stage().number()),
        sandbox: arguments.sandbox.map(Profile::from),
        model: arguments.model.as_ref().map(ToString::to_string),
        repo,
        target,
        timeout: arguments.timeout,
        loaded_sha256,
        contract: task.contract.clone(),
    };
    let ask = context.build_ask(&queued.asked()?, &task, Purpose::Governed)?;
    queued.stage = ask.stage.number();
    Ok(ResolvedTask { task, ask, queued })
}

/// A task by a name that means the same wherever a worker runs.
fn absolute_task(context: &Context, name: &str) -> Result<String, CommandError> {
    if let Some(folder) = context.workspace_case(name).filter(|_| Task::builtin(name).is_none()) {
        return Ok(std::path::absolute(folder)?.display().to_string());
    }
    let is_there = Path::new(name).exists() && Task::builtin(name).is_none();
    Ok(if is_there { std::path::absolute(name)?.display().to_string() } else { name.to_owned() })
}

fn put(
    context: &Context,
    ledger: &Ledger,
    arguments: &SubmitArgs,
    after: Option<&RunId>,
    resolved: &ResolvedTask,
) -> Result<QueueOrder, CommandError> {
    let ResolvedTask { task, ask, queued } = resolved;
    let contract_sha256 = accept_contract(&task.contract).map_err(harness::GovernError::Open)?;
    let not_before = arguments.not_before.as_deref().map(str::parse::<Stamp>).transpose();
    let not_before = not_before.map_err(|error| CommandError::usage(format!("--not-before: {error}")))?;
    let workspace = context.config.workspace.as_ref().map(|path| path.display().to_string());
    for _ in 0..TRIES {
        let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started();
        let order = QueueOrder {
            run_id: name_queued_run(now, &task.contract.task_id)?,
            task_id: task.contract.task_id.clone(),
            engine: ask.engine.clone(),
            stage: ask.stage,
            contract_sha256,
            workspace: workspace.clone().unwrap_or_default(),
            target_key: target_key(task, ask.stage),
            priority: arguments.priority,
            after: after.cloned(),
            not_before,
            labels: arguments.labels.clone(),
            retry: task.contract.retry.clone(),
            retry_of: None,
            attempt: 0,
            detail: serde_json::to_value(queued)?,
        };
        match ledger.queue_submitted(&order, now) {
            Ok(_) => return Ok(order),
            Err(AppendEntryError::AlreadyStarted { .. }) => {}
            Err(error) => return Err(CommandError::blocked_with(&error)),
        }
    }
    Err(CommandError::blocked_with("no free id was found for the run").hint("submit it again"))
}

/// Target that a run changes, if it changes more than a copy: one run a target is active at a time.
fn target_key(task: &Task, stage: Stage) -> Option<String> {
    if stage < Stage::DISPOSABLE_REPOSITORY {
        return None;
    }
    match &task.origin {
        TreeOrigin::Repository(path) | TreeOrigin::Target(path) => Some(resolve_target(path)),
        TreeOrigin::Case(_) => task.contract.target_repository.as_ref().map(|named| resolve_target(Path::new(named))),
    }
}

/// One name for a repository, by whichever links it was named; what is not there keeps the name that it has.
fn resolve_target(path: &Path) -> String {
    // A relative name would mean another folder to a worker that was started elsewhere.
    let found = path.is_absolute().then(|| fs::canonicalize(path).ok()).flatten();
    found.unwrap_or_else(|| path.to_owned()).display().to_string()
}

fn tell(context: &Context, order: &QueueOrder) -> Result<(), CommandError> {
    let output = context.output;
    if output.json {
        let QueueOrder { run_id, task_id, engine, stage, contract_sha256, priority, after, .. } = order;
        return output.print_json(&json!({
            "after": after, "contract_sha256": contract_sha256, "engine": engine, "priority": priority, "run_id": run_id,
            "stage": stage, "state": "queued", "task_id": task_id,
        }));
    }
    output.print(&format!("queued {}\n", order.run_id));
    if output.terminal {
        output.print_note(&output.command_line(2, &format!("cto watch {}", order.run_id.suffix())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_one_name_by_whichever_link_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert_eq!(resolve_target(&link), resolve_target(&real));
        fs::create_dir(folder.path().join("other")).unwrap();
        assert_ne!(resolve_target(&folder.path().join("other")), resolve_target(&real), "the control");
        assert_eq!(resolve_target(Path::new("named/there")), "named/there");
    }
}
