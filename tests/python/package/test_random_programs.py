"""A few of the random programs of run_random_programs.py."""

import warnings

import pytest


def test_random_programs_are_as_in_eager(torch, capsys):
    from run_random_programs import run

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refused, wrong = run(0, 40, executors=["eager"])
    assert wrong == 0, capsys.readouterr().out
    assert 0 < refused < 20


def test_a_planted_fault_is_found(torch, monkeypatch):
    import run_random_programs

    found = run_random_programs.compilers(["eager"])["jit"]
    monkeypatch.setattr(
        run_random_programs, "compilers", lambda executors: {"wrong": lambda f: found(lambda *x: f(x[0] + 1, *x[1:]))}
    )
    assert run_random_programs.run(0, 3)[1] > 0


@pytest.fixture(autouse=True)
def quiet(capsys):
    """Programs that differ on purpose are not printed."""
    yield
    capsys.readouterr()
