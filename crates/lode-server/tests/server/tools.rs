//! What tools on JDBC, and drivers, ask for tables with.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::support::Bench;

const TABLES: [&str; 3] = [
    "CREATE TABLE plan (a I64, b VARTEXT(9), c DECIMAL(9, 2), \"Odd name\" TIMESTAMP NOT NULL,
                        PRIMARY KEY (b, a))",
    "CREATE INDEX by_c ON plan (c, \"Odd name\")",
    "CREATE TABLE quick (id I64 PRIMARY KEY) USING HASH",
];

async fn tables(client: &Client) {
    for statement in TABLES {
        client.batch_execute(statement).await.expect(statement);
    }
}

/// The rows of a query, their values with a space between them.
async fn rows(client: &Client, query: &str) -> Vec<String> {
    let messages = client.simple_query(query).await.unwrap_or_else(|error| {
        panic!("{query}: {error:?}");
    });
    let mut rows = Vec::new();
    for message in messages {
        if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
            let values = (0..row.len()).map(|at| row.get(at).unwrap_or("NULL"));
            rows.push(values.collect::<Vec<_>>().join(" "));
        }
    }
    rows
}

#[tokio::test]
async fn arrays_of_the_catalogue_are_looked_into() {
    let bench = Bench::new();
    let client = bench.client().await;
    tables(&client).await;
    for (query, expected) in [
        // As pgjdbc asks for primary keys, for indexes and for the columns that name a row.
        (
            "SELECT result.N AS \"N\", result.NAME AS \"NAME\" FROM (
                 SELECT a.attname AS NAME, (information_schema._pg_expandarray(con.conkey)).n AS N,
                        information_schema._pg_expandarray(con.conkey) AS KEYS, a.attnum AS PLACE
                 FROM pg_catalog.pg_constraint con
                 JOIN pg_catalog.pg_class ct ON (con.conrelid = ct.oid)
                 JOIN pg_catalog.pg_attribute a ON (a.attrelid = ct.oid)
                 WHERE con.contype = 'p' AND ct.relname = 'plan') result
             WHERE result.PLACE = (result.KEYS).x ORDER BY result.n",
            vec!["1 b", "2 a"],
        ),
        (
            "SELECT tmp.UNIQ, tmp.N, tmp.METHOD, trim(both '\"' from
                        pg_catalog.pg_get_indexdef(tmp.OID, tmp.N, false)),
                    CASE tmp.METHOD WHEN 'btree' THEN CASE tmp.OPTIONS[tmp.N - 1] & 1::smallint
                        WHEN 1 THEN 'D' ELSE 'A' END END
             FROM (SELECT i.indisunique AS UNIQ, am.amname AS METHOD, ci.oid AS OID,
                          (information_schema._pg_expandarray(i.indkey)).n AS N,
                          i.indoption AS OPTIONS
                   FROM pg_catalog.pg_class ct
                   JOIN pg_catalog.pg_index i ON (ct.oid = i.indrelid)
                   JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid)
                   JOIN pg_catalog.pg_am am ON (ci.relam = am.oid)) AS tmp
             ORDER BY 1, 3, 2, 4",
            vec![
                "f 1 btree c A",
                "f 2 btree Odd name A",
                "t 1 btree b A",
                "t 2 btree a A",
                "t 1 hash id NULL",
            ],
        ),
        (
            "SELECT a.attname FROM pg_class ct JOIN pg_attribute a ON (ct.oid = a.attrelid)
             JOIN (SELECT i.indrelid, i.indisprimary,
                          information_schema._pg_expandarray(i.indkey) AS keys FROM pg_index i) i
               ON (a.attnum = (i.keys).x AND a.attrelid = i.indrelid)
             WHERE ct.relname = 'plan' AND i.indisprimary ORDER BY 1",
            vec!["a", "b"],
        ),
        // As it asks for foreign keys, for schemas and for types.
        (
            "SELECT pos.n FROM pg_catalog.pg_constraint con,
                    pg_catalog.generate_series(1, 32) pos(n), pg_catalog.pg_attribute a
             WHERE a.attnum = con.conkey[pos.n] AND a.attrelid = con.conrelid AND a.attname = 'a'",
            vec!["2"],
        ),
        (
            "SELECT nspname FROM pg_catalog.pg_namespace
             WHERE (nspname !~ '^pg_temp_' OR nspname = (pg_catalog.current_schemas(true))[1])
             ORDER BY 1",
            vec!["information_schema", "pg_catalog", "public"],
        ),
        (
            "SELECT typname FROM pg_type LEFT JOIN (SELECT ns.oid AS nspoid, ns.nspname, r.r
                 FROM pg_namespace AS ns JOIN (SELECT s.r, (current_schemas(false))[s.r] AS nspname
                 FROM generate_series(1, array_upper(current_schemas(false), 1)) AS s(r)) AS r
                 USING (nspname)) AS sp ON sp.nspoid = typnamespace
             WHERE typname = 'int8' ORDER BY sp.r",
            vec!["int8"],
        ),
        // As object mappers do.
        (
            "SELECT i.relname, array_agg(a.attname ORDER BY a.attnum) FROM pg_index x
             JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_attribute a
               ON a.attrelid = x.indrelid AND a.attnum = ANY(x.indkey)
             WHERE i.relname <> ALL ('{quick_pkey,x}'::text[]) GROUP BY i.relname ORDER BY 1",
            vec!["by_c {c,\"Odd name\"}", "plan_pkey {b,a}"],
        ),
        (
            "SELECT relname FROM pg_class WHERE relkind = ANY(ARRAY['r', 'v'])
             AND relname = ANY (SELECT 'plan')",
            vec!["plan"],
        ),
        (
            "SELECT substring('tables' from 2 for 3), substring(relname for 2),
                    position('b' in relname), trim(leading from '  a '),
                    trim(trailing 'yx' from 'axy')
             FROM pg_class WHERE relname = 'by_c'",
            vec!["abl by 1 a  a"],
        ),
    ] {
        assert_eq!(rows(&client, query).await, expected, "{query}");
    }
    let series =
        "SELECT sum(i) FROM generate_series(1, 4) AS g(i) WHERE i <> ALL (ARRAY(SELECT 1))";
    assert_eq!(rows(&client, series).await, ["9"]);
    assert_eq!(rows(&client, "SELECT sum(i) FROM generate_series(2, 4) AS g(i)").await, ["9"]);
    assert_eq!(rows(&client, "SELECT g FROM generate_series(2, 3) g WHERE g > 2").await, ["3"]);
    // What is not there has no rows, whatever parameters are sent for it.
    let procedures = "SELECT p.proname FROM pg_catalog.pg_namespace n, pg_catalog.pg_proc p
                      WHERE n.nspname LIKE $1 AND p.proname LIKE $2";
    assert!(client.query(procedures, &[&"public", &"%"]).await.expect(procedures).is_empty());
    // Its columns have types.
    let oid: i64 = client.query_one("SELECT 'plan'::regclass::oid", &[]).await.expect("a").get(0);
    let name = "SELECT c.relname FROM pg_class c WHERE c.oid = $1";
    let row = client.query_one(name, &[&oid]).await.expect("a parameter of a number");
    assert_eq!(row.get::<_, &str>(0), "plan");
    let name = "SELECT relname FROM pg_class WHERE relname = ANY($1)";
    let row = client.query_one(name, &[&vec!["plan", "zebra"]]).await.expect("an array");
    assert_eq!(row.get::<_, &str>(0), "plan");
}

#[tokio::test]
async fn settings_are_in_the_catalogue_as_they_are_now() {
    let bench = Bench::new();
    let client = bench.client().await;
    let query = "SELECT setting, current_setting('application_name') FROM pg_catalog.pg_settings
                 WHERE name = 'application_name'";
    let statement = client.prepare(query).await.expect("it is prepared");
    for name in ["one", "two \"x\""] {
        client.batch_execute(&format!("SET application_name = '{name}'")).await.expect("set");
        let row = client.query_one(&statement, &[]).await.expect("a row");
        assert_eq!([row.get::<_, &str>(0), row.get(1)], [name, name]);
    }
    let keys = "SELECT setting FROM pg_settings WHERE name IN ('max_index_keys', 'TimeZone')";
    assert_eq!(rows(&client, keys).await, ["32", "UTC"]);
    assert_eq!(rows(&client, "SELECT current_setting('nothing', true) IS NULL").await, ["t"]);
    let changed = "SELECT set_config('jit', 'on', false), current_setting('jit')";
    assert_eq!(rows(&client, changed).await, ["on on"]);
    for refused in ["'jit', 'off', true", "'timezone', 'UTC', false", "'nothing', '', false"] {
        let query = format!("SELECT set_config({refused})");
        assert!(client.query(&query, &[]).await.is_err(), "{query}");
    }
    assert_eq!(rows(&client, "SHOW jit").await, ["on"]);
    let process = "SELECT pid = pg_backend_pid(), application_name FROM pg_stat_activity";
    assert_eq!(rows(&client, process).await, ["t two \"x\""]);
    for (privilege, expected) in [("type", "t"), ("function", "t"), ("sequence", "t")] {
        let query = format!("SELECT has_{privilege}_privilege(7, 'USAGE')::bool");
        assert_eq!(rows(&client, &query).await, [expected]);
    }
}

#[tokio::test]
async fn results_say_which_columns_they_are() {
    let bench = Bench::new();
    let client = bench.client().await;
    tables(&client).await;
    let query = "SELECT \"Odd name\", p.c AS price, c + 1, q.relname
                 FROM plan p, pg_catalog.pg_class q";
    let statement = client.prepare(query).await.expect("it is prepared");
    let oid: i64 = client.query_one("SELECT 'plan'::regclass::oid", &[]).await.expect("a").get(0);
    let oid = u32::try_from(oid).ok();
    let columns = statement.columns().iter();
    let found: Vec<_> =
        columns.map(|at| (at.table_oid(), at.column_id(), at.type_modifier())).collect();
    let none = (None, None, -1);
    assert_eq!(found, [(oid, Some(4), -1), (oid, Some(3), (9 << 16 | 2) + 4), none, none]);
    let types = "SELECT pg_catalog.format_type(atttypid, atttypmod) FROM pg_attribute
                 WHERE attname IN ('b', 'c') ORDER BY 1";
    assert_eq!(rows(&client, types).await, ["numeric(9,2)", "text"]);
}

#[tokio::test]
async fn results_of_queries_inside_have_types() {
    let bench = Bench::new();
    let client = bench.client().await;
    tables(&client).await;
    for query in [
        "SELECT n, x.is_more, c FROM (SELECT count(*) AS n, a > 7 AS is_more, c FROM plan) x",
        "WITH x AS (SELECT count(*) AS n, a > 7 is_more, max(c) AS c FROM plan) SELECT * FROM x",
    ] {
        let statement = client.prepare(query).await.expect("it is prepared");
        let types: Vec<_> =
            statement.columns().iter().map(|column| column.type_().clone()).collect();
        assert_eq!(types, [Type::INT8, Type::BOOL, Type::NUMERIC], "{query}");
        let row = client.query_one(&statement, &[]).await.expect("a row");
        assert_eq!(row.get::<_, i64>(0), 0, "{query}");
    }
}
