//! A sealed run, as its bundle tells of it.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Ran, World, files_of};

use super::program::{REACHED, TRIED};

pub(super) struct Sealed {
    pub(super) exit: i32,
    pub(super) run_id: String,
    pub(super) report: Value,
    pub(super) sandbox: Value,
    /// Output of the engine and its programs.
    pub(super) stdout: String,
    bundle: PathBuf,
}

impl Sealed {
    /// Reads the bundle of a call of `cto run --json`.
    pub(super) fn read(world: &World, ran: &Ran) -> Self {
        assert!(!ran.stdout.is_empty(), "no report: {}", ran.stderr);
        let run_id = ran.json()["run_id"].as_str().unwrap().to_owned();
        let bundle = world.bundles().join(&run_id);
        let json = |name: &str| serde_json::from_slice(&fs::read(bundle.join(name)).unwrap()).unwrap();
        let stdout = fs::read(bundle.join("backend/stdout.log")).unwrap_or_default();
        Self {
            exit: ran.code,
            report: json("report.json"),
            sandbox: json("sandbox.json"),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            run_id,
            bundle,
        }
    }

    pub(super) fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.bundle.join(name)).unwrap()).into_owned()
    }

    /// The data of each event of a kind.
    pub(super) fn events(&self, kind: &str) -> Vec<Value> {
        let text = self.text("events.normalized.jsonl");
        let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.filter(|event| event["type"] == kind).map(|mut event| event["data"].take()).collect()
    }

    /// True if a line of a program says that it succeeded.
    pub(super) fn says_reached(&self) -> bool {
        self.stdout.lines().any(|line| line.ends_with(REACHED))
    }

    /// True if the program was started at all.
    pub(super) fn says_tried(&self) -> bool {
        self.stdout.lines().any(|line| line == TRIED)
    }

    /// Files of the bundle that hold a text.
    pub(super) fn holding(&self, text: &str) -> Vec<PathBuf> {
        let holds = |name: &PathBuf| {
            let bytes = fs::read(self.bundle.join(name)).unwrap();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        };
        files_of(&self.bundle).into_iter().filter(holds).collect()
    }

    pub(super) fn attempts(&self) -> &[Value] {
        self.sandbox["attempts"].as_array().unwrap()
    }

    /// True if the report says that something is not proven.
    pub(super) fn covers(&self, code: &str) -> bool {
        self.report["coverage"].as_array().unwrap().iter().any(|known| known == code)
    }

    /// The engine's own sandbox.
    pub(super) fn cell(&self) -> &Value {
        let cells = self.sandbox["cells"].as_array().unwrap();
        cells.iter().find(|cell| cell["name"] == "engine").unwrap()
    }

    pub(super) fn limit_hits(&self) -> Vec<&str> {
        self.cell()["limit_hits"].as_array().unwrap().iter().filter_map(Value::as_str).collect()
    }

    /// Everything that helps to understand a failure.
    pub(super) fn told(&self) -> String {
        let short = json!({
            "exit": self.exit, "blockers": self.report["blockers"], "attempts": self.attempts(),
            "changed": self.report["changed_files"], "dirty": self.report["dirty_paths"],
            "exited": self.events("engine.exited"), "left": self.sandbox["leftover_processes"],
        });
        let stderr = fs::read(self.bundle.join("backend/stderr.log")).unwrap_or_default();
        format!("{short:#}\nstdout:\n{}stderr:\n{}", self.stdout, String::from_utf8_lossy(&stderr))
    }
}
