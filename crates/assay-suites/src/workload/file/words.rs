//! Values of a file that can be written in more than one way.

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use crate::options::count;

/// A count or a number of bytes: digits, or a text of digits with k or m.
#[derive(Clone, Copy)]
pub(super) struct Number(pub(super) u64);

/// A number with or without a fraction.
#[derive(Clone, Copy, Default)]
pub(super) struct Real(pub(super) f64);

/// One number of threads, or a list.
pub(super) struct ThreadsWord(pub(super) Vec<u64>);

/// `"closed"`, operations a second, or a list of seconds with the rate during them.
pub(super) enum RateWord {
    Closed,
    Steps(Vec<(u64, u64)>),
}

/// `"all"`, or a list of names of columns.
pub(super) enum ColumnsWord {
    All,
    Named(Vec<String>),
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a count such as 500, \"10k\" or \"2m\"")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Number, E> {
        Ok(Number(number))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Number, E> {
        let of_sign = |_| de::Error::invalid_value(de::Unexpected::Signed(number), &self);
        u64::try_from(number).map(Number).map_err(of_sign)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
        count::parse(text).map(Number).map_err(|why| E::custom(format!("{text:?}: {why}")))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NumberVisitor)
    }
}

struct RealVisitor;

impl Visitor<'_> for RealVisitor {
    type Value = Real;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Real, E> {
        Ok(Real(number as f64))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Real, E> {
        Ok(Real(number))
    }
}

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RealVisitor)
    }
}

struct ThreadsVisitor;

impl<'de> Visitor<'de> for ThreadsVisitor {
    type Value = ThreadsWord;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number of threads, or a list such as [1, 4]")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<ThreadsWord, E> {
        NumberVisitor.visit_i64(number).map(|number| ThreadsWord(vec![number.0]))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut from: A) -> Result<ThreadsWord, A::Error> {
        let mut list = Vec::new();
        while let Some(Number(threads)) = from.next_element()? {
            list.push(threads);
        }
        Ok(ThreadsWord(list))
    }
}

impl<'de> Deserialize<'de> for ThreadsWord {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ThreadsVisitor)
    }
}

struct RateVisitor;

impl<'de> Visitor<'de> for RateVisitor {
    type Value = RateWord;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("\"closed\", operations a second, or [[seconds, operations a second], …]")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<RateWord, E> {
        NumberVisitor.visit_i64(number).map(|rate| RateWord::Steps(vec![(1, rate.0)]))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<RateWord, E> {
        match text {
            "closed" => Ok(RateWord::Closed),
            _ => NumberVisitor
                .visit_str(text)
                .map(|rate| RateWord::Steps(vec![(1, rate.0)]))
                .map_err(|_: E| E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut from: A) -> Result<RateWord, A::Error> {
        let mut steps = Vec::new();
        while let Some((Number(seconds), Number(rate))) = from.next_element()? {
            steps.push((seconds, rate));
        }
        Ok(RateWord::Steps(steps))
    }
}

impl<'de> Deserialize<'de> for RateWord {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RateVisitor)
    }
}

struct ColumnsVisitor;

impl<'de> Visitor<'de> for ColumnsVisitor {
    type Value = ColumnsWord;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("\"all\", or a list of columns such as [\"owner\"]")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ColumnsWord, E> {
        match text {
            "all" => Ok(ColumnsWord::All),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut from: A) -> Result<ColumnsWord, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = from.next_element()? {
            names.push(name);
        }
        Ok(ColumnsWord::Named(names))
    }
}

impl<'de> Deserialize<'de> for ColumnsWord {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ColumnsVisitor)
    }
}
