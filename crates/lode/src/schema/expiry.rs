//! The time at which a record expires.

use super::{ColumnId, Schema};
use crate::types::Type;

impl Schema {
    /// Returns the column that says when a record expires, if there is one.
    pub fn expires(&self) -> Option<ColumnId> {
        self.expires
    }

    /// Returns the time at which the record with a payload expires, in microseconds since the start
    /// of 1970; `None` if it never does.
    pub(crate) fn expires_us(&self, payload: &[u8]) -> Option<i64> {
        let column = &self[self.expires?];
        debug_assert!(column.kind == Type::Timestamp, "a record expires by a timestamp");
        if let Some((byte, mask)) = self.null_bit(column)
            && payload.get(byte).is_none_or(|bits| bits & mask != 0)
        {
            return None;
        }
        // A payload that is too short for it is refused where it is read.
        let bytes = payload.get(self.range_in_payload(column))?;
        Some(i64::from_le_bytes(bytes.try_into().ok()?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::schema::Value;

    #[test]
    fn a_record_expires_at_the_time_in_its_column() {
        let schema = Schema::build("t").key("id", Type::U8).nullable("n", Type::U32);
        let schema = schema.column("text", Type::VarText(9)).nullable("at", Type::Timestamp);
        let schema = schema.expires("at").finish().unwrap();
        for (at, wanted) in [
            (Value::Null, None),
            (Value::Timestamp(7), Some(7)),
            (Value::Timestamp(i64::MIN), Some(i64::MIN)),
        ] {
            let values = [Value::Unsigned(1), Value::Null, Value::Text("abc"), at];
            let record = schema.pack(&values).unwrap();
            assert_eq!(schema.expires_us(&record[1..]), wanted);
        }
        assert_eq!(schema.expires_us(&[]), None);
        let other = Schema::build("t").key("id", Type::U8).column("at", Type::Timestamp);
        let other = other.finish().unwrap();
        assert_eq!(other.expires_us(&[0; 8]), None);
    }
}
