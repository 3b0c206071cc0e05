//! Equipment of an engine that is not part of the harness: its kept program, the statements
//! about its gate, and its admission. Gathers; judges nothing.

use std::path::{Path, PathBuf};

use contract::decision::Shortfall;
use contract::engine::{EngineSetting, ProgramFact, ProgramFound};
use contract::record::{FoundRecord, SourceAdmission};
use contract::{Stamp, canonical_digest};
use cortex::{RecordSigners, load_source_admission};
use untrusted_fs::own_files::{self, OwnPath as _};

use super::identity::{self, Pieces};
use super::kept::{CheckCopyError, EngineCopies, KeptTree};
use super::locate;
use crate::gather::ladder;
use crate::home::ask::Ask;
use crate::home::engines::Engine;
use crate::home::host::Tools;
use crate::run::harness::Harness;

/// Engine with its program.
#[derive(Debug, Clone)]
pub(crate) struct Equipped {
    pub(crate) engine: Engine,
    pub(crate) pieces: Pieces,
}

/// Facts for the gates, and the program that a run would start.
#[derive(Debug)]
pub(crate) struct Equipment {
    pub(crate) setting: EngineSetting,
    pub(crate) equipped: Option<Equipped>,
}

/// Looks for the engine's program only if its gate is open: a closed gate means that
/// nothing is copied, read or started.
pub(crate) fn equip(harness: &Harness, engine: Engine, ask: &Ask, now: Stamp, look: bool) -> Equipment {
    let admission = admission(harness, &engine.id, now);
    let gate = engine.config.gate.clone();
    if !look {
        let setting = EngineSetting { gate, admission, program: ProgramFact::NotLooked, below: None };
        return Equipment { setting, equipped: None };
    }
    match admitted_program(harness, &engine, admission.record()) {
        Err(program) => {
            let setting = EngineSetting { gate, admission, program: *program, below: None };
            Equipment { setting, equipped: None }
        }
        Ok((pieces, found)) => {
            let below = ladder::rung_below(harness, &engine.id, &found.source_id, ask.model.pair.as_ref(), ask.stage);
            let setting = EngineSetting { gate, admission, program: ProgramFact::Found(found), below };
            Equipment { setting, equipped: Some(Equipped { engine, pieces }) }
        }
    }
}

/// The record of the workspace.
pub(crate) fn admission(harness: &Harness, engine: &str, now: Stamp) -> FoundRecord<SourceAdmission> {
    load_source_admission(&harness.records, engine, &RecordSigners::read_allowed(&harness.records, now))
}

/// The program: the admitted copy, unless another is named; else what the operator's path
/// has, which is copied. Where it cannot be had, the fact that the gate judges.
fn admitted_program(
    harness: &Harness,
    engine: &Engine,
    record: Option<&SourceAdmission>,
) -> Result<(Pieces, ProgramFound), Box<ProgramFact>> {
    let unusable = |Shortfall { text, remedy }| Box::new(ProgramFact::Unusable { why: text, remedy });
    match record.filter(|_| engine.config.executable.is_none()) {
        Some(record) => {
            let copy = admitted_copy(&EngineCopies::new(harness.home.engines()), engine, record)?;
            identified(harness, engine, copy, Some(record), Some(record)).map_err(unusable)
        }
        None => program_on_path(harness, engine, record).map_err(unusable),
    }
}

/// The program that the operator's configuration or path has, copied and asked for its name.
pub(crate) fn program_on_path(
    harness: &Harness,
    engine: &Engine,
    record: Option<&SourceAdmission>,
) -> Result<(Pieces, ProgramFound), Shortfall> {
    let located = locate::program(engine, &harness.tools.operator_path)?;
    let copy = keep(&EngineCopies::new(harness.home.engines()), engine, &located)?;
    identified(harness, engine, copy, record, None)
}

/// Copy whose identity check passed. `admitted` is the record that names this copy.
fn identified(
    harness: &Harness,
    engine: &Engine,
    program: KeptTree,
    record: Option<&SourceAdmission>,
    admitted: Option<&SourceAdmission>,
) -> Result<(Pieces, ProgramFound), Shortfall> {
    let copies = EngineCopies::new(harness.home.engines());
    let path = &harness.tools.operator_path;
    let interpreter = locate::interpreter(engine, path)?.map(|located| keep(&copies, engine, &located)).transpose()?;
    let definition = &engine.definition;
    let pieces = Pieces { program, called: definition.program.clone(), interpreter };
    let remedy = || {
        let variable = contract::engine::variable_name(&engine.id);
        format!("install {}, or export CTO_HARNESS_{variable}_BIN=/path/to/{}", definition.about, definition.program)
    };
    let said =
        identity::confirm_identity(harness, &pieces, engine.identity(record.map(|record| &record.identity_check)))
            .and_then(|said| identity::refuse_build(harness, &pieces, &definition.unsupported).map(|()| said))
            .map_err(|why| Shortfall { text: format!("engine `{}`: {why}", engine.id), remedy: remedy() })?;
    let version = manifest_version(&pieces.program)
        .or_else(|| identity::version_in(&said))
        .unwrap_or_else(|| "unknown".to_owned());
    let tree = pieces.program.tree_sha256;
    let source_id = match admitted {
        Some(record) => record.source_id.clone(),
        None => format!("{}@{version}+{}", engine.id, &tree.to_string()[..12]),
    };
    let shape =
        canonical_digest(&definition.argv).map_err(|error| Shortfall { text: error.to_string(), remedy: remedy() })?;
    let found = ProgramFound {
        version,
        source_id,
        executable: below(&pieces.program),
        executable_sha256: pieces.program.executable_sha256,
        tree_sha256: tree,
        interpreter_sha256: pieces.interpreter.as_ref().map(|kept| kept.executable_sha256),
        command_shape_sha256: shape,
    };
    Ok((pieces, found))
}

/// Path of an engine's program, for people. Nothing is copied or started.
pub fn find_engine(engine: &Engine, tools: &Tools) -> Result<PathBuf, Shortfall> {
    let located = locate::program(engine, &tools.operator_path)?;
    locate::interpreter(engine, &tools.operator_path)?;
    Ok(located.executable())
}

fn below(kept: &KeptTree) -> String {
    kept.located.below.display().to_string()
}

fn admitted_copy(
    copies: &EngineCopies,
    engine: &Engine,
    record: &SourceAdmission,
) -> Result<KeptTree, Box<ProgramFact>> {
    let below = PathBuf::from(&record.executable);
    let below = if below == Path::new(".") { PathBuf::new() } else { below };
    copies.check_copy(record.source_tree_sha256, &below).map_err(|error| {
        let why = format!("the admitted copy of {} cannot be used: {error}", record.source_id);
        let remedy = format!("admit it again: cto admit source {} --replace", engine.id);
        Box::new(match error {
            CheckCopyError::Missing => ProgramFact::CopyMissing { why, remedy },
            CheckCopyError::Changed(_) => ProgramFact::CopyChanged { why, remedy },
            CheckCopyError::Io(_) => ProgramFact::Unusable { why, remedy },
        })
    })
}

fn keep(copies: &EngineCopies, engine: &Engine, located: &locate::Located) -> Result<KeptTree, Shortfall> {
    copies.keep_copy(located).map_err(|error| Shortfall {
        text: format!("{} cannot be kept: {error}", located.root.display()),
        remedy: format!("fix what is named, or name another program in engines.{}.executable", engine.id),
    })
}

/// Version in the package's manifest; the program's own output may contain none.
fn manifest_version(kept: &KeptTree) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Manifest {
        version: String,
    }
    let executable = kept.located.executable();
    let inside = |dir: &&Path| dir.starts_with(&kept.located.root);
    let file = executable
        .ancestors()
        .skip(1)
        .take_while(inside)
        .map(|dir| dir.join("package.json"))
        .find(|file| file.own_is_file())?;
    let manifest: Manifest = serde_json::from_slice(&own_files::read_file(file).ok()?).ok()?;
    identity::version_in(&manifest.version)
}
