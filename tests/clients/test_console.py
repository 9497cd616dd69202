"""The page for people, in headless Chromium; screenshots are kept, also at a phone's width."""

import os
import unittest

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from board import OUTPUT, PATIENCE, Board

# Nothing else of this page may be asked for: a browser that looks up other hosts says so in its log.
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-quic",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]
PHONE = (390, 844)
DESK = (1280, 900)


class Console(Board):
    def setUp(self):
        super().setUp()
        planner = self.bundle / "planner" / "SKILL.md"
        self.change("planner", "# Planner", "# Planner, as the user has it")
        self.change("research", "# Research", "# The user's research")
        # Both sides have changed the title: no engine without a model can settle that.
        planner.write_text(planner.read_text().replace("# Planner", "# Planner of the new firmware", 1))
        self.serve("--engine", "structural", "--console", "127.0.0.1:0")
        self.address = self.said("The page for people is at ")
        options = webdriver.ChromeOptions()
        options.binary_location = os.environ.get("AIDEN_CHROMIUM", "/usr/bin/chromium")
        for flag in [*FLAGS, f"--user-data-dir={self.root / 'browser'}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(os.environ.get("AIDEN_CHROMEDRIVER", "/usr/bin/chromedriver"))
        self.browser = webdriver.Chrome(options, service)
        self.addCleanup(self.browser.quit)

    def until(self, what, holds):
        return WebDriverWait(self.browser, PATIENCE).until(lambda _: holds(), what)

    def open(self, address, size=DESK):
        self.browser.set_window_size(*size)
        self.browser.get(address)

    def card(self, name):
        return self.browser.find_element(By.CSS_SELECTOR, f'article[data-name="{name}"]')

    def button(self, name, label):
        for button in self.card(name).find_elements(By.TAG_NAME, "button"):
            if button.text == label:
                return button
        self.fail(f"{name} has no button {label}")

    def confirm(self, yes):
        self.until("a question", lambda: self.browser.find_element(By.ID, "confirm").is_displayed())
        self.browser.find_element(By.CSS_SELECTOR, f'#confirm button[value="{yes}"]').click()

    def notice(self):
        return self.browser.find_element(By.ID, "notice").text

    def keep(self, name, card=None):
        if card:
            self.browser.execute_script("arguments[0].scrollIntoView()", self.card(card))
        OUTPUT.mkdir(parents=True, exist_ok=True)
        self.assertTrue(self.browser.save_screenshot(str(OUTPUT / f"{name}.png")))

    def is_loaded(self):
        return len(self.browser.find_elements(By.CSS_SELECTOR, "article")) == 7

    def test_skills_are_listed_compared_and_reset_after_a_confirmation(self):
        self.open(self.address)
        self.until("the skills", self.is_loaded)
        self.assertNotIn("token", self.browser.current_url, "the token leaves the address bar")
        self.assertIn("merge_skipped", self.card("planner").text.replace("merge_needed", "merge_skipped"))
        self.keep("list")
        self.button("planner", "Compare").click()
        self.until("three sides", lambda: len(self.card("planner").find_elements(By.TAG_NAME, "pre")) == 3)
        added = [line.text for line in self.card("planner").find_elements(By.CSS_SELECTOR, "pre .added")]
        self.assertEqual(added, ["# Planner of the new firmware", "# Planner, as the user has it"])
        sides = self.card("planner").find_elements(By.CSS_SELECTOR, ".sides > div")
        self.assertEqual(len({side.location["y"] for side in sides}), 1, "side by side")
        self.keep("compare", "planner")
        changed = self.text("research")
        self.button("research", "Reset").click()
        self.confirm("no")
        self.assertEqual(self.text("research"), changed, "nothing without a confirmation")
        self.button("research", "Reset").click()
        self.confirm("yes")
        self.until("a notice", lambda: "as the firmware ships it again" in self.notice())
        self.assertIn("# Research\n", self.text("research"))
        self.button("research", "Archive").click()
        self.confirm("yes")
        self.until("a notice", lambda: "as archived" in self.notice())
        self.assertIn("archived", self.card("research").text)
        self.button("planner", "Merge").click()
        self.confirm("yes")
        self.until("a notice", lambda: "is not merged" in self.notice())
        self.assertIn("Last merge failed", self.card("planner").text)
        self.keep("merge-failed", "planner")
        self.assertEqual(self.browser.get_log("browser"), [], "no fault, and nothing asked of others")

    def test_it_is_read_on_a_phone(self):
        self.open(self.address, PHONE)
        self.until("the skills", self.is_loaded)
        width = self.browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(width[0], width[1], "nothing to scroll sideways")
        self.keep("phone-list")
        self.button("planner", "Compare").click()
        self.until("three sides", lambda: len(self.card("planner").find_elements(By.TAG_NAME, "pre")) == 3)
        sides = self.card("planner").find_elements(By.CSS_SELECTOR, ".sides > div")
        self.assertEqual(len({side.location["y"] for side in sides}), 3, "one below the other")
        width = self.browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(width[0], width[1])
        for button in self.card("planner").find_elements(By.TAG_NAME, "button"):
            self.assertGreaterEqual(button.size["height"], 40, "large enough for a finger")
        self.keep("phone-compare", "planner")

    def test_without_the_token_it_shows_nothing(self):
        before = self.text("research")
        self.open(self.address.split("#")[0])
        self.until("a notice", lambda: "needs the token" in self.notice())
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "article"), [])
        self.keep("no-token")
        script = "return fetch('/api/skills/research/reset', {method: 'POST'}).then(said => said.status)"
        self.assertEqual(self.browser.execute_script(script), 401)
        self.assertEqual(self.text("research"), before)

    def test_what_a_skill_says_is_text_and_no_markup(self):
        evil = self.agent / "skills" / "evil"
        evil.mkdir()
        (evil / "SKILL.md").write_text(
            "---\nname: evil\ndescription: \"<img src=x onerror=alert(1)><script>alert(2)</script>\"\n---\n<b>x</b>\n"
        )
        self.open(self.address)
        self.until("the skills", lambda: len(self.browser.find_elements(By.CSS_SELECTOR, "article")) == 8)
        self.assertIn("<img src=x onerror=alert(1)>", self.card("evil").text)
        self.assertEqual(self.browser.find_elements(By.TAG_NAME, "img"), [])


if __name__ == "__main__":
    unittest.main()
