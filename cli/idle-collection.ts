import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What a process measures of itself, and what it does about it. */
export interface Collector {
  /** Processor time so far, in milliseconds. */
  cpuMs(): number;
  /** Collects the whole heap and gives unused memory back. Blocks for some 50 ms. */
  collect(): void;
}

/** How often it is looked whether work has ended. */
export const checkMs = 20_000;
/** A twentieth of a core: heartbeats, lists of the engine and what they cost stay far below, anything that makes garbage is above. */
const busyMs = checkMs / 20;

/**
 * Says at each check whether to collect now: once after work, when none has followed. V8 collects when memory grows, so a process that
 * has done its work and only ticks keeps the garbage of its busiest minute, several times what it needs.
 */
export function createIdleJudge(cpuMs: number): (cpuMs: number) => boolean {
  let last = cpuMs;
  // The start is work too.
  let worked = true;
  return (now) => {
    const busy = now - last > busyMs;
    last = now;
    const due = worked && !busy;
    worked = busy;
    return due;
  };
}

/** Collects the garbage of work that has ended, until aborted. Does not keep the process alive. */
export function collectWhenIdle(signal: AbortSignal, collector: Collector = v8Collector()): void {
  const isDue = createIdleJudge(collector.cpuMs());
  let own = 0;
  const timer = setInterval(() => {
    const before = collector.cpuMs();
    if (!isDue(before - own)) return;
    collector.collect();
    own += collector.cpuMs() - before;
  }, checkMs);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

function v8Collector(): Collector {
  let gc: (() => void) | undefined;
  return {
    cpuMs() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    collect() {
      gc ??= exposedGc();
      gc();
    },
  };
}

/** Contexts that are made while the flag is set have the function; a flag on the command line would need a launcher of its own. */
function exposedGc(): () => void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return gc;
}
