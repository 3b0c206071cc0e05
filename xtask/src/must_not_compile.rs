//! Compiles the `src/must_not_compile.rs` of a crate within that crate and expects the error at the end of each marked line, and no
//! other. The dependencies are those that the tests were built with. A step of `ci` and no test: each module of the file takes a
//! type check of its whole crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::ChoreResult;
use crate::process::{cargo, command_output, program, repository_root, target};
use crate::test::BUILD_TESTS;

/// Crates with such a file, and its modules, each compiled by itself.
const CRATES: [(&str, &[&str]); 3] =
    [("gate", &["literals"]), ("evidence", &["literals"]), ("harness", &["controls", "literals", "steps"])];
/// Begins the comment that names the error of its line.
const MARK: &str = "//~ ";

/// A line of the file, and the code of the error in it.
type Errors = BTreeSet<(u64, String)>;

fn expected(text: &str) -> Errors {
    let lines = (1..).zip(text.lines());
    lines.filter_map(|(number, line)| Some((number, line.split_once(MARK)?.1.trim().to_owned()))).collect()
}

#[derive(Deserialize)]
struct LibraryArtifact {
    package_id: String,
    target: LibraryTarget,
    profile: LibraryProfile,
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct LibraryTarget {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct LibraryProfile {
    test: bool,
}

impl LibraryArtifact {
    /// The numbers of the package's version.
    fn version(&self) -> Vec<u64> {
        let version = self.package_id.rsplit(['@', '#']).next().unwrap_or_default();
        version.split(['.', '-', '+']).filter_map(|number| number.parse().ok()).collect()
    }
}

/// Libraries that the tests were built with, by name: the newest where a dependency of ours needs an older one too. Nothing is built
/// again where nothing changed.
fn libraries() -> ChoreResult<BTreeMap<String, PathBuf>> {
    let messages = command_output(&mut cargo(&BUILD_TESTS))?;
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str::<LibraryArtifact>(line).ok());
    let mut artifacts: Vec<LibraryArtifact> = artifacts.collect();
    artifacts.sort_by_key(LibraryArtifact::version);
    let linked = |name: &PathBuf| name.extension().is_some_and(|ending| ending == "rlib" || ending == "so");
    let libraries = artifacts.into_iter().filter(|artifact| !artifact.profile.test).filter_map(|artifact| {
        let library = artifact.target.kind.iter().any(|kind| kind.contains("lib") || kind == "proc-macro");
        let file = artifact.filenames.into_iter().find(linked).filter(|_| library)?;
        Some((artifact.target.name.replace('-', "_"), file))
    });
    Ok(libraries.collect())
}

/// Names of the packages that a crate needs, as its code has them.
fn needed(name: &str) -> ChoreResult<Vec<String>> {
    let path = repository_root().join("crates").join(name).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let manifest: toml::Table = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
    Ok(dependencies.into_iter().flat_map(|table| table.keys()).map(|name| name.replace('-', "_")).collect())
}

#[derive(Deserialize)]
struct Diagnostic {
    code: Option<DiagnosticCode>,
    level: String,
    message: String,
    spans: Vec<DiagnosticSpan>,
}

#[derive(Deserialize)]
struct DiagnosticCode {
    code: String,
}

#[derive(Deserialize)]
struct DiagnosticSpan {
    file_name: PathBuf,
    is_primary: bool,
    line_start: u64,
}

/// Errors of the compiler with one module of the file: those in the file, and the texts of
/// all others.
fn compile(
    name: &str,
    module: &str,
    libraries: &BTreeMap<String, PathBuf>,
    scratch: &Path,
) -> ChoreResult<(Errors, Vec<String>)> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = program(rustc, ["--edition", "2024", "--crate-name", name, "--crate-type", "lib"]);
    command.args(["--emit", "metadata", "--error-format", "json", "--cap-lints", "allow"]);
    command.arg("--cfg").arg(format!("must_not_compile={module:?}")).arg("--out-dir").arg(scratch);
    for name in needed(name)? {
        let file = libraries.get(&name).ok_or_else(|| format!("the tests were built without {name}"))?;
        command.arg("--extern").arg(format!("{name}={}", file.display()));
        if let Some(folder) = file.parent() {
            command.arg("-L").arg(format!("dependency={}", folder.display()));
        }
    }
    command.arg(format!("crates/{name}/src/lib.rs")).current_dir(repository_root()).env("CARGO_PKG_VERSION", "0.0.0");
    let ended = command.output().map_err(|error| format!("cannot run rustc: {error}"))?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    let diagnostics = said.lines().filter_map(|line| serde_json::from_str::<Diagnostic>(line).ok());
    let (mut errors, mut others) = (Errors::new(), Vec::new());
    for Diagnostic { code, message, spans, .. } in diagnostics.filter(|found| found.level == "error") {
        let here = spans.iter().find(|span| span.is_primary && span.file_name.ends_with(file_of(name)));
        match (here, code) {
            (Some(span), Some(code)) => drop(errors.insert((span.line_start, code.code))),
            (None, None) if message.starts_with("aborting due to") => {}
            (_, _) => others.push(message),
        }
    }
    Ok((errors, others))
}

fn file_of(name: &str) -> PathBuf {
    Path::new("crates").join(name).join("src/must_not_compile.rs")
}

/// Errors that the marks of a crate's file name; a file with hardly a mark shows nothing.
fn marked(name: &str) -> ChoreResult<Errors> {
    let path = repository_root().join(file_of(name));
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let marked = expected(&text);
    if marked.is_empty() { Err(format!("{} has no mark", path.display())) } else { Ok(marked) }
}

/// Compiles every file; the first that is not refused line by line is the error.
pub(crate) fn check_refused() -> ChoreResult {
    let scratch = target().join("must-not-compile");
    std::fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let libraries = libraries()?;
    for (name, modules) in CRATES {
        let mut errors = Errors::new();
        for module in modules {
            let (found, others) = compile(name, module, &libraries, &scratch)?;
            if !others.is_empty() {
                return Err(format!("{name} does not compile beside {module}: {}", others.join("; ")));
            }
            errors.extend(found);
        }
        let marked = marked(name)?;
        if errors != marked {
            let differs: Vec<_> = errors.symmetric_difference(&marked).collect();
            return Err(format!("{name}: marks and errors differ: {differs:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_with_their_lines() {
        let found = expected("fn f() {}\nf(1); //~ E0061\n");
        assert_eq!(found, Errors::from([(2, "E0061".to_owned())]));
    }

    #[test]
    fn every_crate_of_the_list_has_a_file_with_its_modules() {
        for (name, modules) in CRATES {
            assert!(!marked(name).unwrap().is_empty());
            let text = std::fs::read_to_string(repository_root().join(file_of(name))).unwrap();
            let library =
                std::fs::read_to_string(repository_root().join("crates").join(name).join("src/lib.rs")).unwrap();
            for module in modules {
                let condition = format!("must_not_compile = \"{module}\"");
                let is_named = library.contains(&condition) && (modules.len() == 1 || text.contains(&condition));
                assert!(is_named, "{name} {module}");
            }
        }
    }
}
