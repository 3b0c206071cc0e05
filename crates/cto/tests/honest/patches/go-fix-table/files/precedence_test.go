package semver

import (
	"fmt"
	"testing"
	"time"
)

var precedence = []string{
	"1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
	"1.0.0-rc.9", "1.0.0-rc.10", "1.0.0",
}

func TestPrecedence(t *testing.T) {
	for i, a := range precedence {
		for j, b := range precedence {
			t.Run(a+" and "+b, func(t *testing.T) {
				want := 0
				if i < j {
					want = -1
				} else if i > j {
					want = 1
				}
				if got := Compare(must(t, a), must(t, b)); got != want {
					t.Errorf("got %d, want %d", got, want)
				}
			})
		}
	}
}

func TestEveryPairIsPrinted(t *testing.T) {
	time.Sleep(300 * time.Millisecond)
	for i := 0; i < 20_000; i++ {
		fmt.Printf("%d.0.0 before %d.0.0: ok\n", i, i+1)
	}
	fmt.Print("--- a line that does not end")
	t.Log("printed\nall of them")
}
