//! The stand-in without a harness around it, for controls: what it does when nothing keeps it from it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{MARKER, git};

use super::scene::{Scene, TASK};

pub(super) struct Plain<'a> {
    scene: &'a Scene,
    folder: PathBuf,
    /// With the files of the case.
    pub(super) repository: PathBuf,
    /// The value of [`MARKER`].
    pub(super) mark: String,
}

impl<'a> Plain<'a> {
    /// Everything it needs in a folder of this name, with this task.
    pub(super) fn new(scene: &'a Scene, name: &str, task: &Value) -> Self {
        let folder = scene.world.path().join("plain").join(name);
        let repository = folder.join("repository");
        for file in fixtures::find(TASK).unwrap().files {
            if let Some(below) = file.path.strip_prefix("files/") {
                let path = repository.join(below);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, file.bytes).unwrap();
            }
        }
        let _ = git(&repository, ["init", "-q"]);
        fs::create_dir_all(folder.join("data/pi-agent")).unwrap();
        let base = format!("http://{}/v1", scene.server.address());
        for (name, text) in [
            ("t.task.json", task.clone()),
            ("data/config.json", json!({"models": {"default": {"provider": "openai", "model": "gpt-x"}}})),
            ("data/projects.json", json!({"repos": [{"name": "r", "path": repository}]})),
            ("data/pi-agent/models.json", json!({"providers": {"openai": {"baseUrl": base}}})),
        ] {
            fs::write(folder.join(name), text.to_string()).unwrap();
        }
        let mark = format!("plain-{name}-{}", std::process::id());
        Self { scene, folder, repository, mark }
    }

    /// Starts it in a directory, to its end: its exit code and all that it printed.
    pub(super) fn start(&self, dir: &Path) -> (i32, String) {
        let task = self.folder.join("t.task.json");
        let words = ["__ca", "run", "--task", task.to_str().unwrap(), "--mode", "unattended"];
        let mut command = self.scene.world.command(words);
        command.current_dir(dir).env("CASE_DATA_DIR", self.folder.join("data")).env("OPENAI_API_KEY", "k");
        command.env("PI_CODING_AGENT_DIR", self.folder.join("data/pi-agent")).env(MARKER, &self.mark);
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
    }
}
