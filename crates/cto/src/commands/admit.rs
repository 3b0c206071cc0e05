//! `cto admit`: drafts and checks of admissions. A draft admits nothing; a person does.

use std::path::Path;

use contract::ModelPair;
use contract::text::{shell_word, show_controls};
use cortex::{
    RecordRow, check_model_admission, check_source_admission, check_target_admission, draft_model_admission,
    draft_target_admission, source_draft_path, write_model_draft, write_source_draft, write_target_draft,
};
use harness::{FAKE, draft_source};
use serde_json::json;

use super::records::{now, row_document, row_line};
use crate::args::AdmitCommand;
use crate::context::Context;
use crate::error::CommandError;

/// Drafts or checks an admission.
pub(crate) fn run_admit(context: &Context, command: &AdmitCommand) -> Result<u8, CommandError> {
    match command {
        AdmitCommand::Source { check: Some(file), .. } => {
            check(context, &check_source_admission(&context.config.records, file, now()?))
        }
        AdmitCommand::Source { engine: Some(engine), replace, .. } => source(context, engine, *replace),
        AdmitCommand::Source { engine: None, .. } => Err(CommandError::usage("name an engine to draft for")),
        AdmitCommand::Target { check: Some(file), .. } => {
            check(context, &check_target_admission(&context.config.records, file, now()?))
        }
        AdmitCommand::Target { repository: Some(repository), name, .. } => target(context, repository, name.as_deref()),
        AdmitCommand::Target { repository: None, .. } => Err(CommandError::usage("name a repository to draft for")),
        AdmitCommand::Model { check: Some(file), .. } => {
            check(context, &check_model_admission(&context.config.records, file, now()?))
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
        output.print_json(&row_document(row))?;
    } else {
        output.print(&row_line(output, row));
    }
    Ok(u8::from(row.problem.is_some()))
}

fn draft(context: &Context, pair: &ModelPair, credential: &str, network: &str) -> Result<u8, CommandError> {
    let record = draft_model_admission(pair, credential, network, now()?);
    let path = write_model_draft(&context.config.records, &record)?;
    drafted(context, &path, &record.status)
}

/// Copies the engine and drafts its record. An existing record is kept, unless the operator
/// asks to replace it.
fn source(context: &Context, engine: &str, replace: bool) -> Result<u8, CommandError> {
    context.known_engine(engine)?;
    let Some(entry) = context.config.engines.find_engine(engine).filter(|_| engine != FAKE) else {
        return Err(CommandError::usage("the fake engine is part of the harness and needs no admission"));
    };
    let path = source_draft_path(&context.config.records, engine, replace)?;
    let harness = context.harness()?;
    let record = draft_source(&harness, &entry, now()?)
        .map_err(|short| CommandError::blocked_with(show_controls(&short.text)).hint(short.remedy))?;
    write_source_draft(&path, &record)?;
    drafted(context, &path, &record.status)
}

/// Drafts the record of an existing repository, by the path that the file system resolves
/// it to.
fn target(context: &Context, repository: &Path, name: Option<&str>) -> Result<u8, CommandError> {
    let unusable = |why: &str| {
        let text = format!("{} is no repository: {why}", show_controls(&repository.display().to_string()));
        CommandError::usage(text).hint("name the folder of a git repository you own: cto admit target DIR")
    };
    let full = std::fs::canonicalize(repository).map_err(|error| unusable(&error.to_string()))?;
    if !full.join(".git").exists() && !full.join("HEAD").is_file() {
        return Err(unusable("it has no .git"));
    }
    let path = full.to_str().filter(|path| !path.contains('\n'));
    let path = path.ok_or_else(|| unusable("its path is not UTF-8 on one line"))?;
    let own = full.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.map(str::to_owned).or(own).unwrap_or_else(|| "target".to_owned());
    let record = draft_target_admission(path);
    let file = write_target_draft(&context.config.records, &name, &record)?;
    drafted(context, &file, record.admission_status.as_str())
}

fn drafted(context: &Context, path: &Path, status: &str) -> Result<u8, CommandError> {
    let output = context.output;
    let shown = show_controls(&path.display().to_string());
    let next = format!("cto record sign {}", shell_word(&path.display().to_string()));
    if output.json {
        output.print_json(&json!({"file": path.display().to_string(), "next": next, "status": status}))?;
    } else {
        output.print(&format!("drafted {shown}\n"));
        let first = "fill it in and set its status to admitted; then:";
        output.print(&format!("{}  {first} {}\n", output.paint.dim("next"), output.paint.command(&next)));
    }
    Ok(0)
}
