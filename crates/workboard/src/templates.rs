//! Files of a fresh workspace. Each is written only where nothing is.

/// Folder of planning documents.
pub const PROTOCOLS: &str = ".sot/03-PROTOCOLS";
/// File that the first `cto init` writes.
pub const MARK: &str = ".sot/WORKSPACE.yaml";
/// File of the terms.
pub(crate) const CONTEXT: &str = "CONTEXT.md";

/// Folders of a workspace.
pub const WORKSPACE_FOLDERS: [&str; 11] = [
    PROTOCOLS,
    "admissions/source",
    "admissions/model",
    "admissions/target",
    "approvals",
    "requests",
    "outcomes",
    "decisions",
    "cases",
    "contracts",
    "rules",
];

/// Terms whose definition CONTEXT.md has to keep.
pub(crate) const CHECKED_TERMS: [&str; 2] = ["Core Promotion Decision Packet", "Core Route Admission Guard"];

/// A file that `cto init` makes.
#[derive(Debug, Clone)]
pub struct InitFile {
    pub path: &'static str,
    pub text: String,
}

/// Files of a fresh workspace, made on a day (`yyyy-mm-dd`) for an owner.
pub fn workspace_files(day: &str, owner: &str) -> Vec<InitFile> {
    let fill = |text: &str| text.replace("{day}", day).replace("{owner}", &one_line(owner));
    let file = |path, text: &str| InitFile { path, text: fill(text) };
    vec![
        file("harness.yaml", include_str!("../templates/harness.yaml")),
        file("WORKBOARD.yaml", include_str!("../templates/WORKBOARD.yaml")),
        file(CONTEXT, include_str!("../templates/CONTEXT.md")),
        file(".gitignore", include_str!("../templates/gitignore")),
        file(MARK, include_str!("../templates/WORKSPACE.yaml")),
        file(".sot/03-PROTOCOLS/WORKSPACE-INTENT.md", include_str!("../templates/WORKSPACE-INTENT.md")),
        file("decisions/core-promotion.yaml", include_str!("../templates/core-promotion.yaml")),
        file("contracts/example.yaml", include_str!("../templates/example.yaml")),
    ]
}

fn one_line(text: &str) -> String {
    let kept: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let kept = kept.trim();
    if kept.is_empty() { "the operator".to_owned() } else { kept.to_owned() }
}
