package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const repository = "../.."

func TestPagesNameTheOwner(t *testing.T) {
	t.Parallel()
	owner, err := ReadOwner(filepath.Join(repository, ".ci", "owner.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for page, texts := range map[string][]string{
		"README.md":                         {"https://" + owner.Source, owner.Image},
		"SECURITY.md":                       {owner.Security},
		"docs/getting-started.md":           {"https://" + owner.Source},
		"docs/install.md":                   {owner.Image},
		"docs/releasing.md":                 {"https://" + owner.Source, owner.Charts + "/muster", owner.Image},
		".github/ISSUE_TEMPLATE/config.yml": {"https://" + owner.Source},
	} {
		content, err := os.ReadFile(filepath.Join(repository, page))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, text := range texts {
			if !strings.Contains(string(content), text) {
				t.Errorf("%s does not say %q, as .ci/owner.yaml does", page, text)
			}
		}
	}
}

func TestAnOwnerThatCannotPublishIsRefused(t *testing.T) {
	t.Parallel()
	const good = `source: git.example.com/a/muster
image: registry.example.com/muster
charts: oci://registry.example.com/charts
security: security@example.com
`
	for _, test := range []struct{ old, new, want string }{
		{"git.example.com/a/muster", "https://git.example.com/a/muster", `source: "https://git.example.com/a/muster" is not host/owner/name`},
		{"registry.example.com/muster", "muster", `image: "muster" is not registry/name`},
		{"registry.example.com/muster", "registry.example.com/muster:v1", `image: "registry.example.com/muster:v1" is not`},
		{"oci://", "https://", `charts: "https://registry.example.com/charts" does not begin with oci://`},
		{"security@example.com", "nobody", `security: "nobody" is no address`},
		{"security:", "contact:", `unknown field "contact"`},
	} {
		path := filepath.Join(t.TempDir(), "owner.yaml")
		if err := os.WriteFile(path, []byte(strings.Replace(good, test.old, test.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadOwner(path); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %s", err, test.want)
		}
	}
}
