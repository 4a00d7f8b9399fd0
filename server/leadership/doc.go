// Package leadership decides by a Lease which replica of a process may act, and fences the others
// off.
//
// Leader election alone does not keep two replicas from acting at once: one that is cut off from the
// API server, or was frozen for a while, takes itself for the leader until it looks. So there is a
// [Fence] before whatever only the leader may do. It is open for as long as a renewal of the lease is
// good for, counted from the moment at which that renewal began, by this process's own clocks:
//
//   - A renewal is good for two thirds of leaseDuration. Others take the lease leaseDuration after they saw it
//     renewed, which is longer, and later than the renewal began. No two clocks are compared.
//   - Both clocks count: the monotonic one, which nobody sets, and the time of day, which runs on
//     while the machine is suspended.
//   - A fence that has closed stays closed. The process ends, and a new one stands for election.
//
// Two things stand behind the fence. Answers to clients: [Fence.Check] is called when a call begins and
// right before it is answered. And requests that change something at the API server: clients made from
// a [Fence.Guard] configuration do not send them, and give them up, when the fence is closed. What is
// on its way at that moment has a third of leaseDuration to arrive.
//
// Others need not wait where the kernel says that the leader is gone. On Linux a leader has a seat, which one process of a network
// namespace has at a time and keeps until it has ended. A process that starts in its place takes the seat, and a second later the
// lease: see seat.
//
// A [Candidate] runs for the lease with client-go's leaderelection. Asked to stop, it has the work end
// first, closes the fence, and gives the lease back then:
//
//	candidate, err := leadership.New(options)
//	client, err := kubernetes.NewForConfig(candidate.Fence().Guard(config))
//	err = candidate.Run(ctx, func(ctx context.Context, term leadership.Term) (clean bool, err error) {
//		work(ctx, client)
//		return true, nil
//	})
package leadership
