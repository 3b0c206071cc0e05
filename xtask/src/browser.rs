//! `cargo xtask browser` and `cargo xtask shots`: the console in a real browser. A suite of its own: it needs Chromium and takes minutes.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Outcome;
use crate::process::{cache, cargo, output, program, root, run, target};
use crate::tools::{is_marked, mark, need};

/// What drives the browser, and what looks for barriers.
const PACKAGES: [&str; 2] = ["playwright-core@1.65.1", "axe-core@4.14.0"];
/// Cases whose runs the pages show: a pass, failures, a refusal.
const CASES: [&str; 6] = [
    "r1-string-slugify",
    "fail-no-diff",
    "fail-cheat-edits-tests",
    "fail-failed-tests",
    "fail-missing-test-command",
    "rust-crate-off-by-one",
];

/// Tries every page; with a folder, keeps pictures of them.
pub(crate) fn chore(shots: Option<&Path>) -> Outcome {
    need("chromium", "chromium")?;
    let modules = modules()?;
    run(&mut cargo(&["build", "--quiet", "-p", "cto"]))?;
    let home = std::env::temp_dir().join(format!("cto-browser-{}", std::process::id()));
    let tried = try_pages(&home, &modules, shots);
    let _ = std::fs::remove_dir_all(&home);
    tried
}

fn modules() -> Outcome<PathBuf> {
    let folder = cache()?.join("browser");
    let wanted = PACKAGES.join("\n");
    if !is_marked(&folder, "browser", &wanted) {
        eprintln!("xtask: installing {}", PACKAGES.join(", "));
        std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let words = ["install", "--no-save", "--no-audit", "--no-fund", "--prefix"];
        output(program("npm", words).arg(&folder).args(PACKAGES))?;
        mark(&folder, "browser", &wanted)?;
    }
    Ok(folder.join("node_modules"))
}

fn cto(home: &Path) -> Command {
    let mut command = program(target().join("debug/cto"), std::iter::empty::<&str>());
    command.env("CTO_HOME", home.join("home")).env("HOME", home.join("user")).current_dir(home);
    command
}

fn try_pages(home: &Path, modules: &Path, shots: Option<&Path>) -> Outcome {
    std::fs::create_dir_all(home.join("user")).map_err(|error| format!("cannot make {}: {error}", home.display()))?;
    for case in CASES {
        // How a case ends is its own affair; its run is there either way.
        let _ = cto(home).args(["run", case, "--json"]).output();
    }
    let _ = cto(home).args(["key", "init", "--json"]).output();
    let _ = cto(home).args(["request", "r1-string-slugify", "--stage", "4", "--json"]).output();
    let (mut server, origin, login) = serve(home)?;
    let pages = serde_json::json!({
        "overview": "/", "runs": "/runs", "run-pass": "/runs/@-5", "run-fail": "/runs/@-3", "run-blocked": "/runs/@-1",
        "verify": "/runs/@-5/verify", "log": "/runs/@-5/log?name=test.log", "approvals": "/approvals",
        "request": request_page(home), "compare": "/compare?runs=@-5%20@-4%20@-3", "records": "/records", "spend": "/spend",
    });
    let script = root().join("xtask/browser/console.mjs");
    let mut node = program("node", [script.as_os_str()]);
    node.args([&origin, &login, &pages.to_string()]).arg(shots.unwrap_or(Path::new("-")));
    let tried = run(node.env("BROWSER_MODULES", modules));
    let _ = server.kill();
    let _ = server.wait();
    tried
}

/// The page of the request, or the list where there is none.
fn request_page(home: &Path) -> String {
    let listed = output(cto(home).args(["approvals", "--json"])).unwrap_or_default();
    let name = listed.split("\"request\":\"").nth(1).and_then(|rest| rest.split('"').next());
    name.map_or_else(|| "/approvals".to_owned(), |name| format!("/approvals/{name}"))
}

fn serve(home: &Path) -> Outcome<(Child, String, String)> {
    let mut command = cto(home);
    command.args(["serve", "--listen", "127.0.0.1:0", "--json"]).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot start the server: {error}"))?;
    let mut line = String::new();
    let told = child.stdout.take().map(BufReader::new).map(|mut lines| lines.read_line(&mut line));
    let document: serde_json::Value =
        serde_json::from_str(&line).map_err(|_| format!("the server said {line:?} {told:?}"))?;
    let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
    let (origin, login) = (text("address"), text("login"));
    let path = login.strip_prefix(&origin).unwrap_or(&login).to_owned();
    Ok((child, origin, path))
}
