/*
 * A stand-in for CrossDB's library with the behaviour that the driver `crossdb` relies on, in
 * order that the driver's calls are exercised where the real library is missing. It is not a
 * database, and it is never measured.
 *
 * It knows the statements that assay-drivers/src/sql.rs makes, by their words, and one table a
 * connection, whose first columns are its key. Rows are searched one by one; a file is read
 * whole by xdb_open and written whole by xdb_close. Where CrossDB would go on quietly after a
 * misuse, this says what was wrong and aborts; handles are never freed, so that the use of a
 * closed one is noticed.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 12, NAME = 32, TEXT = 38, SQL = 1024, WORDS = 128, OPEN = 0x0BE7, CLOSED = 0xDEAD };

typedef enum { INTEGER, REAL, CHARACTERS } Type;
typedef enum { INSERT, SELECT, UPDATE, DELETE } Kind;

/* A stored or bound value; what its type does not use is zero. */
typedef struct {
    int64_t number;
    double real;
    uint16_t length;
    char text[TEXT];
} Cell;

typedef struct {
    Cell cells[COLUMNS];
} Row;

typedef struct {
    char name[NAME];
    Type type;
    int size; /* bytes of a number, most bytes of a text */
} Column;

typedef struct {
    char sql[SQL]; /* the statement that made it; empty before */
    char name[NAME];
    int columns, keys;
    Column column[COLUMNS];
} Table;

typedef struct Statement Statement;

/* It begins as CrossDB's header shows it (QueryResult in the driver). */
typedef struct {
    uint32_t len_type;
    uint16_t errcode, status;
    uint32_t meta_len;
    uint16_t col_count;
    uint8_t stmt_type, reserved;
    uint64_t row_count, affected_rows, insert_id, col_meta, row_data, data_len;
    const Statement *query; /* none for a result that need not be freed */
    bool live;
    Row row;
} Result;

typedef struct {
    int state, statements;
    bool in_transaction;
    char *path; /* none in memory */
    Table table;
    uint64_t count, saved_count;
    Row *rows, *saved;
    Result said, found; /* of the last statement that is no query; of the last query */
} Connection;

struct Statement {
    int state;
    Connection *connection;
    Kind kind;
    int parameters, sets, answers; /* sets: parameters that are stored, before those compared */
    int parameter[2 * COLUMNS], answer[COLUMNS]; /* columns */
    bool bound[2 * COLUMNS];
    Row row; /* the bound values */
};

static void require(bool right, const char *otherwise) {
    if (right) return;
    fprintf(stderr, "crossdb double: misuse: %s\n", otherwise);
    abort();
}

static Connection *opened(Connection *c) {
    require(c->state == OPEN, "a closed connection was used");
    return c;
}

static Statement *prepared(Statement *s) {
    require(s->state == OPEN, "a closed statement was used");
    return s;
}

static Row *copy(Row *to, const Row *from, uint64_t count) {
    to = realloc(to, (count + 1) * sizeof(Row));
    require(to != NULL, "memory ran out");
    return count > 0 && from != NULL ? memcpy(to, from, count * sizeof(Row)) : to;
}

/* Cuts a statement into its words; what stands between them says nothing more. */
static int split(char *copied, const char *sql, char **words) {
    int count = 0;
    snprintf(copied, SQL, "%s", sql);
    for (char *word = strtok(copied, " ,()=?"); word != NULL && count < WORDS - 8; word = strtok(NULL, " ,()=?"))
        words[count++] = word;
    for (int i = count; i < WORDS; i++) words[i] = "";
    return count;
}

/* CREATE TABLE IF NOT EXISTS t (a INT NOT NULL, b CHAR(9) NOT NULL, PRIMARY KEY (a)) */
static bool create(Table *table, const char *sql) {
    static const Column types[] = {{"TINYINT", INTEGER, 1}, {"SMALLINT", INTEGER, 2}, {"INT", INTEGER, 4},
                                   {"BIGINT", INTEGER, 8}, {"DOUBLE", REAL, 8}, {"CHAR", CHARACTERS, 0}};
    char copied[SQL], *words[WORDS], **w = words + 6;
    int count = split(copied, sql, words), keys = 0;
    if (strncmp(sql, "CREATE TABLE IF NOT EXISTS ", 27) != 0 || strlen(sql) >= SQL) return false;
    for (snprintf(table->name, NAME, "%s", words[5]); strcmp(*w, "PRIMARY") != 0; w += 2) {
        Column *to = &table->column[table->columns];
        size_t type = 0;
        while (type < 6 && strcmp(w[1], types[type].name) != 0) type++;
        if (type == 6 || ++table->columns > COLUMNS) return false;
        *to = types[type];
        snprintf(to->name, NAME, "%s", *w);
        w += 2;
        if (to->type == CHARACTERS) to->size = atoi(*w++);
        if (to->size > TEXT || strcmp(w[0], "NOT") != 0 || strcmp(w[1], "NULL") != 0) return false;
    }
    for (w += 2; w < words + count && strcmp(*w, table->column[keys].name) == 0; w++) keys++;
    table->keys = keys;
    strcpy(table->sql, sql);
    return w == words + count && keys > 0;
}

/* INSERT INTO t (a, b) VALUES (?, ?); SELECT b FROM t WHERE a = ?; UPDATE t SET b = ? WHERE
 * a = ?; DELETE FROM t WHERE a = ? */
static bool parse(Statement *s, const char *sql) {
    static const char *const kinds[] = {"INSERT", "SELECT", "UPDATE", "DELETE"};
    const Table *table = &s->connection->table;
    char copied[SQL], *words[WORDS];
    int count = split(copied, sql, words), marks = 0, kind = 0;
    while (kind < 4 && strcmp(words[0], kinds[kind]) != 0) kind++;
    bool known = kind < 4, where = false;
    s->kind = (Kind)kind;
    for (int i = 1; known && i < count; i++) {
        int at = 0;
        while (at < table->columns && strcmp(words[i], table->column[at].name) != 0) at++;
        if (at < table->columns && s->kind == SELECT && !where) {
            known = s->answers < COLUMNS;
            s->answer[s->answers++ % COLUMNS] = at;
        } else if (at < table->columns) {
            known = s->parameters < COLUMNS && (!where || at < table->keys);
            s->parameter[s->parameters++] = at;
            if (!where) s->sets++;
        } else {
            where = where || strcmp(words[i], "WHERE") == 0;
            known = strstr("INTO FROM VALUES SET WHERE AND", words[i]) || strcmp(words[i], table->name) == 0;
        }
    }
    for (const char *c = sql; *c != 0; c++) marks += *c == '?';
    int sets = s->kind == INSERT ? table->columns : s->kind == UPDATE, compared = s->kind == INSERT ? 0 : table->keys;
    return known && s->sets == sets && s->parameters == sets + compared && marks == s->parameters;
}

const char *xdb_version(void) { return "0.8.0-test-double"; }

void *xdb_open(const char *path) {
    Connection *c = calloc(1, sizeof *c);
    require(c != NULL, "memory ran out");
    c->state = OPEN;
    if (strcmp(path, ":memory:") == 0) return c;
    FILE *file = fopen(path, "a+b");
    if (file == NULL) return NULL;
    rewind(file);
    c->path = strcpy(malloc(strlen(path) + 1), path);
    if (fread(&c->table, sizeof c->table, 1, file) == 1 && fread(&c->count, sizeof c->count, 1, file) == 1) {
        c->rows = copy(NULL, NULL, c->count);
        require(fread(c->rows, sizeof(Row), c->count, file) == c->count, "the file is too short");
    }
    fclose(file);
    return c;
}

int xdb_begin(Connection *c) {
    require(!opened(c)->in_transaction, "begin inside a transaction");
    c->in_transaction = true;
    c->saved_count = c->count;
    c->saved = copy(c->saved, c->rows, c->count);
    return 0;
}

int xdb_commit(Connection *c) {
    require(opened(c)->in_transaction, "commit outside of a transaction");
    c->in_transaction = false;
    return 0;
}

int xdb_rollback(Connection *c) {
    require(opened(c)->in_transaction, "rollback outside of a transaction");
    c->in_transaction = false;
    c->count = c->saved_count;
    c->rows = copy(c->rows, c->saved, c->count);
    return 0;
}

void xdb_close(Connection *c) {
    require(opened(c)->statements == 0, "a connection was closed with statements open");
    require(!c->found.live, "a connection was closed with a result that is not freed");
    if (c->in_transaction) xdb_rollback(c);
    FILE *file = c->path != NULL ? fopen(c->path, "wb") : NULL;
    if (file != NULL) {
        fwrite(&c->table, sizeof c->table, 1, file);
        fwrite(&c->count, sizeof c->count, 1, file);
        if (c->count > 0) fwrite(c->rows, sizeof(Row), c->count, file);
    }
    require(c->path == NULL || (file != NULL && fclose(file) == 0), "the file cannot be written");
    c->state = CLOSED;
    free(c->rows);
    free(c->saved);
}

void *xdb_exec(Connection *c, const char *sql) {
    Table table = {.columns = 0};
    bool there = opened(c)->table.sql[0] != 0, known = there ? strcmp(c->table.sql, sql) == 0 : create(&table, sql);
    if (known && !there) c->table = table;
    c->said = (Result){.errcode = !known};
    return &c->said;
}

void *xdb_stmt_prepare(Connection *c, const char *sql) {
    Statement *s = calloc(1, sizeof *s);
    require(s != NULL, "memory ran out");
    s->connection = opened(c);
    if (!parse(s, sql)) return NULL;
    s->state = OPEN;
    c->statements++;
    return s;
}

void xdb_stmt_close(Statement *s) {
    prepared(s)->state = CLOSED;
    s->connection->statements--;
}

static Cell *bind(Statement *s, uint16_t at, Type type) {
    require(at >= 1 && at <= prepared(s)->parameters, "there is no parameter with that index");
    int column = s->parameter[at - 1];
    require(s->connection->table.column[column].type == type, "a parameter was bound with another type");
    s->bound[at - 1] = true;
    return memset(&s->row.cells[column], 0, sizeof(Cell));
}

/* What is stored is cut to its column's width; what is compared is not. */
int xdb_bind_int64(Statement *s, uint16_t at, int64_t number) {
    Cell *cell = bind(s, at, INTEGER);
    int unused = at > s->sets ? 0 : 64 - 8 * s->connection->table.column[s->parameter[at - 1]].size;
    cell->number = (int64_t)((uint64_t)number << unused) >> unused;
    return 0;
}

int xdb_bind_double(Statement *s, uint16_t at, double number) {
    bind(s, at, REAL)->real = number;
    return 0;
}

/* As in CrossDB, length 0 stands for that of a C string, except in an INSERT. */
int xdb_bind_str2(Statement *s, uint16_t at, const char *text, int length) {
    Cell *cell = bind(s, at, CHARACTERS);
    size_t bytes = length == 0 && s->kind != INSERT ? strlen(text) : (size_t)length;
    if (bytes > (size_t)s->connection->table.column[s->parameter[at - 1]].size) return -2;
    cell->length = (uint16_t)bytes;
    memcpy(cell->text, text, bytes);
    return 0;
}

static Row *find(Connection *c, const Row *row) {
    for (uint64_t i = 0; i < c->count; i++)
        if (memcmp(&c->rows[i], row, (size_t)c->table.keys * sizeof(Cell)) == 0) return &c->rows[i];
    return NULL;
}

/* Values have to be bound anew for each execution: stale ones are not noticed otherwise. */
void *xdb_stmt_exec(Statement *s) {
    Connection *c = opened(prepared(s)->connection);
    for (int i = 0; i < s->parameters; i++) require(s->bound[i], "a statement was executed with a parameter unbound");
    memset(s->bound, 0, sizeof s->bound);
    Row *row = find(c, &s->row);
    if (s->kind == SELECT) {
        require(!c->found.live, "a query was executed while its last result is not freed");
        c->found = (Result){.row_count = row != NULL, .col_meta = (uintptr_t)&c->found, .query = s, .live = true};
        if (row != NULL) c->found.row = *row;
        return &c->found;
    }
    c->said = (Result){.affected_rows = (row == NULL) == (s->kind == INSERT)};
    if (row == NULL && s->kind == INSERT) {
        c->rows = copy(c->rows, NULL, c->count + 1);
        c->rows[c->count++] = s->row;
    } else if (row != NULL && s->kind == UPDATE) {
        row->cells[s->parameter[0]] = s->row.cells[s->parameter[0]];
    } else if (row != NULL && s->kind == DELETE) {
        *row = c->rows[--c->count];
    }
    return &c->said;
}

const char *xdb_errmsg(const Result *r) { return r->errcode ? "syntax that the double does not know" : "OK"; }

void *xdb_fetch_row(Result *r) {
    require(r->live, "a row was fetched from a result that is freed, or of no query");
    return r->row_count > 0 ? r->row_count--, &r->row : NULL;
}

void xdb_free_result(Result *r) {
    if (r == NULL || r->query == NULL) return;
    require(r->live, "a result was freed twice");
    r->live = false;
    memset(&r->row, 0xDD, sizeof r->row);
}

static const Cell *answer(uint64_t meta, const Row *row, uint16_t at, Type type) {
    const Result *r = (const Result *)(uintptr_t)meta;
    require(r->live && row == &r->row, "a column was read of a row that is gone");
    require(at < r->query->answers, "there is no column with that index");
    require(r->query->connection->table.column[r->query->answer[at]].type == type, "a column was read with another type");
    return &row->cells[r->query->answer[at]];
}

int64_t xdb_column_int64(uint64_t meta, const Row *row, uint16_t at) { return answer(meta, row, at, INTEGER)->number; }

double xdb_column_double(uint64_t meta, const Row *row, uint16_t at) { return answer(meta, row, at, REAL)->real; }

const char *xdb_column_str2(uint64_t meta, const Row *row, uint16_t at, int *length) {
    const Cell *cell = answer(meta, row, at, CHARACTERS);
    *length = cell->length;
    return cell->text;
}
