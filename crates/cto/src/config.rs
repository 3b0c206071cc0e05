//! Settings: built-in, then /etc, then the user's file, then the workspace's, then the environment, then flags. The one
//! place that reads the environment.

mod core;
mod engines;
mod evidence;
mod hermes;
mod models;
mod store;
mod terminal;

pub(crate) use terminal::size as terminal_size;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use bridge::{NetworkClass, UseLimits};
use contract::Digest;
use contract::approval::PlannedSetting;
use contract::decision::Profile;
use contract::engine::variable_name;
use contract::source::{Loaded, Spans};
use cortex::RecordPlaces;
use harness::{Engines, HomePlace, ModelSettings, NamedRepositories, Tools};
use ledger::EvidencePlace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::args::{ColorWhen, Global};
use crate::credential_source::CredentialSource;
use crate::error::CommandError;
use crate::output::{Output, Paint};

pub(crate) use self::core::{CoreFile, ValidatorFile};
use engines::EngineFile;
pub(crate) use engines::gate_in;
use evidence::EvidenceFile;
use hermes::HermesFile;
pub(crate) use hermes::HermesSettings;
use models::ModelFile;
pub(crate) use models::{bridge_token, model_ask};
use store::{StoreFile, StoreSettings};

/// A configuration file: `/etc/cto/config.yaml`, the user's `config.yaml`, a workspace's `harness.yaml`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "Configuration")]
pub(crate) struct ConfigFile {
    /// The weakest profile that is accepted; a later layer can only ask for a stricter one.
    pub(crate) sandbox: Option<Profile>,
    /// Source of the credential of each class. Not in a workspace's file.
    pub(crate) credential_sources: BTreeMap<String, CredentialSource>,
    /// The hosts of a network class, and what its traffic may carry. Not in a workspace's file.
    pub(crate) network_classes: BTreeMap<String, NetworkClass>,
    /// Engines: whether their gate is open and for which stage, where their programs lie, and engines of one's own.
    pub(crate) engines: BTreeMap<String, EngineFile>,
    /// Trees that no run may change. What an engine is given is searched for their paths before it starts.
    pub(crate) protected_roots: Vec<PathBuf>,
    /// Passes since the last failure that a rung of the ladder takes (default: 1); the highest number of all layers counts.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) passes_required: Option<u32>,
    /// Settings for reaching a model, by PROVIDER/MODEL. Not in a workspace's file.
    pub(crate) models: BTreeMap<String, ModelFile>,
    /// Limit on the daily use (UTC) of all models together, over all runs. Not in a
    /// workspace's file.
    pub(crate) limits_per_day: UseLimits,
    /// The ledger, where it is not the home's own. Not in a workspace's file.
    pub(crate) store: StoreFile,
    /// The object store for sealed bundles and witnesses of approvals. Not in a workspace's file.
    pub(crate) evidence: EvidenceFile,
    /// The key that the operator signs with, where it is not the home's own: a private key, or a public one whose other half an
    /// agent has. Not in a workspace's file.
    pub(crate) signing_key: Option<PathBuf>,
    /// The workspace that counts where neither a flag, nor the environment, nor the current folder names one. It has to be trusted by
    /// the home. Only in the user's own file.
    pub(crate) workspace: Option<PathBuf>,
    /// The Core workspace that `cto guard` looks at.
    pub(crate) core: CoreFile,
    /// Programs that `cto validate workspace` runs. Only in a workspace's file.
    pub(crate) validators: Vec<ValidatorFile>,
    /// The console. A workspace's file can only switch off, and shorten a session.
    pub(crate) hermes: HermesFile,
}

/// More than anybody waits for.
const MOST_PASSES: u32 = 1000;

/// One effective setting and the layer it came from.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct EffectiveSetting {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) source: String,
}

/// Everything resolved, once.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) home: PathBuf,
    /// The operator named the home: a missing one is then a mistake.
    pub(crate) home_named: bool,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) sandbox_floor: Option<Profile>,
    pub(crate) tools: Tools,
    pub(crate) records: RecordPlaces,
    pub(crate) models: ModelSettings,
    pub(crate) engines: Engines,
    pub(crate) named_repositories: NamedRepositories,
    pub(crate) store: StoreSettings,
    pub(crate) evidence: Option<EvidencePlace>,
    /// Passes since the last failure that a rung takes.
    pub(crate) passes_required: u32,
    /// Key that the operator signs with, where it is not the home's own.
    pub(crate) signing_key: Option<PathBuf>,
    pub(crate) core: CoreFile,
    pub(crate) validators: Vec<ValidatorFile>,
    pub(crate) hermes: HermesSettings,
    /// Files in which the panel's host keeps the token of our sidecar.
    pub(crate) sidecar_tokens: Vec<PathBuf>,
    pub(crate) settings: Vec<EffectiveSetting>,
}

/// Id of our extension in a hermes-webui.
pub(crate) const PANEL_ID: &str = "cto-panel";

#[expect(clippy::disallowed_methods, reason = "the one door to the environment")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn path_variable(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from)
}

impl Config {
    /// Resolves all layers into one configuration, and remembers the source of each
    /// setting.
    pub(crate) fn resolve_layers(global: &Global) -> Result<Self, CommandError> {
        let mut settings = Vec::new();
        let (home, home_source, home_named) = home(global)?;
        settings.push(EffectiveSetting {
            name: "home".to_owned(),
            value: home.display().to_string(),
            source: home_source,
        });
        let workspace = workspace(global, &home)?;
        if let Some((path, source)) = &workspace {
            let (name, value) = ("workspace".to_owned(), path.display().to_string());
            settings.push(EffectiveSetting { name, value, source: source.clone() });
        }
        let workspace = workspace.map(|(path, _)| path);
        let mut layers = read_layers(workspace.as_deref())?;
        let sandbox_floor = sandbox_floor(&layers, &mut settings);
        let models = models::resolve_models(&mut layers, &mut settings)?;
        let engines = engines::resolve_engines(&layers, &mut settings)?;
        let store = store::resolve_store(&layers, &mut settings)?;
        let evidence = evidence::resolve_evidence(&layers, &mut settings)?;
        let named_repositories = named_repositories(&layers, workspace.as_deref(), &engines, &mut settings);
        let signing_key = signing_key(&layers, &mut settings)?;
        let passes_required = passes_required(&layers, &mut settings)?;
        let hermes = hermes::resolve_hermes(&layers, &mut settings)?;
        let records = RecordPlaces::new(&home, workspace.as_deref());
        Ok(Self {
            home,
            home_named,
            workspace,
            sandbox_floor,
            tools: tools(),
            records,
            models,
            engines,
            named_repositories,
            store,
            evidence,
            passes_required,
            signing_key,
            core: self::core::resolve_core(&layers),
            validators: self::core::resolve_validators(&layers)?,
            hermes,
            sidecar_tokens: hermes::find_token_files(PANEL_ID),
            settings,
        })
    }

    /// Settings of a home that nobody keeps: no record, model or repository of the operator's has a say there.
    pub(crate) fn for_trial(&self, home: PathBuf, engines: Engines) -> Self {
        Self {
            records: RecordPlaces::new(&home, None),
            home,
            home_named: true,
            workspace: None,
            sandbox_floor: self.sandbox_floor,
            tools: self.tools.clone(),
            models: ModelSettings::default(),
            engines,
            named_repositories: NamedRepositories::default(),
            store: StoreSettings::default(),
            evidence: None,
            passes_required: 1,
            signing_key: None,
            core: CoreFile::default(),
            validators: Vec::new(),
            hermes: HermesSettings::default(),
            sidecar_tokens: Vec::new(),
            settings: Vec::new(),
        }
    }

    /// Settings as plans repeat them: what tells hosts or a store's address is there by its digest alone.
    pub(crate) fn planned_settings(&self) -> Vec<PlannedSetting> {
        let is_address = |name: &str| {
            let addresses = ["store.url", "evidence.url", "evidence.endpoint"];
            name.starts_with("network_classes.") || addresses.contains(&name)
        };
        // Who signs, who looks and how many run at once is no part of what runs.
        let is_of_people =
            |name: &str| name == "signing_key" || name == "store.queue_limits" || name.starts_with("hermes.");
        let of_runs = self.settings.iter().filter(|setting| !is_of_people(&setting.name));
        let planned = of_runs.map(|EffectiveSetting { name, value, source }| {
            let value = match is_address(name) {
                true => format!("sha256:{}", Digest::of_bytes(value.as_bytes())),
                false => value.clone(),
            };
            PlannedSetting { name: name.clone(), value, source: source.clone() }
        });
        planned.collect()
    }

    /// The configured home, with its ledger.
    pub(crate) fn place(&self) -> HomePlace {
        let (ledger, evidence) = (self.store.ledger.clone(), self.evidence.clone());
        HomePlace { root: self.home.clone(), ledger, evidence }
    }
}

/// Flag, environment, the older Hermes profile where it exists, the platform's data directory.
fn home(global: &Global) -> Result<(PathBuf, String, bool), CommandError> {
    if let Some(home) = &global.home {
        return Ok((home.clone(), "--home".to_owned(), true));
    }
    if let Some(home) = path_variable("CTO_HOME") {
        return Ok((home, "CTO_HOME".to_owned(), true));
    }
    let user = path_variable("HOME");
    let hermes = path_variable("HERMES_HOME").or_else(|| user.as_ref().map(|user| user.join(".hermes")));
    if let Some(profile) = hermes.map(|hermes| hermes.join("profiles/cto-planb")).filter(|profile| profile.is_dir()) {
        return Ok((profile, "the Hermes profile".to_owned(), false));
    }
    let data = path_variable("XDG_DATA_HOME").or_else(|| user.map(|user| user.join(".local/share")));
    let data = data.ok_or_else(|| {
        CommandError::usage("there is no HOME to keep runs in").hint("name a directory with --home DIR or CTO_HOME")
    })?;
    Ok((data.join("cto"), "built-in".to_owned(), false))
}

/// A workspace counts only if `cto init` registered it in this home.
fn workspace(global: &Global, home: &Path) -> Result<Option<(PathBuf, String)>, CommandError> {
    let named = global
        .workspace
        .clone()
        .map(|path| (path, "--workspace"))
        .or_else(|| path_variable("CTO_WORKSPACE").map(|path| (path, "CTO_WORKSPACE")));
    let registered = registered_workspaces(home);
    if let Some((path, source)) = named {
        let full = fs::canonicalize(&path).map_err(|error| {
            CommandError::usage(format!("cannot use {} as the workspace: {error}", path.display()))
                .hint(format!("cto init {}", path.display()))
        })?;
        if !registered.contains(&full) {
            let hint = format!("cto init {}", full.display());
            return Err(CommandError::usage(format!("{} is not a registered workspace", full.display())).hint(hint));
        }
        return Ok(Some((full, source.to_owned())));
    }
    let here = std::env::current_dir().ok();
    let around = here.and_then(|here| {
        here.ancestors()
            .find(|dir| registered.iter().any(|known| known == dir))
            .map(|dir| (dir.to_owned(), "current directory".to_owned()))
    });
    match around {
        Some(around) => Ok(Some(around)),
        None => preferred_workspace(&registered),
    }
}

/// The workspace that the user's own configuration names, if this home trusts it. One that is gone counts as none: without its
/// records every gate stays shut.
fn preferred_workspace(registered: &[PathBuf]) -> Result<Option<(PathBuf, String)>, CommandError> {
    let Some(file) = user_file() else { return Ok(None) };
    let Some(named) = read_layer(&file)?.and_then(|layer| layer.value.workspace) else { return Ok(None) };
    let full = fs::canonicalize(named).ok().filter(|full| registered.contains(full));
    Ok(full.map(|full| (full, file.display().to_string())))
}

/// The user's own configuration file, whether or not it is there.
pub(crate) fn user_file() -> Option<PathBuf> {
    let user = path_variable("XDG_CONFIG_HOME").or_else(|| path_variable("HOME").map(|home| home.join(".config")));
    user.map(|dir| dir.join("cto/config.yaml"))
}

fn registered_workspaces(home: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(home.join("trust/workspaces")).unwrap_or_default();
    text.lines().map(PathBuf::from).collect()
}

/// A configuration file that says something.
#[derive(Debug)]
struct Layer {
    path: PathBuf,
    file: ConfigFile,
    of: LayerOf,
    /// For problems that show only when all layers are put together.
    spans: Spans,
    text: String,
}

/// Whose a layer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LayerOf {
    System,
    User,
    /// Workspace file. Its settings can ask for less, never for more.
    Workspace,
}

/// The configuration files, weakest first.
fn read_layers(workspace: Option<&Path>) -> Result<Vec<Layer>, CommandError> {
    let mut files = vec![(PathBuf::from("/etc/cto/config.yaml"), LayerOf::System)];
    files.extend(user_file().map(|file| (file, LayerOf::User)));
    files.extend(workspace.map(|dir| (dir.join("harness.yaml"), LayerOf::Workspace)));
    let mut layers = Vec::new();
    for (path, of) in files {
        if let Some(Loaded { value, spans, text }) = read_layer(&path)? {
            layers.push(Layer { path, file: value, of, spans, text });
        }
    }
    Ok(layers)
}

fn read_layer(path: &Path) -> Result<Option<Loaded<ConfigFile>>, CommandError> {
    match fs::read(path) {
        Ok(bytes) if says_nothing(&bytes) => Ok(None),
        Ok(bytes) => match contract::source::load(&path.display().to_string(), &bytes) {
            Ok(loaded) => Ok(Some(loaded)),
            Err(problems) => Err(CommandError::from(problems).hint("cto schema config     every field")),
        },
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(CommandError::usage(format!("cannot read {}: {error}", path.display()))
            .hint("fix it or move it away; without the file its layer is empty")),
    }
}

/// Blank lines and comments alone, as `cto init` writes it.
fn says_nothing(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).all(|line| line.is_empty() || line.starts_with(b"#"))
}

/// True if the text can be read as a configuration file.
pub(crate) fn is_configuration(text: &str) -> bool {
    parse_text(text).is_some()
}

/// Hosts of a network class in a configuration file; none if it cannot be read.
pub(crate) fn hosts_in(text: &str, class: &str) -> Option<Vec<String>> {
    let file = parse_text(text)?;
    Some(file.network_classes.get(class).map(|network| network.hosts.clone()).unwrap_or_default())
}

fn parse_text(text: &str) -> Option<ConfigFile> {
    if says_nothing(text.as_bytes()) {
        return Some(ConfigFile::default());
    }
    contract::source::load::<ConfigFile>("config.yaml", text.as_bytes()).ok().map(|loaded| loaded.value)
}

/// The strictest profile any layer asks for.
fn sandbox_floor(layers: &[Layer], settings: &mut Vec<EffectiveSetting>) -> Option<Profile> {
    let mut floor = None;
    let mut source = "built-in".to_owned();
    for Layer { path, file, .. } in layers {
        let Some(profile) = file.sandbox else { continue };
        if floor.is_none_or(|known| profile > known) {
            (floor, source) = (Some(profile), path.display().to_string());
        }
    }
    let value = floor.unwrap_or(Profile::Strict).to_string();
    settings.push(EffectiveSetting { name: "sandbox".to_owned(), value, source });
    floor
}

/// The highest number that any layer asks for.
fn passes_required(layers: &[Layer], settings: &mut Vec<EffectiveSetting>) -> Result<u32, CommandError> {
    let mut required = 1;
    for Layer { path, file, .. } in layers {
        let Some(asked) = file.passes_required else { continue };
        if !(1..=MOST_PASSES).contains(&asked) {
            let message = format!("{}: `passes_required` is 1 to {MOST_PASSES}, found {asked}", path.display());
            return Err(CommandError::usage(message).hint("cto schema config     every field"));
        }
        if asked >= required {
            required = asked;
            let (name, value) = ("passes_required".to_owned(), asked.to_string());
            settings.retain(|setting| setting.name != name);
            settings.push(EffectiveSetting { name, value, source: path.display().to_string() });
        }
    }
    Ok(required)
}

/// The operator's key as the environment names it, else the last layer. A workspace does not choose who signs.
fn signing_key(layers: &[Layer], settings: &mut Vec<EffectiveSetting>) -> Result<Option<PathBuf>, CommandError> {
    let mut found = None;
    for Layer { path, file, of, .. } in layers {
        let Some(key) = &file.signing_key else { continue };
        if *of == LayerOf::Workspace {
            let message = format!("{}: a workspace's file may not have `signing_key`", path.display());
            return Err(CommandError::usage(message).hint("put it into your own config.yaml"));
        }
        found = Some((path.parent().unwrap_or(Path::new("/")).join(key), path.display().to_string()));
    }
    let found = path_variable("CTO_SIGNING_KEY").map(|key| (key, "CTO_SIGNING_KEY".to_owned())).or(found);
    let Some((key, source)) = found else { return Ok(None) };
    settings.push(EffectiveSetting { name: "signing_key".to_owned(), value: key.display().to_string(), source });
    Ok(Some(key))
}

/// Every layer may name further trees, and the target admission of each engine.
fn named_repositories(
    layers: &[Layer],
    workspace: Option<&Path>,
    engines: &Engines,
    settings: &mut Vec<EffectiveSetting>,
) -> NamedRepositories {
    let mut named = NamedRepositories {
        admissions: workspace.map(|dir| dir.join("admissions/target")),
        ..NamedRepositories::default()
    };
    for Layer { path, file, .. } in layers {
        for root in &file.protected_roots {
            let root = path.parent().unwrap_or(Path::new("/")).join(root);
            let (name, value) = ("protected_roots".to_owned(), root.display().to_string());
            settings.push(EffectiveSetting { name, value, source: path.display().to_string() });
            named.protected_roots.push(root);
        }
    }
    named.admission_files.extend(engines.configured.values().filter_map(|engine| engine.target_admission.clone()));
    named
}

/// Outcome that the environment names for an engine's runs, with the variable that names it.
pub(crate) fn operator_outcome(engine: &str) -> Option<(String, String)> {
    let name = format!("CTO_HARNESS_{}_STAGE5_OPERATOR_OUTCOME", variable_name(engine));
    let word = variable(&name)?.to_string_lossy().into_owned();
    Some((name, word))
}

fn tools() -> Tools {
    let operator_path = variable("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let rustup_home = path_variable("RUSTUP_HOME")
        .or_else(|| path_variable("HOME").map(|home| home.join(".rustup")))
        .filter(|dir| dir.is_dir());
    Tools { operator_path, rustup_home }
}

/// Form of the output. Needs no file, so that errors in files can be printed in colour too.
pub(crate) fn output_form(global: &Global) -> Output {
    let (stdout, stderr) = (io::stdout().is_terminal(), io::stderr().is_terminal());
    let people = stdout && !global.json && !global.plain;
    let plain = global.plain || variable("NO_COLOR").is_some() || variable("TERM").is_some_and(|term| term == "dumb");
    let wanted = |terminal: bool| match global.color {
        Some(ColorWhen::Always) => !global.plain,
        Some(ColorWhen::Never) => false,
        Some(ColorWhen::Auto) | None => terminal && !plain,
    };
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| variable(name)).unwrap_or_default();
    let unicode = locale.to_string_lossy().to_uppercase().contains("UTF");
    let width =
        variable("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok()).or_else(terminal::width).unwrap_or(100);
    Output {
        json: global.json,
        quiet: global.quiet,
        verbose: global.verbose,
        terminal: people,
        progress: stderr && people && !global.quiet && variable("TERM").is_none_or(|term| term != "dumb"),
        step_lines: stderr && global.plain && !global.json && !global.quiet,
        paint: Paint { color: wanted(stdout) && !global.json, unicode, links: people && terminal::has_links() },
        paint_errors: Paint { color: wanted(stderr), unicode, links: false },
        width: width.clamp(40, 100),
    }
}
