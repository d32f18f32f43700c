import { MIB, PLANS, type Plan } from "./plan";

/** A range of a file that is sent by one plan, and timed. */
interface Stretch {
  plan: number;
  /** In bytes of the file. */
  from: number;
  to: number;
  /** The first ack at or after `from`: its time and offset. */
  start: { at_ms: number; offset: number } | null;
}

/** Bytes by which a plan is measured: at least two of its messages, or one of the largest. */
export const STRETCH_BYTES = 32 * MIB;
/** A plan must be faster than the best one by this factor to replace it, because times vary. */
const SPEEDUP_MIN = 1.15;
/** Stretches by the best plan between two by another. */
const PROBE_EVERY = 32;

/**
 * Finds the fastest plan for a file while the file is sent.
 *
 * The file is divided into stretches. The first ones try every plan once. After that the best
 * plan is used, and its speed is updated; now and then another plan is tried again, because
 * conditions change. A stretch is timed from the ack of its first byte to the ack of its last
 * one, independent of what was in flight before and after.
 */
export class PlanTuner {
  private stretches: Stretch[] = [];
  private readonly rates: (number | undefined)[];
  private readonly tries: number[];
  private bestPlan = 0;
  private sinceProbe = 0;
  private lastProbe = 0;

  constructor(private readonly plans: readonly Plan[] = PLANS) {
    this.rates = plans.map(() => undefined);
    this.tries = plans.map(() => 0);
  }

  /** The plan in use; another one must be clearly faster to replace it. */
  get best(): Plan {
    return this.plans[this.bestPlan]!;
  }

  /** Discards the stretches in flight, when a file begins or is resumed. */
  restart(): void {
    this.stretches = [];
  }

  /** Returns the plan for the bytes from `offset` on, and its end. Offsets never fall. */
  planAt(offset: number, canPair: boolean): { plan: Plan; until: number } {
    let last = this.stretches.at(-1);
    const isCutOff = last !== undefined && !canPair && this.plans[last.plan]!.sockets > 1;
    if (!last || offset >= last.to || isCutOff) {
      last = { plan: this.next(canPair), from: offset, to: offset + STRETCH_BYTES, start: null };
      this.tries[last.plan]! += 1;
      this.stretches.push(last);
    }
    return { plan: this.plans[last.plan]!, until: last.to };
  }

  /** Records that every byte before `offset` is acknowledged. */
  acknowledge(now_ms: number, offset: number): void {
    for (const stretch of this.stretches) {
      if (offset < stretch.from) break;
      stretch.start ??= { at_ms: now_ms, offset };
      if (offset >= stretch.to) this.finish(stretch, now_ms, offset);
    }
    this.stretches = this.stretches.filter((stretch) => offset < stretch.to);
  }

  private finish(stretch: Stretch, now_ms: number, offset: number): void {
    const { at_ms, offset: from } = stretch.start!;
    // A single ack for the whole stretch does not tell its speed.
    if (now_ms <= at_ms || offset <= from) return;
    const rate = ((offset - from) * 1000) / (now_ms - at_ms);
    const before = this.rates[stretch.plan];
    this.rates[stretch.plan] = before === undefined ? rate : (before + rate) / 2;
    this.selectBest();
  }

  private selectBest(): void {
    const current = this.rates[this.bestPlan];
    if (current === undefined) return;
    let most = current * SPEEDUP_MIN;
    this.rates.forEach((rate, plan) => {
      if (rate !== undefined && rate > most) [most, this.bestPlan] = [rate, plan];
    });
  }

  private next(canPair: boolean): number {
    const isPossible = (plan: number) => canPair || this.plans[plan]!.sockets === 1;
    const untried = this.tries.findIndex((tries, plan) => tries === 0 && isPossible(plan));
    if (untried >= 0) return untried;
    this.sinceProbe += 1;
    if (this.sinceProbe > PROBE_EVERY) {
      this.sinceProbe = 0;
      for (let step = 1; step < this.plans.length; step += 1) {
        const plan = (this.lastProbe + step) % this.plans.length;
        if (plan === this.bestPlan || !isPossible(plan)) continue;
        this.lastProbe = plan;
        return plan;
      }
    }
    if (isPossible(this.bestPlan)) return this.bestPlan;
    return Math.max(
      0,
      this.plans.findIndex((_, plan) => isPossible(plan)),
    );
  }
}
