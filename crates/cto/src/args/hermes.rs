//! Arguments of `hermes`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Commands of `cto hermes`.
#[derive(Debug, Subcommand)]
pub(crate) enum HermesCommand {
    /// Ask a console for its summary and the two files of the panel; without --url a temporary one
    #[command(after_help = "\
Status 200, 302 and 401 count as an answer, because a console that demands a login gives no page.

Examples:
  cto hermes smoke
  cto hermes smoke --url http://127.0.0.1:4170 --json

Exit codes: 0 every route answered, 1 one did not, 2 wrong usage.")]
    Smoke {
        /// Address of a console on this machine
        #[arg(long, value_name = "URL")]
        url: Option<String>,
    },
    /// Put the panel into the extension folder of a hermes-webui
    #[command(after_help = "\
An existing manifest keeps its other extensions as they are, byte for byte. The panel asks `cto serve --sidecar \
ADDRESS`.

Examples:
  cto hermes install --dir ~/webui-extensions
  cto hermes install --dir ~/webui-extensions \\
      --manifest bundle/manifest.json --sidecar http://127.0.0.1:4171

Exit codes: 0 installed, 2 wrong usage, 3 a manifest or file that is not ours stands in the way.")]
    Install {
        #[command(flatten)]
        place: PanelPlace,
        /// Origin of the sidecar
        #[arg(long, value_name = "ORIGIN", default_value = "http://127.0.0.1:4171")]
        sidecar: String,
    },
    /// Remove the panel, and nothing else
    Uninstall {
        #[command(flatten)]
        place: PanelPlace,
    },
    /// Check that the panel is installed, current and answered
    Status {
        #[command(flatten)]
        place: PanelPlace,
    },
}

/// Folder and manifest of another host's extensions.
#[derive(Debug, Args)]
pub(crate) struct PanelPlace {
    /// Folder that HERMES_WEBUI_EXTENSION_DIR names
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Manifest below it, as HERMES_WEBUI_EXTENSION_MANIFEST names it
    #[arg(long, value_name = "PATH", default_value = "cto-panel/manifest.json")]
    pub(crate) manifest: PathBuf,
}
