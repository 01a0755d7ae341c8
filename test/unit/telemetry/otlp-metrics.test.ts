import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { metricData } from "../../../src/telemetry/otlp-metrics.ts";

const [SINCE, NOW] = [
  [1_700_000_000, 0],
  [1_700_000_060, 0],
] as const;

async function exported() {
  const register = new Registry();
  const registers = [register];
  const requests = new Counter({ name: "requests_total", help: "Requests.", labelNames: ["route"], registers });
  requests.inc({ route: "/a" }, 3);
  requests.inc({ route: "/b" }, 4);
  new Gauge({ name: "waiting", help: "Waiting.", registers }).set(7);
  const times = new Histogram({ name: "time_seconds", help: "Time.", labelNames: ["route"], buckets: [0.1, 1], registers });
  for (const seconds of [0.05, 0.1, 0.5, 5]) times.observe({ route: "/a" }, seconds);
  times.observe({ route: "/b" }, 0.5);
  return metricData(await register.getMetricsAsJSON(), [...SINCE], [...NOW]);
}

test("counters become monotonic sums since the start of the process, with their labels", async () => {
  const [requests] = await exported();
  expect(requests).toMatchObject({ descriptor: { name: "requests_total", description: "Requests.", unit: "" }, isMonotonic: true });
  expect(requests?.dataPoints).toEqual([
    { startTime: SINCE, endTime: NOW, attributes: { route: "/a" }, value: 3 },
    { startTime: SINCE, endTime: NOW, attributes: { route: "/b" }, value: 4 },
  ]);
});

test("gauges stay gauges", async () => {
  const waiting = (await exported())[1];
  expect(waiting).not.toHaveProperty("isMonotonic");
  expect(waiting?.dataPoints).toMatchObject([{ attributes: {}, value: 7 }]);
});

test("buckets of a histogram count what lies between two boundaries, for each set of labels", async () => {
  const times = (await exported())[2];
  expect(times?.descriptor.unit).toBe("s");
  expect(times?.dataPoints).toMatchObject([
    { attributes: { route: "/a" }, value: { buckets: { boundaries: [0.1, 1], counts: [2, 1, 1] }, count: 4, sum: 5.65 } },
    { attributes: { route: "/b" }, value: { buckets: { boundaries: [0.1, 1], counts: [0, 1, 0] }, count: 1, sum: 0.5 } },
  ]);
});
