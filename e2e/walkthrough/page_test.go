package walkthrough

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPageIsItsBlocks(t *testing.T) {
	t.Parallel()
	const fence = "```"
	got, err := Parse("# Title\n" +
		fence + "sh background\nserver\n" + fence + "\n" + fence + "text background\nready\n" + fence + "\n" +
		fence + "sh\na\nb\n" + fence + "\nThis prints\n" + fence + "text\nc\n" + fence + "\n" +
		fence + "yaml\nx: 1\n" + fence + "\n" +
		fence + "sh again\nlook\n" + fence + "\n" + fence + "sh\nsilent\n" + fence + "\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{
		{Line: 2, Script: "server", Background: true},
		{Line: 5, Want: "ready", Background: true},
		{Line: 8, Script: "a\nb", Want: "c"},
		{Line: 19, Script: "look", Again: true},
		{Line: 22, Script: "silent"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestAPageThatCannotBeFollowedIsRefused(t *testing.T) {
	t.Parallel()
	const fence = "```"
	for _, c := range []struct{ name, page, want string }{
		{"a text that nothing prints", "\n" + fence + "text\na\n" + fence, "line 2: no block comes before this text that might print it"},
		{
			"two texts of one block", fence + "sh\na\n" + fence + "\n" + fence + "text\na\n" + fence + "\n" + fence + "text\nb\n" + fence,
			"line 7: no block comes before this text that might print it",
		},
		{"a word that means nothing", fence + "sh twice\na\n" + fence, `line 1: a block marked "sh twice"`},
		{"a block without an end", fence + "sh\na\n", "line 1: the block is not closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse(c.page); err == nil || err.Error() != c.want {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
		})
	}
}
