//! Drafts of admissions. A draft admits nothing: each member that only a person knows holds
//! a placeholder.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use contract::engine::{IdentityCheck, ProgramFound};
use contract::record::{
    FoundRecord, LicenseStatus, ModelAdmission, SourceAdmission, TARGET_ADMISSION_KEYS, TargetAdmission, TargetStatus,
    placeholder,
};
use contract::task::ForbiddenAction;
use contract::text::show_controls;
use contract::{ModelPair, MutationMode, Stamp};
use untrusted_fs::own_files::{OwnOptions as _, OwnPath as _};

use crate::places::RecordPlaces;

const DRAFT: &str = "draft";
const SOURCE_HEAD: &str =
    "# A draft. Replace every <FILL IN>, resolve the licence, set status: admitted, then: cto record sign FILE\n";
const TARGET_HEAD: &str = "# A draft, which admits nothing. Replace every <FILL IN>, set admission_status: admitted, then: cto record sign FILE\n";
/// Said before the members that a stage asks more of.
const SOURCE_NOTES: [(&str, &str); 3] = [
    (
        "allowed_execution_modes",
        "copied-fixture: stage 3; add sandbox-repo: stage 4, owned-noncritical-repo: stage 5, candidate-default: stage 6",
    ),
    ("internal_use_note", "needed at stages 3 and 4 while the licence is unresolved, at stage 5 always"),
    ("license_status", "unresolved: to stage 2, and to stage 4 with an internal_use_note; resolved: every stage"),
];
/// Upper bound on replaced records of one engine that are kept.
const MOST_REPLACED: u32 = 999;

/// Reason why a draft was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteDraftError {
    #[error("an admission lies in a workspace, and there is none here")]
    NoWorkspace,
    #[error("{} is there", show_controls(&.path.display().to_string()))]
    Exists { engine: String, path: PathBuf },
    #[error("{} was replaced too often", show_controls(&.0.display().to_string()))]
    ReplacedTooOften(PathBuf),
    #[error("cannot write {}: {error}", .path.display())]
    Write {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Encode(#[from] serde_json::Error),
}

/// Facts about an engine's program that a draft takes over.
#[derive(Debug)]
pub struct SourceDraftFacts {
    pub engine: String,
    pub program: ProgramFound,
    /// Path that lasts: of the program itself, or of its copy in the home.
    pub executable_path: String,
    pub identity_check: IdentityCheck,
    pub command_shape: Vec<String>,
    /// The members below are what the program's package states about itself.
    pub package_name: Option<String>,
    pub package_version: Option<String>,
    pub package_license: Option<String>,
    pub package_url: Option<String>,
}

/// Drafts an admission of a pair. An empty class is left for a person to fill in.
pub fn draft_model_admission(
    pair: &ModelPair,
    credential_class: &str,
    network_class: &str,
    now: Stamp,
) -> ModelAdmission {
    let said = |class: &str| if class.is_empty() { placeholder("the class") } else { class.to_owned() };
    ModelAdmission {
        admission_timestamp: now.to_string(),
        allowed_network_class: said(network_class),
        approval_source: placeholder("who approves, and where that is written"),
        credential_source_class: said(credential_class),
        model: pair.model.clone(),
        provider: pair.provider.clone(),
        review_trigger: placeholder("when this is to be looked at again"),
        status: DRAFT.to_owned(),
        evidence_expectations: None,
        expires_at: None,
        max_stage: None,
    }
}

/// Drafts the admission of an engine's source. `standing` is the record that the draft
/// would replace.
pub fn draft_source_admission(
    facts: SourceDraftFacts,
    standing: &FoundRecord<SourceAdmission>,
    now: Stamp,
) -> SourceAdmission {
    let program = facts.program;
    let version = facts.package_version.unwrap_or(program.version);
    let previous = standing.record().map(|record| &record.source_id).filter(|id| **id != program.source_id);
    let license = facts.package_license.as_deref().unwrap_or("none stated");
    SourceAdmission {
        status: DRAFT.to_owned(),
        source_id: format!("{}@{version}+{}", facts.engine, &program.tree_sha256.to_string()[..12]),
        source_url: facts.package_url.unwrap_or_else(|| placeholder("where it comes from")),
        pinned_commit: None,
        version: Some(version.clone()),
        previous_source_id: previous.cloned(),
        license_note: format!("{license}, as its package says; {}", placeholder("whether it may be used here")),
        license_status: LicenseStatus::Unresolved,
        internal_use_note: Some(placeholder("whether it may be used inside, and for which work")),
        retrieval_date: now.to_string().chars().take(10).collect(),
        retrieval_command: match &facts.package_name {
            Some(name) => format!("npm install {name}@{version}"),
            None => placeholder("the command that retrieved it"),
        },
        integrity_reference: None,
        observed_branch: None,
        commit_date: None,
        toolchain: BTreeMap::new(),
        built_at: None,
        build_command: None,
        executable_path: facts.executable_path,
        package_name: facts.package_name,
        executable: if program.executable.is_empty() { ".".to_owned() } else { program.executable },
        executable_sha256: program.executable_sha256,
        source_tree_sha256: program.tree_sha256,
        interpreter_sha256: program.interpreter_sha256,
        identity_check: facts.identity_check,
        command_shape: facts.command_shape,
        allowed_execution_modes: vec![MutationMode::CopiedFixture],
        protected_source_boundary: "the copy in the harness's home, read-only".to_owned(),
        approval_source: placeholder("who approves, and where that is written"),
        approval_timestamp: now.to_string(),
        review_trigger: placeholder("when this is to be looked at again"),
        expires_at: None,
        max_stage: None,
        engine: facts.engine,
    }
}

/// Drafts the admission of the repository at a path. Whose it is, how critical, and what
/// may change is a person's to say.
pub fn draft_target_admission(path: &str) -> TargetAdmission {
    TargetAdmission {
        admission_status: TargetStatus::NotAdmitted,
        target_repository_path: path.to_owned(),
        repository_owner: placeholder("whose it is"),
        ownership_evidence: placeholder("where that is written; a reference, never a copy"),
        risk_classification: placeholder("low_risk_noncritical, if it is that"),
        noncritical_rationale: placeholder("why nothing else depends on it"),
        allowed_paths: vec![placeholder("globs that may change, such as src/")],
        forbidden_paths: vec![".github/".to_owned()],
        forbidden_actions: ForbiddenAction::ALL.to_vec(),
        approval_source: placeholder("who approves, and where that is written"),
        approval_timestamp: placeholder("when, as a date or a time with its offset"),
        operator_outcome_required: true,
        review_trigger: placeholder("when this is to be looked at again"),
    }
}

/// Writes a target admission under a name. An existing record is never overwritten.
pub fn write_target_draft(
    places: &RecordPlaces,
    name: &str,
    record: &TargetAdmission,
) -> Result<PathBuf, WriteDraftError> {
    let folder = places.target_admissions().ok_or(WriteDraftError::NoWorkspace)?;
    let path = folder.join(format!("{}.yaml", plain_name(name)));
    let fields = serde_json::to_value(record)?;
    let line = |key: &&str| format!("{key}: {}\n", fields[*key]);
    let text: String = std::iter::once(TARGET_HEAD.to_owned()).chain(TARGET_ADMISSION_KEYS.iter().map(line)).collect();
    match write_new(&path, &text) {
        Ok(()) => Ok(path),
        Err(error) => Err(WriteDraftError::Write { path, error }),
    }
}

/// Writes a model admission under the name of its pair. An existing record is never
/// overwritten.
pub fn write_model_draft(places: &RecordPlaces, record: &ModelAdmission) -> Result<PathBuf, WriteDraftError> {
    let folder = places.model_admissions().ok_or(WriteDraftError::NoWorkspace)?;
    let path = folder.join(format!("{}__{}.json", plain_name(&record.provider), plain_name(&record.model)));
    let mut text = serde_json::to_string_pretty(record)?;
    text.push('\n');
    match write_new(&path, &text) {
        Ok(()) => Ok(path),
        Err(error) => Err(WriteDraftError::Write { path, error }),
    }
}

/// File for the draft of an engine's source. Fails if a record exists that must not be
/// replaced.
pub fn source_draft_path(places: &RecordPlaces, engine: &str, replace: bool) -> Result<PathBuf, WriteDraftError> {
    let path = places.source_admission(engine).ok_or(WriteDraftError::NoWorkspace)?;
    match path.own_exists() && !replace {
        true => Err(WriteDraftError::Exists { engine: engine.to_owned(), path }),
        false => Ok(path),
    }
}

/// Writes a source admission. An existing record is moved aside.
pub fn write_source_draft(path: &Path, record: &SourceAdmission) -> Result<(), WriteDraftError> {
    let text = draft_yaml(record)?;
    if path.own_exists() {
        put_aside(path)?;
    }
    Ok(write_new(path, &text)?)
}

/// Writes a file that must not be there yet, and the folders above it.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).own_open(path)?.write_all(text.as_bytes())
}

/// Renames the record before, so that it stays under a name that no engine has.
fn put_aside(path: &Path) -> Result<(), WriteDraftError> {
    let mut names = (1..=MOST_REPLACED).map(|number| path.with_extension(format!("yaml.{number}")));
    match names.find(|aside| !aside.own_exists()) {
        Some(aside) => Ok(fs::rename(path, aside)?),
        None => Err(WriteDraftError::ReplacedTooOften(path.to_owned())),
    }
}

/// A field a line, each value as JSON writes it, which YAML reads.
fn draft_yaml(record: &SourceAdmission) -> Result<String, serde_json::Error> {
    let mut text = SOURCE_HEAD.to_owned();
    if let serde_json::Value::Object(fields) = serde_json::to_value(record)? {
        for (name, value) in fields {
            let note = SOURCE_NOTES.iter().find(|(about, _)| *about == name);
            text.push_str(&note.map(|(_, note)| format!("# {note}\n")).unwrap_or_default());
            text.push_str(&format!("{name}: {value}\n"));
        }
    }
    Ok(text)
}

fn plain_name(text: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' };
    text.chars().map(kept).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contract::Digest;
    use untrusted_fs::own_files;

    use super::*;
    use crate::{RecordSigners, load_source_admission};

    fn now() -> Stamp {
        Stamp::from_unix(Duration::from_secs(1_772_359_200)).unwrap()
    }

    fn facts(source_id: &str) -> SourceDraftFacts {
        let digest = Digest::of_bytes(b"x");
        let program = ProgramFound {
            version: "1.0".to_owned(),
            source_id: source_id.to_owned(),
            executable: String::new(),
            executable_sha256: digest,
            tree_sha256: digest,
            interpreter_sha256: None,
            command_shape_sha256: digest,
        };
        SourceDraftFacts {
            engine: "codex".to_owned(),
            program,
            executable_path: "/usr/bin/codex".to_owned(),
            identity_check: serde_json::from_str(r#"{"argv": ["--version"], "expect": "codex"}"#).unwrap(),
            command_shape: vec!["exec".to_owned()],
            package_name: None,
            package_version: Some("1.2".to_owned()),
            package_license: None,
            package_url: None,
        }
    }

    #[test]
    fn a_drafted_source_is_read_again_and_replaced_by_request_alone() {
        let workspace = tempfile::tempdir().unwrap();
        let places = RecordPlaces::new(workspace.path(), Some(workspace.path()));
        let load = || load_source_admission(&places, "codex", &RecordSigners::read_allowed(&places, now()));
        let path = source_draft_path(&places, "codex", false).unwrap();
        let first = draft_source_admission(facts("codex@1.0+a"), &load(), now());
        write_source_draft(&path, &first).unwrap();
        assert_eq!(load().record(), Some(&first));
        assert_eq!((first.previous_source_id.as_deref(), first.executable.as_str()), (None, "."));
        assert!(first.internal_use_note.as_deref().is_some_and(contract::record::holds_placeholder));
        let text = own_files::read_to_string(&path).unwrap();
        for (about, note) in SOURCE_NOTES {
            assert!(text.contains(&format!("# {note}\n{about}: ")), "{about}: {text}");
        }

        let refused = source_draft_path(&places, "codex", false).unwrap_err();
        assert!(
            matches!(refused, WriteDraftError::Exists { .. }) && refused.to_string().ends_with("codex.yaml is there")
        );
        let second = draft_source_admission(facts("codex@2.0+b"), &load(), now());
        assert_eq!(second.previous_source_id.as_deref(), Some(first.source_id.as_str()));
        write_source_draft(&source_draft_path(&places, "codex", true).unwrap(), &second).unwrap();
        assert_eq!(load().record(), Some(&second));
        let aside = own_files::read_to_string(path.with_extension("yaml.1")).unwrap();
        assert_eq!(aside, draft_yaml(&first).unwrap());
    }

    #[test]
    fn a_drafted_target_is_whole_and_admits_nothing() {
        let workspace = tempfile::tempdir().unwrap();
        let places = RecordPlaces::new(workspace.path(), Some(workspace.path()));
        let record = draft_target_admission("/srv/site");
        let path = write_target_draft(&places, "my site", &record).unwrap();
        assert!(path.ends_with("admissions/target/my_site.yaml"));
        let signers = RecordSigners::read_allowed(&places, now());
        let (file, found) = crate::load_target_admission(&places, None, Some("/srv/site"), &signers);
        assert_eq!((file, found.record()), (Some(path.clone()), Some(&record)));
        assert!(record.problems().is_empty() && record.defects().len() > 5);
        assert!(write_target_draft(&places, "my site", &record).is_err());
        // Nobody admits it by one word.
        let text = own_files::read_to_string(&path).unwrap().replace("\"not_admitted\"", "admitted");
        own_files::write_file(&path, text).unwrap();
        let (_, found) = crate::load_target_admission(&places, None, Some("/srv/site"), &signers);
        assert!(matches!(found, FoundRecord::Invalid { why } if why.contains("placeholder")));
    }

    #[test]
    fn a_drafted_model_overwrites_nothing() {
        let workspace = tempfile::tempdir().unwrap();
        let places = RecordPlaces::new(workspace.path(), Some(workspace.path()));
        let record = draft_model_admission(&ModelPair::new("p", "m:1/a").unwrap(), "", "n", now());
        let path = write_model_draft(&places, &record).unwrap();
        assert!(path.ends_with("admissions/model/p__m_1_a.json"));
        assert!(record.credential_source_class.starts_with("<FILL IN") && record.allowed_network_class == "n");
        let refused = write_model_draft(&places, &ModelAdmission { status: "admitted".to_owned(), ..record });
        assert!(matches!(refused, Err(WriteDraftError::Write { .. })));
        assert!(own_files::read_to_string(path).unwrap().contains("\"draft\""));
        let nowhere =
            write_model_draft(&RecordPlaces::default(), &draft_model_admission(&"p/m".parse().unwrap(), "", "", now()));
        assert!(matches!(nowhere, Err(WriteDraftError::NoWorkspace)));
    }
}
