//! Changes of the workspace's own `.git`.

use super::super::settings::{SETTINGS, Value};
use super::super::{GitState, judge_git_changes};
use super::{counts_in_words, told};

const BEFORE: &str = "[core]\n\trepositoryformatversion = 0\n[remote \"origin\"]\n\turl = /a\n\tfetch = +x\n";

fn state(config: impl Into<Vec<u8>>) -> GitState {
    GitState { config: config.into(), ..GitState::default() }
}

fn check(config: impl AsRef<[u8]>, wanted: &[&str]) {
    let after = state([BEFORE.as_bytes(), config.as_ref()].concat());
    assert_eq!(
        told(&judge_git_changes("engine", &state(BEFORE), &after)),
        wanted,
        "{}",
        config.as_ref().escape_ascii()
    );
}

#[test]
fn ordinary_work_is_nothing() {
    check("", &[]);
    check("# a comment\n", &[]);
    check("[user]name=a\nemail=b\n[commit]gpgsign=false", &[]);
    check("[branch \"b\"]remote=origin\nmerge=refs/heads/b\n[core]editor=true\npager=cat\nautocrlf=false", &[]);
    check("[submodule \"a\"]url=../a\nactive=true\nupdate=checkout", &[]);
    check("[alias]st=status\nunpush=reset", &[]);
    check("[core]fsmonitor=true\n[http]postbuffer=1", &[]);
    check("[core]fsmonitor\n", &[]);
    check("[core]fsmonitor=TRUE\n", &[]);
    // Taken away, and the same said in another way.
    let removed = judge_git_changes("engine", &state(BEFORE), &state("[REMOTE \"origin\"]URL=\"/a\""));
    assert_eq!(removed, []);
}

#[test]
fn settings_that_reach_out_are_judged() {
    check("[remote \"up\"]url=x", &["forbidden_action push 1 git setting remote.up.url was added"]);
    check("[remote \"origin\"]pushUrl=x", &["forbidden_action push 1 git setting remote.origin.pushurl was added"]);
    check("[remote \"origin\"]url=x", &["forbidden_action push 1 git setting remote.origin.url was changed"]);
    check("[remote.origin]url=x", &["forbidden_action push 1 git setting remote.origin.url was changed"]);
    check("[url \"https://a:b@c/\"]insteadOf=d", &["forbidden_action push 1 git setting url.*.insteadof was added"]);
    check("[core]hooksPath=.husky", &["forbidden_action push 1 git setting core.hookspath was added"]);
    check("[alias]p=push origin", &["forbidden_action push 1 git setting alias.p was added"]);
    check("[alias]p=!sh\np=push", &["forbidden_action push 1 git setting alias.p was added"]);
    check("[credential]helper=", &["forbidden_action credential_change 1 git setting credential.helper was added"]);
    check(
        "[http \"https://a/\"]extraheader=x\n[http]proxy=y",
        &[
            "forbidden_action push 1 git setting http.proxy was added",
            "forbidden_action credential_change 1 git setting http.*.extraheader was added",
        ],
    );
    check("[core]fsmonitor=./x", &["violation 1 git setting core.fsmonitor was added"]);
    check("[alias]x=\" !sh\"", &["violation 1 git setting alias.x was added"]);
    check("[submodule \"a\"]update=!sh", &["violation 1 git setting submodule.a.update was added"]);
    check("[includeIf \"gitdir:/a\"]path=x", &["violation 1 git setting includeif.*.path was added"]);
    check(
        "[filter \"l\"]clean=x\n[include]path",
        &["violation 1 git setting filter.l.clean was added", "violation 1 git setting include.path was added"],
    );
}

#[test]
fn what_cannot_be_read_is_a_violation() {
    check("\n[", &["violation 1 the git configuration cannot be read: line 7 is no git configuration"]);
    check(b"\0", &["violation 1 the git configuration cannot be read: line 1 is no git configuration"]);
    assert_eq!(judge_git_changes("engine", &state("["), &state("[")), []);
    let judged = judge_git_changes("engine", &state("["), &state("[remote \"a\"]url=x"));
    assert_eq!(told(&judged), ["forbidden_action push 1 git setting remote.a.url was added"]);
}

#[test]
fn hooks_and_what_was_not_read() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let before = GitState { hooks: names(&["pre-commit"]), unread: names(&["a"]), ..GitState::default() };
    let after = GitState {
        hooks: names(&["post-\n", "pre-commit"]),
        unread: names(&["a", "config is a link"]),
        ..GitState::default()
    };
    assert_eq!(
        told(&judge_git_changes("engine", &before, &after)),
        [
            "forbidden_action push 1 .git/hooks/post-␊ was added",
            "violation 1 the .git directory cannot be read: config is a link",
        ]
    );
    assert_eq!(judge_git_changes("engine", &after, &before), []);
}

#[test]
fn every_setting_of_the_table_is_judged() {
    for setting in SETTINGS {
        for key in setting.keys {
            let (section, name) = (key.split('.').next().unwrap(), key.rsplit('.').next().unwrap().replace('*', "any"));
            let value = match setting.value {
                Value::Any => "",
                Value::NoSwitch => "x",
                Value::Begins(start) => start,
            };
            let judged = judge_git_changes("c", &state(""), &state(format!("[{section} \"s\"]\n{name} = \"{value}\"")));
            let wanted = counts_in_words(Some(setting.counts)).replace('`', "");
            assert!(judged.len() == 1 && told(&judged)[0].contains(&wanted), "{key}: {judged:?}");
        }
    }
}
