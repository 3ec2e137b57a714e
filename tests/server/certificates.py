"""Certificates of the tests' own, made by openssl."""

import subprocess


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def authority(folder):
    """One who signs: `ca.pem` and `ca.key` in a folder."""
    folder.mkdir(exist_ok=True)
    new_key = "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"
    openssl("req", "-x509", *new_key, "-subj", f"/CN={folder.name}", "-days", 2,
            "-addext", "keyUsage=critical,keyCertSign", "-keyout", folder / "ca.key",
            "-out", folder / "ca.pem")  # fmt: skip
    return folder


def signed(ca, folder, name, days=2):
    """What an end has in its folder: `cert.pem`, `key.pem`; and `ca.pem`."""
    folder.mkdir()
    (folder / "ca.pem").write_bytes((ca / "ca.pem").read_bytes())
    request, key, cert = folder / "csr.pem", folder / "key.pem", folder / "cert.pem"
    names = folder / "names"
    # Python 3.13 asks for the key's identifier, too.
    names.write_text(
        "authorityKeyIdentifier=keyid\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n"
    )
    new_key = "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"
    openssl("req", *new_key, "-subj", f"/CN={name}", "-keyout", key, "-out", request)
    openssl("x509", "-req", "-in", request, "-CA", ca / "ca.pem", "-CAkey",
            ca / "ca.key", "-CAcreateserial", "-days", days, "-extfile", names,
            "-out", cert)  # fmt: skip
    return folder
