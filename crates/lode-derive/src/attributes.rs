//! The options of `#[record(…)]` on a struct and on its fields.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, LitStr, Result, Token, parenthesized};

/// On a struct.
#[derive(Default)]
pub struct OnStruct {
    pub table: Option<LitStr>,
}

/// On a field; the spans are where it says so.
#[derive(Default)]
pub struct OnField {
    pub key: Option<Span>,
    pub timestamp: Option<Span>,
    pub text: Option<Expr>,
    pub most: Option<Expr>,
    pub decimal: Option<Digits>,
    pub name: Option<LitStr>,
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
            Err(meta.error("unknown attribute; a struct takes `table = \"…\"`"))
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
            } else if meta.path.is_ident("text") {
                said.text = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("most") {
                said.most = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("decimal") {
                said.decimal = Some(Digits::read(&meta)?);
            } else if meta.path.is_ident("name") {
                said.name = Some(meta.value()?.parse()?);
            } else {
                return Err(meta.error(
                    "unknown attribute; a field takes `key`, `text = …`, `most = …`, \
                     `timestamp`, `decimal(…)`, and `name = \"…\"`",
                ));
            }
            Ok(())
        })?;
        Ok(said)
    }
}

/// Calls `read` with everything that the attributes of the macro say, in their order.
fn each(
    attributes: &[Attribute],
    mut read: impl FnMut(ParseNestedMeta<'_>) -> Result<()>,
) -> Result<()> {
    let ours = attributes.iter().filter(|attribute| attribute.path().is_ident("record"));
    ours.into_iter().try_for_each(|attribute| attribute.parse_nested_meta(&mut read))
}
