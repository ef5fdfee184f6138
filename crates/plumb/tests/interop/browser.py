"""Drives a browser over its DevTools protocol, with nothing but the standard library.

    browser.py CHROMIUM PROFILE SCREENSHOTS URL

Opens the app at URL, uses its pages by keyboard alone, looks at them wide, on a phone and dark, and
prints one line for each thing that holds. Ends with 1, and says what, where one does not.
"""

import base64
import json
import os
import socket
import struct
import subprocess
import sys
import time
import urllib.request

PATIENCE_S = 60


class Browser:
    """A page of a browser without a window."""

    def __init__(self, chromium, profile):
        self.process = subprocess.Popen(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        place = os.path.join(profile, "DevToolsActivePort")
        port = wait(lambda: os.path.exists(place) and open(place).read().split()[:1])[0]
        pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
        url = next(it for it in pages if it["type"] == "page")["webSocketDebuggerUrl"]
        host, path = url.removeprefix("ws://").split("/", 1)
        self.socket = socket.create_connection(host.split(":"), timeout=PATIENCE_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                             "Sec-WebSocket-Version: 13\r\n\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.socket.recv(1)
        self.number = 0
        self.complaints = []
        for domain in ("Page", "Log", "Runtime"):
            self.call(domain + ".enable")

    def call(self, method, **values):
        """Calls a method, and keeps what the page complains of meanwhile."""
        self.number += 1
        text = json.dumps({"id": self.number, "method": method, "params": values}).encode()
        mask = os.urandom(4)
        length = (bytes([0x80 | len(text)]) if len(text) < 126
                  else b"\xfe" + struct.pack(">H", len(text)))
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(text))
        self.socket.sendall(b"\x81" + length + mask + masked)
        while True:
            message = json.loads(self.message())
            if message.get("id") == self.number:
                return message.get("result", message)
            if message.get("method") == "Log.entryAdded":
                entry = message["params"]["entry"]
                if entry["level"] == "error":
                    self.complaints.append(entry["text"] + " " + entry.get("url", ""))
            if message.get("method") == "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(message["params"])[:400])

    def message(self):
        """The next message, in however many frames it comes."""
        whole = b""
        while True:
            first, second = self.exactly(2)
            length = second & 127
            if length == 126:
                length = struct.unpack(">H", self.exactly(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self.exactly(8))[0]
            whole += self.exactly(length)
            if first & 0x80:
                return whole

    def exactly(self, count):
        """So many bytes."""
        read = b""
        while len(read) < count:
            more = self.socket.recv(count - len(read))
            if not more:
                raise SystemExit("the browser has gone")
            read += more
        return read

    def value(self, expression):
        """What JavaScript says."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return found.get("result", {}).get("value")

    def open(self, url):
        """Goes to a page, and waits until it is there."""
        self.value("window.left = true")
        self.call("Page.navigate", url=url)
        self.arrive()

    def arrive(self):
        """Waits for another page."""
        wait(lambda: self.value("!window.left && document.readyState === 'complete'"))

    def press(self, key):
        """Presses a key."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = {"Enter": 13, "Tab": 9}.get(key, ord(key[0].upper()) if len(key) == 1 else 0)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "",
                      windowsVirtualKeyCode=code)

    def click(self, selector):
        """Clicks with a mouse where an element is: whatever takes the click there has it."""
        place = json.loads(self.value(
            f"(() => {{ const it = document.querySelector({json.dumps(selector)}); it.scrollIntoView();"
            " const at = it.getBoundingClientRect();"
            " return JSON.stringify([at.x + at.width / 2, at.y + at.height / 2]); })()"))
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left",
                      buttons=1, clickCount=1)

    def look(self, place, name, width, scheme):
        """A picture of the page, whose width the page must keep to."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        beyond = self.value(f"[...document.querySelectorAll('body *')].filter((it) => "
                            f"it.getBoundingClientRect().right > {width}).map((it) => it.outerHTML.slice(0, 80))")
        holds(self.value("document.documentElement.scrollWidth") <= width, f"{name} fits {width} px: {beyond}")
        low = self.value(CONTRAST)
        holds(low == [], f"{name} can be read ({scheme}): {low}")
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        with open(os.path.join(place, f"{name}.png"), "wb") as file:
            file.write(base64.b64decode(picture["data"]))


# every text whose contrast is below that of WCAG 2.2, 1.4.3, level AA
CONTRAST = """(() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((it) => {
      const part = it / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((it) => it.nodeType === 3 && it.textContent.trim());
    if (!own || !node.checkVisibility() || node.closest("svg, .unseen, .skip, caption")) continue;
    const style = getComputedStyle(node);
    const [a, b] = [light(parse(style.color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) low.push(node.textContent.trim().slice(0, 30) + " " + ratio.toFixed(2));
  }
  return low;
})()"""


def wait(look):
    """What `look` finds, asked again for as long as there is patience."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise SystemExit("waited in vain")


def holds(true, what):
    """Says what holds."""
    if not true:
        raise SystemExit(f"does not hold: {what}")
    print(what)


def main(chromium, profile, place, url):
    """Uses the app."""
    browser = Browser(chromium, profile)
    try:
        use(browser, place, url)
    finally:
        browser.process.terminate()
        browser.process.wait()


def use(browser, place, url):
    """Every page once."""
    base = url.partition("#")[0].rstrip("/")
    browser.open(base + "/#wrong")
    wait(lambda: browser.value("document.querySelector('[role=alert]')?.textContent.includes('another start')"))
    holds(True, "a wrong token is refused")
    browser.complaints.clear()  # a page that is refused is an error to the browser
    browser.value("window.left = true")
    browser.open("about:blank")
    browser.open(url)
    wait(lambda: browser.value("document.querySelectorAll('.runs tbody tr').length") or None)
    holds(browser.value("location.hash") == "", "the token leaves the address")
    holds(browser.value("document.cookie") == "", "no script sees the session")
    browser.complaints.clear()

    browser.press("/")
    holds(browser.value("document.activeElement.id") == "search", "/ goes to the search")
    # the run under way has no box to mark, and nobody knows where in the list it stands yet
    for letter in "day":
        browser.press(letter)
    browser.value("window.left = true")
    browser.press("Enter")
    browser.arrive()
    holds(browser.value("location.search").startswith("?q=day"), "Enter searches")
    for key in "jxjx":
        browser.press(key)
    holds(browser.value("document.querySelectorAll('.runs :checked').length") == 2, "x marks two runs")
    browser.value("window.left = true")
    browser.press("c")
    browser.arrive()
    holds(browser.value("location.pathname") == "/compare", "c compares them")
    holds(browser.value("document.querySelector('.bar') !== null"), "a report has the bar")
    browser.open(base + "/")
    for number in (2, 3):
        browser.click(f".runs tbody tr:nth-child({number}) input")
    holds(browser.value("document.querySelectorAll('.runs :checked').length") == 2, "a mouse marks two runs")
    browser.value("window.left = true")
    browser.click(".compare button")
    browser.arrive()
    holds(browser.value("location.pathname") == "/compare", "the button compares them")
    browser.open(base + "/?q=day")
    browser.press("j")
    browser.value("window.left = true")
    browser.press("Enter")
    browser.arrive()
    holds(browser.value("location.pathname") == "/show", "Enter opens a run")
    holds(browser.value("getComputedStyle(document.querySelector('.bar')).display") == "flex",
          "the bar of a report has its styles")

    chart = "document.querySelector('figure.chart svg[data-x]')"
    holds(browser.value(f"{chart}.tabIndex") == 0, "the script of a report runs, and may")
    browser.value(f"{chart}.focus()")
    browser.press("ArrowRight")
    holds(browser.value("document.querySelector('.tip').textContent.length") > 0, "a chart tells its figures")
    axis = f"{chart}.querySelector('g.axis.y').textContent"
    drawn = browser.value(axis)
    change = "document.querySelector('.tools button:not([hidden])').click()"
    browser.value(change)
    holds(browser.value(axis) != drawn, "another axis is shown")
    browser.value(change)
    holds(browser.value(axis) == drawn, "and the first one again")

    browser.open(base + "/trends")
    trend = browser.value("document.querySelector('td a').href")
    pages = {"list": base + "/", "trends": base + "/trends", "trend": trend,
             "baselines": base + "/baselines", "measure": base + "/work"}
    for name, page in pages.items():
        browser.open(page)
        browser.look(place, name + "-wide", 1280, "light")
        browser.look(place, name + "-dark", 1280, "dark")
        browser.look(place, name + "-phone", 390, "light")
    browser.open(trend)
    holds(browser.value("document.querySelectorAll('svg a .dot').length") > 0, "runs are drawn, each a link")
    holds(browser.value("document.querySelectorAll('svg .change').length") > 0, "a change point is drawn")

    browser.open(base + "/show?path=live")
    wait(lambda: browser.value("document.querySelectorAll('#live-chart path').length") == 2 or None)
    browser.look(place, "live-wide", 1280, "light")
    browser.look(place, "live-phone", 390, "dark")
    holds(browser.value("document.getElementById('live-p50').textContent") != "-", "a run is followed")
    holds(browser.complaints == [], f"no page complains: {browser.complaints}")


if __name__ == "__main__":
    main(*sys.argv[1:])
