"""The mirror: what a home folder holds comes back from a storage that is no disk, whole or not at all."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from tiny_studio import quick, studio_at, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.services.mirror import Manifest, Mirror, open_mirror
from sbert_studio.services.mirror_storage import FileSystem, FolderStorage
from sbert_studio.settings import Settings

UPLOAD = "uploads/visitor-0123456789abcdef/0123456789ab"


class Bucket(FileSystem):
    """A bucket as it is mounted: files are written once, from beginning to end, stored when closed, and seen ``delay`` seconds later.

    ``die_after`` bytes, the process is killed: what was written to the open file is stored, or nothing of it.
    """

    def __init__(self, delay: float = 0.0, die_after: int | None = None, keeps_part: bool = True) -> None:
        self.delay, self.die_after, self.keeps_part = delay, die_after, keeps_part
        self.now = time.time()
        self.opened: list[str] = []

    def open(self, path: Path, mode: str) -> BinaryIO:
        if mode == "rb":
            if not self._is_visible(path):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
            return path.open("rb")
        if mode != "xb":
            raise OSError(errno.EPERM, os.strerror(errno.EPERM), str(path))
        self.opened.append(path.name)
        return _Stored(path, self)

    def list_files(self, folder: Path) -> list[str]:
        return [name for name in super().list_files(folder) if self._is_visible(folder / name)]

    def rename(self, path: Path, target: Path) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), str(path))

    def _is_visible(self, path: Path) -> bool:
        return path.exists() and (not self.delay or self.now >= path.stat().st_mtime + self.delay)


class KilledError(BaseException):
    pass


class _Stored(io.BytesIO):
    def __init__(self, path: Path, bucket: Bucket) -> None:
        super().__init__()
        self._path, self._bucket = path, bucket

    def write(self, block: Any) -> int:
        if self._bucket.die_after is not None:
            self._bucket.die_after -= len(block)
            if self._bucket.die_after < 0:
                if self._bucket.keeps_part:
                    self._path.write_bytes(self.getvalue() + bytes(block)[: len(block) // 2])
                self._path = Path(os.devnull)
                raise KilledError
        return super().write(block)

    def close(self) -> None:
        if not self.closed and self._path != Path(os.devnull):
            self._path.write_bytes(self.getvalue())
            os.utime(self._path, (self._bucket.now, self._bucket.now))
        super().close()


def write_upload(home: Path, unit: str = UPLOAD, text: str = "a cat\na dog\n", **about: Any) -> Path:
    folder = home / unit
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "texts.txt").write_text(text)
    (folder / "about.json").write_text(json.dumps({"name": "texts.txt", "file": "texts.txt", "column": "text", "used": 1.0, **about}))
    return folder


def content(home: Path) -> dict[str, bytes]:
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


@pytest.fixture
def mirror_of(tmp_path: Path) -> Callable[..., Mirror]:
    """A function that makes the mirror of a home folder, in one bucket."""

    def make(home: Path, bucket: FileSystem | None = None, **options: Any) -> Mirror:
        home.mkdir(exist_ok=True)
        return Mirror(home, lambda: FolderStorage(tmp_path / "bucket", bucket or Bucket()), **options)

    return make


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[tuple[Studio, str]]:
    """A studio with a finished run. Read only."""
    folder = tmp_path_factory.mktemp("mirrored")
    with studio_at(folder / "home", tiny_model) as studio:
        yield studio, studio.fine_tune.train(TrainRequest(write_pairs(folder / "pairs.csv"), overrides=quick(), name="Mine")).id


def test_a_run_comes_back_from_a_bucket_as_it_was(
    trained: tuple[Studio, str], mirror_of: Callable[..., Mirror], tmp_path: Path, tiny_model: Path
) -> None:
    studio, run_id = trained
    mirror = mirror_of(studio.workspace.home)
    assert mirror.sync() >= 1 and mirror.sync() == 0
    (studio.workspace.home / "vectors").mkdir(exist_ok=True)
    assert mirror_of(tmp_path / "again").restore() >= 1
    with studio_at(tmp_path / "again", tiny_model) as again:
        before, after = studio.store.get(run_id), again.store.get(run_id)
        assert (after.name, after.status, after.after) == ("Mine", "finished", before.after)
        assert after.model_path == again.workspace.run(run_id) / "model"
        assert (again.catalog.load(run_id).encode(["cat"]) == studio.catalog.load(run_id).encode(["cat"])).all()
        assert again.store.events(run_id) == studio.store.events(run_id)
    again_mirror = mirror_of(tmp_path / "again")
    assert not list((tmp_path / "again").rglob(".part-*"))
    assert again_mirror.restore() == 0, "what is there stays"


def test_an_active_run_and_caches_are_not_mirrored(trained: tuple[Studio, str], mirror_of: Callable[..., Mirror], tmp_path: Path) -> None:
    studio, run_id = trained
    home = tmp_path / "home"
    shutil.copytree(studio.workspace.run(run_id), home / "runs" / run_id)
    (home / "vectors").mkdir()
    (home / "vectors/x.npy").write_bytes(b"x")
    active = {run_id}
    mirror = mirror_of(home, list_active=lambda: active)
    assert mirror.sync() == 0
    active.clear()
    assert mirror.sync() == 1


def test_changes_and_deletions_are_mirrored_without_writing_twice(mirror_of: Callable[..., Mirror], tmp_path: Path) -> None:
    bucket, home = Bucket(), tmp_path / "home"
    folder = write_upload(home)
    mirror = mirror_of(home, bucket)
    mirror.sync()
    assert len(bucket.opened) == 3
    write_upload(home, column="other")
    mirror.sync()
    assert len(bucket.opened) == 5, "only what has changed, and the manifest"
    mirror.prune()
    assert len(list((tmp_path / "bucket/manifests").iterdir())) == 1
    mirror_of(tmp_path / "second").restore()
    assert content(tmp_path / "second") == content(home)
    shutil.rmtree(folder)
    mirror.sync()
    assert mirror_of(tmp_path / "third").restore() == 0
    mirror.prune(time.time() + 90_000)
    mirror.prune(time.time() + 90_000)
    assert not [path for path in (tmp_path / "bucket").rglob("*") if path.is_file()], "a day later nothing is left of it"


def test_a_truncated_file_is_named_and_not_restored(
    mirror_of: Callable[..., Mirror], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_upload(tmp_path / "home")
    mirror_of(tmp_path / "home").sync()
    stored = next((tmp_path / "bucket/content").iterdir())
    os.truncate(stored, stored.stat().st_size // 2)
    assert mirror_of(tmp_path / "again").restore() == 0 and not content(tmp_path / "again")
    assert UPLOAD in caplog.text and "a checksum differs" in caplog.text


def test_what_was_deleted_between_two_starts_is_not_restored(mirror_of: Callable[..., Mirror], tmp_path: Path) -> None:
    home, record = tmp_path / "home", tmp_path / "mirror.json"
    write_upload(home)
    mirror_of(home, record=record).sync()
    bucket = Bucket()
    again = mirror_of(home, bucket, record=record)
    assert again.restore() == again.sync() == len(bucket.opened) == 0, "nothing is written again"
    shutil.rmtree(home / UPLOAD)
    last = mirror_of(home, record=record)
    assert last.restore() == 0 and last.sync() == 1
    assert mirror_of(tmp_path / "other").restore() == 0


@pytest.mark.parametrize("keeps_part", [True, False])
def test_killed_at_any_byte_nothing_half_written_is_restored(mirror_of: Callable[..., Mirror], tmp_path: Path, keeps_part: bool) -> None:
    home = tmp_path / "home"
    write_upload(home)
    mirror_of(home).sync()
    earlier = content(home)
    write_upload(home, text="a bird\na fish\na whale\n", column="other")
    later, whole = content(home), 0

    def restored(number: int) -> dict[str, bytes]:
        target = tmp_path / f"home-{number}"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        Mirror(target, lambda: FolderStorage(tmp_path / f"bucket-{number}", Bucket())).restore()
        return content(target)

    for number, died in enumerate(range(0, 800, 29)):
        saved = shutil.copytree(tmp_path / "bucket", tmp_path / f"bucket-{number}")
        bucket = Bucket(die_after=died, keeps_part=keeps_part)
        with suppress(KilledError):
            Mirror(home, lambda saved=saved, bucket=bucket: FolderStorage(saved, bucket)).sync()  # type: ignore[misc]
            whole += 1
        assert restored(number) == (later if bucket.die_after >= 0 else earlier)  # type: ignore[operator]
        Mirror(home, lambda saved=saved: FolderStorage(saved, Bucket())).sync()  # type: ignore[misc]
        assert restored(number) == later, "the next start completes it"
    assert 0 < whole < number


def test_writes_seen_ten_seconds_later_lose_nothing(mirror_of: Callable[..., Mirror], tmp_path: Path) -> None:
    home, bucket = tmp_path / "home", Bucket(delay=10.0)
    write_upload(home)
    mirror = mirror_of(home, bucket)
    mirror.sync()
    mirror.prune()
    assert mirror_of(tmp_path / "too-early", bucket).restore() == 0
    bucket.now += 11
    first = content(home)
    write_upload(home, text="a bird\n", used=2.0)
    mirror.sync()
    mirror.prune()  # the new version is not visible: the earlier one is kept
    mirror_of(tmp_path / "early", bucket).restore()
    assert content(tmp_path / "early") == first
    bucket.now += 11
    mirror.prune()
    mirror_of(tmp_path / "late", bucket).restore()
    assert content(tmp_path / "late") == content(home)


def test_the_probe_says_in_a_sentence_what_the_folder_can_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = FolderStorage(tmp_path / "plain").probe()
    assert "append: yes, overwrite: yes, rename: yes, delete: yes" in plain and "after 0.0 s" in plain
    assert not list((tmp_path / "plain").iterdir())
    bucket = Bucket(delay=10.0)

    def sleep(seconds: float) -> None:
        bucket.now += seconds

    monkeypatch.setattr("time.sleep", sleep)
    monkeypatch.setattr("time.monotonic", lambda: bucket.now)
    found = FolderStorage(tmp_path / "bucket", bucket).probe()
    assert "append: no, overwrite: no, rename: no, delete: yes" in found and "after 10" in found


@pytest.mark.parametrize(
    ("unit", "path", "stored"),
    [
        ("runs/../x", "a", "content/a"),
        ("/etc", "a", "content/a"),
        ("hub/x", "a", "content/a"),
        (UPLOAD, "../a", "content/a"),
        (UPLOAD, "/a", "content/a"),
        (UPLOAD, "b/../../a", "content/a"),
        (UPLOAD, "a", "../secret"),
        (UPLOAD, "a", "content/.."),
    ],
)
def test_a_manifest_names_no_file_outside_its_unit(unit: str, path: str, stored: str) -> None:
    file = {"path": path, "content": stored, "sha256": "0", "bytes": 1}
    with pytest.raises(ValueError):
        Manifest.parse(json.dumps({"unit": unit, "files": [file], "is_deleted": False}).encode(), "x")


def test_the_home_of_an_earlier_version_moves_once(mirror_of: Callable[..., Mirror], tmp_path: Path) -> None:
    old, said = tmp_path / "old", list[str]()
    write_upload(old)
    (old / "vectors").mkdir()
    (old / "secret").write_bytes(b"s" * 32)
    before = {name: text for name, text in content(old).items() if not name.startswith("vectors")}
    mirror = mirror_of(tmp_path / "home", report=said.append)
    assert mirror.restore(old) == 2
    assert old.exists(), "it is deleted once everything is in the mirror"
    mirror.sync()
    assert not old.exists() and "moved" in said[0]
    assert content(tmp_path / "home") == before
    shutil.rmtree(tmp_path / "home" / UPLOAD)
    mirror.sync()
    write_upload(old)  # as if it could not be deleted
    again = mirror_of(tmp_path / "again")
    assert again.restore(old) == 1, "a deleted upload does not come back"
    assert (tmp_path / "again" / "secret").stat().st_mode & 0o077 == 0, "others cannot read the secret"


def test_a_space_has_its_home_on_the_local_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: Path) -> None:
    monkeypatch.setattr("sbert_studio.settings._SPACE_STORAGE", tmp_path / "data")
    space = {"SPACE_ID": "a/b", "XDG_DATA_HOME": str(tmp_path / "local")}
    assert Settings.from_env(space).ephemeral and not Settings.from_env(space).mirror
    (tmp_path / "data").mkdir()
    found = Settings.from_env(space)
    assert (found.home, found.ephemeral) == (tmp_path / "local/sbert-studio", False)
    assert (found.mirror, found.old_home) == (str(tmp_path / "data/sbert-studio-mirror"), tmp_path / "data/sbert-studio")
    assert not Settings.from_env({**space, "SBERT_STUDIO_HOME": str(tmp_path / "data/own")}).mirror
    assert Settings.from_env({**space, "SBERT_STUDIO_HOME": str(tmp_path / "elsewhere")}).mirror == found.mirror
    with studio_at(tmp_path / "home", tiny_model, mirror=str(tmp_path / "a file")) as studio:
        (tmp_path / "a file").write_text("")
        mirror, said = open_mirror(studio, lambda text: None), list[str]()
        assert mirror is not None
        with pytest.raises((StudioError, OSError)):
            mirror.storage.probe()
    assert not said
    with studio_at(tmp_path / "home", tiny_model, mirror="hf://datasets/only-a-name") as studio:
        with pytest.raises(StudioError, match="address of a public dataset") as caught:
            open_mirror(studio, said.append)
        assert "SBERT_STUDIO_MIRROR" in caught.value.hint
