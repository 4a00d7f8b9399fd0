package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"muster.dev/muster/e2e/await"
)

// browser is a tab of a Chromium, and what it complained of and asked for.
type browser struct {
	*testing.T
	ctx context.Context //nolint:containedctx // it is the tab, by the ways of chromedp

	mu         sync.Mutex
	complaints []string
	hosts      map[string]bool
}

// chromium is the path of one. A test that finds none is skipped.
func chromium(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium: apt-get install chromium, or name one with CHROMIUM=path")
	return ""
}

// newBrowser starts a Chromium that ends with the test, or skips it.
func newBrowser(t *testing.T, more ...chromedp.ExecAllocatorOption) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.WindowSize(1280, 1400))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocated, end := chromedp.NewExecAllocator(t.Context(), append(options, more...)...)
	t.Cleanup(end)
	ctx, closeTab := chromedp.NewContext(allocated)
	t.Cleanup(closeTab)
	b := &browser{T: t, ctx: ctx, hosts: map[string]bool{}}
	if err := chromedp.Listen(ctx, b.listen); err != nil { // which starts it
		t.Fatal(err)
	}
	return b
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if asked, err := url.Parse(e.Request.URL); err == nil && asked.Scheme != "data" {
			b.hosts[asked.Host] = true
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.complaints = append(b.complaints, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.complaints = append(b.complaints, fmt.Sprintf("console.%s", e.Type))
		}
	}
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// eval returns the value of an expression of JavaScript. The policy of the page does not bind it.
func eval[T any](b *browser, expression string) T {
	b.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatal(err)
	}
	return value
}

// script is one of testdata, by its name.
func (b *browser) script(name string) string {
	b.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".js"))
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// eventually waits until an expression of JavaScript is true.
func (b *browser) eventually(what, expression string) {
	b.Helper()
	err := await.Until(b.ctx, what, func(ctx context.Context) error {
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		if err == nil && !holds {
			err = errors.New("it is not so")
		}
		return err
	})
	if err != nil {
		b.Fatalf("%v; the page says:\n%s", err, eval[string](b, `document.body.innerText`))
	}
}

// click clicks on what is seen at the place of an element. The page looks and clicks at once: between the two of a mouse, what is
// drawn again may have moved.
func (b *browser) click(selector string) {
	b.Helper()
	b.eventually("there is "+selector+" to click on", fmt.Sprintf(`((element) => {
		element?.scrollIntoView({ block: 'center' });
		const [box] = element?.getClientRects() ?? [];
		const seen = box && document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
		if (!seen || !element.contains(seen)) return false;
		element.focus({ preventScroll: true });
		seen.click();
		return true;
	})(document.querySelector(%q))`, selector))
}

// theme has the system be light or dark.
func (b *browser) theme(theme string) {
	b.Helper()
	b.run(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	}))
}

// screenshot keeps a picture of the whole page.
func (b *browser) screenshot(name string) {
	b.Helper()
	dir := cmp.Or(os.Getenv("PAGE_SCREENSHOTS"), b.ArtifactDir())
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, name+".png")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(path, picture, 0o644)); err != nil {
		b.Fatal(err)
	}
	b.Logf("screenshot: %s", path)
}

// isContent says that nothing went wrong, and nobody but the host was asked.
func (b *browser) isContent(host string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints) > 0 {
		b.Errorf("the browser complains:\n%s", strings.Join(b.complaints, "\n"))
	}
	if len(b.hosts) != 1 || !b.hosts[host] {
		b.Errorf("asked %v, want %s alone", b.hosts, host)
	}
}
