//! Secondary indexes as users describe them.

/// A secondary index of a table: its name, its columns, and whether it is unique.
/// [`Table::create_index`](crate::Table::create_index) creates one.
///
/// A *unique* index refuses a record if another one has equal values in all of its columns. Nulls
/// are distinct: any number of records may have one there.
///
/// ```
/// use lode::{Database, Error, IndexSchema, KeyKind, Schema, Type, Value};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("user").key("id", Type::U64).nullable("mail", Type::VarText(99));
/// let users = db.create_table(&schema.finish()?, KeyKind::Hash)?;
/// users.create_index(&IndexSchema::new("by_mail", ["mail"]).unique())?;
///
/// let user = |id, mail| users.schema().pack(&[Value::Unsigned(id), mail]);
/// users.insert(&user(1, Value::Text("ada@example.org"))?)?;
/// users.insert(&user(2, Value::Null)?)?;
/// users.insert(&user(3, Value::Null)?)?;
/// let refused = users.insert(&user(4, Value::Text("ada@example.org"))?);
/// assert!(matches!(refused, Err(Error::UniqueViolation { .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSchema {
    name: String,
    columns: Vec<String>,
    is_unique: bool,
}

impl IndexSchema {
    /// Describes an index over columns, by their names: its entries are in the order of the first,
    /// then of the second, and so on, then in that of the key.
    pub fn new<C: Into<String>>(name: &str, columns: impl IntoIterator<Item = C>) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { name: name.into(), columns, is_unique: false }
    }

    /// Makes the index unique.
    #[must_use]
    pub fn unique(self) -> Self {
        Self { is_unique: true, ..self }
    }

    /// Returns the name of the index; another table may have one of that name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names of the columns, in the order of the index.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns true if no two records can have equal values in the columns.
    pub fn is_unique(&self) -> bool {
        self.is_unique
    }
}
