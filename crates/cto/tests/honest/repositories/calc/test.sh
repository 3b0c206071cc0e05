#!/bin/sh
# Every sum with what it comes to.
failed=0
while read -r sum expected; do
    found=$(./calc "$sum" 2>&1)
    [ "$found" = "$expected" ] || { echo "FAILED: $sum: $found"; failed=1; }
done <<END
1+2 3
10-4 6
7 7
1+ calc: syntax error
END
exit $failed
