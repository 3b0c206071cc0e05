//! A small document type that uses every shape the contract's types use.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Sample {
    pub(super) task_id: Name,
    /// One line that says what to do.
    #[schemars(length(min = 1, max = 20))]
    pub(super) title: String,
    pub(super) risk_class: Risk,
    #[schemars(required, extend("x-cto-absent" = "refused"))]
    pub(super) forbidden_actions: Option<Vec<Action>>,
    #[serde(default)]
    pub(super) allowed_paths: BTreeSet<String>,
    pub(super) limits: Option<Limits>,
    #[serde(default)]
    pub(super) checks: Vec<Check>,
    #[serde(default)]
    pub(super) variables: BTreeMap<String, String>,
    pub(super) argv: Option<Argv>,
    #[serde(default)]
    pub(super) approval_required: bool,
    #[serde(default)]
    #[schemars(length(max = 2))]
    pub(super) slots: Vec<Even>,
}

/// Letters, digits, `.`, `_` and `-`, beginning with a letter or digit.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
pub(super) struct Name(#[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"))] pub(super) String);

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Risk {
    Low,
    VeryHigh,
}

/// A forbidden action.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    /// Sends commits elsewhere.
    Push,
    Deploy,
    IssueClose,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    #[schemars(range(min = 1, max = 3600))]
    pub(super) wall_seconds: u32,
    pub(super) retries: Option<u8>,
    pub(super) money: Option<i64>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Check {
    Command { argv: Argv },
    Exists { path: String },
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Argv {
    Line(String),
    Words(Vec<String>),
}

/// Its own check: the schema cannot say it.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "u32")]
pub(super) struct Even(u32);

impl TryFrom<u32> for Even {
    type Error = String;

    fn try_from(number: u32) -> Result<Even, String> {
        if number.is_multiple_of(2) { Ok(Even(number)) } else { Err(format!("{number} is odd")) }
    }
}

pub(super) const YAML: &str = r#"# A document that uses everything.
task_id: CTO-144
title: "no: 😀"
risk_class: very-high
forbidden_actions: [push, deploy]
allowed_paths:
  - src/**
  - no
limits:
  wall_seconds: 60
  retries: ~
checks:
  - kind: command
    argv: cargo test
  - kind: exists
    path: |
      a
      b
variables: {LANG: "C", N: '1'}
argv: [a, "2"]
approval_required: true
slots: [2, 4]
"#;

pub(super) const JSON: &str = r#"{
  "task_id": "CTO-144",
  "title": "no: \ud83d\ude00",
  "risk_class": "very-high",
  "forbidden_actions": ["push", "deploy"],
  "allowed_paths": ["src/**", "no"],
  "limits": {"wall_seconds": 60, "retries": null},
  "checks": [{"kind": "command", "argv": "cargo test"}, {"kind": "exists", "path": "a\nb\n"}],
  "variables": {"LANG": "C", "N": "1"},
  "argv": ["a", "2"],
  "approval_required": true,
  "slots": [2, 4]
}
"#;
