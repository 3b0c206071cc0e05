//! Bytecode in a sandbox: that of Python's installed library is used, that of the tree never.

use serde_json::json;
use testkit::each_row;

use super::Ended;
use crate::world;

/// Bytecode that says something else than the source beside it, and that Python would not compare with that.
const PLANT: &str = "import py_compile, sys
sys.pycache_prefix = None
open('word.py', 'w').write('WORD = \"planted\"\\n')
py_compile.compile('word.py', invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
open('word.py', 'w').write('WORD = \"source\"\\n')";

/// Ends well if bytecode of the library is where Python looks for it, and is not Python's to change.
const LIBRARY: &str = "import json, os, sys
cached = json.__spec__.cached
assert cached.startswith('/tmp/pycache/'), cached
assert os.path.exists(cached), 'Python compiles its library'
assert os.path.realpath(cached) == os.path.dirname(json.__file__) + '/__pycache__/' + os.path.basename(cached)
try:
    os.unlink(cached)
except OSError:
    sys.exit()
sys.exit('bytecode of the library was removed')";

#[test]
fn bytecode_of_the_library_is_used_and_that_of_the_tree_is_not() {
    let python = json!(["python3", "-c", LIBRARY]);
    let planted =
        |word: &str| json!(["python3", "-c", format!("import word; assert word.WORD == {word:?}, word.WORD")]);
    let compiled = json!(["python3", "-m", "py_compile", "word.py"]);
    let beside = json!({"variables": {"PYTHONPYCACHEPREFIX": ""}});
    let setup = json!({"setup": [["python3", "-c", PLANT]]});
    let rows = [
        ("the library", json!({}), json!([python])),
        ("the tree, which may keep bytecode of its own", setup.clone(), json!([planted("source"), compiled])),
        ("the tree as the contract wants it: the control", joined(&setup, &beside), json!([planted("planted")])),
        (
            "the library with a place that the contract chose",
            beside,
            json!([[
                "python3",
                "-c",
                "import json, os, sys; assert sys.pycache_prefix is None; assert not os.path.exists('/tmp/pycache')"
            ]]),
        ),
    ];
    let world = world();
    each_row(rows.iter().map(|row| (row.0, row)), |(_, environment, commands)| {
        let changes = [("environment", environment.to_string()), ("verification_commands", commands.to_string())];
        let case = world.case("made", &changes.each_ref().map(|(key, value)| (*key, value.as_str())));
        let _ = Ended::of(&world, &case, None).expect("pass", &[]);
    });
}

fn joined(one: &serde_json::Value, other: &serde_json::Value) -> serde_json::Value {
    let mut both = one.as_object().cloned().unwrap_or_default();
    both.extend(other.as_object().cloned().unwrap_or_default());
    both.into()
}
