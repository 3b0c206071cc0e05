//! Case by a stand-in, ready to be connected by `cto setup`.

use std::net::TcpListener;
use std::path::PathBuf;

use fixtures::scripted::{Reply, Script, ScriptedServer, Step, When};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::World;

use super::{know_operator, text};
use crate::case::scene::install_stand_in;
use crate::world;

/// Replies that solve the case of stage 2.
fn solve_case() -> Script {
    let envelope = |more: Value| {
        let mut envelope = json!({"status": "completed", "summary": "done"});
        envelope.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Reply::text(format!("It is done.\n<<<AGENT_RESULT\n{envelope}\nAGENT_RESULT>>>"))
    };
    let step = |contains: &str, times: Option<u64>, reply: Reply| Step {
        when: When { contains: Some(contains.to_owned()), ..When::default() },
        times,
        reply,
    };
    let work = "sed -i 's/return text.lower().*/return \"-\".join(text.lower().split())/' strings.py";
    let claims = json!({"artifacts": {"filesChanged": ["strings.py"], "testsPassed": true}});
    let steps = vec![
        step("You are the implementer of", Some(1), Reply::call("bash", json!({"command": work}))),
        step("You are the implementer of", None, envelope(claims)),
        step("You are the ", None, envelope(json!({}))),
    ];
    Script { steps, otherwise: Reply::text("ready") }
}

/// A person with Case on this machine, and a model that answers.
pub(super) struct CaseScene {
    pub(super) world: World,
    launcher: PathBuf,
    server: ScriptedServer,
    _kept: TempDir,
}

impl CaseScene {
    pub(super) fn new() -> Self {
        let world = world();
        know_operator(&world);
        let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), solve_case()).unwrap();
        let (kept, launcher) = install_stand_in();
        Self { world, launcher, server, _kept: kept }
    }

    /// Words of a setup that does not say where the program is.
    pub(super) fn unnamed_words(&self) -> Vec<String> {
        let endpoint = format!("http://{}/v1", self.server.address());
        ["setup", "case", "--endpoint", &endpoint, "--model", "model-x"].map(str::to_owned).to_vec()
    }

    /// Words of a setup of Case.
    pub(super) fn words(&self, more: &[&str]) -> Vec<String> {
        let named = ["--bin", text(&self.launcher)];
        self.unnamed_words().into_iter().chain(named.iter().chain(more).map(|word| (*word).to_owned())).collect()
    }

    /// The workspace that setup makes.
    pub(super) fn workspace(&self) -> PathBuf {
        self.world.user().join("cto-workspace")
    }
}
