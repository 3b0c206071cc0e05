//! `cto environment suggest`: drafts a contract's environment from what lies in a repository and on this machine.
//!
//! Reads names and small manifests, follows no link of the repository and starts nothing.

mod draft;
mod go;
mod look;
mod machine;
mod node;
mod python;
mod rust;

use std::fs;
use std::path::Path;

use contract::text::shown;

use crate::args::EnvironmentCommand;
use crate::context::Context;
use crate::error::CommandError;
use draft::Draft;
use look::Place;
use machine::Machine;

/// Looks at one place of a repository; adds to the draft and says so where it is built with the ecosystem in question.
type Ecosystem = fn(&Place<'_>, &Machine, &mut Draft);

const ECOSYSTEMS: [Ecosystem; 4] = [node::draft, python::draft, rust::draft, go::draft];

/// A person reads the draft, and a contract has room for some only.
const MOST_PROJECTS: usize = 20;

const LOOKED_FOR: &str = "looked for: package.json; requirements*.txt, pyproject.toml, setup.py, Pipfile.lock; Cargo.toml; \
                          go.mod; here, and two levels down where there is a lock file";

pub(crate) fn environment(context: &Context, command: &EnvironmentCommand) -> Result<u8, CommandError> {
    match command {
        EnvironmentCommand::Suggest { dir } => suggest(context, dir),
    }
}

fn suggest(context: &Context, dir: &Path) -> Result<u8, CommandError> {
    let name = shown(&dir.display().to_string());
    let unreadable = |error| {
        CommandError::usage(format!("cannot look at {name}: {error}"))
            .hint("name a repository: cto environment suggest DIR")
    };
    let root = fs::canonicalize(dir).map_err(unreadable)?;
    let places = look::places(&root).map_err(unreadable)?;
    let machine = Machine::new(&context.config.tools);
    let mut draft = Draft::default();
    for place in &places {
        if draft.projects() >= MOST_PROJECTS {
            draft.note(format!("there are more than {MOST_PROJECTS} projects; the rest was not looked at"));
            break;
        }
        ECOSYSTEMS.iter().for_each(|ecosystem| ecosystem(place, &machine, &mut draft));
    }
    if draft.projects() == 0 {
        let nothing = format!("nothing in {name} says that it is built with Node, Python, Rust or Go");
        return Err(CommandError::blocked(nothing).hint(LOOKED_FOR));
    }
    let output = context.output;
    if output.json {
        output.print_json(&draft.document())?;
    } else {
        output.print(&draft.yaml());
    }
    Ok(0)
}
