//! One file a command. Each takes the context and its arguments and gives an exit code or an error.

mod admit;
mod approvals;
mod approve;
mod approve_first;
mod attach;
mod audit;
mod bridge;
mod cancel;
mod candidate;
mod case;
mod compare;
mod complete;
mod config;
pub(crate) mod continued;
mod decide;
mod demo;
mod deny;
mod diff;
mod doctor;
mod drain;
mod engine;
mod environment;
mod environment_try;
mod explain;
mod export;
mod gc;
mod guard;
mod halt;
mod health;
mod hermes;
mod hold;
mod import;
mod init;
mod key;
mod ladder;
mod ledger;
mod logs;
mod matrix;
pub(crate) mod new;
mod outcome;
mod pack;
mod packet;
mod plumbing;
mod promotion;
mod queue;
mod race;
mod record;
mod records;
mod recover;
mod refresh;
mod repeat;
mod replay;
mod request;
mod resolved;
mod reverify;
mod rollback;
mod run;
mod runs;
mod sandbox;
mod scan;
mod schema;
mod sentence;
mod serve;
mod setup;
mod show;
mod stage_checks;
mod status;
mod stop;
mod submit;
mod summary;
mod take;
mod top;
mod trust;
mod validate;
mod validate_workspace;
mod verify;
mod watch;
mod work;
mod worker;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser as _;
use clap::error::ErrorKind as ClapError;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::args::{
    AttachArgs, CancelArgs, Cli, Command, CompareArgs, DiffArgs, ExportArgs, GcArgs, GuardArgs, HaltArgs, ImportArgs,
    PackArgs, PacketArgs, ReplayArgs, ReverifyArgs, SandboxArgs, ScanArgs, ShowArgs, StopArgs, VerifyArgs, WatchArgs,
};
use crate::config::Config;
use crate::context::Context;
use crate::error::{CommandError, INTERRUPTED};
use crate::output::Output;

/// Parses, resolves, runs, and prints an error once.
pub(crate) fn main(arguments: Vec<OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return unparsed(&error, &arguments),
    };
    let output = crate::config::output_form(&cli.global);
    match dispatch(cli, output) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output.error(&error);
            ExitCode::from(error.kind.exit_code())
        }
    }
}

/// Help that was asked for, or a command line that cannot be read; `--json` holds for the latter too.
fn unparsed(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    if matches!(error.kind(), ClapError::DisplayHelp | ClapError::DisplayVersion) {
        // A reader that went away is not an error of ours.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    // The message repeats what was typed, and what was typed may come from a file name.
    let text = contract::text::shown_lines(&error.render().to_string());
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    let refused = CommandError::unparsed(error);
    if arguments.iter().any(|argument| argument == "--json") {
        crate::output::print_error_document(&refused);
    }
    ExitCode::from(refused.kind.exit_code())
}

fn dispatch(cli: Cli, output: Output) -> Result<u8, CommandError> {
    let context = || -> Result<Context, CommandError> {
        Ok(Context { output, config: Config::resolve_layers(&cli.global)?, cancel: on_signals()? })
    };
    match cli.command {
        Command::Demo(arguments) => demo::demo(&context()?, &arguments),
        Command::Init { dir } => init::init(&context()?, &dir),
        Command::Setup(arguments) => setup::setup_engine(&context, &arguments),
        Command::Health(arguments) => health::health(&context()?, &arguments),
        Command::Validate(command) => validate::validate(&context()?, &command),
        Command::Doctor { paths, fleet } => doctor::doctor(&context()?, paths, fleet),
        Command::Sandbox(SandboxArgs { dir, contract, timeout, argv }) => {
            sandbox::sandbox(&context()?, &argv, &dir, contract.as_deref(), timeout)
        }
        Command::New(arguments) => new::new(&context()?, &arguments),
        Command::Decide(asked) => decide::decide_task(&context()?, &asked),
        Command::Run(arguments) => run::run_task(&context()?, &arguments),
        Command::Request(arguments) => request::request_approval(&context()?, &arguments),
        Command::Packet(PacketArgs { request, markdown }) if request == "promotion" => {
            promotion::show_promotion(&context()?, markdown)
        }
        Command::Packet(PacketArgs { request, .. }) => packet::show_packet(&context()?, &request),
        Command::Approve(arguments) => approve::approve_request(&context()?, &arguments),
        Command::Deny(arguments) => deny::deny_request(&context()?, &arguments),
        Command::Hold(arguments) => hold::record_hold(&context()?, &arguments),
        Command::Revoke(arguments) => deny::revoke(&context()?, &arguments),
        Command::Approvals(arguments) => approvals::approvals(&context()?, &arguments),
        Command::Matrix(arguments) => matrix::matrix(&context()?, &arguments),
        Command::Race(arguments) => race::race(&context()?, &arguments),
        Command::Repeat(arguments) => repeat::repeat(&context()?, &arguments),
        Command::Compare(CompareArgs { candidate: Some(engine), model, .. }) => {
            candidate::compare_engine(&context()?, &engine, model.as_ref())
        }
        Command::Compare(CompareArgs { runs, .. }) => compare::compare_runs(&context()?, &runs),
        Command::Take(arguments) => take::take_patch(&context()?, &arguments),
        Command::Outcome(arguments) => outcome::outcome(&context()?, &arguments),
        Command::Rollback(arguments) => rollback::rollback(&context()?, &arguments),
        Command::Status => status::show_status(&context()?),
        Command::Top => top::top(&context()?),
        Command::Serve(arguments) => serve::serve_console(context()?, &arguments),
        Command::Hermes(command) => hermes::run_hermes(&context()?, &command),
        Command::Summary(arguments) => summary::summary(&context()?, &arguments),
        Command::Ladder(arguments) => ladder::ladder(&context()?, &arguments),
        Command::Refresh(arguments) => refresh::refresh(&context()?, &arguments),
        Command::Runs(arguments) => runs::list_runs(&context()?, &arguments),
        Command::Show(ShowArgs { run, markdown: true, bundle_url }) => {
            show::markdown(&context()?, &run, bundle_url.as_deref())
        }
        Command::Show(ShowArgs { run, markdown: false, .. }) => show::show_run(&context()?, &run),
        Command::Diff(DiffArgs { run, protected, outside }) => diff::diff(&context()?, &run, protected, outside),
        Command::Logs(arguments) => logs::logs(&context()?, &arguments),
        Command::Scan(ScanArgs { paths }) => scan::scan_paths(output, &paths),
        Command::Verify(VerifyArgs { bundles, key, expect }) => {
            verify::verify_bundles(&context()?, &bundles, &key, &expect)
        }
        Command::Reverify(ReverifyArgs { bundles, contract }) => {
            reverify::reverify_runs(&context()?, &bundles, contract.as_deref())
        }
        Command::Attach(AttachArgs { run }) => attach::attach_run(&context()?, &run),
        Command::Replay(ReplayArgs { run, speed, key }) => replay::replay(&context()?, &run, speed, &key),
        Command::Export(ExportArgs { run, output, html: true, .. }) => {
            export::export_html(&context()?, &run, output.as_deref())
        }
        Command::Export(ExportArgs { run, output, with_baseline, .. }) => {
            export::export_archive(&context()?, &run, output.as_deref(), with_baseline)
        }
        Command::Import(ImportArgs { file, key }) => import::import_run(&context()?, &file, &key),
        Command::Recover => recover::recover_runs(&context()?),
        Command::Gc(GcArgs { dry_run, older_than, keep }) => gc::gc(&context()?, dry_run, &older_than, keep),
        Command::Halt(HaltArgs { reason }) => halt::set_switch(&context()?, reason.as_deref()),
        Command::Resume => halt::resume_runs(&context()?),
        Command::Stop(StopArgs { run }) => stop::ask_to_stop(&context()?, &run),
        Command::Submit(arguments) => submit::submit(&context()?, &arguments),
        Command::Queue(arguments) => queue::queue(&context()?, &arguments),
        Command::Watch(WatchArgs { run }) => watch::watch(&context()?, run.as_deref()),
        Command::Cancel(CancelArgs { run }) => cancel::cancel(&context()?, &run),
        Command::Drain { wait } => drain::drain(&context()?, wait),
        Command::Worker(arguments) => worker::worker(&context()?, &arguments),
        Command::Ledger(command) => ledger::ledger(&context()?, &command),
        Command::Case(command) => case::case(&context()?, &command),
        Command::Environment(command) => environment::environment(&context()?, &command),
        Command::Key(command) => key::key(&context()?, &command),
        Command::Schema { name } => schema::schema(output, name.as_deref()),
        Command::Explain { reason } => explain::explain(output, reason.as_deref()),
        Command::Engine(command) => engine::engine(&context()?, &command),
        Command::Admit(command) => admit::run_admit(&context()?, &command),
        Command::Records(arguments) => records::run_records(&context()?, &arguments),
        Command::Work(command) => work::work(&context()?, &command),
        Command::Guard(GuardArgs { core }) => guard::check_core(&context()?, core.as_deref()),
        Command::Audit => audit::audit(&context()?),
        Command::Pack(PackArgs { output }) => pack::pack_workspace(&context()?, output.as_deref()),
        Command::Unpack(arguments) => pack::unpack_workspace(&context()?, &arguments),
        Command::Record(command) => record::run_record(&context()?, &command),
        Command::Trust(command) => trust::trust(&context()?, &command),
        Command::Bridge(arguments) => bridge::bridge(&context()?, &arguments),
        Command::Config => config::config(&context()?),
        Command::Complete { words } => Ok(complete::complete(&context()?, &words)),
        Command::Completions { shell } => plumbing::completions(output, shell),
        Command::Man { out } => plumbing::man(output, out.as_deref()),
    }
}

/// Ctrl-C, SIGTERM and a lost terminal set a flag; the run then ends with complete evidence.
fn on_signals() -> io::Result<Arc<AtomicBool>> {
    let cancel = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&cancel))?;
    }
    Ok(cancel)
}
