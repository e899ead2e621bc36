# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Loads the library as other languages do, by name and without its header: a token, its cache, a refusal, and 1,000 calls.

usage: python_ffi.py LIBRARY TOKEN-SERVER SECRET
"""

import ctypes
import os
import pathlib
import sys
import tempfile
import threading
import time
import urllib.request
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_void_p


class Error(ctypes.Structure):
    _fields_ = [("code", c_int32), ("http_status", c_int32), ("retry_after_ms", c_int64), ("message", c_char_p)]


class Token(ctypes.Structure):
    _fields_ = [("text", c_char_p), ("length", c_size_t), ("fingerprint", c_char_p)]


class Subject(ctypes.Structure):
    _fields_ = [("kind", c_int32), ("id", c_char_p), ("task_id", c_char_p)]


class Header(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class AnswerFormat(ctypes.Structure):
    _fields_ = [
        ("token_key", c_char_p), ("expiry_key", c_char_p), ("expiry_unit", c_int32), ("expiry_reference", c_int32),
        ("refresh_after_key", c_char_p),
    ]


CREDENTIALS = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)
COMPLETION = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Token), POINTER(Error))
LIFE_COMPLETION = ctypes.CFUNCTYPE(None, c_void_p, c_int64, POINTER(Error))


class Options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t), ("server_url", c_char_p), ("endpoint", c_int32), ("path", c_char_p),
        ("answer", AnswerFormat), ("capacity", c_int32), ("refusals_per_minute", c_int32),
        ("minimum_life_ms", c_int64), ("refresh_before_ms", c_int64), ("fetch_timeout_ms", c_int64),
        ("back_off_base_ms", c_int64), ("back_off_cap_ms", c_int64), ("retry_after_limit_ms", c_int64),
        ("context", c_void_p), ("release_context", c_void_p), ("credentials", CREDENTIALS), ("http", c_void_p),
        ("on_event", c_void_p), ("store_folder", c_char_p), ("patience_ms", c_int64),
    ]


class Metrics(ctypes.Structure):
    _fields_ = [
        (name, c_int64)
        for name in ("hits", "waits", "waited_ms", "longest_wait_ms", "fetches", "failures", "refusals")
    ]


DRIVER, CONSUMER = 1, 2
REFUSED, LIFE_UNAVAILABLE, INVALID_ARGUMENT = 5, 11, 101
library_path, server, secret = sys.argv[1:]
library = ctypes.CDLL(library_path)
library.fp_provider_create.restype = c_void_p
library.fp_provider_create.argtypes = [POINTER(Options), POINTER(POINTER(Error))]
library.fp_provider_destroy.argtypes = [c_void_p]
library.fp_provider_fetch_token.argtypes = [c_void_p, POINTER(Subject), c_int64, COMPLETION, c_void_p, c_void_p]
library.fp_provider_ensure.argtypes = [
    c_void_p, POINTER(Subject), c_int64, c_int64, LIFE_COMPLETION, c_void_p, c_void_p,
]
library.fp_provider_metrics.restype = ctypes.c_bool
library.fp_provider_metrics.argtypes = [c_void_p, POINTER(Metrics), c_size_t]
library.fp_credentials_reply_send.argtypes = [c_void_p, POINTER(Header), c_size_t]
library.fp_token_release.argtypes = [POINTER(Token)]
library.fp_error_release.argtypes = [POINTER(Error)]
library.fp_error_name.restype = c_char_p
failed = 0


def check(name, holds):
    global failed
    print("ok    " if holds else "FAILED", name, sep="  ", flush=True)
    failed += not holds


@CREDENTIALS
def on_credentials(_, reply):
    header = Header(b"Authorization", b"Bearer " + secret.encode())
    library.fp_credentials_reply_send(reply, byref(header), 1)


def fetch(provider, kind, identifier, calls=1):
    """The outcomes of some calls at once: texts of tokens and numbers of errors."""
    outcomes = []
    done = threading.Semaphore(0)

    @COMPLETION
    def on_token(_, token, error):
        if token:
            outcomes.append(token.contents.text)
        else:
            outcomes.append((error.contents.code, error.contents.http_status))
        library.fp_token_release(token)
        library.fp_error_release(error)
        done.release()

    subject = Subject(kind, identifier, None)
    for _ in range(calls):
        library.fp_provider_fetch_token(provider, byref(subject), 9000, on_token, None, None)
    for _ in range(calls):
        if not done.acquire(timeout=30):
            break
    return outcomes


def ensure(provider, kind, identifier, life):
    """The life of the token in hand in milliseconds, and the number of the error."""
    outcomes = []
    done = threading.Semaphore(0)

    @LIFE_COMPLETION
    def on_life(_, life, error):
        outcomes.append((life, error.contents.code if error else None))
        library.fp_error_release(error)
        done.release()

    library.fp_provider_ensure(provider, byref(Subject(kind, identifier, None)), life, 9000, on_life, None, None)
    done.acquire(timeout=30)
    return outcomes


options = Options()
library.fp_options_init(byref(options), ctypes.sizeof(Options))
check("the struct has the library's size and defaults", options.struct_size == ctypes.sizeof(Options)
      and options.capacity == 1000 and options.retry_after_limit_ms == 600_000 and options.patience_ms == 2000)
options.server_url = f"{server}/up".encode()
options.credentials = on_credentials
provider = library.fp_provider_create(byref(options), None)
check("a provider is made", bool(provider))
first = fetch(provider, DRIVER, b"vehicle-ffi")
check("a token comes", len(first) == 1 and isinstance(first[0], bytes) and first[0].count(b".") == 2)
many = fetch(provider, DRIVER, b"vehicle-ffi", calls=1000)
with urllib.request.urlopen(f"{server}/counts/up/token/driver/vehicle-ffi") as answer:
    asked = int(answer.read())
check("1,000 calls get the same one, with one request", many == first * 1000 and asked == 1)
outcomes = ensure(provider, DRIVER, b"vehicle-ffi", 60_000)
check("a life is ensured", len(outcomes) == 1 and outcomes[0][0] >= 60_000 and outcomes[0][1] is None)
check("more than an hour cannot be had", ensure(provider, DRIVER, b"vehicle-ffi", 3_700_000) == [(-1, LIFE_UNAVAILABLE)])
metrics = Metrics()
check("the numbers tell what was done",
      library.fp_provider_metrics(provider, byref(metrics), ctypes.sizeof(Metrics))
      and (metrics.hits, metrics.waits, metrics.fetches, metrics.failures) == (1000, 1, 1, 0) and metrics.waited_ms >= 0)
check("a role that the caller lacks is refused", fetch(provider, CONSUMER, b"trip-ffi") == [(REFUSED, 403)])
check("bad text is an error, not a crash", fetch(provider, DRIVER, b"\xff") == [(INVALID_ARGUMENT, 0)])
check("codes have names", library.fp_error_name(REFUSED) == b"refused")
library.fp_provider_destroy(provider)

with tempfile.TemporaryDirectory() as parent:
    folder = pathlib.Path(parent, "tokens")
    options.store_folder = os.fsencode(folder)
    kept = []
    for _ in range(2):
        provider = library.fp_provider_create(byref(options), None)
        kept += fetch(provider, DRIVER, b"vehicle-kept")
        library.fp_provider_destroy(provider)
        limit = time.monotonic() + 30
        while not list(folder.glob("*.token")) and time.monotonic() < limit:
            time.sleep(0.01)
    with urllib.request.urlopen(f"{server}/counts/up/token/driver/vehicle-kept") as answer:
        asked = int(answer.read())
    check("a folder keeps tokens for the next provider", len(kept) == 2 and kept[0] == kept[1] and asked == 1)
sys.exit(1 if failed else 0)
