//! `cto explain`: a reason code in words.

use contract::{Reason, Status};
use serde_json::json;

use crate::error::CommandError;
use crate::nearest::nearest;
use crate::output::Output;

/// Explains one reason, or lists all.
pub(crate) fn explain(output: Output, code: Option<&str>) -> Result<u8, CommandError> {
    let Some(code) = code else { return list(output) };
    let Some(reason) = Reason::from_code(code) else { return Err(unknown(code)) };
    let status = status_text(reason);
    if output.json {
        output.print_json(&document(reason))?;
    } else {
        let text = format!(
            "{reason}: {}\n\n  status  {status}\n  event   {}\n  remedy  {}\n",
            reason.sentence(),
            reason.event(),
            reason.remedy()
        );
        output.print(&text);
    }
    Ok(0)
}

fn list(output: Output) -> Result<u8, CommandError> {
    if output.json {
        output.print_json(&Reason::ALL.iter().map(|reason| document(*reason)).collect::<Vec<_>>())?;
    } else {
        output.print(
            &Reason::ALL
                .iter()
                .map(|reason| format!("{reason:<36} {:<8} {}\n", status_text(*reason), reason.sentence()))
                .collect::<String>(),
        );
    }
    Ok(0)
}

fn document(reason: Reason) -> serde_json::Value {
    json!({"event": reason.event(), "reason": reason, "remedy": reason.remedy(), "sentence": reason.sentence(), "status": status_text(reason)})
}

/// `harness_interrupted` is either, depending on whether the engine had started.
fn status_text(reason: Reason) -> &'static str {
    match (reason.status_of(false), reason.status_of(true)) {
        (Status::Blocked, Status::Fail) => "either",
        (status, _) => status.as_str(),
    }
}

fn unknown(code: &str) -> CommandError {
    let (meant, hint) = match nearest(code, Reason::ALL.iter().map(|reason| reason.code())) {
        Some(known) => {
            (format!("; did you mean `{known}`?"), format!("cto explain {known}     cto explain lists them all"))
        }
        None => (String::new(), "cto explain     lists them all".to_owned()),
    };
    CommandError::usage(format!("`{}` is not a reason{meant}", contract::text::show_controls(code))).hint(hint)
}
