//! `cto environment suggest`: drafts a contract's environment from what lies in a
//! repository and on this machine.

use std::path::Path;

use contract::decision::Profile;
use contract::text::show_controls;
use suggest::{MachineTools, SuggestEnvironmentError, suggest_environment};

use super::environment_try;
use crate::args::EnvironmentCommand;
use crate::context::Context;
use crate::error::CommandError;

/// Drafts an environment, and tries it if asked to.
pub(crate) fn environment(context: &Context, command: &EnvironmentCommand) -> Result<u8, CommandError> {
    match command {
        EnvironmentCommand::Suggest { dir, tried: true } => environment_try::try_environments(context, dir),
        EnvironmentCommand::Suggest { dir, tried: false } => suggest(context, dir),
    }
}

fn suggest(context: &Context, dir: &Path) -> Result<u8, CommandError> {
    let draft = suggest_environment(dir, &machine_tools(context)).map_err(|error| no_draft(dir, &error))?;
    let output = context.output;
    if output.json {
        output.print_json(&draft.document())?;
    } else {
        output.print(&draft.yaml());
    }
    Ok(0)
}

/// Facts about the operator's machine for drafts.
pub(super) fn machine_tools(context: &Context) -> MachineTools {
    let tools = &context.config.tools;
    MachineTools {
        operator_path: tools.operator_path.clone(),
        operator_home: std::env::home_dir().filter(|home| home.is_absolute()),
        rustup_home: tools.rustup_home.clone(),
        sandbox_path: tools.search_path(&[], Profile::Strict),
        sandbox_shown: tools.shown(),
        sandbox_home: sandbox::HOME_DEFAULT.into(),
    }
}

/// Error of a repository for which nothing can be drafted.
pub(super) fn no_draft(dir: &Path, error: &SuggestEnvironmentError) -> CommandError {
    let name = show_controls(&dir.display().to_string());
    match error {
        SuggestEnvironmentError::Look(error) => CommandError::usage(format!("cannot look at {name}: {error}"))
            .hint("name a repository: cto environment suggest DIR"),
        SuggestEnvironmentError::NothingFound => {
            let nothing =
                format!("nothing in {name} says that it is built with Node, Python, Rust, Go, CMake, Maven or Make");
            CommandError::blocked_with(nothing).hint(SuggestEnvironmentError::LOOKED_FOR)
        }
    }
}
