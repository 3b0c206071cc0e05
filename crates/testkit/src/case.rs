//! Cases made by tests: one that passes, of which a test changes what it is about.

use std::fs;
use std::path::PathBuf;

use crate::World;

/// `a.txt` says one and shall say two.
const GOOD: &[(&str, &str)] = &[
    ("schema_version", "\"1\""),
    ("task_id", "made"),
    ("title", "turn one into two"),
    ("brief", "a.txt says one. Make it say two."),
    ("risk_class", "low"),
    ("source_owner", "tests"),
    ("source_classification", "owned_local"),
    ("allowed_paths", "[a.txt]"),
    ("forbidden_actions", "[push, merge]"),
    ("mutation_mode", "copied-fixture"),
    ("verification_commands", "[[grep, -qx, two, a.txt]]"),
];
const GOOD_FAKE: (&str, &str) = ("fake", "{steps: [{write: {path: a.txt, text: \"two\\n\"}}]}");

/// A good contract with some keys changed or added; a key without a value is left out.
pub fn contract_text(changes: &[(&str, &str)]) -> String {
    text(GOOD, changes)
}

fn text(good: &[(&str, &str)], changes: &[(&str, &str)]) -> String {
    let change = |key: &str| changes.iter().find(|(changed, _)| *changed == key).map(|(_, value)| *value);
    let kept = good.iter().map(|(key, value)| (*key, change(key).unwrap_or(value)));
    let added = changes.iter().copied().filter(|(key, _)| good.iter().all(|(known, _)| known != key));
    kept.chain(added).filter(|(_, value)| !value.is_empty()).map(|(key, value)| format!("{key}: {value}\n")).collect()
}

impl World {
    /// Writes a case folder below [`World::here`]: the good case with some keys changed.
    pub fn case(&self, name: &str, changes: &[(&str, &str)]) -> PathBuf {
        let good: Vec<_> = GOOD.iter().copied().chain([GOOD_FAKE]).collect();
        self.write(&format!("{name}/case.yaml"), text(&good, changes));
        self.write(&format!("{name}/files/a.txt"), "one\n");
        self.here().join(name)
    }

    /// A repository beside [`World::here`], with one commit of these files.
    pub fn repository(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = self.path().join(name);
        fs::create_dir(&root).expect("a directory");
        crate::git(&root, ["init", "-q"]);
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            fs::write(path, text).expect("a file");
        }
        crate::git(&root, ["add", "-A"]);
        crate::git(&root, ["commit", "-q", "--allow-empty", "-m", "first"]);
        root
    }
}
