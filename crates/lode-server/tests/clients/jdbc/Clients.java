import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.postgresql.PGConnection;
import org.postgresql.PGStatement;
import org.postgresql.copy.CopyManager;

/**
 * Drives `lode serve` through JDBC: `java Clients HOST PORT PASSWORD [ROOT-CERTIFICATE]`.
 *
 * <p>Prints what fails, and ends with status 1 if anything does.
 */
public final class Clients {
    static final OffsetDateTime MOMENT = OffsetDateTime.of(2026, 1, 2, 3, 4, 5, 600_001_000, ZoneOffset.UTC);
    static final byte[] BYTES = {0, (byte) 0xff, '\\', '\''};
    static final String TABLE = """
            CREATE TABLE jdbc (id U32 PRIMARY KEY, i8 I8, i16 I16, i64 I64, f32 F32, f64 F64, ok BOOLEAN,
                price DECIMAL(20, 2), at TIMESTAMP, fixed TEXT(3), note VARTEXT(40), four BYTES(4),
                raw VARBYTES(20))""";
    static final String INSERT = "INSERT INTO jdbc VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    /** Something that takes more time than anyone waits. */
    static final String LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

    private final String url;
    private final Properties properties = new Properties();

    private Clients(String[] args) {
        url = "jdbc:postgresql://" + args[0] + ":" + args[1] + "/any";
        properties.setProperty("user", "ada");
        properties.setProperty("password", args[2]);
        if (args.length > 3) {
            properties.setProperty("sslmode", "verify-full");
            properties.setProperty("sslrootcert", args[3]);
            properties.setProperty("channelBinding", "require");
        }
    }

    public static void main(String[] args) throws Exception {
        Clients clients = new Clients(args);
        try (Connection db = clients.connect()) {
            Check.that("a table", () -> run(db, TABLE));
            Check.that("values", () -> values(db));
            Check.that("NULLs", () -> nulls(db));
            Check.that("decimals and moments", () -> extremes(db));
            Check.that("types that a client chooses", () -> chosen(db));
            Check.that("transactions", () -> transactions(db));
            Check.that("states", () -> states(db));
            Check.that("conflicts", () -> conflicts(clients));
            Check.that("batches", () -> batches(db));
            Check.that("batches in one statement", () -> batches(clients.connect("reWriteBatchedInserts", "true")));
            Check.that("generated keys", () -> generated(db));
            Check.that("COPY", () -> copies(db));
            Check.that("rows in portions", () -> portions(clients.connect()));
            Check.that("the end of a statement", () -> ends(clients.connect()));
            Check.that("validity", () -> validity(clients));
            Check.that("simple queries", () -> simple(clients.connect("preferQueryMode", "simple")));
            Check.that("savepoints by themselves", () -> saves(clients.connect("autosave", "always")));
            Check.that("a pool", clients::pool);
            Metadata.check(db);
        }
        Check.end();
    }

    private Connection connect(String... settings) throws SQLException {
        Properties all = new Properties();
        all.putAll(properties);
        for (int at = 0; at < settings.length; at += 2) {
            all.setProperty(settings[at], settings[at + 1]);
        }
        return DriverManager.getConnection(url, all);
    }

    static int run(Connection db, String statement) throws SQLException {
        try (Statement run = db.createStatement()) {
            return run.executeUpdate(statement);
        }
    }

    static List<String> query(Connection db, String query, Object... values) throws SQLException {
        try (PreparedStatement select = db.prepareStatement(query)) {
            for (int at = 0; at < values.length; at++) {
                select.setObject(at + 1, values[at]);
            }
            return Check.rows(select.executeQuery());
        }
    }

    private static void values(Connection db) throws SQLException {
        try (PreparedStatement insert = db.prepareStatement(INSERT)) {
            insert.setInt(1, 1);
            insert.setByte(2, (byte) -128);
            insert.setShort(3, (short) 32767);
            insert.setLong(4, Long.MIN_VALUE);
            insert.setFloat(5, 1.5f);
            insert.setDouble(6, 0.1);
            insert.setBoolean(7, true);
            insert.setBigDecimal(8, new BigDecimal("-123456789012345678.25"));
            insert.setObject(9, MOMENT);
            insert.setString(10, "éa");
            insert.setString(11, "é'\"\\ ☃");
            insert.setBytes(12, BYTES);
            insert.setBytes(13, new byte[] {});
            Check.equal(insert.executeUpdate(), 1);
        }
        // From the sixth time on the statement has a name, and values come in binary.
        try (PreparedStatement select = db.prepareStatement("SELECT * FROM jdbc WHERE id = ?")) {
            for (int time = 1; time <= 8; time++) {
                select.setInt(1, 1);
                try (ResultSet row = select.executeQuery()) {
                    Check.equal(row.next(), true);
                    Check.equal(row.getInt("id"), 1);
                    Check.equal(row.getByte("i8"), (byte) -128);
                    Check.equal(row.getShort("i16"), (short) 32767);
                    Check.equal(row.getLong("i64"), Long.MIN_VALUE);
                    Check.equal(row.getFloat("f32"), 1.5f);
                    Check.equal(row.getDouble("f64"), 0.1);
                    Check.equal(row.getBoolean("ok"), true);
                    Check.equal(row.getBigDecimal("price"), new BigDecimal("-123456789012345678.25"));
                    Check.equal(row.getObject("at", OffsetDateTime.class), MOMENT);
                    Check.equal(row.getTimestamp("at").toInstant(), MOMENT.toInstant());
                    Check.equal(row.getString("fixed"), "éa");
                    Check.equal(row.getString("note"), "é'\"\\ ☃");
                    Check.equal(row.getBytes("four"), BYTES);
                    Check.equal(row.getBytes("raw"), new byte[] {});
                    Check.equal(row.getObject("id"), 1L);
                    Check.equal(row.getObject("ok"), true);
                    Check.equal(row.next(), false);
                }
            }
            Check.equal(select.unwrap(PGStatement.class).isUseServerPrepare(), true);
        }
    }

    private static void nulls(Connection db) throws SQLException {
        int[] types = {Types.TINYINT, Types.SMALLINT, Types.BIGINT, Types.REAL, Types.DOUBLE, Types.BOOLEAN,
            Types.NUMERIC, Types.TIMESTAMP_WITH_TIMEZONE, Types.VARCHAR, Types.VARCHAR, Types.BINARY, Types.VARBINARY};
        for (int time = 1; time <= 7; time++) {
            try (PreparedStatement insert = db.prepareStatement(INSERT)) {
                insert.setInt(1, 100 + time);
                for (int at = 0; at < types.length; at++) {
                    insert.setNull(at + 2, time == 2 ? Types.NULL : types[at]);
                }
                Check.equal(insert.executeUpdate(), 1);
            }
        }
        try (PreparedStatement select = db.prepareStatement("SELECT * FROM jdbc WHERE id > ?")) {
            for (int time = 1; time <= 7; time++) {
                select.setInt(1, 100);
                try (ResultSet row = select.executeQuery()) {
                    int rows = 0;
                    for (; row.next(); rows++) {
                        for (int at = 2; at <= 13; at++) {
                            Check.equal(row.getObject(at), null);
                        }
                        Check.equal(row.getInt(2), 0);
                        Check.equal(row.wasNull(), true);
                    }
                    Check.equal(rows, 7);
                }
            }
        }
        Check.equal(query(db, "SELECT count(*) FROM jdbc WHERE note IS NULL AND id > ?", 100), List.of("7"));
        Check.equal(run(db, "DELETE FROM jdbc WHERE id > 100"), 7);
    }

    private static void extremes(Connection db) throws SQLException {
        String[] decimals = {"0.00", "0.01", "-0.10", "10000.00", "99999999.99", "999999999999999999.99",
            "-100000000000000000.00"};
        String[] moments = {"0001-01-01T00:00:00Z", "1899-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z",
            "1999-12-31T23:59:59.000001Z", "2000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"};
        try (PreparedStatement put = db.prepareStatement("UPDATE jdbc SET price = ?, at = ?, f64 = ? WHERE id = 1");
                PreparedStatement get = db.prepareStatement("SELECT price, at, f64 FROM jdbc WHERE id = 1")) {
            for (int time = 0; time < 14; time++) {
                BigDecimal price = new BigDecimal(decimals[time % decimals.length]);
                OffsetDateTime at = OffsetDateTime.parse(moments[time % moments.length]);
                double f64 = new double[] {1e300, -1e-300, 1.0 / 3, Double.POSITIVE_INFINITY}[time % 4];
                put.setBigDecimal(1, price);
                put.setObject(2, at);
                put.setDouble(3, f64);
                Check.equal(put.executeUpdate(), 1);
                try (ResultSet row = get.executeQuery()) {
                    row.next();
                    Check.equal(row.getBigDecimal(1), price);
                    Check.equal(row.getObject(2, OffsetDateTime.class), at);
                    Check.equal(row.getDouble(3), f64);
                }
            }
        }
        for (int time = 0; time < 7; time++) {
            try (PreparedStatement put = db.prepareStatement("UPDATE jdbc SET at = ?, price = ? WHERE id = 1")) {
                put.setTimestamp(1, Timestamp.from(MOMENT.toInstant()));
                put.setObject(2, new BigDecimal("1E+3"));
                Check.equal(put.executeUpdate(), 1);
            }
        }
        Check.equal(query(db, "SELECT price FROM jdbc WHERE at = ?", MOMENT), List.of("1000.00"));
        try (PreparedStatement put = db.prepareStatement("UPDATE jdbc SET at = ? WHERE id = 1")) {
            put.setObject(1, LocalDate.of(2026, 1, 2));
            put.executeUpdate();
        }
        Check.equal(query(db, "SELECT at FROM jdbc WHERE id = 1"), List.of("2026-01-02 00:00:00+00"));
    }

    private static void chosen(Connection db) throws Exception {
        for (int time = 0; time < 7; time++) {
            Check.equal(query(db, "SELECT ?::int8 + 1, ?::text, ?::numeric, ?::bool, ?::timestamptz", 41L, "a",
                new BigDecimal("1.50"), false, MOMENT), List.of("42 a 1.5 f 2026-01-02 03:04:05.600001+00"));
            Check.equal(query(db, "SELECT id FROM jdbc WHERE id = ? AND i16 = ? AND f32 > ? AND note LIKE ?",
                1, 32767, 1, "%☃"), List.of("1"));
        }
        Check.equal(query(db, "SELECT count(*) FROM jdbc WHERE id IN (?, ?, ?) LIMIT ?", 1, 2, 3, 10), List.of("1"));
        Check.refused("0A000", () -> query(db, "SELECT id FROM jdbc WHERE id = ANY (?)",
            (Object) db.createArrayOf("int8", new Long[] {1L})));
    }

    private static void transactions(Connection db) throws Exception {
        db.setAutoCommit(false);
        try {
            Check.equal(db.getTransactionIsolation(), Connection.TRANSACTION_SERIALIZABLE);
            run(db, "INSERT INTO jdbc (id) VALUES (2)");
            db.rollback();
            Check.equal(query(db, "SELECT count(*) FROM jdbc WHERE id = 2"), List.of("0"));
            run(db, "INSERT INTO jdbc (id) VALUES (2)");
            Savepoint point = db.setSavepoint();
            Savepoint named = db.setSavepoint("a name");
            Check.refused("23505", () -> run(db, "INSERT INTO jdbc (id) VALUES (2)"));
            Check.refused("25P02", () -> query(db, "SELECT 1"));
            db.rollback(named);
            run(db, "INSERT INTO jdbc (id) VALUES (3)");
            db.releaseSavepoint(named);
            db.rollback(point);
            db.commit();
            Check.equal(query(db, "SELECT id FROM jdbc WHERE id > 1"), List.of("2"));
            run(db, "DELETE FROM jdbc WHERE id > 1");
            db.commit();
            db.setReadOnly(true);
            Check.refused("25006", () -> run(db, "DELETE FROM jdbc"));
            db.rollback();
            db.setReadOnly(false);
            db.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            Check.equal(query(db, "SELECT count(*) FROM jdbc"), List.of("1"));
            db.commit();
            db.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        } finally {
            db.rollback();
            db.setAutoCommit(true);
        }
    }

    private static void states(Connection db) throws Exception {
        Check.refused("23505", () -> run(db, "INSERT INTO jdbc (id) VALUES (1)"));
        Check.refused("42P01", () -> query(db, "SELECT * FROM nowhere"));
        Check.refused("42703", () -> query(db, "SELECT missing FROM jdbc"));
        Check.refused("42601", () -> query(db, "SELEKT 1"));
        Check.refused("22003", () -> run(db, "INSERT INTO jdbc (id, i8) VALUES (9, 200)"));
        Check.refused("22001", () -> run(db, "INSERT INTO jdbc (id, note) VALUES (9, '" + "x".repeat(41) + "')"));
        Check.refused("0A000", () -> run(db, "LISTEN a"));
        Check.refused("0A000", () -> run(db, "SET LOCAL statement_timeout = 1"));
        Check.refused("0A000", () -> query(db, "SELECT * FROM jdbc FOR UPDATE"));
        Check.refused("0A000", () -> run(db, "DECLARE c CURSOR FOR SELECT 1"));
        Check.refused("0A000", () -> query(db, "SELECT pg_advisory_lock(1)"));
    }

    private static void conflicts(Clients clients) throws Exception {
        try (Connection one = clients.connect(); Connection other = clients.connect()) {
            for (Connection db : List.of(one, other)) {
                db.setAutoCommit(false);
                query(db, "SELECT i64 FROM jdbc WHERE id = 1");
                run(db, "UPDATE jdbc SET i64 = 0 WHERE id = 1");
            }
            one.commit();
            Check.refused("40001", other::commit);
            other.rollback();
        }
        // Whoever is told to runs the transaction again.
        List<CompletableFuture<Void>> tasks = new ArrayList<>();
        for (int task = 0; task < 3; task++) {
            tasks.add(CompletableFuture.runAsync(() -> {
                try (Connection db = clients.connect()) {
                    db.setAutoCommit(false);
                    for (int done = 0; done < 20;) {
                        try {
                            long found = Long.parseLong(query(db, "SELECT i64 FROM jdbc WHERE id = 1").get(0));
                            try (PreparedStatement put = db.prepareStatement("UPDATE jdbc SET i64 = ? WHERE id = 1")) {
                                put.setLong(1, found + 1);
                                put.executeUpdate();
                            }
                            db.commit();
                            done++;
                        } catch (SQLException error) {
                            Check.equal(error.getSQLState(), "40001");
                            db.rollback();
                        }
                    }
                } catch (SQLException error) {
                    throw new IllegalStateException(error);
                }
            }));
        }
        for (CompletableFuture<Void> task : tasks) {
            task.get(120, TimeUnit.SECONDS);
        }
        try (Connection db = clients.connect()) {
            Check.equal(query(db, "SELECT i64 FROM jdbc WHERE id = 1"), List.of("60"));
        }
    }

    private static void batches(Connection db) throws Exception {
        try (PreparedStatement insert = db.prepareStatement("INSERT INTO jdbc (id, note, at) VALUES (?, ?, ?)")) {
            for (int id = 1_000; id < 2_000; id++) {
                insert.setInt(1, id);
                insert.setString(2, "n" + id);
                insert.setObject(3, MOMENT);
                insert.addBatch();
            }
            int[] counts = insert.executeBatch();
            Check.equal(counts.length, 1_000);
            Check.equal(Arrays.stream(counts).allMatch(n -> n == 1 || n == Statement.SUCCESS_NO_INFO), true);
            db.setAutoCommit(false);
            for (int id : new int[] {2_000, 1_000, 2_001}) {
                insert.setInt(1, id);
                insert.addBatch();
            }
            Check.refused("23505", () -> {
                try {
                    insert.executeBatch();
                } catch (BatchUpdateException error) {
                    throw error.getNextException() == null ? error : error.getNextException();
                }
            });
            db.rollback();
        }
        Check.equal(query(db, "SELECT count(*) FROM jdbc WHERE id >= 1000 AND at = ?", MOMENT), List.of("1000"));
        try (Statement batch = db.createStatement()) {
            batch.addBatch("UPDATE jdbc SET note = 'x' WHERE id < 1003");
            batch.addBatch("DELETE FROM jdbc WHERE id >= 1000");
            Check.equal(batch.executeBatch(), new int[] {4, 1_000});
        }
        db.commit();
        db.setAutoCommit(true);
    }

    private static void generated(Connection db) throws Exception {
        try (PreparedStatement insert = db.prepareStatement("INSERT INTO jdbc (id, note) VALUES (?, ?)",
                new String[] {"id", "note"})) {
            insert.setInt(1, 50);
            insert.setString(2, "kept");
            Check.equal(insert.executeUpdate(), 1);
            Check.equal(Check.rows(insert.getGeneratedKeys()), List.of("50 kept"));
        }
        Check.refused("0A000", () -> query(db, "UPDATE jdbc SET i64 = 7 WHERE id = ? RETURNING id", 50));
        Check.refused("0A000", () -> query(db, "DELETE FROM jdbc WHERE id = 50 RETURNING note"));
        Check.equal(run(db, "DELETE FROM jdbc WHERE id = 50"), 1);
    }

    private static void copies(Connection db) throws Exception {
        CopyManager copy = db.unwrap(PGConnection.class).getCopyAPI();
        StringBuilder lines = new StringBuilder();
        for (int id = 5_000; id < 6_000; id++) {
            lines.append(id).append("\t\\N\ta\\tb\\\\\t2026-01-02 03:04:05.6+00\t\\\\x00ff\n");
        }
        String columns = "jdbc (id, i8, note, at, raw)";
        Check.equal(copy.copyIn("COPY " + columns + " FROM STDIN", new StringReader(lines.toString())), 1_000L);
        StringWriter back = new StringWriter();
        String query = "(SELECT id, i8, note, at, raw FROM jdbc WHERE id >= 5000 ORDER BY id)";
        Check.equal(copy.copyOut("COPY " + query + " TO STDOUT", back), 1_000L);
        Check.equal(back.toString(), lines.toString());
        StringWriter csv = new StringWriter();
        copy.copyOut("COPY (SELECT id, note FROM jdbc WHERE id = 5000) TO STDOUT WITH (FORMAT csv, HEADER)", csv);
        Check.equal(csv.toString(), "id,note\n5000,a\tb\\\n");
        Check.refused("22P02", () -> copy.copyIn("COPY jdbc (id) FROM STDIN", new StringReader("7000\nseven\n")));
        Check.equal(query(db, "SELECT count(*) FROM jdbc WHERE id >= 5000"), List.of("1000"));
        ByteArrayOutputStream binary = new ByteArrayOutputStream();
        Check.equal(copy.copyOut("COPY " + query + " TO STDOUT WITH (FORMAT binary)", binary), 1_000L);
        run(db, "DELETE FROM jdbc WHERE id >= 5000");
        ByteArrayInputStream again = new ByteArrayInputStream(binary.toByteArray());
        Check.equal(copy.copyIn("COPY " + columns + " FROM STDIN WITH (FORMAT binary)", again), 1_000L);
        StringWriter last = new StringWriter();
        copy.copyOut("COPY " + query + " TO STDOUT", last);
        Check.equal(last.toString(), lines.toString());
    }

    private static void portions(Connection db) throws Exception {
        db.setAutoCommit(false);
        try (db; PreparedStatement select = db.prepareStatement("SELECT id FROM jdbc WHERE id >= ? ORDER BY id")) {
            select.setFetchSize(70);
            for (int time = 0; time < 7; time++) {
                select.setInt(1, 5_000);
                try (ResultSet rows = select.executeQuery()) {
                    int expected = 5_000;
                    for (; rows.next(); expected++) {
                        Check.equal(rows.getInt(1), expected);
                        if (expected == 5_100) {
                            // The portal stays where it is while another statement runs.
                            Check.equal(query(db, "SELECT note FROM jdbc WHERE id = 5000"), List.of("a\tb\\"));
                        }
                    }
                    Check.equal(expected, 6_000);
                }
            }
            select.setMaxRows(10);
            Check.equal(Check.rows(select.executeQuery()).size(), 10);
            db.commit();
            run(db, "DELETE FROM jdbc WHERE id >= 5000");
            db.commit();
        }
    }

    private static void ends(Connection db) throws Exception {
        try (db; Statement run = db.createStatement()) {
            run.setQueryTimeout(1);
            Check.refused("57014", () -> run.executeQuery(LONG));
            run.setQueryTimeout(0);
            CompletableFuture<Void> cancel = CompletableFuture.runAsync(() -> {
                try {
                    Thread.sleep(500);
                    run.cancel();
                } catch (InterruptedException | SQLException error) {
                    throw new IllegalStateException(error);
                }
            });
            Check.refused("57014", () -> run.executeQuery(LONG));
            cancel.get();
            run(db, "SET statement_timeout = 300");
            Check.refused("57014", () -> run.executeQuery(LONG));
            Check.equal(query(db, "SELECT 1"), List.of("1"));
        }
    }

    private static void validity(Clients clients) throws Exception {
        Connection db = clients.connect();
        Check.equal(db.isValid(5), true);
        db.setAutoCommit(false);
        Check.equal(db.isValid(5), true);
        Check.refused("42P01", () -> query(db, "SELECT * FROM nowhere"));
        db.rollback();
        db.setAutoCommit(true);
        Check.equal(db.getSchema(), "public");
        Check.equal(db.getCatalog(), "lode");
        db.setSchema("public");
        db.setClientInfo("ApplicationName", "test");
        Check.equal(query(db, "SHOW application_name"), List.of("test"));
        Check.equal(db.unwrap(PGConnection.class).getBackendPID() != 0, true);
        Check.equal(query(db, "SELECT current_user, {fn length('four')}"), List.of("ada 4"));
        run(db, "DISCARD ALL");
        db.close();
        Check.equal(db.isValid(5), false);
        Check.refused("28P01", () -> clients.connect("password", "wrong"));
    }

    private static void simple(Connection db) throws Exception {
        try (db) {
            Check.equal(query(db, "SELECT note, ?, id + ? FROM jdbc WHERE id = ?", "it's", 1, 1), List.of("x it's 2"));
            for (String at : List.of("2026-01-02 03:04:05.6+00", "9999-12-31 23:59:59.999999+00", "10000-01-01",
                    "0044-03-15 00:00:00+00 BC")) {
                run(db, "UPDATE jdbc SET at = '" + at + "', ok = 'f', raw = '\\x00ff'");
                Check.equal(query(db, "SELECT at = '" + at + "', ok, raw FROM jdbc"), List.of("t f \\x00ff"));
            }
            run(db, "UPDATE jdbc SET note = 'a'; UPDATE jdbc SET note = 'b'");
            try (Statement run = db.createStatement()) {
                Check.equal(run.execute("SELECT 1; SELECT note FROM jdbc"), true);
                Check.equal(run.getMoreResults(), true);
                Check.equal(Check.rows(run.getResultSet()), List.of("b"));
            }
        }
    }

    private static void saves(Connection db) throws Exception {
        db.setAutoCommit(false);
        try (db) {
            run(db, "INSERT INTO jdbc (id) VALUES (70)");
            Check.refused("23505", () -> run(db, "INSERT INTO jdbc (id) VALUES (70)"));
            Check.equal(query(db, "SELECT id FROM jdbc WHERE id = 70"), List.of("70"));
            db.rollback();
        }
    }

    private void pool() throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setDataSourceProperties(properties);
        config.setMaximumPoolSize(2);
        config.setIsolateInternalQueries(true);
        config.setConnectionInitSql("SET application_name = 'pool'");
        try (HikariDataSource pool = new HikariDataSource(config)) {
            List<CompletableFuture<Void>> tasks = new ArrayList<>();
            for (int task = 0; task < 4; task++) {
                tasks.add(CompletableFuture.runAsync(() -> {
                    for (int time = 0; time < 25; time++) {
                        try (Connection db = pool.getConnection()) {
                            Check.equal(db.getAutoCommit(), true);
                            Check.equal(db.isReadOnly(), false);
                            db.setAutoCommit(false);
                            db.setReadOnly(true);
                            Check.equal(query(db, "SELECT count(*) FROM jdbc"), List.of("1"));
                            // Left open: the pool rolls it back, and sets what was changed.
                        } catch (SQLException error) {
                            throw new IllegalStateException(error);
                        }
                    }
                }));
            }
            for (CompletableFuture<Void> task : tasks) {
                task.get(120, TimeUnit.SECONDS);
            }
        }
    }
}
