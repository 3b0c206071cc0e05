//! `cto engine`: the engines that exist here, what stands between one of them and a start, and its gate.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use contract::text::shown;
use contract::{Purpose, Stage};
use harness::{Engine, FAKE, Home};
use ledger::EntryKind;
use serde_json::json;

use super::decide;
use crate::args::EngineCommand;
use crate::context::Context;
use crate::error::CommandError;

pub(crate) fn engine(context: &Context, command: &EngineCommand) -> Result<u8, CommandError> {
    match command {
        EngineCommand::List => list(context),
        EngineCommand::Probe { engine, stage, model } => {
            let task = context.load_task("r1-string-slugify", None)?;
            let mut ask = context.plain_ask(engine, &task, Purpose::Governed)?;
            ask.stage = Stage::try_from(*stage).map_err(CommandError::usage)?;
            ask.model.pair = model.clone().or(ask.model.pair);
            ask.model.reach = true;
            decide::answer(context, &task, &ask)
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
    rows.extend(engines.ids().iter().filter_map(|id| engines.find(id)).map(|engine| row(context, &engine)));
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
            Ok(path) => (paint.tick(), path.clone(), None),
            Err((text, remedy)) => ("-".into(), text.clone(), Some(remedy)),
        };
        if !output.terminal {
            output.print(&format!("{id} gate: {gate}; {}\n", shown(&program)));
            continue;
        }
        output.print(&format!("  {mark} {id:<10}  gate: {gate:<22}  {}\n", paint.dim(about)));
        output.print(&format!("    {:<10}  {}\n", "", shown(&program)));
        if let Some(remedy) = remedy {
            output.print(&format!("    {:<10}  {} {}\n", "", paint.arrow(), paint.command(&shown(remedy))));
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

/// Writes the workspace's file, then the ledger: a gate that was opened is remembered.
fn enable(context: &Context, engine: &str, stage: u8) -> Result<u8, CommandError> {
    context.known_engine(engine)?;
    if engine == FAKE {
        return Err(CommandError::usage("the fake engine has no gate"));
    }
    let stage = Stage::try_from(stage).map_err(CommandError::usage)?;
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
        CommandError::usage(format!(
            "{} is written in a way that is not edited here",
            shown(&file.display().to_string())
        ))
        .hint(format!("add by hand: engines: {{{engine}: {{enabled: true, stage: {stage}}}}}"))
    };
    let after = edited(&before, engine, stage).ok_or_else(by_hand)?;
    let opens = crate::config::gate_in(&after, engine);
    if opens != Some((Some(true), Some(stage))) {
        return Err(by_hand());
    }
    let home = Home::create(&context.config.place())?;
    write(&file, &after)?;
    let now = harness::RunClock::start().map_err(|error| CommandError::fail(error.to_string()))?.started();
    let body = json!({"engine": engine, "file": file.display().to_string(), "stage": stage});
    home.ledger()?
        .append(EntryKind::EngineEnabled, None, now, &body)
        .map_err(|error| CommandError::fail(format!("the gate is open, and the ledger cannot be told: {error}")))?;
    let output = context.output;
    if output.json {
        output.print_json(&body)?;
    } else {
        output.print(&format!("gate of {engine} open for stage {stage}\n"));
        let next = format!("cto engine probe {engine} --stage {}", stage.number().min(3));
        output.print(&format!("{}  {}\n", output.paint.dim("next"), output.paint.command(&next)));
    }
    Ok(0)
}

fn write(file: &Path, text: &str) -> Result<(), CommandError> {
    let aside = file.with_extension(format!("yaml.new-{}", std::process::id()));
    let mut made = fs::OpenOptions::new().write(true).create_new(true).open(&aside)?;
    let written =
        made.write_all(text.as_bytes()).and_then(|()| made.sync_all()).and_then(|()| fs::rename(&aside, file));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    Ok(written?)
}

/// The text with the gate open; none where it is not written in plain lines. Everything else stays as it is.
fn edited(text: &str, engine: &str, stage: Stage) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let entry = |indent: &str| [format!("{indent}enabled: true"), format!("{indent}stage: {stage}")];
    let Some(top) = lines.iter().position(|line| line.starts_with("engines:")) else {
        lines.extend(["engines:".to_owned(), format!("  {engine}:")].into_iter().chain(entry("    ")));
        return Some(lines.join("\n") + "\n");
    };
    if without_comment(&lines[top]) != "engines:" {
        return None;
    }
    let end = lines[top + 1..].iter().position(|line| indent(line) == Some(0)).map_or(lines.len(), |at| top + 1 + at);
    let step = lines[top + 1..end].iter().find_map(|line| indent(line)).unwrap_or(2);
    let named = format!("{}{engine}:", " ".repeat(step));
    let Some(at) = lines[top + 1..end].iter().position(|line| without_comment(line) == named).map(|at| top + 1 + at)
    else {
        let inner = " ".repeat(step + 2);
        lines.splice(top + 1..top + 1, [named].into_iter().chain(entry(&inner)));
        return Some(lines.join("\n") + "\n");
    };
    let last = lines[at + 1..end]
        .iter()
        .position(|line| indent(line).is_some_and(|by| by <= step))
        .map_or(end, |by| at + 1 + by);
    let inner = lines[at + 1..last].iter().find_map(|line| indent(line)).unwrap_or(step + 2);
    let inner = " ".repeat(inner);
    let kept = lines[at + 1..last]
        .iter()
        .filter(|line| !["enabled:", "stage:"].iter().any(|key| line.starts_with(&format!("{inner}{key}"))));
    let block: Vec<String> = entry(&inner).into_iter().chain(kept.cloned()).collect();
    lines.splice(at + 1..last, block);
    Some(lines.join("\n") + "\n")
}

fn without_comment(line: &str) -> &str {
    line.split(" #").next().unwrap_or(line).trim_end()
}

/// How far a line that says something is set in.
fn indent(line: &str) -> Option<usize> {
    let said = line.trim_start();
    (!said.is_empty() && !said.starts_with('#')).then(|| line.len() - said.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_opened_and_nothing_else_is_touched() {
        let rows = [
            ("", Some("engines:\n  pi:\n    enabled: true\n    stage: 2\n")),
            (
                "# a comment\nsandbox: strict\n",
                Some("# a comment\nsandbox: strict\nengines:\n  pi:\n    enabled: true\n    stage: 2\n"),
            ),
            (
                "engines:\n  codex:\n    enabled: true\n    stage: 3\n",
                Some("engines:\n  pi:\n    enabled: true\n    stage: 2\n  codex:\n    enabled: true\n    stage: 3\n"),
            ),
            (
                "engines: # mine\n    pi: # old\n        stage: 1 # soon\n        wire: messages\n\n# end\nsandbox: strict\n",
                Some(
                    "engines: # mine\n    pi: # old\n        enabled: true\n        stage: 2\n        wire: messages\n\n# end\nsandbox: strict\n",
                ),
            ),
            ("engines: {pi: {enabled: true}}\n", None),
        ];
        for (before, after) in rows {
            let stage = Stage::try_from(2).expect("a stage");
            assert_eq!(edited(before, "pi", stage).as_deref(), after, "{before}");
        }
    }
}
