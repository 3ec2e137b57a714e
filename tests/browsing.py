"""A headless Chromium, for tests of the site: by pipes, without a package for it."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time


NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
# A container's /dev/shm is too small for pages, and root has no sandbox there.
OPTIONS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--remote-debugging-pipe",
]


class Browser:
    """One page of a browser that speaks the DevTools protocol.

    Attributes:
        requests: The addresses that pages have asked for.
        faults: Errors in the console, exceptions, and requests that failed.
    """

    def __init__(self, profile, patience=30):
        self.patience, self.requests, self.faults = patience, [], []
        self.loaded, self.number, self.session, self.rest = False, 0, None, b""
        theirs, self.out = os.pipe()
        self.into, ours = os.pipe()
        # The protocol's pipes are the files 3 and 4 of the browser.
        command = f'exec "$0" "$@" 3<&{theirs} 4>&{ours}'
        line = [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", command, *line],
            pass_fds=(theirs, ours),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        os.close(ours)
        page = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=page, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for end in (self.into, self.out):
            with contextlib.suppress(OSError):
                os.close(end)

    def ask(self, method, **params):
        """The result of a command of the protocol."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def read(self):
        """The next message; events are noted on the way."""
        end = time.monotonic() + self.patience
        while b"\0" not in self.rest:
            left = max(0, end - time.monotonic())
            ready, _, _ = select.select([self.into], [], [], left)
            assert ready, f"no word of the browser for {self.patience} s"
            part = os.read(self.into, 1 << 20)
            assert part, "the browser has ended"
            self.rest += part
        first, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(first)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method, params):
        """Keep what an event tells."""
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.faults.append(params["exceptionDetails"])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.faults.append(params["entry"])
        elif method == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.faults.append(params["args"])

    def open(self, address):
        """Go to a page, and wait until it is loaded."""
        self.loaded = False
        self.ask("Page.navigate", url=address)
        while not self.loaded:
            self.read()

    def value(self, script):
        """The value of an expression of JavaScript on the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, script):
        """The value of an expression as soon as it is one that Python calls true."""
        end = time.monotonic() + self.patience
        while not (value := self.value(script)):
            assert time.monotonic() < end, f"not within {self.patience} s: {script}"
            time.sleep(0.02)
        return value

    def picture(self, path, width, height=900, dark=False):
        """Save what the page looks like on a screen."""
        scheme = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        ]
        self.ask("Emulation.setEmulatedMedia", features=scheme)
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        time.sleep(0.3)
        data = self.ask("Page.captureScreenshot")["data"]
        path.write_bytes(base64.b64decode(data))
