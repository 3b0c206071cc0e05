//! Call of an engine: its arguments, its input, its environment and the configuration that
//! is written for it.

use std::fs;
use std::path::{Path, PathBuf};

use contract::engine::{EngineDefinition, TemplatePlace, Values, render_text};
use contract::model::{ModelFacts, Wire};
use contract::{Digest, TaskBounds, TaskContract};
use sandbox::Access;
use serde_json::json;

use untrusted_fs::own_files;

use super::Blocked;
use super::case;
use super::ending::is_close_out_forbidden;
use crate::gather::engine::equip::Equipped;
use crate::gather::model::ModelLink;
use crate::home::engines::CASE;
use crate::run::file::{RunFile, Stopped};
use crate::run::program_view::ProgramView;

/// Everything that is put on.
pub(super) struct EngineCall {
    pub(super) argv: Vec<String>,
    pub(super) stdin: Option<Vec<u8>>,
    pub(super) variables: Vec<(String, String)>,
    /// Text of the configuration files that were written for it.
    pub(super) configuration: String,
    /// Task text of the engine.
    pub(super) brief: String,
    /// Working directory, if it is not the tree.
    pub(super) cwd: Option<PathBuf>,
}

/// File with the task, beside the engine's standard input.
const TASK: &str = "task.md";

/// Fills the engine's definition in and writes its configuration. The inner error blocks
/// the run; the outer one interrupts it.
pub(super) fn fill_definition(
    run: &mut RunFile<'_>,
    equipped: &Equipped,
    bounds: &TaskBounds,
    model: Option<(&ModelLink, &ModelFacts)>,
    program_view: &mut ProgramView,
    state: &Path,
) -> Result<Result<EngineCall, Blocked>, Stopped> {
    let definition = &equipped.engine.definition;
    let (shown, mut argv) = equipped.pieces.command();
    for piece in shown {
        let _ = program_view.show_path(&piece.host, &piece.name, Access::ReadOnly);
    }
    let seen_state = program_view.show_path(state, "state", Access::ReadWrite);
    let mut values = values(run, equipped, bounds, program_view, &seen_state)?;
    if let Some((link, facts)) = model {
        add_model(&mut values, link, facts, definition);
    }
    let configuration = match configure(run, equipped, bounds, &mut values, state, model.map(|(_, facts)| facts))? {
        Ok(configuration) => configuration,
        Err(unfit) => return Ok(Err(unfit)),
    };
    let cwd = definition.cwd.as_ref().map(|cwd| own_place(cwd, state, &seen_state)).transpose()?;
    let put = |text: &String, place| render_text(text, place, &values).map_err(unfit);
    for argument in &definition.argv {
        argv.push(put(argument, TemplatePlace::Argument)?);
    }
    let stdin =
        definition.stdin.as_ref().map(|text| put(text, TemplatePlace::Input)).transpose()?.map(String::into_bytes);
    let mut variables = Vec::new();
    for (name, value) in &definition.variables {
        variables.push((name.clone(), put(value, TemplatePlace::Variable)?));
    }
    let brief = values.get("brief").cloned().unwrap_or_default();
    Ok(Ok(EngineCall { argv, stdin, variables, configuration, brief, cwd }))
}

/// Values of the names in a definition, except those of the model.
fn values(
    run: &mut RunFile<'_>,
    equipped: &Equipped,
    bounds: &TaskBounds,
    program_view: &mut ProgramView,
    state: &Path,
) -> Result<Values, Stopped> {
    let brief = brief(&run.task().contract, bounds, equipped.engine.id == CASE);
    let task = run.work_dir("engine")?.join(TASK);
    own_files::write_file(&task, &brief).map_err(|error| Stopped::Io(task.clone(), error))?;
    run.write_artifact("backend/task.md", brief.as_bytes())?;
    Ok(Values::from([
        ("state", text(state)),
        ("home", text(&program_view.home)),
        ("tree", equipped.pieces.tree()),
        ("workspace", text(program_view.tree())),
        ("task", text(&program_view.show_path(&task, TASK, Access::ReadOnly))),
        ("bin", equipped.pieces.bin()),
        ("path", search_path(run, program_view)),
        ("brief", brief),
    ]))
}

/// Writes what the engine will read, and reads it back: it is what the admission says, or
/// nothing is started.
fn configure(
    run: &mut RunFile<'_>,
    equipped: &Equipped,
    bounds: &TaskBounds,
    values: &mut Values,
    state: &Path,
    facts: Option<&ModelFacts>,
) -> Result<Result<String, Blocked>, Stopped> {
    let mut files = Vec::new();
    for file in &equipped.engine.definition.files {
        let below = file.path.strip_prefix("{state}/").unwrap_or(&file.path).to_owned();
        files.push((below, render_text(&file.text, TemplatePlace::File, values).map_err(unfit)?));
    }
    let (read, differs) = if equipped.engine.id == CASE {
        let task_id = case::task_id(run);
        let given = case_given(run, &task_id, bounds, values, facts);
        files.extend(case::files(&given));
        let read = write_files(&files, state)?;
        let differs = judge_configuration(&given, &read);
        let place = format!("{}/{}", values.get("state").cloned().unwrap_or_default(), case::task_file(&task_id));
        values.insert("task", place);
        (read, differs)
    } else {
        (write_files(&files, state)?, None)
    };
    record(run, &read, facts)?;
    Ok(match differs {
        Some(blocked) => Err(blocked),
        None => Ok(files.iter().map(|(_, text)| text.as_str()).collect()),
    })
}

/// The reason to start nothing where what Case will read names another model than the
/// admitted one.
fn judge_configuration(given: &case::CaseInputs<'_>, read: &[(String, Vec<u8>)]) -> Option<Blocked> {
    case::differs(given, read).map(Blocked::of_other_model)
}

/// Search path of every program.
fn search_path(run: &RunFile<'_>, program_view: &ProgramView) -> String {
    let dirs = run.setting().path();
    dirs.iter().map(|dir| text(&program_view.seen(dir))).collect::<Vec<_>>().join(":")
}

/// Makes a folder below the state and says where the engine sees it.
fn own_place(place: &str, state: &Path, seen: &Path) -> Result<PathBuf, Stopped> {
    let below = place.strip_prefix("{state}/").unwrap_or(place);
    let path = state.join(below);
    fs::create_dir_all(&path).map_err(|error| Stopped::Io(path, error))?;
    Ok(seen.join(below))
}

fn case_given<'a>(
    run: &'a RunFile<'_>,
    task_id: &'a str,
    bounds: &'a TaskBounds,
    values: &'a Values,
    facts: Option<&'a ModelFacts>,
) -> case::CaseInputs<'a> {
    let value = |name| values.get(name).map(String::as_str).unwrap_or_default();
    case::CaseInputs {
        task_id,
        created: run.clock().started().to_string(),
        contract: &run.task().contract,
        bounds,
        is_close_out_forbidden: is_close_out_forbidden(run),
        brief: value("brief"),
        workspace: value("workspace"),
        pair: facts.and_then(|facts| facts.requested.as_ref()),
        wire: facts.map_or(Wire::Responses, |facts| facts.wire),
        base_url: value("base_url"),
    }
}

fn add_model(values: &mut Values, link: &ModelLink, facts: &ModelFacts, definition: &EngineDefinition) {
    let Some(pair) = &facts.requested else { return };
    values.insert("model", pair.model.clone());
    values.insert("provider", pair.provider.clone());
    values.insert("base_url", link.base_url(facts.wire));
    values.insert("token", link.token().to_owned());
    values.extend(definition.wire_names.get(&facts.wire).map(|name| ("wire", name.clone())));
}

/// Gives what is read after it was written.
fn write_files(files: &[(String, String)], state: &Path) -> Result<Vec<(String, Vec<u8>)>, Stopped> {
    let mut read = Vec::new();
    for (below, text) in files {
        let path = state.join(below);
        let failed = |error| Stopped::Io(path.clone(), error);
        fs::create_dir_all(path.parent().unwrap_or(state)).map_err(failed)?;
        own_files::write_file(&path, text).map_err(failed)?;
        let back = untrusted_fs::read_plain(state, below.as_bytes(), text.len() as u64);
        let Some(back) = back.filter(|back| back == text.as_bytes()) else {
            return Err(failed(std::io::Error::other("the written bytes differ from the read ones")));
        };
        read.push((below.clone(), back));
    }
    Ok(read)
}

fn record(run: &mut RunFile<'_>, read: &[(String, Vec<u8>)], facts: Option<&ModelFacts>) -> Result<(), Stopped> {
    let model = facts.map(
        |facts| json!({"admission_sha256": facts.admission.sha256(), "pair": facts.requested, "wire": facts.wire}),
    );
    let files: Vec<_> =
        read.iter().map(|(path, bytes)| json!({"path": path, "sha256": Digest::of_bytes(bytes)})).collect();
    Ok(run.add_trace("engine.configured", json!({"files": files, "model": model}))?)
}

/// A definition is checked when it is loaded; what is still missing is a model it did not
/// say it needs.
fn unfit(error: contract::engine::RenderError) -> Stopped {
    Stopped::Io(PathBuf::from("engine definition"), std::io::Error::other(error.to_string()))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Tells the engine the task, its bounds, and how it will be judged. The prompt of an engine that
/// must commit does not say that it need not.
fn brief(contract: &TaskContract, bounds: &TaskBounds, commits: bool) -> String {
    let mut text = format!("# {}\n\n{}\n", contract.title, contract.brief.trim_end());
    let mut list = |title: &str, items: Vec<String>| {
        if !items.is_empty() {
            text.push_str(&format!("\n## {title}\n\n"));
            items.iter().for_each(|item| text.push_str(&format!("- {item}\n")));
        }
    };
    let quoted = |paths: &[String]| paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>();
    list("Only these paths may change", quoted(&bounds.allowed));
    list("Of those, only what is also one of these", quoted(&bounds.within));
    list("These must not change", quoted(&bounds.forbidden));
    let commands = contract.verification_commands.iter().map(|command| format!("`{}`", command.argv.join(" ")));
    list("The change will be checked with", commands.collect());
    list("It is good when", contract.success_criteria.clone());
    let commit = if commits { COMMIT_WORK } else { COMMIT_NOTHING };
    list("Rules", [RULES[0], commit, RULES[1]].map(str::to_owned).to_vec());
    text
}

const COMMIT_WORK: &str =
    "Change files in place, commit them on the branch that is checked out, and leave nothing else behind.";
const COMMIT_NOTHING: &str = "Change files in place and leave nothing else behind. A commit is not needed.";
const RULES: [&str; 2] = [
    "Work in the current directory, which is a git repository. There is no network.",
    "Do not change tests or their configuration unless a path above allows it: they are restored before the check.",
];

#[cfg(test)]
mod tests {
    use contract::{Gate, Reason};

    use super::*;
    use crate::run::tests::contract;
    use crate::tests::two_sided;

    #[test]
    fn a_configuration_with_another_model_than_the_admitted_one_starts_nothing() {
        let (contract, pair) = (contract(serde_json::json!({})), "prov/good".parse().unwrap());
        let given = case::CaseInputs {
            task_id: "t",
            created: String::new(),
            contract: &contract,
            bounds: &TaskBounds::default(),
            is_close_out_forbidden: true,
            brief: "b",
            workspace: "/workspace",
            pair: Some(&pair),
            wire: Wire::Responses,
            base_url: "http://127.0.0.1:1/v1",
        };
        let files = case::files(&given);
        let read = |to: &str| -> Vec<(String, Vec<u8>)> {
            files.iter().map(|(path, text)| (path.clone(), text.replace("good", to).into_bytes())).collect()
        };
        let blocked = judge_configuration(&given, &read("other")).unwrap();
        assert_eq!((blocked.gate, blocked.reason), (Gate::ModelDecisionAndAdmission, Reason::ModelNotAdmitted));
        let good = judge_configuration(&given, &read("good"));
        assert!(good.is_none(), "control");
        two_sided(Reason::ModelNotAdmitted, blocked.reason, good.map(|blocked| blocked.reason));
    }
}
