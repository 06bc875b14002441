"""What ci/rocm-programs and ci/models share: packages of another suite of Debian, unpacked below a folder and installed nowhere, and
files of PyPI."""
import os
import sys

from systems import MIRROR, call

KEY = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg"

# Where the libraries of a root lie.
LIBRARIES = "usr/lib/x86_64-linux-gnu"


class Roots:
    """Folders with Debian's packages of another suite, unpacked. `roots` says of each name the suites, further flags of apt and the
    packages."""

    def __init__(self, cache, roots):
        self.cache, self.roots = cache, roots

    def get(self, name):
        """The root of that name, downloaded where it is not there yet."""
        suites, flags, packages = self.roots[name]
        place = self.cache / name
        root, done = place / "root", place / "done"
        if not done.exists():
            state = place / "apt"
            for folder in ["state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d", "etc/none"]:
                (state / folder).mkdir(parents=True, exist_ok=True)
            (state / "state/status").touch()
            (state / "etc/sources.list").write_text("".join(f"deb [{KEY}] {MIRROR} {suite} main\n" for suite in suites))
            # A machine's clock may be ahead of a mirror's; signatures are checked all the same.
            (place / "apt.conf").write_text(
                f'Dir::State "{state}/state"; Dir::State::status "{state}/state/status";\n'
                f'Dir::Cache "{state}/cache"; Dir::Etc "{state}/etc"; Dir::Etc::sourceparts "none";\n'
                'Acquire::Check-Valid-Until "false"; Acquire::Languages "none"; APT::Sandbox::User "root";\n'
            )
            environment = {**os.environ, "APT_CONFIG": str(place / "apt.conf")}
            call("apt-get", "update", env=environment)
            install = ["apt-get", "install", "-y", "--download-only", "--no-install-recommends", *flags, *packages]
            call(*install, env=environment)
            for package in sorted((state / "cache/archives").glob("*.deb")):
                call("dpkg", "-x", package, root)
                with open(place / "have", "a") as have:
                    have.write(package.name + "\n")
                package.unlink()
            done.touch()
        return root

    def has(self, name):
        """Whether the root of that name was begun."""
        return (self.cache / name / "have").exists()

    def versions(self, name):
        """Name and version of the packages that were asked for."""
        have = (self.cache / name / "have").read_text().split()
        found = [entry.replace("%3a", ":").rsplit("_", 1)[0].split("_") for entry in have]
        wanted = self.roots[name][2]
        return sorted({f"{package} {version}" for package, version in found if package in wanted})


def of_pypi(cache, requirement, *flags):
    """The file of a package of PyPI below the cache."""
    name, version = requirement.split("==")
    pattern = f"{name.replace('-', '_')}-{version}[-.]*"
    if not list(cache.glob(pattern)):
        call(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *flags, "--dest", cache, requirement)
    return next(cache.glob(pattern))
