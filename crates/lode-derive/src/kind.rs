//! The types that a field can have.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Error, Expr, GenericArgument, Ident, PathArguments, Result, Type, TypePath};

use crate::attributes::{Digits, OnField};

/// The type of a column, and of the field that has its values.
pub enum Kind {
    Unsigned(Ident),
    Signed(Ident),
    Float(Ident),
    Bool,
    Timestamp,
    /// Text of at most this number of bytes.
    Text(Expr),
    /// The type of an array.
    Bytes(Type),
    /// Text of variable length, and the most bytes of it if that is said.
    VarText(Option<Expr>),
    /// Bytes of variable length, and the most of them if that is said.
    VarBytes(Option<Expr>),
    Decimal(Digits),
}

impl Kind {
    /// Returns the kind of a field's type, without `Option`.
    pub fn new(field: &Type, said: &OnField) -> Result<Self> {
        let kind = Self::plain(field, said)?;
        if let (false, Some(bytes)) = (matches!(kind, Self::Text(_)), &said.text) {
            return Err(Error::new_spanned(bytes, "only a `String` takes `text = …`"));
        }
        if let (false, Some(most)) = (kind.is_variable(), &said.most) {
            let why = "only a `String` without `text = …` and a `Vec<u8>` take `most = …`";
            return Err(Error::new_spanned(most, why));
        }
        if let (false, Some(digits)) = (matches!(kind, Self::Decimal(_)), &said.decimal) {
            return Err(Error::new_spanned(
                &digits.precision,
                "only a `Decimal` takes `decimal(…)`",
            ));
        }
        if said.key.is_some() && kind.is_variable() && said.most.is_none() {
            return Err(Error::new_spanned(field, kind.missing_in_key()));
        }
        match (kind, said.timestamp) {
            (Self::Signed(name), Some(_)) if name == "i64" => Ok(Self::Timestamp),
            (_, Some(span)) => Err(Error::new(span, "only an `i64` can be a `timestamp`")),
            (kind, None) => Ok(kind),
        }
    }

    fn plain(field: &Type, said: &OnField) -> Result<Self> {
        if let Type::Array(array) = field
            && name_of(bare(&array.elem)).is_some_and(|name| name == "u8")
        {
            return Ok(Self::Bytes(field.clone()));
        }
        if inside("Vec", field).is_some_and(|of| name_of(of).is_some_and(|name| name == "u8")) {
            return Ok(Self::VarBytes(said.most.clone()));
        }
        let Some(name) = name_of(field) else { return Err(unsupported(field)) };
        match &*name.to_string() {
            "u8" | "u16" | "u32" | "u64" => Ok(Self::Unsigned(name.clone())),
            "i8" | "i16" | "i32" | "i64" => Ok(Self::Signed(name.clone())),
            "f32" | "f64" => Ok(Self::Float(name.clone())),
            "bool" => Ok(Self::Bool),
            "String" => Ok(match &said.text {
                Some(bytes) => Self::Text(bytes.clone()),
                None => Self::VarText(said.most.clone()),
            }),
            "Decimal" => said.decimal.clone().map(Self::Decimal).ok_or_else(|| {
                let why = "a `Decimal` needs its digits, as in `#[record(decimal(12, 2))]`: 12 in \
                           all, 2 of them after the point";
                Error::new_spanned(field, why)
            }),
            _ => Err(unsupported(field)),
        }
    }

    fn is_variable(&self) -> bool {
        matches!(self, Self::VarText(_) | Self::VarBytes(_))
    }

    /// Returns the error for a field of the key of variable length without its most bytes.
    fn missing_in_key(&self) -> &'static str {
        match self {
            Self::VarBytes(_) => {
                "a `Vec<u8>` of the key needs the most bytes that it can have, as in \
                 `#[record(key, most = 100)]`"
            }
            _ => {
                "a `String` of the key needs the most bytes that it can have, as in \
                 `#[record(key, most = 100)]`"
            }
        }
    }

    /// Returns the column's type.
    pub fn column(&self) -> TokenStream {
        match self {
            Self::Unsigned(name) | Self::Signed(name) | Self::Float(name) => {
                let upper = Ident::new(&name.to_string().to_uppercase(), name.span());
                quote!(::lode::Type::#upper)
            }
            Self::Bool => quote!(::lode::Type::Bool),
            Self::Timestamp => quote!(::lode::Type::Timestamp),
            Self::Text(bytes) => quote!(::lode::Type::Text(#bytes)),
            Self::Bytes(array) => {
                quote!(::lode::Type::Bytes(::core::mem::size_of::<#array>() as u32))
            }
            Self::VarText(most) => {
                let most = or_most(most);
                quote!(::lode::Type::VarText(#most))
            }
            Self::VarBytes(most) => {
                let most = or_most(most);
                quote!(::lode::Type::VarBytes(#most))
            }
            Self::Decimal(Digits { precision, scale }) => {
                quote!(::lode::Type::Decimal { precision: #precision, scale: #scale })
            }
        }
    }

    /// Returns the column's type as a part of a key.
    pub fn in_key(&self) -> TokenStream {
        match self {
            Self::Unsigned(name) | Self::Signed(name) | Self::Float(name) => quote!(#name),
            Self::Bool => quote!(bool),
            Self::Timestamp => quote!(i64),
            Self::Text(_) | Self::VarText(_) => quote!(&'k str),
            Self::Bytes(array) => quote!(&'k #array),
            Self::VarBytes(_) => quote!(&'k [u8]),
            Self::Decimal(_) => quote!(::lode::Decimal),
        }
    }

    /// Returns the content of a field: itself if it is copied, and a reference to it otherwise.
    pub fn part(&self, field: &Ident) -> TokenStream {
        match self {
            Self::Text(_) | Self::Bytes(_) | Self::VarText(_) | Self::VarBytes(_) => {
                quote!(&self.#field)
            }
            _ => quote!(self.#field),
        }
    }

    /// Returns the value of a column from such a part.
    pub fn value(&self, part: &impl ToTokens) -> TokenStream {
        match self {
            Self::Unsigned(_) => quote!(::lode::Value::Unsigned(u64::from(#part))),
            Self::Signed(_) => quote!(::lode::Value::Signed(i64::from(#part))),
            Self::Float(_) => quote!(::lode::Value::Float(f64::from(#part))),
            Self::Bool => quote!(::lode::Value::Bool(#part)),
            Self::Timestamp => quote!(::lode::Value::Timestamp(#part)),
            Self::Text(_) | Self::VarText(_) => quote!(::lode::Value::Text(#part)),
            Self::Bytes(_) | Self::VarBytes(_) => quote!(::lode::Value::Bytes(#part)),
            Self::Decimal(_) => quote!(::lode::Value::Decimal(#part)),
        }
    }

    /// Returns the arm of a match on a value: it returns what the field has, if the value fits.
    pub fn arm(&self) -> TokenStream {
        let some = quote!(::core::option::Option::Some);
        let try_from = quote!(::core::convert::TryFrom::try_from(it).ok());
        match self {
            Self::Unsigned(_) => quote!(::lode::Value::Unsigned(it) => #try_from),
            Self::Signed(_) => quote!(::lode::Value::Signed(it) => #try_from),
            Self::Float(name) => quote!(::lode::Value::Float(it) => #some(it as #name)),
            Self::Bool => quote!(::lode::Value::Bool(it) => #some(it)),
            Self::Timestamp => quote!(::lode::Value::Timestamp(it) => #some(it)),
            Self::Text(_) | Self::VarText(_) => {
                quote!(::lode::Value::Text(it) => #some(::std::string::String::from(it)))
            }
            Self::Bytes(_) => quote!(::lode::Value::Bytes(it) => #try_from),
            Self::VarBytes(_) => {
                quote!(::lode::Value::Bytes(it) => #some(::std::vec::Vec::from(it)))
            }
            Self::Decimal(_) => quote!(::lode::Value::Decimal(it) => #some(it)),
        }
    }
}

/// Returns the most bytes of a field: as many as a record has, if nothing is said.
fn or_most(said: &Option<Expr>) -> TokenStream {
    match said {
        Some(most) => quote!(#most),
        None => quote!(::lode::MOST_VARIABLE_BYTES as u32),
    }
}

fn unsupported(field: &Type) -> Error {
    let why = "a field is an integer of at most 64 bits, a float, a `bool`, a `Decimal`, a \
               `String`, a `[u8; N]`, a `Vec<u8>`, or an `Option` of one of these";
    Error::new_spanned(field, why)
}

/// Returns the last name of a path without parameters: `String` of `std::string::String`.
fn name_of(field: &Type) -> Option<&Ident> {
    let Type::Path(TypePath { qself: None, path, .. }) = field else { return None };
    let last = path.segments.last()?;
    last.arguments.is_none().then_some(&last.ident)
}

/// Returns a type without the parentheses around it, and without the invisible group around a type
/// that a macro was given.
pub fn bare(field: &Type) -> &Type {
    match field {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        field => field,
    }
}

/// Returns the type inside an `Option`; `None` for another type.
pub fn inside_option(field: &Type) -> Option<&Type> {
    inside("Option", field)
}

/// Returns the parameter of a type of that name with one parameter; `None` for another type.
fn inside<'t>(name: &str, field: &'t Type) -> Option<&'t Type> {
    let Type::Path(TypePath { qself: None, path, .. }) = field else { return None };
    let last = path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match (last.ident == name, arguments.args.first()) {
        (true, Some(GenericArgument::Type(inside))) => Some(bare(inside)),
        _ => None,
    }
}
