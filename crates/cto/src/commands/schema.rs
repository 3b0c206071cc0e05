//! `cto schema`: the published JSON Schemas.

use contract::schema::{PUBLISHED, Published, published};

use crate::error::CommandError;
use crate::output::Output;

/// The description of the console's interface, which has schemas and is none.
const OPEN_API: &str = "openapi";

/// All of them: the nouns', the harness's and the program's own.
fn all() -> Vec<Published> {
    let mut all = PUBLISHED.to_vec();
    all.push(published::<contract::sandbox::SandboxDocument>("sandbox", "sandbox.json"));
    all.push(published::<harness::ArchiveManifest>("archive", "archive.json: the first file of an archive of a run"));
    all.push(published::<harness::Halt>("halt", "halt.json: the kill switch while it is set"));
    all.push(published::<harness::Matrix>("matrix", "matrix.json"));
    all.push(published::<views::LaneComparison>("comparison", "comparison.json: runs side by side"));
    all.push(published::<views::ControlSummary>("control-summary", "webui-summary.json: the control summary"));
    all.push(published::<harness::Repetition>("repeat", "repeat.json: one task again and again"));
    all.push(published::<cortex::CompromisedKeys>("compromised-keys", "trust/compromised.json of the home"));
    all.push(published::<crate::config::ConfigFile>("config", "config.yaml and a workspace's harness.yaml"));
    all.push(published::<workboard::RuleFile>(
        "rules",
        "rules/*.yaml of a workspace: sentences that are forbidden or demanded",
    ));
    all.push(published::<workboard::BoardFile>("workboard", "WORKBOARD.yaml"));
    all.push(published::<workboard::FrontMatterFile>("front-matter", "the front matter of a planning document"));
    all.push(published::<super::validate_workspace::WorkspaceValidation>(
        "workspace-validation",
        "`cto validate workspace --json`",
    ));
    all.push(published::<harness::PackManifest>("pack", "pack.json: the first file of a pack"));
    all.push(published::<super::pack::PackedDocument>("packed", "`cto pack --json`"));
    all.push(published::<super::pack::UnpackedDocument>("unpacked", "`cto unpack --json`"));
    all.push(published::<Vec<super::records::RecordDocument>>("records", "`cto records --json`"));
    all.push(published::<super::packet::PacketDocument>("packet", "`cto packet --json`"));
    all.push(published::<views::RequestPage>("approvals", "`cto approvals --json`"));
    all.sort_by_key(|schema| schema.name);
    all
}

/// The schema with the name by which editors and other schemas refer to it.
fn identified(schema: &Published) -> serde_json::Value {
    let mut document = serde_json::Map::new();
    document.insert("$id".to_owned(), format!("urn:cto:schema:{}", schema.name).into());
    if let serde_json::Value::Object(members) = schema.schema() {
        document.extend(members);
    }
    document.into()
}

/// Prints one schema, or lists all.
pub(crate) fn schema(output: Output, name: Option<&str>) -> Result<u8, CommandError> {
    let all = all();
    let Some(name) = name else {
        let line = |schema: &Published| {
            if output.terminal {
                format!("{:<22} {}\n", schema.name, schema.about)
            } else {
                format!("{}\n", schema.name)
            }
        };
        if output.json {
            output.print_json(&all.iter().map(|schema| schema.name).collect::<Vec<_>>())?;
        } else {
            output.print(&all.iter().map(line).collect::<String>());
        }
        return Ok(0);
    };
    if name == OPEN_API {
        let text = serde_json::to_string_pretty(&hermes::describe_interface())?;
        output.print(&format!("{text}\n"));
        return Ok(0);
    }
    let Some(schema) = all.iter().find(|schema| schema.name == name) else {
        let known: Vec<&str> = all.iter().map(|schema| schema.name).collect();
        let meant = crate::nearest::did_you_mean(name, known.iter().map(|name| &**name));
        return Err(CommandError::usage(format!(
            "there is no schema `{}`{meant}",
            contract::text::show_controls(name)
        ))
        .hint(format!("one of: {}", known.join(", "))));
    };
    let mut text = serde_json::to_string_pretty(&identified(schema))?;
    text.push('\n');
    output.print(&text);
    Ok(0)
}
