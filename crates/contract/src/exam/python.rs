//! The exam of Python: unittest, pytest and their launchers, and every way in which a file
//! runs merely by its presence.

use super::{Rule, Signs};

/// Signs of the ecosystem.
pub(super) const SIGNS: Signs = Signs {
    names: &["pyproject.toml", "setup.cfg", "tox.ini", "Pipfile", "requirements.txt", "pytest.ini"],
    endings: &["py", "pyi", "pyx", "ipynb"],
    programs: &[
        "python", "pypy", "pytest", "py.test", "unittest", "tox", "nox", "uv", "uvx", "poetry", "pipenv", "pdm",
        "hatch", "rye", "pixi", "pip", "coverage", "nose2", "behave", "robot", "stestr",
    ],
};

/// Rules of this table.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = rules! {
    Tests "test[!aei]*.py" "files that unittest loads by default; pytest loads those with an underscore"
        is ["test_a.py", "app/tests.py", "testparse.py"]
        not ["contest.py", "test_a.pyc", "testament.py", "tester.py", "testing.py", "testimonials.py"]
    Tests "test{,a,e,i}.py" "files that unittest loads by default"
        is ["test.py", "testa.py", "teste.py", "testi.py"] not ["attest.py"]
    Tests "testa[!m]*.py" "files that unittest loads by default; not `testament.py`"
        is ["testapp.py"] not ["testament.py"]
    Tests "teste[!r]*.py" "files that unittest loads by default; not `tester.py`"
        is ["testexport.py"] not ["tester.py"]
    Tests "testi[!fmn]*.py" "files that unittest loads by default; not `testify.py`, `testimony.py` or `testing.py`"
        is ["testio.py"] not ["testify.py", "testimonials.py", "testing.py"]
    Tests "testim[!o]*.py" "files that unittest loads by default; not `testimony.py`"
        is ["testimport.py"] not ["testimonials.py"]
    Tests "testin[!g]*.py" "files that unittest loads by default; not `testing.py`"
        is ["testinput.py"] not ["testing.py", "testing_tools.py"]
    Tests "*_{test,tests}.py" "pytest loads `*_test.py` by default; `*_tests.py` is common too"
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
    Runner "noxfile.py" "nox runs it"
        is ["noxfile.py"] not ["nox.md"]
    Runner ".coveragerc" "configuration of coverage, which can load plugins"
        is [".coveragerc"] not ["coverage.xml"]
    Runner "hatch.toml" "configuration of hatch, with the scripts that it runs"
        is ["hatch.toml"] not ["hatch.md"]
    Runner "{nose2,unittest}.cfg" "configuration of nose2"
        is ["nose2.cfg", "unittest.cfg"] not ["a.cfg"]
    Runner "{behave.ini,.behaverc}" "configuration of behave"
        is ["behave.ini", ".behaverc"] not ["behave.md"]
    Runner "manage.py" "Django starts its tests through it"
        is ["manage.py", "site/manage.py"] not ["manager.py"]
    Runner "{uv,poetry,pdm,pixi}.toml" "configuration of the tool that installs the tests' packages"
        is ["uv.toml", "poetry.toml", "pdm.toml", "pixi.toml"] not ["a.toml"]
    Runner "Pipfile" "lists packages to install; pytest loads every installed plugin"
        is ["Pipfile"] not ["src/pipfile.py"]
    Runner "{Pipfile,poetry,uv,pdm,pixi}.lock" "fixes the installed runner and plugins"
        is ["Pipfile.lock", "poetry.lock", "uv.lock", "pdm.lock", "pixi.lock"] not ["a.lock"]
    Runner "pylock*.toml" "fixes the installed runner and plugins"
        is ["pylock.toml", "pylock.dev.toml"] not ["lock.toml"]
    Runner "*requirements*.{txt,in}" "fixes the installed runner and plugins"
        is ["requirements.txt", "dev-requirements.in"] not ["docs/requirements.md"]
    Runner "requirements/" "fixes the installed runner and plugins"
        is ["requirements/dev.txt"] not ["docs/required/a.txt"]
    Runner "constraints*.txt" "fixes the installed runner and plugins"
        is ["constraints.txt", "constraints-3.12.txt"] not ["constraint.py"]
    Runner ".python-version" "chooses the interpreter"
        is [".python-version"] not ["python-version"]
    Runner "{unittest,pytest,_pytest,pluggy,iniconfig}.py" "Python would run this module instead of the runner"
        is ["unittest.py", "pytest.py", "_pytest.py", "pluggy.py", "src/iniconfig.py"] not ["my_pytest.py"]
    Runner "{unittest,pytest,_pytest,pluggy,iniconfig}/" "Python would run this package instead of the runner"
        is ["unittest/__init__.py", "pytest/__main__.py", "_pytest/a.py", "pluggy/a.py", "iniconfig/a.py"]
        not ["my_pytest/a.py"]
    Runner "/{doctest,coverage,xdist,nose2,tox,nox,behave,pytest_*}.py" "in the root, Python would run it instead of a runner or plugin"
        is ["doctest.py", "coverage.py", "xdist.py", "nose2.py", "tox.py", "nox.py", "behave.py", "pytest_cov.py"]
        not ["src/coverage.py"]
    Runner "/{coverage,xdist,nose2,tox,nox,behave,pytest_*}/" "in the root, Python would run it instead of a runner or plugin"
        is ["coverage/__main__.py", "xdist/a.py", "nose2/a.py", "tox/a.py", "nox/a.py", "behave/a.py", "pytest_cov/a.py"]
        not ["src/pytest_cov/a.py"]

    BuildHook "setup.py" "runs during installation"
        is ["setup.py", "packages/a/setup.py"] not ["setup_db.py"]
    BuildHook "hatch_build.py" "runs during the build"
        is ["hatch_build.py"] not ["build.py"]
    BuildHook "{site,user}customize.py" "Python runs it at every start"
        is ["sitecustomize.py", "lib/usercustomize.py"] not ["customize.py"]
    BuildHook "{site,user}customize/" "Python runs it at every start"
        is ["sitecustomize/__init__.py", "usercustomize/__init__.py"] not ["customize/a.py"]
    BuildHook "*.pth" "Python runs lines of it at every start"
        is ["lib/a.pth"] not ["a.path"]
    BuildHook "*.egg-link" "puts another folder on the module path"
        is ["a.egg-link"] not ["a.link"]
    BuildHook "*.{dist,egg}-info/" "its entry points can name pytest plugins, which pytest loads automatically"
        is ["evil-1.0.dist-info/entry_points.txt", "a.egg-info/entry_points.txt"] not ["info/a.txt"]
    BuildHook ".venv/" "uv, poetry and hatch run the programs that are installed there"
        is [".venv/bin/python"] not ["venv.md"]
    BuildHook "__pypackages__/" "pdm runs the programs that are installed there"
        is ["__pypackages__/3.12/lib/a.py"] not ["packages/a"]
};
