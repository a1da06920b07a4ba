"""Compares `lode serve` with PostgreSQL by pgbench, over Unix sockets and at equal durability.

    python postgresql.py path/of/lode [--rows N] [--clients 1,4,16] [--seconds S] [--rounds N] [--mode M] [--dir DIR]

The scripts are those of `pgbench --select-only` and `--simple-update`; the history has a key, since tables of Lode have
one. Both servers sync each commit, and have their own settings otherwise: so PostgreSQL's transactions are read
committed, and Lode's serializable; one that fails for that reason is run again. Rounds take turns. A figure is a median
of transactions a second, a ratio Lode's to PostgreSQL's, with the lowest and the highest one. Root runs PostgreSQL as
the user `postgres`.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

TABLES = """CREATE TABLE pgbench_accounts (aid {integer} PRIMARY KEY, bid {integer}, abalance {integer}, filler {text});
CREATE TABLE pgbench_history (hid {integer} PRIMARY KEY, tid {integer}, bid {integer}, aid {integer}, delta {integer},
                              mtime {timestamp});
"""
SELECT = """\\set aid random(1, {rows})
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""
UPDATE = """\\set aid random(1, {rows})
\\set tid random(1, 10)
\\set delta random(-5000, 5000)
\\set hid random(1, 9223372036854775807)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (hid, tid, bid, aid, delta, mtime) VALUES (:hid, :tid, 1, :aid, :delta, CURRENT_TIMESTAMP);
END;
"""


def programs():
    """Returns the folder of PostgreSQL's programs: the newest one of Debian, or that of `initdb` in the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    found = found[-1] if found else shutil.which("initdb")
    if not found:
        raise SystemExit("postgresql.py: there is no initdb; install PostgreSQL")
    return Path(found).parent


@contextlib.contextmanager
def ended(server, by):
    """Ends a server that was started."""
    try:
        yield
    finally:
        server.send_signal(by)
        if server.wait(60):
            raise SystemExit(f"postgresql.py: {server.args[0]} ended with status {server.returncode}")


def wait_for(socket, server):
    while not socket.exists():
        if server.poll() is not None:
            raise SystemExit(f"postgresql.py: {server.args[0]} ended with status {server.returncode}")
        time.sleep(0.05)


@contextlib.contextmanager
def lode(program, folder):
    folder.mkdir()
    server = subprocess.Popen([program, "serve", folder / "db", "--create"], stdout=subprocess.DEVNULL)
    with ended(server, signal.SIGTERM):
        wait_for(folder / "db" / ".s.PGSQL.5432", server)
        yield folder / "db"


@contextlib.contextmanager
def postgresql(folder):
    folder.mkdir(mode=0o700)
    own = {}
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        own = {"user": "postgres", "group": "postgres", "extra_groups": []}
    initdb = [programs() / "initdb", "-D", folder / "db", "-U", "ada", "--auth=trust", "-E", "UTF8", "--locale=C"]
    subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd=folder, **own)
    settings = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}"]
    server = subprocess.Popen([programs() / "postgres", "-D", folder / "db", *settings], cwd=folder,
                              stderr=subprocess.DEVNULL, **own)
    with ended(server, signal.SIGINT):
        wait_for(folder / ".s.PGSQL.5432", server)
        yield folder


def psql(host, text, database="postgres"):
    command = ["psql", "-X", "-q", "-h", host, "-U", "ada", "-d", database, "-v", "ON_ERROR_STOP=1"]
    for _ in range(100):
        # PostgreSQL has its socket before it lets anybody in.
        done = subprocess.run(command, input=text, text=True, capture_output=True)
        if "starting up" not in done.stderr:
            break
        time.sleep(0.1)
    if done.returncode:
        raise SystemExit(f"postgresql.py: psql: {done.stderr}")


def fill(host, rows, types):
    psql(host, TABLES.format(**types))
    lines = (f"{aid},1,0,{'x' * 84}\n" for aid in range(1, rows + 1))
    psql(host, "COPY pgbench_accounts FROM STDIN (FORMAT csv);\n" + "".join(lines) + "\\.\n")


def rate(host, script, args, clients):
    """Returns the transactions a second of a script."""
    threads = min(clients, os.cpu_count() or 1)
    command = ["pgbench", "-n", "-f", script, "-M", args.mode, "-c", str(clients), "-j", str(threads), "-T",
               str(args.seconds), "--max-tries=100", "-h", host, "-U", "ada", "postgres"]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"^tps = ([0-9.]+) \(without", done.stdout, re.MULTILINE)
    failed = re.search(r"^number of failed transactions: ([0-9]+)", done.stdout, re.MULTILINE)
    if done.returncode or not found or (failed and int(failed[1])):
        raise SystemExit(f"postgresql.py: pgbench: {done.stdout}{done.stderr}")
    return float(found[1])


def compare(name, script, hosts, args):
    for clients in args.clients:
        rates = [[rate(host, script, args, clients) for host in hosts] for _ in range(args.rounds)]
        own, other = (statistics.median(column) for column in zip(*rates))
        ratios = sorted(own / other for own, other in rates)
        spread = f"{statistics.median(ratios):5.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        print(f"{name:<7} {clients:>7} {own:>9.0f} {other:>12.0f}  {spread}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lode", type=Path)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--clients", type=lambda text: [int(part) for part in text.split(",")], default=[1, 4, 16])
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mode", choices=["simple", "extended", "prepared"], default="prepared")
    parser.add_argument("--dir", type=Path, help="where both databases are made")
    args = parser.parse_args()
    version = subprocess.run([programs() / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory(dir=args.dir) as place:
        place = Path(place)
        place.chmod(0o755)
        for name, text in (("select", SELECT), ("update", UPDATE)):
            (place / name).write_text(text.format(rows=args.rows))
        with lode(args.lode, place / "lode") as own, postgresql(place / "postgresql") as other:
            fill(own, args.rows, {"integer": "I64", "text": "VARTEXT(84)", "timestamp": "TIMESTAMP"})
            fill(other, args.rows, {"integer": "bigint", "text": "varchar(84)", "timestamp": "timestamptz"})
            psql(other, "VACUUM ANALYZE pgbench_accounts")
            print(f"{version.strip()}; {args.rows} rows, {args.mode} statements, transactions a second")
            print("script  clients      Lode   PostgreSQL  ratio")
            for name in ("select", "update"):
                compare(name, place / name, (own, other), args)


if __name__ == "__main__":
    main()
