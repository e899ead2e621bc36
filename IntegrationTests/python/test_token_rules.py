# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Tokens drawn at random: the engine takes those that keep the rules as they were written down a second time, and no others."""

import os
import random
import time
from collections import Counter

import jwt
import requests

from forgery import Forger, new_rsa_key
from service import AUDIENCE
from token_rules import Broken, Draw, check

TOKENS = int(os.environ.get("FLEETPASS_FUZZ_INPUTS", 2000))
FIRST = int(os.environ.get("FLEETPASS_FUZZ_SEED", 1))


def judge(token, forger, vehicle, now):
    """What a driver's look at a vehicle is answered with, and the rule that the token breaks; `None` for none."""
    keys = {forger.account["private_key_id"]: forger.private_key.public_key()}
    try:
        claims = check(token, forger.account["client_email"], keys, now)
    except Broken as rule:
        return 401, str(rule)
    reaches = claims.get("authorization", {}).get("vehicleid") in ("*", vehicle)
    return 200 if reaches else 403, None


def is_good_to_pyjwt(token, forger):
    """Whether PyJWT takes it, which knows some of the rules."""
    try:
        jwt.decode(
            token, forger.private_key.public_key(), algorithms=["RS256"], audience=AUDIENCE,
            issuer=forger.account["client_email"], leeway=600,
            options={"require": ["iss", "sub", "aud", "iat", "exp"]})
        return True
    except jwt.PyJWTError:
        return False


def test_the_engine_takes_what_keeps_the_rules_and_nothing_else(service, vehicle):
    account = service.account("driver")
    forger = Forger(account, {"vehicleid": vehicle})
    stranger = Forger(account | {"private_key": new_rsa_key()}, {"vehicleid": vehicle})
    session = requests.Session()
    rules, statuses = Counter(), Counter()
    for seed in range(FIRST, FIRST + TOKENS):
        now = int(time.time())
        token = Draw(random.Random(seed), forger, stranger, now).token()
        status, rule = judge(token, forger, vehicle, now)
        answer = session.get(
            f"{service.http}/v1/providers/{service.provider}/vehicles/{vehicle}",
            headers={"Authorization": f"Bearer {token}"}, timeout=10)
        assert answer.status_code == status, (seed, rule, token, answer.text)
        assert rule is not None or is_good_to_pyjwt(token, forger), (seed, token)
        rules[rule] += 1
        statuses[status] += 1
    # Enough of them are good, and each rule is broken now and then.
    assert min(statuses[status] for status in (200, 401, 403)) > TOKENS / 20, statuses
    assert len(rules) > 20, rules
