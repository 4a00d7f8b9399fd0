package gang

import (
	"time"

	gocache "github.com/patrickmn/go-cache"

	"muster.dev/muster/gang/membership"
)

// denials are the groups that were denied not long ago.
type denials struct{ cache *gocache.Cache }

func newDenials(ttl time.Duration) *denials {
	return &denials{gocache.New(ttl, gocache.NoExpiration)}
}

func (d *denials) add(key membership.Key) { d.cache.SetDefault(key.Label+"/"+key.String(), nil) }

func (d *denials) has(key membership.Key) bool {
	_, denied := d.cache.Get(key.Label + "/" + key.String())
	return denied
}

// expire frees the memory of denials that are over.
func (d *denials) expire() { d.cache.DeleteExpired() }
