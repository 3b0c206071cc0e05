//! The bill of materials: every package that is linked into the program, with its version,
//! licence and digest, as CycloneDX 1.6.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::FEATURES;
use super::pack::version;
use crate::ChoreResult;
use crate::process::{cargo, command_output, repository_root};

/// The bill, and the licences of it for people.
pub(super) struct Bill {
    pub(super) json: String,
    pub(super) licences: String,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// Bill of materials for one target platform.
pub(super) fn write_bill(triple: &str) -> ChoreResult<Bill> {
    let metadata = read_metadata(triple, &["--features", &format!("cto/{FEATURES}")])?;
    let lock = std::fs::read_to_string(repository_root().join("Cargo.lock"))
        .map_err(|error| format!("Cargo.lock: {error}"))?;
    let lock: Lock = toml::from_str(&lock).map_err(|error| format!("Cargo.lock: {error}"))?;
    let sums: BTreeMap<(&str, &str), &str> = lock
        .package
        .iter()
        .filter_map(|locked| Some(((locked.name.as_str(), locked.version.as_str()), locked.checksum.as_deref()?)))
        .collect();
    let linked = linked_packages(&metadata)?;
    let components: Vec<Value> = linked.iter().map(|package| component(package, &sums)).collect();
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "cto", "version": version()?, "bom-ref": "cto"}},
        "components": components,
    });
    let json = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    Ok(Bill { json: json + "\n", licences: licences(&linked) })
}

/// Packages of the workspace for a platform, as the program is built with these features.
fn read_metadata(triple: &str, features: &[&str]) -> ChoreResult<Metadata> {
    let words = ["metadata", "--format-version", "1", "--locked", "--filter-platform", triple];
    let text = command_output(cargo(&words).args(features))?;
    serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))
}

/// Packages linked into the program: normal dependencies of `cto`, at any distance. Build
/// scripts and tests are not shipped.
fn linked_packages(metadata: &Metadata) -> ChoreResult<Vec<&Package>> {
    let nodes: BTreeMap<&str, &Node> = metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let start = metadata.packages.iter().find(|package| package.name == "cto" && package.source.is_none());
    let mut open = vec![start.ok_or("cargo knows no package cto")?.id.as_str()];
    let mut seen = std::collections::BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let is_linked = |dependency: &&Dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none());
        open.extend(nodes.get(id).iter().flat_map(|node| node.deps.iter().filter(is_linked)).map(|it| it.pkg.as_str()));
    }
    let mut linked: Vec<&Package> = metadata.packages.iter().filter(|it| seen.contains(it.id.as_str())).collect();
    linked.sort_by_key(|package| (&package.name, &package.version));
    Ok(linked)
}

fn component(package: &Package, sums: &BTreeMap<(&str, &str), &str>) -> Value {
    let Package { name, version, license, .. } = package;
    let purl = format!("pkg:cargo/{name}@{version}");
    let mut component =
        json!({"type": "library", "name": name, "version": version, "purl": purl, "bom-ref": purl.clone()});
    if let Some(license) = license {
        component["licenses"] = json!([{"expression": license.replace('/', " OR ")}]);
    }
    if let Some(sum) = sums.get(&(name.as_str(), version.as_str())) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    component
}

fn licences(linked: &[&Package]) -> String {
    let mut out = String::from("# Packages in this program\n\n| package | version | licence |\n| --- | --- | --- |\n");
    for Package { name, version, license, .. } in linked {
        out.push_str(&format!("| {name} | {version} | {} |\n", license.as_deref().unwrap_or("not said")));
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::dist::X86_64;

    fn names_of(metadata: &Metadata) -> BTreeSet<String> {
        let linked = linked_packages(metadata).unwrap();
        linked.iter().map(|package| format!("{} v{}", package.name, package.version)).collect()
    }

    /// Packages that cargo itself names for the program as it is built.
    fn built_packages() -> BTreeSet<String> {
        let words = ["tree", "--locked", "--package", "cto", "--features", FEATURES, "--edges", "normal", "--target"];
        let tree = command_output(cargo(&words).args([X86_64, "--prefix", "none", "--format", "{p}"])).unwrap();
        let name = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        tree.lines().filter(|line| !line.trim().is_empty()).map(name).collect()
    }

    #[test]
    fn the_bill_names_every_package_of_the_build() {
        let bill = write_bill(X86_64).unwrap();
        let built = built_packages();
        assert!(built.iter().any(|package| package.starts_with("tokio-postgres ")), "{built:?}");
        let document: Value = serde_json::from_str(&bill.json).unwrap();
        let text = |component: &Value, key: &str| component[key].as_str().unwrap_or_default().to_owned();
        let components = document["components"].as_array().unwrap();
        let named = components.iter().map(|one| format!("{} v{}", text(one, "name"), text(one, "version")));
        assert_eq!(named.collect::<BTreeSet<_>>(), built);
        for package in &built {
            let (name, version) = package.split_once(" v").unwrap();
            assert!(bill.licences.contains(&format!("| {name} | {version} |")), "{package}");
        }
        // Control: without the features of the build, packages of the program are missing.
        assert!(names_of(&read_metadata(X86_64, &[]).unwrap()).len() < built.len());
    }
}
