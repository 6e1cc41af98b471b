"""A second user of the machine cannot reach a local dask cluster, nor can anybody without its certificate."""

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import psutil
import pytest

from relulab.lab.run.engines.dask import Dask, _cluster

pytest.importorskip("distributed")
NOBODY = 65534
PAGES = ["", "status", "health", "json/identity.json", "info/main/workers.html", "metrics"]
# Three ways to try it: without TLS, with TLS but without a certificate, and with a certificate of one's own. The
# fourth, with the certificate of the cluster, must succeed, or the others would fail for another reason.
INTRUDER = """
import json, os, sys
from distributed import Client, Security
right, own = Security(**json.loads(sys.stdin.read()), require_encryption=True), Security.temporary()
right.get_connection_args("client"), own.get_connection_args("client")  # imports all that is needed
if sys.argv[2] == "as nobody":
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
address = sys.argv[1]
kinds = {"plain": (address.replace("tls", "tcp"), None), "none": (address, Security()), "own": (address, own),
         "right": (address, right)}
for name, (address, security) in kinds.items():
    try:
        with Client(address, security=security, timeout=5, set_as_default=False) as client:
            print(name, "reached", client.run_on_scheduler(os.getpid) > 0, os.getuid())
    except Exception as error:
        print(name, "refused", type(error).__name__, error)
"""


@pytest.fixture(scope="module")
def cluster():
    with _cluster(Dask(workers=1), 1) as (address, security):
        yield address, security


@pytest.mark.parametrize("who", ["as the same user", "as nobody"])
def test_only_the_certificate_opens_the_cluster(cluster, who):
    if who == "as nobody" and os.getuid() != 0:
        pytest.skip("needs the right to become another user; the other half of the test has run")
    address, security = cluster
    names = ("tls_ca_file", "tls_client_cert", "tls_client_key")
    done = subprocess.run(
        [sys.executable, "-c", INTRUDER, address, who], capture_output=True, text=True, cwd="/", timeout=120,
        input=json.dumps({name: getattr(security, name) for name in names}),
    )  # fmt: skip
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    user = NOBODY if who == "as nobody" else os.getuid()
    assert found.pop("right", done.stderr) == f"reached True {user}"
    assert set(found) == {"plain", "none", "own"} and all(said.startswith("refused") for said in found.values()), found


def test_it_listens_on_this_machine_only_and_has_no_pages(cluster):
    address, _ = cluster
    assert re.match(r"tls://127\.0\.0\.1:\d+$", address)
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    listening = [c.laddr.ip for p in processes for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert listening and set(listening) <= {"127.0.0.1", "::1"}
    ports = {c.laddr.port for p in processes for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    assert not [found for port in ports for page in PAGES if (found := page_at(port, page))]


def page_at(port: int, page: str) -> str | None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=5) as answer:
            return f"{port}/{page}: {answer.status}"
    except (OSError, http.client.HTTPException):  # among them 404, and ports that speak TLS
        return None


def test_the_pages_of_an_ordinary_cluster_would_be_found():
    import dask
    from distributed import LocalCluster

    routes = {"distributed.scheduler.http.routes": ["distributed.http.health", "distributed.http.scheduler.json"]}
    with (
        dask.config.set(routes),
        LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0", protocol="tcp://") as cluster,
    ):
        port = cluster.scheduler.http_server.port
        assert page_at(port, "json/identity.json") and page_at(port, "health")


def test_the_key_is_on_no_disk_and_no_command_line(cluster):
    _, security = cluster
    line = security.tls_client_key.splitlines()[1]
    assert len(line) > 40
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        assert line not in " ".join(process.cmdline())
    found = [path for path in Path(tempfile.gettempdir()).glob("relulab-dask-*/**/*") if path.is_file()]
    assert not [path for path in found if line.encode() in path.read_bytes()]
