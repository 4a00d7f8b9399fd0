package spark_test

import (
	"testing"

	"muster.dev/muster/gang/operators/operatorstest"
	"muster.dev/muster/gang/operators/spark"
)

func TestExecutorsStartTogetherWhereSparkMakesThemAll(t *testing.T) {
	operatorstest.Expect(t, spark.Kind(), "testdata/sparkapplications.yaml", map[string]string{
		"bounded-driver": "single: its SparkApplication bounded: makes no more executors while 2 " +
			"wait (spark.kubernetes.allocation.maxPendingPods)",
		"bounded-exec-1": "single: its SparkApplication bounded: makes no more executors while 2 " +
			"wait (spark.kubernetes.allocation.maxPendingPods)",
		"old-driver":    "single: its SparkApplication old: is of Spark before 3.3, which makes more executors once others run",
		"old-exec-1":    "single: its SparkApplication old: is of Spark before 3.3, which makes more executors once others run",
		"pi-driver":     "single: its SparkApplication pi: one pod is all that it has to start with",
		"pi-exec-1":     "pi/executor: 4",
		"scaled-driver": "single: its SparkApplication scaled: one pod is all that it has to start with",
		"scaled-exec-1": "scaled/executor: 2",
	})
}

func TestPodsOfSparkSubmitStartOneByOne(t *testing.T) {
	operatorstest.Expect(t, spark.Kind(), "testdata/submitted.yaml", map[string]string{
		"plain-driver": "single: a driver of Spark runs before its executors are made",
		"plain-exec-1": "single: no SparkApplication says how many executors there are",
	})
}
