"""Results on disk: one JSON object a line, written whole and flushed before the next measurement begins."""

import hashlib
import json
import os
import pathlib
import tarfile


def content_hash(*parts):
    """A key that changes when any of the texts or files changes."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.read_bytes() if isinstance(part, pathlib.Path) else str(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


class Results:
    """The lines of one part. A line that a kill has torn is not a line: it is left where it is and ignored."""

    def __init__(self, file):
        self.file = pathlib.Path(file)
        self.lines = []
        if self.file.exists():
            for line in self.file.read_text(errors="replace").splitlines():
                try:
                    self.lines.append(json.loads(line))
                except json.JSONDecodeError:
                    continue

    def done(self, unit, key):
        """The line of a unit that has been measured with this very program and command, or None."""
        for line in reversed(self.lines):
            if line.get("unit") == unit and line.get("key") == key and line.get("status") == "ok":
                return line
        return None

    def add(self, line):
        self.lines.append(line)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        torn = self.file.exists() and self.file.stat().st_size > 0 and self._last_byte() != b"\n"
        with open(self.file, "a", encoding="utf-8") as out:
            out.write(("\n" if torn else "") + json.dumps(line, sort_keys=True) + "\n")
            out.flush()
            os.fsync(out.fileno())

    def _last_byte(self):
        with open(self.file, "rb") as whole:
            whole.seek(-1, os.SEEK_END)
            return whole.read(1)


def pack(folder, file):
    """Everything but the working files as one archive. The last one stays whole until the next is."""
    file = pathlib.Path(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(file.name + ".part")
    with tarfile.open(unfinished, "w:gz", compresslevel=6) as archive:
        for entry in sorted(pathlib.Path(folder).iterdir()):
            if entry.name != "work":
                archive.add(entry, arcname=f"{pathlib.Path(folder).name}/{entry.name}")
    os.replace(unfinished, file)
    return file.stat().st_size
