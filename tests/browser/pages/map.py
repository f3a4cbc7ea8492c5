"""The Map tab: the drawing, the list beside it, the labels and the legend."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from .drawn import drawn
from .tab import Part, Tab

Spot = tuple[float, float]
_AT_ONCE = 100  # entries of a list, before its button is pressed


class Scene:
    """A drawn map with the list beside it: in the page, or in an exported file that was opened.

    Attributes:
        root: the element that holds the drawing and the list.
    """

    def __init__(self, page: Page, root: Locator) -> None:
        self.page, self.root = page, root

    # The map, once it is drawn; ``data-drawn`` names its layout, ``data-by`` what colours it, ``data-labels`` the names in sight
    drawing = Part("xpath=descendant-or-self::*[@data-drawn]")
    plot = Part(".sb-plot")
    list = Part(".sb-map-list")  # the list beside the map; its title says what is in it

    @property
    def title(self) -> Locator:
        return self.list.locator("[role=status]")

    @property
    def items(self) -> Locator:
        return self.list.locator("ol li")

    legend = Part(".sb-legend")
    heading = Part(".sb-map-heading-line")  # what the map was made of: data, text columns, model and rows

    def expect_list(self, title: str, count: int) -> None:
        """Wait until the list has the title (or a part of it) and so many entries; a long list is shown by parts."""
        expect(self.title).to_contain_text(title)
        for shown in range(_AT_ONCE, count, _AT_ONCE):
            expect(self.items).to_have_count(shown + 1)  # with the button below them
            self.list.get_by_role("button", name="Show more").click()
        expect(self.items).to_have_count(count)

    def expect_neighbours(self) -> None:
        """Wait until a text and its twelve nearest are listed."""
        expect(self.items).to_have_count(13)
        expect(self.items.first.locator("b")).to_have_text("this text")

    def rest(self) -> None:
        """Wait until nothing moves, a changed width included, and all names are in their places."""
        drawn(self.page)
        expect(self.drawing).to_have_attribute("aria-busy", "false")

    def colour_by(self, name: str) -> None:
        self.root.locator(".sb-map-colour").select_option(name)

    def spot(self, row: int) -> Spot:
        """Where the point of a row lies on the screen."""
        x, y = self.page.evaluate("(row) => SB.map.spot(row)", row)
        return x, y

    def click_point(self, row: int) -> None:
        """Bring the map into sight and click the point of a row."""
        self.plot.scroll_into_view_if_needed()
        self.page.mouse.click(*self.spot(row))

    def drag(self, *spots: Spot) -> None:
        """Press at the first place in the plot, move through the others and release; negative numbers count from its far side."""
        self.plot.scroll_into_view_if_needed()
        box = self.plot.bounding_box()
        assert box is not None

        def on_screen(spot: Spot) -> Spot:
            x, y = spot
            return box["x"] + (x if x >= 0 else box["width"] + x), box["y"] + (y if y >= 0 else box["height"] + y)

        self.page.mouse.move(*on_screen(spots[0]))
        self.page.mouse.down()
        for spot in spots[1:]:
            self.page.mouse.move(*on_screen(spot), steps=6)
        self.page.mouse.up()

    def select_all(self) -> None:
        """Draw a lasso around all points."""
        self.root.get_by_role("button", name="Lasso").click()
        self.drag((4, 4), (-4, 4), (-4, -4), (4, -4), (4, 8))

    def act(self, name: str) -> None:
        """Choose one of the actions above the list."""
        self.list.get_by_text("Actions", exact=True).click()
        self.list.get_by_role("button", name=name).click()

    def open_part(self, name: str) -> None:
        """Show the legend, the filters or the labels."""
        self.root.get_by_role("tab", name=name).click()

    def filter(self, column: str) -> Locator:
        """The filter by a column, opened."""
        self.open_part("Filters")
        found = self.root.locator(f".sb-map-filter[data-column={column!r}]")
        found.evaluate("(box) => { box.open = true; }")
        return found

    filtered = Part(".sb-map-filtered")  # how many texts pass the filters, and the button that clears them

    def find(self, query: str) -> None:
        box = self.root.locator(".sb-map-find")
        box.fill(query)
        box.press("Enter")


class MapTab(Tab):
    title = "Map"

    @property
    def scene(self) -> Scene:
        return Scene(self.page, self.at("#map-view"))

    def draw_file(self, name: str, text: str) -> None:
        """Add data while the map is seen, and wait until it is drawn."""
        self.open()
        self.app.add_data(name, text)
        self.expect_drawn()

    def expect_drawn(self) -> None:
        expect(self.scene.drawing).to_be_visible()

    marks = Part("#map-view .sb-map-marks")  # the labels that were given, the last change, and Undo

    def label(self, name: str) -> Locator:
        """The button of a label that lists its texts."""
        return self.at("#map-view .sb-map-label").filter(has_text=name)

    def label_list(self, name: str) -> None:
        """Give what is listed a label and wait until it stands among the labels."""
        box = self.scene.list.get_by_label("Label these", exact=False)
        box.fill(name)
        box.press("Enter")
        expect(self.label(name)).to_be_visible()

    def act(self, name: str) -> None:
        """Choose one of the actions above the list."""
        self.scene.act(name)

    topic_count = Part("#map-topics input[type=number]")  # the slider for the number of topics

    def set_topic_count(self, key: str) -> None:
        """Press a key on the slider for the number of topics, and wait until the map is drawn again."""
        handle = self.at("#map-topics input[type=range]")
        handle.focus()
        with self.page.expect_request(lambda request: "/queue/join" in request.url):
            handle.press(key)
            handle.dispatch_event("pointerup")
        self.app.settle()
