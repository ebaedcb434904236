import type { ObservedContainer } from '../runtime/runtime.ts';
import { hasEnded } from './observation.ts';

/**
 * A container as the agent keeps it. The engine's times are by the engine's clock, which may be another, or have been
 * set meanwhile.
 */
export interface SeenContainer extends ObservedContainer {
  /** When the agent last saw it, before it had ended (milliseconds since 1970, by the agent's clock). */
  readonly seenAtMs?: number;
  /**
   * When it ended, by the agent's clock: not before it was last seen without an end, not after the end was first seen.
   */
  readonly endedAtMs?: number;
}

/** What is seen of a container now, with what is kept of it. Pure. */
export function seenAt(nowMs: number, container: ObservedContainer, kept: SeenContainer | undefined): SeenContainer {
  if (!hasEnded(container)) return { ...container, seenAtMs: nowMs };
  const finished = (container.finishedAt ?? container.createdAt).getTime();
  const endedAtMs = kept?.endedAtMs ?? Math.min(nowMs, Math.max(finished, kept?.seenAtMs ?? finished));
  return { ...container, endedAtMs };
}

/** What is kept of a container that was started a moment ago, and may have ended already. */
export function justMade(nowMs: number, container: ObservedContainer): SeenContainer {
  return seenAt(nowMs, container, { ...container, seenAtMs: nowMs });
}

/** What is seen of everything that was listed. */
export function allSeenAt(
  nowMs: number,
  listed: Iterable<ObservedContainer>,
  kept: ReadonlyMap<string, SeenContainer>,
): Map<string, SeenContainer> {
  return new Map([...listed].map((container) => [container.id, seenAt(nowMs, container, kept.get(container.id))]));
}
