//! `cto init`: a workspace, which counts only because this home says so.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use harness::RunClock;
use serde_json::json;
use workboard::{InitFile, WORKSPACE_FOLDERS, workspace_files};

use crate::context::Context;
use crate::error::CommandError;
use crate::workspace_scene::day_of;

pub(crate) fn init(context: &Context, dir: &Path) -> Result<u8, CommandError> {
    let failed = |error| {
        CommandError::usage(format!("cannot make a workspace in {}: {error}", dir.display()))
            .hint("name a directory you can write: cto init DIR")
    };
    for folder in WORKSPACE_FOLDERS {
        fs::create_dir_all(dir.join(folder)).map_err(failed)?;
    }
    let today = day_of(RunClock::start().map_err(CommandError::blocked)?.started());
    let mut made = Vec::new();
    for InitFile { path: name, text } in workspace_files(&today, "the operator") {
        // What a person already has is never overwritten.
        match fs::OpenOptions::new().write(true).create_new(true).open(dir.join(name)) {
            Ok(mut file) => {
                file.write_all(text.as_bytes()).map_err(failed)?;
                made.push(name);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let full = fs::canonicalize(dir).map_err(failed)?;
    super::trust::trust_workspace(context, &full)?;
    let output = context.output;
    let shown = contract::text::shown(&full.display().to_string());
    if output.json {
        output.print_json(&json!({"files": made, "workspace": full.display().to_string()}))?;
    } else {
        output.print(&format!("workspace {shown}\n"));
        made.iter().for_each(|name| output.print(&format!("made {name}\n")));
        output.print(&format!("{}  {}\n", output.paint.dim("next"), output.paint.command("cto case new my-case")));
    }
    Ok(0)
}
