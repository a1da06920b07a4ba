//! The options of NuDB's bench, which has underscores in their names.

use clap::Args;
use program_support::exit::{Failure, Outcome};
use serde::Serialize;

use super::most_items;
use crate::options::{Continuous, MostRepeats, Part, count, defaults};

/// The published defaults.
const INSERTS: [u64; 2] = [100_000, 1_000_000];
const FETCHES: u64 = 1_000_000;
const BATCH_SIZE: u64 = 20_000;
const BATCHES: u64 = 500;

/// The most bytes of a key.
const MOST_KEY_BYTES: u32 = 64 * 1024;

/// The options of NuDB's bench.
#[derive(Args, Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// Numbers of items to insert, each in a store of its own [default: 100000 1000000]
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, num_args = 1..,
          value_delimiter = ',', conflicts_with_all = ["batch_size", "num_batches"])]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inserts: Vec<u64>,
    /// Existing items to fetch in each store [default: 1000000; in batches, as many as a batch has]
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetches: Option<u64>,
    /// Bytes of a key
    #[arg(long, visible_alias = "key_size", value_name = "BYTES", default_value = "64",
          value_parser = parse_key_size)]
    pub key_size: u32,
    /// Bytes of a block, for engines that have such a setting (4096 in NuDB's bench)
    #[arg(long, visible_alias = "block_size", value_name = "BYTES",
          value_parser = count::parse_positive)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_size: Option<u64>,
    /// Load factor of the hash table, for engines that have such a setting (0.5 in NuDB's bench)
    #[arg(long, visible_alias = "load_factor", value_name = "SHARE",
          value_parser = count::parse_share)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_factor: Option<f64>,
    /// Items in a batch: insert and fetch in batches, as the newer version of the bench does
    /// [default with --num-batches: 20000]
    #[arg(long, visible_alias = "batch_size", value_name = "COUNT",
          value_parser = count::parse_positive)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<u64>,
    /// Number of batches [default with --batch-size: 500]
    #[arg(long, visible_alias = "num_batches", value_name = "COUNT",
          value_parser = count::parse_positive)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_batches: Option<u64>,
    /// The clock.
    #[command(flatten)]
    #[serde(flatten)]
    pub continuous: Continuous,
    /// The repeats of disturbed rounds.
    #[command(flatten)]
    #[serde(flatten)]
    pub repeats: MostRepeats,
}

impl Default for Options {
    fn default() -> Self {
        defaults()
    }
}

impl Options {
    /// Returns the number of items fetched after all inserts; in batch mode, in each batch.
    pub(super) fn fetches(&self) -> u64 {
        self.fetches.or(self.batch_size).unwrap_or(FETCHES)
    }

    /// Returns the options of each cell: one for each number of items.
    pub(super) fn parts(mut self) -> Outcome<Vec<Part<Self>>> {
        if self.batch_size.is_some() || self.num_batches.is_some() {
            self.batch_size.get_or_insert(BATCH_SIZE);
            self.num_batches.get_or_insert(BATCHES);
        }
        let sizes = match (self.batch_size, self.num_batches) {
            (Some(size), Some(batches)) => {
                vec![size.checked_mul(batches).ok_or_else(|| {
                    Failure::Usage(format!("{batches} batches of {size} items are too many"))
                })?]
            }
            _ if self.inserts.is_empty() => INSERTS.to_vec(),
            _ => self.inserts.clone(),
        };
        if let Some((rows, most)) = most_items(self.key_size)
            .and_then(|most| Some((sizes.iter().find(|&&rows| rows > most)?, most)))
        {
            return Err(Failure::Usage(format!(
                "{rows} items are more than there are keys of {} bytes ({most}); choose a longer \
                 --key-size",
                self.key_size
            )));
        }
        self.fetches = Some(self.fetches());
        let inserts = |rows| if self.batch_size.is_some() { Vec::new() } else { vec![rows] };
        let part = |rows| Part::of(rows, Self { inserts: inserts(rows), ..self.clone() });
        Ok(sizes.into_iter().map(part).collect())
    }
}

/// Reads the size of a key in bytes.
fn parse_key_size(text: &str) -> Result<u32, String> {
    match count::parse(text)? {
        size @ 1.. if size <= u64::from(MOST_KEY_BYTES) => Ok(size as u32),
        _ => Err(format!("a key has 1 to {MOST_KEY_BYTES} bytes")),
    }
}
