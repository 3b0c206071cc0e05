# Tests of lib.sh; exits 1 if one failed.
. ./lib.sh
failed=0

# expect NAME FOUND EXPECTED
expect() {
    test "$2" = "$3" || failed=1
    echo "$2" | grep -qxF -e "$3" || failed=1
}

expect 'nothing to trim' "$(trim 'a b')" 'a b'
expect 'one space' "$(trim ' a b ')" 'a b'
expect 'many spaces' "$(trim '   a b  ')" 'a b'

# Every test was held.
# A failure of one of them is a failure of all.
# Whoever starts this looks at the exit code.

exit "$failed"
