//! A home that nobody keeps: its own keys, records and repositories, and settings in which
//! no record of the operator's counts.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use contract::approval::{OutcomeSchema, OutcomeVerdict};
use contract::task::{ForbiddenAction, SourceClassification};
use contract::{MutationMode, Purpose, Report, Stage, canonical_bytes};
use cortex::RECORD_NAMESPACE;
use harness::{
    Ask, Engines, Harness, HomePlace, ModelAsk, PersonSignature, Quiet, Task, Watch, draft_outcome, govern,
    record_outcome,
};
use ledger::RequestStep;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::PASS_CASE;
use super::check::TrialStop;
use super::repository::TrialRepository;
use crate::approvals_view::{Deciding, sentence_of};
use crate::args::ApproveArgs;
use crate::commands::approve::grant;
use crate::commands::key::make_operator_key;
use crate::commands::request::{AskedRequest, make_request};
use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;
use crate::signing::OperatorKey;

/// Paths that the trial target's admission lets change: those of the cases.
const ADMITTED_PATHS: [&str; 3] = ["strings.py", "greet.sh", ".gitignore"];

/// Home with repositories to copy or to change, and one that must stay untouched.
pub(in crate::commands) struct TrialHome<'a> {
    real: &'a Context,
    /// Settings of this home.
    pub(in crate::commands) context: Context,
    /// Repositories that were made here, the protected one first.
    watched: RefCell<Vec<TrialRepository>>,
    dir: TempDir,
}

/// A run that was made here.
#[derive(Debug)]
pub(in crate::commands) struct TrialRun {
    pub(in crate::commands) report: Report,
    pub(in crate::commands) dir: PathBuf,
}

impl<'a> TrialHome<'a> {
    /// Makes the home with keys, records and a protected repository of its own.
    pub(in crate::commands) fn make_home(real: &'a Context, engines: Engines) -> Result<Self, CommandError> {
        let dir = tempfile::Builder::new().prefix("cto-validate-").tempdir()?;
        let root = dir.path().canonicalize()?;
        let protected = TrialRepository::make_repository(root.join("protected"), PASS_CASE, &real.config.tools)?;
        let mut config = real.config.for_trial(root.join("home"), engines);
        config.named_repositories.protected_roots.push(protected.root().to_owned());
        let output =
            Output { json: false, quiet: true, terminal: false, progress: false, step_lines: false, ..real.output };
        let context = Context { output, config, cancel: real.cancel.clone() };
        Ok(Self { real, context, watched: RefCell::new(vec![protected]), dir })
    }

    /// Makes a repository of a case's files, which must stay as it is but for what is
    /// landed in it. Under another name it is another.
    pub(in crate::commands) fn make_repository(&self, name: &str, case: &str) -> Result<PathBuf, CommandError> {
        let root = self.dir.path().canonicalize()?.join("repositories").join(name);
        if !root.is_dir() {
            let made = TrialRepository::make_repository(root.clone(), case, &self.real.config.tools)?;
            self.watched.borrow_mut().push(made);
        }
        Ok(root)
    }

    /// The first file of any repository here that is not as it was.
    pub(in crate::commands) fn find_change(&self) -> Result<Option<String>, CommandError> {
        for repository in self.watched.borrow().iter() {
            if let Some(change) = repository.find_change()? {
                return Ok(Some(change));
            }
        }
        Ok(None)
    }

    /// A harness on this home, which the operator's kill switch stops.
    pub(in crate::commands) fn harness(&self) -> Result<Harness, CommandError> {
        let place: HomePlace = self.context.config.place();
        Ok(self.context.harness_at(&place)?.heeding_halt(&self.real.config.home))
    }

    /// Makes the key of this home and lets it sign.
    pub(in crate::commands) fn make_signer(&self) -> Result<(), CommandError> {
        let key = self.harness()?.home.operator_key_path();
        make_operator_key(&key)?;
        let public = fs::read_to_string(key.with_extension("pub"))?;
        let trust = self.context.config.home.join("trust");
        fs::create_dir_all(&trust)?;
        let list = trust.join("allowed_signers");
        fs::write(&list, format!("operator namespaces=\"cto-*\" {public}"))?;
        Ok(fs::set_permissions(&list, fs::Permissions::from_mode(0o600))?)
    }

    /// Writes and signs an admission of a repository, with some keys changed.
    pub(in crate::commands) fn admit_target(
        &self,
        repository: &Path,
        changes: &[(&str, Value)],
    ) -> Result<PathBuf, CommandError> {
        let mut record = json!({
            "admission_status": "admitted", "allowed_paths": ADMITTED_PATHS, "approval_source": "cto validate",
            "approval_timestamp": "2026-01-01", "forbidden_actions": ForbiddenAction::ALL,
            "forbidden_paths": [], "noncritical_rationale": "a temporary repository",
            "operator_outcome_required": true, "ownership_evidence": "made by this command",
            "repository_owner": "cto", "review_trigger": "never", "risk_classification": "low_risk_noncritical",
            "target_repository_path": repository.display().to_string(),
        });
        for (key, value) in changes {
            record[*key] = value.clone();
        }
        let file = repository.with_extension("json");
        let bytes = serde_json::to_vec(&record)?;
        fs::write(&file, &bytes)?;
        let armour = OperatorKey::choose_key(&self.context, None)?.sign_bytes(&bytes, RECORD_NAMESPACE)?;
        fs::write(file.with_extension("json.sig"), armour)?;
        Ok(file)
    }

    /// A built-in case as it is run at a stage: on a repository at stage 3, and with no
    /// ceiling of its own.
    pub(in crate::commands) fn load_case(&self, id: &str, stage: Stage, name: &str) -> Result<Task, CommandError> {
        let missing = || CommandError::fail(format!("the built-in case `{id}` is missing"));
        let mut task = Task::builtin(id).ok_or_else(missing)??;
        task.contract.mutation_mode = MutationMode::CandidateDefault;
        if stage == Stage::COPIED_REPOSITORY {
            task.contract.source_owner = Some("cto".to_owned());
            task.contract.source_classification = Some(SourceClassification::OwnedLocal);
            task.work_on(&self.make_repository(name, id)?);
        }
        Ok(task)
    }

    /// A run that is wanted.
    pub(in crate::commands) fn ask_run(&self, engine: &str, stage: Stage, target: Option<&Path>) -> Ask {
        Ask {
            engine: engine.to_owned(),
            stage,
            purpose: Purpose::Validation,
            sandbox: self.context.default_sandbox(),
            timeout_seconds: None,
            keep_workspace: false,
            model: ModelAsk::default(),
            target: target.map(Path::to_owned),
            request_command: String::new(),
            work: None,
            at: None,
        }
    }

    /// Runs a task in the home.
    pub(in crate::commands) fn run_task(&self, task: &Task, ask: &Ask) -> Result<TrialRun, TrialStop> {
        let watch = Watch { cancel: &self.context.cancel, observer: &Quiet };
        let outcome = govern(&self.harness()?, task, ask, watch)?;
        match outcome.interrupted {
            true => Err(TrialStop::Interrupted),
            false => Ok(TrialRun { report: outcome.sealed.report, dir: outcome.sealed.dir }),
        }
    }

    /// Requests a run and decides on it with a signature, as a person does. A plan that
    /// other gates refuse cannot be requested; its run reports that itself.
    pub(in crate::commands) fn decide_on(&self, task: &Task, ask: &Ask, step: RequestStep) -> Result<(), CommandError> {
        let AskedRequest::Recorded(_, record) = make_request(&self.context, &self.harness()?, task, ask, None)? else {
            return Ok(());
        };
        let deciding = Deciding::open_request(&self.context, &record.name(), None, step)?;
        if step == RequestStep::Denied {
            let denial = deciding.opened.draft_denial(&deciding.key.fingerprint(), "a check of denials")?;
            return deciding.record_document(step, &denial, false).map(drop);
        }
        let sentence = sentence_of(&deciding.opened);
        grant(&deciding, sentence, &ApproveArgs::with_request(deciding.request())).map(drop)
    }

    /// Settings and folder, for later reads of the home; it goes with the folder.
    pub(in crate::commands) fn into_parts(self) -> (Context, TempDir) {
        (self.context, self.dir)
    }

    /// Signs that the operator accepts a run.
    pub(in crate::commands) fn accept(&self, run: &Report) -> Result<(), CommandError> {
        let (_found, bundle) = self.context.bind_run(run.run_id.as_str())?;
        let key = OperatorKey::choose_key(&self.context, None)?;
        let reason = "a check of outcomes";
        let statement = draft_outcome(&bundle, OutcomeVerdict::Accepted, reason, Some(key.fingerprint()))?;
        let armour = key.sign_bytes(&canonical_bytes(&statement)?, OutcomeSchema::NAMESPACE)?;
        let fingerprint = key.fingerprint();
        let signature = PersonSignature { armour: &armour, key_fingerprint: &fingerprint };
        Ok(record_outcome(&self.harness()?, &statement, Some(signature)).map(drop)?)
    }
}
