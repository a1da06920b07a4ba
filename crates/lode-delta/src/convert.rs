//! Columns of files whose type is not that of the table: those that were written before its type
//! was widened ("Type Widening" in the protocol), and those that mean the same in another layout.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, StringArray};
use arrow_schema::{ArrowError, DataType};

/// The conversion of a column of a file into one of the table.
enum Way {
    /// No conversion: the packer of records takes all layouts of such values.
    AsItIs,
    /// Integers of at most 32 bits as floats.
    Float,
    /// Integers or decimals as decimals, times ten to this power.
    Decimal { power: u32 },
    /// Bytes as text.
    Text,
}

/// Checks whether a column of a type can have files in which it has another one.
pub(crate) fn converts(found: &DataType, wanted: &DataType) -> bool {
    way(found, wanted).is_some()
}

fn way(found: &DataType, wanted: &DataType) -> Option<Way> {
    use DataType as D;
    let as_it_is = match (found, wanted) {
        (D::Dictionary(_, values), wanted) => matches!(way(values, wanted)?, Way::AsItIs),
        (found, D::Int8 | D::Int16 | D::Int32 | D::Int64) => found.is_integer(),
        (D::Float32 | D::Float64, D::Float64)
        | (D::Timestamp(_, _), D::Timestamp(_, _))
        | (D::Date32, D::Timestamp(_, None))
        | (D::Date32 | D::Date64, D::Date32)
        | (D::LargeUtf8 | D::Utf8View, D::Utf8)
        | (D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_), D::Binary) => true,
        (found, wanted) => found == wanted,
    };
    if as_it_is {
        return Some(Way::AsItIs);
    }
    let digits = |most: u8| Some((most, 0));
    match (found, wanted) {
        (D::Int8 | D::Int16 | D::Int32, D::Float64) => Some(Way::Float),
        (D::Binary, D::Utf8) => Some(Way::Text),
        (found, D::Decimal128(wanted_digits, wanted_scale)) => {
            let (found_digits, found_scale) = match found {
                D::Int8 => digits(3),
                D::Int16 => digits(5),
                D::Int32 => digits(10),
                D::Int64 => digits(19),
                D::Decimal128(digits, scale) => Some((*digits, *scale)),
                _ => None,
            }?;
            let power = u32::try_from(i16::from(*wanted_scale) - i16::from(found_scale)).ok()?;
            let digits = u32::from(*wanted_digits).checked_sub(power)?;
            (digits >= u32::from(found_digits)).then_some(Way::Decimal { power })
        }
        _ => None,
    }
}

/// Returns a column of a file as one of the table; `None` if the file has another type than the
/// log allows.
pub(crate) fn converted(
    array: &ArrayRef,
    wanted: &DataType,
) -> Option<Result<ArrayRef, ArrowError>> {
    Some(match way(array.data_type(), wanted)? {
        Way::AsItIs => Ok(Arc::clone(array)),
        Way::Float => Ok(floats(array)?),
        Way::Decimal { power } => decimals(array, power, wanted)?,
        Way::Text => StringArray::try_from_binary(array.as_binary::<i32>().clone())
            .map(|texts| Arc::new(texts) as ArrayRef),
    })
}

fn floats(array: &dyn Array) -> Option<ArrayRef> {
    fn of<A: ArrowPrimitiveType<Native: Into<f64>>>(array: &dyn Array) -> ArrayRef {
        Arc::new(array.as_primitive::<A>().unary::<_, Float64Type>(Into::into))
    }
    Some(match array.data_type() {
        DataType::Int8 => of::<Int8Type>(array),
        DataType::Int16 => of::<Int16Type>(array),
        DataType::Int32 => of::<Int32Type>(array),
        _ => return None,
    })
}

fn decimals(
    array: &dyn Array,
    power: u32,
    wanted: &DataType,
) -> Option<Result<ArrayRef, ArrowError>> {
    fn of<A: ArrowPrimitiveType<Native: Into<i128>>>(
        array: &dyn Array,
        power: u32,
        wanted: &DataType,
    ) -> Result<ArrayRef, ArrowError> {
        let times = |value: A::Native| {
            let value: i128 = value.into();
            let product = 10i128.checked_pow(power).and_then(|factor| value.checked_mul(factor));
            product.ok_or_else(|| ArrowError::ComputeError(format!("{value} is no {wanted}")))
        };
        let decimals: PrimitiveArray<Decimal128Type> =
            array.as_primitive::<A>().try_unary(times)?;
        Ok(Arc::new(decimals.with_data_type(wanted.clone())))
    }
    Some(match array.data_type() {
        DataType::Int8 => of::<Int8Type>(array, power, wanted),
        DataType::Int16 => of::<Int16Type>(array, power, wanted),
        DataType::Int32 => of::<Int32Type>(array, power, wanted),
        DataType::Int64 => of::<Int64Type>(array, power, wanted),
        DataType::Decimal128(_, _) => of::<Decimal128Type>(array, power, wanted),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::{BinaryArray, Int16Array};
    use arrow_schema::TimeUnit;

    use super::*;

    #[test]
    fn types_that_the_protocol_widens_are_converted() {
        let shorts: ArrayRef = Arc::new(Int16Array::from(vec![Some(-7), None]));
        let as_floats = converted(&shorts, &DataType::Float64).expect("a way").expect("it fits");
        assert_eq!(as_floats.as_primitive::<Float64Type>().value(0), -7.0);
        let wanted = DataType::Decimal128(12, 2);
        let decimals = converted(&shorts, &wanted).expect("a way").expect("it fits");
        assert_eq!(decimals.as_primitive::<Decimal128Type>().value(0), -700);
        assert_eq!((decimals.data_type(), decimals.is_null(1)), (&wanted, true));
        let wider = converted(&decimals, &DataType::Decimal128(14, 3)).expect("a way");
        assert_eq!(wider.expect("it fits").as_primitive::<Decimal128Type>().value(0), -7_000);
        let texts: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"\xff"]));
        assert!(converted(&texts, &DataType::Utf8).expect("a way").is_err());
    }

    #[test]
    fn other_types_are_not() {
        let moments = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        for (found, wanted) in [
            (DataType::Int64, DataType::Float64),
            (DataType::Float64, DataType::Float32),
            (DataType::Int64, moments.clone()),
            (DataType::Date32, moments.clone()),
            (moments, DataType::Int64),
            (DataType::Utf8, DataType::Binary),
            (DataType::Int32, DataType::Decimal128(10, 2)),
            (DataType::Decimal128(10, 2), DataType::Decimal128(10, 3)),
            (DataType::Decimal128(10, 2), DataType::Decimal128(12, 1)),
        ] {
            assert!(!converts(&found, &wanted), "{found} {wanted}");
        }
    }
}
