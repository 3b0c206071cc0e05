//! The real agents that engines are tried with, each in a folder of its own, at versions
//! that are checked after the install: npm on an older Node quietly takes an older package.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::{is_marked, mark};
use crate::ChoreResult;
use crate::process::{cache, command_output, program};

struct Agent {
    folder: &'static str,
    packages: &'static [&'static str],
    /// Path below the folder; `{arch}` is npm's name of this machine, `{bun}` Bun's.
    executable: &'static str,
    /// Whose manifest must have the version.
    manifest: &'static str,
    version: &'static str,
}

const CODEX: Agent = Agent {
    folder: "codex",
    packages: &["@openai/codex@0.166.0"],
    executable: "node_modules/@openai/codex/bin/codex.js",
    manifest: "node_modules/@openai/codex/package.json",
    version: "0.166.0",
};

const PI: Agent = Agent {
    folder: "pi",
    packages: &["@earendil-works/pi-coding-agent@0.87.1"],
    executable: "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js",
    manifest: "node_modules/@earendil-works/pi-coding-agent/package.json",
    version: "0.87.1",
};

const CLAUDE: Agent = Agent {
    folder: "claude",
    packages: &["@anthropic-ai/claude-code@2.1.325"],
    executable: "node_modules/@anthropic-ai/claude-code-linux-{arch}/claude",
    manifest: "node_modules/@anthropic-ai/claude-code/package.json",
    version: "2.1.325",
};

/// About 350 MB: its scripts, which are not run, would choose between two builds.
const OPENCODE: Agent = Agent {
    folder: "opencode",
    packages: &["opencode-ai@1.18.33"],
    executable: "node_modules/opencode-linux-{arch}/bin/opencode",
    manifest: "node_modules/opencode-ai/package.json",
    version: "1.18.33",
};

/// No agent: what Case is compiled with, so that a program of that kind can be tried. About
/// 100 MB.
const BUN: Agent = Agent {
    folder: "bun",
    packages: &["bun@1.4.4"],
    executable: "node_modules/@oven/bun-linux-{bun}/bin/bun",
    manifest: "node_modules/bun/package.json",
    version: "1.4.4",
};

/// No agent: the compiler that TypeScript projects build with, as a program for any Node.
const TSC: Agent = Agent {
    folder: "typescript",
    packages: &["typescript@5.9.3"],
    executable: "node_modules/typescript/lib/tsc.js",
    manifest: "node_modules/typescript/package.json",
    version: "5.9.3",
};

/// No agents: runners of tests, each with its own packages alone, since a sandbox that
/// shows them says what it shows.
const MOCHA: Agent = Agent {
    folder: "mocha",
    packages: &["mocha@12.0.3"],
    executable: "node_modules/mocha/bin/mocha.js",
    manifest: "node_modules/mocha/package.json",
    version: "12.0.3",
};

const JEST: Agent = Agent {
    folder: "jest",
    packages: &["jest@30.5.2"],
    executable: "node_modules/jest/bin/jest.js",
    manifest: "node_modules/jest/package.json",
    version: "30.5.2",
};

const VITEST: Agent = Agent {
    folder: "vitest",
    packages: &["vitest@5.1.0"],
    executable: "node_modules/vitest/vitest.mjs",
    manifest: "node_modules/vitest/package.json",
    version: "5.1.0",
};

const AVA: Agent = Agent {
    folder: "ava",
    packages: &["ava@8.0.0"],
    executable: "node_modules/ava/entrypoints/cli.js",
    manifest: "node_modules/ava/package.json",
    version: "8.0.0",
};

/// No agent: an object store that overwrites what it is told to create, and must be refused.
const S3RVER: Agent = Agent {
    folder: "s3rver",
    packages: &["s3rver@3.7.1"],
    executable: "node_modules/s3rver/bin/s3rver.js",
    manifest: "node_modules/s3rver/package.json",
    version: "3.7.1",
};

/// Version of Node that Pi needs, whatever Node this machine has.
const NODE: &str = "22.23.3";

/// Codex, installed at its pinned version.
pub(super) fn codex() -> ChoreResult<PathBuf> {
    made(&CODEX)
}

/// Pi, installed at its pinned version.
pub(super) fn pi() -> ChoreResult<PathBuf> {
    made(&PI)
}

/// Claude, installed at its pinned version.
pub(super) fn claude() -> ChoreResult<PathBuf> {
    made(&CLAUDE)
}

/// opencode, installed at its pinned version.
pub(super) fn opencode() -> ChoreResult<PathBuf> {
    made(&OPENCODE)
}

/// Bun, installed at its pinned version.
pub(super) fn bun() -> ChoreResult<PathBuf> {
    made(&BUN)
}

/// TypeScript's compiler, installed at its pinned version.
pub(super) fn tsc() -> ChoreResult<PathBuf> {
    made(&TSC)
}

/// Mocha, installed at its pinned version.
pub(super) fn mocha() -> ChoreResult<PathBuf> {
    made(&MOCHA)
}

/// Jest, installed at its pinned version.
pub(super) fn jest() -> ChoreResult<PathBuf> {
    made(&JEST)
}

/// Vitest, installed at its pinned version.
pub(super) fn vitest() -> ChoreResult<PathBuf> {
    made(&VITEST)
}

/// AVA, installed at its pinned version.
pub(super) fn ava() -> ChoreResult<PathBuf> {
    made(&AVA)
}

/// Program of s3rver, the object store that overwrites.
pub(super) fn s3rver() -> ChoreResult<PathBuf> {
    made(&S3RVER)
}

/// Node as npm has it: the package of this machine's kind holds the program alone.
pub(super) fn node() -> ChoreResult<PathBuf> {
    let folder = cache()?.join("agents/node");
    let package = format!("node-linux-{}@{NODE}", arch());
    install_packages(&folder, &[&package])?;
    let node = folder.join(format!("node_modules/node-linux-{}/bin/node", arch()));
    let said = command_output(&mut program(&node, ["--version"]))?;
    if said.trim() == format!("v{NODE}") { Ok(node) } else { Err(format!("{package} says it is {}", said.trim())) }
}

/// Managers of packages beside a Node of their own, and what each downloaded of one small
/// package.
const MANAGERS: [&str; 2] = ["pnpm@10.34.9", "yarn@1.22.22"];
const PRIMER: &str = "{\"name\": \"primer\", \"private\": true, \"dependencies\": {\"is-number\": \"7.0.0\"}}\n";

/// Package managers of Node, installed at their pinned versions.
pub(super) fn managers() -> ChoreResult<PathBuf> {
    static MAKING: Mutex<()> = Mutex::new(());
    let _held = super::hold(&MAKING);
    let node = node()?;
    let folder = cache()?.join("managers");
    let wanted = format!("{}\n{NODE}", MANAGERS.join("\n"));
    if is_marked(&folder, "packages", &wanted) {
        return Ok(folder);
    }
    eprintln!("xtask: installing {}", MANAGERS.join(", "));
    let fail = |error: std::io::Error| format!("cannot fill {}: {error}", folder.display());
    std::fs::create_dir_all(folder.join("bin")).map_err(fail)?;
    let words = ["install", "-g", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error", "--prefix"];
    command_output(program("npm", words).arg(&folder).args(MANAGERS))?;
    std::fs::copy(&node, folder.join("bin/node")).map_err(fail)?;
    let registry = command_output(&mut program("npm", ["config", "get", "registry"]))?;
    let pnpm = ["install", "--ignore-scripts", "--registry", registry.trim(), "--store-dir"];
    prime(&folder, "pnpm", &pnpm, "pnpm-store")?;
    let yarn = ["install", "--ignore-scripts", "--non-interactive", "--registry", registry.trim(), "--cache-folder"];
    prime(&folder, "yarn", &yarn, "yarn-cache")?;
    mark(&folder, "packages", &wanted)?;
    Ok(folder)
}

/// Lets a manager download the primer's package into a cache of its own.
fn prime(folder: &Path, manager: &str, words: &[&str], cache: &str) -> ChoreResult {
    let project = folder.join(format!("{manager}-primer"));
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", project.display());
    std::fs::create_dir_all(&project).map_err(fail)?;
    std::fs::write(project.join("package.json"), PRIMER).map_err(fail)?;
    let path = format!("{}:/usr/bin:/bin", folder.join("bin").display());
    let mut command = program(folder.join("bin").join(manager), words);
    command_output(command.arg(folder.join(cache)).current_dir(&project).env("PATH", path)).map(drop)
}

fn made(agent: &Agent) -> ChoreResult<PathBuf> {
    let folder = cache()?.join("agents").join(agent.folder);
    install_packages(&folder, agent.packages)?;
    let manifest =
        std::fs::read_to_string(folder.join(agent.manifest)).map_err(|error| format!("{}: {error}", agent.manifest))?;
    if !manifest.contains(&format!("\"version\": \"{}\"", agent.version)) {
        return Err(format!("{} is not {}", agent.manifest, agent.version));
    }
    let executable = folder.join(agent.executable.replace("{arch}", arch()).replace("{bun}", bun_arch()));
    if executable.is_file() { Ok(executable) } else { Err(format!("{} is not there", executable.display())) }
}

/// No scripts of packages: what they would fetch is not needed.
pub(crate) fn install_packages(folder: &Path, packages: &[&str]) -> ChoreResult {
    let wanted = packages.join("\n");
    if is_marked(folder, "packages", &wanted) {
        return Ok(());
    }
    eprintln!("xtask: installing {}", packages.join(", "));
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let words = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error", "--prefix"];
    command_output(program("npm", words).arg(folder).args(packages))?;
    mark(folder, "packages", &wanted)
}

fn arch() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" }
}

fn bun_arch() -> &'static str {
    if cfg!(target_arch = "aarch64") { "aarch64" } else { "x64" }
}
