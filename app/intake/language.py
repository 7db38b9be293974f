"""Languages by file name, and the grammars of those that are cut by their syntax.

A grammar is imported when it is first used. A file that is neither code nor text has no language.
"""

import threading
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath

from tree_sitter import Language

TEXT = "text"
"""What nobody knows better."""
EXTENSIONS = {
    "python": "py pyi pyw",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hpp hh hxx h++ ipp cu cuh",
    "csharp": "cs",
    "php": "php phtml",
    "ruby": "rb rake gemspec",
    "bash": "sh bash zsh",
    "kotlin": "kt kts",
    "swift": "swift",
    "scala": "scala sc",
    "lua": "lua",
    "perl": "pl pm",
    "r": "r",
    "julia": "jl",
    "dart": "dart",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "haskell": "hs",
    "ocaml": "ml mli",
    "clojure": "clj cljs cljc",
    "lisp": "lisp el scm",
    "zig": "zig",
    "fortran": "f90 f95 f03",
    "objective-c": "m mm",
    "powershell": "ps1 psm1",
    "batch": "bat cmd",
    "sql": "sql",
    "graphql": "graphql gql",
    "protobuf": "proto",
    "terraform": "tf tfvars hcl",
    "nix": "nix",
    "cython": "pyx pxd",
    "vue": "vue",
    "svelte": "svelte",
    "html": "html htm xhtml",
    "css": "css scss sass less",
    "xml": "xml xsd xsl",
    "json": "json jsonc json5",
    "yaml": "yaml yml",
    "toml": "toml",
    "ini": "ini cfg conf properties editorconfig",
    "markdown": "md markdown mdx",
    "rst": "rst",
    "tex": "tex",
    "cmake": "cmake",
    "makefile": "mk",
    "mako": "mako",
    TEXT: "txt adoc org in",
}
"""Language: endings."""
NAMES = {
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "makefile": "makefile",
    "gnumakefile": "makefile",
    "cmakelists.txt": "cmake",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "justfile": "makefile",
    "readme": TEXT,
    "license": TEXT,
    "changelog": TEXT,
    "notice": TEXT,
    "authors": TEXT,
    "contributing": TEXT,
    ".gitignore": TEXT,
    ".env.example": "ini",
    ".env.sample": "ini",
    ".env.template": "ini",
}
GRAMMARS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "ruby": ("tree_sitter_ruby", "language"),
    "bash": ("tree_sitter_bash", "language"),
}
"""Language: module and function of its grammar."""
ENDINGS = {ending: name for name, endings in EXTENSIONS.items() for ending in endings.split()}
LOADING = threading.Lock()


def language_of(path: str) -> str | None:
    """A file's, by its name alone."""
    name = PurePosixPath(path).name.lower()
    return NAMES.get(name) or ENDINGS.get(name.rpartition(".")[2] if "." in name else "")


def grammar(language: str) -> Language | None:
    """A language's, if it is cut by its syntax."""
    if language not in GRAMMARS:
        return None
    with LOADING:
        return loaded(language)


@cache
def loaded(language: str) -> Language:
    """Imported, and kept."""
    module, function = GRAMMARS[language]
    return Language(getattr(import_module(module), function)())
