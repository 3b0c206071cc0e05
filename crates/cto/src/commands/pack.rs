//! `cto pack` and `cto unpack`: a workspace with its ledger and bundles, moved to another
//! machine.

use std::path::{Path, PathBuf};

use contract::text::show_controls;
use harness::{Home, PackError, SenderTrust};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::UnpackArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::bytes;
use crate::seek::trusted;
use crate::workspace_scene::workspace_root;

/// Output of `cto pack --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Packed")]
pub(crate) struct PackedDocument {
    /// Bytes of the pack.
    archive_bytes: u64,
    /// Bytes of all files in it.
    bytes: u64,
    file: String,
    files: usize,
}

/// Output of `cto unpack --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Unpacked")]
pub(crate) struct UnpackedDocument {
    /// Bundles that verified.
    bundles: usize,
    files: usize,
    ledger_id: Option<String>,
    /// Key that signed the pack.
    signer: String,
    workspace: String,
}

/// Writes the workspace, its ledger and its bundles as one pack.
pub(crate) fn pack_workspace(context: &Context, to: Option<&Path>) -> Result<u8, CommandError> {
    let root = workspace_root(context)?;
    // Runs that were interrupted are sealed first, so that the pack holds whole bundles alone.
    context.recover_interrupted()?;
    let home = Home::existing(&context.config.place())?;
    let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let to = to.map_or_else(|| PathBuf::from(format!("{name}.cto-pack.tar.zst")), Path::to_owned);
    let packed = harness::write_pack(&home, &root, &to).map_err(|error| match error {
        PackError::DoesNotVerify(..) => CommandError::fail(error).hint("cto ledger verify"),
        error => refused(error),
    })?;
    let output = context.output;
    if output.json {
        output.print_json(&PackedDocument {
            archive_bytes: packed.archive_bytes,
            bytes: packed.bytes,
            file: packed.path.display().to_string(),
            files: packed.files,
        })?;
    } else {
        let path = show_controls(&packed.path.display().to_string());
        output.print(&format!("packed {path} {} files, {}\n", packed.files, bytes(packed.archive_bytes)));
    }
    Ok(0)
}

/// Unpacks a workspace from a sender whose key was given.
pub(crate) fn unpack_workspace(context: &Context, arguments: &UnpackArgs) -> Result<u8, CommandError> {
    let keys = trusted(context, &arguments.key)?.keys;
    let dir = std::path::absolute(&arguments.dir)?;
    let trust = if arguments.trust_sender { SenderTrust::Given(super::records::now()?) } else { SenderTrust::Ask };
    let unpacked =
        harness::unpack_pack(&arguments.file, &context.config.place(), &dir, &keys, trust).map_err(refused)?;
    let full = std::fs::canonicalize(&dir)?;
    super::trust::trust_workspace(context, &full)?;
    let output = context.output;
    if output.json {
        output.print_json(&UnpackedDocument {
            bundles: unpacked.bundles,
            files: unpacked.files,
            ledger_id: unpacked.ledger_id,
            signer: unpacked.signer,
            workspace: full.display().to_string(),
        })?;
    } else {
        let (files, bundles) = (unpacked.files, unpacked.bundles);
        output.print(&format!(
            "unpacked {} {files} files, {bundles} bundles verified\n",
            show_controls(&full.display().to_string())
        ));
        output.print(&format!(
            "{}  {}\n",
            output.paint.dim("next"),
            output.paint.command("cto ledger continue --reason \"moved to this machine\"")
        ));
    }
    Ok(0)
}

fn refused(error: PackError) -> CommandError {
    match &error {
        PackError::Read(..)
        | PackError::Write(..)
        | PackError::Encode(_)
        | PackError::Failed(_)
        | PackError::Home(_) => CommandError::blocked_with(error).hint("cto doctor"),
        PackError::Trust(_) => CommandError::blocked_with(error).hint("cto doctor"),
        PackError::SenderNotTrusted { .. } => CommandError::blocked_with(error)
            .hint("compare the key with the sender, then the same command with --trust-sender"),
        PackError::HomeIsWorkspace(_) => {
            CommandError::blocked_with(error).hint("keep the home outside of the workspace: --home DIR or CTO_HOME")
        }
        PackError::Unfit { .. } => CommandError::blocked_with(error).hint("move it out of the workspace"),
        PackError::NotAPack(..) => CommandError::usage(error).hint("give a file that `cto pack` wrote"),
        PackError::Occupied(_) => CommandError::usage(error).hint("name a place where nothing is"),
        PackError::OtherKey => {
            CommandError::fail(error).hint("ask the sender for the output of `cto key show`, over another channel")
        }
        PackError::Refused { .. } | PackError::DoesNotVerify(..) => {
            CommandError::fail(error).hint("ask the sender to pack again")
        }
    }
}
