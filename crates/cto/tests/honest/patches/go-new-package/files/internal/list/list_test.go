package list

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	versions, err := Read("1.0.0\n\n1.2.0\n")
	if err != nil || len(versions) != 2 {
		t.Fatal(versions, err)
	}
}

func TestReadNamesTheLine(t *testing.T) {
	if _, err := Read("1.0.0\nnone\n"); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
		t.Fatal(err)
	}
}
