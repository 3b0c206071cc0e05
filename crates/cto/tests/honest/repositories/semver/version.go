// Package semver reads versions such as 1.4.0-rc.1 and puts them in order.
package semver

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a version with three numbers and, before a release, a name.
type Version struct {
	Major, Minor, Patch uint64
	Pre                 string
}

// Parse reads a version. A leading v is no part of it.
func Parse(text string) (Version, error) {
	core, pre, named := strings.Cut(strings.TrimPrefix(text, "v"), "-")
	if named && pre == "" {
		return Version{}, fmt.Errorf("%q: nothing behind the hyphen", text)
	}
	parts := strings.Split(core, ".")
	if len(parts) != 3 {
		return Version{}, fmt.Errorf("%q: not three numbers", text)
	}
	var numbers [3]uint64
	for i, part := range parts {
		number, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return Version{}, fmt.Errorf("%q: %q is not a number", text, part)
		}
		numbers[i] = number
	}
	return Version{numbers[0], numbers[1], numbers[2], pre}, nil
}

// String prints a version as Parse reads it.
func (v Version) String() string {
	text := fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
	if v.Pre != "" {
		text += "-" + v.Pre
	}
	return text
}
