package binaries

import (
	"encoding/json"
	"errors"
	"os"
)

// WriteOverlay writes an overlay at a path, and beside it the text that the go command reads in the place of a file with
// it (-overlay).
func WriteOverlay(overlay, file string, text []byte) error {
	instead := overlay + ".go"
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: instead}})
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(instead, text, 0o600), os.WriteFile(overlay, list, 0o600))
}
