//! `cto init`: a workspace, which counts only because this home says so.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use harness::RunClock;
use serde_json::json;
use workboard::{InitFile, WORKSPACE_FOLDERS, workspace_files};

use crate::context::Context;
use crate::error::CommandError;
use crate::workspace_scene::day_of;

/// Makes a workspace and trusts it.
pub(crate) fn init(context: &Context, dir: &Path) -> Result<u8, CommandError> {
    let MadeWorkspace { path, files } = make_workspace(context, dir)?;
    let output = context.output;
    let shown = contract::text::show_controls(&path.display().to_string());
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

/// Makes the folders and files of a workspace. Existing files stay as they are.
pub(super) fn make_workspace(context: &Context, dir: &Path) -> Result<MadeWorkspace, CommandError> {
    let failed = |error| {
        CommandError::usage(format!("cannot make a workspace in {}: {error}", dir.display()))
            .hint("name a directory you can write: cto init DIR")
    };
    for folder in WORKSPACE_FOLDERS {
        fs::create_dir_all(dir.join(folder)).map_err(failed)?;
    }
    let today = day_of(RunClock::start_clock().map_err(CommandError::blocked_with)?.started());
    let mut files = Vec::new();
    for InitFile { path: name, text } in workspace_files(&today, "the operator") {
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
