//! `cto logs`: what was printed and recorded.

use std::fs;

use contract::text::shown_lines;
use evidence::names;
use serde_json::json;

use crate::context::Context;
use crate::error::CommandError;

/// Which log.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Which {
    Engine,
    Verification,
    Setup,
    Events,
    Trace,
}

pub(crate) fn which(verification: bool, setup: bool, events: bool, trace: bool) -> Which {
    match (verification, setup, events, trace) {
        (true, ..) => Which::Verification,
        (_, true, ..) => Which::Setup,
        (_, _, true, _) => Which::Events,
        (.., true) => Which::Trace,
        _ => Which::Engine,
    }
}

pub(crate) fn logs(context: &Context, run: &str, which: Which) -> Result<u8, CommandError> {
    let (found, bound) = context.bind_run(run)?;
    let files: &[&str] = match which {
        Which::Engine => &["backend/stdout.log", "backend/stderr.log"],
        Which::Verification => &[names::TEST_LOG],
        Which::Setup => &[names::SETUP_LOG],
        Which::Events => &[names::EVENTS],
        Which::Trace => &[names::TRACE],
    };
    let mut texts = Vec::new();
    for file in files {
        match fs::read(bound.dir().join(file)) {
            Ok(bytes) => texts.push((*file, shown_lines(&String::from_utf8_lossy(&bytes)))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(CommandError::fail(format!("{file} of {} cannot be read: {error}", found.id))),
        }
    }
    let output = context.output;
    if output.json {
        let files: serde_json::Map<_, _> =
            texts.into_iter().map(|(file, text)| (file.to_owned(), json!(text))).collect();
        output.print_json(&json!({"files": files, "run_id": found.id}))?;
    } else if texts.is_empty() {
        output.note(match which {
            Which::Setup => "the contract has no setup, or none was needed\n",
            _ => "the engine did not start, so it printed nothing\n",
        });
    } else {
        output.print(&texts.into_iter().map(|(_, text)| text).collect::<String>());
    }
    Ok(0)
}
