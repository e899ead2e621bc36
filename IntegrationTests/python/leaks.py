# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Secrets that can be told, and everything that a run showed or kept, to be searched for them."""

import base64

from service import run


class Secrets:
    """What must not show, by name; each is searched for as it is and as it is often written."""

    def __init__(self):
        self.named = {}

    def add(self, name, text):
        self.named[name] = text
        return text

    def token(self, name, text):
        """A token's payload is no secret of its own where a command shows it; the signature always is."""
        self.add(f"{name}, signature", text.split(".")[2])
        self.add(f"{name}, payload", text.split(".")[1])
        return text

    def key(self, name, pem):
        lines = [line for line in pem.splitlines() if line and "-----" not in line]
        # The middle: the beginning of every key is the same.
        for number in (len(lines) // 3, len(lines) // 2):
            self.add(f"{name}, line {number}", lines[number])

    @staticmethod
    def forms(text):
        raw = text.encode()
        yield raw
        yield raw.hex().encode()
        # A part is enough to tell, and a log may cut.
        if len(raw) > 60:
            yield raw[20:50]
        for shift in range(3):
            # Within a longer text, base64 depends on where the secret begins.
            encoded = base64.b64encode(b"\0" * shift + raw)
            yield encoded[4 if shift else 0 : -4]

    def found_in(self, evidence):
        return sorted(
            {
                (name, place)
                for place, data in evidence.items()
                for name, text in self.named.items()
                for form in self.forms(text)
                if form in data
            }
        )


class Evidence(dict):
    """Everything that was shown or kept, by where."""

    def note(self, place, data):
        self[f"{len(self)}: {place}"] = data.encode() if isinstance(data, str) else data

    def command(self, *arguments, **options):
        result = run(*arguments, **options)
        self.note(f"fleetpass {arguments[0]}", result.stdout + result.stderr)
        return result

    def answer(self, place, answer):
        self.note(place, f"{answer.headers}\n{answer.text}")
        return answer

    def folder(self, folder, without=()):
        files = [path for path in folder.rglob("*") if path.is_file() and path.name not in without]
        for path in files:
            self.note(f"file {path.name}", path.read_bytes())
        return {path.name for path in files}
