import { boundedWords } from './bounded-words.ts';

/** Why a container does not run yet or not again: Kubernetes' reason and a sentence. */
export interface Waiting {
  readonly reason: string;
  readonly message: string | undefined;
}

/** A failure that left nothing behind: why something waits, and until when. */
export interface Blocked extends Waiting {
  readonly failures: number;
  readonly notBefore: number;
  /** What the status says once the failure is a moment old. */
  readonly later?: Waiting;
  readonly laterFrom?: number;
}

/** The part of a pod's record that holds its failures: by container name, "" is the sandbox. */
interface Waits {
  readonly blocked: Map<string, Blocked>;
}

/** Counts a failure and says when to try again. */
export function block(
  { blocked }: Waits,
  name: string,
  waiting: Waiting,
  at: { nowMs: number; initialMs: number; maxMs: number },
): void {
  const failures = (blocked.get(name)?.failures ?? 0) + 1;
  const delayMs = Math.min(at.maxMs, at.initialMs * 2 ** (failures - 1));
  const message = waiting.message && boundedWords(waiting.message);
  blocked.set(name, { ...waiting, message, failures, notBefore: at.nowMs + delayMs });
}

export function waitingOf({ blocked: all }: Waits, name: string, nowMs: number): Waiting | undefined {
  const blocked = all.get(name);
  if (blocked === undefined) return undefined;
  return blocked.later !== undefined && blocked.laterFrom !== undefined && blocked.laterFrom <= nowMs ? blocked.later : blocked;
}
