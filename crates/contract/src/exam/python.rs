//! The exam of Python: unittest, pytest and their launchers, and every way in which a file
//! runs merely by its presence.

use super::{Rule, Signs};

pub(super) const SIGNS: Signs = Signs {
    names: &["pyproject.toml", "setup.cfg", "tox.ini", "Pipfile", "requirements.txt", "pytest.ini"],
    endings: &["py", "pyi", "pyx", "ipynb"],
    programs: &[
        "python", "pypy", "pytest", "py.test", "unittest", "tox", "nox", "uv", "uvx", "poetry", "pipenv", "pdm",
        "hatch", "rye", "pixi", "pip", "coverage", "nose2", "behave", "robot", "stestr",
    ],
};

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = rules! {
    Tests "test[!aei]*.py" "what unittest loads by default, but for words that begin so; pytest loads those with an underscore"
        is ["test_a.py", "app/tests.py", "testparse.py"]
        not ["contest.py", "test_a.pyc", "testament.py", "tester.py", "testing.py", "testimonials.py"]
    Tests "test{,a,e,i}.py" "what unittest loads by default"
        is ["test.py", "testa.py", "teste.py", "testi.py"] not ["attest.py"]
    Tests "testa[!m]*.py" "what unittest loads by default, and no testament"
        is ["testapp.py"] not ["testament.py"]
    Tests "teste[!r]*.py" "what unittest loads by default, and no tester"
        is ["testexport.py"] not ["tester.py"]
    Tests "testi[!fmn]*.py" "what unittest loads by default, and nothing that testifies, no testimony and no testing"
        is ["testio.py"] not ["testify.py", "testimonials.py", "testing.py"]
    Tests "testim[!o]*.py" "what unittest loads by default, and no testimony"
        is ["testimport.py"] not ["testimonials.py"]
    Tests "testin[!g]*.py" "what unittest loads by default, and no testing"
        is ["testinput.py"] not ["testing.py", "testing_tools.py"]
    Tests "*_{test,tests}.py" "what pytest loads by default, and its plural"
        is ["pkg/a_test.py", "a_tests.py"] not ["latest.py"]
    Tests "conftest.py" "pytest runs it before any test"
        is ["conftest.py", "pkg/conftest.py"] not ["conf.py"]
    Tests "*.robot" "tests of Robot Framework"
        is ["suite/login.robot"] not ["robot.py"]

    Runner "pyproject.toml" "the manifest; also the configuration of pytest, coverage and the build"
        is ["pyproject.toml", "packages/a/pyproject.toml"] not ["project.toml"]
    Runner "setup.cfg" "configuration of pytest, nose and the build"
        is ["setup.cfg"] not ["app/setup.cfg.md"]
    Runner "{pytest,.pytest}.{ini,toml}" "configuration of pytest: which tests, which plugins, which options"
        is ["pytest.ini", ".pytest.ini", "pytest.toml"] not ["pytest.md"]
    Runner "tox.{ini,toml}" "configuration of tox, and of pytest"
        is ["tox.ini", "tox.toml"] not ["toxic.ini"]
    Runner "noxfile.py" "what nox runs"
        is ["noxfile.py"] not ["nox.md"]
    Runner ".coveragerc" "configuration of coverage; it can name plugins that are loaded"
        is [".coveragerc"] not ["coverage.xml"]
    Runner "hatch.toml" "what hatch runs"
        is ["hatch.toml"] not ["hatch.md"]
    Runner "{nose2,unittest}.cfg" "configuration of nose2"
        is ["nose2.cfg", "unittest.cfg"] not ["a.cfg"]
    Runner "{behave.ini,.behaverc}" "configuration of behave"
        is ["behave.ini", ".behaverc"] not ["behave.md"]
    Runner "manage.py" "Django starts its tests through it"
        is ["manage.py", "site/manage.py"] not ["manager.py"]
    Runner "{uv,poetry,pdm,pixi}.toml" "how the environment of the tests is made"
        is ["uv.toml", "poetry.toml", "pdm.toml", "pixi.toml"] not ["a.toml"]
    Runner "Pipfile" "what is installed; an installed pytest plugin is loaded without being named"
        is ["Pipfile"] not ["src/pipfile.py"]
    Runner "{Pipfile,poetry,uv,pdm,pixi}.lock" "which runner and which plugins are installed"
        is ["Pipfile.lock", "poetry.lock", "uv.lock", "pdm.lock", "pixi.lock"] not ["a.lock"]
    Runner "pylock*.toml" "which runner and which plugins are installed"
        is ["pylock.toml", "pylock.dev.toml"] not ["lock.toml"]
    Runner "*requirements*.{txt,in}" "which runner and which plugins are installed"
        is ["requirements.txt", "dev-requirements.in"] not ["docs/requirements.md"]
    Runner "requirements/" "which runner and which plugins are installed"
        is ["requirements/dev.txt"] not ["docs/required/a.txt"]
    Runner "constraints*.txt" "which runner and which plugins are installed"
        is ["constraints.txt", "constraints-3.12.txt"] not ["constraint.py"]
    Runner ".python-version" "chooses the interpreter"
        is [".python-version"] not ["python-version"]
    Runner "{unittest,pytest,_pytest,pluggy,iniconfig}.py" "a module of this name is run in place of the runner"
        is ["unittest.py", "pytest.py", "_pytest.py", "pluggy.py", "src/iniconfig.py"] not ["my_pytest.py"]
    Runner "{unittest,pytest,_pytest,pluggy,iniconfig}/" "a package of this name is run in place of the runner"
        is ["unittest/__init__.py", "pytest/__main__.py", "_pytest/a.py", "pluggy/a.py", "iniconfig/a.py"]
        not ["my_pytest/a.py"]
    Runner "/{doctest,coverage,xdist,nose2,tox,nox,behave,pytest_*}.py" "in the root, it is run in place of a runner or plugin"
        is ["doctest.py", "coverage.py", "xdist.py", "nose2.py", "tox.py", "nox.py", "behave.py", "pytest_cov.py"]
        not ["src/coverage.py"]
    Runner "/{coverage,xdist,nose2,tox,nox,behave,pytest_*}/" "in the root, it is run in place of a runner or plugin"
        is ["coverage/__main__.py", "xdist/a.py", "nose2/a.py", "tox/a.py", "nox/a.py", "behave/a.py", "pytest_cov/a.py"]
        not ["src/pytest_cov/a.py"]

    BuildHook "setup.py" "code that installing runs"
        is ["setup.py", "packages/a/setup.py"] not ["setup_db.py"]
    BuildHook "hatch_build.py" "code that building runs"
        is ["hatch_build.py"] not ["build.py"]
    BuildHook "{site,user}customize.py" "the interpreter runs it at every start"
        is ["sitecustomize.py", "lib/usercustomize.py"] not ["customize.py"]
    BuildHook "{site,user}customize/" "the interpreter runs it at every start"
        is ["sitecustomize/__init__.py", "usercustomize/__init__.py"] not ["customize/a.py"]
    BuildHook "*.pth" "the interpreter runs lines of it at every start"
        is ["lib/a.pth"] not ["a.path"]
    BuildHook "*.egg-link" "puts another folder on the module path"
        is ["a.egg-link"] not ["a.link"]
    BuildHook "*.{dist,egg}-info/" "its entry points name pytest plugins, which are loaded without being asked for"
        is ["evil-1.0.dist-info/entry_points.txt", "a.egg-info/entry_points.txt"] not ["info/a.txt"]
    BuildHook ".venv/" "uv, poetry and hatch run what is installed there"
        is [".venv/bin/python"] not ["venv.md"]
    BuildHook "__pypackages__/" "pdm runs what is installed there"
        is ["__pypackages__/3.12/lib/a.py"] not ["packages/a"]
};
