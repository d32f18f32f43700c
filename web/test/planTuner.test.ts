import { describe, expect, it } from "vitest";
import { MIB, PLANS, type Plan } from "../src/upload/plan";
import { PlanTuner, STRETCH_BYTES } from "../src/upload/planTuner";

/** Sends a file whose speed depends on the plan; returns the plan of each stretch. */
function send(
  tuner: PlanTuner,
  bytes_total: number,
  rateOf: (plan: Plan, at_ms: number) => number,
  canPair = true,
): Plan[] {
  const used: Plan[] = [];
  const inFlight: { plan: Plan; end: number }[] = [];
  const step = 4 * MIB;
  let now_ms = 0;
  let sent = 0;
  let acked = 0;
  while (acked < bytes_total) {
    while (sent < bytes_total && inFlight.length < 8) {
      const { plan, until } = tuner.planAt(sent, canPair);
      if (sent % STRETCH_BYTES === 0) used.push(plan);
      sent = Math.min(bytes_total, sent + step, until);
      inFlight.push({ plan, end: sent });
    }
    const first = inFlight.shift()!;
    now_ms += ((first.end - acked) * 1000) / rateOf(first.plan, now_ms);
    acked = first.end;
    tuner.acknowledge(now_ms, acked);
  }
  return used;
}

const GIB = 1024 * MIB;
const speed = (rates: readonly number[]) => (plan: Plan) => rates[PLANS.indexOf(plan)]! * MIB;

describe("the plan tuner", () => {
  it.each([0, 1, 2, 3])(
    "tries every plan once and keeps the fastest, here number %i",
    (fastest) => {
      const rates = PLANS.map((_, plan) => (plan === fastest ? 400 : 250));
      const tuner = new PlanTuner();
      const used = send(tuner, GIB, speed(rates));
      expect(used.slice(0, PLANS.length)).toEqual(PLANS);
      expect(tuner.best).toBe(PLANS[fastest]);
      const kept = used.slice(PLANS.length + 1).filter((plan) => plan === PLANS[fastest]).length;
      expect(kept).toBeGreaterThanOrEqual(used.length - PLANS.length - 3);
    },
  );

  it("keeps its plan if another is only a little faster", () => {
    const tuner = new PlanTuner();
    send(tuner, GIB, speed([300, 330, 320, 310]));
    expect(tuner.best).toBe(PLANS[0]);
  });

  it("tolerates noise", () => {
    let seed = 1;
    const random = () => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    const rates = speed([300, 200, 200, 200]);
    const tuner = new PlanTuner();
    const used = send(tuner, 4 * GIB, (plan) => rates(plan) * (0.8 + 0.4 * random()));
    const best = used.filter((plan) => plan === PLANS[0]).length;
    expect(best / used.length).toBeGreaterThan(0.8);
  });

  it("adapts to changed conditions", () => {
    const before = speed([400, 200, 200, 200]);
    const after = speed([100, 200, 200, 300]);
    const tuner = new PlanTuner();
    send(tuner, 8 * GIB, (plan, at_ms) => (at_ms < 5_000 ? before : after)(plan));
    expect(tuner.best).toBe(PLANS[3]);
  });

  it("uses no plan with two connections if there is only one", () => {
    const tuner = new PlanTuner();
    const used = send(tuner, 2 * GIB, speed([100, 100, 100, 900]), false);
    expect(used.every((plan) => plan.sockets === 1)).toBe(true);
  });

  it("goes back to one connection when the second is lost", () => {
    const tuner = new PlanTuner();
    send(tuner, GIB, speed([100, 100, 100, 900]));
    tuner.restart();
    expect(tuner.best.sockets).toBe(2);
    expect(tuner.planAt(5 * MIB, false).plan.sockets).toBe(1);
  });

  it("keeps its measurements for the next file", () => {
    const tuner = new PlanTuner();
    send(tuner, GIB, speed([100, 300, 100, 100]));
    tuner.restart();
    expect(tuner.planAt(0, true).plan).toBe(PLANS[1]);
  });

  it("never lets a message cross into the next stretch", () => {
    const tuner = new PlanTuner();
    expect(tuner.planAt(3 * MIB, true).until).toBe(3 * MIB + STRETCH_BYTES);
    expect(tuner.planAt(20 * MIB, true).until).toBe(3 * MIB + STRETCH_BYTES);
  });
});
