# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Tokens made without Fleetpass: good ones by PyJWT, bad ones byte by byte."""

import base64
import functools
import hashlib
import hmac
import json
import time

import jwt
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from service import AUDIENCE

LEAVE_OUT = object()


def encode(part):
    if not isinstance(part, bytes):
        part = json.dumps(part).encode()
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def merge(values, changes):
    return {key: value for key, value in (values | changes).items() if value is not LEAVE_OUT}


def private_pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


class Forger:
    """Makes tokens with the key file of one account."""

    def __init__(self, account, authorization):
        self.account = account
        self.authorization = authorization

    def claims(self, **changes):
        now = int(time.time())
        values = {
            "iss": self.account["client_email"],
            "sub": self.account["client_email"],
            "aud": AUDIENCE,
            "iat": now - 60,
            "exp": now - 60 + 3600,
            "authorization": self.authorization,
        }
        return merge(values, changes)

    def header(self, **changes):
        return merge({"alg": "RS256", "typ": "JWT", "kid": self.account["private_key_id"]}, changes)

    def token(self, *, key=None, algorithm="RS256", header=None, **changes):
        """A token signed by PyJWT."""
        given = self.header(**(header or {}))
        return jwt.encode(
            self.claims(**changes), key or self.account["private_key"], algorithm=algorithm,
            # PyJWT adds typ by itself unless told that there is none.
            headers={"typ": None} | given,
        )

    def signed_parts(self, header, payload, signer=None):
        """A token of these very bytes, signed with RS256 whatever its header says."""
        signing_input = f"{encode(header)}.{encode(payload)}"
        signer = signer or self.rs256
        return f"{signing_input}.{encode(signer(signing_input.encode()))}"

    @functools.cached_property
    def private_key(self):
        return serialization.load_pem_private_key(self.account["private_key"].encode(), None)

    def rs256(self, data):
        return self.private_key.sign(data, padding.PKCS1v15(), hashes.SHA256())

    @property
    def public_pem(self):
        return self.private_key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def hs256_with_the_public_key(self):
        return self.signed_parts(
            self.header(alg="HS256"), self.claims(),
            lambda data: hmac.new(self.public_pem, data, hashlib.sha256).digest(),
        )

    def unsigned(self, algorithm="none"):
        return f"{encode(self.header(alg=algorithm, kid=LEAVE_OUT))}.{encode(self.claims())}."

    def changed_payload(self, **changes):
        """A good token whose payload was replaced on the way."""
        header, _, signature = self.token().split(".")
        return f"{header}.{encode(self.claims(**changes))}.{signature}"

    def changed_signature(self):
        header, payload, signature = self.token().split(".")
        first = "A" if signature[0] != "A" else "B"
        return f"{header}.{payload}.{first}{signature[1:]}"


def new_rsa_key():
    return private_pem(rsa.generate_private_key(public_exponent=65537, key_size=2048))


def new_ec_key():
    return private_pem(ec.generate_private_key(ec.SECP256R1()))
