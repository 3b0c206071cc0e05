//! "Is this really that program?": asked in a sandbox without a bridge, once for each copy.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use contract::engine::{IdentityCheck, UnsupportedBuild};
use contract::text::show_controls;
use contract::{Digest, canonical_digest};
use untrusted_fs::own_files;

use super::kept::KeptTree;
use super::locate::Located;
use crate::home::scratch::Work;
use crate::run::harness::Harness;
use crate::run::look::{Look, Looked, Shown, look_around};

/// A program that takes longer to say its name is not asked to work.
const WALL: Duration = Duration::from_secs(60);
/// Time limit of a question that some builds take for the beginning of work.
const BUILD_WALL: Duration = Duration::from_secs(10);
/// Upper bound on the kept output.
const LONGEST: usize = 64 << 10;

/// The engine's copy and its interpreter's, as a sandbox shows them.
#[derive(Debug, Clone)]
pub(crate) struct Pieces {
    pub(crate) program: KeptTree,
    /// Name under which the program and its children call it.
    pub(crate) called: String,
    pub(crate) interpreter: Option<KeptTree>,
}

/// Mount of a copy in the sandbox, and the path of its executable there. A copy of a single
/// file gets the name that it is called by.
fn shown_as(located: &Located, name: &str, called: &str) -> (Shown, String) {
    if located.below.as_os_str().is_empty() {
        let place = format!("{name}/{called}");
        let seen = format!("{}/{place}", crate::home::placement::GIVEN);
        return (Shown { host: located.root.clone(), name: place }, seen);
    }
    let seen = format!("{}/{name}/{}", crate::home::placement::GIVEN, located.below.display());
    (Shown { host: located.root.clone(), name: name.to_owned() }, seen)
}

impl Pieces {
    /// Mounts, and the beginning of every command line.
    pub(crate) fn command(&self) -> (Vec<Shown>, Vec<String>) {
        let (shown, program) = shown_as(&self.program.located, "engine", &self.called);
        match &self.interpreter {
            None => (vec![shown], vec![program]),
            Some(interpreter) => {
                let (other, interpreter) = shown_as(&interpreter.located, "interpreter", "interpreter");
                (vec![other, shown], vec![interpreter, program])
            }
        }
    }

    /// The folder in which its executable is seen.
    pub(crate) fn bin(&self) -> String {
        let (_, seen) = shown_as(&self.program.located, "engine", &self.called);
        Path::new(&seen).parent().unwrap_or(Path::new("/")).display().to_string()
    }

    /// Path of the engine's tree in the sandbox.
    pub(crate) fn tree(&self) -> String {
        format!("{}/engine", crate::home::placement::GIVEN)
    }
}

/// Output of the program, if its identity check passes; an error otherwise.
pub(super) fn confirm_identity(harness: &Harness, pieces: &Pieces, check: &IdentityCheck) -> Result<String, String> {
    let memory = memory(harness, pieces, check);
    if let Some(said) = memory.as_ref().and_then(|file| own_files::read_to_string(file).ok()) {
        return Ok(said);
    }
    let said = ask(harness, pieces, check)?;
    if let Some(file) = memory {
        crate::home::host::write_aside(&file, said.as_bytes());
    }
    Ok(said)
}

/// Refuses a build that passes for the program and cannot be run as its definition says.
/// Asked once for each copy; a question that is not answered says nothing.
pub(super) fn refuse_build(harness: &Harness, pieces: &Pieces, builds: &[UnsupportedBuild]) -> Result<(), String> {
    let mut asked: Vec<(&[String], String)> = Vec::new();
    for build in builds {
        if !asked.iter().any(|(argv, _)| *argv == build.argv) {
            asked.push((&build.argv, answer(harness, pieces, &build.argv)?));
        }
        let said = asked.iter().find(|(argv, _)| *argv == build.argv).map(|(_, said)| said.as_str());
        if said.is_some_and(|said| said.contains(&build.says)) {
            return Err(build.why.clone());
        }
    }
    Ok(())
}

/// Output of the program for these arguments, whatever its exit code.
fn answer(harness: &Harness, pieces: &Pieces, argv: &[String]) -> Result<String, String> {
    let memory = memory(harness, pieces, &argv);
    if let Some(said) = memory.as_ref().and_then(|file| own_files::read_to_string(file).ok()) {
        return Ok(said);
    }
    let (said, _) = print(harness, pieces, argv, BUILD_WALL)?;
    if let Some(file) = memory {
        crate::home::host::write_aside(&file, said.as_bytes());
    }
    Ok(said)
}

/// Place of the answer of one copy to one question, which stays true.
fn memory(harness: &Harness, pieces: &Pieces, question: &impl serde::Serialize) -> Option<std::path::PathBuf> {
    let interpreter = pieces.interpreter.as_ref().map(|kept| kept.tree_sha256);
    let below = pieces.program.located.below.display().to_string();
    let asked: Digest = canonical_digest(&(question, interpreter, pieces.program.tree_sha256, below)).ok()?;
    Some(harness.home.engines().join(format!("identity-{asked}")))
}

/// Runs the program with these arguments in a sandbox of its own; gives what it printed and
/// how it ended.
fn print(harness: &Harness, pieces: &Pieces, arguments: &[String], wall: Duration) -> Result<(String, Looked), String> {
    let (shown_places, mut argv) = pieces.command();
    argv.extend(arguments.iter().cloned());
    let work = Work::make_area(&harness.home, "identity");
    let work = work.map_err(|error| format!("there is no folder for its identity check: {error}"))?;
    let look = Look { argv, folder: work.path().to_owned(), shown: shown_places, contract: None, stdin: None, wall };
    let mut said = Vec::new();
    let mut on_line = |line: sandbox::Line<'_>| {
        if said.len() < LONGEST {
            said.extend_from_slice(line.bytes);
            said.push(b'\n');
        }
    };
    let looked = look_around(harness, &look, &AtomicBool::new(false), &mut on_line);
    let looked = looked.map_err(|error| format!("its identity check could not run: {error}"))?;
    Ok((String::from_utf8_lossy(&said).into_owned(), looked))
}

fn ask(harness: &Harness, pieces: &Pieces, check: &IdentityCheck) -> Result<String, String> {
    let (said, looked) = print(harness, pieces, &check.argv, WALL)?;
    let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    let first: String = show_controls(first).chars().take(120).collect();
    if looked.timed_out {
        return Err("its identity check did not end in time".to_owned());
    }
    if !check.accepts_output(&said) {
        let code = looked.exit.map_or_else(|| "did not start".to_owned(), |code| format!("exit {code}"));
        return Err(format!(
            "it is another program: asked `{}` it says `{first}` ({code}), not `{}`",
            check.argv.join(" "),
            check.expect
        ));
    }
    if looked.exit != Some(0) {
        return Err(format!("asked `{}` it fails with {}", check.argv.join(" "), looked.exit.unwrap_or(-1)));
    }
    Ok(said)
}

/// The version in what a program prints: the first word that begins with a digit.
pub(super) fn version_in(said: &str) -> Option<String> {
    let word = said
        .split_whitespace()
        .map(|word| word.trim_start_matches('v'))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))?;
    let kept = word.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+')).take(40);
    Some(kept.collect::<String>().trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_among_words() {
        for (said, version) in [
            ("codex-cli 0.166.0\n", Some("0.166.0")),
            ("2.1.325 (Claude Code)", Some("2.1.325")),
            ("aider v0.86.2.", Some("0.86.2")),
            ("pi - AI coding assistant", None),
            ("7 dwarfs", None),
        ] {
            assert_eq!(version_in(said).as_deref(), version, "{said}");
        }
    }
}
