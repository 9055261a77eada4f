"""The recipe of the sources of this checkout. The libraries that it needs are the system's: see tools/setup."""

import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Fulgurite(ConanFile):
    name = "fulgurite"
    license = "Apache-2.0"
    description = "Source-to-source tensor compiler for C++: traces, automatic differentiation, fusion"
    settings = "os", "arch", "compiler", "build_type"
    options = {"static": [True, False]}
    default_options = {"static": False}
    package_type = "shared-library"

    @property
    def root(self) -> str:
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self) -> None:
        line = next(
            line
            for line in load(self, os.path.join(self.root, "CMakeLists.txt")).splitlines()
            if line.startswith("project(")
        )
        self.version = line.split("VERSION ")[1].split()[0]

    def export_sources(self) -> None:
        for part in ("CMakeLists.txt", "LICENSE", "NOTICE"):
            copy(self, part, self.root, self.export_sources_folder)
        for folder in ("cmake", "include", "src"):
            copy(self, f"{folder}/*", self.root, self.export_sources_folder)

    def layout(self) -> None:
        cmake_layout(self)

    def validate(self) -> None:
        if self.settings.os != "Linux" or self.settings.arch != "x86_64":
            from conan.errors import ConanInvalidConfiguration

            raise ConanInvalidConfiguration("fulgurite builds on Linux, x86-64")

    def generate(self) -> None:
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["BUILD_TESTING"] = False
        toolchain.cache_variables["FULGURITE_EXAMPLES"] = False
        toolchain.cache_variables["FULGURITE_STATIC"] = bool(self.options.static)
        toolchain.generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self) -> None:
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self) -> None:
        # The installation has a CMake configuration of its own.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs.append(os.path.join("lib", "cmake", "fulgurite"))
        self.cpp_info.libs = ["fulgurite"]
