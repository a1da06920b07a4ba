CREATE TABLE pg_catalog.pg_namespace (oid INTEGER, nspname TEXT, nspowner INTEGER, nspacl TEXT);
INSERT INTO pg_catalog.pg_namespace VALUES
    (11, 'pg_catalog', 10, NULL), (2200, 'public', 10, NULL), (13000, 'information_schema', 10, NULL);
CREATE TABLE pg_catalog.pg_am (oid INTEGER, amname TEXT, amtype TEXT);
INSERT INTO pg_catalog.pg_am VALUES (2, 'heap', 't'), (403, 'btree', 'i');
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
    indexrelid INTEGER, indrelid INTEGER, indnatts INTEGER, indisunique BOOLEAN, indisprimary BOOLEAN,
    indisexclusion BOOLEAN DEFAULT 0, indisclustered BOOLEAN DEFAULT 0, indisvalid BOOLEAN DEFAULT 1,
    indisready BOOLEAN DEFAULT 1, indislive BOOLEAN DEFAULT 1, indisreplident BOOLEAN DEFAULT 0, indkey TEXT,
    indexprs TEXT, indpred TEXT, definition TEXT);
CREATE TABLE pg_catalog.pg_constraint (
    oid INTEGER, conname TEXT, connamespace INTEGER DEFAULT 2200, contype TEXT DEFAULT 'p',
    condeferrable BOOLEAN DEFAULT 0, condeferred BOOLEAN DEFAULT 0, convalidated BOOLEAN DEFAULT 1,
    conrelid INTEGER, conindid INTEGER, conparentid INTEGER DEFAULT 0, confrelid INTEGER DEFAULT 0, conkey TEXT,
    confkey TEXT, definition TEXT);
CREATE TABLE pg_catalog.pg_attrdef (oid INTEGER, adrelid INTEGER, adnum INTEGER, adbin TEXT);
CREATE TABLE pg_catalog.pg_description (objoid INTEGER, classoid INTEGER, objsubid INTEGER, description TEXT);
CREATE TABLE pg_catalog.pg_enum (oid INTEGER, enumtypid INTEGER, enumsortorder REAL, enumlabel TEXT);
CREATE TABLE pg_catalog.pg_collation (oid INTEGER, collname TEXT);
CREATE TABLE pg_catalog.pg_range (rngtypid INTEGER, rngsubtype INTEGER);
CREATE TABLE pg_catalog.pg_extension (
    oid INTEGER, extname TEXT, extowner INTEGER, extnamespace INTEGER, extrelocatable BOOLEAN, extversion TEXT);
CREATE TABLE pg_catalog.pg_inherits (inhrelid INTEGER, inhparent INTEGER, inhseqno INTEGER);
CREATE TABLE pg_catalog.pg_tablespace (oid INTEGER, spcname TEXT);
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
