package calc

import "testing"

func TestSum(t *testing.T) {
	if Add(1, 2) != 3 {
		t.Fatal()
	}
}

func TestZero(t *testing.T) {
	if Add(0, 0) != 0 {
		t.Fatal()
	}
}
