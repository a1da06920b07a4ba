import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.List;
import org.postgresql.PGConnection;
import org.postgresql.PGStatement;
import org.postgresql.copy.CopyManager;

/** Values of all types, in and out, by statements and by COPY. */
final class Values {
    static final OffsetDateTime MOMENT = OffsetDateTime.of(2026, 1, 2, 3, 4, 5, 600_001_000, ZoneOffset.UTC);
    static final byte[] BYTES = {0, (byte) 0xff, '\\', '\''};
    static final String TABLE = """
            CREATE TABLE jdbc (id U32 PRIMARY KEY, i8 I8, i16 I16, i64 I64, f32 F32, f64 F64, ok BOOLEAN,
                price DECIMAL(20, 2), at TIMESTAMP, fixed TEXT(3), note VARTEXT(40), four BYTES(4),
                raw VARBYTES(20))""";
    private static final String INSERT = "INSERT INTO jdbc VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    private Values() {}

    static void values(Connection db) throws SQLException {
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

    static void nulls(Connection db) throws SQLException {
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
        Check.equal(Clients.query(db, "SELECT count(*) FROM jdbc WHERE note IS NULL AND id > ?", 100), List.of("7"));
        Check.equal(Clients.run(db, "DELETE FROM jdbc WHERE id > 100"), 7);
    }

    static void extremes(Connection db) throws SQLException {
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
        Check.equal(Clients.query(db, "SELECT price FROM jdbc WHERE at = ?", MOMENT), List.of("1000.00"));
        try (PreparedStatement put = db.prepareStatement("UPDATE jdbc SET at = ? WHERE id = 1")) {
            put.setObject(1, LocalDate.of(2026, 1, 2));
            put.executeUpdate();
        }
        Check.equal(Clients.query(db, "SELECT at FROM jdbc WHERE id = 1"), List.of("2026-01-02 00:00:00+00"));
    }

    static void chosen(Connection db) throws Exception {
        for (int time = 0; time < 7; time++) {
            Check.equal(Clients.query(db, "SELECT ?::int8 + 1, ?::text, ?::numeric, ?::bool, ?::timestamptz", 41L, "a",
                new BigDecimal("1.50"), false, MOMENT), List.of("42 a 1.5 f 2026-01-02 03:04:05.600001+00"));
            Check.equal(Clients.query(db, "SELECT id FROM jdbc WHERE id = ? AND i16 = ? AND f32 > ? AND note LIKE ?",
                1, 32767, 1, "%☃"), List.of("1"));
            Check.equal(Clients.query(db, "SELECT id FROM jdbc WHERE id = ANY (?) AND note <> ALL (?)",
                db.createArrayOf("int8", new Long[] {1L, 9L}), db.createArrayOf("text", new String[] {"é,"})),
                List.of("1"));
        }
        Check.equal(Clients.query(db, "SELECT count(*) FROM jdbc WHERE id IN (?, ?, ?) LIMIT ?", 1, 2, 3, 10),
            List.of("1"));
        Check.refused("0A000", () -> Clients.query(db, "SELECT id FROM jdbc WHERE raw = ANY (?)",
            (Object) db.createArrayOf("bytea", new byte[][] {{1}})));
    }

    static void generated(Connection db) throws Exception {
        try (PreparedStatement insert = db.prepareStatement("INSERT INTO jdbc (id, note) VALUES (?, ?)",
                new String[] {"id", "note"})) {
            insert.setInt(1, 50);
            insert.setString(2, "kept");
            Check.equal(insert.executeUpdate(), 1);
            Check.equal(Check.rows(insert.getGeneratedKeys()), List.of("50 kept"));
        }
        Check.refused("0A000", () -> Clients.query(db, "UPDATE jdbc SET i64 = 7 WHERE id = ? RETURNING id", 50));
        Check.refused("0A000", () -> Clients.query(db, "DELETE FROM jdbc WHERE id = 50 RETURNING note"));
        Check.equal(Clients.run(db, "DELETE FROM jdbc WHERE id = 50"), 1);
    }

    static void copies(Connection db) throws Exception {
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
        Check.equal(Clients.query(db, "SELECT count(*) FROM jdbc WHERE id >= 5000"), List.of("1000"));
        ByteArrayOutputStream binary = new ByteArrayOutputStream();
        Check.equal(copy.copyOut("COPY " + query + " TO STDOUT WITH (FORMAT binary)", binary), 1_000L);
        Clients.run(db, "DELETE FROM jdbc WHERE id >= 5000");
        ByteArrayInputStream again = new ByteArrayInputStream(binary.toByteArray());
        Check.equal(copy.copyIn("COPY " + columns + " FROM STDIN WITH (FORMAT binary)", again), 1_000L);
        StringWriter last = new StringWriter();
        copy.copyOut("COPY " + query + " TO STDOUT", last);
        Check.equal(last.toString(), lines.toString());
    }

    static void portions(Connection db) throws Exception {
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
                            Check.equal(Clients.query(db, "SELECT note FROM jdbc WHERE id = 5000"), List.of("a\tb\\"));
                        }
                    }
                    Check.equal(expected, 6_000);
                }
            }
            select.setMaxRows(10);
            Check.equal(Check.rows(select.executeQuery()).size(), 10);
            db.commit();
            Clients.run(db, "DELETE FROM jdbc WHERE id >= 5000");
            db.commit();
        }
    }
}
