//! `cargo xtask shots [DIR]`: pictures of the console, made from the history of `cto demo
//! --serve`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::ChoreResult;
use crate::browser::modules;
use crate::process::{program, repository_root, run_command, target};
use crate::tools::need;

/// Takes the pictures; into `folder`, or into the documentation.
pub(crate) fn run_shots(folder: Option<&Path>) -> ChoreResult {
    need("chromium", "chromium")?;
    let modules = modules()?;
    crate::test::build_plain_program()?;
    let mut demo = program(target().join("debug/cto"), ["demo", "--serve", "--listen", "127.0.0.1:0", "--json"]);
    let mut child = demo.stdout(Stdio::piped()).spawn().map_err(|error| format!("cannot start the demo: {error}"))?;
    let mut line = String::new();
    let told = child.stdout.take().map(BufReader::new).map(|mut lines| lines.read_line(&mut line));
    let shot = serde_json::from_str::<Value>(&line)
        .map_err(|_| format!("the demo said {line:?} {told:?}"))
        .and_then(|told| take_shots(&told, folder, &modules));
    // The demo removes its home when it is told to end, and not when it is killed.
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    let _ = child.wait();
    shot
}

/// Every picture into a folder, or those that the docs show to where they lie.
fn take_shots(told: &Value, folder: Option<&Path>, modules: &Path) -> ChoreResult {
    let text = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
    let (origin, login) = (text("address"), text("login"));
    let path = login.strip_prefix(&origin).unwrap_or(&login).to_owned();
    let script = repository_root().join("xtask/browser/shots.mjs");
    let mut node = program("node", [script.as_os_str()]);
    let images = repository_root().join("docs/images");
    node.args([&origin, &path]).arg(folder.unwrap_or(&images)).args(folder.is_none().then_some("docs"));
    run_command(node.env("BROWSER_MODULES", modules))
}
