//! `cto config`: every effective setting and where it came from.

use crate::context::Context;
use crate::error::CommandError;

/// Prints every setting with its source.
pub(crate) fn config(context: &Context) -> Result<u8, CommandError> {
    let output = context.output;
    if output.json {
        output.print_json(&context.config.settings)?;
        return Ok(0);
    }
    for setting in &context.config.settings {
        let value = contract::text::show_controls(&setting.value);
        if output.terminal {
            output.print(&format!("{:<10}  {value:<40}  {}\n", setting.name, output.paint.dim(&setting.source)));
        } else {
            output.print(&format!("{} {value} {}\n", setting.name, setting.source));
        }
    }
    Ok(0)
}
