import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/** What JDBC and the tools on it ask for tables with. */
final class Metadata {
    private Metadata() {}

    static void check(Connection db) throws SQLException {
        Clients.run(db, """
                CREATE TABLE plan (a I64, b VARTEXT(9), c DECIMAL(9, 2), "Odd name" TIMESTAMP NOT NULL,
                    PRIMARY KEY (b, a))""");
        Clients.run(db, "CREATE UNIQUE INDEX by_c ON plan (c, \"Odd name\")");
        Clients.run(db, "CREATE TABLE quick (id I64 PRIMARY KEY) USING HASH");
        DatabaseMetaData data = db.getMetaData();
        Check.that("the product", () -> product(data));
        Check.that("tables", () -> tables(data));
        Check.that("columns", () -> columns(data));
        Check.that("keys", () -> keys(data));
        Check.that("indexes", () -> indexes(data));
        Check.that("foreign keys", () -> {
            Check.equal(Check.rows(data.getImportedKeys(null, "public", "plan")), List.of());
            Check.equal(Check.rows(data.getExportedKeys(null, "public", "plan")), List.of());
            Check.equal(Check.rows(data.getCrossReference(null, null, "plan", null, null, "quick")), List.of());
        });
        Check.that("types", () -> types(data));
        Check.that("schemas", () -> schemas(data));
        Check.that("procedures", () -> {
            Check.equal(Check.rows(data.getProcedures(null, "public", "%")), List.of());
            Check.equal(Check.rows(data.getProcedureColumns(null, "public", "%", "%")), List.of());
            Check.equal(Check.rows(data.getFunctions(null, "public", "%")), List.of());
            Check.equal(Check.rows(data.getFunctionColumns(null, "public", "%", "%")), List.of());
            Check.equal(Check.rows(data.getUDTs(null, "public", "%", null)), List.of());
        });
        Check.that("privileges", () -> privileges(data));
        Check.that("limits and words", () -> {
            Check.equal(data.getMaxColumnNameLength(), 63);
            Check.equal(data.getMaxColumnsInIndex() > 0, true);
            Check.equal(data.getSQLKeywords().contains("ilike"), true);
            Check.equal(data.getDefaultTransactionIsolation(), Connection.TRANSACTION_SERIALIZABLE);
            Check.equal(data.supportsSavepoints(), true);
        });
        Check.that("results", () -> results(db));
        Check.that("rows that are changed in place", () -> inPlace(db));
        Tools.check(db);
        Clients.run(db, "DROP TABLE plan");
        Check.that("dropped", () -> Check.equal(Check.rows(data.getColumns(null, "public", "plan", "%")), List.of()));
    }

    private static void product(DatabaseMetaData data) throws SQLException {
        Check.equal(data.getDatabaseProductName(), "PostgreSQL");
        Check.equal(data.getDatabaseProductVersion(), "15.0");
        Check.equal(data.getDatabaseMajorVersion(), 15);
        Check.equal(data.getUserName(), "ada");
        Check.equal(data.isReadOnly(), false);
    }

    private static void tables(DatabaseMetaData data) throws SQLException {
        String[] names = {"TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE", "REMARKS"};
        List<String> expected = List.of("lode public jdbc TABLE null", "lode public plan TABLE null",
            "lode public quick TABLE null");
        String[] kinds = {"TABLE", "VIEW"};
        Check.equal(Check.columns(data.getTables(null, "public", "%", kinds), names), expected);
        Check.equal(Check.columns(data.getTables("lode", null, null, new String[] {"TABLE"}), names), expected);
        Check.equal(Check.columns(data.getTables(null, null, "p_an", null), names), List.of(expected.get(1)));
        Check.equal(Check.rows(data.getTables(null, "public", "%", new String[] {"VIEW", "SEQUENCE"})), List.of());
        Check.equal(Check.columns(data.getTables(null, "public", "by%", new String[] {"INDEX"}), "TABLE_NAME"),
            List.of("by_c"));
        Check.equal(Check.rows(data.getTableTypes()).contains("TABLE"), true);
    }

    private static void columns(DatabaseMetaData data) throws SQLException {
        String[] names = {"TABLE_NAME", "COLUMN_NAME", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS", "NULLABLE",
            "ORDINAL_POSITION", "IS_NULLABLE", "IS_AUTOINCREMENT", "COLUMN_DEF"};
        List<String> expected = List.of(
            "plan b text 2147483647 0 0 1 NO NO null",
            "plan a int8 19 0 0 2 NO NO null",
            "plan c numeric 9 2 1 3 YES NO null",
            "plan Odd name timestamptz 35 6 0 4 NO NO null");
        Check.equal(Check.columns(data.getColumns(null, "public", "plan", "%"), names), expected);
        Check.equal(Check.columns(data.getColumns(null, null, "pl%", "Odd%"), names), List.of(expected.get(3)));
        Check.equal(Check.columns(data.getColumns(null, null, "jdbc", null), "COLUMN_NAME", "DATA_TYPE").size(), 13);
    }

    private static void keys(DatabaseMetaData data) throws SQLException {
        String[] names = {"TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "COLUMN_NAME", "KEY_SEQ", "PK_NAME"};
        Check.equal(Check.columns(data.getPrimaryKeys(null, "public", "plan"), names),
            List.of("lode public plan b 1 plan_pkey", "lode public plan a 2 plan_pkey"));
        Check.equal(Check.columns(data.getPrimaryKeys(null, null, "quick"), names),
            List.of("lode public quick id 1 quick_pkey"));
        Check.equal(Check.columns(data.getBestRowIdentifier(null, null, "plan",
            DatabaseMetaData.bestRowSession, false), "COLUMN_NAME", "TYPE_NAME"), List.of("b text", "a int8"));
        Check.equal(Check.columns(data.getVersionColumns(null, null, "plan"), "COLUMN_NAME"), List.of("ctid"));
    }

    private static void indexes(DatabaseMetaData data) throws SQLException {
        String[] names = {"TABLE_NAME", "NON_UNIQUE", "INDEX_NAME", "TYPE", "ORDINAL_POSITION", "COLUMN_NAME",
            "ASC_OR_DESC"};
        List<String> expected = List.of(
            "plan f by_c 3 1 c A",
            "plan f by_c 3 2 Odd name A",
            "plan f plan_pkey 3 1 b A",
            "plan f plan_pkey 3 2 a A");
        Check.equal(Check.columns(data.getIndexInfo(null, "public", "plan", false, false), names), expected);
        Check.equal(Check.columns(data.getIndexInfo(null, "public", "plan", true, true), names), expected);
        Check.equal(Check.columns(data.getIndexInfo(null, null, "quick", false, false), names),
            List.of("quick f quick_pkey 2 1 id null"));
    }

    private static void types(DatabaseMetaData data) throws SQLException {
        List<String> found = Check.columns(data.getTypeInfo(), "TYPE_NAME", "DATA_TYPE");
        for (String type : List.of("bool -7", "int8 -5", "float8 8", "numeric 2", "text 12", "bytea -2",
                "timestamptz 93")) {
            Check.equal(found.contains(type) ? type : found, type);
        }
    }

    private static void schemas(DatabaseMetaData data) throws SQLException {
        Check.equal(Check.columns(data.getSchemas(), "TABLE_SCHEM"),
            List.of("information_schema", "pg_catalog", "public"));
        Check.equal(Check.columns(data.getSchemas(null, "pub%"), "TABLE_SCHEM", "TABLE_CATALOG"),
            List.of("public lode"));
        Check.equal(Check.columns(data.getCatalogs(), "TABLE_CAT"), List.of("lode"));
    }

    private static void privileges(DatabaseMetaData data) throws SQLException {
        String[] names = {"TABLE_NAME", "GRANTOR", "GRANTEE", "PRIVILEGE", "IS_GRANTABLE"};
        List<String> found = Check.columns(data.getTablePrivileges(null, "public", "plan"), names);
        Check.equal(found.contains("plan ada ada SELECT YES") ? "" : found, "");
        found = Check.columns(data.getColumnPrivileges(null, "public", "plan", "a"), "COLUMN_NAME", "PRIVILEGE");
        Check.equal(found.contains("a UPDATE") ? "" : found, "");
    }

    private static void results(Connection db) throws SQLException {
        String query = """
            SELECT id, i8 AS small, f64, ok, price, at, note, raw, count(*) AS n, 1.5 * 2, 'x' || note, NULL AS missing
            FROM jdbc""";
        List<String> expected = List.of("id int8 java.lang.Long", "small int8 java.lang.Long",
            "f64 float8 java.lang.Double", "ok bool java.lang.Boolean", "price numeric java.math.BigDecimal",
            "at timestamptz java.sql.Timestamp", "note text java.lang.String", "raw bytea [B",
            "n int8 java.lang.Long", "1.5 * 2 float8 java.lang.Double", "'x' || note text java.lang.String",
            "missing text java.lang.String");
        try (PreparedStatement select = db.prepareStatement(query)) {
            Check.equal(Check.types(select.getMetaData()), expected);
            ResultSetMetaData data = select.executeQuery().getMetaData();
            Check.equal(Check.types(data), expected);
            Check.equal(data.getTableName(1) + "." + data.getColumnName(1), "jdbc.id");
            Check.equal(data.isNullable(1), ResultSetMetaData.columnNoNulls);
            Check.equal(data.isNullable(2), ResultSetMetaData.columnNullable);
            Check.equal(data.isAutoIncrement(1), false);
            Check.equal(data.getPrecision(5) + " " + data.getScale(5), "20 2");
        }
        try (PreparedStatement insert = db.prepareStatement("UPDATE jdbc SET at = ?, f64 = ? WHERE id = ?")) {
            Check.equal(insert.getMetaData(), null);
            Check.equal(insert.getParameterMetaData().getParameterTypeName(1), "timestamptz");
            Check.equal(insert.getParameterMetaData().getParameterCount(), 3);
        }
    }

    private static void inPlace(Connection db) throws SQLException {
        try (Statement run = db.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
                ResultSet rows = run.executeQuery("SELECT id, note FROM jdbc")) {
            rows.next();
            rows.updateString("note", "in place");
            rows.updateRow();
            rows.moveToInsertRow();
            rows.updateLong("id", 80);
            rows.insertRow();
            rows.last();
        }
        Check.equal(Clients.query(db, "SELECT id, note FROM jdbc ORDER BY id"), List.of("1 in place", "80 null"));
        Clients.run(db, "DELETE FROM jdbc WHERE id = 80");
    }
}
