//! The schema of a ledger on a server: how a new one is laid out, and how an older one is brought forward.

use postgres::Client;

use super::CHANGE_LOCK;

/// Raised with every migration.
pub(super) const VERSION: i32 = 7;
/// The first version whose runs are listed in the order of their entries.
pub(super) const WITH_ENTRY_ORDER: i32 = 4;
/// The first version that names the engines of its runs.
pub(super) const WITH_ENGINE_NAMES: i32 = 6;
/// The first version that lists the longest runs first.
pub(super) const WITH_LONGEST: i32 = 7;
/// The first version that finds a run by its id without a plan of its own.
pub(super) const WITH_RUN_BY_ID: i32 = 7;

/// The oldest program, by the version it knows, that may use a ledger of this version: two versions of the program share one
/// server while the workers are replaced one after the other.
const ACCEPTS: i32 = 1;

/// Statements that make a ledger of the next version. Each is run once, in the transaction that also raises the version, and never
/// edited once it was released.
const MIGRATIONS: &[&[&str]] = &[
    &[include_str!("schema.sql"), include_str!("read.sql"), include_str!("write.sql")],
    &[include_str!("queue.sql")],
    &[include_str!("worker.sql")],
    &[include_str!("rungs.sql")],
    &[include_str!("guard.sql")],
    &[include_str!("workers.sql"), include_str!("engines.sql")],
    &[include_str!("lists.sql"), include_str!("steps.sql"), include_str!("retry.sql")],
];

/// The role that workers are members of. Roles belong to the whole server, so another ledger may have made it.
const ROLE: &str = "DO $$ BEGIN CREATE ROLE cto_worker NOLOGIN; \
     EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$";

/// The facts that a ledger keeps of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SchemaFacts {
    pub(super) ledger_id: String,
    pub(super) version: i32,
    /// The oldest program that may use it.
    pub(super) accepts: i32,
}

/// Reads them; `None` where there is no ledger.
pub(super) fn read_facts(client: &mut Client) -> Result<Option<SchemaFacts>, postgres::Error> {
    if !has_schema(client)? {
        return Ok(None);
    }
    let rows = client.query("SELECT key, value FROM cto.read_meta()", &[])?;
    let value = |name: &str| {
        let row = rows.iter().find(|row| row.get::<_, String>(0) == name);
        row.map(|row| row.get::<_, String>(1)).unwrap_or_default()
    };
    let number = |name: &str| value(name).parse().unwrap_or(0);
    Ok(Some(SchemaFacts {
        ledger_id: value("ledger_id"),
        version: number("schema_version"),
        accepts: number("accepts"),
    }))
}

fn has_schema(client: &mut Client) -> Result<bool, postgres::Error> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'cto')";
    Ok(client.query_one(sql, &[])?.get(0))
}

/// Lays out an empty database and brings an older ledger forward, all the way or not at all; a second client finds it done.
pub(super) fn migrate_server(client: &mut Client, new_id: &str) -> Result<(), postgres::Error> {
    let mut change = client.transaction()?;
    change.execute("SELECT pg_advisory_xact_lock($1)", &[&CHANGE_LOCK])?;
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'cto')";
    let is_new = !change.query_one(sql, &[])?.get::<_, bool>(0);
    if is_new {
        change.batch_execute(ROLE)?;
        change.batch_execute("CREATE SCHEMA cto")?;
    }
    let from = match is_new {
        true => 0,
        false => change.query_one("SELECT value::INTEGER FROM cto.meta WHERE key = 'schema_version'", &[])?.get(0),
    };
    for (version, statements) in (0_i32..).zip(MIGRATIONS).filter(|(version, _)| *version >= from) {
        for statement in *statements {
            change.batch_execute(statement)?;
        }
        put_meta(&mut change, "schema_version", &(version + 1).to_string())?;
        put_meta(&mut change, "accepts", &ACCEPTS.to_string())?;
    }
    if is_new {
        put_meta(&mut change, "ledger_id", new_id)?;
        let timeline: String = change.query_one("SELECT cto.read_timeline()", &[])?.get(0);
        put_meta(&mut change, "timeline", &timeline)?;
    }
    change.batch_execute(include_str!("rights.sql"))?;
    change.commit()
}

fn put_meta(change: &mut postgres::Transaction<'_>, key: &str, value: &str) -> Result<(), postgres::Error> {
    let sql = "INSERT INTO cto.meta VALUES ($1::TEXT, $2::TEXT) ON CONFLICT (key) DO UPDATE SET value = $2::TEXT";
    change.execute(sql, &[&key, &value]).map(drop)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn migrations_lead_to_this_version() {
        assert_eq!(i32::try_from(MIGRATIONS.len()).unwrap(), VERSION);
        const { assert!(ACCEPTS <= VERSION) };
    }

    /// A function that borrows its owner's rights and not its own search path would run what its caller put before our tables.
    #[test]
    fn every_function_with_its_owners_rights_names_its_search_path() {
        let text = MIGRATIONS.concat().concat().replace("CREATE OR REPLACE FUNCTION", "CREATE FUNCTION");
        let functions = text.split("CREATE FUNCTION").skip(1);
        let mut seen = 0;
        for function in functions {
            let head = function.split("AS $$").next().unwrap();
            assert!(head.contains("SET search_path = cto, pg_temp"), "{head}");
            seen += usize::from(head.contains("SECURITY DEFINER"));
        }
        assert!(seen > 10, "the functions were looked at");
    }

    /// Statements that ledgers of earlier versions were laid out by stay as they were, byte for byte.
    #[test]
    fn released_statements_are_never_edited() {
        let released = [
            "e225b0486b44a53d4f830fa82c2926e696f45051a51bafda411d4fa8ec823c08",
            "025340827aff8f1553fc63f946a273e05069f1642d099a6c999e8dda87f9e2e9",
            "8be5f7918f74e686fe8866895c5440f486fdf1832f565e985385dbfcad94f242",
            "27c902c98725f54985c40ce067cb4ac0e5321dc66a075c38c383a637f96047ce",
            "0ffd6313d3f8851345c0b959689972ba8cf1549c53afd3e780679aa4c63bd044",
            "13b3829ad9cedb9a0f8d3a7e4ec8a4a98bbf3180687c3ab487017bf2e5162874",
            "13360ea55484f61fa9e4a5dba3992e4b39500e60d29eed38f7afe9ef53df9e14",
            "5bef4192ab833aab586fc9f819ccee56b438bb8e60b23c2dd7ca555bb082c86e",
            "10f2314b1a7d323718de3ec46d33d547cc507ba76cf155fac07f14a14bd2f25e",
        ];
        let texts = MIGRATIONS[..MIGRATIONS.len() - 1].concat();
        assert_eq!(texts.len(), released.len());
        for (text, expected) in texts.iter().zip(released) {
            assert_eq!(contract::Digest::of_bytes(text.as_bytes()).to_string(), expected, "{}", &text[..80]);
        }
    }

    /// A seal with a reason that the database does not know is refused, so every new reason needs a migration.
    #[test]
    fn the_database_knows_every_reason() {
        let text = include_str!("guard.sql");
        let listed = text.split("string_to_array(").nth(1).unwrap().split("' '))").next().unwrap();
        let known: BTreeSet<&str> = listed.split([' ', '\'', '\n', ',']).filter(|word| !word.is_empty()).collect();
        let expected: BTreeSet<&str> = contract::Reason::ALL.iter().map(|reason| reason.code()).collect();
        assert_eq!(known, expected);
    }
}
