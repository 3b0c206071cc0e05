//! Node: the packages of a lock file are installed into `node_modules` by the manager that
//! wrote it.

use serde_json::Value;
use untrusted_fs::own_files;

use super::draft::EnvironmentDraft;
use crate::machine::{FoundProgram, Machine, Toolchain, path_text};
use crate::repository::ProjectFolder;

const NODE: Toolchain = Toolchain { name: "node", landmarks: &["include/node", "lib/node_modules"] };

const WRITABLE_INDEX: &str = "own=\"$HOME/.npm/_cacache\" && mkdir -p \"$own\" \
                              && ln -s /opt/npm/_cacache/content-v2 \"$own\" \
                              && cp -R /opt/npm/_cacache/index-v5 \"$own\"";

/// A store of its own for pnpm, which writes beside the packages that it reads: links to
/// all but the list of projects.
const WRITABLE_STORE: &str = "own=\"$HOME/pnpm-store\" && for v in \"$1\"/v*; do mkdir -p \"$own/${v##*/}\" \
                              && for d in \"$v\"/*; do case \"$d\" in */projects) ;; *) ln -s \"$d\" \"$own/${v##*/}/\" ;; esac; done; done \
                              && exec pnpm install --frozen-lockfile --ignore-scripts --offline --store-dir \"$own\"";

/// Packages that are named in a note.
const NAMED: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeManager {
    Npm,
    Pnpm,
    Yarn,
}

const LOCKS: [(&str, NodeManager); 4] = [
    ("npm-shrinkwrap.json", NodeManager::Npm),
    ("package-lock.json", NodeManager::Npm),
    ("pnpm-lock.yaml", NodeManager::Pnpm),
    ("yarn.lock", NodeManager::Yarn),
];

/// Adds a Node package. Below the root only folders with a lock file of their own count as
/// projects.
pub(super) fn draft_node(place: &ProjectFolder<'_>, machine: &Machine<'_>, draft: &mut EnvironmentDraft) {
    let lock = LOCKS.iter().find(|(lock, _)| place.has_file(lock) && !place.ignores(lock));
    if !place.has_file("package.json") || (!place.is_root() && lock.is_none()) {
        return;
    }
    let mut files = vec![place.path_of("package.json")];
    files.extend(lock.map(|(lock, _)| place.path_of(lock)));
    draft.found("Node", &files);
    let Some(node) = draft.show_toolchain(machine, &NODE) else { return };
    match lock {
        None if !depends(place) => return,
        None => unlocked(place, draft),
        Some((lock, manager)) => {
            match manager {
                NodeManager::Npm => npm(place, lock, &node, machine, draft),
                NodeManager::Pnpm => pnpm(place, &node, machine, draft),
                NodeManager::Yarn => yarn(place, &node, machine, draft),
            }
            draft.input(&place.path_of(lock));
            build(place, *manager, draft);
        }
    }
    if !place.ignores("node_modules") {
        draft.add_note("node_modules is not in .gitignore: what an engine changes there counts as part of its patch");
    }
}

/// Tests often run what a build leaves, in `dist` or the like: it has to be made of the
/// tree that is judged.
fn build(place: &ProjectFolder<'_>, manager: NodeManager, draft: &mut EnvironmentDraft) {
    let manifest: Value =
        place.read_text("package.json").and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    if !manifest["scripts"]["build"].is_string() {
        return;
    }
    let program = match manager {
        NodeManager::Npm => "npm",
        NodeManager::Pnpm => "pnpm",
        NodeManager::Yarn => "yarn",
    };
    let why = "makes what the tests run, on every tree that is judged; leave it out if they run the sources";
    draft.add_build(&[program, "run", "build"], place.cwd(), why);
}

fn npm(
    place: &ProjectFolder<'_>,
    lock: &str,
    node: &FoundProgram,
    machine: &Machine<'_>,
    draft: &mut EnvironmentDraft,
) {
    let lock = NpmLock::parse(&place.read_text(lock).unwrap_or_default());
    let install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    let why = "npm ci installs exactly what the lock file names; --ignore-scripts runs nothing of the packages";
    let cache = machine.of_home(".npm/_cacache").as_deref().and_then(path_text);
    if let Some(cache) = &cache {
        draft.mount(cache, "/opt/npm/_cacache", "what npm downloaded before, so that setup needs no network");
    }
    if cache.is_none() {
        draft.add_setup(&install, place.cwd(), why);
        draft.add_note("npm has no cache in ~/.npm: run npm ci once, then suggest again, or let setup use the network");
    } else if lock.resolved {
        draft.add_setup(&[&install[..], &["--offline", "--cache", "/opt/npm"]].concat(), place.cwd(), why);
    } else {
        // Without addresses in the lock file npm goes by its index, and does not go by one
        // that it cannot write to.
        let script = format!("{WRITABLE_INDEX} && exec {} --offline", install.join(" "));
        draft.add_setup(&["sh", "-c", &script], place.cwd(), format!("{why}; npm gets an index it can write to"));
    }
    let hosts: Vec<&str> = lock.hosts.iter().map(String::as_str).collect();
    let hosts = if hosts.is_empty() { vec!["registry.npmjs.org"] } else { hosts };
    draft.online(&hosts, if cache.is_some() { "take --offline and --cache out of npm ci" } else { "" });
    manager_beside(node, "npm", draft);
    if !lock.scripted.is_empty() {
        draft.add_note(format!(
            "these packages have install scripts, which --ignore-scripts leaves out: {}; take it away if tests need what they build",
            lock.scripted.join(", ")
        ));
    }
}

fn pnpm(place: &ProjectFolder<'_>, node: &FoundProgram, machine: &Machine<'_>, draft: &mut EnvironmentDraft) {
    let why = "installs exactly what the lock file names, and runs nothing of the packages";
    let store = machine
        .of_home(".local/share/pnpm/store")
        .and_then(|store| draft.show_folder(&store, "/opt/pnpm/store", "pnpm's store, so that setup needs no network"));
    match &store {
        Some(store) => {
            let argv = ["sh", "-c", WRITABLE_STORE, "sh", store.as_str()];
            draft.add_setup(&argv, place.cwd(), format!("{why}; pnpm gets a store it can write to"));
        }
        None => {
            draft.add_setup(&["pnpm", "install", "--frozen-lockfile", "--ignore-scripts"], place.cwd(), why);
            draft.add_note("pnpm has no store in ~/.local/share/pnpm: run pnpm install once, then suggest again");
        }
    }
    let change = if store.is_some() {
        "put pnpm install --frozen-lockfile --ignore-scripts in the place of the script"
    } else {
        ""
    };
    draft.online(&["registry.npmjs.org"], change);
    manager_beside(node, "pnpm", draft);
}

fn yarn(place: &ProjectFolder<'_>, node: &FoundProgram, machine: &Machine<'_>, draft: &mut EnvironmentDraft) {
    if place.has_file(".yarnrc.yml") {
        return draft.add_note("this is Yarn 2 or newer, which keeps packages in many ways: write its setup by hand");
    }
    let mut argv = vec!["yarn", "install", "--frozen-lockfile", "--ignore-scripts", "--non-interactive"];
    let cache = machine.of_home(".cache/yarn").and_then(|cache| {
        draft.show_folder(&cache, "/opt/yarn", "what Yarn downloaded before, so that setup needs no network")
    });
    match &cache {
        Some(cache) => argv.extend(["--offline", "--cache-folder", cache.as_str()]),
        None => draft.add_note("Yarn has no cache in ~/.cache/yarn: run yarn install once, then suggest again"),
    }
    draft.add_setup(&argv, place.cwd(), "installs exactly what the lock file names, and runs nothing of the packages");
    let change = if cache.is_some() { "take --offline and --cache-folder out of yarn install" } else { "" };
    draft.online(&["registry.yarnpkg.com"], change);
    manager_beside(node, "yarn", draft);
}

/// A manager that is installed with Node's own lies beside it; a stand-in that would
/// download it is of no use inside.
fn manager_beside(node: &FoundProgram, name: &str, draft: &mut EnvironmentDraft) {
    let real = own_files::canonicalize(node.prefix.join("bin").join(name));
    if !real.is_ok_and(|real| !real.components().any(|part| part.as_os_str() == "corepack")) {
        let beside = node.prefix.join("bin");
        draft.add_note(format!("{name} itself has to lie beside node, in {}, and does not", beside.display()));
    }
}

fn unlocked(place: &ProjectFolder<'_>, draft: &mut EnvironmentDraft) {
    let argv = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"];
    draft.add_setup(&argv, place.cwd(), "installs what package.json asks for");
    draft.input(&place.path_of("package.json"));
    draft.add_note("there is no lock file that git keeps: what is installed today may be another version tomorrow");
    draft.online(&["registry.npmjs.org"], "");
}

fn depends(place: &ProjectFolder<'_>) -> bool {
    let manifest: Value =
        place.read_text("package.json").and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let some = |key: &str| manifest[key].as_object().is_some_and(|names| !names.is_empty());
    some("dependencies") || some("devDependencies")
}

/// The parts of npm's lock file that matter for a draft.
#[derive(Debug, PartialEq, Eq)]
struct NpmLock {
    /// Every package has the address it came from.
    resolved: bool,
    hosts: Vec<String>,
    /// Names of packages with install scripts, at most a few.
    scripted: Vec<String>,
}

impl NpmLock {
    fn parse(text: &str) -> Self {
        let document: Value = serde_json::from_str(text).unwrap_or_default();
        let mut lock = Self { resolved: true, hosts: Vec::new(), scripted: Vec::new() };
        for (path, package) in document["packages"].as_object().into_iter().flatten() {
            let Some((_, name)) = path.rsplit_once("node_modules/") else { continue };
            lock.resolved &= package["resolved"].is_string() || package["integrity"].is_null();
            if let Some(host) = package["resolved"].as_str().and_then(host)
                && lock.hosts.len() < NAMED
                && !lock.hosts.contains(&host)
            {
                lock.hosts.push(host);
            }
            if package["hasInstallScript"] == true && lock.scripted.len() < NAMED {
                lock.scripted.push(name.to_owned());
            }
        }
        lock
    }
}

/// The host of an address, and nothing else of it.
fn host(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':');
    (!host.is_empty() && host.len() < 256 && host.bytes().all(plain)).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_says_where_packages_come_from() {
        let check = |packages: &str, resolved: bool, hosts: &[&str], scripted: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
            let lock = NpmLock::parse(&format!("{{\"packages\": {{\"\": {{}}, {packages}}}}}"));
            assert_eq!(lock, NpmLock { resolved, hosts: owned(hosts), scripted: owned(scripted) }, "{packages}");
        };
        let url = |url: &str| format!("\"node_modules/a\": {{\"resolved\": \"{url}\", \"integrity\": \"x\"}}");
        check(&url("https://Registry.npmjs.org/a/-/a-1.tgz"), true, &["registry.npmjs.org"], &[]);
        check(&url("https://user:secret@npm.example:8443/a.tgz?token=secret"), true, &["npm.example:8443"], &[]);
        check(&url("git+ssh://git@example/a.git#1"), true, &[], &[]);
        check(&url("https:///a"), true, &[], &[]);
        check("\"node_modules/a\": {\"integrity\": \"x\"}", false, &[], &[]);
        check("\"node_modules/a\": {\"link\": true}", true, &[], &[]);
        check("\"node_modules/a/node_modules/@b/c\": {\"hasInstallScript\": true}", true, &[], &["@b/c"]);
        for text in ["", "[]", "{\"packages\": 1}", "{\"packages\": {\"node_modules/a\": 1}}"] {
            let lock = NpmLock::parse(text);
            assert!(lock.resolved && lock.hosts.is_empty() && lock.scripted.is_empty(), "{text}");
        }
    }
}
