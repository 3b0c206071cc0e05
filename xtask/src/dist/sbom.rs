//! The bill of materials: every package that is linked into the program, with its version,
//! licence and digest, as CycloneDX 1.6.

use std::collections::{BTreeMap, BTreeSet};

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
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
}

/// Name and version of a package.
type PackageName = (String, String);

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
    let metadata = read_metadata(triple)?;
    let lock = std::fs::read_to_string(repository_root().join("Cargo.lock"))
        .map_err(|error| format!("Cargo.lock: {error}"))?;
    let lock: Lock = toml::from_str(&lock).map_err(|error| format!("Cargo.lock: {error}"))?;
    let sums: BTreeMap<(&str, &str), &str> = lock
        .package
        .iter()
        .filter_map(|locked| Some(((locked.name.as_str(), locked.version.as_str()), locked.checksum.as_deref()?)))
        .collect();
    let linked = linked_packages(&metadata, &list_built(triple, &["--features", FEATURES])?)?;
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

/// Every package that any part of the workspace asks for.
fn read_metadata(triple: &str) -> ChoreResult<Metadata> {
    let words = ["metadata", "--format-version", "1", "--locked", "--all-features", "--filter-platform", triple];
    let text = command_output(&mut cargo(&words))?;
    serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))
}

/// Packages linked into the program as it is built with these features: normal dependencies
/// of `cto`, at any distance. Build scripts and tests are not shipped.
fn list_built(triple: &str, features: &[&str]) -> ChoreResult<BTreeSet<PackageName>> {
    let words = ["tree", "--locked", "--package", "cto", "--edges", "normal", "--prefix", "none", "--format", "{p}"];
    let tree = command_output(cargo(&words).args(["--target", triple]).args(features))?;
    // `name v1.0.0`, and what else is to be said of it.
    let name = |line: &str| {
        let (name, rest) = line.split_once(" v")?;
        Some((name.to_owned(), rest.split(' ').next()?.to_owned()))
    };
    tree.lines()
        .filter(|line| !line.is_empty())
        .map(|line| name(line).ok_or_else(|| format!("cargo tree: {line}")))
        .collect()
}

/// The packages of a build, each by what is known of it.
fn linked_packages<'m>(metadata: &'m Metadata, built: &BTreeSet<PackageName>) -> ChoreResult<Vec<&'m Package>> {
    let known: BTreeMap<(&str, &str), &Package> =
        metadata.packages.iter().map(|it| ((it.name.as_str(), it.version.as_str()), it)).collect();
    let find = |(name, version): &PackageName| {
        let found = known.get(&(name.as_str(), version.as_str())).copied();
        found.ok_or_else(|| format!("cargo metadata does not know {name} {version}"))
    };
    built.iter().map(find).collect()
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
    use super::*;
    use crate::dist::X86_64;

    #[test]
    fn the_bill_names_the_packages_of_the_build_and_no_others() {
        let bill = write_bill(X86_64).unwrap();
        let document: Value = serde_json::from_str(&bill.json).unwrap();
        let components = document["components"].as_array().unwrap();
        let names: BTreeSet<&str> = components.iter().filter_map(|one| one["name"].as_str()).collect();
        for (package, is_built) in [("clap", true), ("tokio-postgres", true), ("proptest", false), ("cc", false)] {
            assert_eq!(names.contains(package), is_built, "{package}: {names:?}");
            assert_eq!(bill.licences.contains(&format!("| {package} |")), is_built, "{package}");
        }
        assert!(components.iter().all(|one| one["licenses"].is_array()), "each says its licence");
        // Control: what a build without features asks for is less.
        let plain = list_built(X86_64, &[]).unwrap();
        assert!(plain.len() < components.len() && !plain.iter().any(|(name, _)| name == "tokio-postgres"), "{plain:?}");
    }
}
