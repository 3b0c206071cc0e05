#!/bin/sh
# Runs every check and says how many failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
failed=0

check() {
    if [ "$2" = "$3" ]; then
        echo "ok: $1"
    else
        echo "FAILED: $1: expected '$2', found '$3'"
        failed=$((failed + 1))
    fi
}

. "$here/lib/stamp.sh"
check 'a name' 2024-05-01-a.txt "$(stamped 2024-05-01 a.txt)"
check 'a name with a space' '2024-05-01-a b' "$(stamped 2024-05-01 'a b')"
check 'a folder stays' dir/2024-05-01-a.txt "$(stamped 2024-05-01 dir/a.txt)"

cd "$room" || exit 1
echo one > one.txt
check 'the new name is printed' 2024-05-01-one.txt "$(STAMP_DAY=2024-05-01 sh "$here/bin/stamp" one.txt)"
check 'the content stays' one "$(cat 2024-05-01-one.txt)"

echo "$failed failed"
[ "$failed" -eq 0 ]
