# Packages of other people, for the scripts that test with them. Sourced, not run.
#
# What cannot be had is said, and the script that asked for it fails at its end; what there is is tested.

missing=()

# from_npm FOLDER PACKAGE…: puts the packages into FOLDER/node_modules.
from_npm() {
    local folder="$1" package
    shift
    mkdir -p "$folder"
    [ "$(cat "$folder/installed" 2>/dev/null || true)" != "$*" ] || return 0
    if npm install --prefix "$folder" --no-audit --no-fund --silent "$@"; then
        printf '%s' "$*" >"$folder/installed"
        return 0
    fi
    # One of them stands in the way of the others.
    for package in "$@"; do
        npm install --prefix "$folder" --no-audit --no-fund --loglevel error "$package" || missing+=("$package (npm)")
    done
}

# from_pypi FOLDER PACKAGE: puts the package into the virtual environment FOLDER.
from_pypi() {
    local folder="$1" package="$2"
    [ "$(cat "$folder/installed" 2>/dev/null || true)" != "$package" ] || return 0
    if python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check "$package"; then
        printf '%s' "$package" >"$folder/installed"
    else
        missing+=("$package (PyPI)")
    fi
}

# had NAME PATH: whether PATH is there; says what is not tested if it is not.
had() {
    [ -e "$2" ] || { echo "MISSING $1: not installed, not tested"; return 1; }
}

# all_was_had: fails with the packages that could not be installed.
all_was_had() {
    [ ${#missing[@]} -eq 0 ] || { printf 'MISSING %s: could not be installed\n' "${missing[@]}"; return 1; }
}
