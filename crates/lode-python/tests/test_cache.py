"""The cache."""

import functools
import random
import threading

import pytest

import lode


@pytest.fixture(params=["memory", "directory"])
def make(request, tmp_path):
    def make(**options):
        directory = None if request.param == "memory" else tmp_path / "cache"
        return lode.Cache(directory, **options)

    return make


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 1_000_000.0

    monkeypatch.setattr("lode._cache.time.time", lambda: Clock.now)
    return Clock


def test_values_come_back_as_they_were(make):
    values = [None, True, 0, 2**80, 1.5, "", "ä\ud800", b"\0", [], [1, ["a", None]], {"a": {"b": []}}]
    keys = ["k", b"k", 1, 1.0, True, None, ("k",), ("k", (1, b"x")), -5, 2**70, "x" * 3000, "x" * 3001]
    with make() as cache:
        pairs = list(zip(keys, values * 2))
        for key, value in pairs:
            cache[key] = value
        for key, value in pairs:
            found = cache[key]
            assert found == value and type(found) is type(value)
        assert list(cache) == keys and list(reversed(cache)) == keys[::-1]
        assert cache.peekitem() == pairs[-1]
        assert cache.peekitem(last=False) == ("k", None)


def test_large_values_are_whole(make):
    with make() as cache:
        for size in [(512 << 10) - 1, 512 << 10, 3_000_000]:
            value = random.Random(size).randbytes(size)
            cache.set("large", value)
            assert cache["large"] == value
            assert size < cache.volume() < size + 1000
        assert cache.pop("large") == value
        assert (cache.volume(), len(cache), cache.check()) == (0, 0, 0)


def test_what_needs_pickle_is_refused_without(make):
    with make() as cache:
        for value in [(1,), {1: 2}, {1}, object(), [(1,)], {"a": b""}]:
            with pytest.raises(lode.DataError, match="pickle=True"):
                cache.set("k", value)
        with pytest.raises(lode.DataError, match="pickle=True"):
            cache.set(frozenset(), 1)
        assert len(cache) == 0


def test_pickled_values_are_not_read_without(tmp_path):
    with lode.Cache(tmp_path, pickle=True) as cache:
        cache.set(frozenset([1]), (1, {2}))
        cache.set("k", (3,))
        assert cache[frozenset([1])] == (1, {2})
    with lode.Cache(tmp_path) as cache:
        with pytest.raises(lode.DataError, match="pickle=True"):
            cache["k"]


def test_values_expire(make, clock):
    with make() as cache:
        assert cache.set("a", 1, expire=10) and cache.set("b", 2) and cache.add("c", 3, 20)
        assert cache.get("a", expire_time=True, tag=True) == (1, clock.now + 10, None)
        clock.now += 10
        assert "a" not in cache and cache.get("a") is None and "c" in cache
        with pytest.raises(KeyError):
            cache["a"]
        assert cache.add("a", 4) and not cache.add("a", 5)
        assert cache.touch("c", 100) and cache.touch("b", 5) and not cache.touch("d", 5)
        clock.now += 10
        assert list(cache) == ["c", "a"] and len(cache) == 3
        assert cache.expire() == 1 and len(cache) == 2
        assert not cache.delete("b") and not cache.touch("b")
        assert cache.incr("b") == 1
        clock.now += 1000
        assert cache.cull() == 1
        assert sorted(cache) == ["a", "b"]
        clock.now -= 5000
        assert "c" not in cache


def test_counts(make, clock):
    with make() as cache:
        assert [cache.incr("n"), cache.incr("n", 5), cache.decr("n", 2)] == [1, 6, 4]
        assert cache.incr("m", default=10) == 11
        with pytest.raises(KeyError):
            cache.incr("none", default=None)
        cache.set("text", "1")
        with pytest.raises(lode.DataError, match="not an int"):
            cache.incr("text")
        cache.set("e", 1, expire=5, tag="t")
        cache.incr("e")
        assert cache.get("e", expire_time=True, tag=True) == (2, clock.now + 5, "t")


def test_tags_are_evicted(make):
    with make() as cache:
        for at in range(3000):
            cache.set(at, at, tag="even" if at % 2 == 0 else "odd")
        assert cache.evict("even") == 1500 and cache.evict("even") == 0
        assert len(cache) == 1500 and 1 in cache and 2 not in cache
        cache.set("large", b"x" * 600_000, expire=60, tag="odd")
        assert cache.clear() == 1501
        assert (len(cache), cache.volume()) == (0, 0)
        tables = [cache._db[name] for name in cache._db if name != "cache_totals"]
        assert len(tables) == 6 and not any(len(table) for table in tables)


@pytest.mark.parametrize("policy", ["least-recently-stored", "least-recently-used", "none"])
def test_a_full_cache_evicts(make, policy):
    with make(size_limit=100_000, policy=policy) as cache:
        for at in range(300):
            cache.set(at, b"x" * 1000)
            cache.get(0)
        assert (0 in cache) == (policy != "least-recently-stored")
        assert 299 in cache
        if policy == "none":
            assert len(cache) == 300
        else:
            assert 70 < len(cache) < 100 and cache.volume() <= 100_000
            assert cache.check() == 0


def test_results_are_memoized(make):
    calls = []
    with make() as cache:

        @cache.memoize(tag="f")
        def f(a, b=0):
            calls.append((a, b))
            return a + b

        assert [f(1), f(1), f(1, 2), f(1, b=2), f(1, b=2)] == [1, 1, 3, 3, 3]
        assert calls == [(1, 0), (1, 2), (1, 2)]
        assert cache.evict("f") == 3
        assert f.__name__ == "f" and f(1) == 1


def test_a_block_is_one_transaction(make):
    with make() as cache:
        cache.set("a", 1)
        with pytest.raises(ZeroDivisionError):
            with cache.transact():
                cache.set("a", 2)
                cache.set("b", b"x" * 600_000)
                assert cache["a"] == 2 and "b" in cache
                with cache.transact():
                    cache.delete("a")
                1 / 0
        assert cache["a"] == 1 and "b" not in cache and cache.check() == 0


def test_culling_within_a_block_leaves_what_has_room(make):
    with make(size_limit=1_000_000) as cache:
        with cache.transact():
            for at in range(150):
                cache.set(at, b"x" * 10_000)
            assert 50 < cache.cull() < 60
        assert 90 < len(cache) < 100 and cache.volume() <= 1_000_000
        assert cache.check() == 0


def test_threads_lose_no_count(make):
    with make() as cache:

        def work():
            for at in range(100):
                cache.incr("shared")
                cache.set(at % 7, at, tag="t")
                cache.delete(at % 5)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert cache["shared"] == 400
        assert cache.check() == 0
        cache.evict("t")
        assert len(cache) == 1


def test_it_comes_back(tmp_path):
    with lode.Cache(tmp_path) as cache:
        cache.set("a", 1, tag="t")
        cache.set("b", 2)
    with lode.Cache(tmp_path) as cache:
        cache.set("c", 3)
        assert list(cache) == ["a", "b", "c"] and cache.get("a", tag=True) == (1, "t")
        assert cache.get("d") is None
        assert cache.stats(reset=True) == lode.Stats(1, 1) and cache.stats() == (0, 0)


def test_options_that_are_not_possible_are_refused():
    for options in [{"policy": "lru"}, {"size_limit": 0}]:
        with pytest.raises(lode.DataError):
            lode.Cache(**options)


def test_it_behaves_as_diskcache_does(tmp_path, clock):
    """Random calls have the same answers from both."""
    diskcache = pytest.importorskip("diskcache")
    rng = random.Random(5)
    ours = lode.Cache(tmp_path / "ours", size_limit=1 << 40)
    theirs = diskcache.Cache(str(tmp_path / "theirs"), size_limit=1 << 40, cull_limit=0)
    keys = ["a", b"a", 1, 2.5, ("a", 1), None]

    def both(call):
        outcomes = []
        for cache in [ours, theirs]:
            try:
                outcomes.append(call(cache))
            except KeyError:
                outcomes.append(KeyError)
        assert outcomes[0] == outcomes[1], call
        return outcomes[0]

    seen = set()
    for step in range(2000):
        key, value = rng.choice(keys), rng.choice([None, "v", b"v", step, 1.5, [1], {"a": 2}])
        expire, tag = rng.choice([None, None, 3, 10]), rng.choice([None, "x", "y"])
        name = rng.choice("set set add get get pop delete touch incr evict expire in del".split())
        seen.add(name)
        call = {
            "set": lambda c: c.set(key, value, expire=expire, tag=tag),
            "add": lambda c: c.add(key, value, expire=expire, tag=tag),
            "get": lambda c: c.get(key, "none", expire_time=True, tag=True),
            "pop": lambda c: c.pop(key, "none", expire_time=True, tag=True),
            "delete": lambda c: c.delete(key),
            "touch": lambda c: c.touch(key, expire),
            "incr": lambda c: c.incr("number", step),
            "evict": lambda c: c.evict("x"),
            "expire": lambda c: (c.expire(), len(c)),
            "in": lambda c: key in c,
            "del": lambda c: (c.__delitem__(key), True)[1],
        }[name]
        both(call)
        clock.now += rng.choice([0, 0, 1, 2])
    assert len(seen) == 11
    both(lambda c: c.clear())
    both(lambda c: len(c))
    ours.close()
    theirs.close()


def test_a_refused_call_within_a_block_leaves_nothing(make):
    with make() as cache:
        cache.set("a", 1)
        with cache.transact():
            for value in [2, b"x" * 600_000]:
                with pytest.raises(lode.DataError):
                    cache.set("a", value, tag="t" * 500)
            assert cache["a"] == 1
            with pytest.raises(ZeroDivisionError):
                with cache.transact():
                    cache.set("a", b"x" * 600_000)
                    1 / 0
        assert cache["a"] == 1 and cache.check() == 0
        cache.clear()
        tables = [cache._db[name] for name in cache._db if name != "cache_totals"]
        assert not any(len(table) for table in tables)


def test_what_cannot_be_read_is_not_popped(tmp_path):
    with lode.Cache(tmp_path, pickle=True) as cache:
        cache.set("k", (3,))
    with lode.Cache(tmp_path) as cache:
        with pytest.raises(lode.DataError):
            cache.pop("k")
        assert "k" in cache


def test_a_cache_that_is_too_full_evicts_though_it_does_not_grow(tmp_path):
    with lode.Cache(tmp_path, size_limit=1 << 30) as cache:
        for at in range(500):
            cache.set(at, b"x" * 1000)
    with lode.Cache(tmp_path, size_limit=100_000) as cache:
        for _ in range(60):
            cache.set("same", b"x")
        assert cache.volume() <= 100_000 and "same" in cache


def test_json_and_digits_are_not_changed(make):
    with make() as cache:
        for value in [["\ud83d\ude00"], {"\ud83d\ude00": 1}, 10**5000, [10**5000]]:
            with pytest.raises(lode.DataError):
                cache.set("k", value)
        with pytest.raises(lode.DataError):
            cache.set(10**5000, 1)
        with pytest.raises(lode.DataError):
            cache.incr("k", 1.5)
        assert len(cache) == 0


def test_a_handler_of_a_signal_may_use_the_cache(make):
    with make() as cache:
        with cache._lock:
            assert cache.get("k") is None and cache.stats() == (0, 1)
