//! `cto init`: a workspace, which counts only because this home says so.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::context::Context;
use crate::error::CommandError;

const HARNESS_YAML: &str = "# Settings of this workspace. They can make the configuration stricter, never wider.\n# cto schema config     every key\n";
const CONTEXT_MD: &str = "# Terms\n\nThe words of this workspace: contract, case, engine, gate, admission, approval, outcome, stage, ladder, run, bundle, event,\nblocker, ledger, bridge, sandbox, record, packet, guard.\n";
const IGNORE: &str = ".env\nledger.db*\nscratch/\n";
const EXAMPLE: &str = r#"# A task contract. Run it on a copy of a repository you own:
#   cto run contracts/example.yaml --repo PATH
schema_version: "1"
task_id: example
title: fix the greeting
brief: |
  Say here what is to be done. This is what the engine gets to read.
risk_class: low
source_owner: your name
source_classification: owned_local
allowed_paths:
  - src/
forbidden_paths:
  - .github/
mutation_mode: copied-fixture
verification_commands:
  - argv: [make, test]
    timeout_seconds: 300
"#;

pub(crate) fn init(context: &Context, dir: &Path) -> Result<u8, CommandError> {
    let MadeWorkspace { path, files } = make_workspace(context, dir)?;
    let output = context.output;
    let shown = contract::text::shown(&path.display().to_string());
    if output.json {
        output.print_json(&json!({"files": files, "workspace": path.display().to_string()}))?;
    } else {
        output.print(&format!("workspace {shown}\n"));
        files.iter().for_each(|name| output.print(&format!("made {name}\n")));
        output.print(&format!("{}  {}\n", output.paint.dim("next"), output.paint.command("cto case new my-case")));
    }
    Ok(0)
}

/// A workspace that this home trusts now, and the files that were not there before.
pub(super) struct MadeWorkspace {
    pub(super) path: PathBuf,
    files: Vec<&'static str>,
}

pub(super) fn make_workspace(context: &Context, dir: &Path) -> Result<MadeWorkspace, CommandError> {
    let failed = |error| {
        CommandError::usage(format!("cannot make a workspace in {}: {error}", dir.display()))
            .hint("name a directory you can write: cto init DIR")
    };
    let texts = [
        ("harness.yaml", HARNESS_YAML),
        ("CONTEXT.md", CONTEXT_MD),
        (".gitignore", IGNORE),
        ("contracts/example.yaml", EXAMPLE),
    ];
    for folder in ["contracts", "cases"] {
        fs::create_dir_all(dir.join(folder)).map_err(failed)?;
    }
    let mut files = Vec::new();
    for (name, text) in texts {
        // What a person already has is never overwritten.
        match fs::OpenOptions::new().write(true).create_new(true).open(dir.join(name)) {
            Ok(mut file) => {
                file.write_all(text.as_bytes()).map_err(failed)?;
                files.push(name);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let path = fs::canonicalize(dir).map_err(failed)?;
    super::trust::trust_workspace(context, &path)?;
    Ok(MadeWorkspace { path, files })
}
