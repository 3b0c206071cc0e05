//! Arguments of `cto setup`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `cto setup`.
#[derive(Debug, Args)]
#[command(after_help = "\
Drafts records and settings, shows them and asks you to agree. Then it opens the gate, and the engine earns stages 1 \
and 2 with real runs. The command printed beside each step does that step alone.

Examples:
  cto setup codex --key env:OPENAI_API_KEY --model gpt-5.5
  cto setup claude --key env:ANTHROPIC_API_KEY --model claude-sonnet-5
  cto setup pi --endpoint http://127.0.0.1:8000/v1 --model my-model
  cto setup case --bin /opt/case/dist/ca --endpoint http://127.0.0.1:8000/v1 \\
      --model my-model --yes

Exit codes: 0 connected, 1 a run failed, 2 wrong usage, 3 something is missing, or you did not agree.")]
pub(crate) struct SetupArgs {
    /// The engine: codex, claude, pi, case, opencode, or one that the configuration defines
    pub(crate) engine: String,
    /// Where the provider's key is: env:NAME or file:PATH. It is never copied
    #[arg(long, value_name = "SOURCE")]
    pub(crate) key: Option<String>,
    /// The address of a server that speaks the provider's API, such as http://127.0.0.1:8000/v1
    #[arg(long, value_name = "URL", requires = "model")]
    pub(crate) endpoint: Option<String>,
    /// The model, or PROVIDER/MODEL
    #[arg(long, value_name = "M")]
    pub(crate) model: Option<String>,
    /// The server has chat completions and no responses API
    #[arg(long, requires = "endpoint")]
    pub(crate) over_chat: bool,
    /// The engine's program, if it is not on the PATH
    #[arg(long, value_name = "FILE")]
    pub(crate) bin: Option<PathBuf>,
    /// How far: stage 1, 2 or 3
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=3))]
    pub(crate) stage: u8,
    /// Accept every draft and run, without questions
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Place of a provider's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeySource {
    Env(String),
    File(PathBuf),
}

/// Reads the place of a key. It is no parser of clap's, which repeats a value that it refuses, and a person may have given the key itself.
pub(crate) fn key_source(text: &str) -> Option<KeySource> {
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match text.split_once(':') {
        Some(("env", name)) if is_name(name) => Some(KeySource::Env(name.to_owned())),
        Some(("file", path)) if path.starts_with('/') => Some(KeySource::File(PathBuf::from(path))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_by_its_place() {
        assert_eq!(key_source("env:KEY_1"), Some(KeySource::Env("KEY_1".to_owned())));
        assert_eq!(key_source("file:/k"), Some(KeySource::File(PathBuf::from("/k"))));
        for wrong in ["sk-live-0123", "env:", "env:A B", "file:k", ""] {
            assert_eq!(key_source(wrong), None, "{wrong}");
        }
    }
}
