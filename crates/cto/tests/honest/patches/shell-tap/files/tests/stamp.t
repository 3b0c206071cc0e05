#!/bin/sh
# Prints TAP: a plan, then a line for each check.
. "$(dirname "$0")/../lib/stamp.sh"
number=0
status=0

is() {
    number=$((number + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $number - $1"
    else
        status=1
        echo "not ok $number - $1"
        echo "# expected '$2', found '$3'"
    fi
}

echo 'TAP version 13'
echo 1..5
is 'a name' 2024-05-01-a "$(stamped 2024-05-01 a)"
is 'a folder' d/2024-05-01-a "$(stamped 2024-05-01 d/a)"
is 'an empty name' 2 "$(stamped 2024-05-01 '' > /dev/null; echo $?)"
is 'a hyphen' 2 "$(stamped 2024-05-01 - > /dev/null; echo $?)"
echo 'ok 5 - names with a newline # SKIP no file system here has them'
exit $status
