"""The Fine-tune tab."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from .tab import Part, Tab


class FineTuneTab(Tab):
    title = "Fine-tune"

    # The file of examples.
    def upload(self, name: str, text: str) -> None:
        """Add a file of examples as data, and wait until it has been read and checked."""
        self.app.add_data(name, text)
        expect(self.caption).to_contain_text(name)
        self.app.settle()

    def choose_sample(self, sample: str) -> None:
        """Choose one of the samples in the header by its title."""
        self.app.choose_corpus(sample)
        expect(self.verdict).to_be_visible()
        self.app.settle()

    caption = Part("#tune-preview .sb-caption")  # the name of the file and its number of rows, above its first rows
    verdict = Part("#tune-findings .sb-verdict")  # how many rows there are, and of which kind
    changes = Part("#tune-findings .sb-changes")  # what was changed in the file on this page
    command = Part("#tune-command")  # the same training as a line for a terminal

    # The settings.
    def set(self, setting: str, value: str) -> None:
        self.app.fill(f"#tune-{setting}", value)

    def choose_setting(self, setting: str, option: str) -> None:
        """Choose an option of the settings form."""
        self.app.settle()
        self.app.open_section(f"#tune-{setting}")
        self.at(f"#tune-{setting} select").select_option(label=option)
        self.app.settle()

    def judge_by_one_part(self) -> None:
        """Hold out one part of the rows, since folds would train five times more."""
        self.choose_setting("evaluation", "split")

    # The run.
    def start(self) -> None:
        """Press Start with the form as it has settled."""
        self.app.settle()
        self.at("#tune-start").click()

    run = Part("#tune-run")  # the panel of the run that is followed
    run_name = Part("#tune-run .sb-run-head strong")

    def expect_run(self, name: str, status: str) -> None:
        """Wait until the panel shows the run of that name with that status."""
        expect(self.run_name).to_have_text(name)
        expect(self.at(f"#tune-run .sb-badge.sb-{status}")).to_be_visible()

    def expect_steps(self) -> None:
        """Wait until the run has made a step."""
        expect(self.run).to_contain_text(re.compile(r"Step\s*[1-9]"))

    def record_run_names(self) -> None:
        """Note from now on which run the panel shows, however short."""
        self.page.evaluate(
            """() => {
              const panel = document.querySelector("#tune-run"), names = (window.shownRuns = []);
              const note = () => names.push(panel.querySelector(".sb-run-head strong")?.textContent);
              new MutationObserver(note).observe(panel, { childList: true, subtree: true });
            }"""
        )

    def expect_recorded(self, name: str) -> None:
        """Wait until the run of that name has been shown since :meth:`record_run_names`."""
        self.page.wait_for_function("(name) => window.shownRuns.includes(name)", arg=name)

    stop = Part("#tune-stop")
    resume = Part("#tune-resume")

    def use_model(self) -> None:
        self.at("#tune-use").click()

    def runs(self, name: str) -> Locator:
        """The row of a run in the list of the visitor's runs."""
        return self.at("#tune-runs .sb-runs-row").filter(has_text=name)

    def run_actions(self, name: str) -> Locator:
        """What the row of a run offers: the first as a button, the others in its menu."""
        return self.runs(name).locator("[data-action]")

    def act_on_run(self, name: str, action: str) -> None:
        """Choose an action of a run, from its menu if it is not the first one."""
        button = self.runs(name).locator(f"[data-action={action}]")
        expect(button).to_have_count(1)
        if not button.is_visible():
            self.runs(name).locator("summary").click()
        button.click()
