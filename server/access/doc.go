// Package access decides which requests a process answers, at each of its addresses.
//
// A [Guard] stands before what is served at an address. It refuses what a kube-scheduler, an API
// server or a person never sends, and an attacker has to:
//
//   - a client whose certificate has a name that is not on the list. An authority often signs for
//     many; one of them may call.
//   - a request that a page of another site makes in somebody's browser. Browsers say where such
//     a request comes from (Origin, Sec-Fetch-Site).
//   - a request to a host name that is not this server's. A page whose name is rebound to
//     127.0.0.1 is of the same origin to the browser, but the name stays in the Host header.
//   - a body of a type that a page can send without asking first.
//
// [Listen] and [NewServer] bound the rest: the connections that are open at a time, and how long a
// request may take to arrive.
package access
