"""Results on disk: one JSON object a line, written whole and flushed before the next measurement begins."""

import gzip
import hashlib
import io
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


def parts_in(folder):
    """Files of results, of gpu-check itself or of a subset, which packs them."""
    return sorted(file for pattern in ("part-*.jsonl", "part-*.jsonl.gz") for file in pathlib.Path(folder).glob(pattern))


class Results:
    """The lines of one part. A line that a kill has torn is not a line: it is left where it is and ignored."""

    def __init__(self, file):
        self.file = pathlib.Path(file)
        self.lines = []
        if self.file.exists():
            content = gzip.decompress(self.file.read_bytes()) if self.file.suffix == ".gz" else self.file.read_bytes()
            for line in content.decode(errors="replace").splitlines():
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


ARCHIVE_BYTES = 15 << 20  # of files that were packed already: an archive of them is hardly smaller
MOST_ARCHIVES = 4


def volumes(files, most=ARCHIVE_BYTES):
    """Files dealt into archives of at most `most` bytes, in order: (file, size) pairs by archive. One that is larger than
    that stands alone."""
    dealt, room = [], 0
    for file, size in files:
        if not dealt or size > room:
            dealt.append([])
            room = most
        dealt[-1].append((file, size))
        room -= size
    return dealt


def in_order_of_worth(folder):
    """Results on lines first, which hold every figure; then traces, the small ones first."""
    folder = pathlib.Path(folder)
    files = [file for file in folder.rglob("*") if file.is_file() and file.relative_to(folder).parts[0] != "work"]
    sizes = {file: file.stat().st_size for file in files}
    return sorted(sizes.items(), key=lambda entry: (entry[0].suffix != ".jsonl", entry[1], str(entry[0])))


def pack(folder, file, most=ARCHIVE_BYTES):
    """Everything but the working files as at most four archives of `most` bytes each, FILE, then FILE-2 and so on: where
    results are fetched file by file, few and small ones come through. What does not fit is named in NOT-PACKED of the
    first. The last archives stay whole until the next are. Gives the names of what was left out."""
    file, folder = pathlib.Path(file), pathlib.Path(folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    dealt = volumes(in_order_of_worth(folder), most)
    # Lines are text: however many, they go along.
    fits = [bool(place == 0 or sum(size for _, size in part) <= most) for place, part in enumerate(dealt)]
    kept = [part for part, fit in zip(dealt, fits) if fit][:MOST_ARCHIVES]
    left_out = [str(entry.relative_to(folder)) for part in dealt if part not in kept for entry, _ in part]
    for place, part in enumerate(kept):
        name = file if place == 0 else file.with_name(file.name.replace(".tar.gz", f"-{place + 1}.tar.gz"))
        unfinished = name.with_name(name.name + ".part")
        with tarfile.open(unfinished, "w:gz", compresslevel=6) as archive:
            for entry, _ in part:
                archive.add(entry, arcname=f"{folder.name}/{entry.relative_to(folder)}")
            if place == 0 and left_out:
                text = "\n".join(left_out).encode() + b"\n"
                missing = tarfile.TarInfo(f"{folder.name}/NOT-PACKED")
                missing.size = len(text)
                archive.addfile(missing, io.BytesIO(text))
        os.replace(unfinished, name)
    return left_out
