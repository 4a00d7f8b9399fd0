package gang

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// What becomes of one group becomes of those that start with it, and who may write in one
// namespace must not hold up the groups of another.
func TestAGroupOfAnotherNamespaceHasToAgreeToStartTogether(t *testing.T) {
	for _, test := range []struct{ agreed, want string }{
		{`["other/guests"]`, ReasonInvalid},
		{`["default/hosts"]`, "a"},
	} {
		t.Run(fmt.Sprintf("the other one names %s", test.agreed), func(t *testing.T) {
			run(t, func(p *process) {
				hosts, guests := podGroup("hosts", 1), podGroup("guests", 1)
				annotate(hosts, v1alpha1.AnnotationGroups, `["other/guests"]`)
				annotate(guests, v1alpha1.AnnotationGroups, test.agreed)
				guest := members("guests", 1, "1")[0]
				for _, object := range []interface{ SetNamespace(string) }{guests, guest} {
					object.SetNamespace("other")
				}
				host := members("hosts", 1, "1")[0]
				p.set(node("a", "2"), hosts, guests, guest, host)
				p.after(time.Second)
				if got := p.filter(host); got != test.want {
					t.Errorf("the host is told %q, want %q", got, test.want)
				}
				if test.want == ReasonInvalid {
					if why := p.groups[Key{v1alpha1.LabelX, types.NamespacedName{Namespace: "default", Name: "hosts"}}].why; !strings.Contains(why, "other/guests") {
						t.Errorf("people are told %q, which does not name the other one", why)
					}
				}
				if got := p.filter(guest); test.want == ReasonInvalid && got != "a" {
					t.Errorf("the guest, which has not agreed, is told %q and does not start", got)
				}
			})
		})
	}
}
