package semver

import "testing"

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		want       Version
	}{
		{"plain", "1.4.0", Version{1, 4, 0, ""}},
		{"leading v", "v2.0.11", Version{2, 0, 11, ""}},
		{"before a release", "1.0.0-rc.1", Version{1, 0, 0, "rc.1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parse(test.text)
			if err != nil || got != test.want {
				t.Fatalf("Parse(%q) = %v, %v; want %v", test.text, got, err, test.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "1", "1.2", "1.2.x", "1.2.3.4", "1.2.3-", "-1.2.3"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v; want an error", text, got)
		}
	}
}

func TestString(t *testing.T) {
	if got := (Version{1, 4, 0, "rc.1"}).String(); got != "1.4.0-rc.1" {
		t.Errorf("got %s", got)
	}
}
