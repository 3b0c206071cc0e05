//! `cto completions` and `cto man`.

use std::path::Path;

use clap::CommandFactory as _;

use crate::args::Cli;
use crate::error::CommandError;
use crate::output::Output;

/// Prints the completion script of a shell.
pub(crate) fn completions(output: Output, shell: clap_complete::Shell) -> Result<u8, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "cto", &mut script);
    script.extend_from_slice(super::complete::asking_lines(shell).as_bytes());
    output.print_bytes(&script);
    Ok(0)
}

/// Prints the manual page, or writes all of them into a folder.
pub(crate) fn man(output: Output, out: Option<&Path>) -> Result<u8, CommandError> {
    if let Some(dir) = out {
        std::fs::create_dir_all(dir)?;
        clap_mangen::generate_to(Cli::command(), dir)?;
        output.print_note(&format!("manual pages are in {}\n", dir.display()));
        return Ok(0);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    output.print_bytes(&page);
    Ok(0)
}
