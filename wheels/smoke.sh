#!/usr/bin/env bash
# For every CPython of this machine but the one given: sdist -> wheel -> a fresh environment -> smoke.py.
# Wheels come from the sdist, never from the tree: a tree may hold objects of earlier builds.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$1
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
work=build/smoke
rm -rf "$work"
mkdir -p "$work"
"$python" -m build --sdist --no-isolation --outdir "$work" . >"$work/sdist.log" 2>&1 || {
    cat "$work/sdist.log" >&2
    exit 1
}

while read -r other interpreter <&3; do
    [ "$other" != "$version" ] || continue
    echo "Python $other: building and installing the wheel"
    environment=$work/$other
    "$interpreter" -m venv "$environment"
    wheels=$work/wheels-$other
    "$environment/bin/python" -m pip wheel -qq --no-deps --wheel-dir "$wheels" "$work"/zarrcore-*.tar.gz
    "$python" wheels/check_wheel.py "$wheels"/*.whl
    "$environment/bin/python" -m pip install -qq "$wheels"/*.whl
    (cd "$work" && "$other/bin/python" ../../wheels/smoke.py)
done 3< <(wheels/pythons.sh)
