//! Parts of Case that a description in data cannot express: the task file and its appendix,
//! the project it works on, and the models of the agent inside it. All are JSON made of
//! foreign text, so they are built and not filled in; and all are read back, because the
//! program ignores files that it cannot read and goes to its built-in model.

mod workspace;

use contract::model::Wire;
use contract::{ModelPair, TaskBounds, TaskContract};
use serde_json::{Value, json};

use crate::run::file::RunFile;
pub(super) use workspace::{prepare_workspace, work_branch};

/// Provider name of the admitted model inside Case: its own provider of this name is
/// pointed at the bridge, whatever the real provider is.
pub(crate) const RUNTIME_PROVIDER: &str = "openai";

const DATA: &str = "case-data";
const CONFIG: &str = "case-data/config.json";
const TASKS: &str = "case-data/tasks/active";
const PROJECTS: &str = "case-data/projects.json";
const MODELS: &str = "case-data/pi-agent/models.json";
/// The name by which task and project find each other.
const PROJECT: &str = "workspace";

/// Inputs of the files.
pub(super) struct CaseInputs<'a> {
    /// Made of the contract: the same in every run of it.
    pub(super) task_id: &'a str,
    pub(super) created: String,
    pub(super) contract: &'a TaskContract,
    pub(super) bounds: &'a TaskBounds,
    /// True if pushing and opening pull requests are forbidden.
    pub(super) is_close_out_forbidden: bool,
    pub(super) brief: &'a str,
    /// Workspace as the program sees it.
    pub(super) workspace: &'a str,
    pub(super) pair: Option<&'a ModelPair>,
    pub(super) wire: Wire,
    pub(super) base_url: &'a str,
}

/// Name of the task. It is part of every prompt, so it must not be the run's id: recorded
/// traffic would never be found again. The program's data are new in each run, so no
/// earlier task has this name.
pub(super) fn task_id(run: &RunFile<'_>) -> String {
    format!("{}-{}", run.task().contract.task_id, &run.contract_digest().to_string()[..8])
}

/// Place of the task file below its state: in the data directory, where the program looks
/// for active tasks.
pub(super) fn task_file(task_id: &str) -> String {
    format!("{TASKS}/{task_id}.task.json")
}

/// Every file, by its place below the state.
pub(super) fn files(given: &CaseInputs<'_>) -> Vec<(String, String)> {
    let mut files = vec![
        (task_file(given.task_id), text(&task(given))),
        (format!("{TASKS}/{}.md", given.task_id), format!("{}{}", given.brief, appendix(given))),
        (PROJECTS.to_owned(), text(&projects(given))),
    ];
    if let Some(pair) = given.pair {
        files.push((CONFIG.to_owned(), text(&config(pair))));
        files.push((MODELS.to_owned(), text(&models(pair, given.wire, given.base_url))));
    }
    files
}

fn text(document: &Value) -> String {
    format!("{document:#}\n")
}

fn task(given: &CaseInputs<'_>) -> Value {
    json!({
        "branch": work_branch(given.task_id),
        "checkBaseline": null,
        // The command must print one number. A test command prints none, and work after which that
        // is "unchanged" is discarded.
        "checkCommand": null,
        "checkTarget": null,
        "created": given.created,
        "fastTestCommand": null,
        "id": given.task_id,
        "issueType": "freeform",
        "mode": "unattended",
        "profile": "standard",
        "repo": PROJECT,
        "status": "active",
        "title": given.contract.title,
    })
}

fn projects(given: &CaseInputs<'_>) -> Value {
    let commands = given.contract.verification_commands.first().map(|command| command.argv.join(" "));
    json!({"repos": [{
        "commands": {"test": commands.unwrap_or_default()},
        "description": given.contract.title,
        "language": "unknown",
        "name": PROJECT,
        "packageManager": "none",
        "path": given.workspace,
        "remote": "",
        "type": "library",
    }]})
}

fn config(pair: &ModelPair) -> Value {
    json!({"models": {"default": {"model": pair.model, "provider": RUNTIME_PROVIDER}}})
}

/// The model is named also where the address alone would do: the program knows no model
/// that is not of its own list.
fn models(pair: &ModelPair, wire: Wire, base_url: &str) -> Value {
    let api = match wire {
        Wire::ChatCompletions => "openai-completions",
        Wire::Responses | Wire::Messages => "openai-responses",
    };
    json!({"providers": {RUNTIME_PROVIDER: {
        "api": api,
        "apiKey": "$OPENAI_API_KEY",
        "baseUrl": base_url,
        "models": [{"id": pair.model}],
    }}})
}

/// Deviation of the written files from the admitted pair at the bridge; none if they are as
/// intended.
pub(super) fn differs(given: &CaseInputs<'_>, read: &[(String, Vec<u8>)]) -> Option<String> {
    let pair = given.pair?;
    let document = |name: &str| {
        let (_, bytes) = read.iter().find(|(path, _)| path == name)?;
        serde_json::from_slice::<Value>(bytes).ok()
    };
    let rows = [(CONFIG, config(pair)), (MODELS, models(pair, given.wire, given.base_url))];
    let (name, _) = rows.into_iter().find(|(name, meant)| document(name).as_ref() != Some(meant))?;
    Some(format!("{} does not say what {pair} was admitted for", name.trim_start_matches(DATA).trim_start_matches('/')))
}

/// States how the program's phases end their answers, and with which files: their own
/// templates say it too, and models forget it.
fn appendix(given: &CaseInputs<'_>) -> String {
    let envelope = json!({
        "artifacts": {"commit": null, "filesChanged": given.bounds.allowed, "testsPassed": true},
        "status": "completed",
        "summary": "what was done, in a line",
    });
    let close_out = if given.is_close_out_forbidden { CLOSE_OUT_FORBIDDEN } else { CLOSE_OUT };
    format!(
        "\n## Result protocol\n\n\
         End the answer with exactly one block of this form. `status` is `completed`, `failed` or `blocked`. `filesChanged` names \
         the files that changed, out of the allowed paths, and nothing else. `commit` is the id of a commit that was made, or null.\n\n\
         ```\n<<<AGENT_RESULT\n{envelope}\nAGENT_RESULT>>>\n```\n\n\
         The work branch is checked out, and `main` is the state before the work.\n\n{close_out}\n"
    )
}

const CLOSE_OUT: &str = "Push nothing, and open no pull request: there is no network.";
const CLOSE_OUT_FORBIDDEN: &str = "Pushing and opening a pull request are forbidden, and there is no network. Closing the task \
    is `completed` without them, with `prUrl: null`; the checks before a pull request are not needed.";

#[cfg(test)]
mod tests {
    use super::*;

    fn contract() -> TaskContract {
        let text = r#"{"schema_version": "1", "task_id": "t", "title": "A \"title\"", "brief": "b", "risk_class": "low",
            "allowed_paths": ["a.py"], "forbidden_actions": ["push"], "mutation_mode": "copied-fixture",
            "verification_commands": [{"argv": ["python3", "-m", "unittest"]}]}"#;
        contract::case::load_contract("t", text.as_bytes(), &|_| unreachable!("it names no file")).unwrap()
    }

    fn check(wire: Wire, api: &str) {
        let (contract, pair) = (contract(), "prov/a\"b".parse().unwrap());
        let bounds = TaskBounds { allowed: contract.allowed_paths.clone(), ..TaskBounds::default() };
        let given = CaseInputs {
            task_id: "t1",
            created: "2026-01-01".to_owned(),
            contract: &contract,
            bounds: &bounds,
            is_close_out_forbidden: true,
            brief: "# Do\n",
            workspace: "/workspace",
            pair: Some(&pair),
            wire,
            base_url: "http://127.0.0.1:1/v1",
        };
        let files = files(&given);
        let read: Vec<(String, Vec<u8>)> =
            files.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes())).collect();
        assert_eq!(differs(&given, &read), None);
        let of = |name: &str| files.iter().find(|(path, _)| path == name).unwrap().1.clone();
        let models: Value = serde_json::from_str(&of(MODELS)).unwrap();
        assert_eq!(models["providers"]["openai"]["api"], api);
        assert_eq!(models["providers"]["openai"]["models"], json!([{"id": "a\"b"}]));
        let task: Value = serde_json::from_str(&of("case-data/tasks/active/t1.task.json")).unwrap();
        let projects: Value = serde_json::from_str(&of(PROJECTS)).unwrap();
        assert_eq!((&task["status"], &task["repo"]), (&json!("active"), &projects["repos"][0]["name"]));
        let brief = of("case-data/tasks/active/t1.md");
        assert!(brief.starts_with("# Do\n") && brief.contains("\"filesChanged\":[\"a.py\"]"), "{brief}");
        assert!(brief.contains(CLOSE_OUT_FORBIDDEN), "{brief}");
        assert_eq!((&task["checkCommand"], &task["branch"]), (&Value::Null, &json!("case/t1")));
        for (name, from, to) in [
            (CONFIG, "\"openai\"", "\"anthropic\""),
            (CONFIG, "a\\\"b", "other"),
            (MODELS, "127.0.0.1:1", "api.example.com"),
            (MODELS, "{", ""),
        ] {
            let mut changed = read.clone();
            let file = changed.iter_mut().find(|(path, _)| path == name).unwrap();
            let text = String::from_utf8(file.1.clone()).unwrap();
            assert!(text.contains(from), "{text}");
            file.1 = text.replacen(from, to, 1).into_bytes();
            assert!(differs(&given, &changed).is_some(), "{name}: {to}");
        }
        assert!(differs(&given, &[]).is_some());
    }

    #[test]
    fn what_is_written_is_what_was_admitted() {
        check(Wire::Responses, "openai-responses");
        check(Wire::ChatCompletions, "openai-completions");
    }
}
