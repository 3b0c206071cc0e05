//! The binary under test as a test starts it. Everything that it prints to its end is searched for claims; what a test reads piece by piece
//! it has to hand in itself.

use std::ffi::OsStr;
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};

use crate::claims::{search_printed, search_shared_worlds};

/// A command whose output is searched. It has the builders of [`Command`] that tests use, so that a chain of them ends here.
#[derive(Debug)]
pub struct CtoCommand {
    command: Command,
    /// True in a world that is never dropped, whose files are searched after each command.
    in_shared_world: bool,
    /// True if the test has said where its output goes.
    is_redirected: bool,
}

impl CtoCommand {
    /// Wraps a command of `cto`.
    pub(crate) fn new(command: Command, in_shared_world: bool) -> Self {
        Self { command, in_shared_world, is_redirected: false }
    }

    /// Returns the plain command.
    pub(crate) fn into_command(self) -> Command {
        self.command
    }

    /// Adds an argument.
    pub fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = S>) -> &mut Self {
        self.command.args(args);
        self
    }

    /// Sets a variable.
    pub fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.command.env(name, value);
        self
    }

    /// Sets variables.
    pub fn envs<K: AsRef<OsStr>, V: AsRef<OsStr>>(&mut self, all: impl IntoIterator<Item = (K, V)>) -> &mut Self {
        self.command.envs(all);
        self
    }

    /// Removes a variable.
    pub fn env_remove(&mut self, name: impl AsRef<OsStr>) -> &mut Self {
        self.command.env_remove(name);
        self
    }

    /// Removes all variables.
    pub fn env_clear(&mut self) -> &mut Self {
        self.command.env_clear();
        self
    }

    /// Sets the working directory.
    pub fn current_dir(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.command.current_dir(folder);
        self
    }

    /// Sets the source of stdin.
    pub fn stdin(&mut self, from: impl Into<Stdio>) -> &mut Self {
        self.command.stdin(from);
        self
    }

    /// Sets the destination of stdout.
    pub fn stdout(&mut self, to: impl Into<Stdio>) -> &mut Self {
        self.command.stdout(to);
        self.is_redirected = true;
        self
    }

    /// Sets the destination of stderr.
    pub fn stderr(&mut self, to: impl Into<Stdio>) -> &mut Self {
        self.command.stderr(to);
        self.is_redirected = true;
        self
    }

    /// Runs it to its end.
    pub fn output(&mut self) -> io::Result<Output> {
        let output = self.command.output()?;
        search_printed(&output.stdout, &output.stderr);
        if self.in_shared_world {
            search_shared_worlds();
        }
        Ok(output)
    }

    /// Runs it to its end for its exit code alone. What it prints is searched too, unless the test has it elsewhere.
    pub fn status(&mut self) -> io::Result<ExitStatus> {
        if self.is_redirected { self.command.status() } else { Ok(self.output()?.status) }
    }
}

impl Deref for CtoCommand {
    type Target = Command;

    fn deref(&self) -> &Command {
        &self.command
    }
}

impl DerefMut for CtoCommand {
    fn deref_mut(&mut self) -> &mut Command {
        &mut self.command
    }
}
