#!/usr/bin/env python3
"""Loads pages in a headless Chromium and looks at what a reader would meet.

drive.py FOLDER PAGE...: for each page at 1280 and 400 px, light and dark: nothing is said on the
console, nothing is asked for but the file, nothing is wider than the screen, and the drawings are
there. Screenshots go to FOLDER. The browser is spoken to through chromedriver (WebDriver, a W3C
recommendation), with nothing but Python's own library.
"""

import base64
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

SIZES = [(1280, 900, False), (400, 800, True)]


class Driver:
    """A session of chromedriver."""

    def __init__(self, width, height, is_phone, is_dark):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            ["chromedriver", f"--port={self.port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.folder = tempfile.TemporaryDirectory()
        options = {
            "args": [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--hide-scrollbars", f"--user-data-dir={self.folder.name}",
                f"--window-size={width},{height}",
            ],
        }
        if is_phone:
            options["mobileEmulation"] = {
                "deviceMetrics": {"width": width, "height": height, "pixelRatio": 2.0},
            }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        self.session = ""
        for _ in range(100):
            try:
                found = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
                break
            except (ConnectionError, urllib.error.URLError) as error:
                if isinstance(error, urllib.error.HTTPError):
                    raise
                time.sleep(0.2)
        else:
            raise SystemExit("chromedriver does not answer")
        self.session = "/session/" + found["sessionId"]
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", {"features": [scheme]})

    def ask(self, method, path, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{self.session if path != '/session' else ''}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def cdp(self, command, params):
        return self.ask("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def run(self, script):
        return self.ask("POST", "/execute/sync", {"script": "return " + script, "args": []})

    def log(self, kind):
        return self.ask("POST", "/se/log", {"type": kind})

    def close(self):
        try:
            self.ask("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait()
            self.folder.cleanup()


def look(page, folder):
    """What is wrong with a page."""
    wrong = []
    for width, height, is_phone in SIZES:
        for is_dark in (False, True):
            driver = Driver(width, height, is_phone, is_dark)
            try:
                where = f"{page.name} at {width} px{', dark' if is_dark else ''}"
                wrong += [f"{where}: {what}" for what in load(driver, page, width)]
                name = f"{page.stem}-{width}{'-dark' if is_dark else ''}.png"
                shot = driver.cdp(
                    "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True}
                )
                (folder / name).write_bytes(base64.b64decode(shot["data"]))
            finally:
                driver.close()
    return wrong


def load(driver, page, width):
    driver.ask("POST", "/url", {"url": page.resolve().as_uri()})
    # Everything that can be folded out is.
    driver.run("document.querySelectorAll('details').forEach(function (d) { d.open = true; })")
    for entry in driver.log("browser"):
        yield f"console: {entry['message']}"
    asked = set()
    for entry in driver.log("performance"):
        message = json.loads(entry["message"])["message"]
        # The browser's own first tab asks for things of its own.
        is_ours = message.get("params", {}).get("documentURL") == page.resolve().as_uri()
        if message["method"] == "Network.requestWillBeSent" and is_ours:
            url = message["params"]["request"]["url"]
            asked.add(url)
            if url != page.resolve().as_uri() and not url.startswith("data:"):
                yield f"asked for {url}"
    if page.resolve().as_uri() not in asked:
        yield "the log of requests does not have the page itself"
    found = driver.run("document.documentElement.scrollWidth")
    if found > width:
        yield f"{found} px wide"
    inner = driver.run("window.innerWidth")
    if inner != width:
        yield f"shown on {inner} px"
    wide = driver.run(
        "Array.prototype.filter.call(document.querySelectorAll('body *'), function (e) {"
        " return !e.closest('.scroll') && !e.closest('nav') && !e.closest('svg') &&"
        " e.getBoundingClientRect().right > window.innerWidth + 0.5; })"
        ".map(function (e) { return e.outerHTML.slice(0, 90); }).slice(0, 5)"
    )
    for element in wide:
        yield f"out of the screen: {element}"
    if driver.run("document.querySelectorAll('h1').length") != 1:
        yield "there is no heading"
    if driver.run("document.querySelectorAll('section').length") < 2:
        yield "there are no sections"


def main():
    folder, pages = pathlib.Path(sys.argv[1]), [pathlib.Path(page) for page in sys.argv[2:]]
    wrong = [what for page in pages for what in look(page, folder)]
    for what in wrong:
        print(what)
    if not wrong:
        print(f"ok {len(pages)} pages in Chromium: no console, no request, no overflow")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
