//! The options of `#[record(…)]` on a struct and on its fields.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, Ident, LitStr, Result, Token, parenthesized};

/// On a struct.
#[derive(Default)]
pub struct OnStruct {
    pub table: Option<LitStr>,
    pub indexes: Vec<Index>,
}

/// On a field; the spans are where it says so.
#[derive(Default)]
pub struct OnField {
    pub key: Option<Span>,
    pub timestamp: Option<Span>,
    pub expires: Option<Span>,
    pub text: Option<Expr>,
    pub most: Option<Expr>,
    pub decimal: Option<Digits>,
    pub name: Option<LitStr>,
    pub indexes: Vec<FieldIndex>,
}

/// A secondary index over the field: its name, if it has one of its own.
pub struct FieldIndex {
    pub name: Option<LitStr>,
    pub is_unique: bool,
}

/// A secondary index over several fields.
pub struct Index {
    pub name: LitStr,
    pub fields: Vec<Ident>,
    pub is_unique: bool,
}

impl Index {
    /// Reads `(name = "by_city", columns(city, age))`.
    fn read(meta: &ParseNestedMeta<'_>, is_unique: bool) -> Result<Self> {
        let mut name = None;
        let mut fields = Vec::new();
        meta.parse_nested_meta(|part| {
            if part.path.is_ident("name") {
                name = Some(part.value()?.parse()?);
            } else if part.path.is_ident("columns") {
                let columns;
                parenthesized!(columns in part.input);
                let read = Punctuated::<Ident, Token![,]>::parse_terminated(&columns)?;
                fields.extend(read);
            } else {
                return Err(part.error("an index takes `name = \"…\"` and `columns(…)`"));
            }
            Ok(())
        })?;
        match (name, fields.is_empty()) {
            (Some(name), false) => Ok(Self { name, fields, is_unique }),
            _ => {
                let why = "an index of a struct needs its name and columns, as in \
                           `index(name = \"by_city\", columns(city, age))`";
                Err(Error::new(meta.path.span(), why))
            }
        }
    }
}

/// The digits of a decimal, in all and after the point.
#[derive(Clone)]
pub struct Digits {
    pub precision: Expr,
    pub scale: Expr,
}

impl Digits {
    /// Reads `(12, 2)`.
    fn read(meta: &ParseNestedMeta<'_>) -> Result<Self> {
        let digits;
        parenthesized!(digits in meta.input);
        let precision = digits.parse()?;
        digits.parse::<Token![,]>()?;
        let scale = digits.parse()?;
        if digits.is_empty() {
            return Ok(Self { precision, scale });
        }
        Err(digits.error("a decimal has two numbers of digits, as in `decimal(12, 2)`"))
    }
}

impl OnStruct {
    pub fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut said = Self::default();
        each(attributes, |meta| {
            if meta.path.is_ident("table") {
                said.table = Some(meta.value()?.parse()?);
                return Ok(());
            }
            if let Some(is_unique) = uniqueness(&meta) {
                said.indexes.push(Index::read(&meta, is_unique)?);
                return Ok(());
            }
            Err(meta.error(
                "unknown attribute; a struct takes `table = \"…\"`, `index(…)`, and `unique(…)`",
            ))
        })?;
        Ok(said)
    }
}

impl OnField {
    pub fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut said = Self::default();
        each(attributes, |meta| {
            if meta.path.is_ident("key") {
                said.key = Some(meta.path.span());
            } else if meta.path.is_ident("timestamp") {
                said.timestamp = Some(meta.path.span());
            } else if meta.path.is_ident("expires") {
                said.expires = Some(meta.path.span());
            } else if meta.path.is_ident("text") {
                said.text = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("most") {
                said.most = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("decimal") {
                said.decimal = Some(Digits::read(&meta)?);
            } else if meta.path.is_ident("name") {
                said.name = Some(meta.value()?.parse()?);
            } else if let Some(is_unique) = uniqueness(&meta) {
                let has_name = meta.input.peek(Token![=]);
                let name = if has_name { Some(meta.value()?.parse()?) } else { None };
                said.indexes.push(FieldIndex { name, is_unique });
            } else {
                return Err(meta.error(
                    "unknown attribute; a field takes `key`, `text = …`, `most = …`, \
                     `timestamp`, `expires`, `decimal(…)`, `name = \"…\"`, `index`, and `unique`",
                ));
            }
            Ok(())
        })?;
        Ok(said)
    }
}

/// Returns whether an index is unique; `None` if this is no index.
fn uniqueness(meta: &ParseNestedMeta<'_>) -> Option<bool> {
    let is_unique = meta.path.is_ident("unique");
    (is_unique || meta.path.is_ident("index")).then_some(is_unique)
}

/// Calls `read` with everything that the attributes of the macro say, in their order.
fn each(
    attributes: &[Attribute],
    mut read: impl FnMut(ParseNestedMeta<'_>) -> Result<()>,
) -> Result<()> {
    let ours = attributes.iter().filter(|attribute| attribute.path().is_ident("record"));
    ours.into_iter().try_for_each(|attribute| attribute.parse_nested_meta(&mut read))
}
