//! `cargo xtask schema`: docs/formats/schemas holds what `cto schema NAME` prints, for
//! people and tools without the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::ChoreResult;
use crate::process::{command_output, program, repository_root, target};

/// Writes every schema, and removes files of schemas that no longer exist.
pub(crate) fn write_schemas() -> ChoreResult {
    let folder = folder();
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let printed = printed()?;
    for stale in stored(&folder)?.keys().filter(|name| !printed.contains_key(*name)) {
        let path = folder.join(stale);
        std::fs::remove_file(&path).map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
    }
    for (name, text) in &printed {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    for (path, text) in lean(&printed)? {
        std::fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    std::fs::write(open_api(), print_open_api()?).map_err(|error| format!("cannot write openapi.json: {error}"))?;
    println!("{} schemas in {}", printed.len(), folder.display());
    Ok(())
}

/// Fails if a stored schema differs from the program's.
pub(crate) fn check_schemas() -> ChoreResult {
    let printed = printed()?;
    let stored = stored(&folder())?;
    let names: std::collections::BTreeSet<&String> = printed.keys().chain(stored.keys()).collect();
    let drifted = names.into_iter().filter(|name| printed.get(*name) != stored.get(*name));
    let mut drifted: Vec<String> = drifted.cloned().collect();
    let lean = lean(&printed)?;
    let stale = lean.iter().filter(|(path, text)| std::fs::read_to_string(path).ok().as_ref() != Some(text));
    drifted.extend(stale.map(|(path, _)| path.display().to_string()));
    if std::fs::read_to_string(open_api()).ok() != Some(print_open_api()?) {
        drifted.push("openapi.json".to_owned());
    }
    match drifted.is_empty() {
        true => Ok(()),
        false => Err(format!("docs/formats: run `cargo xtask schema` for {}", drifted.join(", "))),
    }
}

/// File with the description of the console's interface.
fn open_api() -> PathBuf {
    repository_root().join("docs/formats/openapi.json")
}

/// The description, as the program of this source prints it.
fn print_open_api() -> ChoreResult<String> {
    command_output(&mut program(target().join("debug/cto"), ["schema", "openapi"]))
}

/// Schemas that the program carries without their words, since every run needs them.
const LEAN: [&str; 2] = ["case.json", "contract.json"];

fn lean(printed: &BTreeMap<String, String>) -> ChoreResult<Vec<(PathBuf, String)>> {
    let folder = repository_root().join("crates/contract/src/source/lean");
    let one = |name: &str| {
        let text = printed.get(name).ok_or_else(|| format!("there is no schema {name}"))?;
        let mut schema = serde_json::from_str(text).map_err(|error| format!("{name}: {error}"))?;
        without_words(&mut schema);
        Ok((folder.join(name), format!("{schema}\n")))
    };
    LEAN.into_iter().map(one).collect()
}

fn without_words(schema: &mut Value) {
    match schema {
        Value::Object(entries) => {
            entries.shift_remove("$id");
            entries.retain(|key, value| !(["description", "title"].contains(&key.as_str()) && value.is_string()));
            entries.values_mut().for_each(without_words);
        }
        Value::Array(items) => items.iter_mut().for_each(without_words),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn folder() -> PathBuf {
    repository_root().join("docs/formats/schemas")
}

/// File name to content, as the program of this source prints it.
fn printed() -> ChoreResult<BTreeMap<String, String>> {
    crate::test::build_plain_program()?;
    let cto = target().join("debug/cto");
    let names = command_output(&mut program(&cto, ["schema"]))?;
    let names = names.lines().map(str::trim).filter(|name| !name.is_empty());
    names.map(|name| Ok((format!("{name}.json"), command_output(&mut program(&cto, ["schema", name]))?))).collect()
}

/// File name to content, as it lies in the repository. A folder that is not there yet holds
/// nothing.
fn stored(folder: &Path) -> ChoreResult<BTreeMap<String, String>> {
    let fail = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let mut found = BTreeMap::new();
    if !folder.exists() {
        return Ok(found);
    }
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if let (Some(name), Some("json")) = (path.file_name(), path.extension().and_then(|ending| ending.to_str())) {
            let text = std::fs::read_to_string(&path).map_err(fail)?;
            found.insert(name.to_string_lossy().into_owned(), text);
        }
    }
    Ok(found)
}
