//! tox and nox, which start pytest.

use serde_json::{Value, json};
use testkit::{quick, same_place};

use super::{Project, WEAKENED, WEAKENED_AND_FAILED, check};

const TEST: &str = "import pytest\n\nfrom adder import add\n\n\ndef test_adds():\n    assert add(1, 1) == 2\n\n\ndef test_stays():\n    assert add(1, 0) == 1\n\n\n@pytest.mark.skip\ndef test_later():\n    assert False\n";

/// A sandbox that shows tox, nox and pytest.
fn environment(test: &str) -> Option<Value> {
    let python = testkit::sessions_python(test)?;
    let (bin, venv) = (python.parent()?, python.parent()?.parent()?);
    let base = std::fs::canonicalize(&python).ok()?.parent()?.parent()?.to_owned();
    let is_shown = base.starts_with("/usr");
    let mounts: Vec<Value> = [same_place(venv)].into_iter().chain((!is_shown).then(|| same_place(&base))).collect();
    Some(quick(json!({"mounts": mounts, "path": [bin]})))
}

fn project(runner: &'static str, files: &'static [(&'static str, &'static str)], environment: Value) -> Project {
    Project {
        runner,
        files,
        source: "adder.py",
        broken: "def add(a, b):\n    return a - b\n",
        mended: "def add(a, b):\n    return a + b\n",
        exits: "import os\n\n\ndef add(a, b):\n    os._exit(0)\n",
        wrong: "def add(a, b):\n    return a - b - 0\n",
        command: json!([runner]),
        environment,
        failing: "test_adder.py::test_adds",
        when_it_exits: WEAKENED,
        skipping: None,
    }
}

/// tox hands pytest no variables, so that the names come from what pytest prints.
#[test]
fn tox() {
    let Some(environment) = environment("runners::sessions::tox") else { return };
    let files = &[
        (".gitignore", ".tox/\n"),
        (
            "tox.ini",
            "[tox]\nenv_list = py\n\n[testenv]\npackage = skip\nallowlist_externals = pytest\ncommands = pytest -v -p no:cacheprovider\n",
        ),
        ("test_adder.py", TEST),
        ("conftest.py", ""),
    ];
    check(&Project { when_it_exits: WEAKENED_AND_FAILED, ..project("tox", files, environment) });
}

#[test]
fn nox() {
    let Some(environment) = environment("runners::sessions::nox") else { return };
    let files = &[
        (".gitignore", ".nox/\n__pycache__/\n"),
        (
            "noxfile.py",
            "import nox\n\n\n@nox.session(python=False)\ndef tests(session):\n    session.run(\"python\", \"-m\", \"pytest\", \"-p\", \"no:cacheprovider\")\n",
        ),
        ("test_adder.py", TEST),
        ("conftest.py", ""),
    ];
    check(&project("nox", files, environment));
}
