//! Opening a ledger on a server: laid out on first use, refused with a reason when it is
//! not one we can use.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;

use postgres::error::SqlState;

use super::connect::{ConnectServerError, connect_started};
use super::schema::{SchemaFacts, VERSION, migrate_server, read_facts};
use super::{Link, PostgresStore, told};
use crate::open_error::{OpenLedgerError, is_ledger_id, new_ledger_id};
use crate::place::ServerPlace;

impl PostgresStore {
    /// Opens it for reading and appending, makes it when there is none, and brings an older
    /// one forward.
    pub(crate) fn open_server(place: &ServerPlace) -> Result<Self, OpenLedgerError> {
        let fail = FailingServer(place);
        let mut link = fail.connect(true)?;
        let known = fail.read_facts(&mut link)?;
        if known.as_ref().is_none_or(|facts| facts.version < VERSION) {
            let id = new_ledger_id().map_err(|error| OpenLedgerError::Io { path: fail.path(), error })?;
            migrate_server(&mut link.client, &id).map_err(|error| fail.migration(&error, known.as_ref()))?;
        }
        fail.admit(link, true)
    }

    /// Opens it so that every write through it is refused.
    pub(crate) fn open_existing_read_only(place: &ServerPlace) -> Result<Self, OpenLedgerError> {
        let fail = FailingServer(place);
        let link = fail.connect(false)?;
        fail.admit(link, false)
    }
}

/// Turns what went wrong with the server at this place into what a person can act on.
struct FailingServer<'a>(&'a ServerPlace);

impl FailingServer<'_> {
    fn connect(&self, may_write: bool) -> Result<Link, OpenLedgerError> {
        connect_started(self.0, may_write).map_err(|error| match error {
            ConnectServerError::Server(why) | ConnectServerError::Starting(why) => {
                OpenLedgerError::Unreachable { path: self.path(), why }
            }
            other => OpenLedgerError::Unprotected { path: self.path(), why: other.to_string() },
        })
    }

    fn read_facts(&self, link: &mut Link) -> Result<Option<SchemaFacts>, OpenLedgerError> {
        let encoding = link.client.query_one("SHOW server_encoding", &[]).map_err(|error| self.server(&error))?;
        if encoding.get::<_, String>(0) != "UTF8" {
            return Err(OpenLedgerError::NotALedger { path: self.path() });
        }
        read_facts(&mut link.client).map_err(|error| self.server(&error))
    }

    fn admit(&self, mut link: Link, may_write: bool) -> Result<PostgresStore, OpenLedgerError> {
        let facts = self.read_facts(&mut link)?.ok_or_else(|| OpenLedgerError::Missing { path: self.path() })?;
        if facts.accepts > VERSION {
            return Err(OpenLedgerError::NewerVersion { path: self.path(), found: facts.version, known: VERSION });
        }
        if !is_ledger_id(&facts.ledger_id) || facts.version == 0 {
            return Err(OpenLedgerError::Damaged { path: self.path() });
        }
        Ok(PostgresStore {
            link: RefCell::new(link),
            place: self.0.clone(),
            id: facts.ledger_id,
            version: facts.version,
            may_write,
            stirs: Cell::new(0),
            timeline: RefCell::new(None),
            unreadable: RefCell::default(),
            changing: Cell::new(false),
        })
    }

    fn server(&self, error: &postgres::Error) -> OpenLedgerError {
        OpenLedgerError::Unreachable { path: self.path(), why: told(error) }
    }

    /// A role that is not the owner's brings no ledger forward.
    fn migration(&self, error: &postgres::Error, known: Option<&SchemaFacts>) -> OpenLedgerError {
        let denied = error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE);
        let why = match known.filter(|_| denied) {
            Some(facts) => format!(
                "it has version {}, and this program needs {VERSION}: open it once as its owner, for example by cto recover",
                facts.version
            ),
            None => told(error),
        };
        OpenLedgerError::Unreachable { path: self.path(), why }
    }

    fn path(&self) -> PathBuf {
        self.0.address.to_string().into()
    }
}
