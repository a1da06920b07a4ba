use crate::{Database, KeyKind, Schema, Type};

#[test]
fn a_heap_knows_whether_its_records_were_written() {
    let db = Database::in_memory().expect("memory");
    let schema = Schema::build("t").key("id", Type::U8).column("rest", Type::Bytes(3_000));
    let schema = schema.finish().expect("a schema");
    let rest = schema.column("rest").expect("a column");
    let table = db.create_table(&schema, KeyKind::Tree).expect("room");
    let heap = table.core().heap.as_ref().expect("its records are long");
    let record = |byte| [&[7][..], &[byte; 3_000]].concat();
    let transact = || {
        let transaction = db.begin();
        transaction.upsert(&table, &record(3)).expect("room");
        transaction.commit().map(|()| true)
    };
    type Write<'w> = &'w dyn Fn() -> crate::Result<bool>;
    let writes: [Write<'_>; 5] = [
        &|| table.insert(&record(1)),
        &|| table.update(7, rest, &[2; 3_000]),
        &transact,
        &|| table.delete(7),
        &|| table.insert_all([record(4)]).map(|count| count == 1),
    ];
    let pager = db.engine().pager();
    for write in writes {
        let before = pager.moment();
        assert!(!heap.is_written_since(before));
        assert_eq!(write(), Ok(true));
        assert!(heap.is_written_since(before));
        pager.release(before);
    }
}
