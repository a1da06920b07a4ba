import pytest

import lode


@pytest.fixture(params=["memory", "directory"])
def db(request, tmp_path):
    opened = lode.memory() if request.param == "memory" else lode.open(tmp_path / "db")
    yield opened
    opened.close()


USER = {"id": "u64", "name": "vartext(80)", "age": "u8?"}


@pytest.fixture(params=[True, False], ids=["ordered", "hashed"])
def users(request, db):
    return db.create("users", USER, ordered=request.param)
