//! A struct as columns, or what is wrong with it.

use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Field, Fields, Ident, Result};

use crate::attributes::{self, FieldIndex, OnField, OnStruct};
use crate::kind::{Kind, bare, inside_option};

/// A struct that can be a record.
pub struct Structure {
    pub name: Ident,
    pub table: String,
    /// The record's columns: those of the key first.
    pub columns: Vec<Column>,
    pub indexes: Vec<Index>,
}

/// A secondary index over columns of it.
pub struct Index {
    pub name: String,
    pub columns: Vec<String>,
    pub is_unique: bool,
}

/// A column of it.
pub struct Column {
    pub field: Ident,
    pub name: String,
    pub kind: Kind,
    pub is_nullable: bool,
    pub is_key: bool,
    /// True if the record expires at the time in it.
    pub expires: bool,
    /// The secondary indexes over this column alone.
    indexes: Vec<FieldIndex>,
}

impl Structure {
    pub fn new(input: DeriveInput) -> Result<Self> {
        let said = OnStruct::read(&input.attrs)?;
        if !input.generics.params.is_empty() {
            let why = "a record cannot have type parameters or lifetimes";
            return Err(Error::new_spanned(&input.generics, why));
        }
        let Data::Struct(data) = input.data else {
            return Err(Error::new_spanned(&input.ident, "a record is a struct with named fields"));
        };
        if let Fields::Unnamed(fields) = &data.fields {
            return Err(Error::new_spanned(fields, "the fields of a record need names"));
        }
        let columns = data.fields.iter().map(Column::new).collect::<Result<Vec<_>>>()?;
        if !columns.iter().any(|column| column.is_key) {
            let why = "a record needs a key: mark its first fields with `#[record(key)]`";
            return Err(Error::new_spanned(&input.ident, why));
        }
        let late = columns.iter().skip_while(|column| column.is_key).find(|column| column.is_key);
        if let Some(late) = late {
            let why = "the fields of the key come first: move this one before the others";
            return Err(Error::new_spanned(&late.field, why));
        }
        let table = match &said.table {
            Some(table) => table.value(),
            None => snake_case(&input.ident.unraw().to_string()),
        };
        let of_fields = columns.iter().flat_map(|column| {
            column.indexes.iter().map(|index| Index {
                name: match &index.name {
                    Some(name) => name.value(),
                    None => format!("by_{}", column.name),
                },
                columns: vec![column.name.clone()],
                is_unique: index.is_unique,
            })
        });
        let mut indexes: Vec<_> = of_fields.collect();
        for index in &said.indexes {
            indexes.push(Index::of_struct(index, &columns)?);
        }
        Ok(Self { name: input.ident, table, columns, indexes })
    }

    /// Returns the columns of the record's key.
    pub fn key(&self) -> &[Column] {
        let others = self.columns.iter().position(|column| !column.is_key);
        &self.columns[..others.unwrap_or(self.columns.len())]
    }
}

impl Index {
    /// Finds the columns of an index that the struct names.
    fn of_struct(said: &attributes::Index, columns: &[Column]) -> Result<Self> {
        let column = |field: &Ident| {
            let found = columns.iter().find(|column| column.field == *field);
            let found = found.map(|column| column.name.clone());
            found.ok_or_else(|| Error::new_spanned(field, "the struct has no such field"))
        };
        let columns = said.fields.iter().map(column).collect::<Result<_>>()?;
        Ok(Self { name: said.name.value(), columns, is_unique: said.is_unique })
    }
}

impl Column {
    fn new(field: &Field) -> Result<Self> {
        let said = OnField::read(&field.attrs)?;
        let kind = bare(&field.ty);
        let inside = inside_option(kind);
        if let (Some(_), Some(span)) = (inside, said.key) {
            return Err(Error::new(span, "a field of the key always has a value: no `Option`"));
        }
        let kind = Kind::new(inside.unwrap_or(kind), &said)?;
        let ident = field.ident.clone().expect("structs with fields without names are refused");
        let name = match &said.name {
            Some(name) => name.value(),
            None => ident.unraw().to_string(),
        };
        let is_nullable = inside.is_some();
        let is_key = said.key.is_some();
        if let (Some(span), true) = (said.expires, is_key || said.timestamp.is_none()) {
            let why = "a record expires by a field with `timestamp` that is not of the key";
            return Err(Error::new(span, why));
        }
        let expires = said.expires.is_some();
        Ok(Self { field: ident, name, kind, is_nullable, is_key, expires, indexes: said.indexes })
    }
}

/// Turns `HTTPRequest2Log` into `http_request2_log`.
fn snake_case(camel: &str) -> String {
    let letters: Vec<char> = camel.chars().collect();
    let mut snake = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let is_word_end = before.is_some_and(|before| before.is_lowercase() || before.is_numeric());
        let is_acronym_end = before.is_some_and(char::is_uppercase)
            && letters.get(at + 1).is_some_and(|after| after.is_lowercase());
        if letter.is_uppercase() && (is_word_end || is_acronym_end) {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::snake_case;

    #[test]
    fn names_of_structs_become_names_of_tables() {
        for (camel, snake) in [
            ("City", "city"),
            ("CityOfTheYear", "city_of_the_year"),
            ("HTTPRequest2Log", "http_request2_log"),
            ("XY", "xy"),
            ("Already_There", "already_there"),
            ("Ærø", "ærø"),
        ] {
            assert_eq!(snake_case(camel), snake);
        }
    }
}
