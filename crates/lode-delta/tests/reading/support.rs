//! Tables that are written by hand, action by action.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{MapBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema};
use lode_arrow::{FileFormat, FileWriter, WriteOptions};
use lode_delta::{DeltaTable, Location, Result};
use roaring::RoaringTreemap;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with a table.
pub struct Bench {
    folder: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("t/_delta_log/_sidecars")).expect("folders");
        Self { folder }
    }

    /// A table of column `id` with files `a` (1, 2, 3) and `b` (4, 5), without a log yet:
    /// returns it, and the actions that add them.
    pub fn with_two_files() -> (Self, Value, Value) {
        let bench = Self::new();
        let a = bench.ids_file("a", &[1, 2, 3]);
        let b = bench.ids_file("b", &[4, 5]);
        (bench, a, b)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("t").join(name)
    }

    pub fn location(&self) -> Location {
        Location::parse(self.path("").to_str().expect("a plain name")).expect("a place")
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("it is written");
    }

    /// Writes a file of column `id`; returns the action that adds it.
    pub fn ids_file(&self, name: &str, ids: &[i64]) -> Value {
        let ids: ArrayRef = Arc::new(Int64Array::from(ids.to_vec()));
        self.file(name, &RecordBatch::try_from_iter([("id", ids)]).expect("a batch"))
    }

    /// Writes a file of rows; returns the action that adds it.
    pub fn file(&self, name: &str, batch: &RecordBatch) -> Value {
        let name = format!("{name}.parquet");
        let size = write_parquet(&self.path(&name), batch);
        let stats = format!("{{\"numRecords\":{}}}", batch.num_rows());
        json!({ "add": {
            "path": name, "partitionValues": {}, "size": size, "modificationTime": 0,
            "dataChange": true, "stats": stats,
        }})
    }

    /// Writes an entry of the log.
    pub fn entry(&self, version: u64, actions: &[Value]) {
        self.write(&format!("_delta_log/{version:020}.json"), lines(actions));
    }

    /// Writes the first entry, of a table of column `id` that needs these features.
    pub fn begin(&self, features: &[&str], more: &[Value]) {
        let mut actions = vec![protocol(features), metadata(&id_schema())];
        actions.extend(more.iter().cloned());
        self.entry(0, &actions);
    }

    /// Writes a Parquet file of actions into the log; returns its size.
    pub fn checkpoint(&self, name: &str, actions: &[Value]) -> u64 {
        let columns = checkpoint_fields();
        let array = |field: &Arc<Field>| {
            let values: Vec<_> = actions.iter().map(|action| action.get(field.name())).collect();
            array(field.data_type(), &values)
        };
        let arrays = columns.iter().map(array).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(columns.clone())), arrays);
        write_parquet(&self.path("_delta_log").join(name), &batch.expect("a batch"))
    }

    /// Removes an entry of the log.
    pub fn forget(&self, version: u64) {
        let name = format!("_delta_log/{version:020}.json");
        fs::remove_file(self.path(&name)).expect("it is there");
    }

    pub fn open(&self) -> Result<DeltaTable> {
        DeltaTable::open(&self.location())
    }

    /// The rows of the newest version.
    pub fn rows(&self) -> Result<Vec<RecordBatch>> {
        self.open()?.batches().collect()
    }

    /// The values of column `id`, in order.
    pub fn ids(&self) -> Vec<i64> {
        let table = self.open().expect("a table");
        let mut ids: Vec<i64> = Vec::new();
        for batch in table.batches() {
            let batch = batch.expect("a batch");
            let column = batch.column_by_name("id").expect("a column").clone();
            let column = column.as_any().downcast_ref::<Int64Array>().expect("integers").clone();
            ids.extend(column.values());
        }
        assert!(table.rows().is_none_or(|rows| rows == ids.len() as u64), "{:?}", table.rows());
        ids.sort_unstable();
        ids
    }

    /// Why the table cannot be read, without the place of it.
    pub fn why(&self) -> String {
        let error = self.rows().expect_err("it is refused").to_string();
        let place = format!("{}: the Delta table ", self.path("").display());
        error.strip_prefix(&place).expect("the place comes first").to_string()
    }
}

pub fn lines(actions: &[Value]) -> String {
    actions.iter().map(|action| format!("{action}\n")).collect()
}

/// Writes a Parquet file; returns its size.
pub fn write_parquet(path: &Path, batch: &RecordBatch) -> u64 {
    let options = WriteOptions::of(FileFormat::Parquet);
    let mut writer = FileWriter::new(FileFormat::Parquet, &batch.schema(), &options, Vec::new())
        .expect("a file");
    writer.write(batch).expect("it is written");
    let bytes = writer.finish().expect("it is finished");
    fs::write(path, &bytes).expect("it is written");
    bytes.len() as u64
}

/// A protocol with features of readers, or without any.
pub fn protocol(features: &[&str]) -> Value {
    match features {
        [] => json!({ "protocol": { "minReaderVersion": 1, "minWriterVersion": 2 } }),
        _ => json!({ "protocol": {
            "minReaderVersion": 3, "minWriterVersion": 7,
            "readerFeatures": features, "writerFeatures": features,
        }}),
    }
}

/// The metadata of a table. A schema is an array of fields.
pub fn metadata(fields: &Value) -> Value {
    let schema = json!({ "type": "struct", "fields": fields }).to_string();
    json!({ "metaData": {
        "id": "00000000-0000-4000-8000-000000000000",
        "format": { "provider": "parquet", "options": {} },
        "schemaString": schema, "partitionColumns": [], "configuration": {},
    }})
}

pub fn field(name: &str, kind: &str, metadata: &Value) -> Value {
    json!({ "name": name, "type": kind, "nullable": true, "metadata": metadata })
}

pub fn id_schema() -> Value {
    json!([field("id", "long", &json!({}))])
}

/// The action that removes what another adds.
pub fn remove(add: &Value) -> Value {
    let mut remove = json!({ "path": add["add"]["path"], "dataChange": true });
    if let Some(vector) = add["add"].get("deletionVector") {
        remove["deletionVector"] = vector.clone();
    }
    json!({ "remove": remove })
}

/// An action with other members.
pub fn with(action: &Value, kind: &str, members: Value) -> Value {
    let mut action = action.clone();
    let Value::Object(members) = members else { panic!("members") };
    action[kind].as_object_mut().expect("an object").extend(members);
    action
}

/// The bytes of a deletion vector.
pub fn vector_bytes(rows: &[u64]) -> Vec<u8> {
    let mut bytes = 1_681_511_377u32.to_le_bytes().to_vec();
    let places: RoaringTreemap = rows.iter().copied().collect();
    places.serialize_into(&mut bytes).expect("bytes");
    bytes
}

/// A deletion vector in the log.
pub fn inline_vector(rows: &[u64]) -> Value {
    let bytes = vector_bytes(rows);
    let mut filled = bytes.clone();
    filled.resize(bytes.len().next_multiple_of(4), 0);
    json!({
        "storageType": "i", "pathOrInlineDv": z85::encode(filled), "sizeInBytes": bytes.len(),
        "cardinality": rows.len(),
    })
}

/// Adds a file with rows deleted.
pub fn without(add: &Value, rows: &[u64]) -> Value {
    with(add, "add", json!({ "deletionVector": inline_vector(rows) }))
}

fn checkpoint_fields() -> Fields {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let long = |name: &str| Field::new(name, DataType::Int64, true);
    let int = |name: &str| Field::new(name, DataType::Int32, true);
    let entries = Field::new_struct(
        "entries",
        vec![Field::new("keys", DataType::Utf8, false), text("values")],
        false,
    );
    let map = |name: &str| Field::new(name, DataType::Map(Arc::new(entries.clone()), false), true);
    let list = |name: &str| Field::new_list(name, text("item"), true);
    let group = |name: &str, fields: Vec<Field>| Field::new_struct(name, fields, true);
    let vector = vec![
        text("storageType"),
        text("pathOrInlineDv"),
        int("offset"),
        int("sizeInBytes"),
        long("cardinality"),
    ];
    let file = |name: &str| {
        let fields = vec![
            text("path"),
            map("partitionValues"),
            long("size"),
            long("modificationTime"),
            Field::new("dataChange", DataType::Boolean, true),
            text("stats"),
            group("deletionVector", vector.clone()),
        ];
        group(name, fields)
    };
    Fields::from(vec![
        group(
            "protocol",
            vec![
                int("minReaderVersion"),
                int("minWriterVersion"),
                list("readerFeatures"),
                list("writerFeatures"),
            ],
        ),
        group(
            "metaData",
            vec![
                text("id"),
                group("format", vec![text("provider"), map("options")]),
                text("schemaString"),
                list("partitionColumns"),
                map("configuration"),
            ],
        ),
        file("add"),
        file("remove"),
        group("checkpointMetadata", vec![long("version")]),
        group("sidecar", vec![text("path"), long("sizeInBytes"), long("modificationTime")]),
        // What this program does not know is not looked at.
        group("txn", vec![text("appId"), long("version")]),
    ])
}

/// Values of JSON as an array.
fn array(kind: &DataType, values: &[Option<&Value>]) -> ArrayRef {
    let there: Vec<Option<&Value>> =
        values.iter().map(|value| value.filter(|value| !value.is_null())).collect();
    let text = |value: &Value| value.as_str().expect("a text").to_string();
    match kind {
        DataType::Utf8 => {
            Arc::new(there.iter().map(|value| value.map(text)).collect::<StringArray>())
        }
        DataType::Int64 => {
            let long = |value: &Value| value.as_i64().expect("an integer");
            Arc::new(there.iter().map(|value| value.map(long)).collect::<Int64Array>())
        }
        DataType::Int32 => {
            let int = |value: &Value| value.as_i64().expect("an integer") as i32;
            Arc::new(there.iter().map(|value| value.map(int)).collect::<Int32Array>())
        }
        DataType::Boolean => {
            let bool = |value: &Value| value.as_bool().expect("a truth value");
            Arc::new(there.iter().map(|value| value.map(bool)).collect::<BooleanArray>())
        }
        DataType::Struct(fields) => {
            let nulls = NullBuffer::from_iter(there.iter().map(Option::is_some));
            let member = |field: &Arc<Field>| {
                let values: Vec<_> = there
                    .iter()
                    .map(|value| value.and_then(|value| value.get(field.name())))
                    .collect();
                array(field.data_type(), &values)
            };
            let members = fields.iter().map(member).collect();
            Arc::new(StructArray::new(fields.clone(), members, Some(nulls)))
        }
        DataType::List(item) => {
            let lists = there.iter().map(|value| value.and_then(|value| value.as_array()));
            let lists: Vec<_> = lists.collect();
            let items: Vec<_> =
                lists.iter().flatten().flat_map(|list| list.iter().map(Some)).collect();
            let lengths = lists.iter().map(|list| list.map_or(0, Vec::len));
            let nulls = NullBuffer::from_iter(lists.iter().map(Option::is_some));
            let items = array(item.data_type(), &items);
            let offsets = OffsetBuffer::from_lengths(lengths);
            Arc::new(ListArray::new(item.clone(), offsets, items, Some(nulls)))
        }
        DataType::Map(_, _) => {
            let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
            for value in there {
                for (key, value) in value.and_then(|value| value.as_object()).into_iter().flatten()
                {
                    map.keys().append_value(key);
                    map.values().append_option(value.as_str());
                }
                map.append(value.is_some()).expect("as many keys as values");
            }
            Arc::new(map.finish())
        }
        other => panic!("no {other} in a checkpoint"),
    }
}
