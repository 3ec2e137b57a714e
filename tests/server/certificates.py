"""Certificates of the tests' own."""

import datetime as dt

import trustme


def authority():
    """One who signs."""
    return trustme.CA()


def signed(ca, folder, name, days=2):
    """What an end has in its folder: `cert.pem`, `key.pem`; and `ca.pem`."""
    folder.mkdir()
    end = dt.datetime.now(dt.UTC) + dt.timedelta(days)
    made = ca.issue_cert("localhost", "127.0.0.1", common_name=name, not_after=end)
    ca.cert_pem.write_to_path(folder / "ca.pem")
    made.private_key_pem.write_to_path(folder / "key.pem")
    made.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    return folder
