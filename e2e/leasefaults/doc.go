// Package leasefaults looks for times at which two muster act as the leader. On real control planes it
// has two or three of them elect one by a Lease, each with a relay of its own to the API server, while
// relays and processes are in trouble: ways are cut, slow or lose answers, processes are frozen, killed
// or stopped in the middle of bindings. All the time it asks every replica, as schedulers would,
// about real pods for nodes that have room for one each. It judges what they answered:
//
//   - No replica answers a call with 200 while another one leads. A process leads for one time: from
//     before the end of its first answer until after its last one could be given first. Nothing here
//     takes the time at which an answer is read for the one at which it was given.
//   - No node is given twice: by two that lead at a time, by one to two pods while the first has its
//     place still, or by bindings that the API server tells of.
//   - When nothing goes wrong any more, somebody leads within a time.
//   - No process panics, or ends by itself for another reason than that it lost its lease.
//
// A run is the script of a seed, in a window of seconds. The command has the clocks of replicas differ by half a minute; the tests,
// which build nothing for that, leave them right.
package leasefaults
