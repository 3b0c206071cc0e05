//! A task on the command line, and the arguments of `cto run`.

use std::fmt::Display;
use std::path::PathBuf;

use clap::Args;
use contract::decision::Profile;
use contract::{ModelPair, Stage, WorkId};
use harness::{FAKE, Task};

use super::values::work_id;
use super::{OutcomeWord, ProfileName};

/// Task of `cto decide`, `cto run` and `cto request`, with the terms of its run.
#[derive(Debug, Default, Args)]
pub(crate) struct Asked {
    /// A case id, a case folder or a contract file
    #[arg(required_unless_present_any = ["brief", "continue_run"], conflicts_with_all = ["brief", "continue_run"])]
    pub(crate) task: Option<String>,
    /// Task text, for one-off work without a contract file
    #[arg(long, value_name = "TEXT", requires_all = ["allow", "repo"])]
    pub(crate) brief: Option<String>,
    /// A path that may change, as in allowed_paths; repeat it for more
    #[arg(long, value_name = "PATH", requires = "brief")]
    pub(crate) allow: Vec<String>,
    /// Take the source from this commit, branch or tag, not from the work tree; stage 3 in the strict sandbox
    #[arg(long, value_name = "COMMIT")]
    pub(crate) at: Option<String>,
    /// Continue from the patch of this run, with its contract and baseline; the whole change is judged
    #[arg(long = "continue", id = "continue_run", value_name = "RUN", conflicts_with_all = ["brief", "repo", "target", "work"])]
    pub(crate) continue_run: Option<String>,
    /// The engine; default: fake, or with --continue that of the run
    #[arg(long, value_name = "E")]
    pub(crate) engine: Option<String>,
    /// The stage, 1 to 6; default: 2 for a case and 3 with a repository
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=6))]
    pub(crate) stage: Option<u8>,
    /// The sandbox profile
    #[arg(long, value_name = "P")]
    pub(crate) sandbox: Option<ProfileName>,
    /// Model to request, as PROVIDER/MODEL; the admissions decide
    #[arg(long, value_name = "P/M")]
    pub(crate) model: Option<ModelPair>,
    /// The owned local repository to copy and work on
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
    /// Admission of the repository to change, for stages 5 and 6
    #[arg(long, value_name = "ADMISSION")]
    pub(crate) target: Option<PathBuf>,
    /// The item of the workboard, such as CTO-WORK-012; instead of the contract's own
    #[arg(long, value_name = "ID", value_parser = work_id)]
    pub(crate) work: Option<WorkId>,
}

impl Asked {
    /// The words that name the same task on another command line.
    pub(crate) fn task_words(&self) -> String {
        let mut words = self.source_words();
        push_option(&mut words, "--continue", self.continue_run.as_ref());
        push_option(&mut words, "--repo", self.repo.as_ref().map(|path| path.display()));
        shell_words::join(words)
    }

    /// The command line that asks for the same of another command. A run that it goes on from is named by its id: `@` is another one later.
    pub(crate) fn words(&self, command: &str, task: &Task, stage: Stage, timeout: Option<u64>) -> String {
        let mut words = vec!["cto".to_owned(), command.to_owned()];
        words.extend(self.source_words());
        let mut add = |flag: &str, value: Option<&dyn Display>| push_option(&mut words, flag, value);
        let engine = self.engine.as_ref().filter(|engine| *engine != FAKE || self.continue_run.is_some());
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        add("--continue", shown(&task.continued.as_ref().map(|continued| continued.run_id.suffix())));
        add("--at", shown(&self.at));
        add("--engine", shown(&engine));
        add("--stage", Some(&stage));
        add("--sandbox", shown(&self.sandbox.map(Profile::from)));
        add("--model", shown(&self.model));
        add("--repo", shown(&path(&self.repo)));
        add("--target", shown(&path(&self.target)));
        add("--work", shown(&self.work));
        add("--timeout", shown(&timeout));
        shell_words::join(words)
    }

    /// The case, the contract or the brief, with the paths that a brief allows.
    fn source_words(&self) -> Vec<String> {
        let mut words: Vec<String> = self.task.iter().cloned().collect();
        push_option(&mut words, "--brief", self.brief.as_ref());
        self.allow.iter().for_each(|path| push_option(&mut words, "--allow", Some(path)));
        words
    }
}

/// Adds an option to a command line, if it has a value.
fn push_option(words: &mut Vec<String>, flag: &str, value: Option<impl Display>) {
    words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value.to_string()]));
}

/// Value of an option, to be written out.
fn shown<T: Display>(value: &Option<T>) -> Option<&dyn Display> {
    value.as_ref().map(|value| value as &dyn Display)
}

/// Arguments of `cto run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto run r1-string-slugify
  cto run cases/my-case --keep-workspace
  cto run task.yaml --repo ~/src/site --json
  cto run --brief \"fix the crash in parse()\" --allow src/ \\
      --repo . --engine codex
  cto run task.yaml --repo . --at main      go on working meanwhile
  cto run --continue @ --engine codex")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Seconds the engine may take, if less than the contract says
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub(crate) timeout: Option<u64>,
    /// Keep the work area under CTO_HOME/work
    #[arg(long)]
    pub(crate) keep_workspace: bool,
    /// Unsigned outcome of a run that passes; it counts only after `cto outcome` signs it
    #[arg(long, value_name = "WORD")]
    pub(crate) outcome: Option<OutcomeWord>,
    /// Keep the redacted conversation of engine and model in the bundle
    #[arg(long)]
    pub(crate) record_model_traffic: bool,
    /// Answer the engine only from the recording of a run or a file
    #[arg(long, value_name = "RUN", conflicts_with = "record_model_traffic")]
    pub(crate) replay_model_traffic: Option<String>,
}
