//! `cto engine`: the engines that exist here, what stands between one of them and a start,
//! and its gate.

use std::fs;
use std::path::{Path, PathBuf};

use contract::text::show_controls;
use contract::{Purpose, Stage};
use harness::{Engine, FAKE, Home};
use ledger::EntryKind;
use serde_json::{Value, json};

use super::decide;
use crate::args::EngineCommand;
use crate::context::Context;
use crate::error::CommandError;
use crate::replaced_file::replace_file;
use crate::settings_file::{OtherKeys, set_keys};

/// Lists and probes engines, and opens or closes their gates.
pub(crate) fn engine(context: &Context, command: &EngineCommand) -> Result<u8, CommandError> {
    match command {
        EngineCommand::List => list(context),
        EngineCommand::Probe { engine, stage, model } => {
            let task = context.load_task("r1-string-slugify", None)?;
            let mut ask = context.plain_ask(engine, &task, Purpose::Governed)?;
            ask.stage = Stage::try_from(*stage).map_err(CommandError::usage)?;
            ask.model.pair = model.clone().or(ask.model.pair);
            ask.model.reach = true;
            decide::answer_ask(context, &task, &ask, task.contract.task_id.as_str())
        }
        EngineCommand::Enable { engine, stage } => enable(context, engine, *stage),
    }
}

struct Row {
    id: String,
    about: String,
    gate: String,
    program: Result<String, (String, String)>,
}

fn list(context: &Context) -> Result<u8, CommandError> {
    let engines = &context.config.engines;
    let mut rows = vec![Row {
        id: FAKE.to_owned(),
        about: "deterministic: does what the case says".to_owned(),
        gate: "needs none".to_owned(),
        program: Ok("built in".to_owned()),
    }];
    rows.extend(engines.ids().iter().filter_map(|id| engines.find_engine(id)).map(|engine| row(context, &engine)));
    let output = context.output;
    if output.json {
        let document = |row: &Row| {
            let (program, missing, remedy) = match &row.program {
                Ok(path) => (Some(path), None, None),
                Err((text, remedy)) => (None, Some(text), Some(remedy)),
            };
            json!({"about": row.about, "engine": row.id, "gate": row.gate, "missing": missing, "program": program, "remedy": remedy})
        };
        output.print_json(&rows.iter().map(document).collect::<Vec<_>>())?;
        return Ok(0);
    }
    for Row { id, about, gate, program } in &rows {
        let paint = output.paint;
        let (mark, program, remedy) = match program {
            Ok(path) => (paint.tick(), path, None),
            Err((text, remedy)) => ("-".into(), text, Some(remedy)),
        };
        if !output.terminal {
            output.print(&format!("{id} gate: {gate}; {}\n", show_controls(program)));
            continue;
        }
        output.print(&format!("  {mark} {id:<10}  gate: {gate:<22}  {}\n", paint.dim(about)));
        output.print(&format!("    {:<10}  {}\n", "", show_controls(program)));
        if let Some(remedy) = remedy {
            output.print(&format!("    {:<10}  {} {}\n", "", paint.arrow(), paint.command(&show_controls(remedy))));
        }
    }
    Ok(0)
}

fn row(context: &Context, engine: &Engine) -> Row {
    let open = (1..=6).filter_map(|number| Stage::try_from(number).ok());
    let open: Vec<String> = open
        .filter(|stage| gate::engine::is_open(&engine.id, &engine.config.gate, *stage))
        .map(|stage| stage.to_string())
        .collect();
    let gate = if open.is_empty() { "shut".to_owned() } else { format!("open for stage {}", open.join(", ")) };
    let program = harness::find_engine(engine, &context.config.tools);
    Row {
        id: engine.id.clone(),
        about: engine.definition.about.clone(),
        gate,
        program: program.map(|path| path.display().to_string()).map_err(|short| (short.text, short.remedy)),
    }
}

/// Opens the gate and prints that.
fn enable(context: &Context, engine: &str, stage: u8) -> Result<u8, CommandError> {
    context.known_engine(engine)?;
    if engine == FAKE {
        return Err(CommandError::usage("the fake engine has no gate"));
    }
    let stage = Stage::try_from(stage).map_err(CommandError::usage)?;
    let file = open_gate(context, engine, stage)?;
    let output = context.output;
    if output.json {
        output.print_json(&gate_entry(engine, &file, stage))?;
    } else {
        output.print(&format!("gate of {engine} open for stage {stage}\n"));
        let next = format!("cto engine probe {engine} --stage {}", stage.number().min(3));
        output.print(&format!("{}  {}\n", output.paint.dim("next"), output.paint.command(&next)));
    }
    Ok(0)
}

fn gate_entry(engine: &str, file: &Path, stage: Stage) -> Value {
    json!({"engine": engine, "file": file.display().to_string(), "stage": stage})
}

/// Writes the workspace's file, then the ledger: a gate that was opened is remembered.
/// Gives the file.
pub(super) fn open_gate(context: &Context, engine: &str, stage: Stage) -> Result<PathBuf, CommandError> {
    let Some(workspace) = &context.config.workspace else {
        return Err(CommandError::usage("a gate is opened in a workspace's harness.yaml, and there is none here")
            .hint("cto init DIR     or: export CTO_HARNESS_ALLOW_..., see cto config"));
    };
    let file = workspace.join("harness.yaml");
    let before = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(CommandError::usage(format!("cannot read {}: {error}", file.display()))),
    };
    let by_hand = || {
        CommandError::usage(format!("{} has a form that cto does not edit", show_controls(&file.display().to_string())))
            .hint(format!("add by hand: engines: {{{engine}: {{enabled: true, stage: {stage}}}}}"))
    };
    let keys = [("enabled", "true".to_owned()), ("stage", stage.to_string())];
    let after = set_keys(&before, "engines", engine, &keys, OtherKeys::Kept).ok_or_else(by_hand)?;
    let opens = crate::config::gate_in(&after, engine);
    if opens != Some((Some(true), Some(stage))) {
        return Err(by_hand());
    }
    let home = Home::create_folders(&context.config.place())?;
    replace_file(&file, &after)?;
    let now = harness::RunClock::start_clock().map_err(|error| CommandError::fail(error.to_string()))?.started();
    home.ledger()?.append(EntryKind::EngineEnabled, None, now, &gate_entry(engine, &file, stage)).map_err(|error| {
        CommandError::fail(format!("the gate is open, but the ledger could not record it: {error}"))
    })?;
    Ok(file)
}
