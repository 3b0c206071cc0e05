//! A home that nobody keeps, with the stand-in for Case installed in it and a model server
//! that answers from a script.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use bridge::{Credential, NetworkClass, UseLimits};
use contract::engine::{GateSaid, GateSpeaker};
use contract::{Purpose, Report, Stage};
use cortex::RecordPlaces;
use evidence::stop;
use fixtures::scripted::{Reply, Script, ScriptedServer, Step, When};
use harness::{Ask, EngineConfig, Engines, Harness, ModelAsk, ModelSettings, Quiet, Task, Watch, govern};
use serde_json::json;
use tempfile::TempDir;

use super::TrialStop;
use crate::context::Context;
use crate::error::CommandError;

/// Built-in case of the runs.
pub(in crate::commands) const CASE: &str = "r1-string-slugify";
const PROVIDER: &str = "qwen-local";
const MODEL: &str = "qwen3.6-35b-a3b";
/// The work of the case.
pub(in crate::commands) const WORK: &str =
    "sed -i 's/return text.lower().*/return \"-\".join(text.lower().split())/' strings.py";

/// Temporary home with a stand-in for Case.
pub(in crate::commands) struct Lab<'a> {
    context: &'a Context,
    dir: TempDir,
    /// State of the gate; closed for runs that must not pass.
    pub(in crate::commands) gate: Vec<GateSaid>,
    program: PathBuf,
    home: PathBuf,
    limits: UseLimits,
}

/// A model that has an implementer do this, and every phase end well.
pub(in crate::commands) fn working(command: &str) -> Script {
    let envelope = json!({"status": "completed", "summary": "done"});
    let done = || Reply::text(format!("<<<AGENT_RESULT\n{envelope}\nAGENT_RESULT>>>"));
    let when = |text: &str| When { contains: Some(text.to_owned()), ..When::default() };
    let call = Reply::call("bash", json!({"command": command}));
    let steps = vec![
        Step { when: when("You are the implementer of"), times: Some(1), reply: call },
        Step { when: when("You are the "), times: None, reply: done() },
    ];
    Script { steps, otherwise: Reply::text("ready") }
}

/// A run that is asked for.
pub(in crate::commands) struct Trial {
    pub(in crate::commands) engine: &'static str,
    pub(in crate::commands) stage: u8,
    pub(in crate::commands) purpose: Purpose,
    pub(in crate::commands) script: Script,
    pub(in crate::commands) admitted: bool,
    pub(in crate::commands) timeout_seconds: Option<u64>,
    /// Instructions for the stand-in.
    pub(in crate::commands) words: &'static str,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            engine: "case",
            stage: 2,
            purpose: Purpose::Validation,
            script: working(WORK),
            admitted: true,
            timeout_seconds: None,
            words: "quiet",
        }
    }
}

impl<'a> Lab<'a> {
    /// Makes the home and installs the stand-in.
    pub(in crate::commands) fn build_lab(context: &'a Context) -> Result<Self, CommandError> {
        let dir = tempfile::Builder::new().prefix("cto-health-").tempdir()?;
        let program = install(dir.path())?;
        let home = dir.path().join("home");
        Ok(Self { context, dir, gate: Vec::new(), program, home, limits: UseLimits::default() })
    }

    /// The same with another home.
    #[must_use]
    pub(in crate::commands) fn in_home(self, home: PathBuf) -> Self {
        Self { home, ..self }
    }

    /// The same with limits of a day.
    #[must_use]
    pub(in crate::commands) fn limited(self, limits: UseLimits) -> Self {
        Self { limits, ..self }
    }

    /// Opens the gate for one stage.
    pub(in crate::commands) fn open_gate(&mut self, stage: u8) -> Result<(), CommandError> {
        let stage = Stage::try_from(stage).map_err(CommandError::usage)?;
        self.gate = vec![GateSaid { by: GateSpeaker::Environment, allowed: Some(true), stage: Some(stage) }];
        Ok(())
    }

    /// Runs one trial with a scripted model server.
    pub(in crate::commands) fn run_trial(&self, trial: Trial) -> Result<Report, TrialStop> {
        let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0")?, trial.script)?;
        let mut task = Task::builtin(CASE).ok_or_else(|| CommandError::fail("a built-in case is missing"))??;
        task.contract.brief = format!("ca-stand-in: {}\n{}", trial.words, task.contract.brief);
        let pair = contract::ModelPair::new(PROVIDER, MODEL).map_err(|error| CommandError::fail(error.to_string()))?;
        let is_admitted = trial.admitted || stop::has_defect("model_admission_given");
        let ask = Ask {
            engine: trial.engine.to_owned(),
            stage: Stage::try_from(trial.stage).map_err(CommandError::usage)?,
            purpose: trial.purpose,
            sandbox: self.context.default_sandbox(),
            timeout_seconds: trial.timeout_seconds,
            keep_workspace: false,
            model: ModelAsk {
                pair: Some(pair),
                admission_file: is_admitted.then(|| self.admission()).transpose()?,
                local_base_url: Some(format!("http://{}/v1", server.address())),
                ..ModelAsk::default()
            },
            target: None,
            request_command: String::new(),
            work: None,
            at: None,
        };
        let watch = Watch { cancel: &self.context.cancel, observer: &Quiet };
        let outcome = govern(&self.harness()?, &task, &ask, watch)?;
        if outcome.interrupted {
            return Err(TrialStop::Interrupted);
        }
        Ok(outcome.sealed.report)
    }

    fn harness(&self) -> Result<Harness, CommandError> {
        let network = NetworkClass { hosts: vec!["127.0.0.1".to_owned()], scripted: true, ..NetworkClass::default() };
        let models = ModelSettings {
            credential_sources: [("none".to_owned(), Credential::None)].into(),
            network_classes: [("local".to_owned(), network)].into(),
            limits_per_day: self.limits,
            ..ModelSettings::default()
        };
        let config = EngineConfig {
            gate: self.gate.clone(),
            executable: Some(self.program.clone()),
            settle_seconds: Some(1),
            ..EngineConfig::default()
        };
        let engines = Engines { configured: [("case".to_owned(), config)].into() };
        let harness = self.context.harness_for_trial(self.home.clone(), engines)?;
        Ok(harness.with_records(RecordPlaces::default()).with_models(models))
    }

    fn admission(&self) -> Result<PathBuf, CommandError> {
        let file = self.dir.path().join("admission.json");
        let record = json!({
            "admission_timestamp": "2026-01-01T00:00:00Z", "allowed_network_class": "local",
            "approval_source": "cto health", "credential_source_class": "none", "model": MODEL, "provider": PROVIDER,
            "review_trigger": "never", "status": "admitted",
        });
        fs::write(&file, record.to_string())?;
        Ok(file)
    }
}

/// The own executable with a launcher beside it, as a package, so that both are taken into
/// the sandbox.
fn install(dir: &Path) -> Result<PathBuf, CommandError> {
    let package = dir.join("node_modules/ca-stand-in");
    fs::create_dir_all(&package)?;
    fs::write(package.join("package.json"), r#"{"name": "ca-stand-in", "version": "0.1.0"}"#)?;
    fs::copy(std::env::current_exe()?, package.join("cto"))?;
    let launcher = package.join("ca");
    fs::write(&launcher, "#!/bin/sh\nexec \"${0%/*}/cto\" __ca \"$@\"\n")?;
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755))?;
    Ok(launcher)
}
