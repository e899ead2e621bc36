# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The rules of a Fleet Engine token, written down a second time, and tokens that keep most of them.

Nothing here is Fleetpass's: JSON and Unicode are Python's, signatures are the cryptography package's.
"""

import base64
import json
import re
import unicodedata

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding

from forgery import LEAVE_OUT, encode, merge
from service import AUDIENCE

SCOPES = ["vehicleid", "tripid", "deliveryvehicleid", "taskid", "trackingid"]


class Broken(Exception):
    """The rule that a token breaks."""


def require(condition, rule):
    if not condition:
        raise Broken(rule)


def depth(value):
    if isinstance(value, (dict, list)):
        return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)
    return 0


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from texts(member)
    elif isinstance(value, list):
        for element in value:
            yield from texts(element)


def strict_json(data):
    """An object of RFC 8259 in which no name stands twice."""

    def distinct(pairs):
        names = [unicodedata.normalize("NFC", name) for name, _ in pairs]
        require(len(names) == len(set(names)), "a name stands twice")
        return dict(pairs)

    def constant(_):
        raise Broken("NaN and Infinity are no JSON")

    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=distinct, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise Broken("JSON") from error
    require(isinstance(value, dict) and depth(value) <= 16, "an object, not deep")
    require(not any(0xD800 <= ord(letter) < 0xE000 for text in texts(value) for letter in text), "half a pair")
    return value


def strict_base64(text):
    require(re.fullmatch(r"[A-Za-z0-9_-]*", text), "alphabet")
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError as error:
        raise Broken("base64url") from error
    require(encode(data) == text, "one text for each value")
    return data


def check_id(value):
    require(isinstance(value, str), "an id is a string")
    value = unicodedata.normalize("NFC", value)
    require(1 <= len(value) <= 64 and value not in (".", ".."), "an id has 1 to 64 characters")
    require(not re.search(r"[/:?,#\x00-\x1f\x7f-\x9f]", value), "an id's characters")
    return value


def check_authorization(claims):
    require(isinstance(claims, dict), "authorization is an object")
    scopes = {name: claims[name] for name in SCOPES if name in claims}
    for value in scopes.values():
        if value != "*":
            check_id(value)
    if "taskids" in claims:
        require(not scopes and isinstance(claims["taskids"], list) and claims["taskids"], "taskids stands alone")
        if claims["taskids"] != ["*"]:
            require("*" not in claims["taskids"], "the wildcard stands alone")
            for value in claims["taskids"]:
                check_id(value)
    if "trackingid" in scopes:
        others = [scopes[name] for name in ("deliveryvehicleid", "taskid") if name in scopes]
        require(not others or set(others) | {scopes["trackingid"]} == {"*"}, "trackingid stands alone")


def check(token, account, public_keys, now):
    """Checks a token by the rules that need no knowledge of the call.

    Args:
        token: The compact JWS.
        account: The e-mail of the account whose keys are the trusted ones.
        public_keys: Its public keys by their ids.
        now: The time in seconds since 1970.

    Returns:
        Its claims.

    Raises:
        Broken: The first rule that does not hold.
    """
    parts = token.split(".")
    require(len(token) <= 12 * 1024 and len(parts) == 3, "three parts")
    header, payload, signature = map(strict_base64, parts)
    header = strict_json(header)
    key_id = header.get("kid", LEAVE_OUT)
    require(key_id is LEAVE_OUT or isinstance(key_id, str) and 0 < len(key_id.encode()) <= 256, "kid")
    require(header.get("alg") == "RS256", "alg")
    require("typ" not in header or isinstance(header["typ"], str) and header["typ"].upper() == "JWT", "typ")
    require("crit" not in header, "crit")
    claims = strict_json(payload)
    require(claims.get("iss") == account and claims.get("sub") == account, "iss and sub are the account")
    require(key_id is LEAVE_OUT or key_id in public_keys, "a trusted kid")
    candidates = public_keys.values() if key_id is LEAVE_OUT else [public_keys[key_id]]
    signed = ".".join(parts[:2]).encode()
    require(any(fits(key, signature, signed) for key in candidates), "signature")
    require(claims.get("aud") == AUDIENCE, "aud")
    for name in ["iat", "exp"] + ["nbf"] * ("nbf" in claims):
        value = claims.get(name)
        require(type(value) is int and 0 <= value < 253402300800, f"{name} is a whole number of seconds")
    begin, end = claims["iat"], claims["exp"]
    require(now - 4200 <= begin and max(begin, claims.get("nbf", begin)) <= now + 600, "begun, and not long ago")
    require(max(begin, now) < end <= now + 3600 and end - begin <= 4200, "at most an hour")
    if "authorization" in claims:
        check_authorization(claims["authorization"])
    return claims


def fits(key, signature, signed):
    try:
        key.verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
        return True
    except InvalidSignature:
        return False


class Draw:
    """Draws tokens of an account: a few rules of each are broken, or kept in an unusual way."""

    def __init__(self, random, forger, stranger, now):
        """Draws by a generator, with the key of the account and one that nobody trusts."""
        self.random = random
        self.forger = forger
        self.stranger = stranger
        kid, account = forger.account["private_key_id"], forger.account["client_email"]
        odd = ["", "a", "*", "\u00e9", "e\u0301", None, 7, True, [], {}, 1e300]
        # No time is near a limit, as the clock goes on.
        times = [now + offset for offset in (-9000, -4100, -3000, -60, -5, 300, 540, 700, 3300, 3500, 3700, 7200)]
        times += [None, True, "1", 0, -1, 1.5, now + 60.0, now * 1000, 1e300, 2**62, 2**64, -(2**70), LEAVE_OUT]
        self.header_values = {
            "kid": [*odd, LEAVE_OUT, kid + "0", kid.upper(), "k" * 256, "k" * 257],
            "alg": [*odd, LEAVE_OUT, "RS512", "rs256", "none", "HS256", "RS256 "],
            "typ": [*odd, LEAVE_OUT, "jwt", "Jwt", "JOSE", "at+jwt", "JWT\u0000"],
            "crit": [["exp"], [], None, "exp"],
            "jku": ["https://keys.example/"],
            "x": odd,
        }
        self.claim_values = {
            "iss": [*odd, LEAVE_OUT, account.upper(), account + " "],
            "sub": [*odd, LEAVE_OUT, account.upper(), account + "\u0000"],
            "aud": [*odd, LEAVE_OUT, AUDIENCE[:-1], AUDIENCE.upper(), [AUDIENCE], "http" + AUDIENCE[5:]],
            "iat": times, "exp": times, "nbf": times,
            "authorization": [None, [], "vehicleid", {}],
            "scope": odd,
        }

    def token(self):
        """One token."""
        pick = self.random.choice
        claims = self.forger.claims(authorization=pick([self.forger.authorization, LEAVE_OUT, self.authorization()]))
        header = self.changed(self.forger.header(), self.header_values, pick([0, 0, 0, 1, 1, 2]))
        claims = self.changed(claims, self.claim_values, pick([0, 0, 1, 1, 1, 2, 3]))
        signer = pick([self.forger] * 20 + [self.stranger]).rs256
        token = self.forger.signed_parts(self.text(header), self.text(claims), signer)
        return token if self.random.random() < 0.85 else self.spoiled(token)

    def changed(self, values, pool, count):
        """An object with some members as they are drawn."""
        return merge(values, {name: self.random.choice(pool[name]) for name in self.random.sample(list(pool), count)})

    def authorization(self):
        """The claims of who knows what kind of token."""
        values = ["*", "a", "v" * 64, "v" * 65, "\u00e9" * 64, "e\u0301" * 10, "a/b", "a\u0085", "..", "", 7, None, ["a"]]
        lists = [["*"], ["a"], ["a", "b"], ["a", "*"], [], ["a", 7], ["a", ""], "a", "*", None]
        claims = {name: self.random.choice(values[:1 + self.random.randrange(13)])
                  for name in self.random.sample([*SCOPES, "other"], self.random.choice([0, 1, 1, 2]))}
        return claims | ({"taskids": self.random.choice(lists)} if self.random.random() < 0.2 else {})

    def text(self, value):
        """JSON, most often well-formed."""
        plain = json.dumps(value)
        spellings = [
            json.dumps(value, ensure_ascii=False).encode(), json.dumps(value, indent=2).encode(),
            re.sub("[st]", lambda letter: f"\\u{ord(letter[0]):04x}", plain.replace("\\", "")).encode(),
            b"\r\n\t " + plain.encode() + b" ", json.dumps(value, sort_keys=True, separators=(",", ":")).encode(),
        ]
        wrong = [
            plain[:-1] + ',"x":1,"x":2}', plain[:-1] + ',"\u00e9":1,"e\u0301":2}', plain[:-1] + ",}", "\ufeff" + plain,
            plain + "x", plain + "{}", plain[:-1], plain[:-1] + ',"x":NaN}', plain[:-1] + ',"x":01}', "[" + plain + "]",
            plain[:-1] + ',"x":"\\ud800"}', plain[:-1] + ',"x":"\t"}', plain[:-1] + ',"x":+1}', plain.replace('"', "'"),
            plain[:-1] + ',"x":' + "[" * 15 + "]" * 15 + "}", plain[:-1] + ',"x":' + "[" * 16 + "]" * 16 + "}",
            plain[:-1] + ',"x":/**/1}', plain[:-1] + ',"x":1.}', plain[:-1] + ',"x":"\\x"}', "", "null",
            plain[:-1] + ',"alg":"RS256"}', plain[:-1] + ',"a\\u006cg":"RS256"}', plain[:-1] + ',"exp":1}',
        ]
        chance = self.random.random()
        if chance < 0.8:
            return plain.encode()
        if chance < 0.9:
            return self.random.choice(spellings)
        return self.random.choice([*map(str.encode, wrong), b'{"x":"\xff"}', plain[:-1].encode() + b',"\xc0\x80":1}'])

    def spoiled(self, token):
        """A token that was changed after it was signed, or written as no token is."""
        place = self.random.randrange(len(token))
        kinds = [
            token + "=", token + "==", token + ".", "." + token, token[:-1], token[:place] + token[place + 1:],
            token[:place] + self.random.choice("AZaz09-_+/=.~") + token[place + 1:], token.replace(".", "..", 1),
            token.replace("-", "+").replace("_", "/"), token.rsplit(".", 1)[0] + ".", token.rsplit(".", 1)[0],
            token[:-1] + chr(ord(token[-1]) + 1), token[:place] + "AAAA" + token[place:], token + "." + token,
            token.replace(".", "=.", 1), token + "A", token + "AA",
        ]
        return self.random.choice(kinds)
