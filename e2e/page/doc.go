// Package page tests muster's page as people see it: in a real Chromium, on a muster beside a real
// control plane, alone and behind the proxy of the API server.
//
// It is skipped where there is no Chromium: apt-get install chromium, or CHROMIUM=path. Screenshots
// are kept where `go test -artifacts` keeps artifacts, or in the directory PAGE_SCREENSHOTS.
package page
