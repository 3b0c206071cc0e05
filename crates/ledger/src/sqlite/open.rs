//! Opening a ledger file: made on first use with mode 0600, refused with a reason when it
//! is not one we can use.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, Transaction, TransactionBehavior};
use untrusted_fs::own_files::{self, OwnOptions as _, OwnPath as _};

use super::entries::head;
use super::{SqliteStore, is_busy, schema};
use crate::open_error::{OpenLedgerError, is_ledger_id, new_ledger_id};

/// Statements that stay prepared: as many as a run has different ones.
const STATEMENTS_KEPT: usize = 64;
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Number of pages after which the log is folded into the file. Opening an idle ledger
/// reads the log once, so a short one keeps opening cheap, and folding on every close would
/// cost two more flushes a command.
const LOG_PAGES: u32 = 200;

impl SqliteStore {
    /// Opens the file for reading and appending, makes it when there is none, and brings an
    /// older one forward.
    pub(crate) fn open_file(path: &Path, pass: &dyn Fn(&'static str)) -> Result<Self, OpenLedgerError> {
        let fail = Failing(path);
        look(path)
            .or_else(|error| match error.kind() {
                ErrorKind::NotFound => make_file(path),
                _ => Err(error),
            })
            .map_err(|error| fail.io(error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|error| fail.sqlite(error))?;
        prepare(&connection).map_err(|error| fail.sqlite(error))?;
        if connection.is_readonly(MAIN_DB).map_err(|error| fail.sqlite(error))? {
            return Err(fail.read_only());
        }
        if is_new(&connection).map_err(|error| fail.sqlite(error))? {
            create(&connection, &fail)?;
        }
        let store = fail.admit(connection)?;
        if store.version == schema::VERSION {
            return Ok(store);
        }
        schema::migrate_file(&store.connection, pass).map_err(|error| fail.sqlite(error))?;
        fail.admit(store.connection)
    }

    /// Opens the file so that every write through it is refused.
    pub(crate) fn open_existing_read_only(path: &Path) -> Result<Self, OpenLedgerError> {
        let fail = Failing(path);
        look(path).map_err(|error| fail.io(error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|error| fail.sqlite(error))?;
        prepare(&connection).map_err(|error| fail.sqlite(error))?;
        match fail.admit(connection) {
            // SQLite needs its two side files to follow a live ledger. Where they neither
            // exist nor can be made (a read-only medium), nobody is writing, and the file
            // alone is the whole ledger.
            Err(OpenLedgerError::ReadOnly { .. }) if !side_file(path, "-wal").own_exists() => {
                fail.admit(open_immutable(path).map_err(|error| fail.sqlite(error))?)
            }
            admitted => admitted,
        }
    }
}

/// Fails unless `path` is a regular file; follows links.
fn look(path: &Path) -> io::Result<()> {
    let metadata = own_files::metadata(path)?;
    if metadata.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(ErrorKind::InvalidData.into());
    }
    Ok(())
}

/// The mode is given at creation, since SQLite would leave it to the umask; its side files
/// take the mode of this one.
fn make_file(path: &Path) -> io::Result<()> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).own_open(path);
    match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(_) => match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) => own_files::open_file(parent)?.sync_all(),
            None => Ok(()),
        },
    }
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // A plan that looked at a bound value, such as that of a limit, would be made anew for each.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)
}

fn is_new(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(schema::version(connection)? == 0 && schema::application_id(connection)? == 0 && schema::is_empty(connection)?)
}

fn create(connection: &Connection, fail: &Failing<'_>) -> Result<(), OpenLedgerError> {
    let id = new_ledger_id().map_err(|error| fail.io(error))?;
    use_log(connection).map_err(|error| fail.sqlite(error))?;
    schema::create_schema(connection, &id).map_err(|error| fail.sqlite(error))
}

/// Switching to the write-ahead log does not wait for its turn as other statements do, so
/// several processes that make the same ledger at once have to try again.
fn use_log(connection: &Connection) -> rusqlite::Result<()> {
    const PAUSE: Duration = Duration::from_millis(5);
    let mut tries = BUSY_TIMEOUT.as_millis() / PAUSE.as_millis();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) && tries > 0 => {
                tries -= 1;
                std::thread::sleep(PAUSE);
            }
            done => return done,
        }
    }
}

fn open_immutable(path: &Path) -> rusqlite::Result<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?mode=ro&immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

fn side_file(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Turns what went wrong with the file at this path into what a person can act on.
struct Failing<'a>(&'a Path);

impl Failing<'_> {
    /// The checks every opening makes, as of one moment: another process may just be making
    /// the ledger, or bringing it forward.
    fn admit(&self, connection: Connection) -> Result<SqliteStore, OpenLedgerError> {
        let snapshot = Transaction::new_unchecked(&connection, TransactionBehavior::Deferred);
        let snapshot = snapshot.map_err(|error| self.sqlite(error))?;
        let (id, version) = self.check(&snapshot)?;
        drop(snapshot);
        Ok(SqliteStore { connection, id, version })
    }

    /// Two numbers of the header, two rows of `meta` and the last entry.
    fn check(&self, connection: &Connection) -> Result<(String, i32), OpenLedgerError> {
        // A file that somebody has made and not laid out yet holds no ledger.
        if is_new(connection).map_err(|error| self.sqlite(error))? {
            return Err(OpenLedgerError::Missing { path: self.0.to_owned() });
        }
        let found = schema::version(connection).map_err(|error| self.sqlite(error))?;
        let application = schema::application_id(connection).map_err(|error| self.sqlite(error))?;
        if application != schema::APPLICATION_ID {
            return Err(self.not_a_ledger());
        }
        if found > schema::VERSION {
            return Err(OpenLedgerError::NewerVersion { path: self.0.to_owned(), found, known: schema::VERSION });
        }
        let id = self.read_meta(connection, found)?;
        head(connection).map_err(|error| self.sqlite(error))?;
        Ok((id, found))
    }

    fn read_meta(&self, connection: &Connection, found: i32) -> Result<String, OpenLedgerError> {
        let version = schema::meta(connection, "schema_version").map_err(|error| self.sqlite(error))?;
        let id = schema::meta(connection, "ledger_id").map_err(|error| self.sqlite(error))?;
        match version == found.to_string() && is_ledger_id(&id) {
            true => Ok(id),
            false => Err(self.damaged()),
        }
    }

    fn io(&self, error: io::Error) -> OpenLedgerError {
        let path = self.0.to_owned();
        match error.kind() {
            ErrorKind::NotFound => OpenLedgerError::Missing { path },
            ErrorKind::IsADirectory => OpenLedgerError::Directory { path },
            ErrorKind::InvalidData => OpenLedgerError::NotALedger { path },
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => OpenLedgerError::ReadOnly { path },
            _ => OpenLedgerError::Io { path, error },
        }
    }

    fn sqlite(&self, error: rusqlite::Error) -> OpenLedgerError {
        let path = self.0.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) if !starts_like_sqlite(self.0) => self.not_a_ledger(),
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => self.damaged(),
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => self.read_only(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenLedgerError::Busy { path },
            // A table or row that every ledger has is not there, or not what it should be.
            Some(ErrorCode::Unknown) | None => self.damaged(),
            _ => OpenLedgerError::Store { path, error: error.into() },
        }
    }

    fn not_a_ledger(&self) -> OpenLedgerError {
        OpenLedgerError::NotALedger { path: self.0.to_owned() }
    }

    fn damaged(&self) -> OpenLedgerError {
        OpenLedgerError::Damaged { path: self.0.to_owned() }
    }

    fn read_only(&self) -> OpenLedgerError {
        OpenLedgerError::ReadOnly { path: self.0.to_owned() }
    }
}

fn starts_like_sqlite(path: &Path) -> bool {
    let mut start = [0_u8; 16];
    own_files::open_file(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *MAGIC
}
