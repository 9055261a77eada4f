#!/usr/bin/env python3
"""Makes the packages of packaging/README.md from a build, and compiles and runs a program with each in an empty folder.

usage: tools/check packages BUILD_FOLDER [--conan]; --conan also builds the Conan package, which compiles the library
again. Turns FULGURITE_STATIC and FULGURITE_BUNDLE on in the build folder, and off at the end.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAM = HERE / "consumer" / "main.cpp"


def run(*command: object, **options) -> str:
    """Runs a command; its output if it succeeds, else the whole check ends with it."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(
            f"{' '.join(str(part) for part in command)}\nfailed with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def passed(form: str, what: str = "") -> None:
    print(f"passed {form}{': ' + what if what else ''}", flush=True)


def run_with(libraries: pathlib.Path, program: pathlib.Path) -> None:
    run(
        program,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/tmp"), "LD_LIBRARY_PATH": str(libraries)},
    )


def flags(prefix: pathlib.Path, *options: str) -> list[str]:
    folder = next(prefix.rglob("fulgurite.pc")).parent
    return run(
        "pkg-config", *options, "fulgurite", env={"PATH": os.environ["PATH"], "PKG_CONFIG_PATH": str(folder)}
    ).split()


def compile_and_run(prefix: pathlib.Path, folder: pathlib.Path, compiler: str) -> None:
    """With pkg-config, against the shared library."""
    program = folder / "program"
    run(compiler, "-O1", *flags(prefix, "--cflags"), PROGRAM, "-o", program, *flags(prefix, "--libs"))
    run_with(next(prefix.rglob("libfulgurite.so")).parent, program)


def check_install(build: pathlib.Path, folder: pathlib.Path, compiler: str) -> None:
    prefix = folder / "prefix"
    run("cmake", "--install", build, "--prefix", prefix)
    compile_and_run(prefix, folder, compiler)
    passed("pkg-config")
    program = folder / "static"
    libraries = [flag for flag in flags(prefix, "--libs", "--static") if flag != "-lfulgurite"]
    run(
        compiler,
        "-O1",
        *flags(prefix, "--cflags"),
        PROGRAM,
        "-o",
        program,
        next(prefix.rglob("libfulgurite.a")),
        *libraries,
    )
    linked = run("ldd", program)
    if "libfulgurite" in linked:
        sys.exit("the static program needs the shared library")
    run_with(folder, program)
    passed("static library", f"a program of {program.stat().st_size >> 20} MB")
    project = folder / "project"
    project.mkdir()
    shutil.copy(PROGRAM, project)
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nfind_package(fulgurite CONFIG REQUIRED)\n"
        "add_executable(p main.cpp)\ntarget_link_libraries(p PRIVATE fulgurite::static)\n"
    )
    run(
        "cmake",
        "-S",
        project,
        "-B",
        project / "build",
        f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={compiler}",
    )
    run("cmake", "--build", project / "build")
    run(project / "build" / "p")
    passed("CMake target fulgurite::static")


def check_deb(build: pathlib.Path, folder: pathlib.Path, compiler: str) -> None:
    if not shutil.which("dpkg-shlibdeps"):
        print("skipped Debian: dpkg-dev is not installed")
        return
    run("cpack", "-G", "DEB", "--config", build / "CPackConfig.cmake", "-B", folder / "deb")
    package = next((folder / "deb").glob("*.deb"))
    depends = run("dpkg-deb", "-f", package, "Depends")
    if "libdnnl" not in depends or "libstdc++6" not in depends:
        sys.exit(f"the Debian package depends on {depends}")
    root = folder / "root"
    run("dpkg-deb", "-x", package, root)
    compile_and_run(root, folder, compiler)
    passed("Debian", f"{package.name}, {package.stat().st_size >> 20} MB")


def check_bundle(build: pathlib.Path, folder: pathlib.Path) -> None:
    run("cpack", "-G", "TGZ", "--config", build / "CPackConfig.cmake", "-B", folder / "tgz")
    archive = next((folder / "tgz").glob("*.tar.gz"))
    away = folder / "unpacked" / "anywhere"
    away.mkdir(parents=True)
    run("tar", "xzf", archive, "-C", away)
    program = next(away.rglob("bin/fulgurite"))
    outside = [line for line in run("ldd", program).splitlines() if "dnnl" in line or "gomp" in line or "pcre2" in line]
    if not outside or any(str(away) not in line for line in outside):
        sys.exit("the archive's program finds libraries elsewhere:\n" + "\n".join(outside))
    run(program, "trace", "linear")
    passed("archive", f"{archive.name}, {archive.stat().st_size >> 20} MB")


def check_fetch_content(folder: pathlib.Path, compiler: str) -> None:
    project = folder / "fetch"
    project.mkdir()
    shutil.copy(PROGRAM, project)
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\ninclude(FetchContent)\n"
        f"FetchContent_Declare(fulgurite SOURCE_DIR {ROOT})\nFetchContent_MakeAvailable(fulgurite)\n"
        "add_executable(p main.cpp)\ntarget_link_libraries(p PRIVATE fulgurite::fulgurite)\n"
    )
    run("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_CXX_COMPILER={compiler}")
    passed("FetchContent", "configured")


def check_recipes(folder: pathlib.Path, builds: bool) -> None:
    conan = shutil.which("conan") or shutil.which("conan", path=os.path.dirname(sys.executable))
    if not conan:
        print("skipped Conan: pip install conan")
        return
    environment = {**os.environ, "CONAN_HOME": str(folder / "conan")}
    run(conan, "profile", "detect", env=environment)
    if not builds:
        run(conan, "export", ROOT / "packaging/conan", env=environment)
        passed("Conan", "exported")
        return
    run(conan, "create", ROOT / "packaging/conan", "-s", "compiler.cppstd=gnu20", env=environment)
    passed("Conan", "created, and its test package run")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--conan", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run("cmake", "-B", build, "-DFULGURITE_STATIC=ON")
        run("cmake", "--build", build)
        check_install(build, folder, arguments.compiler)
        check_deb(build, folder, arguments.compiler)
        check_fetch_content(folder, arguments.compiler)
        check_recipes(folder, arguments.conan)
        run("cmake", "-B", build, "-DFULGURITE_STATIC=OFF", "-DFULGURITE_BUNDLE=ON")
        run("cmake", "--build", build)
        check_bundle(build, folder)
        run("cmake", "-B", build, "-DFULGURITE_BUNDLE=OFF")
        run("cmake", "--build", build)
    return 0


if __name__ == "__main__":
    sys.exit(main())
