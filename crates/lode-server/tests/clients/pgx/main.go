// Drives `lode serve` through pgx: `pgx URL`, where the URL may name a root certificate.
//
// It prints what fails, and ends with status 1 if anything does.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

const table = `CREATE TABLE pgx (id U32 PRIMARY KEY, i8 I8, i16 I16, i64 I64, f32 F32, f64 F64, ok BOOLEAN,
	price DECIMAL(20, 2), at TIMESTAMP, fixed TEXT(3), note VARTEXT(40), four BYTES(4), raw VARBYTES(20))`

// long takes more time than anyone waits.
const long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

var (
	ctx    = context.Background()
	moment = time.Date(2026, 1, 2, 3, 4, 5, 600_001_000, time.UTC)
	failed bool
)

// failure is what a check panics with.
type failure string

func fail(format string, values ...any) {
	_, file, line, _ := runtime.Caller(2)
	at := fmt.Sprintf("%s:%d: ", filepath.Base(file), line)
	panic(failure(at + fmt.Sprintf(format, values...)))
}

func check(name string, work func()) {
	defer func() {
		switch found := recover().(type) {
		case nil:
		case failure:
			failed = true
			fmt.Fprintf(os.Stderr, "pgx: %s: %s\n", name, found)
		default:
			panic(found)
		}
	}()
	work()
}

func must(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func equal(found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		fail("%#v, where %#v was expected", found, expected)
	}
}

func refused(state string, err error) {
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) {
		fail("%v, where %s was expected", err, state)
	} else if refusal.Code != state {
		fail("%s %s, where %s was expected", refusal.Code, refusal.Message, state)
	}
}

func connect(url string, change func(*pgx.ConnConfig)) *pgx.Conn {
	config, err := pgx.ParseConfig(url)
	must(err)
	if change != nil {
		change(config)
	}
	db, err := pgx.ConnectConfig(ctx, config)
	must(err)
	return db
}

func execute(db *pgx.Conn, statement string, values ...any) string {
	tag, err := db.Exec(ctx, statement, values...)
	if err != nil {
		fail("%v", err)
	}
	return tag.String()
}

// one returns the only value of the only row.
func one[T any](db *pgx.Conn, query string, values ...any) T {
	rows, err := db.Query(ctx, query, values...)
	if err != nil {
		fail("%v", err)
	}
	value, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	if err != nil {
		fail("%v", err)
	}
	return value
}

func main() {
	url := os.Args[1]
	db := connect(url, nil)
	check("a table", func() { equal(execute(db, table), "CREATE TABLE") })
	for name, mode := range map[string]pgx.QueryExecMode{
		"prepared":        pgx.QueryExecModeCacheStatement,
		"described":       pgx.QueryExecModeCacheDescribe,
		"described again": pgx.QueryExecModeDescribeExec,
		"sent as text":    pgx.QueryExecModeExec,
		"simple":          pgx.QueryExecModeSimpleProtocol,
	} {
		with := connect(url, func(config *pgx.ConnConfig) { config.DefaultQueryExecMode = mode })
		check("values, "+name, func() { values(with) })
	}
	check("results", func() { results(db) })
	check("transactions", func() { transactions(db) })
	check("states", func() { states(db) })
	check("conflicts", func() { conflicts(url) })
	check("batches", func() { batches(db) })
	check("COPY", func() { copies(db) })
	check("the end of a statement", func() { ends(connect(url, nil)) })
	check("a pool", func() { pool(url) })
	check("database/sql", func() { standard(url) })
	if failed {
		os.Exit(1)
	}
}

// numeric returns a decimal.
func numeric(text string) pgtype.Numeric {
	var number pgtype.Numeric
	must(number.Scan(text))
	return number
}

// row is a record of the table.
type row struct {
	ID    int64
	I8    *int16
	I16   *int16
	I64   *int64
	F32   *float32
	F64   *float64
	OK    *bool
	Price pgtype.Numeric
	At    *time.Time
	Fixed *string
	Note  *string
	Four  []byte
	Raw   []byte
}

func (r row) values() []any {
	return []any{r.ID, r.I8, r.I16, r.I64, r.F32, r.F64, r.OK, r.Price, r.At, r.Fixed, r.Note, r.Four, r.Raw}
}

func of[T any](value T) *T { return &value }

func values(db *pgx.Conn) {
	defer db.Close(ctx)
	full := row{1, of[int16](-128), of[int16](32767), of[int64](math.MinInt64), of[float32](1.5), of(0.1), of(true),
		numeric("-123456789012345678.25"), &moment, of("éa"), of("é'\"\\ ☃"), []byte{0, 255, '\\', '\''}, []byte{}}
	insert := "INSERT INTO pgx VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
	for _, expected := range []row{full, {ID: 2}} {
		equal(execute(db, insert, expected.values()...), "INSERT 0 1")
		for range 3 {
			rows, err := db.Query(ctx, "SELECT * FROM pgx WHERE id = $1", expected.ID)
			must(err)
			found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[row])
			must(err)
			if found.At != nil {
				found.At = of(found.At.UTC())
			}
			price, err := found.Price.Value()
			must(err)
			wanted, err := expected.Price.Value()
			must(err)
			equal(price, wanted)
			found.Price = expected.Price
			equal(found, expected)
		}
	}
	for _, text := range []string{"0001-01-01T00:00:00Z", "1899-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"} {
		at, err := time.Parse(time.RFC3339Nano, text)
		must(err)
		execute(db, "UPDATE pgx SET at = $1, f64 = $2, price = $3 WHERE id = 1", at, 1e300, numeric("0.01"))
		equal(one[time.Time](db, "SELECT at FROM pgx WHERE at = $1", at).UTC(), at)
		equal(one[float64](db, "SELECT f64 FROM pgx WHERE id = $1", 1), 1e300)
		equal(one[string](db, "SELECT price::text FROM pgx WHERE id = $1", 1), "0.01")
	}
	equal(one[int64](db, "SELECT count(*) FROM pgx WHERE id IN ($1, $2) LIMIT $3", 1, 2, 5), int64(2))
	equal(one[int64](db, "SELECT count(*) FROM pgx WHERE id = ANY($1)", []int64{2, 1, 7}), int64(2))
	equal(one[int64](db, "SELECT count(*) FROM pgx WHERE id = ANY($1::int4[])", []int32{2}), int64(1))
	equal(one[int64](db, "SELECT count(*) FROM pgx WHERE price = ANY($1)", []pgtype.Numeric{numeric("0.01")}), int64(1))
	equal(execute(db, "DELETE FROM pgx"), "DELETE 2")
}

func results(db *pgx.Conn) {
	rows, err := db.Query(ctx, "SELECT id, price, count(*) AS n, $1::text || note AS t, now() FROM pgx", "a")
	must(err)
	defer rows.Close()
	var found []string
	for _, field := range rows.FieldDescriptions() {
		found = append(found, fmt.Sprint(field.Name, " ", field.DataTypeOID))
	}
	equal(found, []string{"id 20", "price 1700", "n 20", "t 25", "now() 1184"})
}

func transactions(db *pgx.Conn) {
	insert := func(tx pgx.Tx, id int) error {
		_, err := tx.Exec(ctx, "INSERT INTO pgx (id) VALUES ($1)", id)
		return err
	}
	count := func() int64 { return one[int64](db, "SELECT count(*) FROM pgx") }
	tx, err := db.Begin(ctx)
	must(err)
	must(insert(tx, 1))
	must(tx.Rollback(ctx))
	equal(count(), int64(0))
	must(pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		must(insert(tx, 1))
		inner := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
			must(insert(tx, 2))
			return insert(tx, 1)
		})
		refused("23505", inner)
		return insert(tx, 3)
	}))
	equal(count(), int64(2))
	for _, level := range []pgx.TxIsoLevel{pgx.Serializable, pgx.RepeatableRead, pgx.ReadCommitted} {
		options := pgx.TxOptions{IsoLevel: level, AccessMode: pgx.ReadOnly, DeferrableMode: pgx.Deferrable}
		tx, err := db.BeginTx(ctx, options)
		must(err)
		refused("25006", insert(tx, 4))
		refused("25P02", insert(tx, 4))
		must(tx.Rollback(ctx))
	}
	equal(execute(db, "DELETE FROM pgx"), "DELETE 2")
}

func states(db *pgx.Conn) {
	execute(db, "INSERT INTO pgx (id) VALUES (1)")
	for statement, state := range map[string]string{
		"INSERT INTO pgx (id) VALUES (1)":          "23505",
		"SELECT * FROM nowhere":                    "42P01",
		"SELECT missing FROM pgx":                  "42703",
		"SELEKT 1":                                 "42601",
		"INSERT INTO pgx (id, i8) VALUES (2, 200)": "22003",
		"LISTEN a":                                 "0A000",
		"SELECT id FROM pgx FOR UPDATE":            "0A000",
		"DECLARE c CURSOR FOR SELECT 1":            "0A000",
		"SELECT pg_advisory_lock(1)":               "0A000",
	} {
		_, err := db.Exec(ctx, statement)
		if err == nil || !strings.Contains(err.Error(), state) {
			fail("%s: %v", statement, err)
		}
	}
	_, err := db.Exec(ctx, "DELETE FROM pgx WHERE raw = ANY($1)", [][]byte{{1}})
	refused("0A000", err)
	equal(execute(db, "DELETE FROM pgx WHERE id = ANY($1)", []int64{1}), "DELETE 1")
}

// again carries a transaction out until no other one is quicker.
func again(db *pgx.Conn, work func(pgx.Tx) error) {
	for {
		err := pgx.BeginFunc(ctx, db, work)
		var refusal *pgconn.PgError
		if !errors.As(err, &refusal) || refusal.Code != "40001" {
			must(err)
			return
		}
	}
}

func conflicts(url string) {
	db := connect(url, nil)
	defer db.Close(ctx)
	execute(db, "INSERT INTO pgx (id, i64) VALUES (1, 0)")
	one, err := connect(url, nil).Begin(ctx)
	must(err)
	other, err := connect(url, nil).Begin(ctx)
	must(err)
	for _, tx := range []pgx.Tx{one, other} {
		_, err := tx.Exec(ctx, "UPDATE pgx SET i64 = i64 + 1 WHERE id = 1")
		must(err)
	}
	must(one.Commit(ctx))
	refused("40001", other.Commit(ctx))
	must(one.Conn().Close(ctx))
	must(other.Conn().Close(ctx))
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			check("a transaction again", func() {
				db := connect(url, nil)
				defer db.Close(ctx)
				for range 20 {
					again(db, func(tx pgx.Tx) error {
						var found int64
						if err := tx.QueryRow(ctx, "SELECT i64 FROM pgx WHERE id = 1").Scan(&found); err != nil {
							return err
						}
						_, err := tx.Exec(ctx, "UPDATE pgx SET i64 = $1 WHERE id = 1", found+1)
						return err
					})
				}
			})
		})
	}
	group.Wait()
	equal(execute(db, "DELETE FROM pgx WHERE i64 = 61"), "DELETE 1")
}
