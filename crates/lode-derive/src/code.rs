//! The implementation of `lode::Record`, as code.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::structure::{Column, Index, Structure};

/// Writes the implementation for a struct.
pub fn implementation(structure: &Structure) -> TokenStream {
    let Structure { name, table, columns, indexes } = structure;
    let described = columns.iter().map(describe);
    let expires = columns.iter().filter(|column| column.expires).map(|column| &column.name);
    let values = columns.iter().map(value);
    let fields = columns.iter().enumerate().map(|(at, column)| read(at, column));

    let indexes = indexes.iter().map(index);

    let key = structure.key();
    let types = parts(key.iter().map(|column| column.kind.in_key()).collect());
    let own = parts(key.iter().map(|column| column.kind.part(&column.field)).collect());
    let names: Vec<_> = (0..key.len()).map(|at| format_ident!("part_{at}")).collect();
    let pattern = parts(names.iter().map(|name| quote!(#name)).collect());
    let key_values = key.iter().zip(&names).map(|(column, name)| column.kind.value(name));

    quote! {
        #[automatically_derived]
        impl ::lode::Record for #name {
            type Key<'k> = #types;

            fn schema() -> ::lode::Result<::lode::Schema> {
                ::lode::Schema::build(#table) #(#described)* #(.expires(#expires))* .finish()
            }

            fn indexes() -> ::std::vec::Vec<::lode::IndexSchema> {
                ::std::vec![#(#indexes),*]
            }

            fn key(&self) -> Self::Key<'_> {
                #own
            }

            fn pack(
                &self,
                schema: &::lode::Schema,
            ) -> ::lode::Result<::std::vec::Vec<u8>> {
                schema.pack(&[#(#values),*])
            }

            fn pack_key(
                #pattern: Self::Key<'_>,
                schema: &::lode::Schema,
            ) -> ::lode::Result<::std::vec::Vec<u8>> {
                schema.pack_key(&[#(#key_values),*])
            }

            fn unpack(row: ::lode::RowRef<'_>) -> ::lode::Result<Self> {
                let columns = row.schema().columns();
                ::core::result::Result::Ok(Self { #(#fields),* })
            }
        }
    }
}

/// Returns one part by itself, several as a tuple.
fn parts(parts: Vec<TokenStream>) -> TokenStream {
    match &parts[..] {
        [part] => part.clone(),
        parts => quote!((#(#parts),*)),
    }
}

/// Returns the call that adds a column to a schema.
fn describe(column: &Column) -> TokenStream {
    let Column { name, kind, is_nullable, is_key, .. } = column;
    let kind = kind.column();
    match (is_key, is_nullable) {
        (true, _) => quote!(.key(#name, #kind)),
        (false, true) => quote!(.nullable(#name, #kind)),
        (false, false) => quote!(.column(#name, #kind)),
    }
}

/// Returns a secondary index.
fn index(index: &Index) -> TokenStream {
    let Index { name, columns, is_unique } = index;
    let unique = is_unique.then(|| quote!(.unique()));
    quote!(::lode::IndexSchema::new(#name, [#(#columns),*]) #unique)
}

/// Returns the value that a field has.
fn value(column: &Column) -> TokenStream {
    let field = column.kind.part(&column.field);
    if !column.is_nullable {
        return column.kind.value(&field);
    }
    let value = column.kind.value(&quote!(it));
    quote! {
        match #field {
            ::core::option::Option::Some(it) => #value,
            ::core::option::Option::None => ::lode::Value::Null,
        }
    }
}

/// Returns a field with the value of its column.
fn read(at: usize, column: &Column) -> TokenStream {
    let Column { field, kind, is_nullable, .. } = column;
    let arm = kind.arm();
    let found = quote! {
        match row.at(columns[#at].id()) {
            #arm,
            _ => ::core::option::Option::None,
        }
        .ok_or_else(|| ::lode::misfit(row, #at))?
    };
    if *is_nullable {
        quote! {
            #field: match row.at(columns[#at].id()) {
                ::lode::Value::Null => ::core::option::Option::None,
                _ => ::core::option::Option::Some(#found),
            }
        }
    } else {
        quote!(#field: #found)
    }
}
