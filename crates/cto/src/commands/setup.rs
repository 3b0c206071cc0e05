//! `cto setup`: from an installed agent to an engine that has earned its first rungs. It
//! drafts; what makes a draft count is the yes of a person.

mod consent;
mod gate_step;
mod model;
mod program;
mod records;

use std::path::Path;

use contract::text::show_controls;
use contract::{Purpose, Report, Stage, Status};
use harness::{Ask, FAKE, Task};
use serde_json::{Value, json};
use views::{Rung, RungStatus};

use self::consent::Consent;
use self::model::ChosenModel;
use super::{INTERRUPTED, engine, init};
use crate::args::SetupArgs;
use crate::config::{is_configuration, user_file};
use crate::context::Context;
use crate::error::CommandError;
use crate::ladder_view::LadderScene;
use crate::live::RunDisplay;
use crate::output::Output;
use crate::replaced_file::replace_file;
use crate::settings_file::{OtherKeys, set_keys, set_top, show_edit};

/// The case of the first rungs.
const CASE: &str = "r1-string-slugify";

/// Makes the context again, because each step writes settings that the next one reads.
pub(super) type MakeContext<'a> = &'a dyn Fn() -> Result<Context, CommandError>;

/// Leads from an installed agent to its first rungs, step by step.
pub(crate) fn setup_engine(context: MakeContext<'_>, arguments: &SetupArgs) -> Result<u8, CommandError> {
    let first = context()?;
    let mut steps = SetupSteps::new(first.output);
    if arguments.engine == FAKE {
        return Err(CommandError::usage("the fake engine is built in and needs no setup").hint("cto demo"));
    }
    first.known_engine(&arguments.engine)?;
    let consent = Consent::new(first.output, arguments.yes)?;
    first.refuse_when_halted()?;
    gate_step::agree_to_lower(&first, arguments, &consent)?;
    let model = ChosenModel::choose_model(arguments)?;
    let found = program::find_program(&first, arguments)?;
    steps.tell_step("engine", &format!("{} at {}", arguments.engine, found.program), "cto doctor");
    // Before anything is made: a file that cannot be edited stays byte for byte as it is.
    let _ = edit_text(&read_user_file()?, |text| write_model(text, &model, &found, &arguments.engine))?;
    choose_workspace(&first, &consent, &mut steps)?;
    write_settings(&model, &found, &arguments.engine, &consent, &mut steps)?;
    let context_now = context()?;
    records::admit_model(&context_now, &model, &consent, &mut steps)?;
    climb(context, arguments, &model, &consent, &mut steps)
}

/// The steps as they are printed: one line each for people, one document at the end for programs.
pub(super) struct SetupSteps {
    output: Output,
    told: Vec<Value>,
}

impl SetupSteps {
    fn new(output: Output) -> Self {
        Self { output, told: Vec::new() }
    }

    /// Prints a finished step, and the command that does it by hand.
    pub(super) fn tell_step(&mut self, step: &str, text: &str, by_hand: &str) {
        self.told.push(json!({"by_hand": by_hand, "step": step, "text": text}));
        if self.output.json {
            return;
        }
        let (text, by_hand) = (show_controls(text), show_controls(by_hand));
        if self.output.terminal {
            let paint = self.output.paint;
            self.output.print(&format!("{} {step:<10} {text}\n", paint.tick()));
            if !by_hand.is_empty() {
                self.output.print(&format!("  {:<10} {}\n", "", paint.dim(&format!("by hand: {by_hand}"))));
            }
        } else {
            self.output.print(&format!("{step} {text}\n"));
        }
    }

    /// Ends with the command for a repository of the person's own.
    fn end(&self, status: Status, next: &str) -> Result<u8, CommandError> {
        if self.output.json {
            self.output.print_json(&json!({"next": next, "status": status, "steps": self.told}))?;
        } else {
            let paint = self.output.paint;
            let end = if status == Status::Pass { "connected" } else { "not connected" };
            self.output.print(&format!("{}  {end}\n", paint.paint_status(status)));
            self.output.print(&format!("{}  {}\n", paint.dim("next"), paint.command(&show_controls(next))));
        }
        Ok(status.exit_code())
    }
}

/// Folder of a workspace that setup makes below the operator's home.
const WORKSPACE: &str = "cto-workspace";

/// Makes a workspace where none counts here, and names it in the user's configuration so
/// that it counts everywhere.
fn choose_workspace(context: &Context, consent: &Consent, steps: &mut SetupSteps) -> Result<(), CommandError> {
    if let Some(workspace) = &context.config.workspace {
        steps.tell_step("workspace", &workspace.display().to_string(), "");
        return Ok(());
    }
    let user = std::env::home_dir().filter(|home| home.is_absolute());
    let folder = user.ok_or_else(|| {
        CommandError::usage("there is no HOME to make a workspace in").hint("cto init DIR, then again in that folder")
    })?;
    let folder = folder.join(WORKSPACE);
    let by_hand = shell_words::join(["cto", "init", &folder.display().to_string()]);
    consent.require(&format!("Make a workspace in {}, which holds your records?", folder.display()), &by_hand)?;
    let made = init::make_workspace(context, &folder)?;
    edit_user_file(|text| set_top(text, "workspace", &json!(made.path.display().to_string()).to_string()))?;
    steps.tell_step("workspace", &made.path.display().to_string(), &by_hand);
    Ok(())
}

/// Writes how the model is reached, which one the engine asks for and where its program is,
/// into the user's own configuration.
fn write_settings(
    model: &ChosenModel,
    found: &program::FoundEngine,
    engine: &str,
    consent: &Consent,
    steps: &mut SetupSteps,
) -> Result<(), CommandError> {
    let file = user_file().map(|file| file.display().to_string()).unwrap_or_default();
    let edit = |text: &str| write_model(text, model, found, engine);
    let before = read_user_file()?;
    let after = edit_text(&before, edit)?;
    if after == before {
        steps.tell_step("settings", &format!("{file}, as it is"), "");
        return Ok(());
    }
    consent.show_text(&format!("{file} gets:\n{}", show_edit(&before, &after)));
    consent.require("Write these settings?", &format!("write them into {file}"))?;
    edit_user_file(edit)?;
    steps.tell_step("settings", &file, "cto config");
    Ok(())
}

/// The text of a configuration with model and engine in it; none where it cannot be edited.
fn write_model(text: &str, model: &ChosenModel, found: &program::FoundEngine, engine: &str) -> Option<String> {
    let mut keys = vec![("model", json!(model.pair).to_string())];
    keys.extend(found.settings.iter().map(|(key, path)| (*key, json!(path).to_string())));
    set_keys(&model.write_model(text)?, "engines", engine, &keys, OtherKeys::Kept)
}

fn read_user_file() -> Result<String, CommandError> {
    let file = user_file().ok_or_else(|| CommandError::usage("there is no HOME to keep settings in"))?;
    match std::fs::read_to_string(&file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(CommandError::usage(format!("cannot read {}: {error}", file.display()))),
    }
}

fn edit_user_file(edit: impl Fn(&str) -> Option<String>) -> Result<(), CommandError> {
    let file = user_file().ok_or_else(|| CommandError::usage("there is no HOME to keep settings in"))?;
    let name = show_controls(&file.display().to_string());
    let after = edit_text(&read_user_file()?, edit)?;
    replace_file(&file, &after).map_err(|error| CommandError::usage(format!("cannot write {name}: {error}")))
}

/// The edited text, if it can still be read: a file that cannot would stop every later command.
fn edit_text(before: &str, edit: impl Fn(&str) -> Option<String>) -> Result<String, CommandError> {
    edit(before).filter(|after| is_configuration(after)).ok_or_else(|| {
        let name = user_file().map(|file| show_controls(&file.display().to_string())).unwrap_or_default();
        CommandError::usage(format!("{name} has a form that cto does not edit, or another value"))
            .hint(format!("add by hand:\n{}", edit("").unwrap_or_default()))
    })
}

/// Opens the gate stage by stage and runs what earns each rung.
fn climb(
    context: MakeContext<'_>,
    arguments: &SetupArgs,
    model: &ChosenModel,
    consent: &Consent,
    steps: &mut SetupSteps,
) -> Result<u8, CommandError> {
    let engine = arguments.engine.as_str();
    for stage in [Stage::GATED_ENGINE, Stage::ARTIFICIAL_FIXTURE] {
        if stage.number() > arguments.stage {
            break;
        }
        if is_earned(&context()?, engine, model, stage)? {
            steps.tell_step(&format!("stage {stage}"), "earned before", "cto ladder");
            if stage.number() == arguments.stage {
                let question = format!("Open the gate of {engine} for stage {stage}, which it has earned?");
                gate_step::open_agreed(context, engine, stage, consent, &question)?;
            }
            continue;
        }
        let by_hand =
            format!("cto engine enable {engine} --stage {stage}; cto run {CASE} --engine {engine} --stage {stage}");
        consent.require(&cost(stage, engine, model), &by_hand)?;
        engine::open_gate(&context()?, engine, stage)?;
        let Some(report) = run_case(&context()?, engine, stage)? else { return Ok(INTERRUPTED) };
        let text = format!("{} {}", report.status, report.run_id);
        steps.tell_step(&format!("stage {stage}"), &text, &by_hand);
        if report.status != Status::Pass {
            return refused(steps, &report);
        }
    }
    if Stage::COPIED_REPOSITORY.number() <= arguments.stage {
        return connect_repositories(context, engine, consent, steps);
    }
    // A run on a repository of one's own is refused before stage 3.
    steps.end(Status::Pass, &format!("cto setup {}", same_words(arguments)))
}

/// Admits the engine's build and opens the gate for copies of the person's repositories.
fn connect_repositories(
    context: MakeContext<'_>,
    engine: &str,
    consent: &Consent,
    steps: &mut SetupSteps,
) -> Result<u8, CommandError> {
    records::admit_source(&context()?, engine, consent, steps)?;
    let question = format!("Open the gate of {engine} for stage 3, copies of your repositories?");
    gate_step::open_agreed(context, engine, Stage::COPIED_REPOSITORY, consent, &question)?;
    let by_hand = format!("cto engine enable {engine} --stage 3");
    steps.tell_step("stage 3", "gate open for copies of your repositories", &by_hand);
    let next = format!("cto run --brief \"what is to be done\" --allow src/ --repo . --engine {engine}");
    steps.end(Status::Pass, &next)
}

/// The words of this setup without its stage, for the rest of the way.
fn same_words(arguments: &SetupArgs) -> String {
    let mut words = vec![arguments.engine.clone()];
    let mut add = |flag: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
    };
    add("--key", arguments.key.clone());
    add("--endpoint", arguments.endpoint.clone());
    add("--model", arguments.model.clone());
    add("--bin", arguments.bin.as_ref().map(|bin| bin.display().to_string()));
    words.extend(arguments.over_chat.then(|| "--over-chat".to_owned()));
    words.extend(arguments.yes.then(|| "--yes".to_owned()));
    shell_words::join(words)
}

/// Names the worst blocker of a run that did not pass and its remedy.
fn refused(steps: &SetupSteps, report: &Report) -> Result<u8, CommandError> {
    for blocker in &report.blockers {
        steps.output.print_note(&format!(
            "{}   {}\n  -> {}\n",
            blocker.reason,
            show_controls(&blocker.text),
            show_controls(&report.fill_remedy(&blocker.remedy))
        ));
    }
    steps.end(report.status, &format!("cto show {}", report.run_id.suffix()))
}

/// The question before a run, with its price.
fn cost(stage: Stage, engine: &str, model: &ChosenModel) -> String {
    if stage == Stage::GATED_ENGINE {
        return format!(
            "Open the gate of {engine} for stage 1? This checks every condition, starts nothing, and asks the model nothing."
        );
    }
    let pair = &model.pair;
    format!(
        "Open the gate of {engine} for stage 2 and let it solve {CASE}? It costs what {pair} takes for a small fix: 4 to 8 requests, \
         usually fewer than 100,000 tokens."
    )
}

/// True if the engine has earned the stage with this model, by its verified bundles.
fn is_earned(context: &Context, engine: &str, model: &ChosenModel, stage: Stage) -> Result<bool, CommandError> {
    let scene = LadderScene::open_scene(context)?;
    for climber in scene.climbers(Some(engine))? {
        let is_rung = |rung: &Rung| rung.stage == stage && rung.status == RungStatus::Validated;
        if climber.model.as_ref() == Some(&model.pair) && scene.ladder(&climber)?.rungs.iter().any(is_rung) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn case_ask(context: &Context, engine: &str, stage: Stage) -> Result<(Task, Ask), CommandError> {
    let task = context.load_task(CASE, None)?;
    let ask = Ask { stage, ..context.plain_ask(engine, &task, Purpose::Governed)? };
    Ok((task, ask))
}

/// Runs the case before the person's eyes. None if a signal ended it.
fn run_case(context: &Context, engine: &str, stage: Stage) -> Result<Option<Report>, CommandError> {
    let (task, ask) = case_ask(context, engine, stage)?;
    let display = RunDisplay::of_run(context.output, &task, &ask, &context.cancel);
    let outcome = display.watch_run(&context.harness()?, &task, &ask, &context.cancel)?;
    Ok((!outcome.interrupted).then_some(outcome.sealed.report))
}

/// Path of a record as a person types it.
pub(super) fn typed_path(path: &Path) -> String {
    shell_words::quote(&path.display().to_string()).into_owned()
}
