//! Programs of other languages that tests run, found where `cargo xtask test` says, or on the path. A test that misses one
//! is skipped.

use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::skip;

/// Python with `openapi_spec_validator`.
pub fn open_api_python(test: &str) -> Option<PathBuf> {
    given(test, "CTO_TEST_OPENAPI_PYTHON", "python with openapi-spec-validator")
}

/// The `go` command.
pub fn go(test: &str) -> Option<PathBuf> {
    given(test, "CTO_TEST_GO", "go")
}

/// A `go` that no sandbox shows by itself.
pub fn go_apart(test: &str) -> Option<PathBuf> {
    let go = go(test)?;
    if go.starts_with("/usr") {
        skip(test, "go is the system's; run through cargo xtask test");
        return None;
    }
    Some(go)
}

/// Folder in which Go keeps its compiled packages between tests, if it may.
#[expect(clippy::disallowed_methods, reason = "tests are told by the environment where to keep things")]
pub fn go_cache() -> Option<PathBuf> {
    std::env::var_os("CTO_TEST_GO_CACHE").map(PathBuf::from)
}

/// Variables that spare a sandbox work which a test is not about: Python loads its own library from bytecode, where it would
/// compile all of it for every command, and cargo keeps neither debug info nor what a second build could use.
const QUICK: [(&str, &str); 3] =
    [("PYTHONPYCACHEPREFIX", ""), ("CARGO_INCREMENTAL", "0"), ("CARGO_PROFILE_DEV_DEBUG", "0")];

/// A contract's environment with variables that spare work, unless it sets them itself. Not for tests about bytecode or about
/// what builds leave: they must meet the sandbox as it is.
pub fn quick(mut environment: Value) -> Value {
    for (name, value) in QUICK {
        if environment["variables"][name].is_null() {
            environment["variables"][name] = json!(value);
        }
    }
    environment
}

/// The contract's environment with which a sandbox shows Go and its compiled library.
pub fn go_environment(test: &str) -> Option<Value> {
    let go = go(test)?;
    let root = go.parent()?.parent()?.to_owned();
    let cache = go_cache()?;
    // Its index of packages wants to write to the cache, which is shown read-only.
    let index = "goindex=0";
    let variables = json!({"GOCACHE": cache, "GODEBUG": index, "GOPROXY": "off", "GOTOOLCHAIN": "local"});
    Some(json!({"mounts": [same_place(&root), same_place(&cache)], "path": [go.parent()?], "variables": variables}))
}

/// The same for the Python with the tests' libraries. One of a version manager's needs its own library too.
pub fn python_environment(test: &str) -> Option<Value> {
    let python = crate::python(test)?;
    let venv = python.parent()?.parent()?.to_owned();
    let base = std::fs::canonicalize(&python).ok()?;
    let base = base.parent()?.parent()?;
    let mut mounts = vec![same_place(&venv)];
    if !base.starts_with("/usr") {
        mounts.push(same_place(base));
    }
    Some(quick(json!({"mounts": mounts, "path": [python.parent()?]})))
}

/// A cache of npm's with a small package in two versions, and npm itself.
pub fn npm_cache(test: &str) -> Option<PathBuf> {
    given(test, "CTO_TEST_NPM", "npm")?;
    made(test, "CTO_TEST_NPM_CACHE")
}

/// A folder with a small wheel in two versions.
pub fn wheels(test: &str) -> Option<PathBuf> {
    made(test, "CTO_TEST_WHEELS")
}

/// A home of cargo's whose registry has a small crate in two versions.
pub fn cargo_home(test: &str) -> Option<PathBuf> {
    made(test, "CTO_TEST_CARGO_HOME")
}

/// A mount that is seen where the host has it.
pub fn same_place(path: &Path) -> Value {
    json!({"source": path, "target": path})
}

/// Number of repetitions in a test: the variable's value, or the everyday number.
#[expect(clippy::disallowed_methods, reason = "a soak tells tests by the environment how often")]
pub fn times(variable: &str, everyday: u32) -> u32 {
    std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(everyday)
}

/// A random moment of what takes so long.
pub fn moment(usual: Duration) -> Duration {
    let [first, second, ..] = RandomState::new().hash_one(0_u8).to_le_bytes();
    usual.mul_f64(f64::from(u16::from_le_bytes([first, second])) / f64::from(u16::MAX))
}

/// The binary with its stop points.
pub fn stoppable(test: &str) -> Option<PathBuf> {
    given(test, "CTO_TEST_STOPPABLE", "cto-stoppable")
}

/// The program behind `cargo nextest`.
pub fn nextest(test: &str) -> Option<PathBuf> {
    given(test, "CTO_TEST_NEXTEST", "cargo-nextest")
}

/// Program of Node.
pub fn node(test: &str) -> Option<PathBuf> {
    given(test, "CTO_TEST_NODE", "node")
}

/// The environment in which a sandbox shows Node, wherever that lies.
pub fn node_environment(test: &str) -> Option<Value> {
    let node = std::fs::canonicalize(node(test)?).ok()?;
    if node.starts_with("/usr") {
        return Some(json!({}));
    }
    let bin = node.parent()?;
    Some(json!({"mounts": [{"source": bin.parent()?}], "path": [bin]}))
}

/// The compiler of TypeScript, a program for Node.
pub fn tsc(test: &str) -> Option<PathBuf> {
    made(test, "CTO_TEST_TSC")
}

/// The environment in which a sandbox shows Node and the compiler of TypeScript.
pub fn tsc_environment(test: &str) -> Option<Value> {
    let package = tsc(test)?.parent()?.parent()?.to_owned();
    let mut environment = node_environment(test)?;
    let mut mounts = environment["mounts"].as_array().cloned().unwrap_or_default();
    mounts.push(same_place(&package));
    environment["mounts"] = json!(mounts);
    Some(environment)
}

/// Runner of tests from npm, and the Node that it needs.
#[derive(Debug, Clone)]
pub struct NodeRunner {
    /// The folder `node_modules` that holds the runner.
    pub modules: PathBuf,
    pub node: PathBuf,
}

/// A runner of tests that `cargo xtask test` installed: `mocha`, `jest`, `vitest` or `ava`.
pub fn node_runner(test: &str, name: &str) -> Option<NodeRunner> {
    let executable = made(test, &format!("CTO_TEST_{}", name.to_uppercase()))?;
    let modules = executable.ancestors().find(|folder| folder.ends_with("node_modules"))?.to_owned();
    Some(NodeRunner { modules, node: made(test, "CTO_TEST_NODE22")? })
}

/// A prefix with Node, pnpm and Yarn in `bin`, and what they downloaded in `pnpm-store` and `yarn-cache`.
pub fn node_managers(test: &str) -> Option<PathBuf> {
    made(test, "CTO_TEST_MANAGERS")
}

/// A home in which every package manager has installed a tree of packages once; its `bin` has uv.
pub fn user_home(test: &str) -> Option<PathBuf> {
    made(test, "CTO_TEST_USER_HOME")
}

/// The Python of an environment that has tox and nox.
pub fn sessions_python(test: &str) -> Option<PathBuf> {
    made(test, "CTO_TEST_SESSIONS")
}

/// CMake, in a place that sandboxes show.
pub fn cmake(test: &str) -> Option<PathBuf> {
    given(test, "CTO_TEST_CMAKE", "cmake")
}

/// The cargo that runs the tests, itself and not what chooses a toolchain: its compiler stands beside it.
#[expect(clippy::disallowed_methods, reason = "cargo tells by the environment which one it is")]
pub fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map(PathBuf::from).expect("tests run through cargo")
}

/// File that xtask made for the tests, by the name of its variable.
#[expect(clippy::disallowed_methods, reason = "tests are told by the environment what was made for them")]
pub(crate) fn made(test: &str, variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        skip(test, &format!("no {variable}; run through cargo xtask test"));
    }
    found
}

#[expect(clippy::disallowed_methods, reason = "tests are told by the environment which programs there are")]
fn given(test: &str, variable: &str, name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::var_os(variable)
        .map(PathBuf::from)
        .or_else(|| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file()));
    if found.is_none() {
        skip(test, &format!("no {name}; run through cargo xtask test"));
    }
    found
}

/// A real agent that `cargo xtask test` installed: its program, and the one that runs it.
#[derive(Debug, Clone)]
pub struct Agent {
    pub executable: PathBuf,
    pub interpreter: Option<PathBuf>,
}

/// The agent of an engine.
pub fn agent(test: &str, engine: &str) -> Option<Agent> {
    let (variable, interpreted) = match engine {
        "codex" => ("CTO_TEST_CODEX", false),
        "claude" => ("CTO_TEST_CLAUDE", false),
        "opencode" => ("CTO_TEST_OPENCODE", false),
        _ => ("CTO_TEST_PI", true),
    };
    let executable = made(test, variable)?;
    let interpreter = if interpreted { Some(made(test, "CTO_TEST_NODE22")?) } else { None };
    Some(Agent { executable, interpreter })
}

/// Bun, which compiles a script into a program.
pub fn bun(test: &str) -> Option<PathBuf> {
    made(test, "CTO_TEST_BUN")
}

/// The Python of an environment that has aider.
pub fn aider(test: &str) -> Option<PathBuf> {
    made(test, "CTO_TEST_AIDER")
}
