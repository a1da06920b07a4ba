/*
 * A stand-in for CrossDB's library with the behaviour that the driver `crossdb` relies on, in
 * order that the driver's calls are exercised where the real library is missing. It is not a
 * database, and it is never measured.
 *
 * It knows the statements that assay-drivers/src/sql.rs makes, and one table a connection, whose
 * first columns are its key. Rows are searched one by one; a file is read whole when its database
 * is opened and written whole by xdb_close. Where CrossDB would continue quietly after a misuse,
 * this says what was wrong and aborts; handles are never freed, so that the use of a closed one is
 * noticed.
 *
 * Compiled with -DVERSION="..." it is of another version, with -DWITHOUT_CALLBACKS of one that has
 * none, with -DOPAQUE of one whose results and rows are read through functions (0.12 and later).
 * With -DWITHOUT_COMMIT it lacks a function, with -DWITH_ERRCODE it has only one of 0.12.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4096, COLUMNS = 10, NAME = 32, TEXT = 700, SQL = 1024 };
enum { OPEN = 0x0BE7, CLOSED = 0xDEAD, STALE = 0xDD };

typedef enum { INTEGER, REAL, CHARACTERS } Type;
typedef enum { INSERT, SELECT, UPDATE, DELETE } Kind;

/* A stored or bound value; what its type does not use is zero. */
typedef struct {
    int64_t number;
    double real;
    uint16_t length;
    char text[TEXT];
} Cell;

typedef struct { Cell cells[COLUMNS]; } Row;

typedef struct {
    char name[NAME];
    Type type;
    int size; /* bytes of a number, most bytes of a text */
} Column;

/* The table and its rows; a file holds it as it is. */
typedef struct {
    char sql[SQL], name[NAME]; /* sql: the statement that made it, empty before */
    int columns, keys, count;
    Column column[COLUMNS];
    Row rows[ROWS];
} Table;

/* A change of one row, and what was there. */
typedef struct {
    Kind kind;
    int at;
    Row before;
} Change;

/* Starts as CrossDB's header shows it (QueryResult in the driver), or in a way of its own. */
typedef struct {
#ifdef OPAQUE
    uint64_t affected_rows, row_count, col_meta;
    uint16_t errcode;
#else
    uint32_t len_type;
    uint16_t errcode, status;
    uint32_t meta_len;
    uint16_t col_count;
    uint8_t stmt_type, reserved;
    uint64_t row_count, affected_rows, insert_id, col_meta, row_data, data_len;
#endif
    const Table *queried; /* none for a result that need not be freed */
    bool live;
    Row row;
    const void *addresses[COLUMNS]; /* of the row's columns */
} Result;

typedef int (*Callback)(uint64_t meta, const void **row, void *argument);

typedef struct {
    int state, statements;
    bool in_transaction;
    FILE *file; /* none in memory */
    char database[NAME]; /* empty before there is one */
    Table table;
    Change change[ROWS]; /* of the transaction */
    int changes;
    Result said, found; /* of the last statement that is no query; of the last query */
} Connection;

typedef struct {
    int state, parameters, set; /* set: the column that an UPDATE sets */
    Connection *connection;
    Kind kind;
    bool bound[COLUMNS + 1];
    Row row; /* the bound values */
    bool had_values; /* it was once executed with values, and its callback is what it got there */
    Callback callback; /* of a query */
    void *argument;
} Statement;

static void require(bool right, const char *otherwise) {
    if (right) return;
    fprintf(stderr, "crossdb double: misuse: %s\n", otherwise);
    abort();
}

static void append(char *list, const char *separator, const char *item, const char *end) {
    sprintf(list + strlen(list), "%s%s%s", *list != 0 ? separator : "", item, end);
}

/* CREATE TABLE IF NOT EXISTS t (a INT, b CHAR(9), PRIMARY KEY (a)) */
static bool create(Table *t, const char *sql) {
    static const Column types[] = {{"TINYINT", INTEGER, 1}, {"SMALLINT", INTEGER, 2},
                                   {"INT", INTEGER, 4},     {"BIGINT", INTEGER, 8},
                                   {"DOUBLE", REAL, 8},     {"CHAR", CHARACTERS, 0}};
    char type[NAME], keys[SQL] = "", end[SQL + NAME];
    int n = 0;
    t->columns = 0;
    if (strlen(sql) >= SQL) return false;
    if (sscanf(sql, "CREATE TABLE IF NOT EXISTS %31s (%n", t->name, &n) != 1) return false;
    const char *at = sql + n;
    require(strstr(sql, "NOT NULL") == NULL,
            "CrossDB never returns from a column option that it does not know");
    while (sscanf(at, "%31[a-z0-9_] %31[A-Z]%n", t->column[t->columns].name, type, &n) == 2) {
        Column *c = &t->column[t->columns];
        size_t known = 0;
        while (known < 6 && strcmp(type, types[known].name) != 0) known++;
        if (known == 6 || ++t->columns == COLUMNS) return false;
        c->type = types[known].type, c->size = types[known].size;
        at += n, n = 0;
        if (c->type == CHARACTERS) sscanf(at, "(%d)%n", &c->size, &n);
        at += n, n = 0;
        sscanf(at, ", %n", &n);
        at += n;
        if (n == 0 || c->size < 1 || c->size > TEXT) return false;
    }
    for (t->keys = 1; t->keys <= t->columns; t->keys++) {
        append(keys, ", ", t->column[t->keys - 1].name, "");
        sprintf(end, "PRIMARY KEY (%s))", keys);
        if (strcmp(at, end) == 0) return strcpy(t->sql, sql) != NULL;
    }
    return false;
}

/* Recognises a statement by making those that there are. */
static bool parse(Statement *s, const char *sql) {
    const Table *t = &s->connection->table;
    char all[SQL] = "", marks[SQL] = "", payload[SQL] = "", key[SQL] = "", made[3 * SQL];
    for (int i = 0; i < t->columns; i++) {
        append(all, ", ", t->column[i].name, "");
        append(marks, ", ", "?", "");
        if (i < t->keys) append(key, " AND ", t->column[i].name, " = ?");
        else append(payload, ", ", t->column[i].name, "");
    }
    s->kind = INSERT, s->parameters = t->columns, s->set = -1;
    sprintf(made, "INSERT INTO %s (%s) VALUES (%s)", t->name, all, marks);
    if (strcmp(sql, made) == 0) return true;
    s->kind = SELECT, s->parameters = t->keys;
    sprintf(made, "SELECT %s FROM %s WHERE %s", payload, t->name, key);
    if (strcmp(sql, made) == 0) return true;
    s->kind = DELETE;
    sprintf(made, "DELETE FROM %s WHERE %s", t->name, key);
    if (strcmp(sql, made) == 0) return true;
    s->kind = UPDATE, s->parameters = t->keys + 1;
    for (s->set = t->keys; s->set < t->columns; s->set++) {
        sprintf(made, "UPDATE %s SET %s = ? WHERE %s", t->name, t->column[s->set].name, key);
        if (strcmp(sql, made) == 0) return true;
    }
    return false;
}

#ifndef VERSION
#define VERSION "0.8.0-test-double"
#endif
const char *xdb_version(void) { return VERSION; }

#if defined(OPAQUE) || defined(WITH_ERRCODE)
int xdb_errcode(const Result *r) { return r->errcode; }
#endif

#ifdef OPAQUE
int xdb_affected_rows(const Result *r) { return (int)r->affected_rows; }
#endif

void *xdb_open(const char *path) {
    Connection *c = calloc(1, sizeof *c);
    require(c != NULL, "memory ran out");
    require(path == NULL, "xdb_open says of a failure on standard error only");
    c->state = OPEN;
    return c;
}

const char *xdb_curdb(const Connection *c) { return c->database; }

/* Opens the file of a database and reads it, or creates it. */
static bool open_file(Connection *c, const char *path) {
    c->file = fopen(path, "r+b");
    if (c->file != NULL) return fread(&c->table, sizeof c->table, 1, c->file) == 1;
    c->file = fopen(path, "w+b");
    return c->file != NULL;
}

/* The statement's two forms. */
static const char IN_MEMORY[] =
    "CREATE DATABASE IF NOT EXISTS memory%*u ENGINE=MEMORY, LOCKMODE=%31s";
static const char IN_FILE[] = "CREATE DATABASE IF NOT EXISTS '%1023[^']' LOCKMODE=%31s";

static bool open_database(Connection *c, const char *sql) {
    char path[SQL], mode[NAME];
    bool in_memory = sscanf(sql, IN_MEMORY, mode) == 1;
    if (!in_memory && sscanf(sql, IN_FILE, path, mode) != 2) return false;
    if (strcmp(mode, "THREAD") != 0 && strcmp(mode, "NOLOCK") != 0) return false;
    if (!in_memory && !open_file(c, path)) return false;
    strcpy(c->database, in_memory ? "memory" : "store");
    return true;
}

/* Takes the last change back. */
static void undo(Table *t, const Change *last) {
    if (last->kind == INSERT) t->count--;
    if (last->kind == DELETE) t->rows[t->count++] = t->rows[last->at];
    if (last->kind != INSERT) t->rows[last->at] = last->before;
}

int xdb_begin(Connection *c) {
    require(c->state == OPEN && !c->in_transaction,
            "begin on a closed connection or inside a transaction");
    c->in_transaction = true;
    c->changes = 0;
    return 0;
}

static int end(Connection *c) {
    require(c->state == OPEN && c->in_transaction, "the end of a transaction that was not begun");
    c->in_transaction = false;
    return 0;
}

#ifndef WITHOUT_COMMIT
int xdb_commit(Connection *c) { return end(c); }
#endif

int xdb_rollback(Connection *c) {
    while (c->changes > 0) undo(&c->table, &c->change[--c->changes]);
    return end(c);
}

void xdb_close(Connection *c) {
    require(c->state == OPEN, "a connection was closed twice");
    require(c->statements == 0, "a connection was closed with statements open");
    require(!c->found.live, "a connection was closed with a result that is not freed");
    if (c->in_transaction) xdb_rollback(c);
    c->state = CLOSED;
    if (c->file == NULL) return;
    rewind(c->file);
    size_t written = fwrite(&c->table, sizeof c->table, 1, c->file);
    require(fclose(c->file) == 0 && written == 1, "the file cannot be written");
}

void *xdb_exec(Connection *c, const char *sql) {
    require(c->state == OPEN, "a statement was executed on a closed connection");
    if (strncmp(sql, "CREATE DATABASE", 15) == 0) {
        c->said = (Result){.errcode = !open_database(c, sql)};
        return &c->said;
    }
    require(*c->database != 0, "a table was created without a database");
    bool there = *c->table.sql != 0;
    bool known = there ? strcmp(c->table.sql, sql) == 0 : create(&c->table, sql);
    c->said = (Result){.errcode = !known};
    return &c->said;
}

void *xdb_stmt_prepare(Connection *c, const char *sql) {
    Statement *s = calloc(1, sizeof *s);
    require(s != NULL && c->state == OPEN, "a statement was prepared on a closed connection");
    s->connection = c;
    if (!parse(s, sql)) return NULL;
    s->state = OPEN;
    c->statements++;
    return s;
}

void xdb_stmt_close(Statement *s) {
    require(s->state == OPEN, "a statement was closed twice");
    s->state = CLOSED;
    s->connection->statements--;
}

static int bind(Statement *s, uint16_t at, Type type, Cell cell) {
    require(s->state == OPEN, "a value was bound to a closed statement");
    require(at >= 1 && at <= s->parameters, "there is no parameter with that index");
    int of = s->kind != UPDATE ? at - 1 : at == 1 ? s->set : at - 2;
    const Column *column = &s->connection->table.column[of];
    require(column->type == type, "a parameter was bound with another type");
    if (type == CHARACTERS && cell.length > column->size) return -2;
    /* What is stored is cut to its column's width; what is compared is not. */
    int unused = s->kind == INSERT || of == s->set ? 64 - 8 * column->size : 0;
    if (type == INTEGER) cell.number = (int64_t)((uint64_t)cell.number << unused) >> unused;
    s->row.cells[of] = cell;
    s->bound[at - 1] = true;
    return 0;
}

int xdb_bind_int64(Statement *s, uint16_t at, int64_t number) {
    return bind(s, at, INTEGER, (Cell){.number = number});
}

int xdb_bind_double(Statement *s, uint16_t at, double number) {
    return bind(s, at, REAL, (Cell){.real = number});
}

/* As in CrossDB, length 0 stands for that of a C string, except in an INSERT. */
int xdb_bind_str2(Statement *s, uint16_t at, const char *text, int length) {
    size_t bytes = length == 0 && s->kind != INSERT ? strlen(text) : (size_t)length;
    Cell cell = {.length = (uint16_t)bytes};
    if (bytes > TEXT) return -2;
    memcpy(cell.text, text, bytes);
    return bind(s, at, CHARACTERS, cell);
}

static const void *address_of(const Cell *cell, Type type) {
    switch (type) {
    case INTEGER: return &cell->number;
    case REAL: return &cell->real;
    default: return cell->text;
    }
}

/* Up to 0.11 a row is handed out as the addresses of the columns that are not in the key. */
static void keep(Result *r, const Row *row) {
    r->row = *row;
    for (int i = r->queried->keys; i < r->queried->columns; i++) {
        Type type = r->queried->column[i].type;
        r->addresses[i - r->queried->keys] = address_of(&r->row.cells[i], type);
    }
}

/* What a query returns. With a callback its row is gone when that returns. */
static void *answer(Statement *s) {
    Connection *c = s->connection;
#ifndef WITHOUT_CALLBACKS
    require(s->had_values,
            "a query was executed before its callback was set: CrossDB calls what is there");
    if (s->callback != NULL) {
        if (c->found.row_count > 0)
            s->callback(c->found.col_meta, c->found.addresses, s->argument);
        c->found.live = false;
        memset(&c->found.row, STALE, sizeof c->found.row);
        c->said = (Result){.errcode = 0};
        return &c->said;
    }
#endif
    return &c->found;
}

/* Values have to be bound anew for each execution: stale ones would not be noticed otherwise. */
void *xdb_stmt_exec(Statement *s) {
    Connection *c = s->connection;
    Table *t = &c->table;
    require(s->state == OPEN && c->state == OPEN, "a closed statement was executed");
    for (int i = 0; i < s->parameters; i++)
        require(s->bound[i], "a statement was executed with a parameter unbound");
    memset(s->bound, 0, sizeof s->bound);
    Row *row = t->rows, *end = t->rows + t->count;
    while (row < end && memcmp(row, &s->row, (size_t)t->keys * sizeof(Cell)) != 0) row++;
    bool there = row < end;
    if (s->kind == SELECT) {
        require(!c->found.live,
                "a query was executed while the result of the last one is not freed");
        c->found = (Result){
            .row_count = there, .col_meta = (uintptr_t)&c->found, .queried = t, .live = true};
        if (there) keep(&c->found, row);
        return answer(s);
    }
    c->said = (Result){.affected_rows = there != (s->kind == INSERT)};
    require(t->count < ROWS && c->changes < ROWS, "more than the double has room for");
    if (c->in_transaction && c->said.affected_rows) {
        Change *change = &c->change[c->changes++];
        *change = (Change){.kind = s->kind, .at = (int)(row - t->rows)};
        if (there) change->before = *row;
    }
    if (s->kind == INSERT && !there) t->rows[t->count++] = s->row;
    if (s->kind == UPDATE && there) row->cells[s->set] = s->row.cells[s->set];
    if (s->kind == DELETE && there) *row = t->rows[--t->count];
    return &c->said;
}

const char *xdb_errmsg(const Result *r) {
    return r->errcode != 0 ? "syntax that the double does not know" : "OK";
}

void *xdb_fetch_row(Result *r) {
    require(r->live, "a row was fetched from a result that is freed, or of no query");
    if (r->row_count == 0) return NULL;
    r->row_count--;
#ifdef OPAQUE
    return &r->row;
#else
    return r->addresses;
#endif
}

void xdb_free_result(Result *r) {
    if (r == NULL || r->queried == NULL) return;
    require(r->live, "a result was freed twice");
    r->live = false;
    memset(&r->row, STALE, sizeof r->row);
}

/* A column of a result's row, counted without the key. */
static const Cell *cell_of(const Result *r, const void *row, uint16_t at, Type type) {
#ifdef OPAQUE
    require(r->live && row == &r->row, "a column was read of a row that is gone");
#else
    require(r->live && row == r->addresses, "a column was read of a row that is gone");
#endif
    int of = r->queried->keys + at;
    require(of < r->queried->columns, "there is no column with that index");
    require(r->queried->column[of].type == type, "a column was read with another type");
    return &r->row.cells[of];
}

#ifdef OPAQUE
int64_t xdb_column_int64(const Result *r, const void *row, uint16_t at) {
    return cell_of(r, row, at, INTEGER)->number;
}

double xdb_column_double(const Result *r, const void *row, uint16_t at) {
    return cell_of(r, row, at, REAL)->real;
}

const char *xdb_column_str2(const Result *r, const void *row, uint16_t at, int *length) {
    const Cell *cell = cell_of(r, row, at, CHARACTERS);
    *length = cell->length;
    return cell->text;
}
#else
const char *xdb_column_str2(uint64_t meta, const void **row, uint16_t at, int *length) {
    const Cell *cell = cell_of((const Result *)(uintptr_t)meta, row, at, CHARACTERS);
    *length = cell->length;
    return cell->text;
}
#endif

#ifndef WITHOUT_CALLBACKS
/* Takes a value for each column of the key, of its type. */
static void *execute_with(Statement *s, va_list values) {
    s->had_values = true;
    for (int i = 0; i < s->connection->table.keys; i++) {
        const Column *column = &s->connection->table.column[i];
        const char *text = "";
        uint16_t at = (uint16_t)(i + 1);
        if (column->type == CHARACTERS) text = va_arg(values, const char *);
        if (column->type == CHARACTERS) xdb_bind_str2(s, at, text, (int)strlen(text));
        else if (column->size == 8) xdb_bind_int64(s, at, va_arg(values, int64_t));
        else xdb_bind_int64(s, at, va_arg(values, int));
    }
    return xdb_stmt_exec(s);
}

/* Since 0.12 it is in the library and not in the header: a row cannot be read in a callback. */
void *xdb_stmt_bexec_cb(Statement *s, Callback callback, void *argument, ...) {
    va_list values;
    require(s->kind == SELECT, "a callback was given to a statement that is no query");
#ifdef OPAQUE
    require(false, "rows cannot be read in a callback");
#endif
    s->callback = callback, s->argument = argument;
    va_start(values, argument);
    void *result = execute_with(s, values);
    va_end(values);
    return result;
}

void *xdb_stmt_bexec(Statement *s, ...) {
    va_list values;
    require(s->kind == SELECT, "the double takes values with queries only");
    s->callback = NULL;
    va_start(values, s);
    void *result = execute_with(s, values);
    va_end(values);
    return result;
}
#endif
