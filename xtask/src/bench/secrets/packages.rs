//! Public packages as everybody installs them, in which nothing may be taken for a secret
//! but the private keys that some of them publish for their tests.

use std::path::Path;

use super::super::Bench;
use super::build_examples;
use crate::ChoreResult;
use crate::process::{cache, cargo, command_output, program, run_command, target};

#[rustfmt::skip]
const NPM: &[&str] = &[
    "react", "lodash", "express", "axios", "chalk", "commander", "debug", "eslint", "jsonwebtoken", "passport",
    "mongoose", "sequelize", "pg", "mysql2", "redis", "ioredis", "aws-sdk", "stripe", "twilio", "nodemailer",
    "socket.io", "dotenv", "uuid", "moment", "rxjs", "vue", "jest", "mocha", "prettier", "openai", "jose",
    "node-forge", "crypto-js", "ws", "undici",
];

#[rustfmt::skip]
const PYPI: &[&str] = &[
    "requests", "urllib3", "boto3", "botocore", "flask", "django", "fastapi", "sqlalchemy", "pytest",
    "cryptography", "pyjwt", "paramiko", "twisted", "scrapy", "celery", "redis", "pymongo", "google-auth",
    "azure-identity", "stripe", "twilio", "openai", "anthropic", "httpx", "aiohttp", "oauthlib", "authlib",
    "jinja2", "click", "setuptools", "ansible-core", "docker", "kubernetes", "sphinx", "mypy",
];

/// Rules for whole keys. A package that publishes one has published it.
const KEYS: [&str; 4] = ["private-key", "pgp-private-key", "putty-private-key", "openvpn-static-key"];

/// Scans public packages of several registries and returns the findings.
pub(in super::super) fn measure_packages(_: &Bench) -> ChoreResult<String> {
    build_examples()?;
    let folder = cache()?.join("packages");
    let [npm, pypi, crates] = ["npm", "pypi", "crates"].map(|name| folder.join(name));
    fetch_npm(&npm)?;
    fetch_pypi(&pypi)?;
    if !crates.is_dir() {
        run_command(
            cargo(&["vendor", "--quiet", "--locked", "--versioned-dirs"])
                .arg(&crates)
                .stdout(std::process::Stdio::null()),
        )?;
    }
    let mut text = String::from(
        "| | packages | files | MB | keys that they publish | false alarms |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    let mut alarms = Vec::new();
    for (name, folder) in [("npm", npm), ("PyPI", pypi), ("crates.io", crates)] {
        let looked = look_through(&folder)?;
        let [packages, files, keys, others] =
            [looked.packages, looked.files, looked.keys, looked.alarms.len()].map(|number| number.to_string());
        text.push_str(&format!(
            "| {name} | {packages} | {files} | {:.0} | {keys} | {others} |\n",
            looked.bytes as f64 / 1e6
        ));
        alarms.extend(looked.alarms);
    }
    match alarms.is_empty() {
        true => Ok(text),
        false => Err(format!("{text}\nfalse alarms:\n{}", alarms.join("\n"))),
    }
}

fn fetch_npm(folder: &Path) -> ChoreResult {
    for name in NPM {
        let place = folder.join(name);
        if !place.is_dir() {
            make(&place)?;
            let archive = command_output(program("npm", ["pack", "--silent", name]).current_dir(&place))?;
            let archive = place.join(archive.trim());
            run_command(program("tar", ["-xzf".as_ref(), archive.as_os_str()]).current_dir(&place))?;
            std::fs::remove_file(&archive).map_err(|error| format!("cannot remove {}: {error}", archive.display()))?;
        }
    }
    Ok(())
}

fn fetch_pypi(folder: &Path) -> ChoreResult {
    for name in PYPI {
        let place = folder.join(name);
        if !place.is_dir() {
            make(&place)?;
            let words = [
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
                "--no-compile",
                name,
                "--target",
            ];
            command_output(program("python3", words).arg(&place))?;
        }
    }
    Ok(())
}

fn make(folder: &Path) -> ChoreResult {
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

#[derive(Default)]
struct Looked {
    packages: usize,
    files: usize,
    bytes: u64,
    keys: usize,
    alarms: Vec<String>,
}

fn look_through(folder: &Path) -> ChoreResult<Looked> {
    let mut looked = Looked { packages: super::files(folder)?.len(), ..Looked::default() };
    let mut all = Vec::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(path) = left.pop() {
        let metadata = path.symlink_metadata().map_err(|error| format!("{}: {error}", path.display()))?;
        if metadata.is_dir() {
            left.extend(super::files(&path)?);
        } else if metadata.is_file() {
            looked.bytes += metadata.len();
            all.push(path);
        }
    }
    looked.files = all.len();
    for some in all.chunks(2000) {
        let told = command_output(&mut program(target().join("release/examples/scan"), some))?;
        for line in told.lines() {
            let mut words = line.split('\t');
            let (file, rule) = (words.next().unwrap_or_default(), words.nth(2).unwrap_or_default());
            match KEYS.contains(&rule) {
                true => looked.keys += 1,
                false => looked.alarms.push(format!("{rule} in {file}")),
            }
        }
    }
    Ok(looked)
}
