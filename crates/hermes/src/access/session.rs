//! Login links and sessions. Each link is used once and lapses soon; each form token is
//! used once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use contract::Digest;
use serde::Serialize;
use tokio::sync::watch;

use super::random::{is_same, random_value};

/// Name of the cookie, before the port of the server.
pub(super) const SESSION_COOKIE: &str = "hermes_session";
/// Sessions and links at a time; the oldest goes first.
const MOST_SESSIONS: usize = 256;
/// Form tokens of one session; the oldest goes first.
const MOST_FORMS: usize = 128;

/// Rights of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    ReadOnly,
    Operator,
}

impl Role {
    /// Name shown on pages and recorded in the ledger.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Operator => "operator",
        }
    }
}

/// Lifetimes of links and sessions.
#[derive(Debug, Clone, Copy)]
pub struct SessionPolicy {
    pub link: Duration,
    pub session: Duration,
    /// Pages can be read without a login.
    pub open_read_only: bool,
}

impl Default for SessionPolicy {
    fn default() -> Self {
        let (link, session) = (Duration::from_secs(600), Duration::from_secs(12 * 3600));
        Self { link, session, open_read_only: false }
    }
}

/// A link that logs in once.
#[derive(Debug, Clone)]
pub struct LoginLink {
    pub role: Role,
    /// Path below the server's address.
    pub path: String,
}

#[derive(Debug)]
struct Session {
    role: Role,
    since: Instant,
    /// Token of the form for logging out, which every page has.
    logout: String,
    /// Tokens of forms that were shown and not sent yet, oldest first.
    forms: Vec<String>,
}

#[derive(Debug)]
struct Link {
    role: Role,
    since: Instant,
}

#[derive(Debug, Default)]
struct SessionState {
    links: BTreeMap<String, Link>,
    sessions: BTreeMap<String, Session>,
}

/// All links and sessions of a server. Nothing of them is written down: a restart ends them.
#[derive(Debug)]
pub(crate) struct Sessions {
    policy: SessionPolicy,
    state: Mutex<SessionState>,
    /// Changes when a session was ended.
    ended: watch::Sender<()>,
}

impl Sessions {
    /// Empty store of sessions. They live in memory only, so a restart ends them all.
    pub(crate) fn new(policy: SessionPolicy) -> Self {
        Self { policy, state: Mutex::default(), ended: watch::channel(()).0 }
    }

    /// Lifetimes in force.
    pub(crate) fn policy(&self) -> SessionPolicy {
        self.policy
    }

    /// Makes a link; none without randomness.
    pub(crate) fn make_link(&self, role: Role) -> Option<LoginLink> {
        let token = random_value()?;
        let path = format!("/login/{token}");
        self.with(|state| {
            drop_oldest(&mut state.links, |link| link.since);
            state.links.insert(token, Link { role, since: Instant::now() })
        });
        Some(LoginLink { role, path })
    }

    /// Looks whether a link could be used, and leaves it.
    pub(crate) fn find_link(&self, token: &str) -> Option<Role> {
        let life = self.policy.link;
        self.with(|state| find(&state.links, token).filter(|link| link.since.elapsed() < life).map(|link| link.role))
    }

    /// Uses a link up. Gives the role and the value of the session's cookie.
    pub(crate) fn log_in(&self, token: &str) -> Option<(Role, String)> {
        let (value, logout) = (random_value()?, random_value()?);
        let life = self.policy.link;
        let made = self.with(|state| {
            let link = take(&mut state.links, token).filter(|link| link.since.elapsed() < life)?;
            drop_oldest(&mut state.sessions, |session| session.since);
            let session = Session { role: link.role, since: Instant::now(), logout, forms: Vec::new() };
            state.sessions.insert(value.clone(), session);
            Some((link.role, value.clone()))
        });
        // A new session may have ended the oldest.
        self.ended.send_replace(());
        made
    }

    /// Ends a session at once.
    pub(crate) fn log_out(&self, value: &str) {
        self.with(|state| take(&mut state.sessions, value));
        self.ended.send_replace(());
    }

    /// Returns when the session has ended, by a logout or by its age.
    pub(crate) async fn wait_for_end(&self, value: &str) {
        let mut ended = self.ended.subscribe();
        while let Some(left) = self.time_left(value) {
            // Either the time is over or some session was ended: both are looked at again.
            let _ = tokio::time::timeout(left, ended.changed()).await;
        }
    }

    /// Time that is left of a session; none of one that has ended.
    fn time_left(&self, value: &str) -> Option<Duration> {
        let life = self.policy.session;
        let since = self.with(|state| find(&state.sessions, value).map(|session| session.since))?;
        life.checked_sub(since.elapsed()).filter(|left| !left.is_zero())
    }

    /// Role of a live session; none if it is unknown or expired.
    pub(crate) fn find_role(&self, value: &str) -> Option<Role> {
        let life = self.policy.session;
        self.with(|state| {
            let session = find(&state.sessions, value)?;
            (session.since.elapsed() < life).then_some(session.role)
        })
    }

    /// The token for logging this session out.
    pub(crate) fn logout_token(&self, value: &str) -> Option<String> {
        self.with(|state| find(&state.sessions, value).map(|session| session.logout.clone()))
    }

    /// A token for one form of this session.
    pub(crate) fn make_form_token(&self, value: &str) -> Option<String> {
        let token = random_value()?;
        self.with(|state| {
            let session = state.sessions.get_mut(value)?;
            if session.forms.len() >= MOST_FORMS {
                session.forms.remove(0);
            }
            session.forms.push(token.clone());
            Some(token)
        })
    }

    /// Uses a form token up; false where it is not one of this session, or was used.
    pub(crate) fn take_form_token(&self, value: &str, token: &str) -> bool {
        self.with(|state| {
            let Some(session) = state.sessions.get_mut(value) else { return false };
            let found = session.forms.iter().position(|known| is_same(known, token));
            found.map(|at| session.forms.remove(at)).is_some()
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut SessionState) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Short name of a session for the ledger, which gives no access.
pub(crate) fn session_name(value: &str) -> String {
    Digest::of_bytes(value.as_bytes()).to_string().chars().take(12).collect()
}

fn find<'a, T>(all: &'a BTreeMap<String, T>, value: &str) -> Option<&'a T> {
    all.iter().find(|(known, _)| is_same(known, value)).map(|(_, found)| found)
}

fn take<T>(all: &mut BTreeMap<String, T>, value: &str) -> Option<T> {
    let known = all.keys().find(|known| is_same(known, value)).cloned()?;
    all.remove(&known)
}

fn drop_oldest<T>(all: &mut BTreeMap<String, T>, since: impl Fn(&T) -> Instant) {
    while all.len() >= MOST_SESSIONS {
        let oldest = all.iter().min_by_key(|(_, one)| since(one)).map(|(value, _)| value.clone());
        match oldest {
            Some(value) => all.remove(&value),
            None => break,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(link: &LoginLink) -> &str {
        link.path.strip_prefix("/login/").unwrap()
    }

    #[test]
    fn a_link_logs_in_once() {
        let sessions = Sessions::new(SessionPolicy::default());
        let link = sessions.make_link(Role::Operator).unwrap();
        assert_eq!(sessions.find_link(token(&link)), Some(Role::Operator), "looking leaves it");
        let (role, value) = sessions.log_in(token(&link)).unwrap();
        assert_eq!((role, sessions.find_role(&value)), (Role::Operator, Some(Role::Operator)));
        assert!(sessions.log_in(token(&link)).is_none(), "a second time");
        sessions.log_out(&value);
        assert_eq!(sessions.find_role(&value), None);
    }

    #[test]
    fn links_and_sessions_lapse() {
        let over = SessionPolicy { link: Duration::ZERO, ..SessionPolicy::default() };
        let sessions = Sessions::new(over);
        let link = sessions.make_link(Role::ReadOnly).unwrap();
        assert!(sessions.log_in(token(&link)).is_none());
        let over = SessionPolicy { session: Duration::ZERO, ..SessionPolicy::default() };
        let sessions = Sessions::new(over);
        let link = sessions.make_link(Role::ReadOnly).unwrap();
        let (_, value) = sessions.log_in(token(&link)).unwrap();
        assert_eq!(sessions.find_role(&value), None);
    }

    #[test]
    fn a_form_is_sent_once_and_by_its_own_session() {
        let sessions = Sessions::new(SessionPolicy::default());
        let log_in = || {
            let link = sessions.make_link(Role::Operator).unwrap();
            sessions.log_in(token(&link)).unwrap().1
        };
        let (one, other) = (log_in(), log_in());
        let form = sessions.make_form_token(&one).unwrap();
        assert!(!sessions.take_form_token(&other, &form), "another session's");
        assert!(sessions.take_form_token(&one, &form));
        assert!(!sessions.take_form_token(&one, &form), "a second time");
    }

    #[test]
    fn sessions_are_bounded() {
        let sessions = Sessions::new(SessionPolicy::default());
        for _ in 0..MOST_SESSIONS + 5 {
            sessions.make_link(Role::ReadOnly).unwrap();
        }
        assert_eq!(sessions.with(|state| state.links.len()), MOST_SESSIONS);
    }
}
