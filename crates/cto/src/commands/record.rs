//! `cto record sign|check`: one record, for the person who answers for it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use contract::text::{shell_word, show_controls};
use contract::{Digest, Stamp, Status};
use cortex::{
    CheckRecordError, GoodFor, PersonSigners, RECORD_NAMESPACE, RecordRow, SignableRecord, check_record, list_records,
    read_signable,
};
use evidence::signer_key::SignerKey;
use evidence::sshsig::verify_signature;
use harness::Home;
use ledger::EntryKind;
use serde_json::{Value, json};

use super::records::{now, row_document};
use crate::args::RecordCommand;
use crate::context::Context;
use crate::error::CommandError;
use crate::nearest::did_you_mean;
use crate::signing::{OperatorKey, read_key_file};

/// Signs or checks one record.
pub(crate) fn run_record(context: &Context, command: &RecordCommand) -> Result<u8, CommandError> {
    match command {
        RecordCommand::Sign { file, key, replace } => sign(context, file, key.as_deref(), *replace),
        RecordCommand::Check { file } => check(context, file),
    }
}

fn sign(context: &Context, file: &Path, key: Option<&Path>, replace: bool) -> Result<u8, CommandError> {
    let now = now()?;
    let record = read_signable(file).map_err(|error| suggest_record(context, error, now))?;
    let key = OperatorKey::choose_key(context, key)?;
    let people = read_people(context)?;
    require_allowed(&people, &key, now)?;
    let beside = signature_file(file);
    if let Some(signer) = standing_signer(&beside, &record.bytes, &people, now)?
        && !replace
    {
        let text =
            format!("{} holds already, by {}", show_controls(&beside.display().to_string()), signer.fingerprint());
        return Err(CommandError::usage(text).hint("put another in its place with --replace"));
    }
    let armoured = key.sign_bytes(&record.bytes, RECORD_NAMESPACE)?;
    log_signature(context, file, &record, &key, now)?;
    write_signature(&beside, &armoured)?;
    let (row, good_for) = check_record(&context.config.records, file, now)?;
    if row.signed_by.as_deref() != Some(key.fingerprint().as_str()) {
        let text = format!("{} changed while it was signed", show_controls(&file.display().to_string()));
        return Err(CommandError::fail(text).hint("run the command again"));
    }
    show_signed(context, &row, good_for, &key, &beside)
}

fn read_people(context: &Context) -> Result<PersonSigners, CommandError> {
    PersonSigners::read_lists(&context.config.records).map_err(|error| {
        CommandError::blocked_with(format!("the keys that may sign cannot be read: {error}")).hint("cto trust key list")
    })
}

/// A signature by a key that may not sign would make its record unusable.
fn require_allowed(people: &PersonSigners, key: &OperatorKey, now: Stamp) -> Result<(), CommandError> {
    let standing = people.judge_undated(key.key(), RECORD_NAMESPACE, now);
    if standing == contract::signer::SignerStanding::Allowed {
        return Ok(());
    }
    let text =
        format!("the key {} {}, so its signature would count for nothing", key.fingerprint(), standing.sentence());
    let path = show_controls(&key.path().display().to_string());
    Err(CommandError::blocked_with(text).hint(format!("cto trust key add {path}")))
}

fn signature_file(file: &Path) -> PathBuf {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".sig");
    beside.into()
}

/// Key of an existing signature that holds and counts.
fn standing_signer(
    beside: &Path,
    bytes: &[u8],
    people: &PersonSigners,
    now: Stamp,
) -> Result<Option<SignerKey>, CommandError> {
    let Some(armoured) = read_key_file(beside)? else { return Ok(None) };
    let Ok(signature) = verify_signature(&armoured, bytes, RECORD_NAMESPACE) else { return Ok(None) };
    let counts = people.judge_key(signature.key(), RECORD_NAMESPACE, now) == contract::signer::SignerStanding::Allowed;
    Ok(counts.then(|| signature.key().clone()))
}

/// Records in the ledger that a signature will be made, so that everything a key signed is
/// known if it turns out to be compromised.
fn log_signature(
    context: &Context,
    file: &Path,
    record: &SignableRecord,
    key: &OperatorKey,
    now: Stamp,
) -> Result<(), CommandError> {
    let home = Home::create_folders(&context.config.place())?;
    let body = json!({
        "file": std::path::absolute(file)?.display().to_string(),
        "key_fingerprint": key.fingerprint(),
        "kind": record.kind.as_str(),
        "sha256": Digest::of_bytes(&record.bytes),
    });
    home.ledger()?.append(EntryKind::RecordSigned, None, now, &body).map(drop).map_err(|error| {
        CommandError::blocked_with(format!("the ledger could not record it, so nothing was signed: {error}"))
            .hint("cto doctor")
    })
}

/// Puts the signature in its place by one rename.
fn write_signature(beside: &Path, armoured: &str) -> Result<(), CommandError> {
    let failed =
        |error: std::io::Error| CommandError::blocked_with(format!("cannot write {}: {error}", beside.display()));
    let folder = beside.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut aside = tempfile::Builder::new().prefix(".cto-sig-").tempfile_in(folder).map_err(failed)?;
    aside.write_all(armoured.as_bytes()).and_then(|()| aside.as_file().sync_all()).map_err(failed)?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(aside.path(), readable).map_err(failed)?;
    aside.persist(beside).map(drop).map_err(|error| failed(error.error))
}

fn show_signed(
    context: &Context,
    row: &RecordRow,
    good_for: GoodFor,
    key: &OperatorKey,
    beside: &Path,
) -> Result<u8, CommandError> {
    let output = context.output;
    let beside = beside.display().to_string();
    if output.json {
        let mut document = describe(row, good_for);
        document["signature"] = json!(beside);
        document["signed_via"] = json!(key.signed_via());
        return output.print_json(&document).map(|()| 0);
    }
    output.print(&format!("signed {}\n", show_controls(&beside)));
    output.print(&format!("key {}\n", key.fingerprint()));
    output.print(&format!("good_for {}\n", stages(good_for)));
    if key.is_unprotected() {
        output.print_note("the key has no passphrase: whoever reads its file can sign\n");
    }
    Ok(0)
}

fn check(context: &Context, file: &Path) -> Result<u8, CommandError> {
    let now = now()?;
    let checked = check_record(&context.config.records, file, now);
    let (row, good_for) = checked.map_err(|error| suggest_record(context, error, now))?;
    let output = context.output;
    let (word, verdict) = verdict_of(&row, good_for);
    let code = u8::from(verdict != Status::Pass);
    if output.json {
        return output.print_json(&describe(&row, good_for)).map(|()| code);
    }
    let file = show_controls(&row.file.display().to_string());
    let signer = row.signed_by.as_deref().unwrap_or("nobody");
    let mut rows = vec![("kind", row.kind.as_str().to_owned())];
    rows.extend(row.subject.as_deref().map(|subject| ("subject", show_controls(subject))));
    rows.extend(row.status.as_deref().map(|status| ("status", show_controls(status))));
    rows.extend(row.problem.as_deref().map(|problem| ("problem", show_controls(problem))));
    rows.push(("signed_by", signer.to_owned()));
    rows.push(("good_for", stages(good_for)));
    rows.extend(row.sha256.map(|digest| ("sha256", digest.to_string())));
    rows.extend(next_step(&row).map(|next| ("next", next)));
    if output.terminal {
        output.print(&format!("{}  {file}\n\n", output.paint.like(verdict, word)));
        rows.iter().for_each(|(name, value)| output.print(&format!("  {name:<10} {value}\n")));
    } else {
        output.print(&format!("{word} {file}\n"));
        rows.iter().for_each(|(name, value)| output.print(&format!("{name} {value}\n")));
    }
    Ok(code)
}

/// First word of the output: a record that counts at no stage is not usable, even without a
/// fault.
fn verdict_of(row: &RecordRow, good_for: GoodFor) -> (&'static str, Status) {
    match (&row.problem, good_for.last) {
        (Some(_), _) => ("unusable", Status::Fail),
        (None, Some(_)) => ("usable", Status::Pass),
        (None, None) if next_step(row).is_some() => ("unsigned", Status::Blocked),
        (None, None) => ("not_admitted", Status::Blocked),
    }
}

/// The one command that makes more of it, where there is one.
fn next_step(row: &RecordRow) -> Option<String> {
    let is_draft = row.status.as_deref().is_some_and(|status| status == "draft" || status == "not_admitted");
    let unsigned = row.problem.is_none() && row.signed_by.is_none() && !is_draft;
    unsigned.then(|| format!("cto record sign {}", shell_word(&row.file.display().to_string())))
}

fn describe(row: &RecordRow, good_for: GoodFor) -> Value {
    let mut document = json!(row_document(row));
    document["good_for"] = match good_for.last {
        Some(last) => json!({"first_stage": good_for.first, "last_stage": last}),
        None => Value::Null,
    };
    document["next"] = json!(next_step(row));
    document["usable"] = json!(verdict_of(row, good_for).1 == Status::Pass);
    document
}

fn stages(good_for: GoodFor) -> String {
    match good_for.last {
        None => "no stage".to_owned(),
        Some(last) if last == good_for.first => format!("stage {last}"),
        Some(last) => format!("stages {} to {last}", good_for.first),
    }
}

/// The error of a record; of a mistyped file with the record that was likely meant.
fn suggest_record(context: &Context, error: CheckRecordError, now: Stamp) -> CommandError {
    let CheckRecordError::Read { file, error: cause } = &error else { return error.into() };
    if cause.kind() != std::io::ErrorKind::NotFound {
        return error.into();
    }
    let rows = list_records(&context.config.records, now).unwrap_or_default();
    let workspace = context.config.workspace.as_deref();
    let typed = file.display().to_string();
    // A record is named from where the person stands, or from the workspace.
    let known = rows.iter().flat_map(|row| {
        let inside = workspace.and_then(|root| row.file.strip_prefix(root).ok());
        [Some(row.file.as_path()), inside].into_iter().flatten().map(|path| path.display().to_string())
    });
    let known: Vec<String> = known.collect();
    let meant = did_you_mean(&typed, known.iter().map(String::as_str));
    CommandError::usage(format!("{error}{}", show_controls(&meant))).hint("cto records")
}

impl From<CheckRecordError> for CommandError {
    fn from(error: CheckRecordError) -> Self {
        match &error {
            CheckRecordError::Read { .. } => Self::usage(&error),
            CheckRecordError::UnknownKind(_) => {
                Self::usage(&error).hint("draft one: cto admit source E, cto admit model P/M, cto admit target REPO")
            }
            CheckRecordError::Unfilled { .. } => Self::fail(&error).hint("fill it in, then run the command again"),
            CheckRecordError::Unusable(_) => Self::fail(&error).hint("fix it, then run the command again"),
        }
    }
}
