//! Real overlays for tests, each in a mount namespace of its own and reached through a process that stays in it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::support::program;

/// Mounts, says so, and then does line by line its input says.
const KEEPER: &str = "mount -t overlay overlay -o \"$1\" \"$2\" && cd \"$2\" && echo mounted 0 || exit 1\n\
                      while read -r line; do ( eval \"$line\" ) >&2; echo done $?; done";

/// Without root first, as the sandbox mounts; root may where user namespaces are switched off.
const NAMESPACES: [&str; 2] = ["-Urm", "-m"];

/// A mounted overlay, as long as the value lives.
pub(crate) struct Overlay {
    keeper: Child,
    told: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
    root: PathBuf,
    work: PathBuf,
}

impl Overlay {
    /// Lays an overlay that changes `upper` over `lower`, the first on top. There is no other way to test what a kernel
    /// writes into a layer, so a machine that does not allow it fails the test.
    pub(crate) fn mount(lower: &[&Path], upper: &Path) -> Overlay {
        let mut said = String::new();
        for namespaces in NAMESPACES {
            match Overlay::try_mount(namespaces, lower, upper) {
                Ok(overlay) => return overlay,
                Err(why) => said.push_str(&format!("\nunshare {namespaces}: {why}")),
            }
        }
        panic!("no overlay can be mounted here, as root or in a user namespace:{said}");
    }

    fn try_mount(namespaces: &str, lower: &[&Path], upper: &Path) -> Result<Overlay, String> {
        let [place, work] = ["mounted", "work"].map(|ending| upper.with_extension(ending));
        for folder in [upper, &place, &work] {
            fs::create_dir_all(folder).unwrap();
        }
        let lower = lower.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(":");
        let options = format!("lowerdir={lower},upperdir={},workdir={},userxattr", upper.display(), work.display());
        let mut keeper = program("unshare")
            .args([namespaces, "sh", "-c", KEEPER, "sh", &options])
            .arg(&place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| e.to_string())?;
        let (told, says) = (keeper.stdin.take(), BufReader::new(keeper.stdout.take().unwrap()));
        let root = PathBuf::from(format!("/proc/{}/root{}", keeper.id(), place.display()));
        let mut overlay = Overlay { keeper, told, says, root, work };
        match overlay.answer().as_str() {
            "mounted 0" => Ok(overlay),
            _ => Err(overlay.complaint()),
        }
    }

    /// The root of the overlay, for this process.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Runs a line of shell in the root of the overlay.
    pub(crate) fn run(&mut self, line: &str) {
        writeln!(self.told.as_mut().unwrap(), "{line}").unwrap();
        let answer = self.answer();
        assert_eq!(answer, "done 0", "{line}: {}", self.complaint());
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.says.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn complaint(&mut self) -> String {
        self.told = None;
        let mut said = String::new();
        let _ = self.keeper.stderr.take().map(|mut pipe| pipe.read_to_string(&mut said));
        said.trim_end().to_owned()
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        self.told = None;
        let _ = self.keeper.wait();
        // The kernel leaves a directory that not even its owner may enter; the world could not be removed.
        let _ = fs::set_permissions(self.work.join("work"), fs::Permissions::from_mode(0o700));
    }
}
