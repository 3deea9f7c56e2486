#!/usr/bin/env bash
# Print the CPython interpreters of this machine that can build zarrcore, one "VERSION PATH" per line, one
# per version, the preferred one first (3.12, then newer ones, then 3.11).  `pythons.sh VERSION...` asks for
# those only.  Looks at PATH and at pyenv's versions and runs each candidate: a shim may point at nothing.
set -euo pipefail

wanted=("${@:-}")
[ -n "${wanted[0]}" ] || wanted=(3.12 3.13 3.14 3.11)

pyenv=${PYENV_ROOT:-$HOME/.pyenv}/versions
probe='
import importlib.util, os, platform, sys, sysconfig
cpython = platform.python_implementation() == "CPython"
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
if cpython and os.path.exists(header) and importlib.util.find_spec("ensurepip"):
    print("%d.%d %s" % (sys.version_info[0], sys.version_info[1], sys.executable))
'

for version in "${wanted[@]}"; do
    for candidate in "$pyenv/$version".*/bin/python "python$version" python3 python; do
        answer=$("$candidate" -c "$probe" 2>/dev/null) || continue
        case "$answer" in
        "$version "*)
            echo "$answer"
            break
            ;;
        esac
    done
done
