//! `cto admit`: drafts and checks of admissions. A draft admits nothing; a person does.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use contract::ModelPair;
use contract::record::{ModelAdmission, placeholder};
use contract::text::shown;
use harness::{FAKE, RecordRow, RunClock, check_record, check_source, draft_source};
use serde_json::json;

use super::records::{document, line};
use crate::args::AdmitCommand;
use crate::context::Context;
use crate::error::CommandError;

pub(crate) fn admit(context: &Context, command: &AdmitCommand) -> Result<u8, CommandError> {
    match command {
        AdmitCommand::Source { check: Some(file), .. } => {
            check(context, &check_source(&context.config.models, file, super::records::now()?))
        }
        AdmitCommand::Source { engine: Some(engine), replace, .. } => source(context, engine, *replace),
        AdmitCommand::Source { engine: None, .. } => Err(CommandError::usage("name an engine to draft for")),
        AdmitCommand::Model { check: Some(file), .. } => {
            check(context, &check_record(&context.config.models, file, super::records::now()?))
        }
        AdmitCommand::Model { pair: Some(pair), credential_class, network_class, .. } => {
            draft(context, pair, credential_class, network_class)
        }
        AdmitCommand::Model { pair: None, .. } => Err(CommandError::usage("name a PROVIDER/MODEL to draft for")),
    }
}

fn check(context: &Context, row: &RecordRow) -> Result<u8, CommandError> {
    let output = context.output;
    if output.json {
        output.print_json(&document(row))?;
    } else {
        output.print(&line(output, row));
    }
    Ok(u8::from(row.problem.is_some()))
}

fn draft(context: &Context, pair: &ModelPair, credential: &str, network: &str) -> Result<u8, CommandError> {
    let Some(folder) = &context.config.models.admissions else {
        return Err(
            CommandError::usage("an admission lies in a workspace, and there is none here").hint("cto init DIR")
        );
    };
    let said = |class: &str| if class.is_empty() { placeholder("the class") } else { class.to_owned() };
    let now = RunClock::start().map_err(|error| CommandError::fail(error.to_string()))?.started();
    let record = ModelAdmission {
        admission_timestamp: now.to_string(),
        allowed_network_class: said(network),
        approval_source: placeholder("who approves, and where that is written"),
        credential_source_class: said(credential),
        model: pair.model.clone(),
        provider: pair.provider.clone(),
        review_trigger: placeholder("when this is to be looked at again"),
        status: "draft".to_owned(),
        evidence_expectations: None,
        expires_at: None,
        max_stage: None,
    };
    let path = write(folder, pair, &record)?;
    drafted(context, &path, &record.status)
}

/// Copies the engine and drafts its record; the record that is there is kept, and asked for by name to make way.
fn source(context: &Context, engine: &str, replace: bool) -> Result<u8, CommandError> {
    context.known_engine(engine)?;
    let Some(entry) = context.config.engines.find(engine).filter(|_| engine != FAKE) else {
        return Err(CommandError::usage("the fake engine is part of the harness and needs no admission"));
    };
    let Some(folder) = &context.config.engines.admissions else {
        return Err(
            CommandError::usage("an admission lies in a workspace, and there is none here").hint("cto init DIR")
        );
    };
    let path = folder.join(format!("{engine}.yaml"));
    if path.exists() && !replace {
        return Err(CommandError::usage(format!("{} is there", shown(&path.display().to_string())))
            .hint(format!("edit it by hand, or: cto admit source {engine} --replace")));
    }
    let harness = context.harness()?;
    let now = RunClock::start().map_err(|error| CommandError::fail(error.to_string()))?.started();
    let record = draft_source(&harness, &entry, now)
        .map_err(|short| CommandError::blocked(shown(&short.text)).hint(short.remedy))?;
    fs::create_dir_all(folder)?;
    if path.exists() {
        put_aside(&path)?;
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
    file.write_all(as_yaml(&record)?.as_bytes())?;
    drafted(context, &path, &record.status)
}

/// The record before stays, under a name that no engine has.
fn put_aside(path: &Path) -> Result<(), CommandError> {
    for number in 1..1000 {
        let aside = path.with_extension(format!("yaml.{number}"));
        if !aside.exists() {
            return Ok(fs::rename(path, aside)?);
        }
    }
    Err(CommandError::usage(format!("{} was replaced too often", shown(&path.display().to_string()))))
}

/// A field a line, each value as JSON writes it, which YAML reads.
fn as_yaml(record: &impl serde::Serialize) -> Result<String, CommandError> {
    let mut text = "# A draft. Replace every <FILL IN>, resolve the licence, then set status: admitted.\n".to_owned();
    if let serde_json::Value::Object(fields) = serde_json::to_value(record)? {
        for (name, value) in fields {
            text.push_str(&format!("{name}: {value}\n"));
        }
    }
    Ok(text)
}

fn drafted(context: &Context, path: &Path, status: &str) -> Result<u8, CommandError> {
    let output = context.output;
    let shown = shown(&path.display().to_string());
    if output.json {
        output.print_json(&json!({"file": path.display().to_string(), "status": status}))?;
    } else {
        output.print(&format!("drafted {shown}\n"));
        let next = "fill it in and set its status to admitted; then: cto records";
        output.print(&format!("{}  {next}\n", output.paint.dim("next")));
    }
    Ok(0)
}

/// A record that is there is never overwritten.
fn write(folder: &Path, pair: &ModelPair, record: &ModelAdmission) -> Result<PathBuf, CommandError> {
    let plain = |text: &str| {
        let kept = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' };
        text.chars().map(kept).collect::<String>()
    };
    let path = folder.join(format!("{}__{}.json", plain(&pair.provider), plain(&pair.model)));
    let failed = |error: std::io::Error| {
        let error = CommandError::usage(format!("cannot write {}: {error}", path.display()));
        error.hint("a record that is there is edited by hand, never overwritten")
    };
    fs::create_dir_all(folder).map_err(failed)?;
    let mut text = serde_json::to_string_pretty(record)?;
    text.push('\n');
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    Ok(path)
}
