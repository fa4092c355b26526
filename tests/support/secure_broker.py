"""A broker that also listens with TLS, and lets in who can say a password (SASL)."""

from __future__ import annotations

import subprocess
from pathlib import Path

from broker import Broker, free_ports

USER, PASSWORD = "shipper", "sesame-4711"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_STORE_PASSWORD = "changeit"  # keytool wants one


class SecureBroker(Broker):
    """``secure_address``: where TLS is spoken; ``certificate``: the file to trust (PEM)."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.certificate = directory / "broker.pem"
        store = directory / "broker.p12"
        _make_certificate(store, self.certificate)
        [port] = free_ports(1)
        self.secure_address = f"127.0.0.1:{port}"
        login = "org.apache.kafka.common.security"
        listener = "listener.name.sasl_ssl"
        super().__init__(
            directory,
            {
                "listeners": f",SASL_SSL://{self.secure_address}",
                "advertised.listeners": f",SASL_SSL://{self.secure_address}",
                "listener.security.protocol.map": ",SASL_SSL:SASL_SSL",
                "sasl.enabled.mechanisms": ",".join(MECHANISMS),
                f"{listener}.plain.sasl.jaas.config": (
                    f'{login}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
                ),
                **{
                    f"{listener}.{mechanism.lower()}.sasl.jaas.config": (
                        f"{login}.scram.ScramLoginModule required;"
                    )
                    for mechanism in MECHANISMS[1:]
                },
                "ssl.keystore.location": str(store),
                "ssl.keystore.type": "PKCS12",
                "ssl.keystore.password": _STORE_PASSWORD,
            },
            [
                option
                for mechanism in MECHANISMS[1:]
                for option in ("--add-scram", f"{mechanism}=[name={USER},password={PASSWORD}]")
            ],
        )


def _make_certificate(store: Path, certificate: Path) -> None:
    keytool = ["keytool", "-alias", "broker", "-keystore", store, "-storepass", _STORE_PASSWORD]
    subprocess.run(
        [*keytool, "-genkeypair", "-keyalg", "EC", "-dname", "CN=broker", "-validity", "2",
         "-ext", "SAN=ip:127.0.0.1", "-storetype", "PKCS12"],
        check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run(
        [*keytool, "-exportcert", "-rfc", "-file", certificate], check=True, capture_output=True
    )
