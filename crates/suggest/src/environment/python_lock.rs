//! Exact versions in lock files of Python, and the wheels of this machine that have them.

use std::path::Path;

use crate::machine::beginning_with;

/// More packages than these make no readable command.
const MOST_PINS: usize = 400;

/// Packages of a lock file, as `name==version`. The project itself is in none of them.
pub(super) fn read_pins(lock: &str, text: &str) -> Vec<String> {
    let pins = if lock == "Pipfile.lock" { read_pipfile(text) } else { read_package_tables(text) };
    if pins.len() > MOST_PINS { Vec::new() } else { pins }
}

/// `[[package]]` tables of uv, poetry and pdm.
fn read_package_tables(text: &str) -> Vec<String> {
    let tables = text.split("[[package]]").skip(1);
    let pins = tables.filter_map(|table| {
        let table = table.split("\n[").next()?;
        let value = |key: &str| {
            let line = table.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='))?;
            line.trim().strip_prefix('"')?.strip_suffix('"')
        };
        let is_local = table.lines().any(|line| {
            line.starts_with("source")
                && ["virtual", "editable", "directory", "path"].iter().any(|kind| line.contains(kind))
        });
        if is_local { None } else { pin(value("name")?, value("version")?) }
    });
    pins.collect()
}

fn read_pipfile(text: &str) -> Vec<String> {
    let Ok(lock) = serde_json::from_str::<serde_json::Value>(text) else { return Vec::new() };
    let groups = ["default", "develop"].into_iter().filter_map(|group| lock.get(group)?.as_object());
    let packages = groups.flatten();
    packages.filter_map(|(name, package)| pin(name, package.get("version")?.as_str()?.strip_prefix("==")?)).collect()
}

/// A pin of plain letters: nothing in it can be an option of pip.
fn pin(name: &str, version: &str) -> Option<String> {
    let is_plain = |text: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+!".contains(&byte);
        text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(plain)
    };
    (is_plain(name) && is_plain(version)).then(|| format!("{name}=={version}"))
}

/// The pins that a folder has a wheel of, and those that it has none of.
pub(super) fn split_by_wheels(pins: &[String], folder: &Path) -> (Vec<String>, Vec<String>) {
    let wheels: Vec<String> = beginning_with_any(folder);
    pins.iter().cloned().partition(|pin| {
        let (name, version) = pin.split_once("==").unwrap_or((pin, ""));
        let begin = format!("{}-{}-", plain_name(name), version.to_ascii_lowercase());
        wheels.iter().any(|wheel| wheel.starts_with(&begin))
    })
}

/// Names of a folder's wheels, each with its package as pip compares it.
fn beginning_with_any(folder: &Path) -> Vec<String> {
    let letters = ('a'..='z').chain('A'..='Z').chain('0'..='9');
    let names = letters.flat_map(|letter| beginning_with(&folder.join(letter.to_string())));
    let wheels = names.filter(|name| name.ends_with(".whl"));
    let plain = wheels.filter_map(|name| {
        let (package, rest) = name.split_once('-')?;
        Some(format!("{}-{}", plain_name(package), rest.to_ascii_lowercase()))
    });
    plain.collect()
}

fn plain_name(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '.'], "_")
}

#[cfg(test)]
mod tests {
    use untrusted_fs::own_files;

    use super::*;

    #[test]
    fn exact_versions_are_read_from_each_lock() {
        let uv = "version = 1\n\n[[package]]\nname = \"own\"\nversion = \"1.0\"\nsource = { editable = \".\" }\n\n\
                  [[package]]\nname = \"a-b\"\nversion = \"2.0\"\nsource = { registry = \"https://x\" }\ndependencies = [\n    { name = \"c\" },\n]\n";
        let poetry = "[[package]]\nname = \"a\"\nversion = \"0.5\"\noptional = false\n\n[package.extras]\nname = \"no\"\n\n[metadata]\nlock-version = \"2.0\"\n";
        let pipfile =
            r#"{"default": {"a": {"version": "==1.0"}, "b": {"git": "x"}}, "develop": {"c": {"version": "==2"}}}"#;
        let option = "[[package]]\nname = \"--index-url\"\nversion = \"1\"\n";
        let rows = [
            ("uv.lock", uv, &["a-b==2.0"][..]),
            ("poetry.lock", poetry, &["a==0.5"]),
            ("Pipfile.lock", pipfile, &["a==1.0", "c==2"]),
            ("uv.lock", option, &[]),
            ("uv.lock", "", &[]),
            ("Pipfile.lock", "no json", &[]),
        ];
        for (lock, text, pins) in rows {
            assert_eq!(read_pins(lock, text), pins, "{lock}: {text}");
        }
    }

    #[test]
    fn a_wheel_is_found_by_name_and_version() {
        let folder = tempfile::tempdir().unwrap();
        for wheel in ["a_b-2.0-py3-none-any.whl", "a_b-2.1-py3-none-any.whl", "C-1.0-py3-none-any.whl"] {
            own_files::write_file(folder.path().join(wheel), b"").unwrap();
        }
        let pins = ["A-b==2.0", "c==1.0", "c==1.0.1"].map(str::to_owned);
        let (here, missing) = split_by_wheels(&pins, folder.path());
        assert_eq!((here, missing), (vec!["A-b==2.0".to_owned(), "c==1.0".to_owned()], vec!["c==1.0.1".to_owned()]));
    }
}
