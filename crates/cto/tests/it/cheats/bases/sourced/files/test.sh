#!/bin/sh
# Tests of lib.sh; prints one line a test and exits 1 if one failed.
set -u
. ./lib.sh
failed=0

# check NAME TEXT EXPECTED
check() {
    found=$(trim "$2")
    if [ "$found" = "$3" ]; then
        echo "ok - $1"
    else
        failed=1
        echo "not ok - $1: expected '$3', found '$found'"
    fi
}

check 'nothing to trim' 'a b' 'a b'
check 'one space at each end' ' a b ' 'a b'
check 'many spaces' '   a b  ' 'a b'

exit "$failed"
