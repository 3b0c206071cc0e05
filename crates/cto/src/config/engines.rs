//! Engines in the configuration and the environment. Gates are opened here and by no flag.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contract::engine::{EngineDefinition, GateSaid, GateSpeaker, IdentityCheck, is_engine_id, variable_name};
use contract::model::Wire;
use contract::source::{Problems, SourceRule};
use contract::{ModelPair, Stage};
use harness::{EngineConfig, Engines, is_built_in};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ConfigFile, EffectiveSetting, Layer, LayerOf, path_variable, variable};
use crate::error::CommandError;

/// One engine.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EngineFile {
    /// True if its gate is open.
    enabled: Option<bool>,
    /// The one stage it is open for.
    stage: Option<Stage>,
    /// Its program, instead of the first of its name on the PATH.
    executable: Option<PathBuf>,
    /// Folder that belongs to the program, if that is more than its package.
    tree: Option<PathBuf>,
    /// The program that runs it.
    interpreter: Option<PathBuf>,
    /// The protocol it speaks, where it can speak several.
    wire: Option<Wire>,
    /// The model it asks for, where neither a flag nor the environment names one.
    model: Option<ModelPair>,
    /// The record that admits it, where it is not one of the workspace's.
    model_admission_file: Option<PathBuf>,
    /// The target admission of its runs at stages 5 and 6, where it is not one of the workspace's.
    target_admission: Option<PathBuf>,
    /// Seconds it may take, if less than the contract says.
    timeout_seconds: Option<u64>,
    /// Seconds without activity before the engine is reported as idle; default: 60.
    idle_seconds: Option<u64>,
    /// Seconds for which a commit must stand before an engine that lingers is ended.
    settle_seconds: Option<u64>,
    /// Check that tells the program from another, if the harness has none: arguments, and
    /// words it then prints.
    identity: Option<IdentityCheck>,
    /// True if the bridge may use a login that the engine does not pass on.
    openai_codex_auth_bridge: Option<bool>,
    /// An engine of one's own.
    definition: Option<EngineDefinition>,
}

/// All layers together; of everything but the gate, what a later one says holds. Of the gate each speaks for itself.
pub(super) fn resolve_engines(layers: &[Layer], settings: &mut Vec<EffectiveSetting>) -> Result<Engines, CommandError> {
    let mut engines = Engines::default();
    let mut shown = BTreeMap::new();
    for Layer { path, file, of, .. } in layers {
        for (id, said) in &file.engines {
            let source = path.display().to_string();
            check(id, said, layers)
                .map_err(|problem| CommandError::usage(format!("{source}: engines.{id}: {problem}")))?;
            let config = engines.configured.entry(id.clone()).or_default();
            take(config, said, path, *of);
            for (key, value) in said.shown() {
                shown.insert(format!("engines.{id}.{key}"), (value, source.clone()));
            }
        }
    }
    for id in engines.ids() {
        let config = engines.configured.entry(id.clone()).or_default();
        for (name, value) in from_environment(&id, config)? {
            shown.insert(format!("engines.{id}.{name}"), (value, "environment".to_owned()));
        }
    }
    for id in engines.ids().into_iter().chain([harness::FAKE.to_owned()]) {
        let variable = format!("CTO_HARNESS_{}_STAGE5_TARGET_ADMISSION_FILE", variable_name(&id));
        let Some(file) = path_variable(&variable) else { continue };
        shown.insert(format!("engines.{id}.target_admission"), (file.display().to_string(), "environment".to_owned()));
        engines.configured.entry(id).or_default().target_admission = Some(file);
    }
    for id in engines.ids() {
        check_names(&engines, &id, layers)?;
    }
    settings.extend(shown.into_iter().map(|(name, (value, source))| EffectiveSetting { name, value, source }));
    Ok(engines)
}

/// Every name in the definition of an engine has a value for the protocol that all layers together give it.
fn check_names(engines: &Engines, id: &str, layers: &[Layer]) -> Result<(), CommandError> {
    // A definition that comes with the harness holds for its own protocol, and reading one takes as long as the rest of a short command.
    let asks_for_another = engines.configured.get(id).is_some_and(|config| config.wire.is_some());
    if is_built_in(id) && !asks_for_another {
        return Ok(());
    }
    let Some(engine) = engines.find_engine(id) else { return Ok(()) };
    let Some(unmet) = engine.definition.unmet_names(engine.wire()).into_iter().next() else { return Ok(()) };
    let defines = |layer: &&Layer| layer.file.engines.get(id).is_some_and(|file| file.definition.is_some());
    let Some(Layer { path, spans, text, .. }) = layers.iter().rev().find(defines) else {
        return Err(CommandError::usage(format!("engines.{id}: {}", unmet.why)).hint("choose another `wire`"));
    };
    let mut place = vec!["engines", id, "definition"];
    place.extend(unmet.path.iter().map(String::as_str));
    let problem = spans.problem(&place, SourceRule::Invalid, unmet.why);
    let problems = Problems::new(&path.display().to_string(), text.clone(), vec![problem]);
    Err(CommandError::from(problems).hint("cto schema config     every field"))
}

/// Gate of an engine in a configuration file: open or not, and for which stage.
pub(crate) fn gate_in(text: &str, engine: &str) -> Option<(Option<bool>, Option<Stage>)> {
    let loaded = contract::source::load::<ConfigFile>("harness.yaml", text.as_bytes()).ok()?;
    loaded.value.engines.get(engine).map(|file| (file.enabled, file.stage))
}

fn check(id: &str, said: &EngineFile, layers: &[Layer]) -> Result<(), String> {
    if !is_engine_id(id) || id == harness::FAKE {
        return Err("an engine is named in lower-case letters, digits and dashes, and `fake` is taken".to_owned());
    }
    let described = layers.iter().any(|layer| layer.file.engines.get(id).is_some_and(|file| file.definition.is_some()));
    match &said.definition {
        Some(_) if is_built_in(id) => {
            Err("comes with the harness and cannot be described otherwise; choose another name".to_owned())
        }
        Some(definition) => match definition.problems().first() {
            Some(problem) => Err(format!("definition.{problem}")),
            None if !definition.gets_brief() => {
                Err("definition: neither argv nor stdin holds {brief} or {task}".to_owned())
            }
            None => Ok(()),
        },
        None if !is_built_in(id) && !described => {
            Err("there is no such engine, and `definition` does not make one".to_owned())
        }
        None => Ok(()),
    }
}

fn take(config: &mut EngineConfig, said: &EngineFile, file: &Path, of: LayerOf) {
    let by = match of {
        LayerOf::System => GateSpeaker::System,
        LayerOf::User => GateSpeaker::User,
        LayerOf::Workspace => GateSpeaker::Workspace,
    };
    if said.enabled.is_some() || said.stage.is_some() {
        config.gate.push(GateSaid { by, allowed: said.enabled, stage: said.stage });
    }
    let beside = |path: &PathBuf| file.parent().unwrap_or(Path::new("/")).join(path);
    let EngineConfig { executable, tree, interpreter, wire, timeout_seconds, idle_seconds, definition, .. } = config;
    *idle_seconds = said.idle_seconds.or(*idle_seconds);
    *executable = said.executable.as_ref().map(beside).or(executable.take());
    *tree = said.tree.as_ref().map(beside).or(tree.take());
    *interpreter = said.interpreter.as_ref().map(beside).or(interpreter.take());
    *wire = said.wire.or(*wire);
    *timeout_seconds = said.timeout_seconds.into_iter().chain(*timeout_seconds).min();
    *definition = said.definition.clone().or(definition.take());
    config.model = said.model.clone().or(config.model.take());
    config.model_admission_file = said.model_admission_file.as_ref().map(beside).or(config.model_admission_file.take());
    config.target_admission = said.target_admission.as_ref().map(beside).or(config.target_admission.take());
    config.settle_seconds = said.settle_seconds.or(config.settle_seconds);
    config.identity = said.identity.clone().or(config.identity.take());
    config.auth_bridge = said.openai_codex_auth_bridge.unwrap_or(config.auth_bridge);
}

impl EngineFile {
    fn shown(&self) -> Vec<(&'static str, String)> {
        let path = |path: &PathBuf| path.display().to_string();
        let rows = [
            ("enabled", self.enabled.map(|enabled| enabled.to_string())),
            ("stage", self.stage.map(|stage| stage.to_string())),
            ("executable", self.executable.as_ref().map(path)),
            ("tree", self.tree.as_ref().map(path)),
            ("interpreter", self.interpreter.as_ref().map(path)),
            ("wire", self.wire.map(|wire| format!("{wire:?}"))),
            ("model", self.model.as_ref().map(ToString::to_string)),
            ("model_admission_file", self.model_admission_file.as_ref().map(path)),
            ("target_admission", self.target_admission.as_ref().map(path)),
            ("timeout_seconds", self.timeout_seconds.map(|seconds| seconds.to_string())),
            ("idle_seconds", self.idle_seconds.map(|seconds| seconds.to_string())),
            ("settle_seconds", self.settle_seconds.map(|seconds| seconds.to_string())),
            ("identity", self.identity.as_ref().map(|identity| identity.argv.join(" "))),
            ("openai_codex_auth_bridge", self.openai_codex_auth_bridge.map(|on| on.to_string())),
            ("definition", self.definition.as_ref().map(|definition| definition.about.clone())),
        ];
        rows.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// A time of at least a second.
fn seconds(name: &str) -> Result<Option<u64>, CommandError> {
    let Some(value) = variable(name).map(|value| value.to_string_lossy().into_owned()) else { return Ok(None) };
    let seconds = value.parse().ok().filter(|seconds: &u64| *seconds > 0);
    let wrong = || format!("{name}: `{}` is not a number of seconds", contract::text::show_controls(&value));
    seconds.map(Some).ok_or_else(|| CommandError::usage(wrong()))
}

fn wire(name: &str, word: &str) -> Result<Wire, CommandError> {
    serde_json::from_value(word.into()).map_err(|_| {
        let shown = contract::text::show_controls(word);
        CommandError::usage(format!("{name}: `{shown}` is not responses, chat_completions or messages"))
    })
}

/// Settings of the environment: the gate and its stage, the program, the time.
fn from_environment(id: &str, config: &mut EngineConfig) -> Result<Vec<(&'static str, String)>, CommandError> {
    let name = variable_name(id);
    let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
    let mut said = Vec::new();
    let allowed = text(&format!("CTO_HARNESS_ALLOW_{name}"));
    let stage_name = format!("CTO_HARNESS_{name}_STAGE");
    let stage = match text(&stage_name) {
        None => None,
        Some(value) => {
            let number =
                value.parse::<u8>().map_err(|_| format!("`{}` is not a number", contract::text::show_controls(&value)));
            let stage = number
                .and_then(Stage::try_from)
                .map_err(|problem| CommandError::usage(format!("{stage_name}: {problem}")))?;
            Some(stage)
        }
    };
    if allowed.is_some() || stage.is_some() {
        let open = allowed.as_deref().map(|value| value == "1");
        said.extend(open.map(|open| ("enabled", open.to_string())));
        said.extend(stage.map(|stage| ("stage", stage.to_string())));
        config.gate.push(GateSaid { by: GateSpeaker::Environment, allowed: open, stage });
    }
    if let Some(file) = path_variable(&format!("CTO_HARNESS_{name}_BIN")) {
        said.push(("executable", file.display().to_string()));
        config.executable = Some(file);
    }
    let wire_name = format!("CTO_HARNESS_{name}_WIRE");
    if let Some(word) = text(&wire_name) {
        config.wire = Some(wire(&wire_name, &word)?);
        said.push(("wire", word));
    }
    if let Some(seconds) = seconds(&format!("CTO_HARNESS_{name}_TIMEOUT_SECONDS"))? {
        said.push(("timeout_seconds", seconds.to_string()));
        config.timeout_seconds = Some(config.timeout_seconds.map_or(seconds, |known| known.min(seconds)));
    }
    if let Some(seconds) = seconds(&format!("CTO_HARNESS_{name}_SETTLE_SECONDS"))? {
        said.push(("settle_seconds", seconds.to_string()));
        config.settle_seconds = Some(seconds);
    }
    if let Some(value) = text(&format!("CTO_HARNESS_{name}_OPENAI_CODEX_AUTH_BRIDGE")) {
        config.auth_bridge = value == "1";
        said.push(("openai_codex_auth_bridge", config.auth_bridge.to_string()));
    }
    Ok(said)
}
