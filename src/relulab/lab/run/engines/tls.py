"""Encryption between this process and a dask cluster.

Whoever reaches a dask scheduler can run code on its workers. So the local cluster listens on this machine alone and
answers only to the certificate of this process, which is made for it and kept in memory.
"""

from pathlib import Path
from typing import Any, NamedTuple

from relulab.core.errors import UserError

QUIET = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
"""Settings of a local cluster without web pages."""


class Tls(NamedTuple):
    """The certificates for a scheduler that is reached by tls://, as for ``dask scheduler``.

    Args:
        ca: The certificate of the authority that has signed the others.
        cert: The certificate of this process.
        key: Its key.
    """

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def security(self, address: str) -> Any:
        """Return the security settings for a scheduler; raise a UserError if certificates are missing or unreadable.

        Args:
            address: The address of the scheduler.
        """
        from distributed import Security

        if not address.startswith("tls://"):
            if any(self):
                raise UserError(f"--tls-ca-file, --tls-cert and --tls-key need an address tls://…, got {address}")
            return None
        given = {"tls_ca_file": self.ca, "tls_client_cert": self.cert, "tls_client_key": self.key}
        for path in filter(None, self):
            if not path.is_file():
                raise UserError(f"cannot read {path}, a certificate for {address}: no such file")
        try:
            security = Security(require_encryption=True, **{name: str(path) for name, path in given.items() if path})
            context = security.get_connection_args("client").get("ssl_context")
        except (OSError, ValueError) as error:
            raise UserError(f"the certificates for {address} cannot be used ({error}): check the three files") from None
        if context is None:
            raise UserError(
                f"{address} needs certificates: give --tls-ca-file, --tls-cert and --tls-key, the files that the "
                "scheduler was started with"
            )
        return security
