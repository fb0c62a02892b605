"""Runs scripts/install-cuda with a pip that makes packages up, and fails or is killed where a test wants it."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# What `python3 -m pip install ... --target FOLDER PACKAGE...` leaves, as far as the script looks at it.
PIP = r"""#!/bin/bash
[ "$3" != --version ] || exit 0
echo "$*" >>"$PIP_CALLS"
while [ "$1" != --target ]; do shift; done
target=$2
shift 2
for package in "$@"; do
  case $package in
    nvidia-cuda-nvcc*)
      mkdir -p "$target/nvidia/nvcc/bin" "$target/nvidia/nvcc/lib"
      printf '#!/bin/sh\necho "Cuda compilation tools, release 13.0"\n' >"$target/nvidia/nvcc/bin/nvcc"
      echo >"$target/nvidia/nvcc/lib/libcudart.so.13" ;;
    nvidia-cudnn*)
      [ -z "$PIP_FAILS" ] || exit 1
      mkdir -p "$target/nvidia/cudnn/include"
      echo >"$target/nvidia/cudnn/include/cudnn_graph.h" ;;
  esac
done
"""


class Installing(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "python3").write_text(PIP)
        (self.folder / "bin" / "python3").chmod(0o755)
        self.cuda = self.folder / "cuda"

    def tearDown(self):
        shutil.rmtree(self.folder)

    def install(self, *options, fails=""):
        environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "PIP_CALLS": str(self.folder / "calls"),
                       "PIP_FAILS": fails}
        return subprocess.run([str(ROOT / "scripts" / "install-cuda"), *options, str(self.cuda)], env=environment, capture_output=True,
                              text=True, check=False)

    def downloads(self):
        return len((self.folder / "calls").read_text().splitlines())

    def test_help_and_unknown_options_make_no_folder(self):
        for option, code in (("--help", 0), ("-h", 0), ("--all", 2), ("--compiler-only", None)):
            ran = subprocess.run([str(ROOT / "scripts" / "install-cuda"), option, *(["--help"] if code is None else [])],
                                 capture_output=True, text=True, check=False)
            self.assertEqual(ran.returncode, code or 0, ran.stderr)
            self.assertIn("scripts/install-cuda [--compiler-only] [FOLDER]: a private CUDA toolkit", ran.stderr if code else ran.stdout)

    def test_a_whole_toolkit_is_not_downloaded_again(self):
        first = self.install()
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertTrue((self.cuda / "include" / "cudnn_graph.h").exists())
        self.assertTrue((self.cuda / "lib64" / "libcudart.so").exists())
        for options in ((), ("--compiler-only",)):
            again = self.install(*options)
            self.assertEqual((again.returncode, self.downloads()), (0, 1))
            self.assertIn("is in", again.stdout)

    def test_a_copy_that_was_cut_off_is_made_whole_whatever_is_there_of_it(self):
        self.assertEqual(self.install().returncode, 0)
        (self.cuda / ".complete").unlink()
        (self.cuda / "lib" / "libcudart.so.13").unlink()
        (self.cuda / ".download-killed").mkdir()
        again = self.install()
        self.assertEqual((again.returncode, self.downloads()), (0, 2), again.stderr)
        self.assertTrue((self.cuda / "lib" / "libcudart.so.13").exists())
        self.assertEqual(list(self.cuda.glob(".download-*")), [])

    def test_a_compiler_alone_is_no_whole_toolkit(self):
        self.assertEqual(self.install("--compiler-only").returncode, 0)
        self.assertEqual(self.install("--compiler-only").returncode, 0)
        self.assertEqual(self.downloads(), 1)
        self.assertEqual(self.install().returncode, 0)
        self.assertEqual(self.downloads(), 2)

    def test_a_download_that_fails_leaves_nothing_that_counts_as_complete(self):
        self.assertEqual(self.install().returncode, 0)
        (self.cuda / ".complete").write_text("12.9 all\n")  # of an older script
        self.assertNotEqual(self.install(fails="1").returncode, 0)
        self.assertFalse((self.cuda / ".complete").exists())
        self.assertEqual(self.install().returncode, 0)


if __name__ == "__main__":
    unittest.main()
