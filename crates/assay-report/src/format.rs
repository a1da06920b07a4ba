//! Numbers as people read them: three significant digits and a unit; and the words for a cell's
//! work.

use assay_core::plan::Cell;
use assay_driver::binary_size;

/// Returns a rate or a count as text: `4.32 M`, `481 k`, `12.0`.
pub fn quantity(value: f64) -> String {
    scaled(value, 1000.0, &["", " k", " M", " G", " T"])
}

/// Returns bytes in binary units: `1.50 MiB`.
pub fn bytes(value: u64) -> String {
    scaled(value as f64, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB"])
}

/// Returns a duration as text: `1.20 ms`.
pub fn duration_ns(value: u64) -> String {
    scaled(value as f64, 1000.0, &[" ns", " µs", " ms", " s"])
}

/// Returns a speed-up as text: `0.70×`, `1.86×`, `12.3×`.
pub fn times(value: f64) -> String {
    match value {
        many if many >= 9.995 => format!("{many:.1}×"),
        few => format!("{few:.2}×"),
    }
}

/// Returns a share as text: `93 %`.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Returns in words how a cell's work differs from that of others of its suite, and the memory that
/// it was given by name.
pub fn work(cell: &Cell) -> String {
    let revision = (cell.revision > 1).then(|| format!("revision {} of the suite", cell.revision));
    let parts = [Some(cell.variant.clone()), revision].into_iter().flatten();
    let parts = parts.chain(memory(cell)).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" · ")
}

/// Returns the memory that a cell was given by name, in words.
pub(crate) fn memory(cell: &Cell) -> impl Iterator<Item = String> {
    let cache = cell.memory.cache_named.then(|| match cell.memory.cache_bytes {
        Some(bytes) => format!("cache {}", binary_size(bytes)),
        None => "caches of the engines' own size".into(),
    });
    let limit = cell.memory.limit_bytes;
    let limit = limit.map(|bytes| format!("memory limit {}", binary_size(bytes)));
    [cache, limit].into_iter().flatten()
}

/// Returns a number of rows as the command line takes it, if that is exact: `100k`, `10m`.
pub fn rows(value: u64) -> String {
    match value {
        millions if millions >= 1_000_000 && millions % 1_000_000 == 0 => {
            format!("{}m", millions / 1_000_000)
        }
        thousands if thousands >= 1_000 && thousands % 1_000 == 0 => {
            format!("{}k", thousands / 1_000)
        }
        other => other.to_string(),
    }
}

/// Returns the number of rows in words.
pub fn row_count(value: u64) -> String {
    match value {
        1 => "1 row".into(),
        value => format!("{} rows", rows(value)),
    }
}

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    // From 999.5 on, three digits would round to the next unit's one.
    while value >= step - 0.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let digits = match value {
        v if v >= 99.95 || (v.fract() == 0.0 && unit == 0) => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}{}", units[unit])
}

/// Returns the engine's name with its chosen settings.
pub(crate) fn engine(cell: &Cell) -> String {
    let mut engine = cell.engine.to_string();
    for (name, value) in cell.engine_options.iter().chain(&cell.engine_parameters) {
        engine += &format!(" {name}={value}");
    }
    engine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        assert_eq!(quantity(4_318_852.0), "4.32 M");
        assert_eq!(quantity(481_000.0), "481 k");
        assert_eq!(quantity(999_999.0), "1.00 M");
        assert_eq!(quantity(12.0), "12");
        assert_eq!(quantity(8.765), "8.77");
        assert_eq!(bytes(1536), "1.50 KiB");
        assert_eq!(bytes(0), "0 B");
        assert_eq!(duration_ns(1_200_000), "1.20 ms");
        assert_eq!(duration_ns(90_000_000_000), "90.0 s");
        assert_eq!([times(0.7), times(9.99), times(12.34)], ["0.70×", "9.99×", "12.3×"]);
        assert_eq!(percent(0.934), "93 %");
    }

    #[test]
    fn rows_as_the_command_line_takes_them() {
        assert_eq!([rows(100_000), rows(10_000_000), rows(1_500)], ["100k", "10m", "1500"]);
        assert_eq!([row_count(1), row_count(2_000)], ["1 row", "2k rows"]);
    }
}
