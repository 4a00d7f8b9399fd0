package gang

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/record"
)

// Recorder writes the records of commits.
type Recorder interface {
	// Write puts a record on a PodGroup as the members were counted for it. It returns when the
	// record is written, or must not be (record.ErrFenced, record.ErrChanged), or the context ends.
	Write(ctx context.Context, podGroup *unstructured.Unstructured, r record.Record) error
}

// records is how starts are recorded.
type records struct {
	recorder Recorder
	epoch    func() record.Epoch
	write    func(core.WriteRecords) // has the records of a start written, and returns at once
}

// stamped puts the epoch of this process on records.
func (r *records) stamped(w core.WriteRecords) core.WriteRecords {
	for i := range w.Records {
		w.Records[i].Record.Epoch = r.epoch()
	}
	return w
}

// writeRecords writes the records of a start, without the lock, and reports the result.
func (m *machine) writeRecords(w core.WriteRecords) {
	started := m.clock.Now()
	ctx, cancel := context.WithTimeout(context.Background(), w.Until.Sub(started))
	defer cancel()
	var err error
	for _, r := range w.Records {
		if err = m.records.recorder.Write(ctx, r.PodGroup, r.Record); err != nil {
			break
		}
	}
	m.metrics.recording.Observe(m.clock.Since(started).Seconds())
	m.recorded(w.Commit, err)
}

// recorded reports the result of recording a start.
func (m *machine) recorded(commit core.CommitID, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	m.apply(core.Recorded{Commit: commit, Err: err})
}
