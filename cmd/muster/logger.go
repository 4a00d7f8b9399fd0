package main

import (
	"fmt"
	"io"
	"log/slog"
)

const (
	formatText = "text"
	formatJSON = "json"
)

func newLogger(w io.Writer, level slog.Level, format string) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: level}
	switch format {
	case formatText:
		return slog.New(slog.NewTextHandler(w, options)), nil
	case formatJSON:
		return slog.New(slog.NewJSONHandler(w, options)), nil
	default:
		return nil, fmt.Errorf("unknown format %q, supported are %s and %s", format, formatText, formatJSON)
	}
}
