import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.math.BigDecimal;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.postgresql.PGConnection;

/**
 * Drives `lode serve` through JDBC: `java Clients HOST PORT PASSWORD [ROOT-CERTIFICATE]`.
 *
 * <p>Prints what fails, and ends with status 1 if anything does.
 */
public final class Clients {
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
            Check.that("a table", () -> run(db, Values.TABLE));
            Check.that("values", () -> Values.values(db));
            Check.that("NULLs", () -> Values.nulls(db));
            Check.that("decimals and moments", () -> Values.extremes(db));
            Check.that("types that a client chooses", () -> Values.chosen(db));
            Check.that("transactions", () -> transactions(db));
            Check.that("states", () -> states(db));
            Check.that("conflicts", () -> conflicts(clients));
            Check.that("batches", () -> batches(db));
            Check.that("batches in one statement", () -> batches(clients.connect("reWriteBatchedInserts", "true")));
            Check.that("generated keys", () -> Values.generated(db));
            Check.that("COPY", () -> Values.copies(db));
            Check.that("rows in portions", () -> Values.portions(clients.connect()));
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
                insert.setObject(3, Values.MOMENT);
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
        Check.equal(query(db, "SELECT count(*) FROM jdbc WHERE id >= 1000 AND at = ?", Values.MOMENT), List.of("1000"));
        try (Statement batch = db.createStatement()) {
            batch.addBatch("UPDATE jdbc SET note = 'x' WHERE id < 1003");
            batch.addBatch("DELETE FROM jdbc WHERE id >= 1000");
            Check.equal(batch.executeBatch(), new int[] {4, 1_000});
        }
        db.commit();
        db.setAutoCommit(true);
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
            try (PreparedStatement put = db.prepareStatement(
                    "UPDATE jdbc SET ok = ?, raw = ?, at = ?, price = ?, f64 = ?, i8 = ? WHERE id = 1")) {
                put.setBoolean(1, true);
                put.setBytes(2, Values.BYTES);
                put.setObject(3, Values.MOMENT);
                put.setBigDecimal(4, new BigDecimal("-1.25"));
                put.setDouble(5, 1e300);
                put.setNull(6, Types.SMALLINT);
                Check.equal(put.executeUpdate(), 1);
            }
            Check.equal(query(db, "SELECT ok, raw, at, price, f64, i8 FROM jdbc WHERE at = ? AND ok = ?",
                Values.MOMENT, true), List.of("t \\x00ff5c27 2026-01-02 03:04:05.600001+00 -1.25 1e300 null"));
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
