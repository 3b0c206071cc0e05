//! The program of an engine, wherever it is installed.

use std::fs;
use std::path::{Path, PathBuf};

use contract::text::show_controls;
use harness::{Engine, Tools, find_engine};

use crate::args::SetupArgs;
use crate::context::Context;
use crate::error::CommandError;

/// A program that was found, and the settings that let a run find it too.
pub(super) struct FoundEngine {
    pub(super) program: String,
    pub(super) settings: Vec<(&'static str, String)>,
}

/// Folders below the operator's home in which installers put programs; `*` fits every name.
const USUAL: [&str; 15] = [
    ".local/bin",
    ".opencode/bin",
    ".local/share/pnpm",
    ".local/share/mise/shims",
    ".yarn/bin",
    ".npm-global/bin",
    ".bun/bin",
    ".volta/bin",
    ".claude/local",
    "bin",
    "node_modules/.bin",
    ".nvm/versions/node/*/bin",
    ".local/share/fnm/node-versions/*/installation/bin",
    ".asdf/installs/nodejs/*/bin",
    ".local/share/mise/installs/node/*/bin",
];
const SYSTEM: [&str; 4] = ["/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/snap/bin"];

/// Looks on the PATH, then where agents are usually installed. What lies elsewhere is named
/// in the settings.
pub(super) fn find_program(context: &Context, arguments: &SetupArgs) -> Result<FoundEngine, CommandError> {
    let Some(mut engine) = context.config.engines.find_engine(&arguments.engine) else {
        return Err(CommandError::usage("there is no such engine").hint("cto engine list"));
    };
    let mut settings = Vec::new();
    if let Some(bin) = &arguments.bin {
        let full = fs::canonicalize(bin).map_err(|error| {
            let name = show_controls(&bin.display().to_string());
            CommandError::usage(format!("cannot use {name} as the engine's program: {error}")).hint("--bin FILE")
        })?;
        settings.push(("executable", full.display().to_string()));
        engine.config.executable = Some(full);
    }
    let tools = &context.config.tools;
    let short = match find_engine(&engine, tools) {
        Ok(program) => {
            settings.extend(name_interpreter(&engine, &tools.operator_path));
            return Ok(found(&program, settings));
        }
        Err(short) => short,
    };
    match find_elsewhere(&engine, tools, &mut settings) {
        Some(program) => Ok(found(&program, settings)),
        None => Err(CommandError::blocked_with(show_controls(&short.text)).hint(short.remedy)),
    }
}

fn found(program: &Path, settings: Vec<(&'static str, String)>) -> FoundEngine {
    FoundEngine { program: program.display().to_string(), settings }
}

/// Tries with the usual folders behind the PATH. Program and interpreter are both named,
/// because a run looks on the PATH alone.
fn find_elsewhere(engine: &Engine, tools: &Tools, settings: &mut Vec<(&'static str, String)>) -> Option<PathBuf> {
    let mut wider = tools.clone();
    wider.operator_path.extend(usual_folders());
    let program = find_engine(engine, &wider).ok()?;
    let named = |name: &str| {
        let place = wider.operator_path.iter().map(|dir| dir.join(name)).find(|file| file.is_file());
        place.map(|file| file.display().to_string())
    };
    if engine.config.executable.is_none() {
        settings.push(("executable", named(&engine.definition.program)?));
    }
    settings.extend(name_interpreter(engine, &wider.operator_path));
    Some(program)
}

/// The program that runs the engine, by its path: another shell may have another version of
/// it first on its PATH.
fn name_interpreter(engine: &Engine, path: &[PathBuf]) -> Option<(&'static str, String)> {
    let name = engine.definition.interpreter.as_deref().filter(|_| engine.config.interpreter.is_none())?;
    let found = path.iter().map(|dir| dir.join(name)).find(|file| file.is_file())?;
    Some(("interpreter", found.display().to_string()))
}

fn usual_folders() -> Vec<PathBuf> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let below = home.iter().flat_map(|home| USUAL.iter().flat_map(|folder| each_folder(home, folder)));
    below.chain(SYSTEM.iter().map(PathBuf::from)).filter(|folder| folder.is_dir()).collect()
}

/// The folder, or one for each name that fits `*`, the newest version first.
fn each_folder(home: &Path, folder: &str) -> Vec<PathBuf> {
    let Some((above, below)) = folder.split_once("/*/") else { return vec![home.join(folder)] };
    let names = fs::read_dir(home.join(above)).into_iter().flatten().filter_map(|entry| entry.ok());
    let mut found: Vec<PathBuf> = names.map(|entry| entry.path()).collect();
    found.sort_by_key(|folder| std::cmp::Reverse(version_numbers(folder)));
    found.into_iter().map(|folder| folder.join(below)).collect()
}

/// The numbers in the name of a folder, so that version 20 is newer than version 9.
fn version_numbers(folder: &Path) -> Vec<u64> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name.split(|letter: char| !letter.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_tried_first() {
        let home = tempfile::tempdir().unwrap();
        for version in ["v9.11.2", "v20.1.0", "v18.20.4"] {
            fs::create_dir_all(home.path().join(".nvm/versions/node").join(version)).unwrap();
        }
        let found = each_folder(home.path(), ".nvm/versions/node/*/bin");
        let names: Vec<&str> =
            found.iter().map(|bin| bin.parent().unwrap().file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["v20.1.0", "v18.20.4", "v9.11.2"]);
    }
}
