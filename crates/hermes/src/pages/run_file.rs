//! One run as a file: its page, its bundle, and a script that checks the bundle in the
//! reader's own browser.

use std::fmt::Write as _;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::text::show_controls;
use sha2::{Digest as _, Sha256};

use super::Frame;
use super::run::RunPageText;
use crate::assets::{CONSOLE_SCRIPT, CONSOLE_STYLE};
use crate::source::RunFacts;

/// The verifier, lowest layer first.
const VERIFIER: [&str; 3] = [
    include_str!("../../assets/run_file/crypto.js"),
    include_str!("../../assets/run_file/checks.js"),
    include_str!("../../assets/run_file/page.js"),
];
/// Symbols that pages refer to.
const SPRITE: &str = include_str!("../../templates/sprite.html");

/// A bundle to put into a page: every file, and the key that its signature is by.
#[derive(Debug)]
pub struct RunFileBundle {
    /// OpenSSH line.
    pub key: String,
    /// Names and contents.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Failure to render a run as a file.
#[derive(Debug, thiserror::Error)]
#[error("the page of the run cannot be made: {0}")]
pub struct RenderRunError(#[from] askama::Error);

/// The box with the result of the checks.
#[derive(Template)]
#[template(path = "run_file.html")]
struct VerifierBox<'a> {
    page: &'a RunPageText,
}

/// The head of the file, behind which style and script stand.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<!doctype html>
<html lang="en" data-offline>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{{ title }}</title>
"#
)]
struct FileHead<'a> {
    policy: String,
    title: &'a str,
}

/// Renders a sealed run with its bundle as one HTML file that needs no network.
pub fn render_run_file(facts: RunFacts, bundle: &RunFileBundle) -> Result<String, RenderRunError> {
    let title = show_controls(&format!("Run {}", facts.row.run_id));
    let page = RunPageText::offline(Frame::outside(title.as_str()), facts);
    let verifier = VERIFIER.concat();
    let policy = make_policy(&[CONSOLE_STYLE], &[CONSOLE_SCRIPT, &verifier]);
    let mut out = FileHead { policy, title: &title }.render()?;
    let _ =
        write!(out, "<style>{CONSOLE_STYLE}</style>\n<script>{CONSOLE_SCRIPT}</script>\n</head>\n<body>\n{SPRITE}\n");
    let _ = write!(out, "<main class=\"page\" id=\"main\">\n{}\n", VerifierBox { page: &page }.render()?);
    let _ = write!(
        out,
        "{}\n{FILE_VIEW}</main>\n<div id=\"live\" class=\"sr\" role=\"status\"></div>\n",
        page.as_main().render()?
    );
    let _ = writeln!(out, "<script type=\"application/json\" id=\"cto-bundle\">{}</script>", embed_bundle(bundle));
    let _ = write!(out, "<script>{verifier}</script>\n</body>\n</html>\n");
    Ok(out)
}

/// Section that shows a file of the bundle.
const FILE_VIEW: &str = "<section class=\"card anchor\" id=\"file-view\" aria-labelledby=\"file-name\" hidden><header><h2 id=\"file-name\"></h2></header>\
     <pre class=\"log\" id=\"file-text\" tabindex=\"0\" role=\"region\" aria-label=\"Content of the file\"></pre></section>\n";

/// Content security policy: nothing is loaded, and only these texts run, identified by
/// their digests.
fn make_policy(styles: &[&str], scripts: &[&str]) -> String {
    let list = |texts: &[&str]| {
        let sources = texts.iter().map(|text| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes()))));
        sources.collect::<Vec<_>>().join(" ")
    };
    format!(
        "default-src 'none'; style-src {}; script-src {}; form-action 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        list(styles),
        list(scripts)
    )
}

/// Files as JSON in a script element that browsers do not run. It contains no `<`, so
/// nothing in it can end the element.
fn embed_bundle(bundle: &RunFileBundle) -> String {
    let files: Vec<(&str, String)> =
        bundle.files.iter().map(|(name, bytes)| (name.as_str(), STANDARD.encode(bytes))).collect();
    let document = serde_json::json!({ "files": files, "key": bundle.key.trim() });
    document.to_string().replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_ends_the_element() {
        let name = "backend/</script><script>alert(1)</script><!--".to_owned();
        let text = embed_bundle(&RunFileBundle { key: "k".to_owned(), files: vec![(name.clone(), b"x".to_vec())] });
        assert!(!text.contains('<'), "{text}");
        let read: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        assert_eq!(read["files"][0][0], name);
    }

    #[test]
    fn scripts_hold_nothing_that_ends_them() {
        for text in VERIFIER.iter().chain([&CONSOLE_SCRIPT]) {
            assert!(!text.contains("</script") && !text.contains("<!--"));
        }
        assert!(!CONSOLE_STYLE.contains("</style"));
    }
}
