//! `cto schema`: the published JSON Schemas.

use contract::schema::{PUBLISHED, Published, published};

use crate::error::CommandError;
use crate::output::Output;

/// All of them: the nouns', the harness's and the program's own.
fn all() -> Vec<Published> {
    let mut all = PUBLISHED.to_vec();
    all.push(published::<contract::sandbox::SandboxDocument>("sandbox", "sandbox.json"));
    all.push(published::<harness::Manifest>("archive", "archive.json: the first file of an archive of a run"));
    all.push(published::<harness::Halt>("halt", "halt.json: the kill switch while it is set"));
    all.push(published::<harness::Matrix>("matrix", "matrix.json"));
    all.push(published::<views::LaneComparison>("comparison", "comparison.json: runs side by side"));
    all.push(published::<views::ControlSummary>("control-summary", "webui-summary.json: the control summary"));
    all.push(published::<harness::Repetition>("repeat", "repeat.json: one task again and again"));
    all.push(published::<cortex::CompromisedKeys>("compromised-keys", "trust/compromised.json of the home"));
    all.push(published::<crate::config::ConfigFile>("config", "config.yaml and a workspace's harness.yaml"));
    all.sort_by_key(|schema| schema.name);
    all
}

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
    let Some(schema) = all.iter().find(|schema| schema.name == name) else {
        let known: Vec<&str> = all.iter().map(|schema| schema.name).collect();
        return Err(CommandError::usage(format!("there is no schema `{}`", contract::text::shown(name)))
            .hint(format!("one of: {}", known.join(", "))));
    };
    let mut text = serde_json::to_string_pretty(&schema.schema())?;
    text.push('\n');
    output.print(&text);
    Ok(0)
}
