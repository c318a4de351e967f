"""Which files are pages: of the site, and of what is run."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Pages outside of docs: each is where those who look at its directory expect it.
ELSEWHERE = ["README.md", "CHANGELOG.md", "SECURITY.md", "adapters/netcdf-c/README.md", "benches/peers/README.md",
             "data/README.md", "python/README.md"]

PAGES = ELSEWHERE + sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
