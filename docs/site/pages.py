"""Which files are pages: of the site, and of what is run."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Pages outside of docs: each is where those who look at its directory expect it.
ELSEWHERE = ["README.md", "CHANGELOG.md", "SECURITY.md", "adapters/netcdf-c/README.md", "benches/peers/README.md",
             "data/README.md", "python/README.md"]

# The tour, in the order in which it is read.
TOUR = [f"docs/tour/{name}.md" for name in re.findall(r"^(\w+)$", re.search(
    r"```{toctree}\n(.*?)```", (ROOT / "docs/tour/index.md").read_text(), re.DOTALL).group(1), re.MULTILINE)]

OTHERS = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")} - set(TOUR)

PAGES = ELSEWHERE + sorted(OTHERS) + TOUR
