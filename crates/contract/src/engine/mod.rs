//! Engines as data: how a program is found, known, called, configured and heard. The ones
//! that come with the harness are written in the same words as those a user adds.

mod facts;
mod template;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::identity_check::{IdentityCheck, UnsupportedBuild};
pub use facts::{
    EngineSetting, GateSaid, GateSpeaker, ProgramFact, ProgramFound, RungFact, RungLack, climb_command, gate_command,
};
pub use template::{RenderError, TemplatePlace, Values, render_text};

use crate::claim::Speech;
use crate::model::Wire;
use crate::paths::PathSet;

/// An engine that is not part of the harness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Engine definition")]
pub struct EngineDefinition {
    /// One-line description for people.
    pub about: String,
    /// The program, looked for on the operator's PATH where no path is configured.
    pub program: String,
    /// True if it is not searched for, because another program has the same name. It must
    /// be named in the configuration or admitted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub only_named: bool,
    /// Candidate paths of the real executable, for a program that only launches it,
    /// relative to the launcher's package; the first that exists is taken. `{arch}` is x64
    /// or arm64, `{cpu}` x86_64 or aarch64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub native: Vec<String>,
    /// The program that runs it, looked for in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    /// Check that tells it from another program of the same name.
    pub identity: IdentityCheck,
    /// Builds that pass the identity check and cannot be run as described here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<UnsupportedBuild>,
    /// The protocol it speaks to its model; an engine without one gets no bridge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
    /// Replacement of `{wire}` for each protocol. These are the protocols that can be
    /// chosen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub wire_names: BTreeMap<Wire, String>,
    /// Its arguments.
    pub argv: Vec<String>,
    /// Text for its standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Configuration that is written before it starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ConfigTemplate>,
    /// Its environment, beside what every program gets. The only place for `{token}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// Working directory below `{state}`; the repository if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// True if it may stay after its work. One with an event log is ended once the log says
    /// that it is done, any other once its commit stands and the tree is clean.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lingers: bool,
    /// Providers whose login it does not pass on by itself: the operator must switch on
    /// that the bridge does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub auth_bridge: Vec<String>,
    /// Files that the engine leaves in the repository and that are no part of its work. The
    /// harness moves them to `backend/`; they enter neither diff nor cleanliness.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub litter: Vec<String>,
    /// Globs of files below `{state}` that are not kept with the run: keys that it makes
    /// for itself and means to remove.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_kept: Vec<String>,
    /// Whose words its output is in.
    #[serde(default = "plain")]
    pub events: Speech,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn plain() -> Speech {
    Speech::Plain
}

/// Name in a definition that has no value when the engine is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmetName {
    /// Keys and indices of the text that holds it, from the definition.
    pub path: Vec<String>,
    pub why: String,
}

/// Configuration file that the harness writes for the engine before it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigTemplate {
    /// Below `{state}`.
    pub path: String,
    pub text: String,
}

impl EngineDefinition {
    /// Errors that the schema cannot express, such as unknown names in braces.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut check = |what: &str, place: TemplatePlace, text: &str| {
            if let Err(error) = template::check_text(text, place) {
                problems.push(format!("{what}: {error}"));
            }
        };
        for text in &self.argv {
            check("argv", TemplatePlace::Argument, text);
        }
        let asked = self.unsupported.iter().flat_map(|build| &build.argv).map(|text| ("unsupported.argv", text));
        for (what, text) in self.identity.argv.iter().map(|text| ("identity.argv", text)).chain(asked) {
            check(what, TemplatePlace::Plain, text);
        }
        check("stdin", TemplatePlace::Input, self.stdin.as_deref().unwrap_or_default());
        for file in &self.files {
            check("files.path", TemplatePlace::File, &file.path);
            check("files.text", TemplatePlace::File, &file.text);
        }
        for (name, text) in &self.variables {
            check(&format!("variables.{name}"), TemplatePlace::Variable, text);
        }
        problems.extend(self.outside_state());
        if let Err(error) = PathSet::rooted(&self.not_kept) {
            problems.push(format!("not_kept: {error}"));
        }
        if self.program.trim().is_empty() || self.program.contains('/') {
            problems.push("program: a name without a slash; a path is configured as `executable`".to_owned());
        }
        problems.extend(self.identity.problem().map(str::to_owned));
        if self.unsupported.iter().any(|build| build.says.trim().is_empty()) {
            problems.push("unsupported.says: every program prints nothing".to_owned());
        }
        if self.reads_wire() && self.wire_names.is_empty() {
            problems.push("wire_names: `{wire}` stands for nothing".to_owned());
        }
        problems
    }

    /// Places of its own that do not lie where they should.
    fn outside_state(&self) -> Vec<String> {
        let files = self.files.iter().map(|file| ("files.path", &file.path));
        let places = files.chain(self.cwd.iter().map(|cwd| ("cwd", cwd)));
        let below = |path: &str| path.starts_with("{state}/") && path.split('/').all(|part| part != "..");
        places
            .filter(|(_, path)| !below(path))
            .map(|(key, path)| format!("{key}: `{path}` does not lie below {{state}}"))
            .collect()
    }

    /// True if the command line or standard input carries the brief. An engine without it
    /// would work on nothing.
    pub fn gets_brief(&self) -> bool {
        let told = |text: &str| text.contains("{brief}") || text.contains("{task}");
        self.argv.iter().any(|text| told(text)) || self.stdin.as_deref().is_some_and(told)
    }

    fn reads_wire(&self) -> bool {
        self.texts().iter().any(|(_, text)| template::names_in(text).any(|name| name == "wire"))
    }

    /// Every text in which names are replaced, with its path.
    fn texts(&self) -> Vec<(Vec<String>, &str)> {
        let path = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        let argv = self.argv.iter().enumerate().map(|(at, text)| (path(&["argv", &at.to_string()]), text.as_str()));
        let stdin = self.stdin.iter().map(|text| (path(&["stdin"]), text.as_str()));
        let files = self.files.iter().enumerate();
        let files = files.map(|(at, file)| (path(&["files", &at.to_string(), "text"]), file.text.as_str()));
        let variables = self.variables.iter().map(|(name, text)| (path(&["variables", name]), text.as_str()));
        argv.chain(stdin).chain(files).chain(variables).collect()
    }

    /// Names that an engine of this protocol, or of none, has no value for: those of a
    /// model, and the protocol's own name.
    pub fn unmet_names(&self, wire: Option<Wire>) -> Vec<UnmetName> {
        let unmet = |name: &&str| match wire {
            None => template::MODEL_NAMES.contains(name),
            Some(wire) => *name == "wire" && !self.wire_names.contains_key(&wire),
        };
        let why = |name: &str| match wire {
            None => format!("`{{{name}}}` stands for nothing: an engine without `wire` gets no model"),
            Some(wire) => format!("`{{{name}}}` stands for nothing: `wire_names` has none for {wire:?}"),
        };
        let found = |(path, text)| template::names_in(text).find(unmet).map(|name| UnmetName { path, why: why(name) });
        self.texts().into_iter().filter_map(found).collect()
    }
}

/// True for text that can name an engine. The limits are strict because ids become parts of
/// variables, file names and reports.
pub fn is_engine_id(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_lowercase())
        && text.len() <= 40
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// The middle of an engine's environment variables: `CTO_HARNESS_<NAME>_STAGE`.
pub fn variable_name(engine: &str) -> String {
    engine.to_ascii_uppercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> EngineDefinition {
        EngineDefinition {
            about: "a".to_owned(),
            program: "agent".to_owned(),
            only_named: false,
            native: Vec::new(),
            interpreter: None,
            identity: IdentityCheck {
                argv: vec!["--version".to_owned()],
                expect: "agent 1".to_owned(),
                or_words: Vec::new(),
            },
            unsupported: Vec::new(),
            wire: Some(Wire::Responses),
            wire_names: BTreeMap::new(),
            argv: vec!["run".to_owned(), "{task}".to_owned()],
            stdin: None,
            files: vec![ConfigTemplate { path: "{state}/c.json".to_owned(), text: "{\"m\": \"{model}\"}".to_owned() }],
            variables: BTreeMap::from([("KEY".to_owned(), "{token}".to_owned())]),
            cwd: None,
            lingers: false,
            auth_bridge: Vec::new(),
            litter: Vec::new(),
            not_kept: Vec::new(),
            events: Speech::default(),
        }
    }

    #[test]
    fn a_definition_keeps_the_token_and_the_brief_in_their_places() {
        assert!(definition().problems().is_empty(), "{:?}", definition().problems());
        type Change = fn(&mut EngineDefinition);
        let rows: &[(Change, &str)] = &[
            (|it| it.argv.push("{token}".to_owned()), "argv: `{token}`"),
            (|it| it.files[0].text.push_str("{token}"), "files.text: `{token}`"),
            (|it| it.files[0].text.push_str("{brief}"), "files.text: `{brief}`"),
            (|it| it.stdin = Some("{token}".to_owned()), "stdin: `{token}`"),
            (|it| it.argv.push("{modle}".to_owned()), "argv: `{modle}`"),
            (|it| it.identity.argv.push("{model}".to_owned()), "identity.argv: `{model}`"),
            (|it| it.files[0].path = "/etc/x".to_owned(), "does not lie below"),
            (|it| it.files[0].path = "{state}/../x".to_owned(), "does not lie below"),
            (|it| it.cwd = Some("{workspace}".to_owned()), "cwd: `{workspace}` does not lie below"),
            (|it| it.program = "/usr/bin/agent".to_owned(), "a name without a slash"),
            (|it| it.identity.expect.clear(), "identity.expect"),
            (|it| it.identity.or_words.push(Vec::new()), "identity.or_words"),
            (|it| it.argv.push("{wire}".to_owned()), "wire_names"),
        ];
        for (change, expected) in rows {
            let mut changed = definition();
            change(&mut changed);
            let problems = changed.problems();
            assert!(problems.iter().any(|problem| problem.contains(expected)), "{expected}: {problems:?}");
        }
    }

    #[test]
    fn names_of_a_model_need_a_wire() {
        let rows: [(Option<Wire>, &str, &[&str]); 5] = [
            (None, "{model}", &["argv.2", "files.0.text", "variables.KEY"]),
            (None, "{workspace}", &["files.0.text", "variables.KEY"]),
            (Some(Wire::Responses), "{model} {base_url}", &[]),
            (Some(Wire::Messages), "{wire}", &["argv.2"]),
            (Some(Wire::Responses), "{wire}", &[]),
        ];
        for (wire, text, expected) in rows {
            let mut it = definition();
            it.argv.push(text.to_owned());
            it.wire_names.insert(Wire::Responses, "openai".to_owned());
            let found: Vec<String> = it.unmet_names(wire).iter().map(|unmet| unmet.path.join(".")).collect();
            assert_eq!(found, expected, "{wire:?} {text}");
        }
    }

    #[test]
    fn ids_are_plain_words() {
        for (id, good) in [
            ("codex", true),
            ("my-agent2", true),
            ("", false),
            ("2x", false),
            ("A", false),
            ("a_b", false),
            ("a/b", false),
        ] {
            assert_eq!(is_engine_id(id), good, "{id:?}");
        }
        assert_eq!(variable_name("my-agent"), "MY_AGENT");
    }
}
