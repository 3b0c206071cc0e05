//! A real browser: Chromium behind a program that takes one command a line.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A browser that ends with the test.
pub(crate) struct Browser {
    child: Child,
    pipes: RefCell<Option<(ChildStdin, BufReader<ChildStdout>)>>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The program ends with its input, and takes Chromium with it.
        self.pipes.borrow_mut().take();
        let _ = self.child.wait();
    }
}

/// Way of looking: script, theme, width, and whose cookie is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(crate) script: bool,
    pub(crate) theme: &'a str,
    pub(crate) width: u32,
    /// `name=value`; empty without a login.
    pub(crate) cookie: &'a str,
    /// `http://HOST:PORT` of pages; a request elsewhere is a fault.
    pub(crate) origin: &'a str,
}

impl<'a> Look<'a> {
    pub(crate) fn at(origin: &'a str, cookie: &'a str) -> Self {
        Self { script: true, theme: "light", width: 1280, cookie, origin }
    }
}

/// A page in a browser.
pub(crate) struct Page<'a> {
    browser: &'a Browser,
    context: Value,
    page: Value,
    origin: String,
}

impl Browser {
    /// Starts one; skips the test where there is none.
    #[expect(
        clippy::disallowed_methods,
        reason = "a test starts the browser, and is told by the environment where it is"
    )]
    pub(crate) fn start(test: &str) -> Option<Self> {
        let Some(modules) = std::env::var_os("CTO_TEST_BROWSER") else {
            testkit::skip(test, "no Chromium with playwright-core and axe-core; run through cargo xtask test");
            return None;
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/drive.mjs");
        let mut command = Command::new("node");
        command.arg(script).env("BROWSER_MODULES", modules).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let pipes = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Some(Self { child, pipes: RefCell::new(Some(pipes)) })
    }

    /// Does one act; a failed one ends the test.
    #[track_caller]
    pub(crate) fn act(&self, name: &str, mut facts: Value) -> Value {
        facts["act"] = json!(name);
        let mut pipes = self.pipes.borrow_mut();
        let (input, output) = pipes.as_mut().unwrap();
        writeln!(input, "{facts}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let mut answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("the browser said {line:?}"));
        assert!(answer["failed"].is_null(), "{}", answer["failed"]);
        answer["done"].take()
    }

    /// A place of its own for cookies, with one page.
    #[track_caller]
    pub(crate) fn open(&self, look: Look<'_>) -> Page<'_> {
        let cookies: Vec<Value> = look
            .cookie
            .split_once('=')
            .map(|(name, value)| {
                json!({"name": name, "value": value, "url": look.origin, "httpOnly": true, "sameSite": "Strict"})
            })
            .into_iter()
            .collect();
        let context = self.act(
            "context",
            json!({"script": look.script, "theme": look.theme, "width": look.width, "cookies": cookies,
                   "origins": [look.origin], "insecure": look.origin.starts_with("https"),
                   "offline": look.origin.starts_with("file")}),
        );
        let page = self.act("open", json!({"context": context}));
        Page { browser: self, context, page, origin: look.origin.to_owned() }
    }
}

impl Page<'_> {
    /// Another page with the same cookies.
    #[track_caller]
    pub(crate) fn another(&self) -> Self {
        let page = self.browser.act("open", json!({"context": self.context}));
        Page { browser: self.browser, context: self.context.clone(), page, origin: self.origin.clone() }
    }

    #[track_caller]
    fn act(&self, name: &str, mut facts: Value) -> Value {
        facts["page"] = self.page.clone();
        facts["context"] = self.context.clone();
        self.browser.act(name, facts)
    }

    /// Opens a path of the origin; gives the status of the answer.
    #[track_caller]
    pub(crate) fn visit(&self, path: &str) -> u64 {
        let answer = self.act("goto", json!({"url": format!("{}{path}", self.origin)}));
        answer["status"].as_u64().unwrap()
    }

    /// Everything that the page did wrong since the last question.
    #[track_caller]
    pub(crate) fn faults(&self) -> Vec<String> {
        serde_json::from_value(self.act("said", json!({}))).unwrap()
    }

    /// The value of an expression.
    #[track_caller]
    pub(crate) fn evaluate(&self, code: &str) -> Value {
        self.act("evaluate", json!({"code": code}))
    }

    #[track_caller]
    pub(crate) fn text(&self, selector: &str) -> String {
        let code = format!("document.querySelector({}).textContent", json!(selector));
        self.evaluate(&code).as_str().unwrap_or_else(|| panic!("nothing at {selector}")).to_owned()
    }

    #[track_caller]
    pub(crate) fn has(&self, selector: &str) -> bool {
        self.evaluate(&format!("document.querySelector({}) !== null", json!(selector))) == json!(true)
    }

    #[track_caller]
    pub(crate) fn click(&self, selector: &str) {
        self.act("click", json!({"selector": selector}));
    }

    #[track_caller]
    pub(crate) fn fill(&self, selector: &str, text: &str) {
        self.act("fill", json!({"selector": selector, "text": text}));
    }

    #[track_caller]
    pub(crate) fn press(&self, keys: &[&str]) {
        for key in keys {
            self.act("press", json!({"key": key}));
        }
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub(crate) fn wait(&self, code: &str) {
        self.act("wait", json!({"code": code, "within": 300_000}));
    }

    /// True of a page that no server gave.
    pub(crate) fn is_file(&self) -> bool {
        self.origin.starts_with("file")
    }

    /// Path of the page that is shown now.
    #[track_caller]
    pub(crate) fn path(&self) -> String {
        let url = self.act("url", json!({}));
        url.as_str().unwrap().strip_prefix(self.origin.as_str()).unwrap_or_default().to_owned()
    }

    #[track_caller]
    pub(crate) fn cookies(&self) -> Value {
        self.act("cookies", json!({}))
    }

    /// A picture of the whole page, or of its first screen.
    #[track_caller]
    pub(crate) fn shoot(&self, file: &Path, whole: bool) {
        self.act("shot", json!({"path": file, "whole": whole}));
    }

    /// Barriers that axe-core calls serious or critical. An empty trial is one too.
    #[track_caller]
    pub(crate) fn find_barriers(&self) -> Vec<String> {
        let result = self.act("axe", json!({}));
        assert!(result["tried"].as_u64().unwrap() > 5, "axe-core tried nothing");
        serde_json::from_value(result["found"].clone()).unwrap()
    }

    /// Counts the elements that the Tab key can reach. Lists those that it does not reach, and those that do not show the focus.
    #[track_caller]
    pub(crate) fn walk_by_tab(&self) -> (u64, Vec<String>) {
        let result = self.act("tabs", json!({}));
        let mut faults: Vec<String> = Vec::new();
        for (key, word) in [("missed", "not reached by Tab"), ("unmarked", "focus is not shown on")] {
            let all: Vec<String> = serde_json::from_value(result[key].clone()).unwrap();
            faults.extend(all.into_iter().map(|one| format!("{word}: {one}")));
        }
        (result["wanted"].as_u64().unwrap(), faults)
    }

    /// Closes the page and everything of its context.
    #[track_caller]
    pub(crate) fn leave(self) {
        self.act("leave", json!({}));
    }
}
