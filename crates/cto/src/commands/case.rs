//! `cto case list|new|check`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use contract::case::Expect;
use contract::report::PassKind;
use contract::task::{BlindCheck, hidden_exit_code};
use contract::{Coverage, Report, Status, TaskId};
use fixtures::{Cheat, CheatFile};
use harness::{LoadTaskError, Task};
use serde::Serialize;
use serde_json::json;

use super::{INTERRUPTED, matrix};
use crate::args::CaseCommand;
use crate::context::Context;
use crate::error::CommandError;

/// Lists, makes or checks cases.
pub(crate) fn case(context: &Context, command: &CaseCommand) -> Result<u8, CommandError> {
    match command {
        CaseCommand::List => list(context),
        CaseCommand::New { id, dir } => new(context, id, dir.as_deref()),
        CaseCommand::Check { cases } => check(context, cases),
    }
}

/// Ids of every case that can be run by id, the cheats aside.
pub(super) fn ids(context: &Context) -> Result<Vec<String>, CommandError> {
    let mut ids: Vec<String> = fixtures::builtin().iter().map(|case| case.id.to_owned()).collect();
    if let Some(folder) = context.config.workspace.as_ref().map(|workspace| workspace.join("cases"))
        && folder.is_dir()
    {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.path().join("case.yaml").is_file() {
                ids.extend(entry.file_name().into_string().ok());
            }
        }
    }
    ids.sort();
    ids.dedup();
    Ok(ids)
}

/// One line of the list.
#[derive(Serialize)]
struct Listed {
    case_id: String,
    title: String,
    expect: Expect,
    /// Cheated case; none for an ordinary case.
    #[serde(skip_serializing_if = "Option::is_none")]
    cheat: Option<Cheating>,
}

/// Case of a cheat, and its language.
#[derive(Serialize)]
struct Cheating {
    on: String,
    language: &'static str,
}

impl Listed {
    fn case(context: &Context, id: String) -> Result<Self, CommandError> {
        let task = context.load_task(&id, None)?;
        Ok(Self { case_id: id, title: task.contract.title, expect: task.expect.unwrap_or_default(), cheat: None })
    }

    fn cheat(file: &CheatFile) -> Result<Self, CommandError> {
        let Cheat { on, language, does, expect, .. } = file.load().map_err(LoadTaskError::Invalid)?;
        let cheat = Some(Cheating { on, language: language.as_str() });
        Ok(Self { case_id: file.id.to_owned(), title: does, expect, cheat })
    }

    fn about(&self) -> String {
        let cheat = self.cheat.as_ref().map_or_else(String::new, |cheat| format!("cheat on {}: ", cheat.on));
        contract::text::show_controls(&format!("{cheat}{}", self.title))
    }
}

/// The cases, then the cheats.
fn list(context: &Context) -> Result<u8, CommandError> {
    let output = context.output;
    let cases = ids(context)?.into_iter().map(|id| Listed::case(context, id));
    let cheats = fixtures::cheats().iter().map(Listed::cheat);
    let rows = cases.chain(cheats).collect::<Result<Vec<_>, _>>()?;
    if output.json {
        output.print_json(&rows)?;
        return Ok(0);
    }
    let width = rows.iter().map(|row| row.case_id.len()).max().unwrap_or_default();
    let mut text = String::new();
    for row in &rows {
        let _ = writeln!(text, "{:<width$} {:<8} {}", row.case_id, row.expect.status.as_str(), row.about());
    }
    output.print(&text);
    Ok(0)
}

const NEW_CASE: &str = r#"schema_version: "1"
task_id: @ID@
title: add a usage line
brief: |
  greet.sh prints nothing when it is called without a name. Make it print "usage: greet.sh NAME" and exit 2.
risk_class: low
allowed_paths:
  - greet.sh
mutation_mode: copied-fixture
verification_commands:
  - argv: [sh, test.sh]
    timeout_seconds: 30
# An altered exam that must fail, and input whose answer stands only here: without them a pass proves less.
control_patch: control.patch
blind_checks:
  - argv: [sh, greet.sh, Ada]
    expect_stdout: "hello, Ada\n"
required_events: [run.started, task.contract.created, plan.updated, patch.applied, git.diff.checked, verification.completed, run.completed]
# What the built-in fake engine does with it: applies the patch you would want from a real one.
fake:
  patch: good.patch
expect:
  status: pass
"#;

const NEW_FILES: &[(&str, &str)] = &[
    ("files/greet.sh", "if [ -n \"$1\" ]; then\n  echo \"hello, $1\"\nfi\n"),
    (
        "files/test.sh",
        "set -e\n[ \"$(sh greet.sh Bob)\" = \"hello, Bob\" ]\nif sh greet.sh >out 2>&1; then exit 1; fi\ngrep -q \"usage: greet.sh NAME\" out\n",
    ),
    (
        "good.patch",
        "--- a/greet.sh\n+++ b/greet.sh\n@@ -1,3 +1,5 @@\n-if [ -n \"$1\" ]; then\n-  echo \"hello, $1\"\n-fi\n+if [ -z \"$1\" ]; then\n+  echo \"usage: greet.sh NAME\"\n+  exit 2\n+fi\n+echo \"hello, $1\"\n",
    ),
    (
        "control.patch",
        "--- a/test.sh\n+++ b/test.sh\n@@ -1,4 +1,4 @@\n set -e\n-[ \"$(sh greet.sh Bob)\" = \"hello, Bob\" ]\n+[ \"$(sh greet.sh Bob)\" = \"goodbye, Bob\" ]\n if sh greet.sh >out 2>&1; then exit 1; fi\n grep -q \"usage: greet.sh NAME\" out\n",
    ),
];

fn new(context: &Context, id: &str, dir: Option<&Path>) -> Result<u8, CommandError> {
    let id =
        TaskId::try_from(id.to_owned()).map_err(|error| CommandError::usage(error).hint("cto case new my-case"))?;
    if fixtures::find(id.as_str()).is_some() || fixtures::find_cheat(id.as_str()).is_some() {
        return Err(CommandError::usage(format!("`{id}` is a built-in case")).hint("choose another id"));
    }
    let folder = match (dir, &context.config.workspace) {
        (Some(dir), _) => dir.join(id.as_str()),
        (None, Some(workspace)) => workspace.join("cases").join(id.as_str()),
        (None, None) => {
            return Err(
                CommandError::usage("there is no workspace to put a case in").hint("cto init, or say --dir DIR")
            );
        }
    };
    write_new(&folder, &id).map_err(|error| {
        CommandError::usage(format!("cannot make {}: {error}", folder.display()))
            .hint("choose another id, or another place with --dir DIR")
    })?;
    let output = context.output;
    if output.json {
        output.print_json(&json!({"case_id": id, "path": folder.display().to_string()}))?;
    } else {
        let shown = contract::text::show_controls(&folder.display().to_string());
        output.print(&format!(
            "made {shown}\n{}  {}\n",
            output.paint.dim("next"),
            output.paint.command(&format!("cto case check {shown}"))
        ));
    }
    Ok(0)
}

fn write_new(folder: &PathBuf, id: &TaskId) -> std::io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::create_dir(folder)?;
    fs::create_dir(folder.join("files"))?;
    fs::write(folder.join("case.yaml"), NEW_CASE.replace("@ID@", id.as_str()))?;
    NEW_FILES.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text))
}

/// Loads each case, runs it in a temporary home and compares the end with what it declares.
fn check(context: &Context, cases: &[String]) -> Result<u8, CommandError> {
    context.refuse_when_halted()?;
    let scratch = tempfile::tempdir()?;
    let harness = context.harness_at(&scratch.path().to_owned().into())?;
    let output = context.output;
    let mut rows = Vec::new();
    for name in cases {
        let path = Path::new(name);
        let task = if path.is_dir() { Task::load_task(path, None)? } else { context.load_task(name, None)? };
        let id = task.contract.task_id.to_string();
        let Some((row, report)) = matrix::run_one(context, &harness, "fake", &id, &task)? else {
            return Ok(INTERRUPTED);
        };
        let advice = advice(&task, &report);
        if !output.json {
            let verdict = if row.as_declared { "pass" } else { "fail" };
            let reasons: Vec<&str> = row.reasons.iter().map(|reason| reason.code()).collect();
            output.print(&format!("{verdict} {id} ended {} {}\n", row.status, reasons.join(",")));
            advice.iter().for_each(|advice| output.print(&format!("advice {id} {}\n", advice.line())));
        }
        rows.push((row, advice));
    }
    if output.json {
        let all: Vec<_> = rows.iter().map(|(row, advice)| json!({"row": row, "advice": advice})).collect();
        output.print_json(&all)?;
    }
    Ok(u8::from(!rows.iter().all(|(row, _)| row.as_declared)))
}

/// Weakness of a case that passes, and the key that mends it.
#[derive(Serialize)]
struct Advice {
    /// Gap in a run's coverage; none if the contract itself is weak, whatever a run finds.
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<Coverage>,
    key: &'static str,
    text: &'static str,
}

const NO_CONTROL: Advice = Advice {
    coverage: Some(Coverage::ExamWithoutControl),
    key: "control_patch",
    text: "no exam that must fail was run, so a pass does not prove that the exam can fail. \
           Add a patch that makes one of the tests fail",
};
const NO_BLIND: Advice = Advice {
    coverage: Some(Coverage::ExamInProcess),
    key: "blind_checks",
    text: "the patch may share a process with the test runner, so a pass does not prove that the runner told the truth. \
           Add input whose expected output only the case has",
};

impl Advice {
    fn line(&self) -> String {
        format!("{} {}: {}", self.coverage.map_or("exit_code", Coverage::code), self.key, self.text)
    }
}

/// Advice for cases that must pass. If the harness knows the runner, it makes a control
/// itself and the case needs none.
fn advice(task: &Task, report: &Report) -> Vec<Advice> {
    let contract = &task.contract;
    let passes = task.expect.as_ref().is_none_or(|expect| expect.status == Status::Pass);
    let exam = passes && !contract.verification_commands.is_empty();
    let controlled = report.verification.passes.iter().any(|pass| pass.kind == PassKind::Control);
    let mut found = Vec::new();
    if exam && contract.control_patch.is_none() && !controlled {
        found.push(NO_CONTROL);
    }
    if exam && !contract.blind_checks.iter().any(BlindCheck::compares_output) {
        found.push(NO_BLIND);
    }
    let hidden = contract.verification_commands.iter().find_map(|command| hidden_exit_code(&command.argv));
    found.extend(hidden.map(|text| Advice { coverage: None, key: "verification_commands", text }));
    found
}
