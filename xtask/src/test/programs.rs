//! The workspace as cargo describes it, and the test programs that cargo builds of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use crate::ChoreResult;
use crate::process::{cargo, command_output};

/// Packages of the workspace by name.
#[derive(Debug, Default)]
pub(super) struct CargoPackages {
    pub(super) packages: BTreeMap<String, WorkspacePackage>,
}

/// Package of the workspace.
#[derive(Debug, Default)]
pub(super) struct WorkspacePackage {
    pub(super) manifest: PathBuf,
    /// Packages of the workspace that it needs, also for its tests and its build alone.
    pub(super) needs: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<PackageMetadata>,
}

#[derive(Deserialize)]
struct PackageMetadata {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<DependencyMetadata>,
}

#[derive(Deserialize)]
struct DependencyMetadata {
    name: String,
    path: Option<PathBuf>,
}

impl CargoPackages {
    /// Asks cargo for the packages and their dependencies within the workspace.
    pub(super) fn read_packages() -> ChoreResult<Self> {
        let text = command_output(&mut cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
        let metadata: Metadata =
            serde_json::from_str(&text).map_err(|error| format!("cannot read cargo's metadata: {error}"))?;
        let needs = |dependencies: Vec<DependencyMetadata>| {
            dependencies.into_iter().filter(|needed| needed.path.is_some()).map(|needed| needed.name).collect()
        };
        let packages = metadata.packages.into_iter().map(|package| {
            let needs = needs(package.dependencies);
            (package.name, WorkspacePackage { manifest: package.manifest_path, needs })
        });
        Ok(Self { packages: packages.collect() })
    }

    fn name_of(&self, manifest: &Path) -> Option<&String> {
        self.packages.iter().find(|(_, package)| package.manifest == manifest).map(|(name, _)| name)
    }

    /// These packages and every one that needs one of them.
    pub(super) fn dependents(&self, changed: BTreeSet<String>) -> BTreeSet<String> {
        let mut found = changed;
        loop {
            let needs_one = |package: &WorkspacePackage| package.needs.iter().any(|needed| found.contains(needed));
            let more = self.packages.iter().filter(|(name, package)| !found.contains(*name) && needs_one(package));
            let more: Vec<String> = more.map(|(name, _)| name.clone()).collect();
            if more.is_empty() {
                return found;
            }
            found.extend(more);
        }
    }
}

/// An executable that holds tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestProgram {
    pub(super) package: String,
    pub(super) target: String,
    pub(super) executable: PathBuf,
    /// The folder of its package, in which cargo runs it.
    pub(super) folder: PathBuf,
}

impl TestProgram {
    /// Names of its tests.
    pub(super) fn list_tests(&self) -> ChoreResult<Vec<String>> {
        let mut command = crate::process::program(&self.executable, ["--list", "--format", "terse"]);
        let text = command_output(command.current_dir(&self.folder))?;
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }
}

/// Features that tests are built with beyond the default ones: a first build goes without
/// them, a shipped program does not.
pub(crate) const FEATURES: &str = "cto/fleet,ledger/fleet";

/// Builds all test programs.
pub(crate) const BUILD_TESTS: [&str; 7] =
    ["test", "--workspace", "--features", FEATURES, "--no-run", "--message-format", "json-render-diagnostics"];

/// Builds all test programs; none where something does not compile, which cargo has then said.
pub(super) fn build_programs(workspace: &CargoPackages) -> ChoreResult<Option<Vec<TestProgram>>> {
    let built = cargo(&BUILD_TESTS).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let built = built.map_err(|error| format!("cannot run cargo test: {error}"))?;
    if !built.status.success() {
        return Ok(None);
    }
    Ok(Some(read_programs(workspace, &String::from_utf8_lossy(&built.stdout))))
}

#[derive(Deserialize)]
struct Artifact {
    manifest_path: PathBuf,
    target: ArtifactTarget,
    profile: ArtifactProfile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct ArtifactTarget {
    name: String,
}

#[derive(Deserialize)]
struct ArtifactProfile {
    test: bool,
}

/// Test programs among cargo's messages, each a line of JSON; other messages have other fields.
fn read_programs(workspace: &CargoPackages, messages: &str) -> Vec<TestProgram> {
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str::<Artifact>(line).ok());
    let programs = artifacts.filter(|artifact| artifact.profile.test).filter_map(|artifact| {
        let package = workspace.name_of(&artifact.manifest_path)?.clone();
        let folder = artifact.manifest_path.parent()?.to_owned();
        Some(TestProgram { package, target: artifact.target.name, executable: artifact.executable?, folder })
    });
    programs.collect()
}

/// A doc comment below this folder holds a block of code.
pub(super) fn has_doc_tests(folder: &Path) -> ChoreResult<bool> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let found = match (path.is_dir(), path.extension().is_some_and(|extension| extension == "rs")) {
            (true, _) => has_doc_tests(&path)?,
            (_, true) => holds_doc_test(&std::fs::read_to_string(&path).map_err(failed)?),
            _ => false,
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

fn holds_doc_test(text: &str) -> bool {
    let comments = text
        .lines()
        .map(str::trim_start)
        .filter_map(|line| line.strip_prefix("///").or_else(|| line.strip_prefix("//!")));
    comments.into_iter().any(|comment| {
        let words = comment.trim_start();
        words.starts_with("```") || words.starts_with("~~~") || comment.starts_with("     ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> CargoPackages {
        let package = |name: &str, needs: &[&str]| {
            let manifest = format!("/w/crates/{name}/Cargo.toml").into();
            (
                name.to_owned(),
                WorkspacePackage { manifest, needs: needs.iter().map(|name| (*name).to_owned()).collect() },
            )
        };
        let packages = [
            package("contract", &[]),
            package("gate", &["contract"]),
            package("testkit", &[]),
            package("cto", &["gate", "testkit"]),
        ];
        CargoPackages { packages: packages.into() }
    }

    #[test]
    fn programs_are_the_executables_of_tests() {
        let artifact = |folder: &str, name: &str, test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"{folder}/Cargo.toml","target":{{"name":"{name}","kind":["test"]}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let messages = [
            artifact("/w/crates/cto", "it", true, "\"/w/target/debug/deps/it-1\""),
            artifact("/w/crates/cto", "cto", false, "\"/w/target/debug/cto\""),
            artifact("/w/crates/gate", "gate", true, "null"),
            artifact("/registry/serde", "serde", true, "\"/x\""),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
            "not JSON".to_owned(),
        ];
        let found = read_programs(&workspace(), &messages.join("\n"));
        let found: Vec<_> =
            found.iter().map(|found| (&*found.package, &*found.target, found.folder.to_str().unwrap())).collect();
        assert_eq!(found, [("cto", "it", "/w/crates/cto")]);
    }

    #[test]
    fn dependents_are_found_at_any_distance() {
        let of = |name: &str| workspace().dependents(BTreeSet::from([name.to_owned()])).into_iter().collect::<Vec<_>>();
        assert_eq!(of("contract"), ["contract", "cto", "gate"]);
        assert_eq!(of("testkit"), ["cto", "testkit"]);
        assert_eq!(of("cto"), ["cto"]);
    }

    #[test]
    fn blocks_of_code_in_doc_comments_are_seen() {
        for (text, expected) in [
            ("/// Words.\nfn f() {}", false),
            ("let fence = \"```\";\n// ```", false),
            ("    /// ```\n    /// f();\n    /// ```", true),
            ("//! ~~~rust", true),
            ("///     f();", true),
        ] {
            assert_eq!(holds_doc_test(text), expected, "{text}");
        }
    }
}
