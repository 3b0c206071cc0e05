//! `cto key init|show`.

use std::path::Path;
use std::process::Command;

use cortex::PersonSigners;
use evidence::PublicKey;
use evidence::signer_key::SignerKey;
use harness::Home;
use serde_json::json;

use crate::args::KeyCommand;
use crate::context::Context;
use crate::error::CommandError;

/// Makes missing keys, or prints the public ones.
pub(crate) fn key(context: &Context, command: &KeyCommand) -> Result<u8, CommandError> {
    let home = match command {
        KeyCommand::Init => {
            let home = Home::create_folders(&context.config.place())?;
            home.harness_key()?;
            if !home.operator_key_path().exists() {
                make_operator_key(&home.operator_key_path())?;
            }
            home
        }
        KeyCommand::Show => Home::existing(&context.config.place())?,
    };
    show(context, &home)
}

fn show(context: &Context, home: &Home) -> Result<u8, CommandError> {
    let output = context.output;
    let rows = [
        ("harness", home.harness_key_path().with_extension("pub")),
        ("operator", home.operator_key_path().with_extension("pub")),
    ];
    let mut documents = Vec::new();
    let mut text = String::new();
    for (name, path) in rows {
        let shown = contract::text::show_controls(&path.display().to_string());
        match PublicKey::read_file(&path) {
            Ok(key) => {
                documents.push(json!({"key_id": key.key_id(), "name": name, "path": path.display().to_string()}));
                text.push_str(&format!("{name:<9} {}  {shown}\n", key.key_id()));
            }
            Err(_) if !path.exists() => {
                documents.push(json!({"key_id": null, "name": name, "path": path.display().to_string()}));
                text.push_str(&format!("{name:<9} none yet; cto key init\n"));
            }
            Err(error) => return Err(CommandError::fail(error)),
        }
    }
    if output.json {
        output.print_json(&documents)?
    } else {
        output.print(&text);
        if let Some(next) = trust_step(context, home) {
            output.print(&format!("{}  {}\n", output.paint.dim("next"), output.paint.command(&next)));
        }
    }
    Ok(0)
}

/// The command that lets the operator's key sign, where nothing lets it yet.
fn trust_step(context: &Context, home: &Home) -> Option<String> {
    let path = home.operator_key_path().with_extension("pub");
    let line = std::fs::read_to_string(&path).ok()?;
    let key = SignerKey::parse_line(&line).ok()?;
    let listed = PersonSigners::read_lists(&context.config.records).ok()?.name_of(&key).is_some();
    let file = contract::text::show_controls(&path.display().to_string());
    (!listed).then(|| format!("cto trust key add {file} --name operator     lets it approve"))
}

/// The operator's key is made by ssh-keygen, so that agents, passphrases and hardware keys
/// work the usual way.
#[expect(clippy::disallowed_methods, reason = "the operator's own program, run for the operator, outside every run")]
pub(super) fn make_operator_key(path: &Path) -> Result<(), CommandError> {
    let missing = |error| {
        CommandError::blocked_with(format!("ssh-keygen cannot be run: {error}")).hint("install the OpenSSH client")
    };
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "cto-operator", "-f"])
        .arg(path)
        .output()
        .map_err(missing)?;
    if made.status.success() {
        return Ok(());
    }
    Err(CommandError::blocked_with(format!("ssh-keygen failed: {}", String::from_utf8_lossy(&made.stderr).trim())))
}
