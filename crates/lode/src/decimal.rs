//! Exact decimal numbers, and the columns that hold them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// The most digits of a decimal.
pub const MOST_DECIMAL_DIGITS: u8 = 38;

/// The most digits that a column of 8 bytes holds; a column of more digits has 16 bytes.
pub(crate) const MOST_SHORT_DIGITS: u8 = 18;

/// An exact decimal number of at most 38 digits: a whole number, the *unscaled* value, and how many
/// of its digits come after the point, the *scale*.
///
/// Decimals are compared by their values: 1.5 equals 1.50.
///
/// ```
/// use lode::{Decimal, Schema, Type, Value};
///
/// let price: Decimal = "12.30".parse()?;
/// assert_eq!((price.unscaled(), price.scale()), (1230, 2));
/// assert_eq!(price, "12.3".parse()?);
/// assert!(price > Decimal::from(12));
/// assert_eq!(price.to_string(), "12.30");
///
/// let kind = Type::Decimal { precision: 12, scale: 2 };
/// let schema = Schema::build("item").key("id", Type::U32).column("price", kind).finish()?;
/// let record = schema.pack(&[Value::Unsigned(7), Value::Decimal(price)])?;
/// assert_eq!(schema.row(&record)?.get("price"), Some(Value::Decimal(price)));
/// // A column takes what it holds exactly, and never rounds.
/// assert!(schema.pack(&[Value::Unsigned(7), Value::Decimal("0.125".parse()?)]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Decimal {
    /// The unscaled value, little-endian: as bytes it leaves `Value` no larger than a text does.
    unscaled: [u8; 16],
    scale: u8,
}

impl Decimal {
    /// Makes the decimal `unscaled` ÷ 10^`scale`; `None` if it has more than 38 digits before or
    /// after the point.
    pub fn new(unscaled: i128, scale: u8) -> Option<Self> {
        let fits =
            scale <= MOST_DECIMAL_DIGITS && unscaled.unsigned_abs() < power(MOST_DECIMAL_DIGITS);
        fits.then(|| Self::of_parts(unscaled, scale))
    }

    /// Makes a decimal of a value in a column, which may be out of range if a caller packed it.
    pub(crate) fn of_parts(unscaled: i128, scale: u8) -> Self {
        Self { unscaled: unscaled.to_le_bytes(), scale }
    }

    /// Returns the number without its point: 1230 of 12.30.
    pub fn unscaled(self) -> i128 {
        i128::from_le_bytes(self.unscaled)
    }

    /// Returns how many digits come after the point.
    pub fn scale(self) -> u8 {
        self.scale
    }

    /// Returns the unscaled value that this number has with `scale` digits after the point; `None`
    /// if it needs more of them, or has more than `precision` digits then.
    ///
    /// ```
    /// use lode::Decimal;
    ///
    /// let price: Decimal = "12.30".parse()?;
    /// assert_eq!(price.rescaled(12, 3), Some(12_300));
    /// assert_eq!(price.rescaled(12, 1), Some(123));
    /// assert_eq!(price.rescaled(12, 0), None);
    /// assert_eq!(price.rescaled(3, 2), None);
    /// # Ok::<(), lode::NoDecimal>(())
    /// ```
    pub fn rescaled(self, precision: u8, scale: u8) -> Option<i128> {
        let number = self.unscaled();
        if scale > MOST_DECIMAL_DIGITS {
            return None;
        }
        let rescaled = match scale.checked_sub(self.scale) {
            Some(more) => number.checked_mul(i128::try_from(power(more)).ok()?)?,
            None => {
                let divisor = i128::try_from(power(self.scale - scale)).ok()?;
                (number % divisor == 0).then_some(number / divisor)?
            }
        };
        let limit = power(precision.min(MOST_DECIMAL_DIGITS));
        (rescaled.unsigned_abs() < limit).then_some(rescaled)
    }

    /// Returns the greatest number with `scale` digits after the point that is not greater; `None`
    /// if it has more than 38 digits.
    ///
    /// ```
    /// use lode::Decimal;
    ///
    /// let price: Decimal = "-12.34".parse()?;
    /// assert_eq!(price.floor_to(1), Some("-12.4".parse()?));
    /// assert_eq!(price.floor_to(4), Some(price));
    /// # Ok::<(), lode::NoDecimal>(())
    /// ```
    pub fn floor_to(self, scale: u8) -> Option<Self> {
        match scale.checked_sub(self.scale) {
            Some(_) => Self::new(self.rescaled(MOST_DECIMAL_DIGITS, scale)?, scale),
            None => {
                let divisor = i128::try_from(power(self.scale - scale)).ok()?;
                Self::new(self.unscaled().div_euclid(divisor), scale)
            }
        }
    }

    /// Adds a number; `None` if the sum has more than 38 digits.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let numbers = [self, other].map(|it| it.rescaled(MOST_DECIMAL_DIGITS, scale));
        let [Some(one), Some(other)] = numbers else { return None };
        Self::new(one.checked_add(other)?, scale)
    }

    /// Subtracts a number; `None` if the difference has more than 38 digits.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.checked_add(Self::of_parts(other.unscaled().checked_neg()?, other.scale))
    }

    /// Multiplies by a number; `None` if the product has more than 38 digits.
    ///
    /// ```
    /// use lode::Decimal;
    ///
    /// let (price, tax): (Decimal, Decimal) = ("12.30".parse()?, "1.077".parse()?);
    /// assert_eq!(price.checked_mul(tax).map(|sum| sum.to_string()), Some("13.24710".into()));
    /// # Ok::<(), lode::NoDecimal>(())
    /// ```
    pub fn checked_mul(self, other: Self) -> Option<Self> {
        let product = self.unscaled().checked_mul(other.unscaled())?;
        Self::new(product, self.scale.checked_add(other.scale)?)
    }

    /// Returns the whole part, rounded down, and the rest, as a count of 10^-38.
    fn parts(self) -> (i128, u128) {
        let one = power(self.scale) as i128;
        let whole = self.unscaled().div_euclid(one);
        let rest = self.unscaled().rem_euclid(one);
        (whole, rest as u128 * power(MOST_DECIMAL_DIGITS - self.scale))
    }
}

/// Returns 10^`digits`; `digits` is at most 38.
const fn power(digits: u8) -> u128 {
    debug_assert!(digits <= MOST_DECIMAL_DIGITS, "a decimal has at most 38 digits");
    10u128.pow(digits as u32)
}

impl From<i64> for Decimal {
    fn from(number: i64) -> Self {
        Self::of_parts(number.into(), 0)
    }
}

impl From<u64> for Decimal {
    fn from(number: u64) -> Self {
        Self::of_parts(number.into(), 0)
    }
}

impl From<i32> for Decimal {
    fn from(number: i32) -> Self {
        Self::of_parts(number.into(), 0)
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.scale == other.scale {
            self.unscaled().cmp(&other.unscaled())
        } else {
            self.parts().cmp(&other.parts())
        }
    }
}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

/// Writes all digits after the point that the scale says: `12.30`.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.unscaled().unsigned_abs();
        let digits = usize::from(self.scale);
        let one = power(self.scale);
        let mut text = (number / one).to_string();
        if digits > 0 {
            text += &format!(".{:0digits$}", number % one);
        }
        f.pad_integral(self.unscaled() >= 0, "", &text)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reads a decimal: a sign, digits, a point, digits, and an exponent, of which all but some digits
/// may be missing. The scale is the number of digits after the point, less the exponent.
///
/// ```
/// use lode::Decimal;
///
/// assert_eq!("-0.50".parse::<Decimal>()?.unscaled(), -50);
/// assert_eq!("1.25e2".parse::<Decimal>()?, Decimal::from(125));
/// assert_eq!(".5".parse::<Decimal>()?.scale(), 1);
/// for wrong in ["", ".", "1,5", "0x10", "1e", "NaN", "1e39"] {
///     assert!(wrong.parse::<Decimal>().is_err());
/// }
/// # Ok::<(), lode::NoDecimal>(())
/// ```
impl FromStr for Decimal {
    type Err = NoDecimal;

    fn from_str(text: &str) -> Result<Self, NoDecimal> {
        parse(text).ok_or_else(|| NoDecimal { text: text.chars().take(MOST_REPEATED).collect() })
    }
}

/// The most characters of a text that an error repeats.
const MOST_REPEATED: usize = 60;

fn parse(text: &str) -> Option<Decimal> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut unscaled = digits().try_fold(0i128, |number, digit| {
        number.checked_mul(10)?.checked_add(i128::from(digit - b'0'))
    });
    let mut scale = i64::try_from(fraction.len()).ok()? - i64::from(exponent);
    if unscaled.is_none() || scale > MOST_DECIMAL_DIGITS.into() {
        // Zeros at the end may be all that is too long.
        let kept: Vec<u8> = digits().collect();
        let end = kept.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
        scale -= i64::try_from(kept.len() - end).ok()?;
        unscaled = kept[..end].iter().try_fold(0i128, |number, digit| {
            number.checked_mul(10)?.checked_add(i128::from(digit - b'0'))
        });
    }
    let mut unscaled = unscaled?;
    if unscaled == 0 {
        scale = scale.clamp(0, MOST_DECIMAL_DIGITS.into());
    }
    if scale < 0 {
        let more = u8::try_from(-scale).ok().filter(|more| *more <= MOST_DECIMAL_DIGITS)?;
        unscaled = unscaled.checked_mul(i128::try_from(power(more)).ok()?)?;
        scale = 0;
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    Decimal::new(sign * unscaled, u8::try_from(scale).ok()?)
}

/// A text that is no decimal of at most 38 digits.
///
/// ```
/// let refused = "1,5".parse::<lode::Decimal>().expect_err("a comma is no point");
/// assert_eq!(refused.to_string(), "\"1,5\" is no decimal of at most 38 digits, such as 12.30");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no decimal of at most {MOST_DECIMAL_DIGITS} digits, such as 12.30")]
pub struct NoDecimal {
    /// The text, as far as it is shown.
    pub text: Box<str>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_read_by_their_digits() {
        let read = |text: &str| text.parse::<Decimal>().ok().map(|d| (d.unscaled(), d.scale()));
        let most = "9".repeat(38);
        let number = power(38) as i128 - 1;
        assert_eq!(read(&most), Some((number, 0)));
        assert_eq!(read(&format!("-0.{most}")), Some((-number, 38)));
        assert_eq!(read(&format!("{most}9")), None);
        assert_eq!(read(&format!("0.{most}9")), None);
        assert_eq!(read(&format!("{most}.000")), Some((number, 0)));
        assert_eq!(read("1e37"), Some((power(37) as i128, 0)));
        assert_eq!(read("1e38"), None);
        assert_eq!(read("1e-38"), Some((1, 38)));
        assert_eq!(read("1e-39"), None);
        assert_eq!(read("0e99999"), Some((0, 0)));
        assert_eq!(read("-0.00"), Some((0, 2)));
        assert_eq!(read("+007.5"), Some((75, 1)));
        assert_eq!(read("12."), Some((12, 0)));
        assert_eq!(read("1e99999999999"), None);
        let one = Decimal::from(1);
        assert_eq!((one.rescaled(38, 60), one.floor_to(60)), (None, None));
        assert_eq!(Decimal::from(0).checked_sub(Decimal::of_parts(i128::MIN, 0)), None);
        for wrong in ["--1", "1-", "1.2.3", " 1", "1 ", "1_0", "٣", "e5", "inf", "+", "1e1.5"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    /// Generates decimals of all sizes.
    fn decimals() -> impl Strategy<Value = Decimal> {
        (any::<i128>(), 0..=38u8, 0..=38u8).prop_map(|(number, digits, scale)| {
            let limit = power(digits) as i128;
            Decimal::new(number % limit, scale).expect("it has so few digits")
        })
    }

    proptest! {
        #[test]
        fn text_leads_back(one in decimals()) {
            let back: Decimal = one.to_string().parse().expect("a decimal");
            prop_assert_eq!((back.unscaled(), back.scale()), (one.unscaled(), one.scale()));
        }

        #[test]
        fn order_is_that_of_values(one in decimals(), other in decimals(), digits in 0..=38u8) {
            // By the digits before the point, then those after it, of the absolute values.
            let key = |decimal: Decimal| {
                let text = decimal.to_string();
                let text = text.trim_start_matches('-');
                let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
                format!("{whole:0>40}.{fraction:0<40}")
            };
            let sign = |decimal: Decimal| decimal.unscaled().signum();
            let by_text = sign(one).cmp(&sign(other)).then_with(|| match sign(one) {
                -1 => key(other).cmp(&key(one)),
                _ => key(one).cmp(&key(other)),
            });
            prop_assert_eq!(one.cmp(&other), by_text);
            if let Some(number) = one.rescaled(38, digits) {
                prop_assert_eq!(Decimal::new(number, digits).expect("it fits"), one);
            }
        }
    }
}
