package semver

import (
	"sort"
	"strings"
)

// Compare gives -1, 0 or 1 as a comes before, with or after b.
func Compare(a, b Version) int {
	for _, pair := range [][2]uint64{{a.Major, b.Major}, {a.Minor, b.Minor}, {a.Patch, b.Patch}} {
		if pair[0] != pair[1] {
			if pair[0] < pair[1] {
				return -1
			}
			return 1
		}
	}
	switch {
	case a.Pre == b.Pre:
		return 0
	case a.Pre == "":
		return 1
	case b.Pre == "":
		return -1
	}
	return strings.Compare(a.Pre, b.Pre)
}

// Sort puts versions in order.
func Sort(versions []Version) {
	sort.Slice(versions, func(i, j int) bool { return Compare(versions[i], versions[j]) < 0 })
}
