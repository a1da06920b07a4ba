import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** Checks that are carried out one after another, also after one that has failed. */
final class Check {
    /** What is checked. */
    interface Work {
        void run() throws Exception;
    }

    private static int failed;

    private Check() {}

    static void that(String name, Work work) {
        try {
            work.run();
        } catch (Throwable error) {
            failed++;
            System.err.println("JDBC: " + name + ": " + error);
            for (StackTraceElement at : error.getStackTrace()) {
                if (!at.getClassName().contains(".")) {
                    System.err.println("    at " + at);
                }
            }
        }
    }

    /** Ends the program with status 1 if anything has failed. */
    static void end() {
        System.exit(failed == 0 ? 0 : 1);
    }

    static void equal(Object found, Object expected) {
        if (!Objects.deepEquals(found, expected)) {
            throw new AssertionError(found + ", where " + expected + " was expected");
        }
    }

    static void refused(String state, Work work) throws Exception {
        try {
            work.run();
        } catch (SQLException error) {
            equal(error.getSQLState() + (state.equals(error.getSQLState()) ? "" : ": " + error.getMessage()), state);
            return;
        }
        throw new AssertionError("no error, where " + state + " was expected");
    }

    /** Returns the rows, their values with a space between them; closes the result. */
    static List<String> rows(ResultSet result) throws SQLException {
        List<String> rows = new ArrayList<>();
        try (result) {
            int count = result.getMetaData().getColumnCount();
            while (result.next()) {
                List<String> row = new ArrayList<>();
                for (int at = 1; at <= count; at++) {
                    row.add(String.valueOf(result.getString(at)));
                }
                rows.add(String.join(" ", row));
            }
        }
        return rows;
    }

    /** Returns some columns of the rows; closes the result. */
    static List<String> columns(ResultSet result, String... names) throws SQLException {
        List<String> rows = new ArrayList<>();
        try (result) {
            while (result.next()) {
                List<String> row = new ArrayList<>();
                for (String name : names) {
                    row.add(String.valueOf(result.getString(name)));
                }
                rows.add(String.join(" ", row));
            }
        }
        return rows;
    }

    /** Returns the names and types of the columns. */
    static List<String> types(ResultSetMetaData data) throws SQLException {
        List<String> types = new ArrayList<>();
        for (int at = 1; at <= data.getColumnCount(); at++) {
            types.add(data.getColumnLabel(at) + " " + data.getColumnTypeName(at) + " " + data.getColumnClassName(at));
        }
        return types;
    }
}
