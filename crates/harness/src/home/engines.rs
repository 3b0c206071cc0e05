//! The engines that exist here: the fake one, those that come described with the harness, and those that the operator's
//! configuration describes. There is one way to run all of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use contract::ModelPair;
use contract::engine::{EngineDefinition, GateSaid, IdentityCheck};
use contract::model::Wire;

/// The engine that is part of the harness and needs no gate.
pub const FAKE: &str = "fake";

/// WorkOS Case.
pub(crate) const CASE: &str = "case";

/// A commit that stands for so long is done.
const SETTLE_SECONDS: u64 = 5;

/// Described in the same words as a user's own.
const BUILT_IN: &[(&str, &str)] = &[
    (CASE, include_str!("definitions/case.yaml")),
    ("claude", include_str!("definitions/claude.yaml")),
    ("codex", include_str!("definitions/codex.yaml")),
    ("opencode", include_str!("definitions/opencode.yaml")),
    ("pi", include_str!("definitions/pi.yaml")),
];

/// Settings of one engine, from the operator's configuration and environment.
#[derive(Debug, Clone, Default)]
pub struct EngineConfig {
    /// Everybody who says something of its gate.
    pub gate: Vec<GateSaid>,
    /// Instead of a search.
    pub executable: Option<PathBuf>,
    /// Folder that belongs to the executable, if it cannot be found automatically.
    pub tree: Option<PathBuf>,
    pub interpreter: Option<PathBuf>,
    pub wire: Option<Wire>,
    /// Asked for where nobody says otherwise; it admits nothing.
    pub model: Option<ModelPair>,
    /// The record that is to admit it, where it is not one of the workspace's.
    pub model_admission_file: Option<PathBuf>,
    /// The target admission of a run with it, where nobody names another.
    pub target_admission: Option<PathBuf>,
    pub timeout_seconds: Option<u64>,
    /// Seconds without output or file changes before the engine counts as idle.
    pub idle_seconds: Option<u64>,
    /// Time that a commit must stand before an engine that lingers is ended.
    pub settle_seconds: Option<u64>,
    /// Identity check, if the engine's description has none.
    pub identity: Option<IdentityCheck>,
    /// The operator lets the bridge stand in for a login that the engine does not pass on.
    pub auth_bridge: bool,
    /// Makes it an engine, where none of that name comes with the harness.
    pub definition: Option<EngineDefinition>,
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub struct Engines {
    /// By id; an engine that comes with the harness is there also without an entry.
    pub configured: BTreeMap<String, EngineConfig>,
}

/// One engine, as a run gets it.
#[derive(Debug, Clone)]
pub struct Engine {
    pub id: String,
    pub definition: EngineDefinition,
    pub config: EngineConfig,
}

impl Engine {
    /// The protocol it speaks here.
    pub fn wire(&self) -> Option<Wire> {
        self.config.wire.or(self.definition.wire)
    }

    /// Identity check in force: the admission's, else the configuration's, else the
    /// description's.
    pub(crate) fn identity<'a>(&'a self, admitted: Option<&'a IdentityCheck>) -> &'a IdentityCheck {
        admitted.or(self.config.identity.as_ref()).unwrap_or(&self.definition.identity)
    }

    /// Time that a commit must stand before an engine that lingers is ended.
    pub(crate) fn settle(&self) -> Duration {
        Duration::from_secs(self.config.settle_seconds.unwrap_or(SETTLE_SECONDS))
    }
}

impl Engines {
    /// None for the fake engine and for names that are no engine's.
    pub fn find_engine(&self, id: &str) -> Option<Engine> {
        let config = self.configured.get(id).cloned().unwrap_or_default();
        let definition = built_in(id).or_else(|| config.definition.clone())?;
        Some(Engine { id: id.to_owned(), definition, config })
    }

    /// True for the fake engine, a built-in one or one of the configuration.
    pub fn is_known(&self, id: &str) -> bool {
        id == FAKE || self.ids().iter().any(|known| known == id)
    }

    /// Every engine but the fake one.
    pub fn ids(&self) -> Vec<String> {
        let described =
            self.configured.iter().filter(|(_, config)| config.definition.is_some()).map(|(id, _)| id.clone());
        let mut ids: Vec<String> = BUILT_IN.iter().map(|(id, _)| (*id).to_owned()).chain(described).collect();
        ids.sort();
        ids.dedup();
        ids
    }
}

/// True for an engine that comes with the harness. A configuration cannot redefine it.
pub fn is_built_in(id: &str) -> bool {
    id == FAKE || BUILT_IN.iter().any(|(known, _)| *known == id)
}

fn built_in(id: &str) -> Option<EngineDefinition> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == id)?;
    contract::source::load::<EngineDefinition>(id, text.as_bytes()).ok().map(|loaded| loaded.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_with_the_harness_is_well_described() {
        for (id, text) in BUILT_IN {
            let definition = contract::source::load::<EngineDefinition>(id, text.as_bytes()).unwrap().value;
            assert_eq!(definition.problems(), Vec::<String>::new(), "{id}");
            assert!(definition.gets_brief() && definition.wire.is_some(), "{id}");
            assert_eq!(definition.unmet_names(definition.wire).len(), 0, "{id}: every name has a value");
            assert!(contract::engine::is_engine_id(id) && Engines::default().is_known(id));
        }
        assert!(Engines::default().find_engine(FAKE).is_none() && Engines::default().is_known(FAKE));
        assert!(!Engines::default().is_known("other"));
    }
}
