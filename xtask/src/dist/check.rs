//! Shipped files, read again as a user who downloaded them: checksums, provenance and the content of each archive.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use evidence::PublicKey;
use serde_json::{Value, json};

use super::pack::{PAPERS, SHELLS, read_file, sha256};
use super::provenance::{PROVENANCE, PUBLIC_KEY};
use crate::ChoreResult;
use crate::process::{command_output, program};

/// The program and what goes with it, without the manual pages.
const PROGRAM: [&str; 5] = ["cto", "sbom.cdx.json", "THIRD-PARTY.md", "man/man1/cto.1", "man/man1/cto-run.1"];

/// Checks everything that a build wrote. `files` ends with the list of checksums.
pub(super) fn check_shipped(folder: &Path, files: &[PathBuf]) -> ChoreResult {
    check_sums(folder)?;
    check_provenance(folder, files)?;
    files.iter().filter(|file| file.extension().is_some_and(|it| it == "gz")).try_for_each(|file| check_archive(file))
}

/// Holds each file of the list to its checksum.
fn check_sums(folder: &Path) -> ChoreResult {
    let sums = String::from_utf8_lossy(&read_file(&folder.join("SHA256SUMS"))?).into_owned();
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").ok_or_else(|| format!("SHA256SUMS has the line `{line}`"))?;
        if sha256(&read_file(&folder.join(name))?) != sum {
            return Err(format!("{name} is not what SHA256SUMS says"));
        }
    }
    if sums.is_empty() { Err("SHA256SUMS is empty".to_owned()) } else { Ok(()) }
}

/// Holds the signed statement to its key, and its subjects to the files.
fn check_provenance(folder: &Path, files: &[PathBuf]) -> ChoreResult {
    let key = PublicKey::read_file(&folder.join(PUBLIC_KEY)).map_err(|error| error.to_string())?;
    let signed = read_file(&folder.join(PROVENANCE))?;
    let payload = evidence::dsse::open_statement(&signed, &key).ok_or("the provenance is not signed by its key")?;
    let statement: Value = serde_json::from_slice(&payload).map_err(|error| format!("provenance: {error}"))?;
    let subject = |file: &PathBuf| -> ChoreResult<Value> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Ok(json!({"digest": {"sha256": sha256(&read_file(file)?)}, "name": name}))
    };
    let subjects = files.iter().map(subject).collect::<ChoreResult<Vec<_>>>()?;
    if statement["subject"] == json!(subjects) { Ok(()) } else { Err("the provenance is about other files".to_owned()) }
}

/// Holds an archive to the list of what goes with the program, and to nothing else but
/// manual pages.
fn check_archive(archive: &Path) -> ChoreResult {
    let listed = command_output(program("tar", ["-tzf"]).arg(archive))?;
    let files = listed.lines().filter(|line| !line.ends_with('/'));
    let inside: BTreeSet<&str> = files.filter_map(|line| Some(line.split_once('/')?.1)).collect();
    let completions = SHELLS.map(|(_, file)| format!("completions/{file}"));
    let wanted: BTreeSet<&str> =
        PROGRAM.into_iter().chain(PAPERS).chain(completions.iter().map(String::as_str)).collect();
    if let Some(missing) = wanted.difference(&inside).next() {
        return Err(format!("{} lacks {missing}", archive.display()));
    }
    let is_page = |name: &&&str| name.starts_with("man/man1/cto") && name.ends_with(".1");
    match inside.difference(&wanted).find(|name| !is_page(name)) {
        Some(stranger) => Err(format!("{} holds {stranger}, which is not shipped", archive.display())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::dist::{pack, provenance};

    /// Everything of one build, with an archive of empty files.
    fn shipped(strange: &[&str], absent: &str) -> (TempDir, Vec<PathBuf>) {
        let around = tempfile::tempdir().unwrap();
        let (folder, stage) = (around.path().join("dist"), around.path().join("stage/cto-1"));
        fs::create_dir(&folder).unwrap();
        let completions = SHELLS.map(|(_, file)| format!("completions/{file}"));
        let names = PROGRAM.iter().chain(&PAPERS).chain(strange).copied().chain(completions.iter().map(String::as_str));
        for name in names.filter(|name| *name != absent) {
            let file = stage.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let archive = folder.join("cto-1.tar.gz");
        let mut tar = program("tar", ["-czf"]);
        command_output(tar.arg(&archive).arg("-C").arg(around.path().join("stage")).arg("cto-1")).unwrap();
        fs::write(folder.join("cto-1.sbom.cdx.json"), "{}").unwrap();
        let files = pack::write_sums(&folder, &[archive]).unwrap();
        provenance::sign_all(&files, &around.path().join("key")).unwrap();
        (around, files)
    }

    /// Ruins a file of what is shipped; the check must say these words.
    fn check_ruined(name: &str, change: impl Fn(String) -> String, says: &str) {
        let (around, files) = shipped(&[], "");
        let file = around.path().join("dist").join(name);
        let before = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        fs::write(&file, change(before)).unwrap();
        let error = check_shipped(&around.path().join("dist"), &files).unwrap_err();
        assert!(error.contains(says), "{name}: {error}");
    }

    #[test]
    fn what_is_shipped_is_what_was_made() {
        let (around, files) = shipped(&["man/man1/cto-show.1"], "");
        assert_eq!(check_shipped(&around.path().join("dist"), &files), Ok(()), "control");

        check_ruined("cto-1.sbom.cdx.json", |text| text + " ", "is not what SHA256SUMS says");
        check_ruined("SHA256SUMS", |_| String::new(), "is empty");
        check_ruined("SHA256SUMS", |text| text.lines().skip(1).collect::<String>() + "\n", "about other files");
        check_ruined(
            PROVENANCE,
            |text| text.replacen("\"payload\":\"e", "\"payload\":\"f", 1),
            "not signed by its key",
        );
        let other = evidence::HarnessKey::open_or_create(&around.path().join("other")).unwrap().public();
        check_ruined(PUBLIC_KEY, |_| other.openssh("cto-release"), "not signed by its key");
        for (strange, absent, says) in [
            (&["signing-key"][..], "", "holds signing-key"),
            (&[], "LICENSE-MIT", "lacks LICENSE-MIT"),
            (&[], "completions/_cto", "lacks completions/_cto"),
            (&[], "cto", "lacks cto"),
        ] {
            let (around, files) = shipped(strange, absent);
            let error = check_shipped(&around.path().join("dist"), &files).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
