//! Parts of a draft that make a sandbox show programs and folders of the machine.

use std::path::Path;

use super::draft::EnvironmentDraft;
use crate::machine::{FoundProgram, Machine, Toolchain, is_system, path_text};

impl EnvironmentDraft {
    /// Adds what a toolchain's program needs, or a note why it cannot be had.
    pub(super) fn show_toolchain(&mut self, machine: &Machine<'_>, toolchain: &Toolchain) -> Option<FoundProgram> {
        let found = machine.find_program(toolchain);
        match &found {
            Some(found) => self.show_program(toolchain.name, found),
            None => self.add_note(machine.missing(toolchain)),
        }
        found
    }

    /// Adds the mount and the search path that a program needs to be found in a sandbox.
    pub(super) fn show_program(&mut self, name: &str, found: &FoundProgram) {
        if let Some((source, target)) = &found.mount {
            self.mount(source, target, format!("{name} lies where a sandbox does not look"));
        }
        if let Some(path) = &found.path {
            self.add_path(path, format!("so that {name} is found"));
        }
    }

    /// Mounts a folder unless every sandbox shows it; gives its path inside.
    pub(super) fn show_folder(&mut self, folder: &Path, target: &str, why: &str) -> Option<String> {
        if is_system(folder) {
            return path_text(folder);
        }
        self.mount(&path_text(folder)?, target, why);
        Some(target.to_owned())
    }
}
