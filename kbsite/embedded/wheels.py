"""Where the wheels put the servers' programs. Their Python code is never imported."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from .errors import EmbeddedServersError


def program(package: str, pattern: str, *, instead: str) -> Path:
    """The one file of an installed package that matches a glob pattern.

    `instead` names the setting that points to a server of one's own; it goes into the message of
    the EmbeddedServersError that a missing package or program raises.
    """
    try:
        root = Path(str(distribution(package).locate_file("")))
    except PackageNotFoundError:
        raise EmbeddedServersError(
            f"The package {package} is not installed. Install requirements.txt (there are wheels "
            f"for Linux and macOS only), or set {instead} to a server of your own."
        ) from None
    # resolve(): the wheel's programs find their libraries relative to their real path.
    found = next((path.resolve() for path in root.glob(pattern)), None)
    if found is None:
        raise EmbeddedServersError(
            f"The installed package {package} holds no {pattern}: this platform has no complete "
            f"wheel. Reinstall it, or set {instead} to a server of your own."
        )
    return found


def installed_version(package: str) -> str:
    """The version of an installed package, such as '18.6.3'."""
    return distribution(package).version
