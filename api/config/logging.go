package config

import (
	"log/slog"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Logging configures the log. It changes with the file, without a restart.
type Logging struct {
	// Level is the least important one to log: debug, info (default), warn or error.
	Level LogLevel `json:"level"`
}

// LogLevel is how important a log line is.
type LogLevel string

const (
	// LogDebug is for details that help to find a mistake, such as a line for each call.
	LogDebug LogLevel = "debug"
	// LogInfo is for events in good order.
	LogInfo LogLevel = "info"
	// LogWarn is for events that somebody should look at.
	LogWarn LogLevel = "warn"
	// LogError is for failures.
	LogError LogLevel = "error"
)

// Level implements [slog.Leveler]. A level that is not valid counts as info.
func (l LogLevel) Level() slog.Level {
	switch l {
	case LogDebug:
		return slog.LevelDebug
	case LogWarn:
		return slog.LevelWarn
	case LogError:
		return slog.LevelError
	case LogInfo:
	}
	return slog.LevelInfo
}

func (l Logging) validate(path *field.Path) field.ErrorList {
	return validateListed(path.Child("level"), l.Level)
}
