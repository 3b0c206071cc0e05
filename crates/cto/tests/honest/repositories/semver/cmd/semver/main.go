// Command semver prints its arguments in order.
package main

import (
	"fmt"
	"os"

	"example.com/semver"
)

func main() {
	var versions []semver.Version
	for _, text := range os.Args[1:] {
		version, err := semver.Parse(text)
		if err != nil {
			fmt.Fprintln(os.Stderr, "semver:", err)
			os.Exit(1)
		}
		versions = append(versions, version)
	}
	semver.Sort(versions)
	for _, version := range versions {
		fmt.Println(version)
	}
}
