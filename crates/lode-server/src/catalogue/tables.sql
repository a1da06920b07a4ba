CREATE TABLE pg_catalog.pg_namespace (oid INTEGER, nspname TEXT, nspowner INTEGER, nspacl TEXT);
INSERT INTO pg_catalog.pg_namespace VALUES
    (11, 'pg_catalog', 10, NULL), (2200, 'public', 10, NULL), (13000, 'information_schema', 10, NULL);
CREATE TABLE pg_catalog.pg_am (oid INTEGER, amname TEXT, amtype TEXT, amhandler TEXT DEFAULT '');
INSERT INTO pg_catalog.pg_am (oid, amname, amtype) VALUES
    (2, 'heap', 't'), (403, 'btree', 'i'), (405, 'hash', 'i');
CREATE TABLE pg_catalog.pg_class (
    oid INTEGER, relname TEXT, relnamespace INTEGER, reltype INTEGER DEFAULT 0, reloftype INTEGER DEFAULT 0,
    relowner INTEGER, relam INTEGER DEFAULT 0, reltablespace INTEGER DEFAULT 0, relpages INTEGER DEFAULT 0,
    reltuples REAL DEFAULT -1, reltoastrelid INTEGER DEFAULT 0, relhasindex BOOLEAN, relisshared BOOLEAN DEFAULT 0,
    relpersistence TEXT DEFAULT 'p', relkind TEXT, relnatts INTEGER DEFAULT 0, relchecks INTEGER DEFAULT 0,
    relhasrules BOOLEAN DEFAULT 0, relhastriggers BOOLEAN DEFAULT 0, relhassubclass BOOLEAN DEFAULT 0,
    relrowsecurity BOOLEAN DEFAULT 0, relforcerowsecurity BOOLEAN DEFAULT 0, relispopulated BOOLEAN DEFAULT 1,
    relreplident TEXT DEFAULT 'd', relispartition BOOLEAN DEFAULT 0, relacl TEXT, reloptions TEXT,
    relpartbound TEXT);
CREATE TABLE pg_catalog.pg_attribute (
    attrelid INTEGER, attname TEXT, atttypid INTEGER, attlen INTEGER, attnum INTEGER, attndims INTEGER DEFAULT 0,
    atttypmod INTEGER DEFAULT -1, attnotnull BOOLEAN, atthasdef BOOLEAN DEFAULT 0, attidentity TEXT DEFAULT '',
    attgenerated TEXT DEFAULT '', attisdropped BOOLEAN DEFAULT 0, attislocal BOOLEAN DEFAULT 1,
    attcollation INTEGER DEFAULT 0, attstorage TEXT DEFAULT 'p', attcompression TEXT DEFAULT '',
    attstattarget INTEGER DEFAULT -1, attacl TEXT, attoptions TEXT, attfdwoptions TEXT);
CREATE TABLE pg_catalog.pg_type (
    oid INTEGER, typname TEXT, typnamespace INTEGER, typowner INTEGER DEFAULT 10, typlen INTEGER,
    typtype TEXT DEFAULT 'b', typcategory TEXT, typdelim TEXT DEFAULT ',', typrelid INTEGER DEFAULT 0,
    typelem INTEGER DEFAULT 0, typarray INTEGER DEFAULT 0, typbasetype INTEGER DEFAULT 0,
    typtypmod INTEGER DEFAULT -1, typcollation INTEGER DEFAULT 0, typnotnull BOOLEAN DEFAULT 0, typdefault TEXT,
    typinput TEXT DEFAULT '', typreceive TEXT DEFAULT '');
CREATE TABLE pg_catalog.pg_index (
    indexrelid INTEGER, indrelid INTEGER, indnatts INTEGER, indnkeyatts INTEGER, indisunique BOOLEAN,
    indisprimary BOOLEAN,
    indisexclusion BOOLEAN DEFAULT 0, indisclustered BOOLEAN DEFAULT 0, indisvalid BOOLEAN DEFAULT 1,
    indisready BOOLEAN DEFAULT 1, indislive BOOLEAN DEFAULT 1, indisreplident BOOLEAN DEFAULT 0, indkey TEXT,
    indcollation TEXT, indclass TEXT, indoption TEXT, indexprs TEXT, indpred TEXT, definition TEXT);
CREATE TABLE pg_catalog.pg_constraint (
    oid INTEGER, conname TEXT, connamespace INTEGER DEFAULT 2200, contype TEXT DEFAULT 'p',
    condeferrable BOOLEAN DEFAULT 0, condeferred BOOLEAN DEFAULT 0, convalidated BOOLEAN DEFAULT 1,
    conrelid INTEGER, contypid INTEGER DEFAULT 0, conindid INTEGER, conparentid INTEGER DEFAULT 0,
    confrelid INTEGER DEFAULT 0, confupdtype TEXT DEFAULT ' ', confdeltype TEXT DEFAULT ' ',
    confmatchtype TEXT DEFAULT ' ', conislocal BOOLEAN DEFAULT 1, coninhcount INTEGER DEFAULT 0,
    connoinherit BOOLEAN DEFAULT 1, conkey TEXT, confkey TEXT, conbin TEXT, definition TEXT);
CREATE TABLE pg_catalog.pg_attrdef (oid INTEGER, adrelid INTEGER, adnum INTEGER, adbin TEXT);
CREATE TABLE pg_catalog.pg_description (objoid INTEGER, classoid INTEGER, objsubid INTEGER, description TEXT);
CREATE TABLE pg_catalog.pg_shdescription (objoid INTEGER, classoid INTEGER, description TEXT);
CREATE TABLE pg_catalog.pg_depend (
    classid INTEGER, objid INTEGER, objsubid INTEGER, refclassid INTEGER, refobjid INTEGER, refobjsubid INTEGER,
    deptype TEXT);
CREATE TABLE pg_catalog.pg_proc (
    oid INTEGER, proname TEXT, pronamespace INTEGER, proowner INTEGER, prolang INTEGER, prokind TEXT,
    proretset BOOLEAN, prorettype INTEGER, proargtypes TEXT, proargnames TEXT, proargmodes TEXT,
    proallargtypes TEXT, prosrc TEXT);
CREATE TABLE pg_catalog.pg_sequence (
    seqrelid INTEGER, seqtypid INTEGER, seqstart INTEGER, seqincrement INTEGER, seqmax INTEGER, seqmin INTEGER,
    seqcache INTEGER, seqcycle BOOLEAN);
CREATE TABLE pg_catalog.pg_trigger (
    oid INTEGER, tgrelid INTEGER, tgname TEXT, tgfoid INTEGER, tgtype INTEGER, tgenabled TEXT, tgisinternal BOOLEAN);
CREATE TABLE pg_catalog.pg_rewrite (oid INTEGER, rulename TEXT, ev_class INTEGER, ev_type TEXT, ev_enabled TEXT);
CREATE TABLE pg_catalog.pg_locks (
    locktype TEXT, database INTEGER, relation INTEGER, transactionid INTEGER, pid INTEGER, mode TEXT,
    granted BOOLEAN);
CREATE TABLE pg_catalog.pg_stat_user_tables (
    relid INTEGER, schemaname TEXT, relname TEXT, seq_scan INTEGER, idx_scan INTEGER, n_live_tup INTEGER,
    n_dead_tup INTEGER, last_vacuum TIMESTAMP, last_analyze TIMESTAMP);
CREATE TABLE pg_catalog.pg_get_keywords (word TEXT, catcode TEXT, catdesc TEXT);
INSERT INTO pg_catalog.pg_get_keywords (word) VALUES
    ('abort'), ('analyze'), ('attach'), ('autoincrement'), ('conflict'), ('database'), ('detach'), ('explain'),
    ('expires'), ('fail'), ('glob'), ('if'), ('ignore'), ('ilike'), ('index'), ('indexed'), ('instead'), ('isnull'),
    ('limit'), ('materialized'), ('nothing'), ('notnull'), ('offset'), ('plan'), ('pragma'), ('query'), ('raise'),
    ('regexp'), ('reindex'), ('rename'), ('replace'), ('returning'), ('temp'), ('vacuum'), ('virtual'), ('without');
CREATE TABLE pg_catalog.pg_enum (oid INTEGER, enumtypid INTEGER, enumsortorder REAL, enumlabel TEXT);
CREATE TABLE pg_catalog.pg_collation (oid INTEGER, collname TEXT, collnamespace INTEGER);
CREATE TABLE pg_catalog.pg_range (rngtypid INTEGER, rngsubtype INTEGER, rngmultitypid INTEGER);
CREATE TABLE pg_catalog.pg_extension (
    oid INTEGER, extname TEXT, extowner INTEGER, extnamespace INTEGER, extrelocatable BOOLEAN, extversion TEXT);
CREATE TABLE pg_catalog.pg_inherits (inhrelid INTEGER, inhparent INTEGER, inhseqno INTEGER);
CREATE TABLE pg_catalog.pg_tablespace (
    oid INTEGER, spcname TEXT, spcowner INTEGER, spcacl TEXT, spcoptions TEXT);
CREATE TABLE pg_catalog.pg_roles (
    oid INTEGER, rolname TEXT, rolsuper BOOLEAN, rolinherit BOOLEAN, rolcreaterole BOOLEAN, rolcreatedb BOOLEAN,
    rolcanlogin BOOLEAN, rolreplication BOOLEAN, rolbypassrls BOOLEAN, rolconnlimit INTEGER, rolvaliduntil TIMESTAMP);
INSERT INTO pg_catalog.pg_roles VALUES (10, current_user(), 0, 1, 0, 0, 1, 0, 0, -1, NULL);
CREATE TABLE pg_catalog.pg_database (
    oid INTEGER, datname TEXT, datdba INTEGER, encoding INTEGER, datcollate TEXT, datctype TEXT,
    datistemplate BOOLEAN, datallowconn BOOLEAN, datacl TEXT, datlocprovider TEXT, daticulocale TEXT,
    dattablespace INTEGER, datconnlimit INTEGER);
INSERT INTO pg_catalog.pg_database VALUES (1, 'lode', 10, 6, 'C', 'C', 0, 1, NULL, 'c', NULL, 0, -1);
CREATE TABLE information_schema.schema_tables (name TEXT);
CREATE TABLE information_schema.schema_columns (
    table_name TEXT, column_name TEXT, ordinal_position INTEGER, is_nullable TEXT, data_type TEXT, udt_name TEXT);
CREATE TABLE information_schema.schema_keys (
    constraint_name TEXT, table_name TEXT, column_name TEXT, ordinal_position INTEGER);
CREATE VIEW information_schema.schemata AS
    SELECT 'lode' AS catalog_name, 'public' AS schema_name, current_user() AS schema_owner;
CREATE VIEW information_schema.tables AS
    SELECT 'lode' AS table_catalog, 'public' AS table_schema, name AS table_name, 'BASE TABLE' AS table_type
    FROM schema_tables;
CREATE VIEW information_schema.columns AS
    SELECT 'lode' AS table_catalog, 'public' AS table_schema, table_name, column_name, ordinal_position,
           NULL AS column_default, is_nullable, data_type, 'lode' AS udt_catalog, 'pg_catalog' AS udt_schema,
           udt_name
    FROM schema_columns;
CREATE VIEW information_schema.table_constraints AS
    SELECT DISTINCT 'lode' AS constraint_catalog, 'public' AS constraint_schema, constraint_name,
           'lode' AS table_catalog, 'public' AS table_schema, table_name, 'PRIMARY KEY' AS constraint_type
    FROM schema_keys;
CREATE VIEW information_schema.key_column_usage AS
    SELECT 'lode' AS constraint_catalog, 'public' AS constraint_schema, constraint_name,
           'lode' AS table_catalog, 'public' AS table_schema, table_name, column_name, ordinal_position
    FROM schema_keys;
CREATE VIEW pg_catalog.pg_tables AS
    SELECT 'public' AS schemaname, relname AS tablename, 'lode' AS tableowner, relhasindex AS hasindexes
    FROM pg_class WHERE relkind = 'r';
CREATE VIEW pg_catalog.pg_indexes AS
    SELECT 'public' AS schemaname, t.relname AS tablename, i.relname AS indexname, definition AS indexdef
    FROM pg_index JOIN pg_class AS i ON i.oid = indexrelid JOIN pg_class AS t ON t.oid = indrelid;
CREATE VIEW pg_catalog.pg_settings AS
    SELECT CAST(key AS TEXT) AS name, CAST(atom AS TEXT) AS setting, CAST(NULL AS TEXT) AS unit, 'Lode' AS category,
           CAST(NULL AS TEXT) AS short_desc, CAST(NULL AS TEXT) AS extra_desc, 'user' AS context,
           'string' AS vartype, 'default' AS source, CAST(NULL AS TEXT) AS min_val, CAST(NULL AS TEXT) AS max_val,
           CAST(NULL AS TEXT) AS enumvals, CAST(atom AS TEXT) AS boot_val, CAST(atom AS TEXT) AS reset_val
    FROM json_each(settings_json());
CREATE VIEW pg_catalog.pg_stat_activity AS
    SELECT 1 AS datid, 'lode' AS datname, pg_backend_pid() AS pid, 10 AS usesysid, current_user() AS usename,
           current_setting('application_name') AS application_name, CAST(NULL AS TEXT) AS client_addr,
           CAST(NULL AS INTEGER) AS client_port, CAST(NULL AS TEXT) AS wait_event_type,
           CAST(NULL AS TEXT) AS wait_event, 'active' AS state, '' AS query, 'client backend' AS backend_type;
CREATE VIEW pg_catalog.pg_views AS
    SELECT '' AS schemaname, '' AS viewname, '' AS viewowner, '' AS definition WHERE 0;
CREATE VIEW pg_catalog.pg_user AS
    SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper FROM pg_roles;
