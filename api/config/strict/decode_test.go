package strict

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBytesAreWrittenInBase64(t *testing.T) {
	type document struct {
		Data []byte `json:"data"`
	}
	for _, test := range []struct{ document, want, err string }{
		{`{"data": "YWI="}`, "ab", ""},
		{`{"data": null}`, "", ""},
		{`{"data": "a"}`, "", `data: Invalid value: "a": must be bytes in base64`},
		{`{"data": 1}`, "", `data: Invalid value: 1: must be bytes in base64`},
	} {
		var into document
		errs := Decode(nil, []byte(test.document), &into)
		said := ""
		if len(errs) > 0 {
			said = errs.ToAggregate().Error()
		}
		if string(into.Data) != test.want || said != test.err {
			t.Errorf("%s: decoded %q with error %q, want %q and %q", test.document, into.Data, said, test.want, test.err)
		}
	}
}

func TestADocumentMayBeOfOneOfSeveralVersions(t *testing.T) {
	const kind = "Thing"
	for _, version := range []string{"example.com/v2", "example.com/v1"} {
		data := "apiVersion: " + version + "\nkind: " + kind + "\n"
		document, found, err := AnyVersion([]byte(data), kind, "example.com/v2", "example.com/v1")
		if diff := cmp.Diff(`{"apiVersion":"`+version+`","kind":"Thing"}`, string(document)); err != nil || found != version || diff != "" {
			t.Errorf("found %s with error %v, and read (-want +got):\n%s", found, err, diff)
		}
	}
	for data, want := range map[string]string{
		"apiVersion: example.com/v3\nkind: Thing\n": `found apiVersion "example.com/v3" and kind "Thing", supported are apiVersion ` +
			`"example.com/v2", "example.com/v1" and kind "Thing"`,
		"apiVersion: 2\n": `found apiVersion 2 and no kind`,
		"":                "it must begin with apiVersion: example.com/v2 and kind: Thing",
	} {
		if _, _, err := AnyVersion([]byte(data), kind, "example.com/v2", "example.com/v1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %s", data, err, want)
		}
	}
}
