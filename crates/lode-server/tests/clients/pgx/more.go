package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

func batches(db *pgx.Conn) {
	batch := &pgx.Batch{}
	for id := range 500 {
		batch.Queue("INSERT INTO pgx (id, note) VALUES ($1, $2)", id, fmt.Sprint("n", id))
	}
	batch.Queue("SELECT count(*) FROM pgx").QueryRow(func(row pgx.Row) error {
		var count int64
		must(row.Scan(&count))
		equal(count, int64(500))
		return nil
	})
	must(db.SendBatch(ctx, batch).Close())
	// One that fails ends a batch; within a transaction all of it is undone.
	failing := &pgx.Batch{}
	failing.Queue("INSERT INTO pgx (id) VALUES (1000)")
	failing.Queue("INSERT INTO pgx (id) VALUES (1)")
	failing.Queue("INSERT INTO pgx (id) VALUES (1001)")
	refused("23505", pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error { return tx.SendBatch(ctx, failing).Close() }))
	equal(one[int64](db, "SELECT count(*) FROM pgx"), int64(500))
	// Statements sent without waiting for each other's results.
	pipeline := db.PgConn().StartPipeline(ctx)
	for range 10 {
		pipeline.SendQueryParams("SELECT note FROM pgx WHERE id = $1", [][]byte{[]byte("7")}, nil, nil, nil)
	}
	must(pipeline.Sync())
	for range 10 {
		found, err := pipeline.GetResults()
		must(err)
		read := found.(*pgconn.ResultReader).Read()
		must(read.Err)
		equal(string(read.Rows[0][0]), "n7")
	}
	must(pipeline.Close())
	equal(execute(db, "DELETE FROM pgx"), "DELETE 500")
}

func copies(db *pgx.Conn) {
	rows := make([][]any, 1000)
	for id := range rows {
		rows[id] = []any{id, moment, "a\tb", nil}
	}
	// In PostgreSQL's binary form.
	_, err := db.CopyFrom(ctx, pgx.Identifier{"pgx"}, []string{"id", "at", "note", "raw"}, pgx.CopyFromRows(rows))
	must(err)
	equal(one[int64](db, "SELECT count(*) FROM pgx WHERE at = $1 AND raw IS NULL", moment), int64(1000))
	_, err = db.CopyFrom(ctx, pgx.Identifier{"pgx"}, []string{"id"}, pgx.CopyFromRows([][]any{{2000}, {1}}))
	refused("23505", err)
	equal(one[int64](db, "SELECT count(*) FROM pgx"), int64(1000))
	var out strings.Builder
	tag, err := db.PgConn().CopyTo(ctx, &out, "COPY (SELECT id, note, raw FROM pgx WHERE id < 2) TO STDOUT")
	must(err)
	equal(tag.String()+"\n"+out.String(), "COPY 2\n0\ta\\tb\t\\N\n1\ta\\tb\t\\N\n")
	in := strings.NewReader("5000,\"x,y\"\n5001,\n")
	tag, err = db.PgConn().CopyFrom(ctx, in, "COPY pgx (id, note) FROM STDIN WITH (FORMAT csv)")
	must(err)
	equal(tag.String(), "COPY 2")
	equal(execute(db, "DELETE FROM pgx"), "DELETE 1002")
}

func ends(db *pgx.Conn) {
	// A deadline closes the connection unless the driver is to cancel the statement.
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	_, err := db.Exec(short, long)
	equal(errors.Is(err, context.DeadlineExceeded), true)
	equal(db.IsClosed(), true)
	db = connect(db.Config().ConnString(), func(config *pgx.ConnConfig) {
		config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
			return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 20 * time.Second}
		}
	})
	defer db.Close(ctx)
	short, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	_, err = db.Exec(short, long)
	refused("57014", err)
	equal(one[int64](db, "SELECT 7"), int64(7))
	execute(db, "SET statement_timeout = 300")
	_, err = db.Exec(ctx, long)
	refused("57014", err)
	execute(db, "SET statement_timeout = 0")
	must(db.Ping(ctx))
}

func pool(url string) {
	config, err := pgxpool.ParseConfig(url)
	must(err)
	config.MaxConns = 3
	pool, err := pgxpool.NewWithConfig(ctx, config)
	must(err)
	defer pool.Close()
	must(pool.Ping(ctx))
	var group sync.WaitGroup
	for task := range 10 {
		group.Go(func() {
			check("a connection of the pool", func() {
				for time := range 20 {
					_, err := pool.Exec(ctx, "INSERT INTO pgx (id, note) VALUES ($1, $2)", task*100+time, "pool")
					must(err)
				}
			})
		})
	}
	group.Wait()
	must(pool.AcquireFunc(ctx, func(db *pgxpool.Conn) error {
		// A connection that comes back within a transaction is closed.
		_, err := db.Exec(ctx, "BEGIN")
		return err
	}))
	pool.Reset()
	tag, err := pool.Exec(ctx, "DELETE FROM pgx WHERE note = $1", "pool")
	must(err)
	equal(tag.RowsAffected(), int64(200))
}

func standard(url string) {
	config, err := pgx.ParseConfig(url)
	must(err)
	db := stdlib.OpenDB(*config)
	defer db.Close()
	db.SetMaxOpenConns(2)
	must(db.Ping())
	columns := "id, i64, f64, ok, at, note, raw, price"
	insert, err := db.Prepare("INSERT INTO pgx (" + columns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")
	must(err)
	defer insert.Close()
	for id := range 10 {
		done, err := insert.Exec(id, int64(id), 0.5, true, moment, sql.NullString{}, []byte{1}, "7.25")
		must(err)
		count, err := done.RowsAffected()
		must(err)
		equal(count, int64(1))
	}
	rows, err := db.Query("SELECT "+columns+" FROM pgx WHERE id >= $1", 8)
	must(err)
	defer rows.Close()
	types, err := rows.ColumnTypes()
	must(err)
	equal(types[4].DatabaseTypeName(), "TIMESTAMPTZ")
	count := 0
	for ; rows.Next(); count++ {
		var (
			id, i64 int64
			f64     float64
			ok      bool
			at      time.Time
			note    sql.NullString
			raw     []byte
			price   string
		)
		must(rows.Scan(&id, &i64, &f64, &ok, &at, &note, &raw, &price))
		found := fmt.Sprintf("%v %v %v %v %v %v", i64, f64, ok, note.Valid, raw, price)
		equal(found, fmt.Sprint(id, " 0.5 true false [1] 7.25"))
		equal(at.UTC(), moment)
	}
	must(rows.Err())
	equal(count, 2)
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	must(err)
	_, err = tx.Exec("DELETE FROM pgx")
	must(err)
	must(tx.Rollback())
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	_, err = db.ExecContext(short, long)
	equal(err != nil, true)
	must(db.PingContext(ctx))
	done, err := db.Exec("DELETE FROM pgx")
	must(err)
	deleted, err := done.RowsAffected()
	must(err)
	equal(deleted, int64(10))
}
