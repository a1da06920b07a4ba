import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;

/** Queries as DBeaver and other tools send them when they connect, and when a table is opened. */
final class Tools {
    /** Queries without parameters. */
    private static final String[] QUERIES = {
        "SELECT version()",
        "SHOW search_path",
        "SHOW server_version",
        "SELECT current_schema(),session_user",
        "SELECT current_database(), current_schema(), current_user",
        "SELECT pg_catalog.pg_is_in_recovery()",
        "SELECT pg_catalog.pg_backend_pid()",
        "SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE datallowconn AND NOT datistemplate"
            + " OR db.datname ='lode' ORDER BY db.datname",
        "select * from pg_catalog.pg_settings where name='standard_conforming_strings'",
        "SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d"
            + " ON d.objoid=n.oid AND d.objsubid=0 AND d.classoid='pg_namespace'::regclass ORDER BY nspname",
        "SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name,"
            + " d.description FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem"
            + " LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d"
            + " ON t.oid=d.objoid WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c')"
            + " AND (et.typcategory IS NULL OR et.typcategory <> 'C')",
        "SELECT a.oid,a.*,pd.description FROM pg_catalog.pg_roles a LEFT JOIN pg_catalog.pg_shdescription pd"
            + " ON a.oid = pd.objoid ORDER BY a.rolname",
        "SELECT am.oid, am.* FROM pg_catalog.pg_am am ORDER BY am.oid",
        "SELECT t.oid,t.*,pg_tablespace_location(t.oid) loc FROM pg_catalog.pg_tablespace t ORDER BY t.oid",
        "SELECT l.oid,l.* FROM pg_catalog.pg_language l ORDER BY l.oid",
        "SELECT e.oid,e.* FROM pg_catalog.pg_enum e",
        "SELECT s.* FROM pg_catalog.pg_stat_activity s",
        "SELECT * FROM pg_catalog.pg_locks",
        "SELECT x.oid, x.*, n.nspname AS schema_name FROM pg_catalog.pg_extension x"
            + " JOIN pg_catalog.pg_namespace n ON n.oid = x.extnamespace ORDER BY x.extname",
        "SELECT r.oid, r.* FROM pg_catalog.pg_foreign_data_wrapper r",
        "SELECT o.oid, o.* FROM pg_catalog.pg_event_trigger o",
        "SELECT DISTINCT dep.deptype, dep.classid, dep.objid FROM pg_depend dep WHERE dep.refobjid = 1",
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema NOT IN"
            + " ('pg_catalog', 'information_schema') ORDER BY table_name, ordinal_position",
        "SELECT schemaname, relname, n_live_tup FROM pg_catalog.pg_stat_user_tables",
        "SELECT conrelid::regclass::text, conkey FROM pg_catalog.pg_constraint WHERE contype IN ('p', 'u')",
        "SELECT i.relname, array_agg(a.attname ORDER BY a.attnum) AS names FROM pg_index x"
            + " JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_attribute a ON a.attrelid = x.indrelid"
            + " AND a.attnum = ANY(x.indkey) GROUP BY i.relname ORDER BY i.relname",
        "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            + " WHERE n.nspname = ANY(current_schemas(false)) AND c.relkind = ANY(ARRAY['r', 'v'])"
            + " ORDER BY c.relname",
    };
    /** Queries about a table, of which the parameter is the number. */
    private static final String[] OF_TABLE = {
        "SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description,dep.objid"
            + " FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid)"
            + " LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum)"
            + " LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)"
            + " LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i'"
            + " and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid"
            + " WHERE NOT a.attisdropped AND c.relkind not in ('i','I','c') AND c.oid=? ORDER BY a.attnum",
        "SELECT c.oid,c.*,t.relname as tabrelname,rt.relnamespace as refnamespace,d.description,"
            + " case when c.contype='c' then \"substring\"(pg_get_constraintdef(c.oid), 7) else null end consrc_copy"
            + " FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid=c.conrelid"
            + " LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid=c.confrelid"
            + " LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0"
            + " AND d.classoid='pg_constraint'::regclass WHERE c.conrelid=? ORDER BY c.oid",
        "SELECT i.*,i.indkey as keys,c.relname,c.relnamespace,c.relam,c.reltablespace,tc.relname as tabrelname,"
            + "dsc.description,pg_catalog.pg_get_expr(i.indpred, i.indrelid) as pred_expr,"
            + "pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) as expr,"
            + "pg_catalog.pg_relation_size(i.indexrelid) as index_rel_size,"
            + "pg_catalog.pg_stat_get_numscans(i.indexrelid) as index_num_scans"
            + " FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid=i.indexrelid"
            + " INNER JOIN pg_catalog.pg_class tc ON tc.oid=i.indrelid"
            + " LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid=dsc.objoid"
            + " WHERE i.indrelid=? ORDER BY tabrelname, c.relname",
        "SELECT pg_catalog.pg_total_relation_size(c.oid), pg_catalog.pg_relation_size(c.oid) FROM pg_class c"
            + " WHERE c.oid=?",
    };
    /** Queries about a schema, of which the parameter is the number. */
    private static final String OF_SCHEMA =
        "SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr,"
            + " pg_catalog.pg_get_partkeydef(c.oid) as partition_key FROM pg_catalog.pg_class c"
            + " LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0"
            + " AND d.classoid='pg_class'::regclass WHERE c.relnamespace=? AND c.relkind not in ('i','I','c')";

    private Tools() {}

    static void check(Connection db) throws SQLException {
        for (String query : QUERIES) {
            Check.that(query, () -> Clients.query(db, query));
        }
        Check.that("tables of a schema", () -> {
            long schema = number(db, "SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = ?", "public");
            try (PreparedStatement select = db.prepareStatement(OF_SCHEMA)) {
                select.setLong(1, schema);
                Check.equal(Check.columns(select.executeQuery(), "relname", "relkind"),
                    List.of("jdbc r", "plan r", "quick r"));
            }
        });
        long table = number(db, "SELECT c.oid FROM pg_catalog.pg_class c WHERE c.relname = ?", "plan");
        int[] rows = {4, 1, 2, 1};
        for (int at = 0; at < OF_TABLE.length; at++) {
            String query = OF_TABLE[at];
            int count = rows[at];
            Check.that(query, () -> Check.equal(Clients.query(db, query, table).size(), count));
        }
    }

    private static long number(Connection db, String query, String name) throws SQLException {
        try (PreparedStatement select = db.prepareStatement(query)) {
            select.setString(1, name);
            ResultSet row = select.executeQuery();
            row.next();
            return row.getLong(1);
        }
    }
}
