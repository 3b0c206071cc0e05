//! Prices of tokens: a table that the operator edits, in whole micro-units per million
//! tokens.

use serde::Deserialize;

use crate::protocol::usage::Tokens;

/// Prices by pair. A pair that is not in it has no price, which is not a price of zero.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceTable {
    /// Currency, for people.
    #[serde(default)]
    pub currency: String,
    #[serde(default)]
    pub prices: Vec<Price>,
}

/// Micro-units for a million tokens of each kind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub provider: String,
    pub model: String,
    pub prompt: u64,
    pub completion: u64,
    /// Price of cached tokens; that of `prompt` if absent.
    pub cached: Option<u64>,
    /// Price of tokens written to the cache; that of `prompt` if absent.
    pub cache_written: Option<u64>,
}

/// A price table that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadPricesError {
    #[error("the price table cannot be read: {0}")]
    Json(#[source] serde_json::Error),
    #[error("the price table has {provider}/{model} twice")]
    Twice { provider: String, model: String },
}

impl PriceTable {
    /// Reads a table. A pair with two prices is an error, since either could be meant.
    pub fn read_table(json: &[u8]) -> Result<Self, ReadPricesError> {
        let table: Self = serde_json::from_slice(json).map_err(ReadPricesError::Json)?;
        for (index, price) in table.prices.iter().enumerate() {
            let same = |other: &&Price| other.provider == price.provider && other.model == price.model;
            if table.prices[..index].iter().any(|other| same(&other)) {
                return Err(ReadPricesError::Twice { provider: price.provider.clone(), model: price.model.clone() });
            }
        }
        Ok(table)
    }

    /// Price of a pair; none if the operator gave none.
    pub fn price(&self, provider: &str, model: &str) -> Option<&Price> {
        self.prices.iter().find(|price| price.provider == provider && price.model == model)
    }
}

impl Price {
    /// The cost, rounded up; nothing when prompt or completion is unknown.
    pub fn cost_of(&self, tokens: &Tokens) -> Option<u64> {
        let (prompt, completion) = (tokens.prompt?, tokens.completion?);
        let cached = tokens.cached.unwrap_or(0).min(prompt);
        let written = tokens.cache_written.unwrap_or(0).min(prompt - cached);
        let fresh = prompt - cached - written;
        let parts = [
            (fresh, self.prompt),
            (cached, self.cached.unwrap_or(self.prompt)),
            (written, self.cache_written.unwrap_or(self.prompt)),
            (completion, self.completion),
        ];
        let millionths: u128 = parts.iter().map(|(count, price)| u128::from(*count) * u128::from(*price)).sum();
        Some(u64::try_from(millionths.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"{"currency":"USD","prices":[{"provider":"p","model":"m","prompt":3000000,"completion":15000000,"cached":300000}]}"#;

    #[test]
    fn a_cost_is_rounded_up_and_never_guessed() {
        let table = PriceTable::read_table(TABLE.as_bytes()).unwrap();
        let price = table.price("p", "m").unwrap();
        let tokens = |prompt, completion, cached| Tokens { prompt, completion, cached, ..Tokens::default() };
        let rows = [
            (tokens(Some(100), Some(10), None), Some(450)),
            (tokens(Some(100), Some(10), Some(100)), Some(180)),
            (tokens(Some(1), Some(0), Some(1)), Some(1)),
            (tokens(Some(5), Some(0), Some(500)), Some(2)),
            (tokens(None, Some(10), None), None),
            (tokens(Some(10), None, None), None),
            (tokens(Some(u64::MAX), Some(u64::MAX), None), Some(u64::MAX)),
        ];
        for (tokens, cost) in rows {
            assert_eq!(price.cost_of(&tokens), cost, "{tokens:?}");
        }
        assert!(table.price("p", "other").is_none());
    }

    #[test]
    fn a_table_is_read_strictly() {
        let row = r#"{"provider":"p","model":"m","prompt":1,"completion":1}"#;
        assert!(PriceTable::read_table(format!(r#"{{"prices":[{row}]}}"#).as_bytes()).is_ok());
        for bad in [format!(r#"{{"prices":[{row},{row}]}}"#), r#"{"price":[]}"#.to_owned(), "[".to_owned()] {
            assert!(PriceTable::read_table(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(
            PriceTable::read_table(br#"{"prices":[{"provider":"p","model":"m","prompt":-1,"completion":1}]}"#).is_err()
        );
    }
}
