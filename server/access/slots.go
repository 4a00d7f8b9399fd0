package access

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// slots is a listener that bounds how many connections are open at a time. One that comes when all slots are taken
// waits, and takes the slot of a connection on which no request is being answered, if there is one: that of the address
// that holds most slots, and there the one that has been idle for longest. So nobody keeps others out who opens
// connections and stays.
//
// An address may hold three quarters of the slots, and a tenth is for callers that are trusted: on this host, or
// with a certificate that was verified. Only another one of them takes the slot of such a caller.
type slots struct {
	net.Listener

	most        int // connections at a time
	mostWaiting int // for a slot
	mostOfOne   int // of one address
	mostOfOther int // of callers that are not trusted

	mu      sync.Mutex
	changed *sync.Cond
	closed  bool
	err     error         // of the listener, which nobody has been told yet
	waiting []*connection // in the order in which they came
	taken   int
	others  int // slots of callers that are not trusted
	callers map[netip.Addr]*caller
}

// caller is an address from which there are connections.
type caller struct {
	trusted        bool // it is on this host
	waiting, taken int
	open           list.List // of *connection, in the order in which they were opened or last answered
}

// connection is one that waits or has a slot. All but the embedded one is guarded by the slots.
type connection struct {
	net.Conn

	slots   *slots
	from    netip.Addr
	trusted bool
	taken   bool
	closed  bool
	serving int           // requests that are being answered
	since   time.Time     // when it was opened, or the last request was answered
	place   *list.Element // of its caller; nil before and after it has a slot
}

// leastIdle is for how long a connection must have been idle before it may lose its slot: an answer is on its way for a
// while after it was given, and a request for a while after the connection was made.
const leastIdle = time.Second

// fewestWaiting is how many connections may wait if there are fewer slots. With more slots, their number may wait.
const fewestWaiting = 64

// newSlots must be closed.
func newSlots(listener net.Listener, most int) *slots {
	s := &slots{
		Listener: listener, most: most, mostWaiting: max(most, fewestWaiting), mostOfOne: max(most*3/4, 1), mostOfOther: max(most-most/10, 1),
		callers: map[netip.Addr]*caller{},
	}
	s.changed = sync.NewCond(&s.mu)
	go s.listen()
	return s
}

// listen has connections wait until it is closed.
func (s *slots) listen() {
	for {
		c, err := s.Listener.Accept()
		if !s.arrived(c, err) {
			return
		}
	}
}

// arrived notes a connection or an error; it returns false when the listener is closed.
func (s *slots) arrived(c net.Conn, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		if err == nil {
			_ = c.Close()
		}
		return false
	}
	if err == nil {
		s.await(c)
		return true
	}
	s.err = err
	s.changed.Broadcast()
	for s.err != nil && !s.closed { // who was told of it says whether to go on
		s.changed.Wait()
	}
	return !s.closed
}

// await has a connection wait. Of too many the last one is closed of the address from which most wait.
func (s *slots) await(c net.Conn) {
	from := addressOf(c)
	one := &connection{Conn: c, slots: s, from: from, trusted: from.IsLoopback()}
	of := s.callers[from]
	if of == nil {
		of = &caller{trusted: one.trusted}
		s.callers[from] = of
	}
	of.waiting++
	if s.waiting = append(s.waiting, one); len(s.waiting) > s.mostWaiting {
		s.turnAway(of)
	}
	s.changed.Broadcast()
}

// turnAway closes a connection that waits: the last one of the address from which most do, of the newcomer's if it is
// one of these.
func (s *slots) turnAway(newcomer *caller) {
	many := newcomer
	for _, of := range s.callers {
		if of.waiting > many.waiting && !of.trusted || many.trusted && of.waiting > 0 && !of.trusted {
			many = of
		}
	}
	for at, c := range slices.Backward(s.waiting) {
		if s.callers[c.from] == many {
			s.waiting = slices.Delete(s.waiting, at, at+1)
			many.waiting--
			s.forget(c.from)
			_ = c.Conn.Close()
			return
		}
	}
}

// addressOf returns where a connection comes from: of IPv6 the network, as one host has many addresses there.
func addressOf(c net.Conn) netip.Addr {
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	address := at.Addr().Unmap().WithZone("")
	if address.Is6() && !address.IsLoopback() {
		network, err := address.Prefix(64)
		if err == nil {
			address = network.Addr()
		}
	}
	return address
}

// Accept implements [net.Listener].
func (s *slots) Accept() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.closed:
			return nil, net.ErrClosed
		case s.err != nil:
			err := s.err
			s.err = nil
			s.changed.Broadcast()
			return nil, err
		}
		if c := s.next(); c != nil {
			return c, nil
		}
		s.wait()
	}
}

// wait waits for a change. While connections wait, time is one: others have been idle for long enough then.
func (s *slots) wait() {
	if len(s.waiting) > 0 {
		defer time.AfterFunc(leastIdle, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		}).Stop()
	}
	s.changed.Wait()
}

// next gives a slot to the first connection that can have one, trusted callers first; nil when none can.
func (s *slots) next() *connection {
	for _, trusted := range []bool{true, false} {
		replaceable := sync.OnceValue(func() *connection { return s.replaceable(trusted) })
		for i, c := range s.waiting {
			if c.trusted != trusted {
				continue
			}
			of := s.callers[c.from]
			var instead *connection
			switch {
			case !trusted && of.taken >= s.mostOfOne:
				instead = of.idlest(false)
			case s.taken >= s.most || !trusted && s.others >= s.mostOfOther:
				instead = replaceable()
			default:
				s.admit(i)
				return c
			}
			if instead != nil {
				instead.leave()
				_ = instead.Conn.Close()
				s.admit(i)
				return c
			}
		}
	}
	return nil
}

// admit gives a connection that waits a slot.
func (s *slots) admit(at int) {
	c := s.waiting[at]
	s.waiting = slices.Delete(s.waiting, at, at+1)
	of := s.callers[c.from]
	of.waiting--
	of.taken++
	s.taken++
	if !c.trusted {
		s.others++
	}
	c.taken, c.since, c.place = true, time.Now(), of.open.PushBack(c)
}

// replaceable returns the connection whose slot one that waits may take, of a caller that is trusted or not; nil for none.
func (s *slots) replaceable(trusted bool) *connection {
	for _, also := range []bool{false, true} {
		var found *connection
		most := 0
		for _, of := range s.callers {
			if of.taken < most {
				continue
			}
			if c := of.idlest(also); c != nil && (of.taken > most || c.since.Before(found.since)) {
				found, most = c, of.taken
			}
		}
		if found != nil || !trusted {
			return found
		}
	}
	return nil
}

// idlest returns the connection of a caller that has been idle for longest, and for long enough; nil for none. With trusted,
// connections of trusted callers count as well.
func (of *caller) idlest(trusted bool) *connection {
	for at := of.open.Front(); at != nil; at = at.Next() {
		c, _ := at.Value.(*connection)
		if c.serving > 0 {
			continue
		}
		if time.Since(c.since) < leastIdle {
			return nil // nor has any after it been idle for longer
		}
		if trusted || !c.trusted {
			return c
		}
	}
	return nil
}

// Close closes the listener, and connections that wait. A connection with a slot stays open.
func (s *slots) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		for _, c := range s.waiting {
			_ = c.Conn.Close()
		}
		s.waiting = nil
	}
	s.changed.Broadcast()
	return s.Listener.Close()
}

// forget forgets a caller without connections.
func (s *slots) forget(from netip.Addr) {
	if of := s.callers[from]; of.waiting == 0 && of.taken == 0 {
		delete(s.callers, from)
	}
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.slots.mu.Lock()
	c.leave()
	c.slots.mu.Unlock()
	return c.Conn.Close()
}

// leave gives the slot back.
func (c *connection) leave() {
	if c.closed || !c.taken {
		return
	}
	c.closed = true
	of := c.slots.callers[c.from]
	of.open.Remove(c.place)
	of.taken--
	c.slots.taken--
	if !c.trusted {
		c.slots.others--
	}
	c.slots.forget(c.from)
	c.slots.changed.Broadcast()
}

// begin notes a request, and whether its caller has shown a certificate.
func (c *connection) begin(verified bool) {
	c.slots.mu.Lock()
	defer c.slots.mu.Unlock()
	if verified && !c.trusted && !c.closed {
		c.trusted = true
		c.slots.others--
	}
	c.serving++
}

func (c *connection) end() {
	c.slots.mu.Lock()
	defer c.slots.mu.Unlock()
	if c.serving--; c.serving == 0 && !c.closed {
		c.since = time.Now()
		c.slots.callers[c.from].open.MoveToBack(c.place)
	}
}

// connectionKey is where the context of a request has its connection.
type connectionKey struct{}

// Track has a server tell the listener, if [Listen] has opened it, on which connections it answers requests: it must be
// called before the server serves. Without, all of them count as idle.
func Track(server *http.Server) {
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if secured, is := c.(*tls.Conn); is {
			c = secured.NetConn()
		}
		if tracked, is := c.(*connection); is {
			ctx = context.WithValue(ctx, connectionKey{}, tracked)
		}
		return ctx
	}
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, tracked := r.Context().Value(connectionKey{}).(*connection); tracked {
			c.begin(r.TLS != nil && len(r.TLS.VerifiedChains) > 0)
			defer c.end()
		}
		next.ServeHTTP(w, r)
	})
}
