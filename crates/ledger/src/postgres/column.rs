//! Reading columns as the types they stand for.

use contract::Stamp;
use postgres::Row;
use serde::de::value::Error as ValueError;
use serde::de::{DeserializeOwned, IntoDeserializer as _};

use crate::fault::{FaultKind, StoreFault, StoreResult};

/// Text column as the type that it encodes.
pub(super) fn typed_column<T: DeserializeOwned>(row: &Row, column: usize, name: &str) -> StoreResult<T> {
    typed_or_null(row, column, name)?.ok_or_else(|| unreadable_column(name))
}

/// Text column as a type; none for NULL.
pub(super) fn typed_or_null<T: DeserializeOwned>(row: &Row, column: usize, name: &str) -> StoreResult<Option<T>> {
    let text: Option<String> = row.try_get(column)?;
    let read = |text: String| T::deserialize(text.into_deserializer()).map_err(|_: ValueError| unreadable_column(name));
    text.map(read).transpose()
}

/// Reads a number, which is never below zero.
pub(super) fn number_column(row: &Row, column: usize, name: &str) -> StoreResult<u64> {
    number_or_null(row, column, name)?.ok_or_else(|| unreadable_column(name))
}

/// Number column; none for NULL. A negative number is an error.
pub(super) fn number_or_null(row: &Row, column: usize, name: &str) -> StoreResult<Option<u64>> {
    let number: Option<i64> = row.try_get(column)?;
    number.map(|number| u64::try_from(number).map_err(|_| unreadable_column(name))).transpose()
}

/// A number as the database takes it.
pub(super) fn signed_number(number: u64) -> StoreResult<i64> {
    i64::try_from(number).map_err(|_| unreadable_column("number"))
}

/// A time as its text has it: one that was just computed from a clock may be finer.
pub(super) fn as_written(time: Stamp) -> Stamp {
    time.to_string().parse().unwrap_or(time)
}

/// A limit as the database takes it.
pub(super) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// Fault of a column whose value cannot be read.
pub(super) fn unreadable_column(name: &str) -> StoreFault {
    StoreFault { kind: FaultKind::Other, cause: format!("{name} is not what it should be").into() }
}
