import { type Chance, createChance } from './chance.ts';

/** How an application uses what it asked for. Its copies behave alike, since they share a load. */
export type Habit = 'idle' | 'steady' | 'daily' | 'bursting';

export interface TracedPod {
  readonly name: string;
  readonly app: string;
  readonly arrivesAt: number;
  readonly lastsMs: number;
  readonly cpuMilli: number;
  readonly memory: number;
  /** Of its memory request, what it really holds. */
  readonly memoryShare: number;
  /** Thousandths of a core that it would use now if it could. Asked with times that never go back. */
  demand(at: number): number;
}

export interface TraceOptions {
  readonly seed: number;
  readonly lengthMs: number;
  /** Thousandths of a core that the pods which are there at one time ask for together, about. */
  readonly requestedMilli: number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/**
 * What is known of clusters in one trace: requests are guesses, and mostly too high; a part of the applications asks
 * for what the example asked for, whatever it uses; people's load follows the day, each application with its own hour;
 * some work comes in bursts; most pods live for hours and a few stay.
 */
const parts: Readonly<Record<Habit, number>> = { idle: 6, steady: 7, daily: 4, bursting: 3 };
const habits = (Object.keys(parts) as Habit[]).flatMap((habit) => Array<Habit>(parts[habit]).fill(habit));
const requests = [100, 250, 250, 500, 500, 1_000, 2_000];
const memories = [256, 512, 512, 1_024, 2_048, 4_096];
const replicas = [1, 1, 2, 3, 3, 5, 8, 12];
const medianLifeMs = 1.5 * hourMs;
const lifeSigma = 1.2;
/** Of the applications. */
const copiedPart = 0.25;
const copiedMilli = 100;
/** The size of what it really needs is as others' are, with a heavier tail. */
const copiedNeed = (chance: Chance): number => 900 * chance.logNormal(1);
/** The most threads of a pod. */
const mostMilli = 4_000;

/** Applications come at random moments, more of them by day, so that about the same is asked for at any time. */
export function createTrace({ seed, lengthMs, requestedMilli }: TraceOptions): TracedPod[] {
  const chance = createChance(seed);
  const pods: TracedPod[] = [];
  const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const meanLifeMs = medianLifeMs * Math.exp(lifeSigma ** 2 / 2);
  const meanMilli = (1 - copiedPart) * meanOf(requests) + copiedPart * copiedMilli;
  const betweenMs = (meanOf(replicas) * meanMilli * meanLifeMs) / requestedMilli;
  // The cluster has been running for a while when the day begins.
  const start = -4 * meanLifeMs;
  let apps = 0;
  for (let at = start; at < lengthMs; at += (chance.exponential() * betweenMs) / daylight(at)) {
    const app = appOf(chance, `app-${apps++}`);
    for (let copy = 0; copy < app.replicas; copy++) {
      const lastsMs = medianLifeMs * chance.logNormal(lifeSigma);
      const demand = demandOf(app, createChance(Math.floor(chance.next() * 2 ** 32)));
      if (at + lastsMs > 0)
        pods.push({
          ...app,
          name: `${app.app}-${copy}`,
          arrivesAt: Math.max(0, at),
          lastsMs: at + lastsMs - Math.max(0, at),
          demand,
        });
    }
  }
  return pods;
}

/** Around 1; the most at three in the afternoon. */
const daylight = (at: number): number => 1 + 0.3 * Math.sin((2 * Math.PI * (at - 9 * hourMs)) / dayMs);

interface App {
  readonly app: string;
  readonly habit: Habit;
  readonly replicas: number;
  readonly cpuMilli: number;
  readonly memory: number;
  readonly memoryShare: number;
  /** What it uses when it works. */
  readonly busyMilli: number;
  /** Its busiest moment of the day. */
  readonly peakAt: number;
}

function appOf(chance: Chance, app: string): App {
  const habit = chance.pick(habits);
  const shares: Record<Habit, () => number> = {
    idle: () => 0.02 + 0.05 * chance.next(),
    steady: () => 0.6 * chance.logNormal(0.8),
    daily: () => chance.logNormal(0.5),
    bursting: () => 2 * chance.logNormal(0.4),
  };
  const isCopied = chance.next() < copiedPart;
  const cpuMilli = isCopied ? copiedMilli : chance.pick(requests);
  const needMilli = isCopied ? copiedNeed(chance) : cpuMilli;
  return {
    app,
    habit,
    replicas: chance.pick(replicas),
    cpuMilli,
    memory: chance.pick(memories) * 1024 ** 2,
    memoryShare: Math.min(1.2, 0.5 * chance.logNormal(0.5)),
    busyMilli: Math.min(mostMilli, shares[habit]() * needMilli),
    // People's working hours, somewhere.
    peakAt: (10 + 10 * chance.next()) * hourMs,
  };
}

function demandOf({ habit, busyMilli: busy, peakAt }: App, own: Chance): (at: number) => number {
  if (habit === 'bursting') return burstsOf(busy, own);
  const wobble = 0.9 + 0.2 * own.next();
  if (habit !== 'daily') return () => busy * wobble;
  // Between a tenth and the whole of it.
  return (at) => busy * wobble * (0.55 + 0.45 * Math.cos((2 * Math.PI * (at - peakAt)) / dayMs));
}

/** Ten minutes of work in about fifty; next to nothing in between. */
function burstsOf(busy: number, own: Chance): (at: number) => number {
  let isBusy = own.next() < 0.2;
  let untilAt: number | undefined;
  return (at) => {
    untilAt ??= at + own.exponential() * minuteMs;
    while (untilAt <= at) {
      isBusy = !isBusy;
      untilAt += own.exponential() * (isBusy ? 10 : 40) * minuteMs;
    }
    return isBusy ? busy : 0.05 * busy;
  };
}
