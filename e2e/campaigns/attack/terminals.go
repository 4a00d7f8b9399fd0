package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
)

// raw would clear a terminal, forge a line and run in a page.
const raw = "\x1b[2J\u009b31m\r\nFORGED line\n<script>alert('forged')<script>"

// shown holds what people see, by place.
type shown map[string]string

func (s shown) judge() verdict {
	for where, text := range s {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "FORGED") {
				return succeeded("%s has a line that is forged", where)
			}
		}
		if at := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); at >= 0 {
			return succeeded("%s has %q", where, text[max(0, at-20):min(len(text), at+20)])
		}
		if strings.HasPrefix(where, "page ") && strings.Contains(text, "<script>alert") {
			return succeeded("%s has the script", where)
		}
	}
	return held("%d texts have nothing raw in them", len(s))
}

func terminals() Attack {
	return plan[shown]{
		name: "text-for-terminals", by: Tenant, tries: "to write to the terminal, the log or the browser of who looks at muster",
		check: shown.judge,
		successes: []shown{
			{"log": "a\x1b[2Jb"}, {"log": "a\nFORGED line"}, {"page /": "<script>alert(1)</script>"}, {"log": "a\rb"}, {"log": "a\u009bb"},
		},
		do: func(ctx context.Context, g *ground) (shown, error) {
			logged := muster.LogSize(g.muster.Log())
			if _, err := g.stage(ctx, newNodes("screen", 1, "4")); err != nil {
				return nil, err
			}
			if err := g.graffiti(ctx); err != nil {
				return nil, err
			}
			if err := settle(ctx); err != nil {
				return nil, err
			}
			s := shown{}
			log, err := os.ReadFile(g.muster.Log())
			if err != nil {
				return nil, err
			}
			s["muster's log"] = string(log[min(logged, int64(len(log))):])
			if err := g.readPages(ctx, s); err != nil {
				return nil, err
			}
			g.readCommands(ctx, s)
			return s, g.readEvents(ctx, s)
		},
	}.attack()
}

// graffiti is all that a tenant and a caller can write, wherever muster reads it.
func (g *ground) graffiti(ctx context.Context) error {
	for i, key := range []string{
		v1alpha1.AnnotationMinMember, v1alpha1.AnnotationMatchPolicy, v1alpha1.AnnotationGangMode, v1alpha1.AnnotationGroups,
	} {
		name := fmt.Sprintf("raw-%d", i)
		alone := newPod(tenantNamespace, name, "1", memberOf(name, 2), annotated(key, raw))
		if _, err := g.createAs(ctx, g.tenant, alone, newPod(tenantNamespace, name+"-member", "1", of(name))); err != nil {
			return err
		}
		if err := g.createGroup(ctx, g.tenant.dynamic, newGroup(tenantNamespace, name, 1, saying(key, raw))); err != nil {
			return err
		}
	}
	listed, err := json.Marshal([]string{"tenant/" + raw})
	if err != nil {
		return err
	}
	if _, err := g.createAs(
		ctx, g.tenant, newPod(tenantNamespace, "listed", "1", memberOf("listed", 1), annotated(v1alpha1.AnnotationGroups, string(listed))),
	); err != nil {
		return err
	}
	posted := newPod(raw, raw, "1", scheduledBy(raw), func(pod *corev1.Pod) { pod.UID = raw })
	g.post(ctx, "filter", filterBody(posted, raw))
	g.post(ctx, "prioritize", filterBody(posted, raw))
	g.post(ctx, "preempt", preemptBody(posted, map[string][]string{raw: {raw}}))
	g.bind(ctx, posted, posted.UID, raw)
	g.post(ctx, "bind", []byte(`{"`+strings.ReplaceAll(raw, "\n", `\n`)+`": 1`))
	return nil
}

// readPages reads what there is to look at.
func (g *ground) readPages(ctx context.Context, s shown) error {
	posted := string(encoded(newPod("ns"+raw, "pod"+raw, "1", memberOf("g"+raw, 1))))
	for _, kind := range []string{"text/plain", asJSON} {
		got := g.call(
			ctx, http.MethodPost, g.muster.DebugURL()+"/debug/explain", strings.NewReader(posted), "Accept", kind, "Content-Type", asJSON,
		)
		if got.status != http.StatusOK && got.status != http.StatusUnprocessableEntity {
			return fmt.Errorf("a posted pod is not explained: %s", got)
		}
		s["/debug/explain of a posted pod as "+kind] = got.text
	}
	paths := []string{
		"/",
		"/debug/",
		"/debug/gangs",
		"/debug/nodes",
		"/debug/status",
		"/debug/placement",
		"/debug/equivalence",
		"/debug/listeners",
		"/metrics",
		"/debug/gangs/tenant/listed",
	}
	for i := range 4 {
		paths = append(
			paths, fmt.Sprintf("/debug/gangs/tenant/raw-%d", i), fmt.Sprintf("/debug/explain?pod=tenant/raw-%d", i),
			fmt.Sprintf("/debug/explain?pod=tenant/raw-%d-member", i),
		)
	}
	paths = append(paths, "/debug/explain?pod=%1b%5b2Ja/%0aFORGED", "/debug/gangs/%1b%5b2J/%0d%0aFORGED")
	for _, path := range paths {
		for _, kind := range []string{"text/plain", asJSON, "text/html"} {
			got := g.call(ctx, http.MethodGet, g.muster.DebugURL()+path, nil, "Accept", kind)
			if got.status == 0 {
				return fmt.Errorf("%s was not answered: %s", path, got)
			}
			where := path + " as " + kind
			if got.active {
				where = "page " + where
			}
			s[where] = got.text
		}
	}
	return nil
}

// readCommands runs what people run.
func (g *ground) readCommands(ctx context.Context, s shown) {
	for _, args := range [][]string{
		{"status", "--rescheduler=http://127.0.0.1:1"},
		{"explain", "pod", "tenant/raw-0"},
		{"explain", "pod", "tenant/raw-1-member"},
		{"explain", "pod", "tenant/listed"},
		{"explain", "pod", "tenant/" + raw},
	} {
		printed, err := said(ctx, nil, g.binary, append(slices.Clone(args), "--server="+g.muster.DebugURL())...)
		text := string(printed)
		if err != nil {
			text += strings.TrimPrefix(err.Error(), "muster "+strings.Join(args, " ")) // which is not muster's to print
		}
		s["muster "+args[0]+" "+fmt.Sprintf("%q", args[len(args)-1])] = text
	}
}

// readEvents reads what kubectl prints of the tenant's objects.
func (g *ground) readEvents(ctx context.Context, s shown) error {
	events, err := g.client.EventsV1().Events(tenantNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range events.Items {
		if event := &events.Items[i]; event.ReportingController != corev1.DefaultSchedulerName {
			s["event "+event.Name] = event.Note
		}
	}
	groups, err := g.dynamic.Resource(v1alpha1.ResourceOf(v1alpha1.GroupX)).Namespace(tenantNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range groups.Items {
		status, _ := groups.Items[i].Object["status"].(map[string]any)
		conditions, _ := status["conditions"].([]any)
		for _, condition := range conditions {
			s["status of "+groups.Items[i].GetName()] = fmt.Sprint(condition.(map[string]any)["message"])
		}
	}
	return nil
}
