//! The transactions of a plan, each computed from the seed and its number.

use crate::random::Random;

/// The transactions to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The seed of all transactions.
    pub seed: u64,
    /// The threads, or the sessions that take turns.
    pub threads: u32,
    /// The number of transactions.
    pub transactions: u64,
    /// The keys that are in use at the same time, 8 at least. Later transactions use other keys, so
    /// that lists stay short.
    pub keys: u64,
    /// True to read ranges too.
    pub ranges: bool,
}

/// The use of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A list, to which values are appended.
    List,
    /// A register.
    Register,
    /// A register that is deleted now and then.
    Deletable,
}

/// The transactions for each key of those in use, before others are.
const TRANSACTIONS_A_KEY: u64 = 8;
/// The fewest and the most operations of a transaction.
const OPERATIONS: std::ops::RangeInclusive<u64> = 2..=8;
/// The most keys of a range.
const MOST_IN_RANGE: u64 = 16;
/// One transaction of this number is rolled back.
const ROLLED_BACK_OF: u64 = 16;

impl Plan {
    /// Returns the use of a key.
    pub fn kind(&self, key: u64) -> Kind {
        match key % self.in_use() * 4 / self.in_use() {
            0 | 1 => Kind::List,
            2 => Kind::Register,
            _ => Kind::Deletable,
        }
    }

    /// Returns the number of all keys: each is smaller.
    pub fn all_keys(&self) -> u64 {
        let generations = self.transactions.div_ceil(TRANSACTIONS_A_KEY * self.in_use());
        generations.max(1) * self.in_use()
    }

    fn in_use(&self) -> u64 {
        self.keys.max(8)
    }

    /// Returns the transaction with a number.
    pub(super) fn script(&self, number: u64) -> Script {
        let keys = self.in_use();
        let first = number / (TRANSACTIONS_A_KEY * keys) * keys;
        let mut random = Random::new(Random::new(self.seed ^ number.rotate_left(32)).next());
        let least = *OPERATIONS.start();
        let wanted = least + random.below(OPERATIONS.end() - least + 1);
        let mut steps = Vec::new();
        while (steps.len() as u64) < wanted {
            let slot = random.below(keys);
            let key = first + slot;
            let choice = random.below(8);
            if self.ranges && choice == 0 {
                let more = random.below(MOST_IN_RANGE.min(keys - slot));
                steps.push(Step::Range { low: key, high: key + more });
                continue;
            }
            steps.push(Step::Read { key });
            if choice >= 5 || steps.len() as u64 == wanted {
                continue;
            }
            // No other step writes this value: a transaction has fewer than 16.
            let value = 16 * number + steps.len() as u64;
            steps.push(match self.kind(key) {
                Kind::List => Step::Append { key, value },
                Kind::Deletable if choice == 1 => Step::Delete { key },
                Kind::Register | Kind::Deletable => Step::Write { key, value },
            });
        }
        Script { steps, commits: random.below(ROLLED_BACK_OF) > 0 }
    }
}

/// A transaction to run.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
    /// False if it is rolled back at its end.
    pub(super) commits: bool,
}

/// A step of a transaction. Each key is read before it is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Read { key: u64 },
    Append { key: u64, value: u64 },
    Write { key: u64, value: u64 },
    Delete { key: u64 },
    Range { low: u64, high: u64 },
}
