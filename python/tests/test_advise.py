"""advise(): chunk shapes for ways of reading; and the trace of what a program reads."""

import os
import subprocess
import sys

import pytest

import nczchunk

SHAPE = (8760, 361, 576)
MAP, SERIES = (1, 361, 576), (8760, 1, 1)


def test_chunks_are_between_those_of_each_pattern():
    (times, rows, columns), seconds = nczchunk.advise(SHAPE, "f4", [(MAP, 0.7), (SERIES, 0.3)])
    assert 1 < times < 8760 and rows * columns < 361 * 576 and seconds > 0
    for pattern in (MAP, SERIES):
        alone, least = nczchunk.advise(SHAPE, "f4", [(pattern, 1)])
        assert least < seconds and alone != (times, rows, columns)


def test_a_server_has_larger_chunks():
    patterns = [(MAP, 1), (SERIES, 1)]
    near, _ = nczchunk.advise(SHAPE, "f4", patterns)
    far, _ = nczchunk.advise(SHAPE, "f4", patterns, latency=0.1, in_flight=4)
    assert near[0] * near[1] * near[2] < far[0] * far[1] * far[2]


def test_each_cost_counts():
    def least(**costs):
        return nczchunk.advise(SHAPE, "f4", [(MAP, 1), (SERIES, 1)], **costs)[1]

    usual = least()
    assert least(per_request=1e-3) > usual and least(per_chunk=1e-3) > usual and least(copying=1e8) > usual
    large = {"chunk_bytes": (4 << 20, 64 << 20)}
    assert least(step_bytes=1, **large) < least(step_bytes=1 << 20, **large) <= least(**large)


@pytest.mark.parametrize(("patterns", "error", "words"), [
    ([], ValueError, "advice needs a pattern"), ([MAP], TypeError, r"patterns\[0\]"),
    ([((1, 1), 1)], ValueError, r"patterns\[0\]: expected 3 lengths"), ([(MAP, -1)], ValueError, "weight"),
    ([((0, 1, 1), 1)], ValueError, r"patterns\[0\]")])
def test_wrong_patterns(patterns, error, words):
    with pytest.raises(error, match=words):
        nczchunk.advise(SHAPE, "f4", patterns)


def test_reads_are_recorded(tmp_path):
    with nczchunk.create(tmp_path / "a", "x", shape=(6, 5), dtype="i4") as array:
        array[...] = 1
    trace = tmp_path / "trace"
    program = f"import nczchunk; a = nczchunk.open({str(tmp_path / 'a')!r}, 'x'); a[2]; a[::-2, 1]"
    assert traced(program, trace) == ["x\t1,5\t1,1", "x\t3,1\t-2,1"]
    assert trace.read_text().startswith(f"{tmp_path / 'a'}\t")


def traced(program, trace):
    """What a program adds to a trace, without the path."""
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "NCZCHUNK_TRACE": str(trace)})
    return [line.partition("\t")[2] for line in trace.read_text().splitlines()]


@pytest.mark.parametrize("index, due", [
    ("[[7, 2, 3, 7]]", ["2,20\t1,1", "1,20\t1,1"]),
    ("oindex[[0, 1, 5], ::4]", ["2,5\t1,4", "1,5\t1,4"]),
    ("oindex[5, [3, 4]]", ["1,2\t1,1"]),
    ("oindex[::2, ::-1]", ["100,20\t2,-1"]),
    ("oindex[::2, [0, 2]]", ["100,1\t2,1"] * 2),
    ("oindex[list(range(0, 200, 2)), [0, 9]]", ["199,10\t1,1"]),
    ("vindex[[1, 5], [2, 9]]", ["1,1\t1,1"] * 2),
    ("vindex[list(range(10, 120)), [3, 9] * 55]", ["110,7\t1,1"]),
    ("[[]]", [])])
@pytest.mark.parametrize("dtype", ["i4", str])
def test_reads_of_lists_and_texts_are_recorded(tmp_path, index, due, dtype):
    nczchunk.create(tmp_path / "a", shape=(200, 20), dtype=dtype, chunks=(50, 20)).close()
    program = f"import nczchunk; a = nczchunk.open({str(tmp_path / 'a')!r}); a{'' if index[0] == '[' else '.'}{index}"
    assert traced(program + "; a[0, :7]", tmp_path / "trace") == [f"\t{one}" for one in (*due, "1,7\t1,1")]
