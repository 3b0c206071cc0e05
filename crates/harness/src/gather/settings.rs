//! Facts of phase A: settings, records and files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use contract::Stamp;
use contract::decision::{HiddenProgram, Profile, SettingFacts};
use contract::engine::{GateSaid, GateSpeaker};
use evidence::stop;

use crate::gather::admission::find_target_admission;
use crate::gather::engine::equip::{Equipment, Equipped, equip};
use crate::gather::model;
use crate::gather::source_target::find_source_target;
use crate::home::ask::Ask;
use crate::home::engines::Engine;
use crate::home::placement::HostPlaces;
use crate::home::task::Task;
use crate::judge::environment;
use crate::run::harness::Harness;
use crate::run::{availability, halt};

/// Gathers it; and the engine's program, where it was looked for and is the one.
pub(crate) fn settings(harness: &Harness, task: &Task, ask: &Ask, now: Stamp) -> (SettingFacts, Option<Equipped>) {
    let mut engine = harness.engines.find_engine(&ask.engine);
    if stop::has_defect("gate_left_open")
        && let Some(engine) = &mut engine
    {
        engine.config.gate =
            vec![GateSaid { by: GateSpeaker::Environment, allowed: Some(true), stage: Some(ask.stage) }];
    }
    let wire = match &engine {
        Some(engine) => engine.wire(),
        None => task.fake.as_ref().and_then(|fake| fake.wire),
    };
    let halted = halt::look_for_halt(&harness.switch).is_some();
    let gated = engine.is_some();
    let engine_unavailable = (!gated && task.fake.is_none()).then(|| {
        format!("`{}` has no instructions for the fake engine, and no other engine was named", task.contract.task_id)
    });
    let model = wire.map(|wire| {
        let mut facts = model::model_facts(&harness.models, &harness.records, wire, &ask.model, now);
        facts.auth_bridge = engine.as_ref().and_then(|engine| model::auth_bridge(&harness.models, &facts, engine));
        facts
    });
    let is_open = |engine: &Engine| gate::engine::is_open(&engine.id, &engine.config.gate, ask.stage);
    let may_look = !halted && engine.as_ref().is_none_or(is_open);
    let equipment = engine.map(|engine| equip(harness, engine, ask, now, may_look && ask.sandbox != Profile::None));
    let (sandbox_available, sandbox_shortfall) = availability::profiles(harness, ask.sandbox);
    let (missing_programs, hidden_programs) = missing_programs(harness, task, ask.sandbox);
    let confined = ask.sandbox != Profile::None;
    let (setting, equipped) = match equipment {
        Some(Equipment { setting, equipped }) => (Some(setting), equipped),
        None => (None, None),
    };
    let facts = SettingFacts {
        gated,
        engine_unavailable,
        missing_programs,
        halted,
        sandbox_asked: ask.sandbox,
        sandbox_available,
        sandbox_shortfall,
        hidden_programs,
        environment_unavailable: if confined { Vec::new() } else { environment_unavailable(task) },
        environment_problems: if confined { environment::problems(&harness.tools, task) } else { Vec::new() },
        engine: setting,
        model,
        target_admission: find_target_admission(harness, task, ask, now),
        source_target: may_look.then(|| find_source_target(harness, task, ask)).flatten(),
    };
    (facts, equipped)
}

/// Programs of the exam that are not on the search path, and those that are but not where a
/// sandbox looks. One with a slash lies in the tree and is found out later, and so is one
/// that may lie in a folder of the tree.
fn missing_programs(harness: &Harness, task: &Task, profile: Profile) -> (Vec<String>, Vec<HiddenProgram>) {
    let environment = &task.contract.environment;
    let searched = harness.tools.search_path(&environment.path, profile);
    if environment.path.iter().any(|dir| !dir.starts_with('/')) {
        return (Vec::new(), Vec::new());
    }
    let places = (profile != Profile::None).then(|| HostPlaces::new(&harness.tools, environment));
    let on_host = |dir: &PathBuf| places.as_ref().map_or_else(|| Some(dir.clone()), |places| places.host_path(dir));
    let hosts: Vec<PathBuf> = searched.iter().filter_map(on_host).collect();
    let of_environment = environment.setup.iter().chain(&environment.build);
    let commands = task.contract.verification_commands.iter().chain(of_environment).map(|command| &command.argv);
    let blind = task.contract.blind_checks.iter().map(|check| &check.argv);
    let find = |program: &str, dirs: &[PathBuf]| sandbox::find_program(program, dirs, Path::new("/"));
    let names: BTreeSet<&String> = commands.chain(blind).filter_map(|argv| argv.first()).collect();
    let (mut missing, mut hidden) = (Vec::new(), Vec::new());
    for name in names {
        if let Some(hidden_place) = places.as_ref().and_then(|places| hidden_place(places, name)) {
            hidden.push(HiddenProgram { name: name.clone(), directory: hidden_place });
        }
        if name.contains('/') || find(name, &hosts).is_some() {
            continue;
        }
        let everywhere = harness.tools.search_path(&environment.path, Profile::None);
        match find(name, &everywhere).as_deref().and_then(Path::parent) {
            Some(directory) => {
                hidden.push(HiddenProgram { name: name.clone(), directory: directory.display().to_string() });
            }
            None => missing.push(name.clone()),
        }
    }
    (missing, hidden)
}

/// The folder of a program that is named by its whole path, if a sandbox does not show it.
fn hidden_place(places: &HostPlaces, name: &str) -> Option<String> {
    let path = Path::new(name);
    let in_tree = path.starts_with(crate::home::placement::TREE);
    let is_hidden = path.is_absolute() && !in_tree && places.host_path(path).is_none();
    is_hidden.then(|| path.parent().unwrap_or(path).display().to_string())
}

/// Parts of a contract's environment that only a real sandbox gives; without one they are
/// refused, never left out.
fn environment_unavailable(task: &Task) -> Vec<String> {
    let environment = &task.contract.environment;
    let parts = [
        ("mounts", !environment.mounts.is_empty()),
        ("setup", !environment.setup.is_empty()),
        ("setup_inputs", !environment.setup_inputs.is_empty()),
        ("setup_network", !environment.setup_network.is_empty()),
        ("build", !environment.build.is_empty()),
    ];
    parts.iter().filter(|(_, asked)| *asked).map(|(name, _)| (*name).to_owned()).collect()
}
