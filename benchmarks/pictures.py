"""Take the pictures of the README and of docs/ from a running demo with all its documents.

    make demo                                         # in another terminal
    make pictures
    make pictures ARGS="--site http://127.0.0.1:8001 --only result weighing"

Needs Chromium, as the browser tests do. The password of the demo's administrator is asked for, or
read from DEMO_PASSWORD. The workbench measures the golden queries, which stores their candidates;
no draft is saved.

Each picture is taken in the light and the dark scheme, with 2 device pixels a CSS pixel. `weighing`
moves, and is light. Fails if the files exceed the limits below.
"""

from __future__ import annotations

import argparse
import getpass
import io
import os
import re
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote_plus

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

Scheme = Literal["light", "dark"]

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
STILLS_BYTES = 1_500_000
MOVING_BYTES = 1_000_000
MOVING_WIDTH = 960
# Frames of the slider on its way to the right; half as many on its way back.
STEPS = 12
MOVE_MILLISECONDS = 120
HOLD_MILLISECONDS = 1_800
# The candidates of all golden queries are searched by a worker first.
expect.set_options(timeout=120_000)

ANSWERED = f"/?q={quote_plus('how do I avoid one query for each related object')}"
# A golden query in other words than its answer's, which keywords lose.
CONTESTED = quote_plus("visitors should see the site in their own language")
COLLECTIONS = "collection=django-documentation&collection=samples"
WORKBENCH = f"/admin/search/workbench/?q={CONTESTED}&{COLLECTIONS}"


@dataclass(frozen=True, slots=True)
class Picture:
    """A page, the size of its window in CSS pixels, and its preparation.

    `prepare` returns the part for the picture, or None for the window.
    """

    name: str
    address: str
    size: tuple[int, int]
    prepare: Callable[[Page], Locator | None]

    @property
    def needs_account(self) -> bool:
        return self.address.startswith("/admin/")


def result(page: Page) -> None:
    """The answer, and the first result with its explanation."""
    answer(page)
    first = page.locator(".result").first
    first.locator(".why summary").click()
    expect(first.locator(".figures")).to_be_visible()


def answer(page: Page) -> Locator:
    """The answer, in the first result or above the results."""
    return page.locator("article.answer")


def workbench(page: Page) -> None:
    """Both rankings and the leading measures, with much weight on keywords."""
    measured(page)
    pull(page, 0.8)


def golden(page: Page) -> Locator:
    """The measures under that draft."""
    workbench(page)
    return page.locator("section[aria-labelledby=wb-measured]")


def measured(page: Page) -> None:
    """Wait for the measures, for which candidates are retrieved if necessary.

    Below the bar that stays in sight the window begins with the sliders.
    """
    settled(page)
    rebuild = page.get_by_role("button", name="Measure now")
    if rebuild.is_visible():
        rebuild.click()
    expect(page.locator("#wb-measures")).to_contain_text("measured as by real searches")
    settled(page)
    page.locator("#wb-form").evaluate(
        """form => scrollBy(0, form.getBoundingClientRect().top - 8
            - document.querySelector(".wb-bar-top").offsetHeight)"""
    )


def settled(page: Page) -> None:
    for part in ("rankings", "measures"):
        expect(page.locator(f"#wb-{part}")).to_have_attribute("aria-busy", "false")


def keywords(page: Page) -> Locator:
    """The slider of the keywords of the visible class; its unit is a ten-thousandth."""
    return page.locator(".wb-class:not([hidden]) .sy-share[data-signal=keyword] [type=range]")


def pull(page: Page, weight: float) -> None:
    """Move the keywords' slider to a new weight, a multiple of .01, and wait for the measures."""
    with page.expect_response(re.compile("/workbench/measures/")):
        keywords(page).fill(str(round(weight * 100) * 100))
    settled(page)


PICTURES = (
    Picture("result", ANSWERED, (1120, 1260), result),
    Picture("answer", ANSWERED, (1120, 1000), answer),
    Picture("workbench", WORKBENCH, (1200, 1000), workbench),
    Picture("golden", WORKBENCH, (1200, 900), golden),
)
MOVING = Picture("weighing", WORKBENCH, (1200, 1000), measured)


@contextmanager
def opened(
    browser: Browser, site: str, picture: Picture, scheme: Scheme, password: str
) -> Iterator[Page]:
    """The picture's page, before it is prepared."""
    context = browser.new_context(
        base_url=site,
        viewport={"width": picture.size[0], "height": picture.size[1]},
        device_scale_factor=2,
        color_scheme=scheme,
        reduced_motion="reduce",
        locale="en-GB",
    )
    page = context.new_page()
    if picture.needs_account:
        sign_in(page, password)
    page.goto(picture.address)
    yield page
    context.close()


def sign_in(page: Page, password: str) -> None:
    """Raises SystemExit if the password is another."""
    page.goto("/admin/login/")
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_load_state()
    if "/login/" in page.url:
        raise SystemExit(
            "That is not the password of admin; `make demo` says how to set a new one."
        )


def image_of(page: Page, part: Locator | None = None) -> Image.Image:
    # An element is shown without the bar that stays in sight.
    shot = part.screenshot(style=".wb-bar-top { position: static }") if part else page.screenshot()
    return Image.open(io.BytesIO(shot)).convert("RGB")


def still(page: Page, picture: Picture) -> bytes:
    """The picture as a lossless file of 256 colours.

    It has half the size of a lossy one at quality 80, and letters stay sharp. The octree keeps the
    colours of the signals, which a median cut loses: they fill few pixels.
    """
    image = image_of(page, picture.prepare(page))
    few = image.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    return webp(few.convert("RGB"), lossless=True, quality=100)


def moving(page: Page) -> bytes:
    """The keywords' slider pulled to its end and back, over and over."""
    MOVING.prepare(page)
    start = int(keywords(page).input_value()) / 10_000
    there = [start + (1 - start) * step / STEPS for step in range(1, STEPS + 1)]
    frames = [image_of(page)]
    for weight in (*there, *reversed(there[1:-1:2]), start):
        pull(page, weight)
        frames.append(image_of(page))
    size = (MOVING_WIDTH, round(frames[0].height * MOVING_WIDTH / frames[0].width))
    first, *others = (each.resize(size, Image.Resampling.LANCZOS) for each in frames)
    times = [
        HOLD_MILLISECONDS if at in (0, STEPS) else MOVE_MILLISECONDS for at in range(len(frames))
    ]
    return webp(first, save_all=True, append_images=others, duration=times, loop=0, quality=80)


def webp(image: Image.Image, **options: Any) -> bytes:
    written = io.BytesIO()
    image.save(written, "WEBP", method=6, **options)
    return written.getvalue()


def write(name: str, content: bytes) -> None:
    (FOLDER / f"{name}.webp").write_bytes(content)
    print(f"{name}.webp  {len(content) / 1000:.0f} kB")


def check_sizes() -> None:
    """Raises SystemExit if the files exceed the limits."""
    sizes = {file.stem: file.stat().st_size for file in FOLDER.glob("*.webp")}
    moved = sizes.pop(MOVING.name, 0)
    print(f"together {sum(sizes.values()) / 1000:.0f} kB, and {moved / 1000:.0f} kB that move")
    if sum(sizes.values()) > STILLS_BYTES or moved > MOVING_BYTES:
        raise SystemExit(f"Limits: {STILLS_BYTES:,} bytes together, {MOVING_BYTES:,} that move.")


def require_demo(site: str) -> None:
    """Raises SystemExit, saying what to run, unless the site answers."""
    # It is on this machine: proxies in the environment are ignored.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        opener.open(f"{site}/api/v1/collections/", timeout=10).close()
    except OSError as error:
        raise SystemExit(
            f"No demo answers at {site}: {error}. Run `make demo` in another terminal. If it "
            "prints another address: make pictures ARGS='--site http://127.0.0.1:8001'"
        ) from None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--site", default="http://127.0.0.1:8000", help="as `make demo` prints it")
    names = [each.name for each in (*PICTURES, MOVING)]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    options = parser.parse_args()
    require_demo(options.site)
    password = os.environ.get("DEMO_PASSWORD") or getpass.getpass("The password of admin: ")
    FOLDER.mkdir(exist_ok=True)
    named = os.environ.get("CHROMIUM", "")
    programs = (named, "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, programs)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        for picture in (each for each in PICTURES if each.name in options.only):
            for scheme in SCHEMES:
                with opened(browser, options.site, picture, scheme, password) as page:
                    write(f"{picture.name}-{scheme}", still(page, picture))
        if MOVING.name in options.only:
            with opened(browser, options.site, MOVING, "light", password) as page:
                write(MOVING.name, moving(page))
    check_sizes()


if __name__ == "__main__":
    main()
