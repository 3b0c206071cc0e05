//! `cargo xtask browser` and `cargo xtask shots`: the console in a real browser. The suite
//! is the test program `browser` of `cto`, which `cargo xtask test` runs with all others.

use std::path::{Path, PathBuf};

use crate::ChoreResult;
use crate::process::{cache, cargo, command_output, program, run_command};
use crate::tools::{is_marked, mark, need};

/// Driver of the browser, and the finder of barriers.
const PACKAGES: [&str; 2] = ["playwright-core@1.65.1", "axe-core@4.14.0"];

/// Pictures of every page.
pub(crate) fn shoot_pages(folder: &Path) -> ChoreResult {
    let fail = |error: std::io::Error| format!("cannot make {}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(fail)?;
    let folder = folder.canonicalize().map_err(fail)?;
    let words = ["test", "--quiet", "-p", "cto", "--test", "browser", "--", "pages::"];
    run_command(cargo(&words).env("CTO_TEST_BROWSER", modules()?).env("CTO_TEST_SHOTS", folder))
}

/// Folder of the packages, installed on first use. Chromium is the system's.
pub(crate) fn modules() -> ChoreResult<PathBuf> {
    need("chromium", "chromium")?;
    let folder = cache()?.join("browser");
    let wanted = PACKAGES.join("\n");
    if !is_marked(&folder, "browser", &wanted) {
        eprintln!("xtask: installing {}", PACKAGES.join(", "));
        std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let words = ["install", "--no-save", "--no-audit", "--no-fund", "--prefix"];
        command_output(program("npm", words).arg(&folder).args(PACKAGES))?;
        mark(&folder, "browser", &wanted)?;
    }
    Ok(folder.join("node_modules"))
}
