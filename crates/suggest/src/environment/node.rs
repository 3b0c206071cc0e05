//! Node: the packages of a lock file are installed into `node_modules` by the manager that
//! wrote it; without one, those of the manifest by the manager that the repository names.

use serde_json::Value;
use untrusted_fs::own_files;

use super::draft::EnvironmentDraft;
use crate::machine::{FoundProgram, Machine, Toolchain, path_text};
use crate::node_manager::{NodeManager, find_node_lock};
use crate::repository::ProjectFolder;

const NODE: Toolchain = Toolchain { name: "node", landmarks: &["include/node", "lib/node_modules"] };

const WRITABLE_INDEX: &str = "own=\"$HOME/.npm/_cacache\" && mkdir -p \"$own\" \
                              && ln -s /opt/npm/_cacache/content-v2 \"$own\" \
                              && cp -R /opt/npm/_cacache/index-v5 \"$own\"";

/// A store of its own for pnpm, which writes beside the packages that it reads: links to
/// all but the list of projects. What pnpm knows of the registry is copied, where it is
/// shown.
const WRITABLE_STORE: &str = "own=\"$HOME/pnpm-store\" && for v in \"$1\"/v*; do mkdir -p \"$own/${v##*/}\" \
                              && for d in \"$v\"/*; do case \"$d\" in */projects) ;; *) ln -s \"$d\" \"$own/${v##*/}/\" ;; esac; done; done \
                              && if [ -d /opt/pnpm/cache ]; then mkdir -p \"$HOME/.cache\" && cp -R /opt/pnpm/cache \"$HOME/.cache/pnpm\"; fi \
                              && shift && exec \"$@\" --offline --store-dir \"$own\"";

/// Packages that are named in a note.
const NAMED: usize = 5;

/// Adds a Node package. Below the root only folders with a lock file of their own count as
/// projects.
pub(super) fn draft_node(place: &ProjectFolder<'_>, machine: &Machine<'_>, draft: &mut EnvironmentDraft) {
    let kept = find_node_lock(place);
    if !place.has_file("package.json") || (!place.is_root() && kept.is_none()) {
        return;
    }
    let lock = kept.filter(|_| machine.choice.holds_to_locks);
    let mut files = vec![place.path_of("package.json")];
    files.extend(lock.map(|lock| place.path_of(lock)));
    draft.found("Node", &files);
    let Some(node) = draft.show_toolchain(machine, &NODE) else { return };
    if lock.is_none() && !depends(place) {
        return;
    }
    let manager = NodeManager::find(place);
    match manager {
        NodeManager::Npm => npm(place, lock, &node, machine, draft),
        NodeManager::Pnpm => pnpm(place, lock, &node, machine, draft),
        NodeManager::Yarn => yarn(place, lock, &node, machine, draft),
        NodeManager::NewYarn => {
            draft.add_note("this is Yarn 2 or newer, which keeps packages in many ways: write its setup by hand");
        }
    }
    draft.input(&place.path_of(lock.unwrap_or("package.json")));
    if lock.is_none() {
        draft.add_note("there is no lock file that git keeps: what is installed today may be another version tomorrow");
    }
    build(place, manager, draft);
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
    let why = "makes what the tests run, on every tree that is judged; leave it out if they run the sources";
    draft.add_build(&[manager.name(), "run", "build"], place.cwd(), why);
}

const BY_LOCK: &str = "installs exactly what the lock file names, and runs nothing of the packages";
const BY_MANIFEST: &str = "installs what package.json asks for, and runs nothing of the packages";

fn why_install(lock: Option<&str>) -> &'static str {
    if lock.is_some() { BY_LOCK } else { BY_MANIFEST }
}

fn npm(
    place: &ProjectFolder<'_>,
    lock: Option<&str>,
    node: &FoundProgram,
    machine: &Machine<'_>,
    draft: &mut EnvironmentDraft,
) {
    let found = lock.map(|lock| NpmLock::parse(&place.read_text(lock).unwrap_or_default()));
    let mut install = if lock.is_some() { vec!["npm", "ci"] } else { vec!["npm", "install", "--no-package-lock"] };
    install.extend(["--ignore-scripts", "--no-audit", "--no-fund"]);
    let why = why_install(lock);
    let cache = machine.of_home(".npm/_cacache").as_deref().and_then(path_text);
    if let Some(cache) = &cache {
        draft.mount(cache, "/opt/npm/_cacache", "what npm downloaded before, so that setup needs no network");
    }
    if cache.is_none() {
        draft.add_setup(&install, place.cwd(), why);
        let words = install[..2].join(" ");
        draft.add_note(format!(
            "npm has no cache in ~/.npm: run {words} once, then suggest again, or let setup use the network"
        ));
    } else if found.as_ref().is_some_and(|lock| lock.resolved) {
        draft.add_setup(&[&install[..], &["--offline", "--cache", "/opt/npm"]].concat(), place.cwd(), why);
    } else {
        // Without addresses in a lock file npm goes by its index, and does not go by one
        // that it cannot write to.
        let script = format!("{WRITABLE_INDEX} && exec \"$@\"");
        let words = [&["sh", "-c", &script, "sh"], &install[..], &["--offline"]].concat();
        draft.add_setup(&words, place.cwd(), format!("{why}; npm gets an index it can write to"));
    }
    let lock = found.unwrap_or_default();
    let hosts: Vec<&str> = lock.hosts.iter().map(String::as_str).collect();
    let hosts = if hosts.is_empty() { vec!["registry.npmjs.org"] } else { hosts };
    draft.online(&hosts, if cache.is_some() { "take --offline and --cache out of the words of npm" } else { "" });
    manager_beside(node, "npm", draft);
    if !lock.scripted.is_empty() {
        draft.add_note(format!(
            "these packages have install scripts, which --ignore-scripts leaves out: {}; take it away if tests need what they build",
            lock.scripted.join(", ")
        ));
    }
}

fn pnpm(
    place: &ProjectFolder<'_>,
    lock: Option<&str>,
    node: &FoundProgram,
    machine: &Machine<'_>,
    draft: &mut EnvironmentDraft,
) {
    let held = if lock.is_some() { "--frozen-lockfile" } else { "--no-lockfile" };
    let install = ["pnpm", "install", held, "--ignore-scripts"];
    let why = why_install(lock);
    let store = machine
        .of_home(".local/share/pnpm/store")
        .and_then(|store| draft.show_folder(&store, "/opt/pnpm/store", "pnpm's store, so that setup needs no network"));
    let known = machine.of_home(".cache/pnpm").filter(|_| store.is_some() && lock.is_none());
    if let Some(known) = known.as_deref().and_then(path_text) {
        draft.mount(&known, "/opt/pnpm/cache", "what pnpm knows of the registry's versions");
    }
    match &store {
        Some(store) => {
            let argv = [&["sh", "-c", WRITABLE_STORE, "sh", store.as_str()], &install[..]].concat();
            draft.add_setup(&argv, place.cwd(), format!("{why}; pnpm gets a store it can write to"));
        }
        None => {
            draft.add_setup(&install, place.cwd(), why);
            draft.add_note("pnpm has no store in ~/.local/share/pnpm: run pnpm install once, then suggest again");
        }
    }
    let change = if store.is_some() { "leave the words of pnpm alone in setup" } else { "" };
    draft.online(&["registry.npmjs.org"], change);
    manager_beside(node, "pnpm", draft);
}

fn yarn(
    place: &ProjectFolder<'_>,
    lock: Option<&str>,
    node: &FoundProgram,
    machine: &Machine<'_>,
    draft: &mut EnvironmentDraft,
) {
    let held = if lock.is_some() { "--frozen-lockfile" } else { "--no-lockfile" };
    let mut argv = vec!["yarn", "install", held, "--ignore-scripts", "--non-interactive"];
    let cache = machine.of_home(".cache/yarn").and_then(|cache| {
        draft.show_folder(&cache, "/opt/yarn", "what Yarn downloaded before, so that setup needs no network")
    });
    match &cache {
        Some(cache) => argv.extend(["--offline", "--cache-folder", cache.as_str()]),
        None => draft.add_note("Yarn has no cache in ~/.cache/yarn: run yarn install once, then suggest again"),
    }
    draft.add_setup(&argv, place.cwd(), why_install(lock));
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

fn depends(place: &ProjectFolder<'_>) -> bool {
    let manifest: Value =
        place.read_text("package.json").and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let some = |key: &str| manifest[key].as_object().is_some_and(|names| !names.is_empty());
    some("dependencies") || some("devDependencies")
}

/// The parts of npm's lock file that matter for a draft.
#[derive(Debug, Default, PartialEq, Eq)]
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
