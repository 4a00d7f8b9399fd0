package release

import (
	"fmt"
	"net/mail"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// Owner is who publishes muster, and where.
type Owner struct {
	// Source is host/owner/name.
	Source string `json:"source"`
	// Image has no tag.
	Image string `json:"image"`
	// Charts begins with oci://.
	Charts string `json:"charts"`
	// Security is an address of e-mail.
	Security string `json:"security"`
}

// ReadOwner reads a file as .ci/owner.yaml. Errors name the field and the value.
func ReadOwner(path string) (Owner, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Owner{}, err
	}
	var o Owner
	if err := yaml.UnmarshalStrict(text, &o); err != nil {
		return Owner{}, fmt.Errorf("%s: %w", path, err)
	}
	if err := o.validate(); err != nil {
		return Owner{}, fmt.Errorf("%s: %w", path, err)
	}
	return o, nil
}

func (o Owner) validate() error {
	if parts := strings.Split(o.Source, "/"); len(parts) != 3 || strings.Contains(o.Source, ":") {
		return fmt.Errorf("source: %q is not host/owner/name", o.Source)
	}
	if host, path, _ := strings.Cut(o.Image, "/"); !strings.Contains(host, ".") || path == "" || strings.ContainsAny(path, ":@") {
		return fmt.Errorf("image: %q is not registry/name, without a tag", o.Image)
	}
	if !strings.HasPrefix(o.Charts, "oci://") {
		return fmt.Errorf("charts: %q does not begin with oci://", o.Charts)
	}
	if _, err := mail.ParseAddress(o.Security); err != nil {
		return fmt.Errorf("security: %q is no address: %w", o.Security, err)
	}
	return nil
}

// OwnerAndName are the last two parts of Source.
func (o Owner) OwnerAndName() (owner, name string) {
	parts := strings.Split(o.Source, "/")
	return parts[1], parts[2]
}
