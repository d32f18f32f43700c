import { MIB, PLANS, type Plan } from "./policy";

/** A stretch of a file that is sent by one plan, and timed. */
interface Stretch {
  plan: number;
  /** In bytes of the file. */
  from: number;
  to: number;
  /** When the acks had come this far: at or behind `from`. */
  start: { at_ms: number; offset: number } | null;
}

/** Bytes by which a plan is judged: at least two of its messages, or one of the largest. */
export const STRETCH_BYTES = 32 * MIB;
/** A plan takes the place of the best one only where it is clearly faster: times vary. */
const CLEARLY = 1.15;
/** Stretches by the best plan between two by another. */
const PROBE_EVERY = 32;

/**
 * Finds out by which plan a file is sent fastest, while it is sent.
 *
 * The file is divided into stretches. The first ones try every plan once; from then on the
 * best is kept, and its speed with it, and now and then another one is tried again, as
 * conditions change. A stretch is timed from the ack of its first to the ack of its last byte,
 * whatever was in flight before and after.
 */
export class Chooser {
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

  /** The plan that is kept as long as no other is clearly faster. */
  get best(): Plan {
    return this.plans[this.bestPlan]!;
  }

  /** Nothing that is in flight counts: a file begins, or is taken up again. */
  restart(): void {
    this.stretches = [];
  }

  /** The plan for the bytes from `offset` on, and up to where; offsets never fall. */
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

  /** Every byte before `offset` is acknowledged. */
  acknowledge(now_ms: number, offset: number): void {
    for (const stretch of this.stretches) {
      if (offset < stretch.from) break;
      stretch.start ??= { at_ms: now_ms, offset };
      if (offset >= stretch.to) this.note(stretch, now_ms, offset);
    }
    this.stretches = this.stretches.filter((stretch) => offset < stretch.to);
  }

  private note(stretch: Stretch, now_ms: number, offset: number): void {
    const { at_ms, offset: from } = stretch.start!;
    // One ack for all of it says nothing of its speed.
    if (now_ms <= at_ms || offset <= from) return;
    const rate = ((offset - from) * 1000) / (now_ms - at_ms);
    const before = this.rates[stretch.plan];
    this.rates[stretch.plan] = before === undefined ? rate : (before + rate) / 2;
    this.compare();
  }

  private compare(): void {
    const kept = this.rates[this.bestPlan];
    if (kept === undefined) return;
    let most = kept * CLEARLY;
    this.rates.forEach((rate, plan) => {
      if (rate !== undefined && rate > most) [most, this.bestPlan] = [rate, plan];
    });
  }

  private next(canPair: boolean): number {
    const isOpen = (plan: number) => canPair || this.plans[plan]!.sockets === 1;
    const untried = this.tries.findIndex((tries, plan) => tries === 0 && isOpen(plan));
    if (untried >= 0) return untried;
    this.sinceProbe += 1;
    if (this.sinceProbe > PROBE_EVERY) {
      this.sinceProbe = 0;
      for (let step = 1; step < this.plans.length; step += 1) {
        const plan = (this.lastProbe + step) % this.plans.length;
        if (plan === this.bestPlan || !isOpen(plan)) continue;
        this.lastProbe = plan;
        return plan;
      }
    }
    if (isOpen(this.bestPlan)) return this.bestPlan;
    return Math.max(
      0,
      this.plans.findIndex((_, plan) => isOpen(plan)),
    );
  }
}
