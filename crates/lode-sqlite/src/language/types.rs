//! The types of columns as SQL has them: those of Lode by their names, and SQL's usual ones.

use lode::{KeyKind, MOST_VARIABLE_BYTES, Type};

use crate::language::reader::Reader;

/// The types without a size, by their words; the first word of a type is that which is printed.
pub(super) const PLAIN: [(&str, Type); 20] = [
    ("U8", Type::U8),
    ("U16", Type::U16),
    ("U32", Type::U32),
    ("U64", Type::U64),
    ("I8", Type::I8),
    ("I16", Type::I16),
    ("I32", Type::I32),
    ("I64", Type::I64),
    ("F32", Type::F32),
    ("F64", Type::F64),
    ("BOOLEAN", Type::Bool),
    ("TIMESTAMP", Type::Timestamp),
    ("BOOL", Type::Bool),
    ("SMALLINT", Type::I16),
    ("INT", Type::I64),
    ("INTEGER", Type::I64),
    ("BIGINT", Type::I64),
    ("FLOAT", Type::F64),
    ("DOUBLE", Type::F64),
    ("REAL", Type::F64),
];

/// The types with a size, and the size that they have if none is written.
pub(super) type Sized = (&'static str, fn(u32) -> Type, Option<u32>);
const MOST: Option<u32> = Some(MOST_VARIABLE_BYTES as u32);
pub(super) const SIZED: [Sized; 6] = [
    ("VARTEXT", Type::VarText, MOST),
    ("VARBYTES", Type::VarBytes, MOST),
    ("BYTES", Type::Bytes, None),
    ("VARCHAR", Type::VarText, MOST),
    ("BLOB", Type::VarBytes, MOST),
    // With a size it has that many bytes in every record.
    ("TEXT", Type::Text, None),
];

/// The words for decimals.
const DECIMAL: [&str; 3] = ["DECIMAL", "NUMERIC", "DEC"];

/// Returns the words for a type.
pub(super) fn type_words(kind: Type) -> String {
    match kind {
        Type::Text(size) => format!("TEXT({size})"),
        Type::Bytes(size) => format!("BYTES({size})"),
        Type::VarText(most) => format!("VARTEXT({most})"),
        Type::VarBytes(most) => format!("VARBYTES({most})"),
        Type::Decimal { precision, scale } => format!("DECIMAL({precision}, {scale})"),
        plain => {
            let found = PLAIN.iter().find(|(_, kind)| *kind == plain);
            found.map_or_else(|| format!("{plain:?}"), |(word, _)| (*word).into())
        }
    }
}

impl Reader<'_> {
    /// Takes `HASH` or `TREE`.
    pub(super) fn key_kind(&mut self) -> Result<KeyKind, String> {
        if self.takes_word("HASH") {
            return Ok(KeyKind::Hash);
        }
        if self.takes_word("TREE") {
            return Ok(KeyKind::Tree);
        }
        Err(self.wrong("HASH or TREE should be here"))
    }

    /// Reads the digits of a decimal: `(12, 2)`, or `(12)` without any after the point.
    fn decimal(&mut self) -> Result<Type, String> {
        if !self.takes('(') {
            return Err(self.wrong("the digits of a decimal should be here, such as (12, 2)"));
        }
        let precision = self.digits()?;
        let scale = if self.takes(',') { self.digits()? } else { 0 };
        self.expect(')')?;
        Ok(Type::Decimal { precision, scale })
    }

    fn digits(&mut self) -> Result<u8, String> {
        let digits = self.word();
        let number = digits.parse();
        let number = number.map_err(|_| self.wrong("a number of digits should be here"))?;
        self.pass(digits);
        Ok(number)
    }

    /// Takes a type.
    pub(super) fn kind(&mut self) -> Result<Type, String> {
        let word = self.word();
        if let Some((_, kind)) = PLAIN.iter().find(|(plain, _)| word.eq_ignore_ascii_case(plain)) {
            self.pass(word);
            return Ok(*kind);
        }
        if DECIMAL.iter().any(|decimal| word.eq_ignore_ascii_case(decimal)) {
            self.pass(word);
            return self.decimal();
        }
        let sized = SIZED.iter().find(|(sized, ..)| word.eq_ignore_ascii_case(sized));
        let Some((found, kind, default)) = sized else {
            let words = PLAIN.iter().map(|(word, _)| (*word).to_string());
            let sized = SIZED.iter().map(|(word, ..)| format!("{word}(BYTES)"));
            let words = words.chain(sized).chain(["DECIMAL(DIGITS, DIGITS)".into()]);
            let words = words.collect::<Vec<_>>().join(", ");
            return Err(self.wrong(&format!("there is no type {word:?}; types are {words}")));
        };
        self.pass(word);
        if !self.takes('(') {
            return match (*found, default) {
                ("TEXT", _) => Ok(Type::VarText(MOST_VARIABLE_BYTES as u32)),
                (_, Some(most)) => Ok(kind(*most)),
                (_, None) => Err(self.wrong("the number of bytes should be here, such as (16)")),
            };
        }
        let digits = self.word();
        let Ok(size) = digits.parse() else {
            return Err(self.wrong("a number of bytes should be here"));
        };
        self.pass(digits);
        self.expect(')')?;
        Ok(kind(size))
    }
}
