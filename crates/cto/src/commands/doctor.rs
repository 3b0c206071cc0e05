//! `cto doctor`: what this machine can do, what is missing and how to get it.

mod continuity;
mod fleet;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use contract::Status;
use contract::decision::Profile;
use harness::Home;
use serde::Serialize;

use crate::context::Context;
use crate::error::CommandError;
use crate::output::{Output, duration};

/// State of one requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Ok,
    /// The program works without it.
    Warn,
    /// Nothing works without.
    Missing,
}

#[derive(Debug, Serialize)]
struct Finding {
    level: Level,
    name: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Finding {
    /// State that needs no act.
    fn ok(name: &'static str, text: impl Into<String>) -> Self {
        Self { level: Level::Ok, name, text: text.into(), remedy: None }
    }

    /// State in which runs work, but less well or less safely.
    fn warn(name: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Warn, name, text: text.into(), remedy: Some(remedy.into()) }
    }

    /// State that blocks runs.
    fn missing(name: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Missing, name, text: text.into(), remedy: Some(remedy.into()) }
    }
}

/// Prints the findings; exits with 3 where one of them blocks runs.
pub(crate) fn doctor(context: &Context, paths: bool, fleet: bool) -> Result<u8, CommandError> {
    let began = Instant::now();
    let mut findings = examine(context)?;
    if paths {
        findings.extend(shown_paths(&context.config.tools));
    }
    if fleet {
        findings.extend(fleet::examine_fleet(context)?);
    }
    let ready = findings.iter().all(|finding| finding.level != Level::Missing);
    let status = if ready { Status::Pass } else { Status::Blocked };
    let output = context.output;
    if output.json {
        output.print_json(&serde_json::json!({"findings": findings, "status": status}))?;
    } else if output.terminal {
        let tail = if ready { "ready for stages 1 to 3 with the fake engine" } else { "something is missing" };
        let mut out = output.headline(
            &format!("{}  {tail}", output.paint.paint_status(status)),
            status.as_str().len() + 2 + tail.len(),
            &duration(began.elapsed()),
        );
        out.push_str("\n\n");
        findings.iter().for_each(|finding| people(&mut out, output, finding));
        output.print(&out);
    } else {
        output.print(&findings.iter().map(line).collect::<String>());
    }
    Ok(status.exit_code())
}

fn examine(context: &Context) -> Result<Vec<Finding>, CommandError> {
    let tools = &context.config.tools;
    let system = rustix::system::uname();
    let kernel = format!("{} {}", system.sysname().to_string_lossy(), system.release().to_string_lossy());
    let mut findings = vec![Finding::ok("kernel", kernel)];
    findings.extend(strict()?);
    findings.push(git(tools));
    findings.push(home(context));
    findings.extend(kill_switch(context));
    findings.extend(trust_files(context));
    for (program, what) in [
        ("python3", "the Python cases"),
        ("node", "the Node case"),
        ("cargo", "the Rust case"),
        ("ssh-keygen", "the operator's key"),
    ] {
        findings.push(program_finding(tools, program, what));
    }
    findings.extend(engines(context));
    Ok(findings)
}

/// Trust files that are not as the ledger says.
fn trust_files(context: &Context) -> Vec<Finding> {
    let Ok(Some(home)) = context.home_as_it_is() else { return Vec::new() };
    let warn = |text: String| {
        Finding::warn("trust", text, "cto trust key list; change keys and workspaces only with cto trust")
    };
    match harness::find_unlogged_trust(&home) {
        Ok(unlogged) => unlogged
            .iter()
            .map(|log| {
                let path = contract::text::show_controls(&log.path.display().to_string());
                warn(format!("{path} was changed by hand: the ledger does not know it"))
            })
            .collect(),
        Err(error) => vec![warn(contract::text::show_controls(&error.to_string()))],
    }
}

/// The engines: the fake one is always there, the others where their programs are.
fn engines(context: &Context) -> Vec<Finding> {
    let mut findings = vec![Finding::ok("engine", "engine fake: built in, deterministic, does what the case says")];
    for id in context.config.engines.ids() {
        let Some(engine) = context.config.engines.find_engine(&id) else { continue };
        let about = &engine.definition.about;
        findings.push(match harness::find_engine(&engine, &context.config.tools) {
            Ok(path) => {
                let text =
                    format!("engine {id}: {about}, {}", contract::text::show_controls(&path.display().to_string()));
                Finding::ok("engine", text)
            }
            Err(shortfall) => {
                let text = format!("engine {id}: {about}, {}", contract::text::show_controls(&shortfall.text));
                Finding::warn("engine", text, shortfall.remedy)
            }
        });
    }
    findings
}

/// Tries the sandbox by building one, and lists weaknesses.
fn strict() -> Result<Vec<Finding>, CommandError> {
    let scratch = std::env::temp_dir().join(format!("cto-doctor-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let found = harness::availability(&std::env::current_exe()?, &scratch);
    let _ = untrusted_fs::remove_tree(&scratch);
    if let Some(shortfall) = found.shortfall {
        let text = format!("profile strict cannot be applied: {}", shortfall.text);
        return Ok(vec![Finding::missing("sandbox", text, shortfall.remedy)]);
    }
    let landlock = found.landlock_abi.map_or_else(|| "no Landlock".to_owned(), |abi| format!("Landlock ABI {abi}"));
    let mut findings = vec![Finding::ok("sandbox", format!("profile strict, built and probed; {landlock}"))];
    findings.push(match found.cgroups.first() {
        Some(place) => Finding::ok("limits", format!("by cgroup in {}", place.path.display())),
        None => Finding::warn(
            "limits",
            "by rlimit, for each process only",
            "run in a delegated cgroup: systemd-run --user --scope -p Delegate=yes cto ...",
        ),
    });
    if found.overlay == Some(false) {
        findings.push(Finding::warn(
            "overlay",
            "layers cannot be joined: no setup, slow large trees",
            "use Linux 5.11 or newer",
        ));
    }
    if found.recorded == Some(false) {
        findings.push(Finding::warn(
            "recorders",
            "refused calls are not recorded",
            "do not run inside another seccomp supervisor",
        ));
    }
    Ok(findings)
}

/// Only said where it is set: then nothing can run.
fn kill_switch(context: &Context) -> Option<Finding> {
    let halted = harness::halted(&context.config.home)?;
    Some(Finding::missing("kill switch", format!("{halted}; every run is blocked"), "cto resume"))
}

/// Folders of the operator's search path, and which of them a sandbox shows.
fn shown_paths(tools: &harness::Tools) -> Vec<Finding> {
    let searched = tools.search_path(&[], Profile::Strict);
    let everywhere = tools.search_path(&[], Profile::None);
    let shown = searched.iter().map(|dir| (Level::Ok, dir, "searched in every sandbox", None));
    let hidden = everywhere.iter().filter(|dir| !searched.contains(dir)).map(|dir| {
        let remedy = format!("environment: {{mounts: [{{source: {0}, target: {0}}}], path: [{0}]}}", dir.display());
        (Level::Warn, dir, "not shown in a sandbox unless a contract names it", Some(remedy))
    });
    let finding = |(level, dir, text, remedy): (Level, &std::path::PathBuf, &str, Option<String>)| Finding {
        level,
        name: "path",
        text: format!("{} {text}", dir.display()),
        remedy,
    };
    shown.chain(hidden).map(finding).collect()
}

fn git(tools: &harness::Tools) -> Finding {
    let wanted = tree::GitVersion::OLDEST;
    let missing = |text: String| Finding::missing("git", text, format!("install git {wanted} or newer"));
    match tree::Git::find_git(&tools.operator_path).and_then(|git| git.version()) {
        Ok(version) if version >= wanted => Finding::ok("git", version.to_string()),
        Ok(version) => missing(format!("{version} is too old")),
        Err(error) => missing(error.to_string()),
    }
}

fn program_finding(tools: &harness::Tools, program: &'static str, what: &str) -> Finding {
    match sandbox::find_program(program, &tools.search_path(&[], Profile::None), Path::new("/")) {
        Some(path) => Finding::ok(program, path.display().to_string()),
        None => Finding::warn(program, format!("not found, and needed for {what}"), format!("install {program}")),
    }
}

fn home(context: &Context) -> Finding {
    let path = &context.config.home;
    let shown = contract::text::show_controls(&path.display().to_string());
    let home = match Home::existing(&context.config.place()) {
        Ok(home) => home,
        Err(harness::OpenHomeError::Missing(_)) => {
            return Finding::ok("home", format!("{shown}, made by the first run"));
        }
        Err(error) => return Finding::missing("home", error.to_string(), error.remedy()),
    };
    let free = rustix::fs::statvfs(path).map(|stat| stat.f_bavail * stat.f_frsize / (1 << 30)).unwrap_or(0);
    let ledger = match home.ledger_to_read() {
        Ok(Some(ledger)) => ledger,
        Ok(None) => return Finding::ok("home", format!("{shown}, {free} GiB free, no run yet")),
        Err(error) => return Finding::missing("home", error.to_string(), error.remedy()),
    };
    let broken = |text: String| Finding::missing("home", text, "restore ledger.db from a backup");
    match ledger.verify() {
        Ok(check) if check.is_intact() => {
            Finding::ok("home", format!("{shown}, {free} GiB free, {} ledger entries, chain holds", check.entries))
        }
        Ok(check) => broken(format!("the ledger's chain does not hold: {} problems", check.problems.len())),
        Err(error) => broken(error.to_string()),
    }
}

fn people(out: &mut String, output: Output, finding: &Finding) {
    let paint = output.paint;
    let mark = match finding.level {
        Level::Ok => paint.tick(),
        Level::Warn => paint.like(Status::Blocked, "!"),
        Level::Missing => paint.like(Status::Fail, "✗"),
    };
    let _ = writeln!(out, "  {mark} {:<12} {}", finding.name, contract::text::show_controls(&finding.text));
    if let Some(remedy) = &finding.remedy {
        let _ = writeln!(out, "    {:<12} {} {}", "", paint.arrow(), paint.command(remedy));
    }
}

fn line(finding: &Finding) -> String {
    let level = match finding.level {
        Level::Ok => "ok",
        Level::Warn => "warn",
        Level::Missing => "missing",
    };
    let fix = finding.remedy.as_ref().map(|remedy| format!(" fix: {remedy}")).unwrap_or_default();
    format!("{level} {} {}{fix}\n", finding.name, contract::text::show_controls(&finding.text))
}
