//! Changes of a draft that a failure may ask for.

use super::{DraftPart, EnvironmentDraft};

/// Variables that keep a package manager off the network.
const OFFLINE_VARIABLES: [&str; 2] = ["CARGO_NET_OFFLINE", "GOPROXY"];
/// Options that do, and those of them with a value.
const OFFLINE: [&str; 2] = ["--offline", "--no-index"];
const OFFLINE_PLACES: [&str; 4] = ["--cache", "--find-links", "--store-dir", "--cache-folder"];

/// Variables by which package managers know that there is no network, for those that the
/// repository's own scripts start.
const TOLD_OFFLINE: [(&str, &str); 6] = [
    ("CARGO_NET_OFFLINE", "true"),
    ("COREPACK_ENABLE_NETWORK", "0"),
    ("GOPROXY", "off"),
    ("PIP_NO_INDEX", "1"),
    ("UV_OFFLINE", "1"),
    ("npm_config_offline", "true"),
];

/// Option by which an environment sees the packages of the system.
const SYSTEM_PACKAGES: &str = "--system-site-packages";

/// Managers that a script of a draft starts.
const IN_SCRIPTS: [&str; 2] = ["npm", "pnpm"];

impl EnvironmentDraft {
    /// Variant with network for setup, and without the settings that keep package managers
    /// offline. None if setup sees the whole tree, which is never combined with network, or
    /// if there is no host to reach.
    pub(crate) fn online_draft(&self) -> Option<Self> {
        if self.whole_tree || self.hosts.is_empty() || self.setup.is_empty() || self.inputs.is_empty() {
            return None;
        }
        let mut online = Self { uses_network: true, ..self.clone() };
        for part in online.setup.iter_mut().chain(&mut online.last).chain(&mut online.build_tools) {
            part.value.argv = without_offline(&part.value.argv);
        }
        online.variables.retain(|part| !OFFLINE_VARIABLES.contains(&part.value.0.as_str()));
        Some(online)
    }

    /// The same without setup and build: whatever the system has.
    pub(crate) fn bare_draft(&self) -> Option<Self> {
        let has_steps = !self.setup.is_empty() || !self.last.is_empty() || !self.build.is_empty();
        has_steps.then(|| Self {
            setup: Vec::new(),
            last: Vec::new(),
            build: Vec::new(),
            inputs: Vec::new(),
            whole_tree: false,
            hosts: Vec::new(),
            ..self.clone()
        })
    }

    /// The same with the dependencies made and nothing built.
    pub(crate) fn unbuilt_draft(&self) -> Option<Self> {
        (!self.build.is_empty() && !self.setup.is_empty()).then(|| Self { build: Vec::new(), ..self.clone() })
    }

    /// The same with settings that keep every package manager off the network.
    pub(crate) fn offline_draft(&self) -> Option<Self> {
        if self.uses_network {
            return None;
        }
        let mut offline = self.clone();
        let is_set = |draft: &Self, name: &str| draft.variables.iter().any(|part| part.value.0 == name);
        for (name, value) in TOLD_OFFLINE.iter().filter(|(name, _)| !is_set(self, name)) {
            offline.variable(name, value, "a sandbox has no network, so that scripts need not try");
        }
        Some(offline)
    }

    /// The same with the project itself installed.
    pub(crate) fn installed_draft(&self) -> Option<Self> {
        let project = self.project.clone()?;
        let mut installed = self.clone();
        if installed.build.iter().all(|part| part.value != project.value) {
            installed.build.insert(0, project);
        }
        Some(installed)
    }

    /// The same with the project's folder of modules on Python's path.
    pub(crate) fn module_path_draft(&self) -> Option<Self> {
        let path = self.module_path.as_ref()?;
        let mut found = Self { build: without_project(&self.build, self.project.as_ref()), ..self.clone() };
        found.variable("PYTHONPATH", path, "the project's own modules, which are not installed");
        Some(found)
    }

    /// The same with the build tools that the project names, as setup gets its packages.
    pub(crate) fn named_tools_draft(&self) -> Option<Self> {
        let tools = self.build_tools.clone()?;
        let mut named = self.clone();
        if named.setup.iter().any(|part| part.value == tools.value) {
            return None;
        }
        if !named.whole_tree {
            named.input("pyproject.toml");
        }
        named.setup.push(tools);
        Some(named)
    }

    /// The same with the build tools of the system in the place of downloaded ones. None if it has them already.
    pub(crate) fn system_tools_draft(&self) -> Option<Self> {
        let mut system = self.clone();
        system.setup.retain(|part| self.build_tools.as_ref().is_none_or(|tools| tools.value != part.value));
        let mut is_changed = false;
        for part in system.setup.iter_mut().chain(&mut system.build) {
            let argv = &mut part.value.argv;
            if argv.iter().any(|word| word == SYSTEM_PACKAGES) {
                return None;
            }
            if let Some(at) = argv.iter().position(|word| word == "venv") {
                argv.insert(at + 1, SYSTEM_PACKAGES.to_owned());
                is_changed = true;
            } else if let Some(at) = argv.iter().position(|word| word == "install")
                && argv.iter().any(|word| word == "pip")
                && !argv.iter().any(|word| word == "--no-build-isolation")
            {
                argv.insert(at + 1, "--no-build-isolation".to_owned());
            }
        }
        is_changed.then_some(system)
    }
}

fn without_project<T: Clone + PartialEq>(build: &[DraftPart<T>], project: Option<&DraftPart<T>>) -> Vec<DraftPart<T>> {
    build.iter().filter(|part| project.is_none_or(|project| project.value != part.value)).cloned().collect()
}

/// The words of a command without those that keep it offline, and without a script before
/// the manager that lays a cache out for it.
fn without_offline(argv: &[String]) -> Vec<String> {
    let is_script = argv.get(1).is_some_and(|word| word == "-c");
    let begin = argv.iter().position(|word| is_script && IN_SCRIPTS.contains(&word.as_str())).unwrap_or(0);
    let mut is_value = false;
    let kept = argv.iter().skip(begin).filter(|word| {
        let was_value = std::mem::replace(&mut is_value, OFFLINE_PLACES.contains(&word.as_str()));
        !was_value && !is_value && !OFFLINE.contains(&word.as_str())
    });
    kept.cloned().collect()
}
