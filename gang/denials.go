package gang

import (
	"time"

	gocache "github.com/patrickmn/go-cache"
)

// denials are the groups that were denied not long ago.
type denials struct{ cache *gocache.Cache }

func newDenials(ttl time.Duration) *denials {
	return &denials{gocache.New(ttl, gocache.NoExpiration)}
}

func (d *denials) add(key Key) { d.cache.SetDefault(key.text(), nil) }

func (d *denials) has(key Key) bool {
	_, denied := d.cache.Get(key.text())
	return denied
}

// expire frees the memory of denials that are over.
func (d *denials) expire() { d.cache.DeleteExpired() }
