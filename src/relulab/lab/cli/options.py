"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Preset = Annotated[
    str,
    typer.Option(
        "--preset", "-p", metavar="PRESET",
        help="Size of the study: smoke (seconds, no verdicts), quick (a minute or two) or paper (the published size).",
    ),
]  # fmt: skip
Runs = Annotated[Path, typer.Option("--runs", metavar="FOLDER", help="Folder for all runs.")]
Workers = Annotated[
    int | None,
    typer.Option("--workers", "-j", metavar="N", min=1, help="Number of worker processes. Default: one per core."),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine", "-e", metavar="ENGINE",
        help="local (processes on this machine) or dask. Default: local, or dask if --scheduler is given.",
    ),
]  # fmt: skip
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS",
        help="Address of a dask scheduler, for example tcp://10.0.0.1:8786. Default: start a local cluster.",
    ),
]  # fmt: skip
CaFile = Annotated[
    Path | None,
    typer.Option("--tls-ca-file", metavar="FILE", help="Certificate of the authority of a scheduler at tls://…"),
]
Certificate = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate for a scheduler at tls://…")
]
Key = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Key of the certificate --tls-cert.")]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Do not continue a run whose units were measured with other versions or on another processor.",
    ),
]
Device = Annotated[
    str, typer.Option("--device", metavar="DEVICE", help="Device for training, for example cuda or cuda:1.")
]
Patience = Annotated[
    float,
    typer.Option(
        "--patience", metavar="SECONDS", min=1,
        help="Restart a worker that makes no training step for this many seconds.",
    ),
]  # fmt: skip
Out = Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the report.")]
