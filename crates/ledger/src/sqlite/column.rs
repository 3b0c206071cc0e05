//! Reading columns that hold a text as the type it stands for.

use rusqlite::{Error, Row};
use serde::de::value::Error as ValueError;
use serde::de::{DeserializeOwned, IntoDeserializer as _};

/// Text column as the type that it encodes.
pub(super) fn typed_column<T: DeserializeOwned>(row: &Row<'_>, column: usize, name: &str) -> rusqlite::Result<T> {
    typed_or_null(row, column, name)?.ok_or_else(|| unreadable_column(column, name))
}

/// Text column as a type; none for NULL.
pub(super) fn typed_or_null<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
    name: &str,
) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    let read = |text: String| {
        T::deserialize(text.into_deserializer()).map_err(|_: ValueError| unreadable_column(column, name))
    };
    text.map(read).transpose()
}

/// Error of a column whose value cannot be read.
pub(super) fn unreadable_column(column: usize, name: &str) -> Error {
    Error::InvalidColumnType(column, name.to_owned(), rusqlite::types::Type::Text)
}

/// A limit as SQLite takes it.
pub(super) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}
