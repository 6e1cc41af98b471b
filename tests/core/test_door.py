"""Lazy packages import a name when it is first used."""

import subprocess
import sys


def test_opening_relulab_imports_nothing_heavy():
    code = (
        "import sys, relulab\n"
        "assert not {'torch', 'numpy', 'pydantic', 'xarray'} & set(sys.modules)\n"
        "relulab.bias\nassert 'torch' not in sys.modules\n"
        "from relulab.subjects.bias import max_margin\n"
        "assert relulab.bias.max_margin is max_margin and 'torch' in sys.modules\n"
        "assert 'relulab.subjects.distillation' not in sys.modules\n"
        "assert 'max_margin' in dir(relulab.bias) and 'MLP' in dir(relulab)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
