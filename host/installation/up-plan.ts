import type { ProcessName } from '../processes/berth-processes.ts';
import { processNames, type Running } from '../processes/processes.ts';

/** What `berth up` has to do, from what runs. */
export type UpPlan =
  | { readonly kind: 'start' }
  /** `versions` are those that run: one, or two between a crash and the end of an upgrade. */
  | { readonly kind: 'running'; readonly versions: readonly string[] }
  /** Something is missing: these are started, and these run without a supervisor. */
  | { readonly kind: 'mend'; readonly start: readonly ProcessName[]; readonly rescue: readonly ProcessName[] }
  /** The server listens for other machines from now on, or at another address. */
  | { readonly kind: 'advertise' }
  | { readonly kind: 'upgrade'; readonly from: string };

export interface UpWish {
  readonly isUpgrade: boolean;
  /** Whether another address is to be advertised than the one that is. */
  readonly advertises: boolean;
  /** Of the processes that run, as far as they have said it. */
  readonly versions: readonly string[];
  /** Of this program. */
  readonly ours: string;
}

export function decideUp(running: Readonly<Record<ProcessName, Running>>, wish: UpWish): UpPlan {
  const isThere = (name: ProcessName): boolean => running[name].keeper !== undefined || running[name].process !== undefined;
  const start = processNames.filter((name) => !isThere(name));
  if (start.length === processNames.length) return { kind: 'start' };
  const versions = [...new Set(wish.versions)];
  if (wish.isUpgrade && versions.some((version) => version !== wish.ours))
    return { kind: 'upgrade', from: versions.join(' and ') };
  const rescue = processNames.filter((name) => isThere(name) && running[name].keeper === undefined);
  if (start.length + rescue.length > 0) return { kind: 'mend', start, rescue };
  const isSame = versions.every((version) => version === wish.ours);
  return wish.advertises && isSame ? { kind: 'advertise' } : { kind: 'running', versions };
}
