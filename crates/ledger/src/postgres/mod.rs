//! A ledger in a PostgreSQL database: everything that speaks its SQL, and the only code that knows the library.
//!
//! No table is read or written from here: each question and each change is a call of a function of the schema `cto`, which runs
//! with its owner's rights. The database itself checks the chain and makes the rows of an entry; a row that a client writes through
//! [`crate::store::Change`] is only compared with it.

mod check;
mod column;
mod connect;
mod entries;
mod leases;
mod open;
mod queue;
mod requests;
mod rungs;
mod runs;
mod schema;
mod tls;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::Duration;

use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::ToSql;
use postgres::{Client, Row, Statement};

use crate::fault::{FaultKind, StoreFault, StoreResult};
use crate::place::ServerPlace;

/// Number of the one lock that every change of a ledger holds: "ctoL".
const CHANGE_LOCK: i64 = 0x6374_6f4c;

/// The time in which what has come from the server is read.
const NOTICE_WAIT: Duration = Duration::from_millis(1);

/// Times that a change is begun where its connection is lost.
const CHANGE_TRIES: u32 = 3;

/// One connection to a ledger on a server.
pub(crate) struct PostgresStore {
    link: RefCell<Link>,
    place: ServerPlace,
    id: String,
    /// Version of its schema; a ledger that is only read may have an older one.
    version: i32,
    may_write: bool,
    /// Changes of the queue that the server has announced.
    stirs: Cell<u64>,
    /// The timeline that was read last.
    timeline: RefCell<Option<String>>,
    /// Rows of runs that could not be read, by their entries.
    unreadable: RefCell<BTreeMap<u64, String>>,
    /// A change has begun: a connection that is lost now is lost with it.
    changing: Cell<bool>,
}

/// A connection and the statements that it has prepared.
struct Link {
    client: Client,
    statements: HashMap<&'static str, Statement>,
    /// The server tells it of changes of the queue.
    is_listening: bool,
    /// The server ended it, or nothing comes through any more.
    is_lost: bool,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("place", &self.place).field("id", &self.id).finish_non_exhaustive()
    }
}

impl Link {
    fn ask(&mut self, sql: &'static str, values: &[&(dyn ToSql + Sync)]) -> StoreResult<Vec<Row>> {
        let asked = self.ask_prepared(sql, values);
        asked.map_err(|error| self.note_fault(error))
    }

    fn ask_prepared(&mut self, sql: &'static str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, postgres::Error> {
        let statement = match self.statements.get(sql) {
            Some(known) => known.clone(),
            None => {
                let made = self.client.prepare(sql)?;
                self.statements.insert(sql, made.clone());
                made
            }
        };
        self.client.query(&statement, values)
    }

    /// True if the server has announced something since the last look.
    fn has_notice(&mut self) -> StoreResult<bool> {
        let told = self.client.notifications().timeout_iter(NOTICE_WAIT).count();
        told.map(|count| count > 0).map_err(|error| self.note_fault(error))
    }

    /// Takes the one lock, before anything is read.
    fn begin_change(&mut self) -> StoreResult<()> {
        let locked =
            self.run(&format!("BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({CHANGE_LOCK})"));
        if locked.is_err() {
            // The cause is the lock; a connection that cannot roll back is closed by the server.
            let _ = self.run("ROLLBACK");
        }
        locked
    }

    /// Runs a statement that has no answer.
    fn run(&mut self, sql: &str) -> StoreResult<()> {
        let ran = self.client.batch_execute(sql);
        ran.map_err(|error| self.note_fault(error))
    }

    fn note_fault(&mut self, error: postgres::Error) -> StoreFault {
        self.is_lost |= is_loss(&error);
        error.into()
    }
}

impl PostgresStore {
    /// Id of the ledger.
    pub(crate) fn ledger_id(&self) -> &str {
        &self.id
    }

    /// One writer at a time: the lock is taken before anything is read, and every statement after it sees what the last writer
    /// committed. A connection that is lost before the commit was asked for has changed nothing, so the work is done once more.
    pub(crate) fn change_in_turn<T, E: From<StoreFault>>(
        &self,
        mut work: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        let mut tries = 0;
        loop {
            self.with_link(Link::begin_change)?;
            self.changing.set(true);
            let done = work();
            self.changing.set(false);
            tries += 1;
            if done.is_err() && self.link.borrow().is_lost && tries < CHANGE_TRIES {
                continue;
            }
            let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
            let ended = self.link.borrow_mut().run(end);
            let done = done?;
            ended?;
            return Ok(done);
        }
    }

    /// Asks a function of the schema.
    fn ask(&self, sql: &'static str, values: &[&(dyn ToSql + Sync)]) -> StoreResult<Vec<Row>> {
        match self.changing.get() {
            true => self.link.borrow_mut().ask(sql, values),
            false => self.with_link(|link| link.ask(sql, values)),
        }
    }

    /// Does what changes nothing by itself; once more with a new connection where the old one was lost, as after a restart of the
    /// server.
    fn with_link<T>(&self, act: impl Fn(&mut Link) -> StoreResult<T>) -> StoreResult<T> {
        let mut link = self.link.borrow_mut();
        if !link.is_lost {
            let done = act(&mut link);
            if !link.is_lost {
                return done;
            }
        }
        *link = connect::reconnect(&self.place, self.may_write).map_err(connect::ConnectServerError::into_fault)?;
        act(&mut link)
    }

    /// The one value of the one row that a function gives.
    fn ask_value<T: for<'a> postgres::types::FromSql<'a>>(
        &self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> StoreResult<T> {
        let rows = self.ask(sql, values)?;
        let row = rows.first().ok_or_else(|| column::unreadable_column("answer"))?;
        Ok(row.try_get(0)?)
    }
}

impl From<postgres::Error> for StoreFault {
    fn from(error: postgres::Error) -> Self {
        let kind = match error.code() {
            Some(code) if is_busy(code) => FaultKind::Busy,
            Some(code) if *code == SqlState::DISK_FULL => FaultKind::Full,
            Some(code) if is_refused(code) => FaultKind::ReadOnly,
            _ => FaultKind::Other,
        };
        Self { kind, cause: told(&error).into() }
    }
}

fn is_busy(code: &SqlState) -> bool {
    [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code)
}

fn is_refused(code: &SqlState) -> bool {
    [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::INSUFFICIENT_PRIVILEGE].contains(code)
}

/// The server's own sentence; the library's says only that there is one.
fn told(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => said.message().to_owned(),
        None => std::error::Error::source(error).map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")),
    }
}

/// The connection is of no further use.
fn is_loss(error: &postgres::Error) -> bool {
    let ended = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::IDLE_SESSION_TIMEOUT,
    ];
    match error.code() {
        Some(code) => ended.contains(code),
        None => error.is_closed() || std::error::Error::source(error).is_some_and(|cause| cause.is::<std::io::Error>()),
    }
}
