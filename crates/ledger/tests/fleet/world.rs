//! A temporary ledger in a database of its own, on the one server of this process.

use ledger::{Ledger, LedgerPlace, ServerPlace};
use testkit::PostgresServer;

pub(crate) struct World {
    pub(crate) server: &'static PostgresServer,
    pub(crate) database: String,
}

impl World {
    /// A server holds nothing but text.
    pub(crate) const UNREADABLE_BODY: Option<&'static str> = None;
    pub(crate) const REPLACE_ENTRIES: &'static str = "TRUNCATE entries";

    /// Random histories of the queue that are played: a server takes longer for each.
    pub(crate) const HISTORIES: u64 = 4;

    pub(crate) fn new() -> World {
        let server = PostgresServer::shared("fleet").expect("tests of the fleet need the Debian package postgresql");
        World { server, database: server.make_database() }
    }

    pub(crate) fn place(&self) -> LedgerPlace {
        self.place_of(testkit::SUPERUSER)
    }

    /// The same ledger for another role.
    pub(crate) fn place_of(&self, role: &str) -> LedgerPlace {
        let address = self.server.url(role, &self.database).parse().unwrap();
        LedgerPlace::Server(Box::new(ServerPlace { address, password: None, authorities: None }))
    }

    pub(crate) fn open(&self) -> Ledger {
        open_at(&self.place())
    }

    pub(crate) fn open_read_only(&self) -> Ledger {
        Ledger::open_place_read_only(&self.place()).unwrap()
    }

    /// Puts a clock into the server that stands still.
    pub(crate) fn set_clock(&self, now: contract::Stamp) {
        let clock = format!(
            "CREATE OR REPLACE FUNCTION cto.queue_clock(seconds DOUBLE PRECISION) RETURNS TEXT LANGUAGE sql VOLATILE SECURITY DEFINER \
             SET search_path = cto, pg_temp AS $$ SELECT to_char((TIMESTAMPTZ '{now}' + make_interval(secs => seconds)) \
             AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') $$"
        );
        self.edit(&clock);
    }

    pub(crate) fn edit(&self, sql: &str) {
        self.try_edit(sql).unwrap();
    }

    pub(crate) fn try_edit(&self, sql: &str) -> Result<(), String> {
        self.server.run_sql(&self.database, &format!("SET search_path = cto; {sql}")).map(drop)
    }

    /// Takes away what keeps entries from being changed.
    pub(crate) fn disarm(&self) {
        self.edit(
            "DROP TRIGGER entries_are_never_changed ON entries; DROP TRIGGER entries_are_never_deleted ON entries",
        );
    }
}

pub(crate) fn open_at(place: &LedgerPlace) -> Ledger {
    Ledger::open_place(place, &|_| {}).unwrap()
}
