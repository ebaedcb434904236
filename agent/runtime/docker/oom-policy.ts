import { RuntimeError } from '../runtime-error.ts';
import { readEngineStatus } from './capabilities.ts';

/**
 * Whether containers may have a negative oom score. That needs a capability that a restricted machine may lack, and the
 * engine's error then does not say so. The engine's own process tells where it can be seen; else the first sandbox is
 * the probe: when it starts only without, no container asks for one any more.
 */
export interface OomPolicy {
  /** The score to ask for instead of this one. */
  bounded(oomScoreAdj: number): number;
  /** A container with a negative score has started. */
  allowed(): void;
  /** A container that failed has started without one. */
  refused(): void;
  /** Whether a failed start is worth a second attempt without. */
  mayBeTheCause(error: unknown): boolean;
}

const capSysResource = 24n;

export function createOomPolicy(
  warn: (message: string) => void,
  engineMayLower: () => boolean | undefined = readEngineCapability,
): OomPolicy {
  let known: 'unasked' | 'unknown' | 'allowed' | 'refused' = 'unasked';

  function refused(): void {
    if (known === 'refused') return;
    known = 'refused';
    warn(
      'this machine refuses negative oom scores (CAP_SYS_RESOURCE is missing): containers run without out-of-memory protection',
    );
  }

  return {
    bounded(oomScoreAdj) {
      if (oomScoreAdj >= 0) return oomScoreAdj;
      if (known === 'unasked') {
        known = 'unknown';
        if (engineMayLower() === false) refused();
      }
      return known === 'refused' ? 0 : oomScoreAdj;
    },
    allowed() {
      if (known === 'unknown') known = 'allowed';
    },
    refused,
    mayBeTheCause: (error) =>
      known === 'unknown' && error instanceof RuntimeError && error.code !== 'unavailable' && error.code !== 'timeout',
  };
}

/** Undefined where the engine's process cannot be seen. */
function readEngineCapability(): boolean | undefined {
  const status = readEngineStatus();
  return status === undefined ? undefined : hasSysResource(status);
}

/** Reads the effective capabilities of /proc/<pid>/status. */
export function hasSysResource(status: string): boolean | undefined {
  const mask = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  return mask === undefined ? undefined : ((BigInt(`0x${mask}`) >> capSysResource) & 1n) === 1n;
}
