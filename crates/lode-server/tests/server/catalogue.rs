//! The catalogue by which tools find tables.

use crate::support::Bench;

#[tokio::test]
async fn tables_columns_and_keys_are_in_the_catalogue() {
    let bench = Bench::new();
    let client = bench.client().await;
    for statement in [
        "CREATE TABLE plan (a I64, b VARTEXT(9), c DECIMAL(9, 2), PRIMARY KEY (b, a))",
        "CREATE UNIQUE INDEX by_c ON plan (c)",
    ] {
        client.batch_execute(statement).await.expect(statement);
    }
    let texts = async |query: &str| {
        let rows = client.query(query, &[]).await.expect(query);
        let text = |row: &tokio_postgres::Row| {
            (0..row.len()).map(|at| row.get::<_, String>(at)).collect::<Vec<_>>().join(" ")
        };
        rows.iter().map(text).collect::<Vec<_>>()
    };
    let columns = "SELECT column_name, data_type, is_nullable FROM information_schema.columns
                   WHERE table_name = 'plan' ORDER BY ordinal_position";
    assert_eq!(texts(columns).await, ["b text NO", "a bigint NO", "c numeric YES"]);
    let attributes = "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)::text
                      FROM pg_catalog.pg_attribute a
                      WHERE a.attrelid = 'public.plan'::regclass AND a.attnum > 0 ORDER BY attnum";
    assert_eq!(texts(attributes).await, ["b text", "a bigint", "c numeric(9,2)"]);
    let indexes = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename ~ '^pl' ORDER BY 1";
    let expected = [
        "by_c CREATE UNIQUE INDEX by_c ON public.plan USING btree (c)",
        "plan_pkey CREATE UNIQUE INDEX plan_pkey ON public.plan USING btree (b, a)",
    ];
    assert_eq!(texts(indexes).await, expected);
    let keys = "SELECT i.indexrelid::regclass::text, pg_get_constraintdef(con.oid)::text
                FROM pg_index i JOIN pg_constraint con ON conindid = i.indexrelid";
    assert_eq!(texts(keys).await, ["plan_pkey PRIMARY KEY (b, a)"]);
    let nothing = "SELECT tgname FROM pg_catalog.pg_trigger t WHERE t.tgrelid = 7";
    assert_eq!(texts(nothing).await, Vec::<String>::new());
    // What changes is seen at the next look.
    client.batch_execute("DROP TABLE plan").await.expect("dropped");
    assert_eq!(texts(columns).await, Vec::<String>::new());
    let who = "SELECT current_user, current_database(), version()";
    let found = texts(who).await;
    assert!(found[0].starts_with("ada lode PostgreSQL 15.0 (Lode"), "{found:?}");
}
