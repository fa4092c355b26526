"""The page: whole without a network, in a real browser, and in both languages."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from lives import Lives, answered, requested
from population import land, people
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.queries.every import every, facts
from elicitation_receipts.queries.page.build import page
from elicitation_receipts.queries.page.words import Language, words
from elicitation_receipts.schemas.vocabulary import Outcome

K = 11


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[Language, Path]:
    """A page in each language, of a population, as an auditor may see it."""
    folder = tmp_path_factory.mktemp("pages")
    catalogue = Catalogue()
    with land(people(300, seed=7), folder).read() as database:
        reports = every(catalogue, database, {}, K)
        known = facts(database, reports)
    made = {}
    for language in Language:
        made[language] = folder / f"{language}.html"
        text = page(catalogue, reports, known, language)
        made[language].write_text(text, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("no Chromium here: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    yield opened
    opened.quit()


class Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("language", Language)
def test_it_stands_alone(language: Language, pages: dict[Language, Path]) -> None:
    text = pages[language].read_text(encoding="utf-8")
    elements = Elements(text).found
    assert not [tag for tag, _ in elements if tag in ("script", "img", "iframe", "object")]
    for _, attributes in elements:
        for name in ("src", "href", "xlink:href", "action"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,"))
    assert not re.search(r"url\((?!#)", text)
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("language", Language)
def test_it_says_all_there_is_to_know(language: Language, pages: dict[Language, Path]) -> None:
    text = pages[language].read_text(encoding="utf-8")
    said = words(language)
    assert f'<html lang="{language}">' in text
    assert "house 1.0" in text
    for question in Catalogue().questions.values():
        assert said.title(question).replace("'", "&#39;") in text
    for name in ("title", "unchecked_chain", "guarantee_text", "marks_text"):
        assert said.page[name].split("'")[0].split("<")[0].split(">")[0] in text
    assert "&lt;11" in text


def test_each_language_says_everything() -> None:
    english, spanish = words(Language.EN), words(Language.ES)
    assert english.page.keys() == spanish.page.keys()
    assert spanish.questions.keys() == Catalogue().questions.keys()
    assert all(one.keys() == {"title", "answers"} for one in spanish.questions.values())


def test_names_from_the_wire_are_text(lives: Lives, catalogue: Catalogue) -> None:
    """No identifier can be markup; were one, it would be shown and not obeyed."""
    lives.add(requested(), answered(Outcome.ACCEPTED), policy_id="<script>alert(1)</script>")
    reports = every(catalogue, lives.connection, {}, None)
    text = page(catalogue, reports, facts(lives.connection, reports), Language.EN)
    assert "<script" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.slow
@pytest.mark.parametrize("language", Language)
def test_a_browser_has_nothing_to_complain_of(
    language: Language, pages: dict[Language, Path], browser: Any
) -> None:
    browser.get_log("performance")
    browser.get(pages[language].as_uri())
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    }
    assert asked - {"data:,"} == {pages[language].as_uri()}
    assert len(browser.find_elements(By.TAG_NAME, "svg")) > 10


@pytest.mark.slow
def test_it_fits_a_phone_the_dark_and_a_keyboard(pages: dict[Language, Path], browser: Any) -> None:
    browser.get(pages[Language.EN].as_uri())
    light = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    shown = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert shown != light
    phone = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    focused = browser.switch_to.active_element
    assert focused.get_attribute("href").endswith("#reports")
    names = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = [(node["role"]["value"], node.get("name", {}).get("value")) for node in names]
    regions = [name for role, name in roles if role == "region"]
    assert len(regions) > 10
    assert all(regions)
    assert all(name for role, name in roles if role == "image")
