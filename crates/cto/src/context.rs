//! Context of every command: settings, output, and access to the home, its runs and tasks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use contract::decision::Profile;
use contract::task::{SourceClassification, title_of};
use contract::{Purpose, Report, Stage, Stamp};
use evidence::names;
use evidence::verify::VerifiedBundle;
use harness::{Ask, Engines, FAKE, Harness, Home, HomePlace, LoadTaskError, RunClock, Task, TreeOrigin};
use ledger::Bundles;
use suggest::{ContractWords, task_id_of};
use views::{FoundRun, ViewedHome, Views};

use crate::args::Asked;
use crate::commands::{continued, new};
use crate::config::{Config, model_ask};
use crate::error::CommandError;
use crate::nearest::{did_you_mean, nearest};
use crate::operator::git_configuration;
use crate::output::Output;
use crate::seek::{BundleFinder, suggest_run, trusted, trusted_for_review};

/// Handed to every command.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) output: Output,
    pub(crate) config: Config,
    /// Set by Ctrl-C, SIGTERM and a lost terminal.
    pub(crate) cancel: Arc<AtomicBool>,
}

impl Context {
    /// A harness on the configured home, which is made where it is missing. Seals what was interrupted before.
    pub(crate) fn harness(&self) -> Result<Harness, CommandError> {
        let harness = self.harness_at(&self.config.place())?;
        self.recover_runs(&harness)?;
        Ok(harness)
    }

    /// Opens the harness in a home, with all settings in force.
    pub(crate) fn harness_at(&self, place: &HomePlace) -> Result<Harness, CommandError> {
        let exe = std::env::current_exe()?;
        let mut harness = Harness::open_home(place, exe, self.config.tools.clone())?.heeding_halt(&self.config.home);
        if let Some(lease) = self.config.store.lease {
            harness = harness.with_lease(lease);
        }
        Ok(harness
            .with_records(self.config.records.clone())
            .with_models(self.config.models.clone())
            .with_engines(self.config.engines.clone())
            .with_named_repositories(self.config.named_repositories.clone())
            .with_git_configuration(git_configuration())
            .with_settings(self.config.planned_settings())
            .with_passes_required(self.config.passes_required))
    }

    /// A harness in a home that nobody keeps: of the operator's settings only the sandbox, the tools and the kill switch count there.
    pub(crate) fn harness_for_trial(&self, home: PathBuf, engines: Engines) -> Result<Harness, CommandError> {
        let config = self.config.for_trial(home, engines);
        let trial = Self { output: self.output, config, cancel: self.cancel.clone() };
        Ok(trial.harness_at(&trial.config.place())?.heeding_halt(&self.config.home))
    }

    /// For commands that show what runs do in a home that nobody keeps: they have no place for the bundle of a refusal.
    pub(crate) fn refuse_when_halted(&self) -> Result<(), CommandError> {
        match harness::halted(&self.config.home) {
            Some(halted) => Err(CommandError::blocked_with(format!("the kill switch is {halted}")).hint("cto resume")),
            None => Ok(()),
        }
    }

    /// Seals what dead runs of this home left, and says so.
    pub(crate) fn recover_runs(&self, harness: &Harness) -> Result<(), CommandError> {
        let done = harness::recover_dead(harness)?;
        for report in done.sealed {
            self.output.print_note(&format!("sealed {} ({}), which was interrupted\n", report.run_id, report.status));
        }
        for landing in done.landings {
            self.output.print_note(&format!("{}\n  next {}\n", landing.sentence(), landing.next_step()));
        }
        for (_, error) in done.failed {
            self.output.print_note(&format!("{}\n", contract::text::show_controls(&error)));
        }
        for row in done.unreadable {
            let what = contract::text::show_controls(&row.what);
            self.output.print_note(&format!("ledger entry {} is passed over: {what}\n", row.seq));
        }
        Ok(())
    }

    /// The home with nothing done to it; `None` where nothing was ever run.
    pub(crate) fn home_as_it_is(&self) -> Result<Option<Home>, CommandError> {
        match Home::existing(&self.config.place()) {
            Ok(home) => Ok(Some(home)),
            Err(harness::OpenHomeError::Missing(_)) if !self.config.home_named => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Seals what was interrupted, as an act of the command before it looks: views never do. Gives the home.
    pub(crate) fn recover_interrupted(&self) -> Result<Option<Home>, CommandError> {
        let Some(home) = self.home_as_it_is()? else { return Ok(None) };
        let Some(ledger) = home.ledger_to_read()? else { return Ok(Some(home)) };
        let is_clean = ledger.runs_open()?.is_empty() && ledger.unreadable_rows().is_empty();
        if !is_clean || harness::left_work(&home) {
            drop(ledger);
            self.recover_runs(&self.harness_at(&self.config.place())?)?;
        }
        Ok(Some(home))
    }

    /// Views of the home after a recovery, and the moment to ask them for. Without a home there is nothing to see.
    pub(crate) fn look(&self) -> Result<(Views, Stamp), CommandError> {
        self.views_of(self.recover_interrupted()?)
    }

    /// The same of the home as it is: a dead run stays as it lies.
    pub(crate) fn look_only(&self) -> Result<(Views, Stamp), CommandError> {
        self.views_of(self.home_as_it_is()?)
    }

    /// Views of this home, and the moment to ask them for.
    pub(crate) fn views_of(&self, home: Option<Home>) -> Result<(Views, Stamp), CommandError> {
        let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started();
        let viewed = match home {
            Some(home) => ViewedHome {
                ledger: home.ledger_to_read()?,
                bundles: home.bundles().clone(),
                active: home.active(),
                shared_as: home.shares_ledger().then(|| home.instance().ok()).flatten(),
            },
            None => {
                let bundles = Bundles::in_home(&self.config.home);
                ViewedHome { ledger: None, bundles, active: PathBuf::new(), shared_as: None }
            }
        };
        Ok((Views::new(viewed), now))
    }

    /// A run by id, unique prefix, suffix, `@` or `@-N`.
    pub(crate) fn find_run(&self, reference: &str) -> Result<FoundRun, CommandError> {
        let (views, now) = self.look()?;
        views.find_run(reference, now).map_err(|error| suggest_run(&views, now, error))
    }

    /// The same, verified with the home's keys as the run that was asked for; it is not collected while both values live.
    pub(crate) fn bind_run(&self, reference: &str) -> Result<(FoundRun, VerifiedBundle), CommandError> {
        let found = self.find_run(reference)?;
        let bound = found.bind_bundle(&trusted(self, &[])?.keys_of(&found))?;
        Ok((found, bound))
    }

    /// The same of whatever a person names: a run, the path of a bundle, or an archive of `cto export`.
    pub(crate) fn bind_named(&self, name: &str) -> Result<(FoundRun, VerifiedBundle), CommandError> {
        let found = BundleFinder::new(self).locate(name)?;
        let bound = found.bind_bundle(&trusted_for_review(self, &[])?.keys_of(&found))?;
        Ok((found, bound))
    }

    /// The task that a command asks for, linked to the item of the workboard that it names.
    pub(crate) fn load_asked(&self, asked: &Asked) -> Result<Task, CommandError> {
        if let Some(run) = &asked.continue_run {
            return continued::load_continued(self, run);
        }
        let mut task = match (&asked.brief, &asked.task) {
            (Some(brief), _) => {
                self.draft_task(brief, &asked.allow, asked.repo.as_deref().unwrap_or(Path::new(".")))?
            }
            (None, task) => self.load_task(task.as_deref().unwrap_or_default(), asked.repo.as_deref())?,
        };
        self.fill_owner(&mut task)?;
        if let Some(work) = &asked.work {
            task.contract.work_id = Some(work.clone());
        }
        Ok(task)
    }

    /// One-off work: the contract that `cto new` would draft for a repository, and nothing kept of it but what a run writes.
    fn draft_task(&self, brief: &str, allow: &[String], repository: &Path) -> Result<Task, CommandError> {
        let repository = std::path::absolute(repository)?;
        let drafted = new::draft(self, &repository)?;
        if !drafted.has_checks() {
            let message = "cto finds no test command in the repository, so it could not judge a result";
            let command = shell_words::join(["cto", "new", "--from", brief]);
            return Err(
                CommandError::blocked_with(message).hint(format!("{command}     then name verification_commands"))
            );
        }
        let id = task_id_of(&title_of(brief));
        let words = ContractWords { task_id: &id, brief, allowed_paths: allow, repository: None };
        Ok(Task::from_text("the contract of --brief", &drafted.yaml(&words), &repository)?)
    }

    /// A contract that says nothing of the owner is the operator's, where git knows them and the repository is theirs.
    pub(crate) fn fill_owner(&self, task: &mut Task) -> Result<(), CommandError> {
        let contract = &mut task.contract;
        let TreeOrigin::Repository(repository) = &task.origin else { return Ok(()) };
        if contract.source_owner.is_some() || contract.source_classification.is_some() {
            return Ok(());
        }
        let scratch = tempfile::tempdir()?;
        let path = &self.config.tools.operator_path;
        if let Some(owner) = harness::find_owner(repository, scratch.path(), path, &git_configuration()) {
            contract.source_owner = Some(format!("{} <{}>", owner.name, owner.email));
            contract.source_classification = Some(SourceClassification::OwnedLocal);
            task.unsaid.push("source_owner");
        }
        Ok(())
    }

    /// A task by case id or path.
    pub(crate) fn load_task(&self, name: &str, repository: Option<&Path>) -> Result<Task, CommandError> {
        let repository = repository.map(std::path::absolute).transpose()?;
        let repository = repository.as_deref();
        let is_folder = || !name.is_empty() && Path::new(name).join("case.yaml").is_file();
        let is_path = name.contains('/')
            || Path::new(name).extension().is_some_and(|ext| ext == "yaml" || ext == "yml" || ext == "json");
        if is_path {
            return Ok(Task::load_task(Path::new(name), repository)?);
        }
        if let Some(task) = Task::builtin(name) {
            let mut task = task?;
            if let Some(repository) = repository {
                task.work_on(repository);
            }
            return Ok(task);
        }
        match self.workspace_case(name) {
            Some(folder) => Ok(Task::load_task(&folder, repository)?),
            None if is_folder() => Ok(Task::load_task(Path::new(name), repository)?),
            None => Err(self.unknown_task(name)),
        }
    }

    /// A word that names the task of a sealed run: its id where that is a case here, and otherwise the contract in the bundle.
    pub(crate) fn task_word(&self, report: &Report, bundle: &Path) -> String {
        let id = report.task_id.as_str();
        if Task::builtin(id).is_some() || self.workspace_case(id).is_some() {
            return id.to_owned();
        }
        shell_words::quote(&bundle.join(names::CONTRACT).display().to_string()).into_owned()
    }

    /// Folder of a case that the workspace has under this name.
    pub(crate) fn workspace_case(&self, name: &str) -> Option<PathBuf> {
        let plain = contract::TaskId::try_from(name.to_owned()).ok()?;
        let folder = self.config.workspace.as_ref()?.join("cases").join(plain.as_str());
        folder.is_dir().then_some(folder)
    }

    /// Names of the workspace's own cases.
    fn workspace_cases(&self) -> Vec<String> {
        let folder = self.config.workspace.as_ref().map(|workspace| workspace.join("cases"));
        let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten();
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
    }

    fn unknown_task(&self, name: &str) -> CommandError {
        let own = self.workspace_cases();
        let known = fixtures::builtin().iter().map(|case| case.id).chain(own.iter().map(String::as_str));
        let suggestion = nearest(name, known).map(str::to_owned);
        LoadTaskError::Unknown { name: name.to_owned(), suggestion }.into()
    }

    /// Complete request for a run, from arguments and settings.
    pub(crate) fn build_ask(&self, asked: &Asked, task: &Task, purpose: Purpose) -> Result<Ask, CommandError> {
        // A run that goes on from another is of the same engine and stage unless another one is named.
        let before = task.continued.as_ref();
        let said = asked.engine.as_deref().or(before.map(|before| before.engine.as_str()));
        let engine = said.unwrap_or(FAKE).to_owned();
        self.known_engine(&engine)?;
        let stage = match asked.stage {
            Some(number) => Stage::try_from(number).map_err(CommandError::usage)?,
            None => before.map_or_else(|| task.default_stage(), |before| before.stage),
        };
        let sandbox = self.sandbox(asked.sandbox.map(Profile::from))?;
        let mut model = model_ask(&engine, self.config.engines.configured.get(&engine))?;
        if let Some(pair) = &asked.model {
            model.pair = Some(pair.clone());
        }
        let timeout_seconds = self.config.engines.configured.get(&engine).and_then(|config| config.timeout_seconds);
        let named = self.config.engines.configured.get(&engine).and_then(|config| config.target_admission.as_ref());
        let target = asked.target.as_ref().or(named).map(std::path::absolute).transpose()?;
        let work = asked.work.clone();
        let request_command = asked.words("request", task, stage, None);
        let keep_workspace = false;
        let ask = Ask {
            engine,
            stage,
            purpose,
            sandbox,
            timeout_seconds,
            keep_workspace,
            model,
            target,
            request_command,
            work,
            at: asked.at.clone().or_else(|| Some(before.filter(|run| run.is_from_commit)?.baseline_commit.clone())),
        };
        match ask.at_problem() {
            Some(problem) => {
                Err(CommandError::usage(problem).hint("leave --at out, or say --stage 3 --sandbox strict"))
            }
            None => Ok(ask),
        }
    }

    /// Request with the defaults of the settings, for commands without arguments of their
    /// own.
    pub(crate) fn plain_ask(&self, engine: &str, task: &Task, purpose: Purpose) -> Result<Ask, CommandError> {
        self.known_engine(engine)?;
        let sandbox = self.default_sandbox();
        Ok(Ask {
            engine: engine.to_owned(),
            stage: task.default_stage(),
            purpose,
            sandbox,
            timeout_seconds: None,
            keep_workspace: false,
            model: model_ask(engine, self.config.engines.configured.get(engine))?,
            target: None,
            request_command: String::new(),
            work: None,
            at: None,
        })
    }

    /// Fails with a suggestion if there is no such engine.
    pub(crate) fn known_engine(&self, engine: &str) -> Result<(), CommandError> {
        if self.config.engines.is_known(engine) {
            return Ok(());
        }
        let ids = self.config.engines.ids();
        let meant = did_you_mean(engine, ids.iter().map(String::as_str).chain([FAKE]));
        let known = ids.join(", ");
        Err(CommandError::usage(format!("there is no engine `{}`{meant}", contract::text::show_controls(engine)))
            .hint(format!("engines: {FAKE}, {known}")))
    }

    /// A flag can ask for a stricter profile than the configuration, never for a weaker one.
    fn sandbox(&self, asked: Option<Profile>) -> Result<Profile, CommandError> {
        match (asked, self.config.sandbox_floor) {
            (Some(asked), Some(floor)) if asked < floor => Err(CommandError::usage(format!(
                "--sandbox {asked} is weaker than `{floor}`, which the configuration demands"
            ))
            .hint("cto config")),
            (asked, _) => Ok(asked.unwrap_or(self.default_sandbox())),
        }
    }

    /// The profile where none is asked for.
    pub(crate) fn default_sandbox(&self) -> Profile {
        self.config.sandbox_floor.unwrap_or(Profile::Strict)
    }
}
