package semver

import (
	"bufio"
	"os"
	"testing"
)

func must(t *testing.T, text string) Version {
	t.Helper()
	version, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name, a, b string
		want       int
	}{
		{"same", "1.2.3", "1.2.3", 0},
		{"numbers are no text", "1.10.0", "1.9.0", 1},
		{"a release comes last", "1.0.0-rc.1", "1.0.0", -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Compare(must(t, test.a), must(t, test.b)); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestSorted(t *testing.T) {
	file, err := os.Open("testdata/sorted.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var versions []Version
	for lines := bufio.NewScanner(file); lines.Scan(); {
		versions = append([]Version{must(t, lines.Text())}, versions...)
	}
	Sort(versions)
	for i := 1; i < len(versions); i++ {
		if Compare(versions[i-1], versions[i]) >= 0 {
			t.Errorf("%s comes before %s", versions[i-1], versions[i])
		}
	}
}

func TestLongList(t *testing.T) {
	if testing.Short() || os.Getenv("SEMVER_LONG") == "" {
		t.Skip("set SEMVER_LONG to sort a long list")
	}
	versions := make([]Version, 1_000_000)
	for i := range versions {
		versions[i].Patch = uint64(len(versions) - i)
	}
	Sort(versions)
}
