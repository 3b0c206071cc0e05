//! The archive: the program, completions, manual pages, licences and the list of everything
//! in it. The same tree and the same program give the same bytes.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::sbom;
use crate::ChoreResult;
use crate::process::{cargo, command_output, program, repository_root, run_command, target};

/// Files of the repository that go with the program.
pub(super) const PAPERS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Shell, and the name under which its completions are looked for.
pub(super) const SHELLS: [(&str, &str); 3] = [("bash", "cto.bash"), ("zsh", "_cto"), ("fish", "cto.fish")];

/// Version of the package `cto`.
pub(crate) fn version() -> ChoreResult<String> {
    let id = command_output(&mut cargo(&["pkgid", "--package", "cto"]))?;
    let version = id.trim().rsplit(['#', '@']).next().map(str::to_owned);
    version.ok_or_else(|| format!("cargo names no version of cto: {id}"))
}

/// Packs a program for a target; gives the archive. Completions and pages are the same for
/// every target: `own`, the program of this machine, writes them.
pub(super) fn pack_program(cto: &Path, own: &Path, triple: &str, folder: &Path) -> ChoreResult<PathBuf> {
    if needs_libraries(&read_file(cto)?) {
        return Err(format!("{} asks for a dynamic linker, so that it would not run everywhere", cto.display()));
    }
    let name = format!("cto-{}-{triple}", version()?);
    let stage = target().join("dist-stage");
    let place = stage.join(&name);
    let _ = fs::remove_dir_all(&stage);
    make(&place.join("completions"))?;
    copy(cto, &place.join("cto"))?;
    for paper in PAPERS {
        copy(&repository_root().join(paper), &place.join(paper))?;
    }
    for (shell, file) in SHELLS {
        let script = command_output(&mut program(own, ["completions", shell]))?;
        write_file(&place.join("completions").join(file), script.as_bytes())?;
    }
    let pages = place.join("man/man1");
    make(&pages)?;
    run_command(program(own, ["man", "--quiet", "--out"]).arg(&pages))?;
    let bill = sbom::write_bill(triple)?;
    write_file(&place.join("sbom.cdx.json"), bill.json.as_bytes())?;
    write_file(&place.join("THIRD-PARTY.md"), bill.licences.as_bytes())?;
    let archive = folder.join(format!("{name}.tar.gz"));
    let mut tar = program("tar", ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "-C"]);
    run_command(tar.arg(&stage).args(["--use-compress-program=gzip -n9", "-cf"]).arg(&archive).arg(&name))?;
    write_file(&folder.join(format!("{name}.sbom.cdx.json")), bill.json.as_bytes())?;
    let _ = fs::remove_dir_all(&stage);
    Ok(archive)
}

/// Writes the checksums of archives and bills; gives everything that is shipped.
pub(super) fn write_sums(folder: &Path, archives: &[PathBuf]) -> ChoreResult<Vec<PathBuf>> {
    let mut files = Vec::new();
    for archive in archives {
        let bill = archive.display().to_string().replace(".tar.gz", ".sbom.cdx.json");
        files.extend([archive.clone(), PathBuf::from(bill)]);
    }
    let mut sums = String::new();
    for file in &files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        sums.push_str(&format!("{}  {name}\n", sha256(&read_file(file)?)));
    }
    let list = folder.join("SHA256SUMS");
    write_file(&list, sums.as_bytes())?;
    files.push(list);
    Ok(files)
}

/// SHA-256 in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// True for an ELF file with a segment that names an interpreter.
fn needs_libraries(elf: &[u8]) -> bool {
    const INTERPRETER: u32 = 3;
    let number = |at: usize, bytes: usize| {
        let part = elf.get(at..at + bytes)?;
        part.iter().rev().try_fold(0_u64, |sum, byte| Some(sum << 8 | u64::from(*byte)))
    };
    let table = || Some((number(32, 8)?, number(54, 2)?, number(56, 2)?));
    let Some((start, size, count)) = table().filter(|_| elf.starts_with(b"\x7fELF")) else { return true };
    (0..count).any(|index| {
        let at = usize::try_from(start + index * size).unwrap_or(usize::MAX - 8);
        number(at, 4) == Some(u64::from(INTERPRETER))
    })
}

/// Content of a file; the error names it.
pub(super) fn read_file(path: &Path) -> ChoreResult<Vec<u8>> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Writes a file; the error names it.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> ChoreResult {
    fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn make(folder: &Path) -> ChoreResult {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

fn copy(from: &Path, to: &Path) -> ChoreResult {
    fs::copy(from, to).map(drop).map_err(|error| format!("cannot copy {}: {error}", from.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of a 64 bit ELF file with one segment of this kind.
    fn elf(kind: u8) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..4].copy_from_slice(b"\x7fELF");
        (bytes[32], bytes[54], bytes[56], bytes[64]) = (64, 56, 1, kind);
        bytes
    }

    #[test]
    fn a_program_that_asks_for_a_linker_is_told() {
        assert!(needs_libraries(&elf(3)));
        assert!(!needs_libraries(&elf(1)), "control");
        assert!(needs_libraries(b"#!/bin/sh\n"), "not a program at all");
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert!(needs_libraries(&own), "a test program is linked with shared libraries");
    }
}
