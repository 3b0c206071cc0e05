//! `cto serve`: the console. Looking changes nothing; no page starts a run.

mod board;
mod home_source;
mod links;
mod log_window;
mod marks;
mod overview;
mod patch_lines;
mod queue_facts;
mod refusals;
mod requests;
mod run_facts;
mod sealed_size;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contract::text::show_controls;
use hermes::{Console, ConsoleSettings, ConsoleSource, ServeConsoleError, ServerTls, SessionPolicy, Sidecar};
use serde_json::json;

use crate::args::ServeArgs;
use crate::config::HermesSettings;
use crate::context::Context;
use crate::error::CommandError;
pub(crate) use home_source::HomeSource;
use links::LoginLinks;
pub(crate) use run_facts::gather_run;

/// Serves the console until a signal.
pub(crate) fn serve_console(context: Context, arguments: &ServeArgs) -> Result<u8, CommandError> {
    let output = context.output;
    let cancel = Arc::clone(&context.cancel);
    let settings = settings_of(&context, arguments)?;
    let source = Arc::new(HomeSource::new(context));
    let sidecar =
        arguments.sidecar.map(|listen| Sidecar::bind_listener(listen, Arc::clone(&source) as Arc<dyn ConsoleSource>));
    let sidecar = sidecar.transpose()?;
    let console = Console::bind_listener(&settings, source)?;
    let links = LoginLinks::new(&console, arguments.read_only);
    let made = links.make()?;
    if output.json {
        output.print_json(&json!({
            "address": console.origin(), "login": made.first, "login_read_only": made.read_only,
            "role": links.role().as_str(), "runtime_default_activation": false,
            "sidecar": sidecar.as_ref().map(Sidecar::origin),
        }))?;
    } else {
        let open = settings.sessions.open_read_only;
        let read = if open { "pages can be read without a login" } else { "nothing is shown without a login" };
        output.print(&format!("serving {}\n{}", console.origin(), made.text()));
        if let Some(sidecar) = &sidecar {
            output.print(&format!("sidecar {}\n", sidecar.origin()));
        }
        output.print_note(&format!("each link logs in once; {read}; Ctrl-C ends the server\n"));
    }
    if arguments.open {
        open_browser(&made.first).map_err(|error| {
            CommandError::blocked_with(format!("no browser could be opened: {error}"))
                .hint(format!("open {}", show_controls(&made.first)))
        })?;
    }
    links.make_more_on_enter(output, &cancel);
    run_both(console, sidecar, &cancel)?;
    Ok(0)
}

/// Serves both until the first of them ends, or a signal ends them.
fn run_both(console: Console, sidecar: Option<Sidecar>, cancel: &AtomicBool) -> Result<(), ServeConsoleError> {
    std::thread::scope(|scope| {
        let beside = sidecar.map(|sidecar| scope.spawn(move || sidecar.serve_until(cancel)));
        let done = console.serve_until(cancel);
        cancel.store(true, Ordering::Relaxed);
        let beside = beside.map_or(Ok(()), |thread| thread.join().unwrap_or(Ok(())));
        done.and(beside)
    })
}

fn settings_of(context: &Context, arguments: &ServeArgs) -> Result<ConsoleSettings, CommandError> {
    let tls = match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificate), Some(key)) => Some(ServerTls { certificate: certificate.clone(), key: key.clone() }),
        (None, None) => None,
        _ => {
            return Err(CommandError::usage("a certificate needs its key, and a key its certificate")
                .hint("--tls-cert FILE --tls-key FILE"));
        }
    };
    let HermesSettings { open_read_only, session, .. } = context.config.hermes;
    let sessions = SessionPolicy { open_read_only, session, ..SessionPolicy::default() };
    Ok(ConsoleSettings { listen: arguments.listen, names: arguments.name.clone(), sessions, tls })
}

/// Opens the operator's own browser, as asked.
#[expect(clippy::disallowed_methods, reason = "the operator's own program, run for the operator, outside every run")]
fn open_browser(address: &str) -> std::io::Result<()> {
    use std::process::{Command, Stdio};
    let mut child = Command::new("xdg-open")
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    child.wait().map(drop)
}

impl From<ServeConsoleError> for CommandError {
    fn from(error: ServeConsoleError) -> Self {
        let hint = match &error {
            ServeConsoleError::NeedsTls(_) => "--listen 127.0.0.1:4170, or --tls-cert FILE --tls-key FILE",
            ServeConsoleError::SidecarBeyondLoopback(_) => "--sidecar 127.0.0.1:4171",
            ServeConsoleError::NeedsLogin(_) => "take `hermes.open_read_only` out of config.yaml",
            ServeConsoleError::Listen(..) => "--listen 127.0.0.1:0 takes any port that is free",
            ServeConsoleError::Tls(_) => "both files in PEM, the chain first",
            ServeConsoleError::Randomness | ServeConsoleError::Start(_) => "cto doctor",
        };
        match &error {
            ServeConsoleError::NeedsTls(_)
            | ServeConsoleError::NeedsLogin(_)
            | ServeConsoleError::SidecarBeyondLoopback(_)
            | ServeConsoleError::Tls(_) => Self::usage(&error).hint(hint),
            _ => Self::blocked_with(&error).hint(hint),
        }
    }
}
