// Package jobs replays jobs in simulated time: with muster's own parts, with and without room in time, and by the rules that batch
// systems have for it. The rules are made again here from their papers, on nodes instead of processors:
//
//   - FCFS: jobs start in their order.
//   - Greedy: each job starts as soon as it has room.
//   - EASY (Lifka, 1995; Mu'alem and Feitelson, 2001): the first job that has no room is promised the earliest time by what running
//     jobs are expected to take. Others go before if they end by then, or leave it its room.
//   - Conservative (Mu'alem and Feitelson, 2001): each job that waits is promised a time. Others go before if no promise suffers. All are
//     planned again in their order at each event, as in Slurm, so that on nodes a promise may come later than it was.
//
// No rule reads how long a job really runs: the clock by which the job ends does, and what sums it up afterwards. See [Job.Runs].
package jobs
