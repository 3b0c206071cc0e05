//! The file behind an execution, found as the kernel will find it: by path, by descriptor,
//! by its first line, by a dynamic loader.
//!
//! A record and no permission: the program can put something else there before the kernel
//! looks.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;
use sandbox_facts::{ExecutedFile, FileKind};
use untrusted_fs::own_files;

use super::likeness::{Content, KnownPrograms, is_read_only};
use super::memory::cut_text;

const MEMORY: &str = "/memfd:";
const REMOVED: &str = " (deleted)";
/// Options of the dynamic loader that take the argument after them.
const LOADER_OPTIONS: [&str; 7] = [
    "--argv0",
    "--audit",
    "--glibc-hwcaps-mask",
    "--glibc-hwcaps-prepend",
    "--inhibit-rpath",
    "--library-path",
    "--preload",
];

/// Start of an execution's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathStart {
    /// The path is relative to the working directory.
    WorkingDirectory,
    /// The path is relative to this descriptor.
    Descriptor(i32),
}

/// A process that asks for an execution.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller {
    pub(super) pid: u32,
}

enum Found {
    File(OwnedFd),
    /// There is no file at the path.
    Absent,
    /// The path leads through a part of `/proc` that only the caller can follow.
    Elsewhere,
}

impl Caller {
    /// The directory that the process is in, from the root of the run.
    pub(super) fn directory(self) -> Option<String> {
        own_files::read_link(self.proc("cwd")).ok().map(|path| cut_text(&path.to_string_lossy()))
    }

    /// Describes the file that runs in the end; `None` if there is none.
    pub(super) fn executed_file(
        self,
        from: PathStart,
        path: &str,
        argv: &[String],
        known: &mut KnownPrograms,
    ) -> Option<ExecutedFile> {
        let (mut file, opened) = match self.find(from, path) {
            Found::File(opened) => (describe(&opened)?, opened),
            Found::Absent => return None,
            Found::Elsewhere => return Some(unknown(path)),
        };
        if let Some(loaded) = loaded_program(&file.path, argv) {
            return self.executed_file(PathStart::WorkingDirectory, loaded, &[], known).or(Some(file));
        }
        if file.kind == FileKind::Named && is_read_only(&opened) {
            return Some(file);
        }
        let content = Content::read_content(&opened)?;
        file.interpreter = content.head.as_deref().map(interpreter).unwrap_or_default();
        file.same_as = match file.interpreter.first() {
            Some(interpreter) => self.likeness(interpreter, known),
            None => self.root().and_then(|root| known.name_of(&root, &content)).map(str::to_owned),
        };
        Some(file)
    }

    /// The program that an interpreter is a copy of. One of the system needs no other name.
    fn likeness(self, interpreter: &str, known: &mut KnownPrograms) -> Option<String> {
        let Found::File(opened) = self.find(PathStart::WorkingDirectory, interpreter) else { return None };
        if is_read_only(&opened) {
            return None;
        }
        known.name_of(&self.root()?, &Content::read_content(&opened)?).map(str::to_owned)
    }

    fn find(self, from: PathStart, path: &str) -> Found {
        if let (true, PathStart::Descriptor(number)) = (path.is_empty(), from) {
            return self.held(&format!("fd/{number}"));
        }
        if let Some(held) = by_descriptor(path) {
            return self.held(&held);
        }
        let (Some(root), Some(place)) = (self.root(), self.place(from, path)) else { return Found::Absent };
        let Ok(place) = place.strip_prefix("/") else { return Found::Absent };
        let open = |more| openat2(root.as_fd(), place, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), more);
        match open(ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS) {
            Ok(file) => Found::File(file),
            Err(Errno::LOOP | Errno::AGAIN) => {
                open(ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS).map_or(Found::Elsewhere, Found::File)
            }
            Err(_) => Found::Absent,
        }
    }

    /// A path of the run, from its root.
    fn place(self, from: PathStart, path: &str) -> Option<PathBuf> {
        if path.starts_with('/') {
            return Some(PathBuf::from(path));
        }
        let start = match from {
            PathStart::WorkingDirectory => "cwd".to_owned(),
            PathStart::Descriptor(number) => format!("fd/{number}"),
        };
        own_files::read_link(self.proc(&start)).ok().map(|start| start.join(path))
    }

    /// Opens a link of the process in `/proc`, such as its executable.
    fn held(self, name: &str) -> Found {
        openat(CWD, self.proc(name), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_or(Found::Absent, Found::File)
    }

    fn root(self) -> Option<OwnedFd> {
        openat(CWD, self.proc("root"), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()
    }

    fn proc(self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.pid))
    }
}

fn unknown(path: &str) -> ExecutedFile {
    ExecutedFile { kind: FileKind::Unknown, path: cut_text(path), interpreter: Vec::new(), same_as: None }
}

fn describe(opened: &OwnedFd) -> Option<ExecutedFile> {
    let stat = fstat(opened).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let link = own_files::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).ok()?;
    let link = link.to_string_lossy();
    let kind = match stat.st_nlink {
        0 if link.starts_with(MEMORY) => FileKind::Memory,
        0 => FileKind::Removed,
        _ => FileKind::Named,
    };
    let path = if kind == FileKind::Named { &link } else { link.strip_suffix(REMOVED).unwrap_or(&link) };
    Some(ExecutedFile { kind, path: cut_text(path), interpreter: Vec::new(), same_as: None })
}

/// Name of the `/proc` entry, if the path means a descriptor of its user or the file that
/// it runs.
fn by_descriptor(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let number = |text: &str| text.parse::<u32>().ok();
    match parts.as_slice() {
        ["proc", "self" | "thread-self", "exe"] => Some("exe".to_owned()),
        ["proc", "self" | "thread-self", "fd", one] | ["dev", "fd", one] => {
            number(one).map(|number| format!("fd/{number}"))
        }
        ["dev", "stdin"] => Some("fd/0".to_owned()),
        _ => None,
    }
}

/// The interpreter that a script's first line names, and its one argument.
fn interpreter(head: &[u8]) -> Vec<String> {
    let Some(line) = head.strip_prefix(b"#!").and_then(|rest| rest.split(|byte| matches!(byte, b'\n' | 0)).next())
    else {
        return Vec::new();
    };
    let line = String::from_utf8_lossy(line);
    let mut words = line.trim().splitn(2, [' ', '\t']).map(|word| cut_text(word.trim()));
    words.by_ref().filter(|word| !word.is_empty()).collect()
}

/// Program that a dynamic loader loads.
fn loaded_program<'a>(path: &str, argv: &'a [String]) -> Option<&'a str> {
    let name = Path::new(path).file_name()?.to_str()?;
    if !(name.starts_with("ld-") && name.contains(".so") || name == "ld.so") {
        return None;
    }
    let mut given = argv.iter().skip(1);
    while let Some(argument) = given.next() {
        if LOADER_OPTIONS.contains(&argument.as_str()) {
            given.next();
        } else if !argument.starts_with('-') {
            return Some(argument);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_mean_descriptors_are_told() {
        for (path, expected) in [
            ("/proc/self/fd/3", Some("fd/3")),
            ("//proc/./thread-self/fd/3", Some("fd/3")),
            ("/dev/fd/10", Some("fd/10")),
            ("/dev/stdin", Some("fd/0")),
            ("/proc/self/exe", Some("exe")),
            ("/proc/self/fd/x", None),
            ("/proc/12/fd/3", None),
            ("/usr/bin/git", None),
            ("", None),
        ] {
            assert_eq!(by_descriptor(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn first_lines_and_loaders_are_read() {
        for (head, expected) in [
            ("#!/usr/bin/git push\nrest", &["/usr/bin/git", "push"][..]),
            ("#! /usr/bin/env -S git push\n", &["/usr/bin/env", "-S git push"]),
            ("#!/bin/sh", &["/bin/sh"]),
            ("#!\n", &[]),
            ("\x7fELF", &[]),
        ] {
            assert_eq!(interpreter(head.as_bytes()), expected, "{head}");
        }
        let argv = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (path, line, expected) in [
            ("/usr/lib64/ld-linux-x86-64.so.2", "ld ./g push", Some("./g")),
            ("/lib/ld-musl-x86_64.so.1", "ld --library-path /a --inhibit-cache ./g push", Some("./g")),
            ("/lib64/ld-linux-x86-64.so.2", "ld --list", None),
            ("/usr/bin/ld", "ld ./g", None),
        ] {
            assert_eq!(loaded_program(path, &argv(line)), expected, "{line}");
        }
    }
}
