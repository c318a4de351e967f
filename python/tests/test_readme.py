"""The program in the README runs."""

import pathlib
import re

from conftest import DATA

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"


def test_the_program_in_the_readme_runs(tmp_path, monkeypatch, capsys):
    (tmp_path / "data").symlink_to(DATA)
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    names = {}
    exec(compile(program, str(README), "exec"), names)  # noqa: S102 - it is ours
    assert "nczchunk.Array" in capsys.readouterr().out
    assert names["january"].shape == (90, 180) and names["array"][1, 0, 1] == -999
