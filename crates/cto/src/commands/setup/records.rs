//! Records of an engine and its model: drafted in full, shown, and admitted by the yes of a
//! person.

use std::fs;
use std::path::Path;

use contract::record::{ModelAdmission, SourceAdmission, holds_placeholder};
use contract::text::show_controls;
use cortex::{
    RecordRow, WriteDraftError, check_model_admission, check_source_admission, draft_model_admission,
    source_draft_path, write_model_draft, write_source_draft,
};
use harness::draft_source;

use super::consent::Consent;
use super::model::ChosenModel;
use super::{SetupSteps, typed_path};
use crate::commands::records::now;
use crate::context::Context;
use crate::error::CommandError;
use crate::operator::git_configuration;
use crate::replaced_file::replace_file;

/// Trigger for a person to review a model's record again.
const MODEL_REVIEW: &str = "when the model, its provider or its price changes";
const SOURCE_REVIEW: &str = "with each new version";
/// Does by hand what a yes does.
const SET_ADMITTED: &str = r#"sed -i 's/\(status"\?: \)"draft"/\1"admitted"/'"#;
const OWN_USE: &str = "own work on copies of own repositories, on this machine; nothing of it is changed or passed on";

/// Admits the model, unless there is a usable record of it.
pub(super) fn admit_model(
    context: &Context,
    model: &ChosenModel,
    consent: &Consent,
    steps: &mut SetupSteps,
) -> Result<(), CommandError> {
    let (credential, network) = (model.credential_class.as_str(), model.network_class.as_str());
    let record = ModelAdmission {
        approval_source: approver(context, consent)?,
        review_trigger: MODEL_REVIEW.to_owned(),
        ..draft_model_admission(&model.pair, credential, network, now()?)
    };
    let by_hand = format!("cto admit model {} --credential-class {credential} --network-class {network}", model.pair);
    let path = match write_model_draft(&context.config.records, &record) {
        Ok(path) => path,
        Err(WriteDraftError::Write { path, error }) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            if is_admitted(&check_model_admission(&context.config.records, &path, now()?)) {
                steps.tell_step("model", &format!("{} is admitted by {}", model.pair, path.display()), "cto records");
                return Ok(());
            }
            // A draft that was left by a setup before, or that a person is still at work on.
            path
        }
        Err(error) => return Err(error.into()),
    };
    agree(&path, &format!("Admit the model {}?", model.pair), consent)?;
    require_admitted(&check_model_admission(&context.config.records, &path, now()?))?;
    steps.tell_step("model", &format!("{} admitted by {}", model.pair, path.display()), &by_hand);
    Ok(())
}

/// Copies the engine and admits its source to the byte, for stage 3 and own use.
pub(super) fn admit_source(
    context: &Context,
    engine: &str,
    consent: &Consent,
    steps: &mut SetupSteps,
) -> Result<(), CommandError> {
    let by_hand = format!("cto admit source {engine}");
    let path = match source_draft_path(&context.config.records, engine, false) {
        Ok(path) => path,
        Err(WriteDraftError::Exists { path, .. }) => {
            if is_admitted(&check_source_admission(&context.config.records, &path, now()?)) {
                steps.tell_step("source", &format!("admitted by {}", path.display()), "cto records");
                return Ok(());
            }
            source_draft_path(&context.config.records, engine, true)?
        }
        Err(error) => return Err(error.into()),
    };
    let entry = context.config.engines.find_engine(engine);
    let entry = entry.ok_or_else(|| CommandError::usage("there is no such engine").hint("cto engine list"))?;
    let harness = context.harness()?;
    let drafted = draft_source(&harness, &entry, now()?)
        .map_err(|short| CommandError::blocked_with(show_controls(&short.text)).hint(short.remedy))?;
    write_source_draft(&path, &filled(drafted, approver(context, consent)?))?;
    agree(&path, &format!("Admit this build of {engine} for copies of your repositories?"), consent)?;
    require_admitted(&check_source_admission(&context.config.records, &path, now()?))?;
    steps.tell_step("source", &format!("admitted by {}", path.display()), &by_hand);
    Ok(())
}

/// True for a record that a person admitted and that lacks nothing. A draft lacks nothing and
/// is not admitted.
fn is_admitted(row: &RecordRow) -> bool {
    row.problem.is_none() && row.status.as_deref() == Some(ModelAdmission::ADMITTED)
}

/// Goes on only with a record that counts.
fn require_admitted(row: &RecordRow) -> Result<(), CommandError> {
    if is_admitted(row) {
        return Ok(());
    }
    let status = || format!("its status is {}", row.status.as_deref().unwrap_or("not said"));
    let problem = show_controls(&row.problem.clone().unwrap_or_else(status));
    Err(CommandError::blocked_with(problem).hint(format!("fix {} and run it again", typed_path(&row.file))))
}

/// Everything that can be known. Whether the licence is good for more stays open, and with
/// it every stage above 3.
fn filled(drafted: SourceAdmission, approver: String) -> SourceAdmission {
    let known = |text: String, else_said: &str| if holds_placeholder(&text) { else_said.to_owned() } else { text };
    let found = format!("found at {}", drafted.executable_path);
    SourceAdmission {
        source_url: known(drafted.source_url, &found),
        retrieval_command: known(drafted.retrieval_command, &found),
        license_note: drafted.license_note.split("; <").next().unwrap_or_default().to_owned(),
        internal_use_note: Some(OWN_USE.to_owned()),
        approval_source: approver,
        review_trigger: SOURCE_REVIEW.to_owned(),
        max_stage: Some(contract::Stage::COPIED_REPOSITORY),
        ..drafted
    }
}

/// Shows a draft, asks, and sets its status: the one change that makes it count is the
/// person's.
fn agree(path: &Path, question: &str, consent: &Consent) -> Result<(), CommandError> {
    let text = fs::read_to_string(path)?;
    consent.show_text(&format!("{}\n{text}\n", path.display()));
    // The draft that was shown stays, and lacks nothing but this word.
    consent.require(question, &format!("{SET_ADMITTED} {}", typed_path(path)))?;
    let drafts = ["\"status\": \"draft\"", "status: \"draft\""];
    let after =
        drafts.iter().fold(text.clone(), |text, draft| text.replacen(draft, &draft.replace("draft", "admitted"), 1));
    if after != text {
        replace_file(path, &after)?;
    }
    Ok(())
}

/// Name of the person who agrees, as git knows it, with the way of agreeing.
fn approver(context: &Context, consent: &Consent) -> Result<String, CommandError> {
    let scratch = tempfile::tempdir()?;
    let found = harness::find_operator(scratch.path(), &context.config.tools.operator_path, &git_configuration());
    let who = found.map_or_else(
        || format!("the user with id {} of this machine", rustix::process::getuid().as_raw()),
        |person| format!("{} <{}>", person.name, person.email),
    );
    Ok(format!("{who}, {}", consent.manner()))
}
