//! Arguments of `hermes`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum HermesCommand {
    /// Ask a console for its summary and the two files of the panel; without --url a temporary one
    #[command(after_help = "\
An answer of 200, 302 or 401 is accepted: a console without a login shows nothing and still answers.

Examples:
  cto hermes smoke
  cto hermes smoke --url http://127.0.0.1:4170 --json

Exit codes: 0 every route answered, 1 one did not, 2 wrong usage.")]
    Smoke {
        /// Address of a console on this machine
        #[arg(long, value_name = "URL")]
        url: Option<String>,
    },
}
